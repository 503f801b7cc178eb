"""M6: how long a job would wait for the reserve, from the waits seen lately, by their cause (thesis §8.4.2, Fig. 8.9b).

Of each cause it is counted how long jobs waited and how many waits ended, in bands of the time waited. A band's rate is
the one over the other; where a band has seen little it is that of the whole cause, and where the cause has seen little
it is what is assumed of it. A job that still waits has its part in the first count, so that long waits are felt before
they end. Where a tenant has to leave, time passes at a pace: a hundred points are as long as the tenants make likely.

What was promised is held against what came: where too many bounds of a kind of wait were missed, bounds of that kind
grow until as many are kept as promised, and so it is with means.
"""

from __future__ import annotations

import math
from typing import Annotated

from hcloud.policy.records import Reals

BANDS = 24
FIRST_BAND = 0.5
"""Seconds (or points) at which the first band of a wait ends."""
GROWTH = 1.6
"""Each band ends this many times later than the one before it; the last has no end."""
_OF_ONE_SURGE = 16.0
"""Ours: waits of one surge resemble each other, so that this many are evidence as one that is independent."""
_POINTS = 100.0
"""As many points as long as the tenants make likely."""
_PER_LEAVER = 2.9
"""Ours: a wait for one of some tenants lasts this many times as long as one of so many (and a half) leaves: those who
bar a job stay longer than most, and others take what they leave. Measured, 2.6 to 3.4 by strategy and load."""
_HALF = 1.5
"""Ours: a place is also made by tenants who leave one after the other, as if there were so many more of those whose
leaving alone makes one."""
_ASSUMED_STAY = 50.0
"""Ours: starts of a large instance that a tenant stays before any has left; this weighs as much as two that left."""

_STEP = 0.05
"""Ours: what a bound that was kept or missed changes later ones by (as a logarithm, times its chance). Measured, 0.02
to 0.1 keep alike; with less nothing is learnt within a run."""
_MEAN_STEP = 0.15
"""Ours: the same for a wait that was longer than its mean by as much as waits last. With 0.1 to 0.2 means come out
alike."""
_FARTHEST, _MEAN_FARTHEST, _FARTHEST_OFF = 2.0, 1.0, 9.0
"""Ours: how far bounds and means go (logarithms), and how much one wait counts at most."""
_FEW = 8.0
"""Ours: as many ended waits a mean moves half as fast as later: the first to end are the short ones."""
_LATELY = 200.0
"""Ours: waits whose mean is what waits last."""

AT_LIMIT, BEHIND, SUFFERING, CAUSES = 0, 3, 6, 9
"""The first cause of each kind: the hard limit (by the vCPUs in use above it), a queue (by its length), tenants one of
whom has to leave (by how many of them would make a place alone: none, two at most, more); and how many causes there
are."""
KINDS = 3


class Waits:
    """A record of one cause: waits that ``ended`` in each band and seconds that jobs ``waited`` in it; the sums of
    both."""

    ended: Annotated[Reals, BANDS]
    waited: Annotated[Reals, BANDS]
    all_ended: float
    all_waited: float


class Drift:
    """How much ``longer`` bounds of a kind of wait are than what was counted of it says, and by how much a
    ``longer_mean`` is promised, as logarithms. Of waits that a mean was promised of, as many were ``seen`` to end, and
    in the mean they lasted for ``usual`` seconds."""

    longer: float
    longer_mean: float
    seen: float
    usual: float


def cause_of_wait(ahead: int, room: int, excess: int, leavers: float) -> int:
    """Why a job has to wait: ``ahead`` others queue; the reserve has ``room`` but is ``excess`` thousandths of a vCPU
    above its limit; or one of its tenants has to leave, of which so many would make a place alone."""
    if ahead > 0:
        return BEHIND + (1 if ahead > 2 else 0) + (1 if ahead > 8 else 0)
    if room:
        return AT_LIMIT + (1 if excess >= 1000 else 0) + (1 if excess >= 2000 else 0)
    return SUFFERING + (1 if leavers > 0.0 else 0) + (1 if leavers > 2.0 else 0)


def pace_of_wait(leavers: float, stay: float) -> float:
    """Points that a wait for tenants passes in a second, where so many would make a place alone and a tenant is to stay
    for so long: the more of them, the sooner one leaves."""
    return _POINTS * (leavers + _HALF) / (_PER_LEAVER * max(stay, 1.0))


def expected_stay(age: float, left: tuple[float, float], start: float, since: float) -> float:
    """The seconds that a tenant is still to stay, of which as many have ``left`` as its first number, having stayed for
    the second together (with those who stay), ``since`` the first job came.

    As long as tenants have stayed up to now (their mean ``age``), for where jobs come and go alike what is past of a
    stay is as long as what is to come. While the run is young ages are short for that reason alone: what is missing is
    what those who left make likely.
    """
    mean = (left[1] + 2.0 * _ASSUMED_STAY * max(start, FIRST_BAND)) / (left[0] + 2.0)
    return age + mean * math.exp(-since / mean)


