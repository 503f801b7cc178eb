"""Opens the files of a bill, CSV (also gzip) and Parquet, and gives their lines in batches of the columns needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from pyarrow import json as arrow_json
from pyarrow import parquet

from hcloud.address_space import is_bounded
from hcloud.errors import InputError, Problem
from hcloud.model.json_text import parsed
from hcloud.readers.bills.formats.spelling import spelled
from hcloud.readers.bills.lines import NET, BillFormat, PlaceError, plain
from hcloud.readers.bills.money import AmountError, numbers_of, with_points
from hcloud.readers.bills.stored import LABELS, column_at, is_text, is_usual
from hcloud.readers.bills.twice import IDENTITY, identity_of
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.source import HEAD_BYTES, CheckedReader, TraceFile, parquet_errors
from hcloud.readers.workloads.tables.header import Header, header_names

_BLOCK, _ROWS = 2 << 20, 3 << 15
"""Read at a time: bytes of a file of text, of which Arrow reads 32 ahead, and rows of Parquet."""
_NARROW_BLOCK, _NARROW_ROWS = 1 << 19, 1 << 15
"""The same where the address space is bounded: a quarter slower."""
_PAGE = 1 << 16
"""Bytes read at a time of a column of Parquet."""
_NULLS = ["", "NULL", "null", "Null", "None"]
_ROW = re.compile(r"Row #(\d+): ?")
_WIDEST = 4096
_ZERO, _BELOW, _FILLED = 1, 2, 3
CUT = "files that end without a newline (the last line may be cut off)"
JSON = "{"
"""In place of what separates columns, in files of a JSON object a line."""


@dataclass(slots=True)
class BillFile:
    """One file of a bill: what it is called in it what we need, and how far it was read."""

    source: TraceFile
    form: BillFormat
    label: str
    """The format with its version."""
    names: Mapping[str, str]
    """The columns of the file by the role they have; parts of one role are numbered (``quantity``, ``quantity 2``)."""
    delimiter: str = ","
    skip: int = 0
    """Lines before the header."""
    share: float = 0.0
    digest: str = ""
    said: dict[str, int] = field(default_factory=dict)
    since: int = 0
    """The hour at which its first month begins that is billed; 0 before it is read, -1 where it does not say it."""
    stated: dict[str, int] = field(default_factory=dict)
    """What columns of costs, before and after discounts, say (see :func:`_stated`), by role."""

    @property
    def name(self) -> str:
        """For messages."""
        return self.source.name

    @property
    def kind(self) -> str:
        """How its lines are stored."""
        return {JSON: "json", "": "parquet"}.get(self.delimiter, "csv")

    def drop_zero_costs(self, files: Iterable[BillFile]) -> bool:
        """Read no costs after discounts any more where all are 0 in the ``files`` of the same first month and those
        before discounts are not: an export or a table has filled in what it does not know. Whether there were such."""
        parts = [file for file in files if file is self or file.since == self.since > 0]
        dropped = [
            role
            for role, of in _net(self).items()
            if (max(part._said(role) for part in parts), self._said(of)) == (_ZERO, _FILLED)
        ]
        for role in dropped:
            told = f"files whose column {self.names[role]} is 0 throughout: costs are taken before discounts"
            self.said[told] = 1
        self.names = {role: name for role, name in self.names.items() if role not in dropped}
        return bool(dropped)

    def _said(self, role: str) -> int:
        return self.stated.get(role, 0)

    def error_at(self, row: int, column: str, value: str, allowed: str) -> InputError:
        """An error of a cell: its line, or row in Parquet, from 1, and the name of its column in the file."""
        where = {"parquet": f"row {row + 1}", "json": f"line {row + 1}"}.get(self.kind, f"line {row + 2 + self.skip}")
        return InputError(
            f"{self.name}: cannot be read as a bill",
            [Problem(self.name, f"{where}, column {self.names.get(column, column)}", value, allowed)],
        )


def schema_names(source: TraceFile) -> Header:
    """The names of a file's columns, and what separates them (nothing in Parquet); InputError for a broken one."""
    if source.head.lstrip()[:1] == b"{":
        return Header(_json_names(source), JSON)
    if not source.head.startswith(b"PAR1"):
        return header_names(source)
    with parquet_errors(source.name):
        return Header(list(_leaves(parquet.read_schema(source.path))), "")


