"""Tables of many series: a column a machine (as Grafana exports them, and Google's Metrics Explorer), or a column that
names the machine of each row."""

from __future__ import annotations

import math
import re
import shlex
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import Demand, Modelled
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.formats.jobs.stated_units import IN_A_GIB
from hcloud.readers.workloads.formats.usage.machine_columns import GOOGLE, MachineColumns, machine_columns, of_rows
from hcloud.readers.workloads.formats.usage.measured import MeasuredSeries, MeasuredUse, refuse_counters
from hcloud.readers.workloads.formats.usage.samples import TIMES, TimeColumn
from hcloud.readers.workloads.meanings import as_option, unit_said
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.quantities import NUMBER, cpus_of, memory_of, with_point
from hcloud.readers.workloads.source import TraceFile
from hcloud.readers.workloads.tables.at_once import DistinctTexts, distinct_texts
from hcloud.readers.workloads.tables.columns import TICKS, check_not_days
from hcloud.readers.workloads.tables.delimited import Progress
from hcloud.readers.workloads.tables.header import Header, header_names
from hcloud.readers.workloads.tables.locate import DECIMAL, TableLayout, rows_of, with_command
from hcloud.readers.workloads.tables.marks import mark_of
from hcloud.units import some_of

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

FORMAT = "machines"
_NONE = frozenset({"", "null", "undefined", "nan", "-", "n/a", "none"})
_LABEL = re.compile(r"[A-Za-z_][\w. /()-]*", re.ASCII)
_LONG_ID = 10
_LOOK = 20_000
_NAMED = 5
_EMPTY = "empty cells: no sample"


@dataclass(slots=True)
class _Samples:
    """The samples of one machine, with their lines."""

    name: str
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    memory: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))


