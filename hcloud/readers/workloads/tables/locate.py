"""The slow second pass over a text table: says on which line and in which column something is wrong."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from itertools import islice

import numpy as np
import pyarrow as pa

from hcloud.errors import InputError, Problem, did_you_mean
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.commands import advice, led, piped
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.identity import Hashes, identity_hashes
from hcloud.readers.workloads.meanings import as_option
from hcloud.readers.workloads.quantities import NUMBER, likely_unit, with_point
from hcloud.readers.workloads.source import CheckedReader, TraceFile
from hcloud.readers.workloads.tables.clock import MANY, MINUTES, TWO, allowed_clock, is_clock
from hcloud.readers.workloads.tables.columns import BEFORE, NEVER_RAN, OPEN, Column
from hcloud.readers.workloads.tables.dates import DAY_FIRST, MONTH_FIRST, orders_of
from hcloud.readers.workloads.tables.header import first_rows, header_names
from hcloud.readers.workloads.tables.mending import PlainTable, mending_command
from hcloud.readers.workloads.tables.waits import read_waits

ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_DECIMALDECIMAL = re.compile(r"[+-]?\d[\d.' ]*,\d+\s*[A-Za-z]*", re.ASCII)
_DAY_FIRST_OR_LAST = re.compile(r"'\s*\d{1,2}([./-])\d{1,2}\1(\d{4}|\d\d)\b", re.ASCII)
_HALF = re.compile(r"[AaPp]\.?[Mm]\.?'$", re.ASCII)
_THOUSANDS = re.compile(r"'\s*\d{1,3}(,\d{3})+\s*[A-Za-z]*\s*'", re.ASCII)
_QUOTED_THOUSANDS = re.compile(rb'" *[0-9]+,[0-9]{3}')
_NO_THOUSANDS = """sed -E ':a; s/(" *[0-9]+),([0-9]{3})/\\1\\2/g; ta'"""
_NO_YEAR = re.compile(
    r"'\s*(([A-Z][a-z]{2} )?(?P<letters>[A-Z][a-z]{2}) +\d\d?|\d\d?[-/.]\d\d?\.?)[ T]+\d\d?:\d\d", re.ASCII
)
_BEHIND = r"""sed -E 's#(^|[,;|\t"] *){}[ T]+([0-9]+:)#\1{}'$(date +%Y)' \4#g'"""
_ITS_YEAR = _BEHIND.format(r"([0-9]+([-/.])[0-9]+)[.]?", r"\2\3")
_ITS_YEAR_IN_LETTERS = _BEHIND.format("([A-Z][a-z]{2} +)?([A-Z][a-z]{2} +[0-9]+)", r"\3 ")
"""What puts this year behind a day and month: which comes first is asked then."""
_TWO = re.compile(r"'\s*\d+:[0-5]\d\b(?!:)", re.ASCII)
DECIMAL = "with a decimal point, or --decimal ,"
_Readable = tuple[dict[str, str], str] | None
_BLANKS = " \t"
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a text table is laid out, its header behind ``skip`` lines; ``wrap`` rewrites the byte stream for the fast
    pass (blanks to one delimiter)."""

    columns: tuple[Column, ...]
    delimiter: str = ","
    header: bool = True
    comment: str = ""
    skip: int = 0
    decimal: str = "."
    wrap: Callable[[CheckedReader], io.RawIOBase] | None = None


