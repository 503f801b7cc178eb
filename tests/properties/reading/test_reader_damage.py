"""An example of every format, cut short or with a column doubled, renamed, emptied or of another type: it is refused
with its place, or what was done is counted; never another demand without a word."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from hcloud.errors import InputError, UsageError
from hcloud.model.workload import Demand, Workload
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions, with_keys

CASES = Path(__file__).parent.parent.parent / "cases" / "workloads"
EXPECTED = cast("dict[str, dict[str, Any]]", json.loads((CASES / "expected.json").read_text()))
FILES = sorted(p.relative_to(CASES).as_posix() for p in CASES.rglob("*") if p.is_file() and p.name != "expected.json")
DOCUMENTS = [name for name in FILES if name.endswith(".json")]
TABLES = [name for name in FILES if name.endswith((".csv", ".txt")) and not name.startswith("invented")]
ROUNDS = 12
WORDS = ("x", "", "12:30", "-1", "true", "7 GiB", "1e999")
SAID = {("demand.csv", 2, "7 GiB"): (7, 7, 7), ("sacct.txt", 6, "7 GiB"): (7, 4)}
"""Columns that one of the words fits, and GiB of memory that are read then (of the second job those in AllocTRES)."""


@cache
def options(name: str) -> WorkloadOptions:
    return with_keys(WorkloadOptions(), EXPECTED.get(name, {}).get("keys", {}))


@cache
def folder_of(name: str, tmp: Path) -> Path:
    """A folder of its own with the file and those that belong to it."""
    folder = tmp / name.replace("/", "-")
    shutil.copytree((CASES / name).parent, folder)
    return folder


@cache
def original(name: str) -> Workload:
    return read_workload(CASES / name, options=options(name))


def alike(one: Workload, other: Workload) -> bool:
    """Whether two workloads ask for the same."""
    if type(one) is not type(other) or len(one) != len(other):
        return False
    names = ("cores", "memory", "batch_cores") if isinstance(one, Demand) else ("submit", "duration", "cores", "memory")
    same = all(np.allclose(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, Demand) and isinstance(other, Demand):
        return same and (one.start, one.step_seconds) == (other.start, other.step_seconds)
    return same


def told(workload: Workload) -> tuple[object, ...]:
    """What a user is told of how a file was read."""
    of = workload.provenance
    return of.format, of.rows, of.repaired, of.left_out, [(rule.column, rule.rule) for rule in of.modelled]


def check(name: str, data: bytes, folder: Path, memory: Sequence[float] = ()) -> None:
    path = folder / Path(name).name
    path.write_bytes(data)
    try:
        found = read_workload(path, options=options(name))
    except (InputError, UsageError) as refusal:
        assert not memory
        assert str(folder) in str(refusal) or isinstance(refusal, UsageError)  # noqa: PT017 - both are allowed
        return
    if memory:
        assert alike(found, replace(original(name), memory=np.array(memory, float)))
    else:
        assert alike(found, original(name)) or told(found) != told(original(name))


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_cut_short(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    data, folder = (CASES / name).read_bytes(), folder_of(name, tmp_path_factory.getbasetemp())

    @settings(max_examples=ROUNDS)
    @given(st.integers(0, len(data) - 1))
    def cut(length: int) -> None:
        check(name, data[:length], folder)

    cut()


def doubled(rows: list[list[str]], at: int, _: str) -> None:
    for row in rows:
        row[at:at] = row[at : at + 1]


def renamed(rows: list[list[str]], at: int, _: str) -> None:
    rows[0][at : at + 1] = [f"{rows[0][at]}_2" if at < len(rows[0]) else "x"]


def filled(rows: list[list[str]], at: int, word: str) -> None:
    for row in rows[1:]:
        row[at : at + 1] = [word]


CHANGES: tuple[Callable[[list[list[str]], int, str], None], ...] = (doubled, renamed, filled)


@pytest.mark.parametrize("name", TABLES)
def test_a_column_of_a_table(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = (CASES / name).read_text("utf-8")
    folder = folder_of(name, tmp_path_factory.getbasetemp())
    delimiter = max(",;|\t", key=text.count)
    before = [*csv.reader(io.StringIO(text), delimiter=delimiter)]

    @settings(max_examples=ROUNDS)
    @given(st.sampled_from(CHANGES), st.integers(0, max(map(len, before)) - 1), st.sampled_from(WORDS))
    def change(by: Callable[[list[list[str]], int, str], None], at: int, word: str) -> None:
        rows = [[*row] for row in before]
        by(rows, at, word)
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
        memory = SAID.get((name, at, word), ()) if by is filled else ()
        check(name, out.getvalue().encode(), folder, memory)

    for at, word in ((at, word) for of, at, word in SAID if of == name):
        change = example(filled, at, word)(change)
    change()


def objects(value: object) -> Iterator[dict[str, object]]:
    """Every object of a document."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)
    if isinstance(value, dict):
        yield value


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_key_of_a_document(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    text, folder = (CASES / name).read_text(), folder_of(name, tmp_path_factory.getbasetemp())
    keys = sorted({key for found in objects(json.loads(text)) for key in found})

    @settings(max_examples=ROUNDS)
    @given(st.sampled_from(keys), st.sampled_from([None, "", "x", -1, True, [], {}, [[]]]), st.booleans())
    def change(key: str, value: object, rename: bool) -> None:
        document = json.loads(text)
        for found in [*objects(document)]:
            if key in found and rename:
                found[f"{key}2"] = found.pop(key)
            elif key in found:
                found[key] = value
        check(name, json.dumps(document).encode(), folder)

    change()


def records(document: dict[str, Any]) -> list[list[object]]:
    """Every list that has something in it; of pods those of the pods."""
    found = [document] if "items" in document else objects(document)
    return [value for one in found for value in one.values() if isinstance(value, list) and value]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_record_that_is_there_twice(name: str, tmp_path: Path) -> None:
    document = json.loads((CASES / name).read_text())
    for number in range(len(records(document))):
        changed = json.loads(json.dumps(document))
        again = records(changed)[number]
        again.append(again[-1])
        check(name, json.dumps(changed).encode(), tmp_path)


def test_a_column_of_a_parquet_table(tmp_path: Path) -> None:
    path, start = tmp_path / "jobs.parquet", 1_793_520_000
    columns: dict[str, list[object]] = {
        "id": ["a", "b"], "submit": [start, start + 5], "duration": [60.0, 90.0], "cores": [1.0, 2.0], "memory": [4, 8]
    }  # fmt: skip
    parquet.write_table(pa.table(columns), path)
    usual, data = read_workload(path), path.read_bytes()
    kinds: tuple[list[object], ...] = (
        ["x", "y"],
        [None, None],
        [True, False],
        [[1], [2]],
        [-1, -2],
        [float("nan")] * 2,
    )
    changed = [columns | {name: values} for name in columns for values in kinds]
    changed += [{f"{key}2" if key == name else key: values for key, values in columns.items()} for name in columns]
    for table in changed:
        parquet.write_table(pa.table(table), path)
        try:
            found = read_workload(path)
        except InputError as refusal:
            assert str(path) in str(refusal)  # noqa: PT017 - both are allowed
        else:
            assert alike(found, usual) or told(found) != told(usual)
    for length in range(0, len(data), 97):
        path.write_bytes(data[:length])
        with pytest.raises(InputError):
            read_workload(path)
