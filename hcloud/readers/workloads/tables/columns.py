"""Columns of a table as they are read: what each may hold, and buffers that grow without copying."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hcloud.errors import InputError
from hcloud.model.measured.profile import RESOURCES
from hcloud.model.requirement import ALLOWED, requirement_of
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.commands import AS_DATES
from hcloud.readers.workloads.identity import Hashes, identity_hashes
from hcloud.readers.workloads.meanings import kind_of
from hcloud.readers.workloads.quantities import MOST_POINTS, cpus_of, memory_of, plain_of, points_of, with_point
from hcloud.readers.workloads.tables.clock import PAIRS, TOLD, TWO, clock_seconds
from hcloud.readers.workloads.tables.dates import unix_of_date
from hcloud.readers.workloads.tables.zones import unix_of_local

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Codes, Floats, Ids

Sort = Literal["number", "clock", "size", "time", "label", "identity", "words", "skip"]
OUR_DAYS = (631_152_000.0, 4_102_444_800.0)
"""Ours: 1990 to 2100 in Unix seconds."""
SPREADSHEET_DAYS = (40_179.0, 58_441.0)
"""Ours: 2010 to 2060 in the days of a spreadsheet, which counts them from the end of 1899."""

TICKS = {1.0: "seconds", 1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds"}
_MOMENT = f"seconds from 0 to {limits.SUBMIT_SECONDS:g}, or an ISO-8601 time as 2026-11-01T10:00:00Z"
BEFORE = "of jobs that began before the file does, its oldest time"
OPEN, NEVER_RAN = "of jobs that still run, open_ends=run", "of jobs that never ran, open_ends=leave-out"
_G = re.compile(r"([MGTPEgtpe][bB]?|m[bB])\s*$")
_UNIX = re.compile(r"\d{1,19}(\.\d*)?(e\+\d\d)?", re.ASCII)  # as Arrow writes whole ones of 1e15


def ticks_of(text: str) -> float:
    """How many ticks a second has in a Unix time, told by its size: it is one of our days; 0 for another number."""
    number = float(text) if _UNIX.fullmatch(text) else 0.0
    return next((ticks for ticks in TICKS if OUR_DAYS[0] <= number / ticks < OUR_DAYS[1]), 0.0)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its bounds (``above``: the lower bound itself is not allowed; ``whole``: nor is a fraction) or the
    labels it may hold.

    A ``required`` column must be there, and its cells filled unless it is ``sparse``; an empty cell of another column
    becomes NaN, or the label code -1. Of times there are so many ``ticks`` in a second, by which they are divided.
    ``told`` is what is allowed in words, where that is more than its bounds; ``words`` are kept as they stand. Labels
    with ``points`` are one whole number for each shared resource, those that are ``requires`` what a job requires of a
    machine, and ``kinds`` may be called as elsewhere. Durations that may be several are what is ``said``, as mm:ss.
    Times without a zone are of this ``zone``, else UTC; ``dates`` is the order of those that do not begin with a year.
    Cells of a column with ``in_one`` may name their unit (500m, 8Gi): of its own so many are in a vCPU or a GiB. Of a
    ``measured`` one k is no unit: it may be of thousands as Grafana formats them.
    """

    name: str
    sort: Sort = "number"
    low: float = 0.0
    high: float = limits.CORES
    above: bool = False
    whole: bool = False
    required: bool = True
    sparse: bool = False
    zoned: bool = False
    ticks: float = 1.0
    told: str = ""
    choices: Collection[str] = ()
    points: bool = False
    requires: bool = False
    stored: str = ""
    said: str = ""
    zone: str = ""
    dates: str = ""
    kinds: bool = False
    in_one: float = 0.0
    measured: bool = False

    @property
    def in_file(self) -> str:
        """What the file calls it."""
        return self.stored or self.name

    @property
    def filled(self) -> bool:
        """Whether every cell must hold something."""
        return self.required and not self.sparse

    @property
    def not_empty(self) -> str:
        """What to say of an empty cell that must be filled."""
        more = {"end": f"; {OPEN}", "duration": f"; {NEVER_RAN}", "submit": f"; {BEFORE}"}.get(self.name, "")
        return f"must not be empty: {self.allowed}{more}"

    @property
    def allowed(self) -> str:
        """What the column may hold, for an error."""
        if self.points:
            return f"{len(RESOURCES)} whole numbers from 0 to {MOST_POINTS}, apart by spaces"
        if self.requires:
            return ALLOWED
        if self.sort == "label":
            return self.told or (f"one of {', '.join(self.choices)}" if self.choices else "text")
        if self.told or self.sort == "time":
            return self.told or _MOMENT
        unit = f", or with its unit as {'8Gi' if self.name == 'memory' else '500m'}" if self.in_one else ""
        unit += "; in Grafana: Formatted data off" if self.measured else ""
        if self.above:
            return f"a number above {self.low:g} and at most {self.high:g}{unit}"
        return f"a number from {self.low:g} to {self.high:g}{unit}"

    def in_numbers(self, ticks: float) -> Column:
        """The column of times as numbers, of which the first is so many ticks a second, or 0 for no Unix time."""
        plain = replace(self, sort="number", ticks=ticks or 1.0, told=_MOMENT)
        if not ticks:
            return plain
        told = f"Unix time in {TICKS[ticks]} from 1990 to 2100, as in the first row"
        return replace(plain, low=OUR_DAYS[0] * ticks, high=OUR_DAYS[1] * ticks, told=told)

    def on_a_clock(self) -> Column:
        """The column of durations as on a clock, in units or of ISO 8601."""
        return replace(self, sort="clock", high=limits.DURATION_SECONDS, told=TOLD if self.said in PAIRS else TWO)

    def in_sizes(self, decimal: str) -> Column:
        """The column of numbers of which some name their unit, or have points in thousands, by this decimal mark."""
        odd = self.sort == "number" and (self.in_one or decimal != ".")
        return replace(self, sort="size", said=decimal) if odd else self

    def number_in(self, text: str) -> float | None:
        """What a cell that is written otherwise than as a number holds: a duration, a date, or a number with its unit
        or without, in the column's own; None for what is none."""
        if self.sort == "clock":
            return clock_seconds(text, self.said)
        if self.sort == "time":
            return unix_of_date(text, self.dates)
        text, of = with_point(text, self.said), memory_of if self.name == "memory" else cpus_of
        if self.measured and text.rstrip()[-1:] in ("k", "K"):
            return None
        return of(text, self.in_one) if self.in_one else plain_of(text)

    def takes(self, label: str) -> bool:
        """Whether a cell may hold a label."""
        if self.kinds:
            return not label or kind_of(label) is not None
        if len(label) > limits.TEXT_BYTES or (self.choices and label not in self.choices):
            return False
        if not label or not (self.points or self.requires):
            return True
        return (points_of(label) if self.points else requirement_of(label)) is not None

    def holds(self, values: Floats) -> bool:
        """Whether every value is within bounds; NaN and infinities are not."""
        if not len(values):
            return True
        whole = not self.whole or bool((values == np.rint(values)).all())
        return whole and self._is_within(values.min()) and self._is_within(values.max())

    def fits(self, value: float) -> bool:
        """Whether one value is within bounds: as :meth:`holds`, of which an array of one takes twenty times as long."""
        return self._is_within(value) and (not self.whole or value == round(value))

    def _is_within(self, value: float) -> bool:
        return bool((value > self.low if self.above else value >= self.low) and value <= self.high)


