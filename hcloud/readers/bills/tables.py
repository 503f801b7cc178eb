"""Opens the files of a bill, CSV (also gzip) and Parquet, and gives their lines in batches of the columns needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from hcloud.errors import InputError, Problem
from hcloud.readers.bills.lines import BillFormat, plain
from hcloud.readers.workloads.delimited import Header, header_names
from hcloud.readers.workloads.findings import shown
from hcloud.readers.workloads.source import TraceFile

ROWS = 1 << 17
_BLOCK = 1 << 20
_NULLS = ["", "NULL", "null", "Null"]
_ROW = re.compile(r"Row #(\d+): ?")
_WIDEST = 4096


@dataclass(slots=True)
class BillFile:
    """One file of a bill: what it is called in it what we need, and how far it was read."""

    source: TraceFile
    form: BillFormat
    names: Mapping[str, str]
    """The columns of the file by the role they have; parts of one role are numbered (``quantity``, ``quantity 2``)."""
    delimiter: str = ","
    skip: int = 0
    """Lines before the header."""
    share: float = 0.0
    digest: str = ""
    repaired: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """For messages."""
        return self.source.name

    @property
    def is_parquet(self) -> bool:
        """Whether its lines are rows of columns."""
        return not self.delimiter

    def error_at(self, row: int, column: str, value: str, allowed: str) -> InputError:
        """An error of a cell: its line, or row in Parquet, from 1, and the name of its column in the file."""
        where = f"row {row + 1}" if self.is_parquet else f"line {row + 2 + self.skip}"
        return InputError(
            f"{self.name}: cannot be read as a bill",
            [Problem(self.name, f"{where}, column {self.names.get(column, column)}", value, allowed)],
        )


def schema_names(source: TraceFile) -> Header:
    """The names of a file's columns, and what separates them (nothing in Parquet); InputError for a broken one."""
    if not source.head.startswith(b"PAR1"):
        return header_names(source)
    with _damage(source):
        return Header(list(_leaves(parquet.read_schema(source.path))), "")


def _leaves(schema: pa.Schema) -> Iterator[str]:
    """The columns of a schema, those within structs by their path."""
    for column in schema:
        if pa.types.is_struct(column.type):
            yield from (f"{column.name}.{inner}" for inner in _leaves(pa.schema(list(column.type))))
        else:
            yield column.name


def opened(source: TraceFile, form: BillFormat) -> BillFile:
    """The file with the columns found that the format reads; InputError where one is missing or there twice."""
    header = schema_names(source)
    names = header.names
    if len(names) > _WIDEST:
        raise InputError(f"{source.name}: more than {_WIDEST:,} columns")
    by_plain: dict[str, list[str]] = {}
    for name in names:
        by_plain.setdefault(plain(name), []).append(name)
    found, problems = dict[str, str](), []
    for role, called in _wanted(form).items():
        known = [c for c in called if c in by_plain]
        if known and len(by_plain[known[0]]) > 1:
            twice = by_plain[known[0]]
            problems.append(
                Problem(source.name, "header", f"column {shown(twice[0])} stands there {len(twice)} times", "once")
            )
        elif known:
            found[role] = by_plain[known[0]][0]
        elif role in form.required:
            problems.append(Problem(source.name, "header", f"column {called[0]} is missing", "it is required"))
    if problems:
        raise InputError(f"{source.name}: the columns are not those of {form.name}", problems)
    return BillFile(source, form, found, header.delimiter, header.skip)


def _wanted(form: BillFormat) -> dict[str, tuple[str, ...]]:
    wanted = {**form.texts, **form.money, "start": form.start, "end": form.end}
    for number, name in enumerate(form.quantity, 1):
        wanted["quantity" if number == 1 else f"quantity {number}"] = (name,)
    return wanted


def batches(file: BillFile) -> Iterator[pa.RecordBatch]:
    """The lines in batches, each column named by its role."""
    for batch in _parquet(file) if file.is_parquet else _delimited(file):
        yield _as_one(batch)


