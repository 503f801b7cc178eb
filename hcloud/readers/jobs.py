"""Files of jobs to run: CSV, which may be followed as it grows, or YAML."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import yaml

from hcloud.control.operating.job_ids import JobIds
from hcloud.errors import FileError, InputError, Problem, UsageError
from hcloud.model.files import HEAD, check_sort, kind_of, no_such_file
from hcloud.model.running.job import JobOrder, NewJobs
from hcloud.readers.job_columns import COLUMNS, columns_of, unit_of, what_else, with_unit
from hcloud.readers.job_fields import Fits, Times, job_orders
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.workloads.meanings import called_columns, check_called
from hcloud.units import counted

SORT = "a file of jobs"
_BEGUN = "write one: CSV with id and command, or YAML with '- id: ...' and 'command: ...' for each job"
_YAML = (".yaml", ".yml", ".json")
_NEEDED = ("id", "command")
_CALLED = {",": "comma", ";": "semicolon", "\t": "tab"}
_TAIL = 1 << 16  # ours: so much of what was read is compared each time
_LINES = 100_000  # ours: of so many ids the line is kept, to be told; a file that is followed may grow for years
_NAMES = 1000  # ours: of so many names beside a missing one a likely one is looked for


@dataclass(slots=True)
class _Reading:
    """One file of jobs as it is read: which ids it had, of the first ones in which line, what its columns are called
    that are not called as ours, what is wrong, and what columns are ``named``, by ours: then others may be there, too.
    """

    name: str
    known: JobIds = field(default_factory=JobIds)
    lines: dict[str, int] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    fits: Fits = field(default=lambda order, servers: "")
    named: Mapping[str, str] = field(default_factory=dict)

    def note(self, line: int, what: str, value: str, allowed: str) -> None:
        self.problems.append(Problem(self.name, f"line {line}, {what}" if what else f"line {line}", value, allowed))

    def orders(self, line: int, cells: Mapping[str, object], times: Times) -> tuple[JobOrder, ...]:
        """The job of a row, in pieces; none for one that cannot be run, or that another row has run."""
        found = job_orders(
            cells, times, lambda what, *said: self.note(line, self.called.get(what, what), *said), self.fits
        )
        identity = str(cells.get("id") or "").strip()
        names = dict.fromkeys([identity, *(order.id for order in found)] if identity else [])
        for name in names:
            if name in self.known:
                first = f"line {self.lines[name]}" if name in self.lines else "an earlier line"
                self.note(line, "id", repr(name)[:60], f"{first} has it already; each job needs an id of its own")
                return ()
        for name in names:
            self.known.add(name)
        if len(self.lines) < _LINES:
            self.lines.update(dict.fromkeys(names, line))
        return found

    def refuse(self) -> None:
        """Raise what is wrong, once."""
        if self.problems:
            problems, self.problems = self.problems, []
            raise InputError(f"{self.name}: {counted(len(problems), 'problem')} in the file of jobs", problems)

    def meanings(self, names: Sequence[str]) -> dict[str, str]:
        """Which of our columns each of these is."""
        known = columns_of(names, self.named)
        self.called = {mine: name for name, mine in known.items()}
        return known

    def check_named(self, names: Sequence[str]) -> None:
        """Raise UsageError or InputError where a column is named that is none of ours, or that the file lacks."""
        check_called(self.name, self.named, names, COLUMNS)

    def unknown(self, line: int, key: str, known: Mapping[str, str]) -> None:
        if not self.named:
            self.note(line, f"column {key!r}"[:60], "unknown", what_else(key, known))


@dataclass(frozen=True, slots=True)
class JobsFile:
    """Where jobs stand, and what its columns are called there: ``id=name,cores=vcpus``. With it others are not read."""

    path: Path
    columns: str = ""


class FollowedFile:
    """Implements hcloud.control.ports.JobSource. ``began`` is when the work began, in seconds since 1970: times of the
    file are counted from it. With ``follow`` lines that are added to a CSV file are read as soon as they are whole.
    ``fits`` says what is wrong with a job on so many servers."""

    def __init__(
        self,
        file: JobsFile,
        began: float,
        *,
        follow: bool = False,
        now: Callable[[], float] = time.time,
        fits: Fits = lambda order, servers: "",
    ) -> None:
        self._named = called_columns(file.columns)
        self._path, self._began, self._follow, self._now, self._fits = file.path, began, follow, now, fits
        self._closed = self._has_begun = False
        self._pending: list[JobOrder] = []
        self._begin()
        if follow and is_yaml(file.path):
            why = "nothing shows that its last job is whole"
            raise UsageError(
                f"{file.path}: YAML cannot be followed: {why}", hint="write the jobs as CSV, or say --no-follow"
            )

    def new(self) -> NewJobs:
        """The jobs since the last call. InputError names every line that cannot be used. Of a file that is followed the
        other lines come with the next call; one that was shortened or replaced is never read on."""
        self.read()
        orders, self._pending = tuple(self._pending), []
        return NewJobs(orders, closed=self._closed)

    def read(self) -> Sequence[JobOrder]:
        """What the next call gives; raises as that does."""
        if not self._pending and not self._closed:
            self._pending = list(self._orders(Times(self._began, self._now())))
            self._refuse()
            self._closed = not self._follow
        return self._pending

    def _refuse(self) -> None:
        """Raise what is wrong; a file that cannot be used from the beginning is read from there the next time."""
        try:
            self._reading.refuse()
        except InputError:
            if not self._has_begun:
                self._begin()
            raise
        self._has_begun = self._table.size > 0

    def _begin(self) -> None:
        self._reading, self._table = _Reading(str(self._path), fits=self._fits, named=self._named), _Table()
        self._pending = []
        self._was: tuple[int, ...] = ()

    def _orders(self, times: Times) -> Iterator[JobOrder]:
        rows = _yaml_rows(self._path, self._reading) if is_yaml(self._path) else self._csv_rows()
        for line, cells in rows:
            yield from self._reading.orders(line, cells, times)

    def _csv_rows(self) -> Iterator[tuple[int, Mapping[str, object]]]:
        text = self._appended()
        return self._table.rows(text, self._reading) if text else iter(())

    def _appended(self) -> str:
        """What whole lines the file has beyond those that were read; of a file that is not followed, all of it."""
        table = self._table
        with _opened(self._path) as file:
            found = os.fstat(file.fileno())
            now = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            if now == self._was:
                return ""
            if not table.goes_on(file, is_same=now[:2] == self._was[:2]):
                raise InputError(
                    f"{self._path}: was shortened, replaced or changed in lines that were read already",
                    hint="jobs are only added at its end; for others begin another file",
                )
            added = file.read()
        if not table.size and (added or not self._follow):
            check_sort(self._path, added[:HEAD], SORT, "a job trace")
        whole = added if not self._follow else added[: _whole(added)]
        text = _decoded(whole, self._path, table.lines)
        self._was = now
        return table.take(whole, text)


class SeveralFiles:
    """Implements hcloud.control.ports.JobSource: the jobs of files one after another. What is wrong with one of them is
    raised when no other has jobs, and keeps these from nobody."""

    def __init__(self, files: Sequence[FollowedFile]) -> None:
        self._files, self._wrong = files, dict[int, InputError]()

    def new(self) -> NewJobs:
        """The jobs since the last call; raises InputError as those of one file."""
        found = []
        for number, file in enumerate(self._files):
            try:
                found.append(file.new())
            except InputError as error:
                self._wrong[number] = error
        orders = tuple(order for one in found for order in one.orders)
        if self._wrong and not orders:
            raise self._wrong.pop(next(iter(self._wrong)))
        return NewJobs(orders, closed=all(one.closed for one in found))


class _Table:
    """A CSV table that is read piece by piece, each of whole lines."""

    def __init__(self) -> None:
        self.size, self.lines = 0, 0
        self.header: list[str] = []
        self._units: list[str] = []
        self._delimiter = ","
        self._tail, self._digest = b"", hashlib.sha256()

    def goes_on(self, file: BinaryIO, *, is_same: bool) -> bool:
        """Whether a file begins with what was read, by its last part, or by all of it where it is another file; it is
        read from there on then."""
        file.seek(self.size - len(self._tail) if is_same else 0)
        before = file.read(len(self._tail) if is_same else self.size)
        return before == self._tail if is_same else hashlib.sha256(before).digest() == self._digest.digest()

    def take(self, whole: bytes, text: str) -> str:
        """Count lines as read; their text, without a byte order mark."""
        first, self.size = not self.size, self.size + len(whole)
        self._digest.update(whole)
        self._tail = (self._tail + whole)[-_TAIL:]
        return text.removeprefix("\ufeff") if first else text

    def rows(self, text: str, reading: _Reading) -> Iterator[tuple[int, Mapping[str, object]]]:
        """Each row with the number of its first line."""
        if not self.header:
            self._delimiter = next((d for d in ",;\t" if d in text.partition("\n")[0]), ",")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter, strict=True)
        before, line = self.lines, self.lines + 1
        try:
            for cells in reader:
                if not self.header:
                    self._head(cells, line, reading)
                elif len(cells) > len(self.header):
                    said = f"{counted(len(cells), 'cell')} for {counted(len(self.header), 'column')}"
                    reading.note(line, "", said, f"put a cell that holds a {_CALLED[self._delimiter]} in double quotes")
                elif any(cell.strip() for cell in cells):
                    yield line, dict(zip(self.header, map(with_unit, cells, self._units), strict=False))
                line = before + reader.line_num + 1
        except csv.Error as error:
            reading.note(line, "", str(error), "put a cell with a double quote in quotes, and write the quote twice")
        self.lines = before + reader.line_num

    def _head(self, cells: Sequence[str], line: int, reading: _Reading) -> None:
        """The names of the columns. Where those are missing that every job needs, no row can be read."""
        stored = [cell.strip() for cell in cells]
        reading.check_named(stored)
        known = reading.meanings(stored)
        for name in sorted(set(stored)):
            if name not in known:
                reading.unknown(line, name, known)
            elif stored.count(name) > 1:
                reading.note(line, f"column {name}", "twice", "once is enough")
        self.header = [known.get(name, f"{name} (not read)" if reading.named else name) for name in stored]
        self._units = [unit_of(known.get(name, ""), name) for name in stored]
        missing = [name for name in _NEEDED if name not in self.header]
        for name in missing:
            reading.note(line, f"column {name}", "missing", f"the first line names the columns: {', '.join(COLUMNS)}")
        if missing:
            reading.refuse()


def _whole(added: bytes) -> int:
    """Where the last row ends that is whole: with a line break that is not inside quotes."""
    end = start = quotes = 0
    for piece in added.split(b"\n")[:-1]:
        start += len(piece) + 1
        quotes += piece.count(b'"')
        if not quotes % 2:
            end = start
    return end


def _decoded(data: bytes, path: Path, lines: int) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = lines + data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line} is not UTF-8 text", hint="save the file as UTF-8") from None


def check_there(path: Path) -> None:
    """Refuse a name without a file of jobs that can be read."""
    with _opened(path):
        pass


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        if kind := kind_of(path.stat().st_mode):
            raise no_such_file(str(path), SORT, (kind, []), "")
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        beside = sorted(p.name for p in path.parent.glob("*"))[:_NAMES]
        raise no_such_file(str(path), SORT, ("", beside), _BEGUN) from None
    except OSError as error:
        raise FileError.of(error, path, "read") from error


def is_yaml(path: Path) -> bool:
    """Whether a file of that name is read as YAML, which cannot be followed."""
    return path.suffix.lower() in _YAML


def _yaml_rows(path: Path, reading: _Reading) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Each job of a list, or of the list ``jobs``, with the line it begins in."""
    with _opened(path) as file:
        data = file.read()
    check_sort(path, data[:HEAD], SORT)
    text = _decoded(data, path, 0).removeprefix("\ufeff")
    content = load_yaml(text, str(path))
    jobs = content.get("jobs") if isinstance(content, dict) and set(content) == {"jobs"} else content
    if not isinstance(jobs, list):
        raise InputError(f"{path}: is no list of jobs", hint="write '- id: ...' and 'command: ...' for each job")
    reading.check_named([str(key) for job in jobs if isinstance(job, dict) for key in job])
    for job, line in zip(jobs, _yaml_lines(text), strict=True):
        if not isinstance(job, dict):
            reading.note(line, "", repr(job)[:60], "a job is written as 'id: ...', 'command: ...', a line each")
            continue
        known = reading.meanings([str(key) for key in job])
        for key in job:
            if str(key) not in known:
                reading.unknown(line, str(key), known)
        named = ((str(key), value) for key, value in job.items())
        yield line, {known.get(k, k): with_unit(value, unit_of(known.get(k, ""), k)) for k, value in named}


def _yaml_lines(text: str) -> list[int]:
    """The lines in which the entries of the list begin."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if isinstance(node, yaml.MappingNode):
        node = node.value[0][1]
    return [entry.start_mark.line + 1 for entry in node.value] if isinstance(node, yaml.SequenceNode) else []