def locate(source: TraceFile, layout: TableLayout, reason: str, good: int = 0) -> InputError:
    """The error for a file the fast pass refused, with every bad cell up to a bound; the first rows may be good."""
    findings = Findings(source.name)
    stated: list[tuple[int, list[str]]] = []
    waits = [c.name in ("id", "after") for c in layout.columns].count(True) == 2
    judges = [lru_cache(_CHUNK)(partial(_complaint, column, decimal=layout.decimal)) for column in layout.columns]
    fine = good
    for row, (line, cells) in enumerate(rows_of(source, layout, findings)):
        if findings.full:
            break
        if row >= good:
            noted = len(findings.problems)
            _check_row(findings, line, cells, layout.columns, judges)
            fine += noted == len(findings.problems)
        if waits:
            stated.append((line, cells))
    if findings.problems and waits and not findings.full:
        noted = len(findings.problems)
        _check_waits(findings, stated, layout)
        fine -= len(findings.problems) - noted
    if findings.problems:
        error = with_command(source, findings, next((c.dates for c in layout.columns if c.dates), ""))
        lengths = [c.allowed for c in layout.columns if c.name == "duration" and c.sort == "number"]
        if not error.hint and any(p.allowed in lengths and is_clock(p.value.strip("'")) for p in findings.problems):
            error.hint = "write all durations in one way: as numbers, or as 01:34:00"
        if not error.hint:
            table = PlainTable(layout.delimiter, [column.in_file for column in layout.columns])
            plain = layout.header and b'"' not in source.head
            rest = fine > 0 or findings.full
            error.hint = mending_command(source, findings.problems, table if plain else None, rest=rest)
        return error
    return InputError(f"{source.name}: cannot be read: {reason.splitlines()[0] if reason else 'unknown reason'}")


def with_command(source: TraceFile, findings: Findings, dates: str = "") -> InputError:
    """The error that carries all problems, with the command that reads what is met among them where one does: decimal
    commas, dates that are not of the order ``dates``, durations that may be several, open ends."""
    error = findings.error()
    found = [one for one in _readable(source, findings, dates) if one]
    if found:
        keys = {key: value for one, _ in reversed(found) for key, value in one.items()}
        first = _thousands_out(source) if _are_thousands(findings) else ""
        error.hint = led(first, advice(source, keys, *(where for _, where in found if where)))
    elif any(_DAY_FIRST_OR_LAST.search(problem.value) for problem in findings.problems):
        error.hint = "write dates as 2026-10-31: of these some have the day and some the month first"
    elif short := next(filter(None, (_NO_YEAR.match(problem.value) for problem in findings.problems)), None):
        mend = piped(source, _ITS_YEAR_IN_LETTERS if short["letters"] else _ITS_YEAR)
        told = f"; if all are of this year: {mend}" if mend else ""
        error.hint = f"print times with their year (of LSF: LSB_DISPLAY_YEAR=Y), as 2026-11-01 10:00{told}"
    elif all(BEFORE in problem.allowed for problem in findings.problems):
        error.hint = (
            "write the oldest time there for jobs that began before; of jobs that never ran, --set open_ends=leave-out"
        )
    elif sizes := [p for p in findings.problems if p.allowed.endswith("as 8Gi") and p.value.strip("'").isdecimal()]:
        error.hint = "say the unit of memory: --set memory_unit=MiB, KiB or B" if _are_most(sizes) else ""
    return error


def _readable(source: TraceFile, findings: Findings, dates: str) -> Iterator[_Readable]:
    """What reads some of the problems, and what of the file that takes for granted."""
    allowed = {problem.allowed for problem in findings.problems}
    if any(DECIMAL in one for one in allowed):
        out = "" if _thousands_out(source) else " (take those between thousands out)"
        yield {"decimal": ","}, f"its commas stand before decimals{out}" if _are_thousands(findings) else ""
    yield _dates_of(findings, dates)
    if any(problem.allowed == TWO and _TWO.search(problem.value) for problem in findings.problems):
        yield {"duration_unit": "mm:ss"}, "durations are minutes and seconds (of hours and minutes say hh:mm)"
    elif MANY in allowed:
        yield {"duration_unit": MINUTES}, "M is minutes"
    sizes = [p for p in findings.problems if p.allowed.endswith("as 8Gi")]
    if likely_unit(p.value.strip("'") for p in sizes) == "B" and (_are_most(sizes) or _are_alike(source, sizes)):
        yield {"memory_unit": "B"}, "memory is in bytes"
    if any(OPEN in one for one in allowed):
        yield {"open_ends": "run"}, "jobs without an end still run (if they never ran, say leave-out)"
    if any(NEVER_RAN in one for one in allowed):
        yield {"open_ends": "leave-out"}, "jobs without a duration never ran"