def read(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> Demand:
    """The sum of all machines, each from its first to its last sample."""
    return measured(source, options, progress).demand(options)


def measured(source: TraceFile, options: WorkloadOptions, progress: Progress | None = None) -> MeasuredUse:
    """Every machine by itself. What is wrong with single cells is noted; InputError for another notation of numbers or
    dates, where all the rest would be told of wrong values."""
    header = header_names(source)
    columns = machine_columns(source, header.names, options)
    table = _MachineTable(source, header, columns, options)
    if not table.read_at_once():
        table = _MachineTable(source, header, columns, options)
        table.read(progress)
    if table.findings.problems:
        error = with_command(source, table.findings, options.dates)
        error.hint = error.hint or table.named_in_rows()
        if error.hint:
            raise error
    if not table.rows:
        raise InputError(f"{source.name}: no rows; the file has only a header")
    every = list(table.series())
    refuse_counters(source.name, [series for series in every if not series.unit])
    found = MeasuredUse(source, FORMAT, every, table.rows, table.repaired, of_all=columns.of_all)
    found.findings, found.if_twice = table.findings, _apart(columns, header.names)
    found.rules += table.rules()
    return found


class _MachineTable:
    """A table on its way to series."""

    def __init__(self, source: TraceFile, header: Header, columns: MachineColumns, options: WorkloadOptions) -> None:
        self.source, self.header, self.columns, self.options = source, header, columns, options
        self.findings, self.rows = Findings(source.name), 0
        self.mark = mark_of(source, header.delimiter, options.decimal, columns.numbers)
        self.clock = TimeColumn(options.zone, options.dates)
        self.repaired: dict[str, int] = {"byte order mark skipped": 1} if source.marked else {}
        self.machines: dict[str, _Samples] = {}
        self.percent: bool | None = None
        self.in_cells = self.memory_in_cells = self.bare_memory = False
        self.memory_name = "memory" if columns.memory is None else header.names[columns.memory]
        self.memory_unit = unit_said("memory", self.memory_name) or "GiB"
        self.last = "", math.nan

    def read_at_once(self) -> bool:
        """Take all rows by their distinct texts; False, and the table is of no use, where one is not plain."""
        by_one = self.columns.name is not None and len(self.columns.named_by) < 2
        table = distinct_texts(self.source, self.header) if by_one else None
        if table is None or not 0 < len(table[0].codes) <= self.options.max_rows:
            return False
        names = table[cast("int", self.columns.name)]
        if len(names.texts) > limits.LABELS or not all(_is_name(text) for text in names.texts):
            return False
        try:
            times = np.array([self.clock.seconds(text) for text in table[self.columns.time].texts])
        except ValueError:
            return False
        values, memory = (self._numbers(table, at) for at in (self.columns.values[0], self.columns.memory))
        self.rows = len(names.codes)
        self._keep(names, (times[table[self.columns.time].codes], values, memory))
        return not self.findings.problems

    def _numbers(self, table: Sequence[DistinctTexts], at: int | None) -> Floats:
        """The numbers of a column, 0 of none."""
        if at is None:
            return np.zeros(len(table[0].codes))
        return np.array([self._number(0, [text] * len(table), at) for text in table[at].texts])[table[at].codes]

    def _keep(self, names: DistinctTexts, columns: tuple[Floats, Floats, Floats]) -> None:
        """Every machine's samples in the order of its rows."""
        kept = ~(np.isnan(columns[1]) | np.isnan(columns[2]))
        if not kept.all():
            self.repaired[_EMPTY] = int(np.count_nonzero(~kept))
        rows = np.flatnonzero(kept)[np.argsort(names.codes[kept], kind="stable")]
        ends = np.searchsorted(names.codes[rows], np.arange(len(names.texts) + 1))
        for name, start, end in zip(names.texts, ends[:-1], ends[1:], strict=True):
            mine, found = rows[start:end], _Samples(name)
            for samples, column in zip((found.times, found.values, found.memory), columns, strict=True):
                samples.frombytes(column[mine].tobytes())
            found.lines.frombytes((mine + self.header.skip + 2).astype(np.int64).tobytes())
            self.machines[name] = found

    def read(self, progress: Progress | None) -> None:
        """Take every row; what is wrong is noted."""
        labels = self.header.names[0] == GOOGLE
        layout = TableLayout((), self.header.delimiter, skip=self.header.skip)
        for line, cells in rows_of(self.source, layout, self.findings):
            if self.findings.full:
                return
            if labels and not self.rows and self._is_label(cells):
                continue
            self.rows += 1
            if self.rows > self.options.max_rows:
                raise InputError(f"{self.source.name}: more than {self.options.max_rows:,} rows (max_rows)")
            if progress is not None and self.rows % _LOOK == 0:
                progress(1 - 1 / (1 + self.rows / _LOOK))
            if len(cells) != len(self.header.names):
                fields = f"{len(self.header.names)} fields, as the header has"
                self.findings.add(f"line {line}", f"{len(cells)} fields", fields)
            else:
                self._take(line, cells)

    def named_in_rows(self) -> str:
        """The command that reads rows which name their machine in what was taken for a machine's column; nothing where
        none of two is of names alone."""
        names, (first, *more) = self.header.names, self.columns.values
        odd = {problem.where.partition("column ")[2] for problem in self.findings.problems}
        if (
            self.columns.name is not None
            or not more
            or len(odd) != 1
            or names[self.columns.time] in odd
            or len(self.findings.problems) < self.rows
        ):
            return ""
        if any(problem.value.strip("'")[:1].isdigit() for problem in self.findings.problems):
            return ""  # formatted numbers
        name = odd.pop()
        values = [names[at] for at in (first, *more) if names[at] != name]
        return of_rows(self.source, names[self.columns.time], name, values)

    def _is_label(self, cells: list[str]) -> bool:
        """Whether a line behind the header names a label of every series: Google's, with texts or long ids."""
        ids = all(not _is_number(cell) or (cell.isdecimal() and len(cell) >= _LONG_ID) for cell in cells[1:])
        return _LABEL.fullmatch(cells[0]) is not None and ids

    def _take(self, line: int, cells: list[str]) -> None:
        names = self.header.names
        try:
            time = self._seconds(cells[self.columns.time])
        except ValueError:
            at = self.columns.time
            self.findings.add(f"line {line}, column {names[at]}", shown(cells[at]), TIMES)
            return
        if self.columns.name is None:
            for at in self.columns.values:
                self._sample(line, names[at], time, (cells, at))
            return
        parts = [cells[at].strip() for at in self.columns.named_by or (self.columns.name,)]
        machine = "/".join(parts)
        if not all(parts) or len(machine.encode()) > limits.TEXT_BYTES:
            self.findings.add(f"line {line}, column {names[self.columns.name]}", shown(machine), "a machine's name")
            return
        self._sample(line, machine, time, (cells, self.columns.values[0]))

    def _seconds(self, text: str) -> float:
        """A time; rows of several machines at one time follow one another."""
        if text != self.last[0]:
            self.last = text, self.clock.seconds(text)
        return self.last[1]

    def _sample(self, line: int, machine: str, time: float, cell: tuple[list[str], int]) -> None:
        cells, at = cell
        value = self._number(line, cells, at)
        memory = 0.0 if self.columns.memory is None else self._number(line, cells, self.columns.memory)
        found = self.machines.get(machine)
        if found is None:
            found = self.machines[machine] = _Samples(machine)
            if len(self.machines) > limits.LABELS:
                raise InputError(f"{self.source.name}: more than {limits.LABELS:,} machines")
        if math.isnan(value) or math.isnan(memory):
            self.repaired[_EMPTY] = self.repaired.get(_EMPTY, 0) + 1
            return
        found.times.append(time)
        found.values.append(value)
        found.memory.append(memory)
        found.lines.append(line)

    def _number(self, line: int, cells: list[str], at: int) -> float:
        """The number in a cell; NaN for none, and for what is noted as none."""
        text = cells[at].strip()
        if text.lower() in _NONE:
            return math.nan
        percent = text.endswith("%")
        plain = text.removesuffix("%").rstrip() if percent else text
        plain = with_point(plain, self.mark)
        known = at == self.columns.memory or self.percent in (None, percent)
        amount = None if percent or not plain[-1:].isalpha() else self._amount(plain, at)
        if amount is not None:
            self.in_cells |= at != self.columns.memory
            self.memory_in_cells |= at == self.columns.memory
            plain = repr(amount)
        else:
            self.bare_memory |= at == self.columns.memory
        if not known or NUMBER.fullmatch(plain) is None:
            where = f"line {line}, column {self.header.names[at]}"
            self.findings.add(where, shown(text), self._allowed(plain))
            return math.nan
        if at != self.columns.memory:
            self.percent = percent
        return float(plain)

    def _amount(self, text: str, at: int) -> float | None:
        """What a cell with a unit says, as Kubernetes writes memory and vCPUs; None in a column of other things."""
        if at == self.columns.memory:
            return memory_of(text, IN_A_GIB[self.memory_unit])
        are_cores = self.columns.units[at] in ("", "cores") and self.options.series_value in ("auto", "cores")
        return cpus_of(text, self.columns.in_a_vcpu[at]) if are_cores and text[-1] not in "kK" else None

    def _allowed(self, text: str) -> str:
        if re.fullmatch(r"[+-]?\d[\d.]*,\d+", text) and self.mark == ".":
            return f"a number {DECIMAL}"
        return "a number, or a per cent as 45.3% in every cell; in Grafana: Formatted data off"

    def series(self) -> Iterator[MeasuredSeries]:
        """The machines in the order they were met, samples by time."""
        names = self.header.names
        for machine in self.machines.values():
            column = self.columns.values[0] if self.columns.name is not None else names.index(machine.name)
            unit = "cores" if self.in_cells else self.columns.units[column] or ("percent" if self.percent else "")
            times = np.frombuffer(machine.times) if machine.times else np.empty(0)
            check_not_days(times, f"{self.source.name}: column {names[self.columns.time]}")
            order, memory = np.argsort(times, kind="stable"), np.array(machine.memory) / IN_A_GIB[self.memory_unit]
            later = int(np.count_nonzero(np.diff(times) < 0))
            if later:
                why = "unsorted: rows earlier than the row before; sorted by time"
                self.repaired[why] = self.repaired.get(why, 0) + later
            yield MeasuredSeries(
                names[column],
                machine.name,
                times[order],
                np.array(machine.values)[order] / self.columns.in_a_vcpu[column],
                unit,
                lines=np.array(machine.lines, np.int64)[order],
                memory=None if self.columns.memory is None else memory[order],
            )

    def rules(self) -> list[Modelled]:
        """What is assumed of times, and of memory, and which columns are left out."""
        parts = ["cells name their unit; GB is GiB"] if self.memory_in_cells else []
        if self.memory_name != "memory":
            unit = f" as {self.memory_unit}" if self.bare_memory else ""
            parts.insert(0, f"read from column {self.memory_name}{unit}")
        told = [Modelled("memory", "; ".join(parts), "fixed")] if parts else []
        parts_of = self.columns.in_a_vcpu
        for small in sorted({*parts_of.values()} - {1.0}):
            which = some_of([self.header.names[at] for at in parts_of if parts_of[at] == small], _NAMED)
            of = "" if len({*parts_of.values()}) == 1 else f" of {which}"
            told.append(Modelled("cores", f"{small:,.0f} of a value{of} are a vCPU, by the column's name", "fixed"))
        if left := self.columns.left_out:
            told.append(Modelled("columns", f"left out: {some_of(left, _NAMED)}", "columns"))
        if self.clock.local:
            return [*told, Modelled("times", self.options.zone or "dates without a zone are UTC", "zone")]
        ticks = 0.0 if self.clock.notation is None else self.clock.notation[0]
        if ticks > 1.0:
            told.append(Modelled("times", f"{TICKS[ticks]}, by the size of the first", "fixed"))
        return told


def _apart(columns: MachineColumns, names: list[str]) -> str:
    """What to do about times that are there twice: another column may tell them apart."""
    if not columns.left_out:
        return ""
    machine = "if rows are of several machines, add name=NAME to --columns; "
    if columns.name is not None:
        keys = as_option(
            {"timestamp": names[columns.time], "name": "NAME", "value": names[columns.values[0]]}, whole=True
        )
        machine = f"if another column names the machine, say --columns {shlex.quote(keys)}; "
    others = some_of(columns.left_out, _NAMED)
    return f"{machine}if the time of day has its own column, write it behind the date; its other columns: {others}"


def _is_name(text: str) -> bool:
    return text == text.strip() and 0 < len(text.encode()) <= limits.TEXT_BYTES


def _is_number(text: str) -> bool:
    return NUMBER.fullmatch(text.strip()) is not None
