"""The fast CSV pass and a slow, independent reading agree on every file, and each refusal names line and column."""

from __future__ import annotations

import csv
import io
import math
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hcloud.errors import InputError
from hcloud.model.workload import Jobs
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions

NUMBER = re.compile(r"[ \t]*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?[ \t]*", re.ASCII)
EXBIBYTES = re.compile(r"(?<=[\d.])[ \t]*[eE][ \t]*$", re.ASCII)
"""The one unit that a number may end with: 0E is no memory, and any more than 0 is too much."""
PIECES = [
    "0", "1", "7.5", "1e3", "-1", "+2", ".5", "5.", "nan", "inf", "1e999", "1_0", "0x1", "٣", "", " ", " 3 ", "-0",
    "1e-999", "1e", "--1", "1.5.2", "e5", "1e+2", "1E2", "00012", "-.5", "1 1", "\t4",
    "１", "1\xa0", "−1", "∞", "NaN ", "0b1",
]  # fmt: skip
TEXTS = ["a", "b", "batch", "service", "Batch", " batch", "", '"q"', "ä", "x,y", "=1", "😀", "a b", "null", "NaN"]
BOUNDS = {"submit": (0, 1e11), "duration": (0, 1e9), "cores": (0, 1e6), "memory": (0, 1e7)}

CELL = st.one_of(st.sampled_from(PIECES), st.floats(0, 1e6).map(repr), st.text("0123456789.eE+- _x", max_size=6))
GOOD = st.one_of(st.integers(1, 10**6).map(str), st.floats(1e-3, 1e6).map(repr))
ROW = st.tuples(
    st.one_of(GOOD, CELL), st.one_of(GOOD, CELL), st.one_of(GOOD, CELL), st.one_of(GOOD, CELL),
    st.one_of(st.just("batch"), st.sampled_from(TEXTS)), st.sampled_from(TEXTS),
)  # fmt: skip


def expected(row: tuple[str, ...]) -> list[float] | None:
    """The numbers of a row, or None where any cell must be refused."""
    numbers = []
    for told, (name, (low, high)) in zip(row, BOUNDS.items(), strict=False):
        cell = EXBIBYTES.sub("", told) if name == "memory" else told
        if not cell.strip(" \t"):
            if cell == "" and name in ("cores", "memory"):
                numbers.append(math.nan)
                continue
            return None
        if NUMBER.fullmatch(cell) is None:
            return None
        value = float(cell) * (1.0 if cell == told else 2.0**30)
        if not low <= value <= high or (name == "cores" and value <= 0):
            return None
        numbers.append(value)
    return numbers if row[4] in ("batch", "Batch", "service", "") else None


GIB = WorkloadOptions(memory_unit="GiB")


@given(st.lists(ROW, min_size=1, max_size=6))
@example(
    [("1", "1", "1", "-1", "", "a"), *(("1", "1", "1", tiny, "", "a") for tiny in ("6e-127", "1e-999", "-0", "0E"))]
)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_fast_and_slow_agree(rows: list[tuple[str, ...]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([("submit", "duration", "cores", "memory", "kind", "app"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "w.csv"
        path.write_text(text.getvalue(), encoding="utf-8")
        judge(path, [expected(row) for row in rows])


def judge(path: Path, wanted: list[list[float] | None]) -> None:
    bad = [line for line, numbers in enumerate(wanted, 2) if numbers is None]
    if bad:
        with pytest.raises(InputError) as caught:
            read_workload(path, "jobs-csv", GIB)
        named = {int(p.where.split(",")[0].removeprefix("line ")) for p in caught.value.problems}
        assert named == set(bad)
        return
    good = sorted((n for n in wanted if n is not None and n[1] > 0), key=lambda n: n[0])
    if not good:
        with pytest.raises(InputError, match="no usable job"):
            read_workload(path, "jobs-csv", GIB)
        return
    jobs = read_workload(path, "jobs-csv", GIB)
    assert isinstance(jobs, Jobs)
    assert jobs.submit.tolist() == [n[0] for n in good]
    assert jobs.duration.tolist() == [n[1] for n in good]
    assert jobs.cores.tolist() == [1.0 if math.isnan(n[2]) else n[2] for n in good]