def _as_one(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that stand in for one another where one is empty, as one."""
    parts = [n for n in batch.schema.names if n.startswith("quantity")]
    if len(parts) < 2:
        return (
            batch
            if parts in ([], ["quantity"])
            else batch.rename_columns(["quantity" if n == parts[0] else n for n in batch.schema.names])
        )
    whole = pc.coalesce(*(batch.column(part) for part in parts))
    kept = [n for n in batch.schema.names if n not in parts]
    return pa.record_batch([*(batch.column(n) for n in kept), whole], [*kept, "quantity"])


def _delimited(file: BillFile) -> Iterator[pa.RecordBatch]:
    reader, rows = file.source.open(), 0
    amounts = {*file.form.money, *(role for role in file.names if role.startswith("quantity"))}
    types = {
        name: pa.string() if role in amounts else pa.dictionary(pa.int32(), pa.string())
        for role, name in file.names.items()
    }
    included = list(dict.fromkeys(file.names.values()))
    try:
        with reader:
            stream = arrow_csv.open_csv(
                reader,
                read_options=arrow_csv.ReadOptions(block_size=_BLOCK, skip_rows=file.skip),
                parse_options=arrow_csv.ParseOptions(delimiter=file.delimiter),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=included,
                    null_values=_NULLS,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            )
            for batch in stream:
                file.share = min(reader.raw.taken / max(file.source.size, 1), 1.0)
                yield _by_role(file, batch)
                rows += batch.num_rows
            file.digest = reader.digest()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if reader.failure is not None:
            raise reader.failure from error
        raise _broken(file, str(error), rows) from error
    if reader.odd:
        raise InputError(
            f"{file.name}: holds NUL bytes or lone carriage returns", hint="export it again as CSV (UTF-8)"
        )


def _broken(file: BillFile, said: str, rows: int) -> InputError:
    said = said.splitlines()[0].removeprefix("CSV parse error: ")
    line = _ROW.search(said)
    where = f"line {line[1]}" if line else f"after line {rows + 1}"
    return InputError(
        f"{file.name}: cannot be read as a bill",
        [Problem(file.name, where, _ROW.sub("", said)[:200], "a line with as many cells as the header")],
    )


def _by_role(file: BillFile, batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch([batch.column(name) for name in file.names.values()], list(file.names))


def _parquet(file: BillFile) -> Iterator[pa.RecordBatch]:
    with _damage(file.source):
        file.digest = file.source.digest()
        schema = parquet.read_schema(file.source.path)
        texts = [n for n in file.names.values() if n in schema.names and _is_text(schema.field(n).type)]
        coded = [file.names[role] for role in (*file.form.texts, "start", "end") if file.names.get(role) in texts]
        with parquet.ParquetFile(file.source.path, read_dictionary=coded) as stored:
            total, done = max(stored.metadata.num_rows, 1), 0
            for batch in stored.iter_batches(ROWS, columns=list(dict.fromkeys(file.names.values()))):
                done += batch.num_rows
                file.share = done / total
                yield pa.record_batch(
                    [_column(file, batch, role, path) for role, path in file.names.items()], list(file.names)
                )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _column(file: BillFile, batch: pa.RecordBatch, role: str, path: str) -> pa.Array:
    """The column at a path, of a type that its role can have."""
    top, *inner = path.split(".") if path not in batch.schema.names else [path]
    column = batch.column(top)
    for name in inner:
        column = pc.struct_field(column, name)
    kind = column.type
    if pa.types.is_map(kind):
        return _of_map(column, file.form.maps.get(role, ()))
    if isinstance(column, pa.DictionaryArray):
        kind = kind.value_type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_boolean(kind):
        raise InputError(f"{file.name}: column {path} holds {column.type}; a bill has text, numbers or times there")
    if role in file.form.texts and not _is_text(kind):
        return column.cast(pa.string())
    return column


def _of_map(column: pa.MapArray, keys: tuple[str, ...]) -> pa.Array:
    """The values of the keys as JSON, as CSV files have them."""
    cells = [pc.fill_null(pc.map_lookup(column, pa.scalar(key), "first").cast(pa.string()), "") for key in keys]
    if not cells:
        return pa.nulls(len(column), pa.string())
    quoted = [
        pc.binary_join_element_wise(f'"{key}":"', pc.replace_substring_regex(cell, r'["\\]', ""), '"', "")
        for key, cell in zip(keys, cells, strict=True)
    ]
    return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*quoted, ","), "}", "")


@contextmanager
def _damage(source: TraceFile) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{source.name}: damaged Parquet file: {str(error).splitlines()[0][:300]}") from error