def _are_thousands(findings: Findings) -> bool:
    """Whether there are numbers with commas, of which each may stand between thousands."""
    numbers = [p.value for p in findings.problems if DECIMAL in p.allowed]
    return bool(numbers) and all(map(_THOUSANDS.search, numbers))


def _thousands_out(source: TraceFile) -> str:
    """What takes commas between thousands out of the quoted numbers of a table with commas."""
    mend = piped(source, _NO_THOUSANDS) if _QUOTED_THOUSANDS.search(source.head) else ""
    return f"take the commas between thousands out: {mend}" if mend else ""


def _are_most(problems: Sequence[Problem]) -> bool:
    """Whether at least half of the lines up to the last have one of them: not a slip on one."""
    last = max(int(found[0]) for p in problems if (found := re.search(r"\d+", p.where)))
    return 2 * len(problems) >= last - 1


def _are_alike(source: TraceFile, problems: Sequence[Problem]) -> bool:
    """Whether every cell of their column in the first rows names its unit or is in bytes, too."""
    names, where = header_names(source).names, problems[0].where.partition("column ")[2]
    at = names.index(where) if where in names else len(names)
    return likely_unit(row[at] for row in first_rows(source) if len(row) > at) == "B"


def _dates_of(findings: Findings, given: str) -> _Readable:
    """What reads dates with the day or the month first; nothing where there are none, or none that it would read."""
    cells = [p.value for p in findings.problems if _DAY_FIRST_OR_LAST.search(p.value)]
    orders = orders_of(cells) if cells else []
    if not orders or given in orders:
        return None
    if len(orders) == 1:
        return {"dates": orders[0]}, ""
    if any(_HALF.search(cell) for cell in cells):  # AM and PM are written where months come first
        return {"dates": MONTH_FIRST}, f"the month comes first (else say {DAY_FIRST})"
    return {"dates": DAY_FIRST}, f"the day comes first (else say {MONTH_FIRST})"


def duplicates(source: TraceFile, layout: TableLayout, column: Column, twice: Hashes) -> None:
    """Raise InputError with the lines of identifiers that truly stand there more than once."""
    findings = Findings(source.name)
    index = layout.columns.index(column)
    first: dict[str, int] = {}
    rows = rows_of(source, layout, findings)
    while chunk := list(islice(rows, _CHUNK)):
        names = [cells[index] for _, cells in chunk]
        for at in np.flatnonzero(np.isin(identity_hashes(pa.array(names, pa.string())), twice)).tolist():
            if names[at] in first:
                where = f"line {chunk[at][0]}, column {column.in_file}"
                findings.add(where, shown(names[at]), f"is also on line {first[names[at]]}; each must be unique")
            else:
                first[names[at]] = chunk[at][0]
    if findings.problems:
        error = findings.error()
        error.hint = _without_ids(source, layout)
        raise error


def _without_ids(source: TraceFile, layout: TableLayout) -> str:
    """The command that reads jobs whose ids repeat; nothing where others wait for them. Their column is read as what
    jobs run then, as else it would still be one of ids."""
    columns = {c.name: c.in_file for c in layout.columns if c.sort != "skip"}
    name = columns.pop("id", "")
    if not name or {"after", "app"} & columns.keys():
        return ""
    columns["app"] = name
    return advice(source, {"columns": as_option(columns, whole=True)}, "each of its rows is a job, whatever its id")