_UNKEPT = ("words", "skip")
_JOINED = 64  # ours: parts of columns that are made one, as small ones leave gaps in memory when they are
MOST_NAMED = 1_000_000  # ours: the jobs of longer tables are known by their rows, so that their ids take no memory


class SuspectError(Exception):
    """A fast pass met something it must refuse; a slower pass says what and where."""


def check_not_days(times: Floats, where: str) -> None:
    """Refuse, with InputError, times that were meant as days of a spreadsheet and would count as seconds."""
    first, last = SPREADSHEET_DAYS
    present = times[~np.isnan(times)]
    if len(present) and first <= present.min() and present.max() < last and (present % 1.0 > 0).any():
        raise InputError(
            f"{where} has days of a spreadsheet, as {present[0]:.5f}, not seconds",
            hint=AS_DATES,
        )


class Sink:
    """Takes record batches, checks them at full speed and keeps the columns as arrays; ``good`` rows hold no fault,
    ``local_zone`` is that of times that named none and were read in it, columns ``with_units`` have cells with one, be
    it some as G, of 1000 or of 1024."""

    def __init__(self, columns: tuple[Column, ...], max_rows: int, file: str) -> None:
        self.columns = columns
        self.max_rows = max_rows
        self.file = file
        self.rows = 0
        self.good = self.batches = 0
        self.local_zone = ""
        self.with_units = dict[str, bool]()
        self.parts: dict[str, list[NDArray[np.generic]]] = {c.name: [] for c in columns if c.sort not in _UNKEPT}
        self.names: dict[str, dict[str, int]] = {c.name: {} for c in columns if c.sort == "label"}
        self.identities: list[pa.Array] = []
        self.words: dict[str, list[pa.Array]] = {c.name: [] for c in columns if c.sort == "words"}

    def take(self, batch: pa.RecordBatch) -> None:
        """Check and keep one batch; SuspectError when any value must be refused."""
        self.rows += batch.num_rows
        if self.rows > self.max_rows:
            raise InputError(
                f"{self.file}: more than {self.max_rows:,} rows (max_rows)",
                hint="raise it with --set max_rows=N, or split the file",
            )
        for index, column in enumerate(self.columns):
            if column.sort == "words":
                self.words[column.name].append(batch.column(index))
            elif column.sort not in _UNKEPT:
                self.parts[column.name].append(self._column(column, batch.column(index)))
        self.good = self.rows
        self.batches += 1
        if self.batches % _JOINED == 0:
            for parts in self.parts.values():
                parts[-_JOINED:] = [np.concatenate(parts[-_JOINED:])]

    def numbers(self, name: str) -> Floats:
        """A number or time column; times in seconds. InputError where those of a required one are days."""
        values: Floats = self._values(name).astype(np.float64, copy=False)
        column = next((column for column in self.columns if column.name == name), None)
        if column is None:
            return values
        if column.told == _MOMENT and column.sort == "number" and column.required:
            check_not_days(values, f"{self.file}: column {column.in_file}")
        return values if column.ticks == 1.0 else values / column.ticks

    def codes(self, name: str) -> Codes:
        """A label column as indices into :meth:`labels`."""
        return self._values(name).astype(np.int32, copy=False)

    def labels(self, name: str) -> tuple[str, ...]:
        """The labels of a column in the order they were met."""
        return tuple(self.names[name])

    def take_hashes(self, name: str) -> Hashes:
        """The hashes of an identity column, which the sink then forgets."""
        hashes = self._values(name).astype(np.uint64, copy=False)
        del self.parts[name]
        return hashes

    def ids(self) -> Ids | None:
        """The texts of the identity column as UTF-8; None where there is none, or more rows than are kept."""
        if not self.identities or self.rows > MOST_NAMED:
            return None
        texts = [text or "" for values in self.identities for text in values.to_pylist()]
        self.identities = []
        return np.array([text.encode() for text in texts])

    def texts(self, name: str) -> list[str]:
        """A column of words, which the sink then forgets."""
        return [text or "" for values in self.words.pop(name) for text in values.to_pylist()]

    def has(self, name: str) -> bool:
        """Whether the column was in the input."""
        return name in self.parts or name in self.words

    def _values(self, name: str) -> NDArray[np.generic]:
        """A column as one array, which the sink then keeps in place of its parts."""
        if len(self.parts[name]) != 1:
            self.parts[name] = [np.concatenate(self.parts[name] or [np.empty(0)])]
        return self.parts[name][0]

    def _column(self, column: Column, values: pa.Array) -> NDArray[np.generic]:
        if values.null_count and column.filled:
            raise SuspectError
        if column.sort == "label":
            return self._label_codes(column, values)
        if column.sort == "identity":
            self.identities.append(values)
            if self.rows > MOST_NAMED:
                self.identities.clear()
            return _identities(values)
        if column.sort == "size":
            named = [text for text in values.unique().to_pylist() if text and text.rstrip()[-1:].isalpha()]
            if named:
                has_g = any(map(_G.search, named))
                self.with_units[column.name] = self.with_units.get(column.name, False) or has_g
        if pa.types.is_string(values.type):
            values = _numbers(values, column.number_in)
        return self._checked_numbers(column, values)

    def _checked_numbers(self, column: Column, values: pa.Array) -> Floats:
        is_date = pa.types.is_timestamp(values.type)
        numbers = unix_seconds(values) if is_date else _floats(values)
        if column.zone and (values.type.tz is None if is_date else column.dates):
            numbers, self.local_zone = unix_of_local(numbers, column.zone), column.zone
        present = numbers[~np.isnan(numbers)] if values.null_count else numbers
        if values.null_count and len(present) + values.null_count != len(numbers):
            raise SuspectError
        if not column.holds(present):
            raise SuspectError
        return numbers

    def _label_codes(self, column: Column, values: pa.Array) -> Codes:
        known = self.names[column.name]
        codes = np.empty(len(values.dictionary) + 1, np.int32)
        codes[-1] = -1
        for index, label in enumerate(values.dictionary.to_pylist()):
            if not column.takes(label):
                raise SuspectError
            codes[index] = known.setdefault(label, len(known)) if label else -1
        if len(known) > limits.LABELS:
            raise InputError(f"{self.file}: column {column.name} has more than {limits.LABELS:,} different values")
        indices = values.indices.fill_null(len(codes) - 1) if values.indices.null_count else values.indices
        places = np.frombuffer(indices.buffers()[1], np.int32)[indices.offset : indices.offset + len(indices)]
        coded: Codes = codes[places]
        return coded


