"""A bill that was damaged on its way: what is wrong is said with its place, never an exception that nobody expects."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from hcloud.errors import InputError
from hcloud.model.bill import Bill
from hcloud.readers.bills.files import is_bill
from hcloud.readers.bills.reading import read_bill
from hcloud.readers.bills.tables import CUT

CASES = Path(__file__).parents[2] / "cases" / "bills"
NAMES = sorted(path.name for path in CASES.iterdir())
TABLES = [name for name in NAMES if name.endswith(".csv")]
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ODD = [
    "",
    "x",
    "-1",
    "NaN",
    "1e300",
    "9" * 40,
    "2024-13-45",
    "\u202e",
    "{",
    '{"ServiceType": 7}',
    "[1]",
    "NULL",
    "0x10",
]


def read_or_refused(path: Path) -> Bill | None:
    """The bill, or None where the file is refused by its name."""
    is_bill(path)
    refused: InputError | None = None
    try:
        bill = read_bill(path)
    except InputError as error:
        refused = error
    if refused is not None:
        assert str(path) in str(refused)
        return None
    assert bill.rows >= 0
    assert bill.total.is_finite()
    assert all(len(usage.hours) == bill.hours for usage in bill.usage)
    return bill


@pytest.mark.parametrize("name", NAMES)
@QUICK
@given(share=st.floats(0, 1))
@example(share=0.0)
def test_truncated(name: str, share: float, tmp_path: Path) -> None:
    content = (CASES / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(content[: int(share * len(content))])
    bill = read_or_refused(path)
    if bill is not None and name.endswith(".csv") and not path.read_bytes().endswith((b"\n", b"\r")):
        assert CUT in bill.said


@QUICK
@given(name=st.sampled_from(TABLES), share=st.floats(0, 1))
def test_truncated_gzip_and_parquet(name: str, share: float, tmp_path: Path) -> None:
    content = (CASES / name).read_bytes()
    table, buffer = arrow_csv.read_csv(io.BytesIO(content)), io.BytesIO()
    parquet.write_table(table, buffer)
    for suffix, whole in ((".gz", gzip.compress(content, mtime=0)), (".parquet", buffer.getvalue())):
        path = tmp_path / f"bill{suffix}"
        cut = int(share * len(whole))
        path.write_bytes(whole[:cut])
        assert read_or_refused(path) is None or cut == len(whole)


@QUICK
@given(name=st.sampled_from(TABLES), data=st.data())
def test_a_column_doubled_renamed_emptied_or_of_another_type(name: str, data: st.DataObject, tmp_path: Path) -> None:
    with (CASES / name).open(encoding="utf-8-sig", newline="") as file:
        header, *rows = list(csv.reader(file))
    at = data.draw(st.integers(0, len(header) - 1))
    what = data.draw(st.sampled_from(["doubled", "renamed", "emptied", "retyped", "one cell"]))
    odd = data.draw(st.sampled_from(ODD))
    if what == "doubled":
        header, rows = [*header, header[at]], [[*row, row[at]] for row in rows]
    elif what == "renamed":
        header = [*header[:at], header[at] + "_", *header[at + 1 :]]
        header[at] = f"other{at}"
    else:
        chosen = data.draw(st.integers(0, len(rows) - 1)) if what == "one cell" else None
        for number, row in enumerate(rows):
            if chosen in (None, number):
                row[at] = "" if what == "emptied" else odd
    path = tmp_path / "bill.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    read_or_refused(path)


@QUICK
@given(name=st.sampled_from(TABLES), data=st.data())
def test_a_column_of_another_type_in_parquet(name: str, data: st.DataObject, tmp_path: Path) -> None:
    table = arrow_csv.read_csv(CASES / name)
    at = data.draw(st.integers(0, table.num_columns - 1))
    rows = table.num_rows
    other = data.draw(
        st.sampled_from(
            [
                pa.array([True] * rows),
                pa.array([b"x"] * rows),
                pa.array([[1]] * rows),
                pa.array([{"a": 1}] * rows),
                pa.array([1.5] * rows),
                pa.array([7] * rows),
                pa.nulls(rows),
                pa.array(["odd"] * rows).dictionary_encode(),
                pa.array([0] * rows, pa.timestamp("ns")),
                pa.array([10**9] * rows, pa.date32()),
                pa.array([float("inf")] * rows),
                pa.array([[("a", "b")]] * rows, pa.map_(pa.string(), pa.string())),
            ]
        )
    )
    path = tmp_path / "bill.parquet"
    parquet.write_table(table.set_column(at, table.schema.names[at], other), path)
    read_or_refused(path)
