"""The calculator of placements: how many servers to look at for a promised quality, and what fewer of them promise."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.errors import UsageError
from hcloud.policy.placing.promise import (
    LOOKS_A_CANDIDATE,
    candidates_for,
    chance_of_miss,
    free_above,
    mean_rank,
    quality_among_all,
    quality_kept,
)
from hcloud.units import counted

QUALITIES = (0.8, 0.9, 0.95)
MISSES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
MOST_UNITS = 1_000_000


@dataclass(frozen=True, slots=True)
class PromiseRequest:
    """What is to be promised: that the server taken has at least this quality (the rank among those that it is chosen
    from, 1 the best), but for a share of the decisions; the share of servers that is busy, and how many there are, or
    None where that is not known."""

    quality: float
    miss: float
    busy: float | None = None
    units: int | None = None


@dataclass(frozen=True, slots=True)
class PromisedSize:
    """The candidates that a promise takes."""

    quality: float
    miss: float
    candidates: int


@dataclass(frozen=True, slots=True)
class Promise:
    """What so many candidates promise: the quality that is missed as seldom as asked for, how often the quality asked
    for is missed, and the rank that is reached on average."""

    candidates: int
    quality: float
    miss: float
    mean_rank: float


@dataclass(frozen=True, slots=True)
class FreeSampled:
    """How many servers are looked at on average until all candidates are free ones, and how many candidates the most
    looks that are allowed find on average."""

    looks: float
    found: float


@dataclass(frozen=True, slots=True)
class AllSampled:
    """The same promise where busy servers are drawn as well and count as misses: the quality that goes into the law,
    and the candidates; None where no server of that quality is free."""

    quality: float
    candidates: int | None


@dataclass(frozen=True, slots=True)
class PromisedPlacement:
    """The candidates that the promise asked for takes, the same for other promises, what fewer candidates promise, and
    what a share of busy servers changes; ``free`` is how many servers are free, None where nobody knows."""

    asked: PromiseRequest
    free: int | None
    size: Promise
    sizes: tuple[PromisedSize, ...]
    fewer: tuple[Promise, ...]
    free_sampled: FreeSampled | None
    all_sampled: AllSampled | None


def promised(asked: PromiseRequest) -> PromisedPlacement:
    """The little calculator; UsageError for what cannot be promised."""
    _check(asked)
    free = _free(asked)
    candidates = candidates_for(asked.quality, asked.miss, free)
    if free is not None and candidates > free:
        raise _more_than_there_are(asked, candidates, free)
    qualities, misses = {*QUALITIES, asked.quality}, {*MISSES, asked.miss}
    return PromisedPlacement(
        asked,
        free,
        _promise(asked, candidates, free),
        tuple(
            PromisedSize(quality, miss, candidates_for(quality, miss, free))
            for quality in sorted(qualities)
            for miss in sorted(misses, reverse=True)
        ),
        tuple(_promise(asked, 1 << power, free) for power in range(1, 31) if 1 << power < candidates),
        None if asked.busy is None else _free_sampled(asked.busy, candidates),
        None if asked.busy is None else _all_sampled(asked, asked.busy),
    )


def _check(asked: PromiseRequest) -> None:
    if not 0 < asked.quality < 1:
        known = asked.quality == asked.quality  # NaN is not even itself
        low = "any server has that" if known else "is no number"
        above = "only a look at all servers promises the best one"
        if 1 < asked.quality <= 100:
            above = f"a share is meant, not per cent; write {asked.quality / 100:g}"
        raise UsageError(
            f"--quality {asked.quality:g}: " + (above if asked.quality >= 1 else low),
            hint="a quality is a rank above 0 and below 1: 0.9 is the best tenth of the servers",
        )
    if not 0 < asked.miss < 1:
        never = asked.miss <= 0
        raise UsageError(
            f"--miss {asked.miss:g}: "
            + ("servers drawn at random may always be bad ones" if never else "that promises nothing"),
            hint="write a probability above 0 and below 1, for example 1e-3; a look at all servers never misses",
        )
    if asked.busy is not None and not 0 <= asked.busy < 1:
        raise UsageError(
            f"--busy {asked.busy:g}: no server is free" if asked.busy == 1 else f"--busy {asked.busy:g}: not a share",
            hint="write a number from 0 to below 1, for example 0.6",
        )
    if asked.units is not None and not 1 <= asked.units <= MOST_UNITS:
        raise UsageError(
            f"--units {asked.units}: "
            + ("there is nothing to choose from" if asked.units < 1 else "too many to count one by one"),
            hint=f"write a number from 1 to {MOST_UNITS:,}; leave out --units for more",
        )


def _free(asked: PromiseRequest) -> int | None:
    """How many servers are free, of the number that was stated."""
    if asked.units is None:
        return None
    free = free_above(0.0, asked.units, asked.busy or 0.0)
    if not free:
        raise UsageError(
            f"--busy {asked.busy:g}: of {counted(asked.units, 'server')} none is free",
            hint="state more --units or a lower share",
        )
    return free


def _more_than_there_are(asked: PromiseRequest, candidates: int, free: int) -> UsageError:
    many = counted(free, "free server" if asked.busy else "server")
    return UsageError(
        f"--quality {asked.quality:g} --miss {asked.miss:g} takes {counted(candidates, 'candidate')}, more than the"
        f" {many}: looking at all of them is cheaper and finds the best",
        hint=f"{counted(free, 'candidate')} promise this quality with --miss {_rounded_up(asked, free):g} or more",
    )


def _rounded_up(asked: PromiseRequest, free: int) -> float:
    """The probability that as many candidates as there are servers leave, with two digits and no smaller than it is."""
    least = chance_of_miss(free, asked.quality, free)
    told = float(f"{least:.1e}")
    return told if told >= least else float(f"{least * 1.05:.1e}")


def _promise(asked: PromiseRequest, candidates: int, free: int | None) -> Promise:
    return Promise(
        candidates,
        quality_kept(candidates, asked.miss, free),
        chance_of_miss(candidates, asked.quality, free),
        mean_rank(candidates, free),
    )


def _free_sampled(busy: float, candidates: int) -> FreeSampled:
    return FreeSampled(candidates / (1 - busy), min(1.0, LOOKS_A_CANDIDATE * (1 - busy)) * candidates)


def _all_sampled(asked: PromiseRequest, busy: float) -> AllSampled:
    if asked.units is None:
        quality = quality_among_all((1 - asked.quality) * (1 - busy), 1.0)
    else:
        quality = quality_among_all(free_above(asked.quality, asked.units, busy), asked.units)
    return AllSampled(quality, candidates_for(quality, asked.miss) if quality < 1 else None)