def _json_names(source: TraceFile) -> list[str]:
    """The paths of values in the first objects of a file of one a line."""
    return list(dict.fromkeys(path for line in _first_objects(source) for path in _paths(line)))


def _first_objects(source: TraceFile) -> Iterator[Any]:
    *lines, _ = source.head.split(b"\n") if len(source.head) >= HEAD_BYTES else (*source.head.split(b"\n"), b"")
    for line in filter(bytes.strip, lines):
        try:
            yield parsed(line)
        except ValueError as error:
            raise InputError(f"{source.name}: is not JSON of an object a line: {error}") from error


def _paths(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            below = list(_paths(inner))
            yield from (f"{name}.{path}" for path in below) if below else (name,)


def _leaves(schema: pa.Schema) -> Iterator[str]:
    """The columns of a schema, those within structs by their path."""
    for column in schema:
        if pa.types.is_struct(column.type):
            yield from (f"{column.name}.{inner}" for inner in _leaves(pa.schema(list(column.type))))
        else:
            yield column.name


def opened(source: TraceFile, form: BillFormat, label: str, *, told_apart: bool = False) -> BillFile:
    """The file with the columns found that the format reads, those that tell its lines apart only where asked for;
    InputError where one is missing or there twice."""
    header = schema_names(source)
    names = header.names
    if len(names) > _WIDEST:
        raise InputError(f"{source.name}: more than {_WIDEST:,} columns")
    by_plain: dict[str, list[str]] = {}
    for name in names:
        by_plain.setdefault(plain(name), []).append(name)
    if header.delimiter == JSON:
        identity = identity_of(form, by_plain) if told_apart else {}
        return _of_objects(source, form, label, identity)
    found, problems = dict[str, str](), []
    for role, called in _wanted(form).items():
        known = [c for c in called if c in by_plain]
        if known and len(by_plain[known[0]]) > 1:
            twice = by_plain[known[0]]
            problems.append(
                Problem(source.name, "header", f"column {shown(twice[0])} appears {len(twice)} times", "once")
            )
        elif known:
            found[role] = by_plain[known[0]][0]
        elif role in form.required:
            missing = spelled(called[0], slashes=any("/" in name for name in names))
            problems.append(Problem(source.name, "header", f"column {missing} is missing", "add it to the export"))
    if told_apart:
        found.update(identity_of(form, by_plain))
    if problems:
        raise InputError(f"{source.name}: the columns are not those of {form.name}", problems)
    return BillFile(source, form, label, found, header.delimiter, header.skip)


def _of_objects(source: TraceFile, form: BillFormat, label: str, identity: Mapping[str, str]) -> BillFile:
    if not form.paths:
        raise InputError(f"{source.name}: is {label} as JSON, which is not read", hint="export it as Parquet or CSV")
    first = list(_first_objects(source))
    usual = {*form.paths.values(), *(path for path in identity.values() if is_usual(first, path))}
    known = {role: path for role, path in identity.items() if path in usual}
    return BillFile(source, form, label, {**form.paths, **known}, JSON)


def _wanted(form: BillFormat) -> dict[str, tuple[str, ...]]:
    wanted = {
        **form.texts,
        **form.money,
        **form.nested,
        **form.numbers,
        "start": form.start,
        "end": form.end,
        "period": form.period,
        "resource": form.resource,
    }
    for number, name in enumerate(form.quantity, 1):
        wanted["quantity" if number == 1 else f"quantity {number}"] = (name,)
    return wanted


def batches(file: BillFile) -> Iterator[pa.RecordBatch]:
    """The lines in batches, each column named by its role."""
    read = {"parquet": _parquet, "json": _json_lines, "csv": _delimited}[file.kind]
    costs = {role for pair in _net(file).items() for role in pair}
    for batch in read(file):
        whole = _as_one(batch)
        for role in costs:
            if file.stated.get(role) != _FILLED:
                file.stated[role] = max(file.stated.get(role, 0), _stated(whole.column(role)))
        yield whole if file.form.expand is None else file.form.expand(whole)


def _net(file: BillFile) -> dict[str, str]:
    """The roles of costs after discounts that a file has, each with that of the same before discounts."""
    names = file.names
    return {role: of for role in names if (of := role.removeprefix(NET)) != role and of in names}


def _stated(column: pa.Array) -> int:
    """0 for a column that is empty, _ZERO for one that says nothing but 0, _BELOW for one with no more than discounts
    beside, _FILLED for others."""
    is_text = pa.types.is_string(column.type)
    above = pc.match_substring_regex(column, "^[^-eE]*[1-9]") if is_text else pc.greater(column, 0)
    if pc.any(above).as_py():
        return _FILLED
    below = pc.match_substring_regex(column, "^[^eE]*[1-9]") if is_text else pc.less(column, 0)
    return _BELOW if pc.any(below).as_py() else _ZERO if pc.any(column.is_valid()).as_py() else 0


def _as_one(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that stand in for one another where one is empty, as one."""
    parts = [name for name in batch.schema.names if name.startswith("quantity")]
    if parts in ([], ["quantity"]):
        return batch
    columns = [batch.column(part) for part in parts]
    if len({column.type for column in columns}) > 1:
        columns = [
            pa.array(_numbers(column, part), from_pandas=True) for column, part in zip(columns, parts, strict=True)
        ]
    whole = pc.coalesce(*columns)
    kept = [name for name in batch.schema.names if name not in parts]
    return pa.record_batch([*(batch.column(name) for name in kept), whole], [*kept, "quantity"])


def _numbers(column: pa.Array, role: str) -> NDArray[np.float64]:
    try:
        return numbers_of(column)
    except AmountError as error:
        raise PlaceError(error.row, role, f"holds {column.type}", "a number") from None


def _delimited(file: BillFile) -> Iterator[pa.RecordBatch]:
    amounts = _amounts(file)
    types: dict[str, pa.DataType] = {}
    for role, name in file.names.items():
        plain_text = role in amounts or role == "resource" or role.startswith(IDENTITY)
        types.setdefault(name, pa.string() if plain_text else pa.dictionary(pa.int32(), pa.string()))
    included = list(dict.fromkeys(file.names.values()))
    options = {
        "read_options": arrow_csv.ReadOptions(use_threads=False, block_size=_block(), skip_rows=file.skip),
        "parse_options": arrow_csv.ParseOptions(delimiter=file.delimiter),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=included,
            null_values=_NULLS,
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    }
    allowed = "a line with as many cells as the header"
    reader = yield from _streamed(file, lambda reader: arrow_csv.open_csv(reader, **options), _by_role, allowed)
    if not file.source.packing and not _ends_a_line(file.source.path):
        file.said[CUT] = 1
    if reader.odd:
        raise InputError(
            f"{file.name}: holds NUL bytes or lone carriage returns", hint="export it again as CSV (UTF-8)"
        )


def _streamed(
    file: BillFile,
    opened: Callable[[CheckedReader], Iterable[pa.RecordBatch]],
    named: Callable[[BillFile, pa.RecordBatch], pa.RecordBatch],
    allowed: str,
) -> Generator[pa.RecordBatch, None, CheckedReader]:
    """The batches of a file of text, with columns that are ``named`` by their roles."""
    reader, rows = file.source.open(), 0
    try:
        with reader:
            for batch in opened(reader):
                file.share = reader.share
                yield named(file, batch)
                rows += batch.num_rows
            file.digest = file.source.digest()
    except MemoryError:
        raise
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if reader.failure is not None:
            raise reader.failure from error
        raise _broken(file, str(error), rows, allowed) from error
    return reader


def _block() -> int:
    return _NARROW_BLOCK if is_bounded() else _BLOCK


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) in b"\r\n"


def _broken(file: BillFile, said: str, rows: int, allowed: str) -> InputError:
    said = said.splitlines()[0].removeprefix("CSV parse error: ").removeprefix("JSON parse error: ")
    line = _ROW.search(said)
    where = f"line {line[1]}" if line else f"after line {rows + 1}"
    return InputError(
        f"{file.name}: cannot be read as a bill",
        [Problem(file.name, where, _ROW.sub("", said)[:200], allowed)],
    )


def _by_role(file: BillFile, batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = {role: batch.column(name) for role, name in file.names.items()}
    if file.delimiter == ";":
        columns |= with_points({role: columns[role] for role in _amounts(file) & columns.keys()})
    return pa.record_batch(list(columns.values()), list(columns))


def _amounts(file: BillFile) -> set[str]:
    """The roles of columns that hold numbers."""
    return {*file.form.money, *file.form.numbers, *(role for role in file.names if role.startswith("quantity"))}


def _parquet(file: BillFile) -> Iterator[pa.RecordBatch]:
    with parquet_errors(file.name):
        file.digest = file.source.digest()
        schema = parquet.read_schema(file.source.path)
        texts = [n for n in file.names.values() if n in schema.names and is_text(schema.field(n).type)]
        roles = (*file.form.texts, "start", "end", "period")
        coded = [file.names[role] for role in roles if file.names.get(role) in texts]
        with parquet.ParquetFile(
            file.source.path, read_dictionary=coded, pre_buffer=False, buffer_size=_PAGE
        ) as stored:
            total, done = max(stored.metadata.num_rows, 1), 0
            rows = _NARROW_ROWS if is_bounded() else _ROWS
            for batch in stored.iter_batches(rows, columns=list(dict.fromkeys(file.names.values())), use_threads=False):
                done += batch.num_rows
                file.share = done / total
                yield _from_paths(file, batch)


def _json_lines(file: BillFile) -> Iterator[pa.RecordBatch]:
    tree: dict[str, Any] = {}
    for role, path in file.names.items():
        *above, name = path.split(".")
        place = tree
        for part in above:
            place = place.setdefault(part, {})
        place.setdefault(name, _json_type(file.form, role, name))
    options = arrow_json.ParseOptions(
        explicit_schema=pa.schema(list(_fields(tree))), unexpected_field_behavior="ignore"
    )
    blocks = arrow_json.ReadOptions(block_size=_block())
    yield from _streamed(
        file, lambda reader: arrow_json.open_json(reader, blocks, options), _from_paths, "an object a line"
    )


def _json_type(form: BillFormat, role: str, name: str) -> pa.DataType:
    if role in form.nested:
        return pa.list_(pa.struct([("amount", pa.float64()), ("type", pa.string())]))
    if role in form.maps or name in LABELS:
        return pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
    return pa.float64() if role in form.money or role.startswith("quantity") else pa.string()


def _fields(tree: Mapping[str, Any]) -> Iterator[pa.Field]:
    for name, inner in tree.items():
        yield pa.field(name, pa.struct(list(_fields(inner))) if isinstance(inner, dict) else inner)


def _from_paths(file: BillFile, batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = []
    for role, path in file.names.items():
        try:
            columns.append(
                column_at(
                    batch,
                    path,
                    file.form.maps.get(role, ()),
                    text=role in file.form.texts,
                    whole=role in file.form.nested or role.startswith(IDENTITY),
                )
            )
        except InputError as error:
            raise InputError(f"{file.name}: column {path} {error}") from None
    return pa.record_batch(columns, list(file.names))
