"""What a study hands back, tables, judged claims and pictures, all as plain data; and the rules by which words and
numbers of the text are judged against paired runs: they stand here, before any result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from hcloud.sim.outcomes import interval

NEAR = 0.10
"""A stated number is met by a mean within this relative distance of it."""
FLAT = 0.05
"""'Unchanged', 'barely' and 'flat' allow this relative change from end to end."""
SLIGHT = 0.15
"""'Slightly' and 'little' allow this relative change."""
RARE = 0.01
"""'Very rare' is at most this share of jobs."""
WIDE = 2.0
"""A 'wide range' of price ratios spans at least this factor."""

RULES = (
    f"a stated number holds when our mean lies within {NEAR:.0%} of it",
    "an ordering (more, less, cheaper, better) holds when the 95 % interval of the differences, taken seed by seed,"
    " lies on the stated side of zero",
    f"'unchanged', 'barely' and 'flat' allow {FLAT:.0%} of change, 'slightly' and 'little' {SLIGHT:.0%}",
    f"'very rare' is at most {RARE:.0%} of jobs, 'wide' a factor of {WIDE:g}, 'most' more than half",
)

Values = Sequence[float]
Said = tuple[str, str]
"""Section and words of a claim."""


def near(said: Said, stated: float, got: Values) -> Claim:
    """A stated number."""
    ours = WrittenInterval.of(got)
    return _claim(said, f"{ours}, stated {stated:g}", abs(ours.mean - stated) <= NEAR * abs(stated))


def above(said: Said, more: Values, less: Values) -> Claim:
    """That one figure is above another, pair by pair."""
    difference = WrittenInterval.of([a - b for a, b in zip(more, less, strict=True)])
    got = f"{WrittenInterval.of(more)} against {WrittenInterval.of(less)}; difference {difference}"
    return _claim(said, got, difference.mean > 0 and difference.low > 0)


def changed_by_at_most(said: Said, before: Values, after: Values, most: float = FLAT) -> Claim:
    """That a figure stays as it is."""
    change = relative(before, after)
    got = f"from {WrittenInterval.of(before)} to {WrittenInterval.of(after)}: {percent(change.mean)}"
    return _claim(said, got, abs(change.mean) <= most)


def slightly_below(said: Said, more: Values, less: Values) -> Claim:
    """That a figure falls, and only a little."""
    change = relative(more, less)
    got = f"from {WrittenInterval.of(more)} to {WrittenInterval.of(less)}: {percent(change.mean)}"
    return _claim(said, got, change.high < 0 and change.mean >= -SLIGHT)


def at_least(said: Said, got: Values, least: float) -> Claim:
    """That a figure reaches a level, such as half for 'most'."""
    ours = WrittenInterval.of(got)
    return _claim(said, f"{ours}, at least {least:g} wanted", ours.mean >= least)


def at_most(said: Said, got: Values, most: float) -> Claim:
    """That a figure stays below a level."""
    ours = WrittenInterval.of(got)
    return _claim(said, f"{ours}, at most {most:g} wanted", ours.mean <= most)


def silent(said: Said, got: str) -> Claim:
    """Where we have nothing to compare with: the text's figures cannot be read, and a number may stand there."""
    return Claim(*said, got, ClaimVerdict.SILENT)


def relative(before: Values, after: Values) -> WrittenInterval:
    """The relative change, pair by pair."""
    return WrittenInterval.of([b / a - 1 for a, b in zip(before, after, strict=True)])


def percent(value: float) -> str:
    """A change in words: ``+3.2 %``."""
    return f"{value * 100:+.1f} %".replace("-0.0", "+0.0")


def ratio(over: Values, under: Values) -> list[float]:
    """Quotients pair by pair."""
    return [a / b for a, b in zip(over, under, strict=True)]


def listed(values: dict[str, WrittenInterval]) -> str:
    """``SR 24.7, OdF 44.2``."""
    return ", ".join(f"{name} {written(value.mean)}" for name, value in values.items())


def _claim(said: Said, got: str, holds: bool) -> Claim:
    return Claim(*said, got, ClaimVerdict.HOLDS if holds else ClaimVerdict.FAILS)


class ClaimVerdict(StrEnum):
    """How a claim fared."""

    HOLDS = "holds"
    FAILS = "does not hold"
    SILENT = "not compared here"


class WrittenInterval(interval.Interval):
    """A mean over seeds with the half-width of its 95 % interval, and how it is written."""

    __slots__ = ()

    @classmethod
    def of(cls, values: Sequence[float]) -> WrittenInterval:
        """The interval of some values; values that are NaN (a figure that does not apply) are left out."""
        made = interval.Interval.of([v for v in values if not math.isnan(v)] or [math.nan])
        return cls(made.mean, made.half)

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - (0.0 if math.isnan(self.half) else self.half)

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + (0.0 if math.isnan(self.half) else self.half)

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "-"
        return written(self.mean) if math.isnan(self.half) else f"{written(self.mean)} ± {small(self.half)}"


def written(value: float) -> str:
    """A figure with three significant digits: ``0.424``, ``38.4``, ``1,226``."""
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value + 0.0:#.3g}".rstrip(".")


def small(value: float) -> str:
    """The half-width of an interval, with two significant digits."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:#.2g}".rstrip(".") if value >= 1e-4 else "0"


@dataclass(frozen=True, slots=True)
class Claim:
    """What the text says (or that it says nothing), in which section, and what comes out here."""

    section: str
    text: str
    got: str
    verdict: ClaimVerdict


@dataclass(frozen=True, slots=True)
class StudyTable:
    """Figures under headings; the first column names the row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PictureMark:
    """Something drawn: lines and bars have (y, low, high), boxes (p5, p25, p50, p75, p95, mean), areas (y,), heat maps
    (row, value)."""

    panel: str
    series: str
    x: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels side by side with the same axes; ``log`` names the axes that are logarithmic."""

    name: str
    title: str
    kind: Literal["lines", "bars", "boxes", "areas", "heat"]
    x: str
    y: str
    marks: tuple[PictureMark, ...]
    log: Literal["", "x", "y", "xy"] = ""


@dataclass(frozen=True, slots=True)
class StudyReport:
    """One study: its key and title, what was done, what came out."""

    key: str
    title: str
    about: str
    tables: tuple[StudyTable, ...]
    claims: tuple[Claim, ...]
    pictures: tuple[Picture, ...] = ()
