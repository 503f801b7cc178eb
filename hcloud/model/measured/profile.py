"""An application as it was measured and as it is predicted: two types that are never taken for one another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from hcloud.model.workload import JobKind

RESOURCES = ("l1i", "l1d", "llcbw", "llc", "membw", "memcap", "cpu", "tlb", "network", "disk")
"""The ten shared resources an interference vector has an entry for, in this order: caches by capacity and the last
level by bandwidth, too; memory by bandwidth and capacity; cores; address translation; network; storage."""

UNKNOWN_SCORE = 50
"""The entry of a resource that nothing is known about (ours: the middle of the scale)."""


class Aspect(StrEnum):
    """What a profile tells of an application: four classifications, interference counted as the two it is made of.

    The columns of an aspect are sizes (``2c4g``), node counts (``4``), instance types (``m5.large``) or resources.
    """

    SCALE_UP = "scale_up"
    SCALE_OUT = "scale_out"
    TYPES = "types"
    TOLERATED = "tolerated"
    CAUSED = "caused"

    @property
    def is_interference(self) -> bool:
        """Whether values are scores of 0..100 by resource; else they are performance in the metric's unit."""
        return self in (Aspect.TOLERATED, Aspect.CAUSED)


@dataclass(frozen=True, slots=True)
class Metric:
    """What an application's performance is counted in; ``rising`` says that more is better."""

    name: str
    unit: str
    rising: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured number with its 95 % interval, how many samples it rests on, when and on which machine they were
    taken, and what produced it (a command, an injector, a file)."""

    value: float
    low: float
    high: float
    samples: int
    at: datetime
    machine: str
    source: str


@dataclass(frozen=True, slots=True)
class FailedMeasurement:
    """A measurement that gave no number: the application did not run there. Why (``out of memory``), when, where, and
    what tried it."""

    why: str
    at: datetime
    machine: str
    source: str


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything measured of an application: sparse, every entry with its provenance.

    Scores follow Paragon (TOCS 31(4), §2.3): a tolerated score is the intensity at which 5 % of the quality of service
    is lost (100: never), a caused score is 100 less the intensity at which the injector loses 5 % (0: never).
    ``unmeasurable`` says of resources why this machine cannot tell them, ``failures`` where the application did not
    run.
    """

    app: str
    kind: JobKind
    metric: Metric
    command: tuple[str, ...]
    entries: Mapping[Aspect, Mapping[str, Measured]]
    unmeasurable: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failures: Mapping[Aspect, Mapping[str, FailedMeasurement]] = field(default_factory=dict)


OUT_OF_MEMORY = "out of memory"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)c(?:(\d+(?:\.\d+)?)g)?")


def size_of(column: str) -> tuple[float, float | None] | None:
    """The vCPUs and GiB of a size (``2c4g``; ``2c``: memory was not limited); None for any other name."""
    found = _SIZE.fullmatch(column)
    return None if found is None else (float(found[1]), None if found[2] is None else float(found[2]))


def ruled_out(profile: Profile, aspect: Aspect, columns: Iterable[str]) -> frozenset[str]:
    """The columns where the application does not run: those where it failed, and where it ran out of memory also the
    sizes with no more of it."""
    failed = profile.failures.get(aspect, {})
    short = [size_of(c) for c, f in failed.items() if OUT_OF_MEMORY in f.why.lower()]
    most = max((s[1] for s in short if s and s[1] is not None), default=0.0)
    sizes = {c: size_of(c) for c in columns} if aspect is Aspect.SCALE_UP else {}
    return frozenset(failed) | {c for c, s in sizes.items() if s and s[1] is not None and s[1] <= most}


@dataclass(frozen=True, slots=True)
class Predicted:
    """One entry of a completed row with its interval; ``measured`` says that it is the measurement itself."""

    value: float
    low: float
    high: float
    measured: bool


