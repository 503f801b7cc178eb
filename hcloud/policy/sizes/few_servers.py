"""The least allocation of few servers, exactly: all combinations that no other one beats, server by server.

One vCPU too many matters where an answer has few of them, and a walk ends in whole sizes. So answers of up to
:data:`FEW` servers, and those of small pools, are found by dynamic programming: of all combinations of as many servers
those are kept of which no cheaper one does as much, and which may still become cheaper than the answer at hand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hcloud.policy.records import Ints, Reals

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
