"""What a study hands back: tables, judged claims and pictures, all as plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from hcloud.sim.outcomes import interval


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