def measured_of(profile: Profile, aspect: Aspect) -> dict[str, Predicted]:
    """What was measured of an aspect, as entries of a row."""
    return {c: Predicted(m.value, m.low, m.high, measured=True) for c, m in profile.entries.get(aspect, {}).items()}


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An application seen before and how alike it is, from -1 to 1."""

    app: str
    likeness: float


@dataclass(frozen=True, slots=True)
class Probe:
    """The next measurement worth making: a column of an aspect, by how much it would narrow the estimate, and why."""

    aspect: Aspect
    column: str
    gain: float
    why: str


@dataclass(frozen=True, slots=True)
class CompletedRow:
    """A completed row: every column of the matrix, whose rows resembled it, and the error that rows held out of the
    corpus were predicted with from as many entries (relative for performance, points for scores); None where every
    column is measured and nothing is predicted."""

    aspect: Aspect
    columns: Mapping[str, Predicted]
    neighbours: tuple[Neighbour, ...]
    held_out_error: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is predicted of an application; aspects with too little evidence are missing, and ``probes`` name the
    cheapest next measurements. Never accepted where a measurement is expected."""

    app: str
    rows: Mapping[Aspect, CompletedRow]
    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True)
class ComparedNumber:
    """One number of two profiles, None where one has none."""

    aspect: Aspect
    column: str
    left: Measured | None
    right: Measured | None

    @property
    def differs(self) -> bool | None:
        """Whether the intervals are apart; None where nothing to compare."""
        if self.left is None or self.right is None:
            return None
        return self.left.high < self.right.low or self.right.high < self.left.low


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """Two profiles and their numbers line by line."""

    left: Profile
    right: Profile
    lines: tuple[ComparedNumber, ...]


def merged(before: Profile, after: Profile) -> Profile:
    """The later profile with what only the earlier one has; a measurement and a failure replace each other.

    Of another application, command or metric nothing is kept: its numbers would be about something else. A score that
    an earlier run could measure stays where a later one could not.
    """
    if _subject(before) != _subject(after):
        return after
    entries: dict[Aspect, dict[str, Measured]] = {}
    failures: dict[Aspect, dict[str, FailedMeasurement]] = {}
    kept: list[str] = []
    for aspect in Aspect:
        newest = {**_told(before, aspect)}
        for column, told in _told(after, aspect).items():
            if column not in newest or told.at >= newest[column].at:
                newest[column] = told
        ours = _told(after, aspect)
        kept += [f"{aspect.value} {c} ({t.at.date()})" for c, t in newest.items() if ours.get(c) is not t]
        for column, told in newest.items():
            if isinstance(told, Measured):
                entries.setdefault(aspect, {})[column] = told
            else:
                failures.setdefault(aspect, {})[column] = told
    notes = (*_still_true(before, after), *after.notes)
    notes = (*notes, f"kept of earlier runs: {', '.join(kept)}") if kept else notes
    reasons = {**before.unmeasurable, **after.unmeasurable}
    unmeasurable = {r: why for r, why in reasons.items() if r not in set(_scored(entries))}
    return replace(after, entries=entries, failures=failures, unmeasurable=unmeasurable, notes=notes)


def _still_true(before: Profile, after: Profile) -> Iterator[str]:
    """What an earlier run said of resources that the later one says nothing of."""
    told = {note.partition(":")[0] for note in after.notes} | set(after.unmeasurable)
    yield from (note for note in before.notes if (name := note.partition(":")[0]) in RESOURCES and name not in told)


def about_another(before: Profile, after: Profile) -> str:
    """What the earlier profile is about where nothing of it would be kept; "" where the two can be merged."""
    if _subject(before) == _subject(after):
        return ""
    metric = f"{before.metric.name} in {before.metric.unit}, {'higher' if before.metric.rising else 'lower'} is better"
    command = f" of {' '.join(before.command)[:80]}" if before.command else ""
    return f"{before.app}, {before.kind.name.lower()}, {metric}{command}"


def _subject(profile: Profile) -> tuple[object, ...]:
    return profile.app, profile.kind, profile.metric, profile.command


def _told(profile: Profile, aspect: Aspect) -> Mapping[str, Measured | FailedMeasurement]:
    return {**profile.failures.get(aspect, {}), **profile.entries.get(aspect, {})}


def _scored(entries: Mapping[Aspect, Mapping[str, Measured]]) -> Iterator[str]:
    for aspect, columns in entries.items():
        if aspect.is_interference:
            yield from columns
