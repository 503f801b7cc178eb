"""How a running job is kept at its target, one conservative step at a time (Quasar §4.1; Paragon §3.4).

A job's ``rate`` is the most that it could do, with what it has, of what its target asks for: 1 is just that. Its
``performance`` is what it does of it, so for a service one over its tail where that is too long. Nothing is predicted:
a step follows from what was measured, and simulation and life take it by these functions.

A job that is below its target for some samples gets more of its server, then what best effort has there, then another
server beside, then a larger one. One that is above it for more samples gives back what it does not need, never beyond
what sizing would give it now. A size that was found too small is not returned to while the load is the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hcloud.policy.records import Ints, record
from hcloud.policy.rules import Rules

KEEP, GROW, EVICT, ADD, MIGRATE, SHRINK = range(6)
"""The steps: none, more of the same server, that after best effort has left it, another server beside, a larger one,
less."""
_MIB = 1024.0
_LEAST = 0.01
"""A rate below this counts as this: what is asked for at once is a hundred times what there is at most."""
_SAME = 1.1
"""Ours: a rate up to so many times one that was seen, in proportion to the size, tells of the same load."""
_NEARLY = 0.98
"""Ours: a server is given back where what is left is so much of what is needed; a sliver of one is not kept."""
_MOST_TURNS = 20
SOON = 6.0
"""Ours: a size that turns out too small within so many times what steps are apart was so from the start."""
_ENTRIES, MOST_POINTS = 10, 99


class Sighting:
    """A record of what is seen of a job by who measures it: since when it has been ``below`` its target, or ``above``
    it (infinite: it is not)."""

    below: float
    above: float


class Watched:
    """A record of a job by who decides: when it was last ``adjusted`` and which ``way`` (1: more, -1: less, 0: never),
    how often it ``turned`` lately; a size, in thousandths of a vCPU, that was ``short`` after it had been at a rate
    (``rated``, for each of them) with more."""

    adjusted: float
    way: int
    turned: int
    short: int
    rated: float


class _Unseen(NamedTuple):
    below: float = math.inf
    above: float = math.inf


class Position(NamedTuple):
    """Where a job is, in thousandths of a vCPU: what it has (``cores``), what sizing would give it now (``floor``),
    what is ``free`` on its server and what best effort has there (``lent``); the most that another server has for it
    (``elsewhere``) and would have at best (``most``), and one ``beside`` those that it has (0: it may have no other);
    what the ``last`` that it was given has (0: it has one server), and whether it may move (``movable``). What it has
    on all of its servers counts as ``cores``; the last does a ``part`` of what they do."""

    cores: int
    floor: int
    free: int
    lent: int
    elsewhere: int
    most: int
    beside: int
    last: int
    movable: int
    part: float = 0.0


def unseen() -> Sighting:
    """Of a job that nobody has measured."""
    made: Sighting = record(_Unseen())  # type: ignore[assignment]
    return made


def notice(rules: Rules, seen: Sighting, measured: tuple[float, float], now: float) -> None:
    """Note a performance and a rate that were measured."""
    is_below, is_above = below_or_above(rules, measured)
    seen.below = min(seen.below, now) if is_below else math.inf
    seen.above = min(seen.above, now) if is_above else math.inf


def below_or_above(rules: Rules, measured: tuple[float, float]) -> tuple[bool, bool]:
    """Whether a performance and a rate are below the target, or above it."""
    is_below = measured[0] < rules.monitor_level or measured[1] < rules.out_rate
    return is_below, not is_below and measured[1] > rules.above


def due_at(rules: Rules, seen: Sighting, job: Watched) -> float:
    """When a step is due if the job stays as it was last seen; infinite where none is. One job's steps are some time
    apart, samples count from the last of them, and the oftener it turned from more to less and back, the longer it
    stays above before it gets less."""
    if seen.below < math.inf:
        since = max(seen.below, job.adjusted) + (rules.watch_samples - 1) * rules.monitor_period
    elif seen.above < math.inf:
        since = max(seen.above, job.adjusted) + _patience(rules, job)
    else:
        return math.inf
    return max(since, job.adjusted + rules.apart)


def _patience(rules: Rules, job: Watched) -> float:
    return (rules.above_samples * 2.0**job.turned - 1.0) * rules.monitor_period


def needed(rules: Rules, cores: int, rate: float) -> int:
    """What a job needs that reaches ``rate`` with so much: in proportion, and a little on top, in whole grains."""
    wanted = cores / max(rate, _LEAST) * (1.0 + rules.aim)
    return math.ceil(wanted / rules.grain - 1e-9) * rules.grain


def next_step(rules: Rules, job: Watched, measured: tuple[float, float], at: Position) -> tuple[int, int]:
    """The step that follows from a performance and a rate, and what the job has after it (with a server beside: what
    that gives it)."""
    is_below, is_above = below_or_above(rules, measured)
    wanted = needed(rules, at.cores, measured[1])
    if is_above:
        return _less(rules, job, measured[1], (wanted, at))
    if not is_below:
        return KEEP, at.cores
    wanted = max(wanted, at.cores + rules.grain)  # it is below with what it has, whatever its rate
    return _more(rules, wanted, at)


def _less(rules: Rules, job: Watched, rate: float, what: tuple[int, Position]) -> tuple[int, int]:
    at, without = what[1], what[1].cores - what[1].last
    wanted = max(what[0], at.floor)
    if at.last > 0 and rate * (1.0 - at.part) >= _NEARLY:
        wanted = min(wanted, without)  # it can do without a server, if with less on top than a step aims at
    is_known_short = wanted <= job.short and rate <= job.rated * at.cores * _SAME
    if not rules.shrink or wanted >= at.cores or is_known_short:
        return KEEP, at.cores
    return SHRINK, wanted


def _more(rules: Rules, wanted: int, at: Position) -> tuple[int, int]:
    """What suffices, in the order of the text; where nothing does, what there is."""
    missing, here = wanted - at.cores, at.free + at.lent
    if rules.grow and missing <= at.free:
        return GROW, wanted
    if rules.evict and at.lent > 0 and missing <= here:
        return EVICT, wanted
    if at.beside > 0:
        return ADD, min(missing, at.beside)
    if rules.migrate and at.movable and at.elsewhere > at.cores and at.elsewhere >= min(wanted, at.most):
        return MIGRATE, min(wanted, at.elsewhere)
    if rules.evict and at.lent > 0:
        return EVICT, at.cores + here
    if rules.grow and at.free > 0:
        return GROW, at.cores + at.free
    return KEEP, at.cores


def scaled(rules: Rules, measured: tuple[float, float], at: Position) -> tuple[int, int]:
    """The step of who looks at nothing but how busy servers are: one more, or one fewer (as :func:`next_step`)."""
    is_below, is_above = below_or_above(rules, measured)
    if is_below and at.beside > 0:
        return ADD, at.beside
    if is_above and at.last > 0:
        return SHRINK, at.cores - at.last
    return KEEP, at.cores


def remember(rules: Rules, job: Watched, rate: float, step: tuple[int, int], now: float) -> None:
    """Note a step that was taken at a ``rate``: of which kind, and what the job had before it."""
    way = -1 if step[0] == SHRINK else 1
    is_lately = now - job.adjusted <= rules.settling + 2.0 * _patience(rules, job)
    if not is_lately:
        job.turned = 0
    elif way * job.way < 0:
        job.turned = min(job.turned + 1, _MOST_TURNS)
    if way < 0:
        job.rated = max(rate / step[1], job.rated) if is_lately else rate / step[1]
    elif job.way < 0:  # later it is the load that has changed
        job.short = step[1] if now - job.adjusted <= SOON * rules.apart else 0
    job.way, job.adjusted = way, now


def migration_seconds(rules: Rules, memory: int, stateful: bool) -> float:
    """Seconds that a job with so many MiB does not run while it moves. One with state moves in microshards, and is away
    for each of them in turn."""
    if stateful and rules.shard_mib > 0:
        return math.ceil(memory / rules.shard_mib) * rules.shard_seconds
    return rules.move_seconds + memory / _MIB * rules.move_gib_seconds


def pays(here: float, there: float, left: float, seconds: float) -> bool:
    """Whether a move is worth it for a job with so many seconds of work ``left``, whose rates are these (Paragon
    §3.4)."""
    return (there - here) * left > seconds * here


def refold(rules: Rules, nature: Ints, at: tuple[int, int], found: tuple[int, int, int, int]) -> int:
    """Write into what is known of a job (what it causes in each resource, then what it tolerates) what was measured of
    the two resources ``at``: caused and tolerated in the first, then in the second. Where these differ from what was
    known by more than a share of it the job is of another kind than it was taken for (1), and all else that it causes
    is taken to have changed in the same proportion."""
    one, two = at
    known = nature[one] + nature[two] + nature[_ENTRIES + one] + nature[_ENTRIES + two]
    moved = abs(found[0] - nature[one]) + abs(found[2] - nature[two])
    moved += abs(found[1] - nature[_ENTRIES + one]) + abs(found[3] - nature[_ENTRIES + two])
    changed = 1 if moved > rules.differs * known else 0
    if changed:
        factor = (found[0] + found[2] + 1) / (nature[one] + nature[two] + 1)
        for i in range(_ENTRIES):
            caused = min(int(nature[i] * factor), MOST_POINTS)
            tolerated = nature[_ENTRIES + i] - (caused - nature[i])
            nature[i], nature[_ENTRIES + i] = caused, min(max(tolerated, 0), MOST_POINTS)
    nature[one], nature[_ENTRIES + one], nature[two], nature[_ENTRIES + two] = found
    return changed