def unix_seconds(values: pa.Array) -> Floats:
    """Timestamps as Unix seconds; a missing one is NaN."""
    ticks = values.cast(pa.timestamp("ns", values.type.tz)).cast(pa.int64())
    seconds = np.frombuffer(ticks.buffers()[1], np.int64)[ticks.offset : ticks.offset + len(ticks)] / 1e9
    if ticks.null_count:
        seconds[_floats(pc.is_null(ticks).cast(pa.float64())) == 1] = np.nan
    return seconds


def _numbers(values: pa.StringArray, read: Callable[[str], float | None]) -> pa.DoubleArray:
    """Durations as on a clock, dates or sizes as numbers, each of them read once."""
    coded = values.dictionary_encode()
    numbers = [read(text) for text in coded.dictionary.to_pylist()]
    if None in numbers:
        raise SuspectError
    return pa.array(numbers, pa.float64()).take(coded.indices)


def _floats(values: pa.DoubleArray) -> Floats:
    """The values without a copy where none is missing (NaN); by the buffer, as ``to_numpy`` would import pandas."""
    filled = values.fill_null(np.nan) if values.null_count else values
    return np.frombuffer(filled.buffers()[1], np.float64)[filled.offset : filled.offset + len(filled)]


def _identities(values: pa.StringArray) -> Hashes:
    try:
        return identity_hashes(values, limits.TEXT_BYTES)
    except OverflowError as error:
        raise SuspectError from error
