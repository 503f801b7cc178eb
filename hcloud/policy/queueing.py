"""M6: how long a job would wait for the reserve, from the waits seen lately, by their cause (thesis §8.4.2, Fig. 8.9b).

Of each cause it is counted how long jobs waited and how many waits ended, in bands of the time waited. A band's rate is
the one over the other; where a band has seen little it is that of the whole cause, and where the cause has seen little
it is what is assumed of it. A job that still waits has its part in the first count, so that long waits are felt before
they end.
"""

from __future__ import annotations

import math
from typing import Annotated

from hcloud.policy.records import Reals

BANDS = 24
FIRST_BAND = 0.5
"""Seconds at which the first band of a wait ends."""
GROWTH = 1.6
"""Each band ends this many times later than the one before it; the last has no end."""
_ASSUMED = 2.0
"""Ours: as many seen waits what is assumed of a cause weighs."""
_WHOLE = 0.3
"""Ours: as many waits that ended in a band the rate of the whole cause weighs there."""
_OF_ONE_SURGE = 16.0
"""Ours: waits of one surge resemble each other, so that this many are evidence as one that is independent."""
_KNOWN_OF_MEANS = 8.0
"""Ours: as many independent waits a mean takes as known at first; with fewer the tail alone would decide it."""

AT_LIMIT, BEHIND, SUFFERING, CAUSES = 0, 3, 6, 11
"""The first cause of each kind: the hard limit (by the vCPUs in use above it), a queue (by its length), tenants that
would suffer (by the least pressure too much, in points); and how many causes there are."""


class Waits:
    """A record of one cause: waits that ``ended`` in each band and seconds that jobs ``waited`` in it; the sums of
    both."""

    ended: Annotated[Reals, BANDS]
    waited: Annotated[Reals, BANDS]
    all_ended: float
    all_waited: float


def cause_of_wait(ahead: int, room: int, excess: int, harm: float) -> int:
    """Why a job has to wait: ``ahead`` others queue; the reserve has ``room`` but is ``excess`` thousandths of a vCPU
    above its limit; or any server's most pressed resource would be at least ``harm`` points too much."""
    if ahead > 0:
        return BEHIND + (1 if ahead > 2 else 0) + (1 if ahead > 8 else 0)
    if room:
        return AT_LIMIT + (1 if excess >= 1000 else 0) + (1 if excess >= 2000 else 0)
    few = SUFFERING + (1 if harm > 1.0 else 0) + (1 if harm > 2.5 else 0)
    return few + (1 if harm > 5.0 else 0) + (1 if harm > 10.0 else 0)


def first_alike(cause: int) -> tuple[int, int]:
    """The first cause of the same kind, and the first of the next."""
    if cause < BEHIND:
        return AT_LIMIT, BEHIND
    return (BEHIND, SUFFERING) if cause < SUFFERING else (SUFFERING, CAUSES)


def assumed_wait(cause: int, start: float) -> float:
    """What is assumed of a mean wait before any was seen, against the ``start`` of a large instance: at the limit and
    in a queue as long as that, where a tenant has to leave ten times as long; never shorter than the first band."""
    usual = max(start, FIRST_BAND)
    return 10.0 * usual if cause >= SUFFERING else usual


def count_wait(waits: Waits, band: int, end: float, span: tuple[float, float]) -> tuple[int, float]:
    """Count that a job went from one age to another; it was in a band that ends at the age ``end``. The band and its
    end where the job is now."""
    since, until = span
    waits.all_waited += until - since
    while until > end:
        waits.waited[band] += end - since
        since, band = end, band + 1
        end = end * GROWTH if band < BANDS - 1 else math.inf
    waits.waited[band] += until - since
    return band, end


def end_wait(waits: Waits, band: int, history: int) -> None:
    """A wait ended in the band. Where ``history`` did, all that was counted weighs half from then on."""
    waits.ended[band] += 1.0
    waits.all_ended += 1.0
    if waits.all_ended >= history:
        for i in range(BANDS):
            waits.ended[i] *= 0.5
            waits.waited[i] *= 0.5
        waits.all_ended *= 0.5
        waits.all_waited *= 0.5


def rate_of_ending(ended: float, waited: float, assumed: float) -> float:
    """Waits that end a second, where so many ended in so many seconds, and ``assumed`` is what is expected of a mean
    wait otherwise."""
    return (ended + _ASSUMED) / (waited + _ASSUMED * assumed)


def _rate_in(waits: Waits, band: int, usual: float) -> float:
    rate: float = (waits.ended[band] + _WHOLE) / (waits.waited[band] + _WHOLE / usual)
    return rate


def wait_within(waits: Waits, share: float, rate: float, age: float) -> float:
    """The seconds more that ``share`` of the jobs wait at most which have waited for ``age``; infinite for all of them.

    ``rate`` is what is expected of the cause. Rates are uncertain: with their sum H over a time, (1 + H / n) ** -n of
    the jobs wait longer than that where n independent waits are known.
    """
    if share >= 1.0:
        return math.inf
    known = _ASSUMED + waits.all_ended / _OF_ONE_SURGE
    usual = rate_of_ending(waits.all_ended, waits.all_waited, 1.0 / rate)
    factor = (1.0 - share) ** (-1.0 / known)
    begin, end, passed, goal = 0.0, FIRST_BAND, 0.0, -1.0
    for band in range(BANDS - 1):
        here = _rate_in(waits, band, usual)
        if goal < 0.0 and age < end:
            goal = (known + passed + here * (age - begin)) * factor - known
        if goal >= 0.0 and passed + here * (end - begin) >= goal:
            return begin + (goal - passed) / here - age
        passed += here * (end - begin)
        begin, end = end, end * GROWTH
    here = _rate_in(waits, BANDS - 1, usual)
    if goal < 0.0:
        goal = (known + passed + here * (age - begin)) * factor - known
    return begin + (goal - passed) / here - age


def mean_wait(waits: Waits, rate: float) -> float:
    """The mean of such waits; what was seen of the cause makes the tail lighter, as it does that of bounds."""
    known = _KNOWN_OF_MEANS + waits.all_ended / _OF_ONE_SURGE
    usual = rate_of_ending(waits.all_ended, waits.all_waited, 1.0 / rate)
    begin, end, staying, passed, mean = 0.0, FIRST_BAND, 1.0, 0.0, 0.0
    for band in range(BANDS):
        here = _rate_in(waits, band, usual)
        passed += here * (end - begin)
        later = (1.0 + passed / known) ** (1.0 - known) if band < BANDS - 1 else 0.0
        mean += (staying - later) * known / ((known - 1.0) * here)
        staying, begin, end = later, end, end * GROWTH
    return mean