def rows_of(source: TraceFile, layout: TableLayout, findings: Findings) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row that is not blank, a comment or the header."""
    lines = _decoded(source, layout, findings)
    reader = csv.reader(lines, delimiter=layout.delimiter)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            findings.add(f"line {reader.line_num}", str(error), "quotes closed, fields of readable length")
            return
        if cells and not (layout.header and reader.line_num <= layout.skip + 1):
            yield reader.line_num, cells


def _decoded(source: TraceFile, layout: TableLayout, findings: Findings) -> Iterator[str]:
    """Every line as text; one that is a comment, holds NUL bytes or is not UTF-8 becomes blank, the latter noted."""
    for first, block in source.blocks():
        if block.isascii() and b"\0" not in block and b"\r" not in block and not (layout.comment or layout.wrap):
            yield from io.StringIO(block.decode("ascii") + "\n")
            continue
        for number, line in enumerate(block.split(b"\n"), first):
            text = _text(number, line.removesuffix(b"\r"), findings)
            if layout.comment and text.startswith(layout.comment):
                text = ""
            yield (" ".join(text.split()) if layout.wrap else text) + "\n"


def _text(number: int, line: bytes, findings: Findings) -> str:
    for odd, name, allowed in (
        (b"\0", "a NUL byte", "text"),
        (b"\r", "a lone carriage return", "LF or CRLF at the end"),
    ):
        if odd in line:
            findings.add(f"line {number}, byte {line.index(odd) + 1}", name, allowed)
            return ""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{line[error.start]:02x}, which is not UTF-8"
        findings.add(f"line {number}, byte {error.start + 1}", byte, "UTF-8; convert the file if it is Latin-1")
        return ""


def _check_row(
    findings: Findings, line: int, cells: list[str], columns: Sequence[Column], judges: Sequence[Callable[[str], str]]
) -> None:
    if len(cells) != len(columns):
        findings.add(f"line {line}", f"{len(cells)} fields", f"{len(columns)} fields, as the header has")
        return
    for column, judge, cell in zip(columns, judges, cells, strict=True):
        if complaint := judge(cell):
            findings.add(f"line {line}, column {column.in_file}", shown(cell), complaint)


def _check_waits(findings: Findings, stated: list[tuple[int, list[str]]], layout: TableLayout) -> None:
    """Note the jobs that wait for what is none, unless a row with other cells than the header may be the one."""
    columns = [column.name for column in layout.columns]
    if any(len(cells) != len(columns) for _, cells in stated):
        return
    at, after = columns.index("id"), columns.index("after")
    for row, value, allowed in read_waits([c[at] for _, c in stated], [c[after] for _, c in stated])[1]:
        findings.add(f"line {stated[row][0]}, column {layout.columns[after].in_file}", shown(value), allowed)


def _complaint(column: Column, cell: str, *, decimal: str) -> str:
    """What is allowed instead of the cell, or nothing when the cell is fine."""
    if column.sort in {"skip", "words"}:
        return ""
    if not cell:
        return column.not_empty if column.filled else ""
    if column.sort in {"label", "identity"}:
        return _text_complaint(column, cell)
    if column.sort in {"clock", "size"} or column.dates:
        number = column.number_in(cell)
        fine = number is not None and column.fits(number)
    else:
        fine = _is_time(column, cell) if column.sort == "time" else _is_number(column, cell.strip(_BLANKS), decimal)
    if not fine and column.sort == "clock":
        return allowed_clock(cell, column.allowed)
    if not fine and not column.dates and decimal == "." and _DECIMALDECIMAL.fullmatch(cell.strip(_BLANKS)):
        return f"{column.allowed}, {DECIMAL}"
    return "" if fine else column.allowed


def _text_complaint(column: Column, cell: str) -> str:
    if len(cell.encode()) > limits.TEXT_BYTES:
        return f"at most {limits.TEXT_BYTES:,} bytes"
    if column.sort == "label" and not column.takes(cell):
        return column.allowed + ("" if column.told else did_you_mean(cell, column.choices))
    return ""


def _is_number(column: Column, cell: str, decimal: str) -> bool:
    cell = with_point(cell, decimal)
    return NUMBER.fullmatch(cell) is not None and column.fits(float(cell))


def _is_time(column: Column, cell: str) -> bool:
    if ISO.fullmatch(cell) is None:
        return False
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        return False
    return (moment.tzinfo is not None) == column.zoned and 1970 <= moment.year <= 2261


def lines_of(source: TraceFile, layout: TableLayout, rows: list[int]) -> list[int]:
    """The line numbers of rows (counted from 0), in the order of the file."""
    wanted = set(rows)
    numbered = enumerate(rows_of(source, layout, Findings(source.name)))
    return [line for row, (line, _) in numbered if row in wanted]
