"""Jobs as JSON, an object each: in lines, in a list, or in a list that is the only one of an object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from json import JSONDecodeError
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pyarrow as pa
from pyarrow import csv

from hcloud.errors import InputError
from hcloud.model.json_text import parsed
from hcloud.readers.workloads.findings import told_of
from hcloud.readers.workloads.meanings import is_jobs, job_columns
from hcloud.readers.workloads.source import TraceFile, open_source

MOST_BYTES = 1 << 30  # ours: JSON is held in memory

_FORMS = "an object a line, or a list of them"
_TYPED = {"type", "value"}
_WORDS = {True: "yes", False: "no"}


@contextmanager
def json_as_text(source: TraceFile) -> Iterator[TraceFile]:
    """The jobs as CSV for as long as it is needed, named as the file; what is wrong with it is said by job. What an
    object in a job holds is a column by its own name, with the object's before it where two have that."""
    with TemporaryDirectory(prefix="hcloud-") as folder:
        file = Path(folder) / "table.csv"
        csv.write_csv(_table(source), file)
        with told_of("job", "the keys of jobs"):
            yield replace(open_source(file, source.name), command=source.command)


def _table(source: TraceFile) -> pa.Table:
    cells = _columns(json_objects(source))
    leaves = Counter(path[-1] for path in cells)
    names = [path[-1] if leaves[path[-1]] == 1 else ".".join(path) for path in cells]
    try:
        columns = [pa.array(column, pa.string()) for column in cells.values()]
        return pa.table(columns, [" ".join(name.split()) for name in names])
    except ValueError as error:
        raise InputError(f"{source.name}: is no JSON of jobs: {error}", hint=_FORMS) from None


def _columns(jobs: Sequence[Mapping[str, object]]) -> dict[tuple[str, ...], list[str | None]]:
    """The cells of all jobs by where they stand in one, in the order in which that is met first."""
    columns = dict[tuple[str, ...], list[str | None]]()
    for at, job in enumerate(jobs):
        for path, cell in _leaves(job):
            if path not in columns:
                columns[path] = [None] * len(jobs)
            columns[path][at] = cell
    return columns


def json_objects(source: TraceFile) -> list[Mapping[str, object]]:
    """The objects in lines, in a list, or in the list that an object holds; InputError for other JSON."""
    if source.size > MOST_BYTES:
        raise InputError(f"{source.name}: is JSON of more than {MOST_BYTES:,} bytes", hint="write it as Parquet")
    try:
        with source.open() as file:
            found = _listed(file.readall() or b"")
    except ValueError as error:
        raise InputError(f"{source.name}: is no JSON of jobs: {error}", hint=_FORMS) from None
    if not found or not all(isinstance(one, dict) for one in found):
        raise InputError(f"{source.name}: is no JSON of jobs", hint=_FORMS)
    return cast("list[Mapping[str, object]]", found)


def _listed(text: bytes) -> list[object]:
    """The values of lines, of a list, or of the only list of objects that an object holds, if it is no job itself."""
    try:
        whole = parsed(text)
    except JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        return [_on_line(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if isinstance(whole, list):
        return whole
    lists = {} if not isinstance(whole, dict) or is_jobs(job_columns(whole)) else dict(_lists(whole))
    if len(lists) > 1:
        raise ValueError(f"several lists of objects: {', '.join(lists)}; keep one, as jq .{next(iter(lists))} does")
    return next(iter(lists.values()), [whole])


def _lists(whole: Mapping[str, object], above: str = "") -> Iterator[tuple[str, list[object]]]:
    """The lists of objects in an object and in those that it holds, by their paths."""
    for key, value in whole.items():
        if isinstance(value, dict):
            yield from _lists(value, f"{above}{key}.")
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            yield f"{above}{key}", value


def _on_line(number: int, line: bytes) -> object:
    try:
        return parsed(line)
    except JSONDecodeError as error:
        raise ValueError(f"{error.msg}: line {number} column {error.colno}") from None


def _leaves(job: Mapping[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str | None]]:
    for key, held in job.items():
        value = _named(held)
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), _cell(value)


def _named(value: object) -> object:
    """A list of objects with a type and a value, as AWS Batch asks for vCPUs and memory, as one object."""
    found = value if isinstance(value, list) else []
    named = {str(one["type"]): one["value"] for one in found if isinstance(one, dict) and one.keys() >= _TYPED}
    return named if named and len(named) == len(found) else value


def _cell(value: object) -> str | None:
    """A value as in a table: those of a list apart by spaces, nothing for a list of objects or lists."""
    if isinstance(value, list):
        cells = [_cell(one) for one in value if not isinstance(one, dict | list)]
        return " ".join(filter(None, cells)) if len(cells) == len(value) else None
    text = _WORDS[value] if isinstance(value, bool) else str(value)
    return None if value is None else " ".join(text.split())