def first_alike(cause: int) -> tuple[int, int]:
    """The first cause of the same kind, and the first of the next."""
    if cause < BEHIND:
        return AT_LIMIT, BEHIND
    return (BEHIND, SUFFERING) if cause < SUFFERING else (SUFFERING, CAUSES)


def kind_of_wait(cause: int) -> int:
    """Whether a cause is of the first, second or third kind."""
    return first_alike(cause)[0] // (CAUSES // KINDS)


def judge_bound(drift: Drift, kept: int, share: float) -> None:
    """A bound that ``share`` of the jobs were to keep was kept (1) or missed (0): changes add up to nothing where as
    many are kept as promised (quantile tracking: Angelopoulos, Candes and Tibshirani 2023)."""
    drift.longer += _STEP * (share - 1.0 if kept else share)
    drift.longer = min(max(drift.longer, -_FARTHEST), _FARTHEST)


def judge_mean(drift: Drift, counted: float, promised: float, waited: float) -> None:
    """A wait ended of which a mean was promised; what was ``counted`` said another. Sums of what is promised and waited
    agree in the end, so what one wait is off weighs in seconds: against what such waits usually last, half, and what
    was to be expected of this one."""
    drift.seen = min(drift.seen + 1.0, _LATELY)
    drift.usual += (waited - drift.usual) / drift.seen
    off = 2.0 * (waited - promised) / max(drift.usual + counted, FIRST_BAND)
    drift.longer_mean += _MEAN_STEP * drift.seen / (drift.seen + _FEW) * min(off, _FARTHEST_OFF)
    drift.longer_mean = min(max(drift.longer_mean, -_MEAN_FARTHEST), _MEAN_FARTHEST)


def assumed_wait(cause: int, start: float) -> float:
    """What is assumed of a mean wait before any was seen: at the limit and in a queue the ``start`` of a large instance
    (never shorter than the first band), where a tenant has to leave what the tenants make likely."""
    return _POINTS if cause >= SUFFERING else max(start, FIRST_BAND)


Belief = tuple[float, float, float, float]
"""As many waits what is assumed of a cause weighs; as many that ended in a band the rate of the whole cause weighs
there; as many independent waits as known at first by bounds, and by means (with fewer the tail alone would decide)."""


def belief_in(cause: int) -> Belief:
    """Ours: one start of an instance is a guess, and weighs little; what the tenants make likely is the better estimate
    until many waits ended."""
    return (32.0, 2.0, 12.0, 96.0) if cause >= SUFFERING else (2.0, 0.3, 2.0, 8.0)


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


def rate_of_ending(ended: float, waited: float, assumed: float, weight: float) -> float:
    """Waits that end a second, where so many ended in so many seconds, and ``assumed`` is what is expected of a mean
    wait otherwise, with the ``weight`` of so many waits."""
    return (ended + weight) / (waited + weight * assumed)


def _rate_in(waits: Waits, band: int, usual: float, whole: float) -> float:
    rate: float = (waits.ended[band] + whole) / (waits.waited[band] + whole / usual)
    return rate


def wait_within(waits: Waits, share: float, rate: float, age: float, belief: Belief) -> float:
    """The seconds (or points) more that ``share`` of the jobs wait at most which have waited for ``age``; infinite for
    all of them.

    ``rate`` is what is expected of the cause. Rates are uncertain: with their sum H over a time, (1 + H / n) ** -n of
    the jobs wait longer than that where n independent waits are known.
    """
    if share >= 1.0:
        return math.inf
    known, whole = belief[2] + waits.all_ended / _OF_ONE_SURGE, belief[1]
    usual = rate_of_ending(waits.all_ended, waits.all_waited, 1.0 / rate, belief[0])
    factor = (1.0 - share) ** (-1.0 / known)
    begin, end, passed, goal = 0.0, FIRST_BAND, 0.0, -1.0
    for band in range(BANDS - 1):
        here = _rate_in(waits, band, usual, whole)
        if goal < 0.0 and age < end:
            goal = (known + passed + here * (age - begin)) * factor - known
        if goal >= 0.0 and passed + here * (end - begin) >= goal:
            return begin + (goal - passed) / here - age
        passed += here * (end - begin)
        begin, end = end, end * GROWTH
    here = _rate_in(waits, BANDS - 1, usual, whole)
    if goal < 0.0:
        goal = (known + passed + here * (age - begin)) * factor - known
    return begin + (goal - passed) / here - age


def mean_wait(waits: Waits, rate: float, belief: Belief) -> float:
    """The mean of such waits; what was seen of the cause makes the tail lighter, as it does that of bounds."""
    known = belief[3] + waits.all_ended / _OF_ONE_SURGE
    usual = rate_of_ending(waits.all_ended, waits.all_waited, 1.0 / rate, belief[0])
    begin, end, staying, passed, mean = 0.0, FIRST_BAND, 1.0, 0.0, 0.0
    for band in range(BANDS):
        here = _rate_in(waits, band, usual, belief[1])
        passed += here * (end - begin)
        later = (1.0 + passed / known) ** (1.0 - known) if band < BANDS - 1 else 0.0
        mean += (staying - later) * known / ((known - 1.0) * here)
        staying, begin, end = later, end, end * GROWTH
    return mean
