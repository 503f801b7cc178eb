"""Profiles as the matrix of one aspect: rows are applications, columns what can be measured, gaps are NaN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hcloud.model.measured.profile import RESOURCES, Aspect, Profile
from hcloud.units import natural

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scale:
    """How values of a row become the numbers that are factorised, and back.

    Scores stay as they are. Performance becomes the logarithm of (more is better) value, or of its inverse where less
    is better (``sign`` -1), less ``reference``, the same of the row's reference column; 0 where that was not measured.
    """

    logarithmic: bool
    sign: float = 1.0
    reference: float = 0.0

    def forward(self, values: Floats) -> Floats:
        """Measured values, any shape, as they are factorised; NaN stays NaN."""
        return self.sign * np.log(values) - self.reference if self.logarithmic else values

    def back(self, values: Floats) -> Floats:
        """Factorised values in the measured unit; scores are clipped to 0..100."""
        if self.logarithmic:
            return np.asarray(np.exp(self.sign * (values + self.reference)))
        return np.clip(values, 0.0, 100.0)


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """One aspect of several applications.

    ``values`` is (apps, columns) in the measured unit, NaN where nothing was measured; ``rising`` is (apps,), false
    where less is better. ``reference`` is the column that performance is normalised to, "" for scores. Raises
    ValueError for shapes that do not fit, performance that is not positive and scores outside 0..100.
    """

    aspect: Aspect
    apps: tuple[str, ...]
    columns: tuple[str, ...]
    values: Floats
    rising: Flags
    reference: str

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.apps), len(self.columns)) or self.rising.shape != (len(self.apps),):
            lengths = f"rows and columns {self.values.shape}, rising {len(self.rising)}"
            raise ValueError(f"{self.aspect}: {lengths} values for {len(self.apps)} apps, {len(self.columns)} columns")
        if not self.aspect.is_interference and self.columns and self.reference not in self.columns:
            raise ValueError(f"{self.aspect}: the reference {self.reference!r} is not a column")
        for row, column in np.argwhere(~(legal(self.aspect, self.values) | np.isnan(self.values))):
            refuse(self.aspect, self.apps[row], self.columns[column], self.values[row, column])

    def scale(self, row: int) -> Scale:
        """The scale of one row."""
        if self.aspect.is_interference:
            return Scale(logarithmic=False)
        return scale_of(bool(self.rising[row]), float(self.values[row, self.columns.index(self.reference)]))

    def transformed(self) -> Floats:
        """All rows on their scales, (apps, columns); a performance row without its reference is all NaN."""
        if self.aspect.is_interference:
            return self.values
        logs = np.where(self.rising, 1.0, -1.0)[:, None] * np.log(self.values)
        return np.asarray(logs - logs[:, [self.columns.index(self.reference)]]) if self.columns else logs

    def without(self, apps: Iterable[str]) -> Matrix:
        """The matrix less some of its rows."""
        gone = set(apps)
        kept = [i for i, app in enumerate(self.apps) if app not in gone]
        names = tuple(self.apps[i] for i in kept)
        return replace(self, apps=names, values=self.values[kept], rising=self.rising[kept])


def legal(aspect: Aspect, values: Floats) -> Flags:
    """Which values can be measured: finite, and positive for performance, 0..100 for scores."""
    if aspect.is_interference:
        return (values >= 0) & (values <= 100)
    return np.isfinite(values) & (values > 0)


def refuse(aspect: Aspect, app: str, column: str, value: float) -> None:
    """Raise ValueError for a value that cannot be."""
    allowed = "0 to 100" if aspect.is_interference else "a positive number"
    raise ValueError(f"{aspect} of {app}, {column}: {value} is not {allowed}")


def check_values(profile: Profile) -> None:
    """Raise ValueError for a measurement that cannot be, in a column that others know or not."""
    for aspect, columns in profile.entries.items():
        for column, measured in columns.items():
            if not legal(aspect, np.array(measured.value)):
                refuse(aspect, profile.app, column, measured.value)


def scale_of(rising: bool, reference: float) -> Scale:
    """The scale of a performance row by its value at the reference column (NaN: not measured there)."""
    sign = 1.0 if rising else -1.0
    return Scale(True, sign, 0.0 if np.isnan(reference) else sign * float(np.log(reference)))


def matrix_of(profiles: Iterable[Profile], aspect: Aspect) -> Matrix:
    """The matrix of everything measured of one aspect, rows by name and columns in natural order (resources in theirs).

    The reference of performance is the column measured of most applications, of those the last in natural order, which
    is the largest where names end in a size (ours; Quasar §3.2 profiles on the high-end platform).
    Raises ValueError for two profiles of one name and for values that cannot be.
    """
    rows = sorted((p for p in profiles if p.entries.get(aspect)), key=lambda p: p.app)
    apps = tuple(p.app for p in rows)
    if len(set(apps)) < len(apps):
        raise ValueError(f"{aspect}: two profiles of {Counter(apps).most_common(1)[0][0]!r}")
    counted = Counter(column for p in rows for column in p.entries[aspect])
    columns = tuple(sorted(counted, key=_resource if aspect.is_interference else natural))
    values = np.full((len(rows), len(columns)), np.nan)
    for at, profile in enumerate(rows):
        for column, measured in profile.entries[aspect].items():
            values[at, columns.index(column)] = measured.value
    rising = np.array([p.metric.rising for p in rows], np.bool_)
    return Matrix(aspect, apps, columns, values, rising, _reference(aspect, counted))


def _resource(name: str) -> tuple[tuple[int, str], ...]:
    return ((RESOURCES.index(name), ""),) if name in RESOURCES else ((len(RESOURCES), name),)


def _reference(aspect: Aspect, counted: Mapping[str, int]) -> str:
    if aspect.is_interference or not counted:
        return ""
    return max(counted, key=lambda column: (counted[column], natural(column)))
