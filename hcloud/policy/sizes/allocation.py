"""How much of which servers meets a target: the walk over ranked servers, up first, then out (Quasar §3.3).

Servers are ranked by what one of them does for the job; the walk goes down the ranking until together they do enough,
and the last one is given no more than it takes. One walk is made for each largest size that a server may be given, so
that many small shares are compared with few large ones; the whole answer that takes least wins, and answers of few
servers are exact. No candidate depends on the target, which is why a higher target never takes less, and why no server
of the answer can be spared (docs/decisions/0050, 0096).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hcloud.policy.records import Ints, Reals

_EDGE = 1e-9
"""Performance that is lower than the target by no more than this share reaches it: sums are not exact."""


_UNREACHABLE = 1e300
_RESIZED = 64
"""Prefixes up to this length are also tried with one server at another size: in longer ones a share matters less."""


class Choices(NamedTuple):
    """What may be taken: how many servers there are of each row, what one of them does at each size (0: the size does
    not fit, or nothing is known of it), and what each size costs, rising. ``efficiency`` is the share of their sum that
    1, 2, 3 ... servers do together; there is none for more servers than the job can use."""

    available: Ints
    performance: NDArray[np.float64]
    cost: Reals
    efficiency: Reals


class Allocation(NamedTuple):
    """Servers (rows, the first the best) with the size that each is given, what they cost and what they do together;
    ``met`` says whether that is enough, else it is the most that can be reached."""

    rows: Ints
    sizes: Ints
    cost: float
    reached: float
    met: bool


class _Walk(NamedTuple):
    """The ranking of one largest size: rows (one an available server), their sizes, and sums over the first 0, 1, 2 ...
    of what they do and cost, as far as the walk goes."""

    rows: Ints
    sizes: Ints
    done: Reals
    cost: Reals


def efficiency_of(nodes: Reals) -> Reals:
    """The share of their sum that 1, 2, 3 ... servers do together, from what so many do: ``SO[n] / (n SO[1])``, never
    rising, since more servers are no better coordinated than fewer."""
    share: Reals = np.minimum.accumulate(nodes / (nodes[0] * np.arange(1, len(nodes) + 1)))
    return np.minimum(share, 1.0)


def together(performance: Reals, efficiency: Reals) -> float:
    """What servers do together, used as well as possible: the best of them alone, the best two, and so on."""
    best = -np.sort(-performance)[: len(efficiency)]
    return float((np.cumsum(best) * efficiency[: len(best)]).max(initial=0.0))


def allocate(choices: Choices, target: float) -> Allocation:
    """The cheapest answer of all walks, or one of few servers; of equal ones that with the fewest servers. Where none
    reaches the target, the most that can be reached."""
    found = [one for cap in range(len(choices.cost)) if (one := _walked(choices, cap, target)).met]
    if not found:
        return _most(choices)
    best = min(found, key=lambda one: (round(one.cost, 9), len(one.rows)))
    return _of_few(choices, target, best.cost) or best


def _of_few(choices: Choices, target: float, below: float) -> Allocation | None:
    """The least allocation of few servers, if that costs less."""
    there = int(choices.available.sum())
    servers = min(there if there <= FEW_THERE else FEW, len(choices.efficiency))
    best = choices.performance.max(axis=1)
    order = np.argpartition(-best, servers - 1)[:servers] if servers < len(best) else np.arange(len(best))
    most = together(np.repeat(best[order], np.minimum(choices.available[order], servers)), choices.efficiency[:servers])
    if not _reaches(most, target):
        return None
    needed = target / choices.efficiency[:servers]
    edge = needed - _EDGE * np.abs(needed)
    found = least_of_few(choices.available, choices.performance, choices.cost, edge, round(below, 9))
    is_less = found is not None and found.cost < below
    return _together(choices, found.rows, found.sizes, met=True) if found is not None and is_less else None


def by_quality(choices: Choices, target: float) -> Allocation:
    """The one walk of the text: every server as large as it can be, the last one shrunk (Quasar §3.3)."""
    walk = _ranked(choices, len(choices.cost) - 1, target)
    reached = walk.done[1:] * choices.efficiency[: len(walk.done) - 1]
    enough = np.flatnonzero(_reaches(reached, target))
    if not len(enough):
        return _most(choices)
    last = int(enough[0])
    needed = target / choices.efficiency[last] - walk.done[last]
    row = int(walk.rows[last])
    size = int(np.flatnonzero(_reaches(choices.performance[row], needed))[0])
    return _together(choices, walk.rows[: last + 1], np.append(walk.sizes[:last], size), met=True)


def _reaches(done: Reals | float, target: Reals | float) -> NDArray[np.bool_]:
    wanted = np.asarray(target)
    return np.asarray(done >= wanted - _EDGE * np.abs(wanted))


def _ranked(choices: Choices, cap: int, target: float) -> _Walk:
    """The ranking with no size above ``cap``, up to the first prefix that reaches the target."""
    best = choices.performance[:, 0].copy()
    for size in range(1, cap + 1):
        np.maximum(best, choices.performance[:, size], out=best)
    order = np.argsort(-best, kind="stable")
    order = order[(best[order] > 0) & (choices.available[order] > 0)]
    most = len(choices.efficiency)
    rows = np.repeat(order, np.minimum(choices.available[order], most + 1))
    done = np.concatenate(([0.0], np.cumsum(best[rows[:most]])))
    enough = np.flatnonzero(_reaches(done[1:] * choices.efficiency[: len(done) - 1], target))
    last = int(enough[0]) + 1 if len(enough) else len(done) - 1
    sizes = choices.performance[rows[:last], : cap + 1].argmax(axis=1)
    cost = np.concatenate(([0.0], np.cumsum(choices.cost[sizes])))
    return _Walk(rows, sizes, done[: last + 1], cost)


def _walked(choices: Choices, cap: int, target: float) -> Allocation:
    """The cheapest end of one walk: a prefix of its ranking alone, with one server more, or one resized."""
    walk = _ranked(choices, cap, target)
    ends = (_complete, _more, _resized)
    found = [end for tried in ends for end in tried(choices, walk, target)]
    if not found:
        return Allocation(walk.rows[:0], walk.rows[:0], 0.0, 0.0, met=False)
    end = min(found)
    places, sizes = list(range(end.prefix)), walk.sizes[: end.prefix].tolist()
    for place, size in end.changes:
        if place < end.prefix:
            sizes[place] = size
        else:
            places.append(place)
            sizes.append(size)
    return _together(choices, walk.rows[places], np.array(sizes, np.int64), met=True)


class _End(NamedTuple):
    """How a walk may end: what that costs, on how many servers, how long a prefix of its ranking is taken, and the
    places of the ranking with sizes of their own, within the prefix or beyond it."""

    cost: float
    servers: int
    prefix: int
    changes: tuple[tuple[int, int], ...] = ()


def _complete(choices: Choices, walk: _Walk, target: float) -> Iterator[_End]:
    """The prefix that reaches the target by itself."""
    servers = len(walk.done) - 1
    if servers and _reaches(walk.done[servers] * choices.efficiency[servers - 1], target):
        yield _End(round(float(walk.cost[servers]), 9), servers, servers)


def _more(choices: Choices, walk: _Walk, target: float) -> Iterator[_End]:
    """Prefixes that one server from further down completes, at the smallest size that does."""
    prefixes = np.arange(min(len(walk.done), len(choices.efficiency), len(walk.rows)))
    needed = target / choices.efficiency[prefixes] - walk.done[prefixes]
    possible = prefixes[_reaches(float(choices.performance.max(initial=0.0)), needed)]
    if not len(possible):
        return
    first, last = int(possible[0]), int(possible[-1])
    rest = _best_of_rest(choices.performance, walk.rows, first, last)[possible - first]
    end = _cheapest(rest, needed[possible], walk.cost[possible][:, None] + choices.cost)
    if end is not None:
        prefix, size = int(possible[end[0]]), end[1]
        able = _reaches(choices.performance[walk.rows[prefix:], size], needed[prefix])
        yield _End(end[2], prefix + 1, prefix, ((prefix + int(np.argmax(able)), size),))


def _resized(choices: Choices, walk: _Walk, target: float) -> Iterator[_End]:
    """Prefixes that reach the target with one of their servers at another size, that which gains (loses) most (least)
    by it; only of so many servers that one of them matters."""
    longest = min(len(walk.sizes), len(choices.efficiency), _RESIZED)
    if not longest:
        return
    rows, servers = walk.rows[:longest], np.arange(longest)
    needed = target / choices.efficiency[:longest] - walk.done[1 : longest + 1]
    there = choices.performance[rows]
    gains = np.where(there > 0, there - there[servers, walk.sizes[:longest]][:, None], -np.inf)
    most = np.maximum.accumulate(gains, axis=0)
    chosen = np.maximum.accumulate(np.where(gains == most, servers[:, None], 0), axis=0)
    cost = walk.cost[1 : longest + 1][:, None] - choices.cost[walk.sizes[chosen]] + choices.cost
    end = _cheapest(most, needed, cost)
    if end is not None:
        yield _End(end[2], end[0] + 1, end[0] + 1, ((int(chosen[end[0], end[1]]), end[1]),))


def _cheapest(able: NDArray[np.float64], needed: Reals, cost: NDArray[np.float64]) -> tuple[int, int, float] | None:
    """The cheapest prefix and size that add what is needed, the shortest of equal ones; and what it costs."""
    told = np.where(_reaches(able, needed[:, None]), np.round(cost, 9), np.inf)
    at = int(np.argmin(told))
    prefix, size = divmod(at, told.shape[1])
    return (prefix, size, float(told[prefix, size])) if np.isfinite(told[prefix, size]) else None


def _best_of_rest(performance: NDArray[np.float64], rows: Ints, first: int, last: int) -> NDArray[np.float64]:
    """[prefix, size]: the most that any server does which is not among the first ``first`` .. ``last`` of a ranking."""
    beyond = np.zeros(len(performance), np.bool_)
    beyond[rows[last:]] = True
    block = np.empty((last - first + 1, performance.shape[1]))
    block[-1] = np.where(beyond[:, None], performance, 0.0).max(axis=0)
    block[:-1] = performance[rows[first:last]]
    return np.maximum.accumulate(block[::-1], axis=0)[::-1]


def _most(choices: Choices) -> Allocation:
    """As much as can be reached, by as few servers as that takes."""
    walk = _ranked(choices, len(choices.cost) - 1, _UNREACHABLE)
    reached = walk.done[1:] * choices.efficiency[: len(walk.done) - 1]
    servers = int(np.argmax(reached)) + 1 if len(reached) else 0
    return _together(choices, walk.rows[:servers], walk.sizes[:servers], met=False)


def _together(choices: Choices, rows: Ints, sizes: Ints, *, met: bool) -> Allocation:
    """What an answer does and costs, its servers in falling order of what they do."""
    each = choices.performance[rows, sizes]
    order = np.argsort(-each, kind="stable")
    cost = float(choices.cost[sizes].sum())
    return Allocation(rows[order], sizes[order], cost, together(each, choices.efficiency), met)


FEW, FEW_THERE = 6, 64
"""Ours: servers up to which an answer is exact; where no more than that are at hand, any is."""
_STEPS = 1024
"""Ours: costs are told apart by so many steps of the least: the GiB of sizes with as many vCPUs are not, which would
make thousands of combinations of a dozen."""
_DIGITS = 9
"""Costs that are the same to so many digits are the same."""


class FewServers(NamedTuple):
    """Rows and the size that each is given, and what that costs."""

    rows: Ints
    sizes: Ints
    cost: float


class _Step(NamedTuple):
    """Combinations after one more server: of how many servers each is, what they cost and do, the combination before
    it (``of``) and the size that the server got in it (-1: it is not taken)."""

    servers: Ints
    cost: Reals
    done: Reals
    of: Ints
    size: Ints


def least_of_few(
    available: Ints, performance: NDArray[np.float64], cost: Reals, needed: Reals, below: float
) -> FewServers | None:
    """The cheapest combination that does what is ``needed`` of 1, 2, 3 ... servers and costs less than ``below``, of
    equal ones that of the fewest; None where there is none."""
    rows = _candidates(available, performance, len(needed))
    least_step = float(cost.min()) / _STEPS
    whole, below = np.round(cost / least_step) * least_step, below - least_step / 2
    worth = (performance[rows] / whole).max(axis=1, initial=0.0)
    order = np.argsort(-worth, kind="stable")
    rows, worth = rows[order], np.append(worth[order], 0.0)
    nothing, zero = np.zeros(1, np.int64), np.zeros(1)
    steps = [_unbeaten(_Step(nothing, zero, zero, nothing, nothing - 1), needed[:1] / worth[0] < below)]
    least = np.append(needed[:1], needed)
    for at, row in enumerate(rows.tolist(), 1):
        if not len(steps[-1].servers):
            return None
        made = _with(steps[-1], performance[row], whole, len(needed))
        missing = np.maximum(least[made.servers] - made.done, 0.0)
        dear = np.divide(missing, worth[at], out=np.where(missing > 0, np.inf, 0.0), where=worth[at] > 0)
        steps.append(_unbeaten(made, made.cost + dear < below))
    last = steps[-1]
    enough = np.flatnonzero((last.servers > 0) & (last.done >= np.append(np.inf, needed)[last.servers]))
    if not len(enough):
        return None
    at = int(enough[np.lexsort((last.servers[enough], last.cost[enough]))[0]])
    taken = []
    for row, step in zip(rows[::-1].tolist(), steps[:0:-1], strict=True):
        if step.size[at] >= 0:
            taken.append((row, int(step.size[at])))
        at = int(step.of[at])
    found = np.array(taken, np.int64)
    return FewServers(found[:, 0], found[:, 1], float(cost[found[:, 1]].sum()))


def _candidates(available: Ints, performance: NDArray[np.float64], most: int) -> Ints:
    """Rows, as often as there are servers of them, that may be in the best answer of so many servers: those that are
    among as many best at some size. One that is not could be exchanged for one of these that is not taken."""
    there = np.where(available[:, None] > 0, performance, 0.0)
    if len(there) > most:
        best = np.argpartition(-there, most - 1, axis=0)[:most]
        rows = np.unique(best[np.take_along_axis(there, best, 0) > 0])
    else:
        rows = np.flatnonzero(there.any(axis=1))
    return np.repeat(rows, np.minimum(available[rows], most))


def _with(before: _Step, each: Reals, cost: Reals, most: int) -> _Step:
    """The combinations with one more server that may be taken, at any size."""
    may_grow, sizes = np.flatnonzero(before.servers < most), np.flatnonzero(each > 0)
    of = np.concatenate([np.arange(len(before.servers)), np.repeat(may_grow, len(sizes))])
    size = np.concatenate([np.full(len(before.servers), -1), np.tile(sizes, len(may_grow))])
    taken = size >= 0
    dollars = np.round(before.cost[of] + np.where(taken, cost[size], 0.0), _DIGITS)
    return _Step(before.servers[of] + taken, dollars, before.done[of] + np.where(taken, each[size], 0.0), of, size)


def _unbeaten(made: _Step, possible: NDArray[np.bool_]) -> _Step:
    """Those that are ``possible`` and that no other one of as many servers beats."""
    order = np.flatnonzero(possible)
    order = order[np.lexsort((-made.done[order], made.cost[order], made.servers[order]))]
    apart = made.done.max() + 1.0
    rising = np.maximum.accumulate(made.done[order] + apart * made.servers[order])  # counts begin anew
    kept = order[np.append(True, rising[1:] > rising[:-1])] if len(order) else order
    return _Step(made.servers[kept], made.cost[kept], made.done[kept], made.of[kept], made.size[kept])
