"""Every hostile workload file is refused with its line and column, or repaired by a rule that is counted."""

from __future__ import annotations

import gzip
import os
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from hcloud.errors import InputError, Problem, UsageError
from hcloud.model.workload import Demand, JobKind, Jobs
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.entry import OPEN_END, read_workload
from hcloud.readers.workloads.formats.jobs import own_csv
from hcloud.readers.workloads.options import WorkloadOptions, with_keys
from hcloud.readers.workloads.source import CheckedReader, TraceFile, open_source

HEADER = "id,submit,duration,cores,memory,kind,app,qos,gpus\n"
GOOD = "a,0,10,1,2,batch,x,q,0\n"
CELLS = {
    "submit": 1, "duration": 2, "cores": 3, "memory": 4, "gpus": 8,
}  # fmt: skip
NOT_NUMBERS = (
    "nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "1_000", "١٢", "１２", "0x10", "0x1p3", "-1",
    "-1e-9", "1.2.3", "1e", "ten", "null", "NA", "true", "1;2", "1 2", "9" * 400, "nan(1)", "1d5", "\u200b1",
)  # fmt: skip


def write(folder: Path, data: str | bytes, name: str = "w.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def jobs(path: Path, **keys: str) -> Jobs:
    got = read_workload(path, options=with_keys(WorkloadOptions(), keys))
    assert isinstance(got, Jobs)
    return got


def refusal(path: Path, fmt: str = "auto", **keys: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_workload(path, fmt, with_keys(WorkloadOptions(), keys))
    assert str(path) in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("column", "text"),
    [
        *((c, t) for c in CELLS for t in ("nan", "-1", "ten")),
        *((c, t) for c in ("duration", "cores") for t in NOT_NUMBERS[1:] if t not in {"-1", "ten"}),
    ],
)
def test_K1_what_is_no_number_is_refused_with_line_and_column(tmp_path: Path, column: str, text: str) -> None:
    cells = GOOD.strip().split(",")
    cells[CELLS[column]] = text
    cells[0] = "b"
    error = refusal(write(tmp_path, HEADER + GOOD + ",".join(cells) + "\n"))
    assert error.problems[0].where == f"line 3, column {column}"
    assert "number" in error.problems[0].allowed or "seconds" in error.problems[0].allowed


@pytest.mark.parametrize(
    ("column", "text", "limit"),
    [
        ("cores", "1e308", limits.CORES),
        ("cores", "1000001", limits.CORES),
        ("duration", "1e18", limits.DURATION_SECONDS),
        ("submit", str(2**63), limits.SUBMIT_SECONDS),
        ("memory", "1e300", limits.MEMORY_GIB),
        ("gpus", "1e6", limits.GPUS),
        ("cores", "0", 0),
        ("cores", "1" * 5000, limits.CORES),
    ],
)
def test_K3_absurd_values_name_the_limit(tmp_path: Path, column: str, text: str, limit: float) -> None:
    cells = GOOD.strip().split(",")
    cells[CELLS[column]] = text
    error = refusal(write(tmp_path, HEADER + ",".join(cells) + "\n"))
    assert f"{limit:g}" in error.problems[0].allowed
    assert len(str(error)) < 1000


def test_twenty_bad_rows_are_shown_and_of_more_a_few_of_each_kind(tmp_path: Path) -> None:
    rows = "".join(f"j{i},{i},{'nan' if i % 2 else 5},{'x' if i == 150 else 1},2,batch,x,q,0\n" for i in range(200))
    error = refusal(write(tmp_path, HEADER + rows))
    assert len(error.problems) == 101
    assert str(error).count("column duration") == InputError.ALIKE
    assert "line 152, column cores: 'x'" in str(error)
    assert "... and 97 more of these kinds" in str(error)


def test_no_more_than_twenty_kinds_of_problems_are_shown() -> None:
    problems = [Problem("f", f"line {i}, column c{i % 30}", "x", "a number") for i in range(60)]
    error = InputError("f: 60 problems", problems)
    assert len(error.lines()) == 1 + InputError.SHOWN + 1
    assert error.lines()[-1] == "  ... and 40 more"


def test_millions_of_bad_rows_stay_bounded(tmp_path: Path) -> None:
    error = refusal(write(tmp_path, "submit,duration\n" + "x,y\n" * 20_000))
    assert len(error.problems) == 1000
    assert "1,000 or more problems" in str(error)


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("id,submit", "column duration is missing"),
        ("submit,duration,cors", "did you mean cores?"),
        ("submit,druation", "did you mean duration?"),
        ("submit,druation", "did you mean druation?"),
        ("Submit,duration", "did you mean submit?"),
        ("submit,duration,cores,cores", "appears 2 times"),
        ("submit,duration,", "unknown column ''"),
        ("submit,duration,colour", "unknown column 'colour'"),
    ],
)
def test_K5_headers_that_do_not_fit(tmp_path: Path, header: str, complaint: str) -> None:
    assert complaint in str(refusal(write(tmp_path, header + "\n" + ",".join("1" * header.count(",") + "1") + "\n")))


def test_extra_columns_are_ignored_on_request(tmp_path: Path) -> None:
    path = write(tmp_path, "submit,colour,duration\n0,red,5\n")
    assert jobs(path, extra_columns="ignore").duration.tolist() == [5.0]


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("a,0,10\n", "line 3: 3 fields (9 fields, as the header has)"),
        ("a,0,10,1,2,batch,x,q,0,7\n", "line 3: 10 fields"),
        ("b,0,,1,2,batch,x,q,0\n", "line 3, column duration: '' (must not be empty"),
        ("b,0,1,1,2,btch,x,q,0\n", "did you mean batch?"),
        ("b,0,1,1,2,batch,x,q\x00,0\n", "line 3, byte 20: a NUL byte"),
        ('b,0,1,1,2,batch,"x,q,0\n', "line 3: 7 fields"),
        ("a,0,1,1,2,batch,x,q,0\n", "is also on line 2"),
        ("b,0,1,1,2,batch,x,q,0\n\n\nb,1,1,1,2,batch,x,q,0\n", "line 6, column id: 'b' (is also on line 3"),
        (f"{'i' * 5000},0,1,1,2,batch,x,q,0\n", "at most 4,096 bytes"),
        (f"b,0,1,1,2,batch,{'i' * 5000},q,0\n", "at most 4,096 bytes"),
    ],
)
def test_K5_rows_that_do_not_fit(tmp_path: Path, rows: str, complaint: str) -> None:
    assert complaint in str(refusal(write(tmp_path, HEADER + GOOD + rows)))


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "is empty"),
        (b"\n \n", "holds no text"),
        (HEADER.encode(), "no rows"),
        (b"submit,duration\n\n\n", "no rows"),
        ((HEADER + GOOD).encode("utf-16"), "UTF-16"),
        ((HEADER + GOOD).encode("utf-32"), "UTF-"),
        ((HEADER + GOOD.replace("x", "caf\xe9")).encode("latin-1"), "byte 0xe9, which is not UTF-8"),
        ("submit,dur\xe9e\n0,1\n".encode("latin-1"), "not UTF-8"),
        (b"submit,duration\n0,0\n1,0\n", "no usable job in 2 rows: 2 zero duration"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is a picture"),
        (b"just words\n", "not recognised"),
        (b"PAR1" + b"\x00" * 50 + b"PAR1", "damaged Parquet"),
        (b"\x1f\x8b\x08garbage", "gzip"),
        (b"submit,duration\n0,1," + b"x" * (2 << 20) + b"\n", "longer than 262,144 bytes"),
    ],
)
def test_K4_files_that_are_no_text_table(tmp_path: Path, data: bytes, complaint: str) -> None:
    assert complaint in str(refusal(write(tmp_path, data)))


def test_a_read_ahead_that_comes_after_the_close_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow reads ahead on a thread: on a busy machine a refusal said "cannot schedule new futures after shutdown"."""
    close = CheckedReader.close

    def close_and_read(reader: CheckedReader) -> None:
        close(reader)
        with suppress(InputError):
            reader.read(1)

    monkeypatch.setattr(CheckedReader, "close", close_and_read)
    error = refusal(write(tmp_path, b"submit,duration\n0,1," + b"x" * (2 << 20) + b"\n"))
    assert "line 2 is longer than 262,144 bytes" in str(error)


@pytest.mark.parametrize("data", [HEADER + GOOD, (HEADER + GOOD).replace("\n", "\r\n"), (HEADER + GOOD)[:-1]])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_K4_line_ends_and_byte_order_marks_are_fine(tmp_path: Path, data: str, mark: str) -> None:
    got = jobs(write(tmp_path, mark + data))
    assert (len(got), got.apps, got.qos_classes) == (1, ("x",), ("q",))
    repaired = ({"byte order mark skipped": 1} if mark else {}) | ({} if data.endswith("\n") else {OPEN_END: 1})
    assert got.provenance.repaired == repaired


@pytest.mark.parametrize("delimiter", ["\t", ";", ","])
def test_other_delimiters(tmp_path: Path, delimiter: str) -> None:
    assert len(jobs(write(tmp_path, (HEADER + GOOD).replace(",", delimiter)))) == 1


def test_blanks_quotes_and_number_forms(tmp_path: Path) -> None:
    got = jobs(write(tmp_path, 'submit,duration,app\n 1 ,"2","a, b"\n+3,1e1,\n4.,.5,"say ""x"""\n'))
    assert got.submit.tolist() == [1, 3, 4]
    assert got.duration.tolist() == [2, 10, 0.5]
    assert got.apps == ("a, b", 'say "x"')
    assert got.app.tolist() == [0, -1, 1]


def test_K2_unsorted_rows_are_sorted_and_counted(tmp_path: Path) -> None:
    got = jobs(write(tmp_path, "submit,duration,cores\n5,1,5\n3,1,3\n4,1,4\n"))
    assert got.cores.tolist() == [3, 4, 5]
    assert list(got.provenance.repaired.values()) == [1]


def test_K2_zero_durations_are_left_out_and_counted(tmp_path: Path) -> None:
    got = jobs(write(tmp_path, "submit,duration\n0,0\n1,5\n2,0.0\n3,-0\n"))
    assert got.submit.tolist() == [1]
    assert got.provenance.left_out == {"zero duration (uses no capacity)": 3}
    assert got.provenance.rows == 4


def test_numbers_next_to_zero_are_read_without_a_warning(tmp_path: Path) -> None:
    """Shares of so few vCPUs were infinite, and no job had begun before one so short was over."""
    few = jobs(write(tmp_path, "submit,duration,cores,memory\n2026-11-01T00:00:00Z,60,1e-320,0\n"))
    assert len(few) == 1
    with pytest.raises(InputError, match="GiB or more for each vCPU"):
        jobs(write(tmp_path, "submit,duration,cores,memory\n2026-11-01T00:00:00Z,60,1e-320,4\n"))
    short = jobs(write(tmp_path, "submit,duration\n2026-11-01T00:00:00Z,1e-320\n2026-11-01T00:00:00Z,60\n"))
    assert (len(short), short.provenance.left_out) == (1, {"zero duration (uses no capacity)": 1})


def test_missing_columns_and_cells_are_modelled_by_key(tmp_path: Path) -> None:
    got = jobs(write(tmp_path, "submit,duration,memory\n0,5,\n1,5,7\n"), default_cores="2", memory_per_core="3")
    assert got.cores.tolist() == [2, 2]
    assert got.memory.tolist() == [6, 7]
    assert got.kind.tolist() == [JobKind.BATCH, JobKind.BATCH]
    assert {m.key for m in got.provenance.modelled} == {"default_cores", "default_kind"}
    assert got.provenance.repaired == {"empty memory: 3 GiB per vCPU (memory_per_core)": 1}


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("1970-01-01T00:01:00", 60.0),
        ("1970-01-01 00:01:00.5", 60.5),
        ("1970-01-01T02:01:00+02:00", 60.0),
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-02", 86400.0),
    ],
)
def test_iso_times_are_unix_seconds(tmp_path: Path, stamp: str, seconds: float) -> None:
    assert jobs(write(tmp_path, f"submit,duration\n{stamp},5\n")).submit.tolist() == [seconds]


@pytest.mark.parametrize(
    "second",
    ["nan", "5", "2020-02-30", "2020-01-01T25:00:00", "2020-01-01T00:00:00Z", "1969-01-01", "9999-01-01", "20200101"],
)
def test_bad_or_mixed_times_are_refused(tmp_path: Path, second: str) -> None:
    error = refusal(write(tmp_path, f"submit,duration\n2020-01-01T00:00:00,5\n{second},5\n"))
    assert "line 3" in str(error)


@pytest.mark.slow
def test_gzip_is_read_and_its_faults_refused(tmp_path: Path) -> None:
    packed = gzip.compress((HEADER + GOOD).encode())
    assert len(jobs(write(tmp_path, packed, "w.csv.gz"))) == 1
    assert "gzip" in str(refusal(write(tmp_path, packed[:-6], "cut.gz")))
    rows = "".join(f"{i},{i % 7 + 1}\n" for i in range(20_000))
    long = gzip.compress(("submit,duration\n" + rows).encode())
    assert "truncated" in str(refusal(write(tmp_path, long[: len(long) // 2], "half.gz")))
    assert len(jobs(write(tmp_path, long + gzip.compress(b"20000,1\n"), "two.gz"))) == 20_001


def test_K7_gzip_bomb_is_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = b"0," + b"0" * 1000 + b"1\n"
    part = gzip.compress(row * (1 << 12), 9)
    monkeypatch.setattr(limits, "GZIP_FREE", 1 << 20)
    bomb = gzip.compress(b"submit,duration\n") + part + b"no more of it is read"
    assert "gzip bomb" in str(refusal(write(tmp_path, bomb, "bomb.gz"), max_rows="1000000000"))
    monkeypatch.undo()
    assert limits.GZIP_FREE + limits.GZIP_RATIO * len(bomb) < 80 << 20


def test_more_rows_than_allowed(tmp_path: Path) -> None:
    path = write(tmp_path, "submit,duration\n" + "1,1\n" * 1001)
    assert "more than 1,000 rows (max_rows)" in str(refusal(path, max_rows="1000"))


@pytest.mark.timeout(90)  # to read them has no end
@pytest.mark.parametrize("sort", ["directory", "fifo", "zero", "null", "missing", "loop"])
def test_K9_what_is_no_regular_file(tmp_path: Path, sort: str) -> None:
    path = tmp_path / "thing"
    if sort == "directory":
        path.mkdir()
    elif sort == "fifo":
        os.mkfifo(path)
    elif sort == "loop":
        path.symlink_to(path)
    elif sort in ("zero", "null"):
        path = Path("/dev") / sort
    refusal(path)


def test_K9_a_file_that_vanishes_before_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + GOOD)
    source = open_source(path)
    path.unlink()
    with pytest.raises(InputError, match="no such workload"):
        own_csv.read(source, WorkloadOptions())


@pytest.mark.slow
def test_many_different_labels(tmp_path: Path) -> None:
    rows = "".join(f"{i},1,a{i}\n" for i in range(limits.LABELS + 1))
    assert "different values" in str(refusal(write(tmp_path, "submit,duration,app\n" + rows)))


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"submit": [0.0, float("nan")], "duration": [1.0, 1.0]}, "row 2, column submit"),
        ({"submit": [0.0, 1.0], "duration": [1.0, float("inf")]}, "row 2, column duration"),
        ({"submit": [0, None], "duration": [1.0, 1.0]}, "must not be empty"),
        ({"submit": ["0", "x"], "duration": [1.0, 1.0]}, "row 2, column submit: 'x'"),
        ({"submit": [0], "duration": [1.0], "cores": [[2, 2]]}, "row 1, column cores: 'list<"),
        ({"submit": [0, 1], "duration": [True, False]}, "row 1, column duration: 'true' (a number"),
        (
            {"submit": [0, 1, 2], "duration": [1, 1, 1], "id": [None, None, "a"]},
            "row 2, column id: '' (is also on row 1",
        ),
        ({"submit": [0, 1], "druation": [1, 1]}, "did you mean duration?"),
        ({"submit": [0, 1], "duration": [1, 1], "kind": ["batch", "other"]}, "row 2, column kind"),
        ({"submit": [0, 1], "duration": [1, 1], "id": ["a", "a"]}, "row 2, column id: 'a' (is also on row 1"),
        ({"submit": [0, 1], "duration": [1, 1], "id": [7, 7]}, "row 2, column id"),
        ({"submit": [], "duration": []}, "no rows"),
    ],
)
def test_parquet_is_checked_alike(tmp_path: Path, columns: dict[str, list[object]], complaint: str) -> None:
    path = tmp_path / "w.parquet"
    parquet.write_table(pa.table(columns), path)
    assert complaint in str(refusal(path))


def test_columns_of_parquet_that_are_not_read_are_not_written_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A megabyte of Parquet with a long label a row became half a gigabyte of text."""
    path = tmp_path / "jobs.parquet"
    jobs = {"began": [0.0, 5.0], "took": [60.0, 30.0], "cores": [2, 4], "kind": ["batch", "service"]}
    labels = pa.array(["\N{SNOWMAN}" * 999] * 2).dictionary_encode()
    parquet.write_table(pa.table({**jobs, "note": labels, "stray": [{"a": 1}] * 2}), path)
    sizes: list[int] = []

    def weighed(place: Path, name: str) -> TraceFile:
        sizes.append(place.stat().st_size)
        return open_source(place, name)

    monkeypatch.setattr("hcloud.readers.workloads.tables.parquet_text.open_source", weighed)
    ours = ["submit", "duration", "cores", "kind", "note", "x"]
    for options in (WorkloadOptions(columns="submit=began,duration=took"), WorkloadOptions(extra_columns="ignore")):
        if not options.columns:
            parquet.write_table(parquet.read_table(path).rename_columns(ours), path)
        read = read_workload(path, "jobs-parquet", options)
        assert isinstance(read, Jobs)
        assert (read.duration.tolist(), read.cores.tolist(), read.kind.tolist()) == ([60, 30], [2, 4], [0, 1])
    assert max(sizes) < 200
    times = pa.array([1_700_000_000 * 10**6] * 2, pa.timestamp("us", "UTC"))
    parquet.write_table(pa.table({"began": times, "duration": [60, 30], "cores": [2, 4]}), path)
    with pytest.raises(InputError) as caught:  # the hint is made of the cells of all columns
        read_workload(path, "jobs-parquet", WorkloadOptions(extra_columns="ignore"))
    assert "submit=began" in caught.value.hint


def test_a_column_of_parquet_is_not_taken_for_a_part_of_another(tmp_path: Path) -> None:
    """``a.b`` names a column and a part of one: every cell was read a column further left, as with a name that is there
    twice."""
    path = tmp_path / "jobs.parquet"
    table = pa.table({"a": [{"b": 7, "c": 9}] * 2, "a.b": [0.0, 5.0], "duration": [60, 30], "cores": [2, 4]})
    twice = pa.Table.from_arrays([*table.columns, *table.columns[:1]], [*table.column_names, "a"])
    for one in (table, table.select(table.column_names[::-1]), twice):
        parquet.write_table(one, path)
        read = read_workload(path, "jobs-parquet", WorkloadOptions(columns="submit=a.b"))
        assert isinstance(read, Jobs)
        assert (read.submit.tolist(), read.duration.tolist(), read.cores.tolist()) == ([0, 5], [60, 30], [2, 4])


def test_parquet_types(tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    stamps = pa.array([1_000_000, 2_500_000], pa.timestamp("us"))
    kinds = pa.array(["service", None]).dictionary_encode()
    parquet.write_table(pa.table({"submit": stamps, "duration": pa.array([1, 2], pa.int16()), "kind": kinds}), path)
    got = jobs(path)
    assert got.submit.tolist() == [1.0, 2.5]
    assert got.kind.tolist() == [JobKind.SERVICE, JobKind.BATCH]


SWF = "; a comment\n  1 0 5 100 4 -1 -1 4 200 -1 1 3 1 7 1 -1 -1 -1\n2 10 0 50 -1 -1 1024 2 60 -1 1 3 1 -1 1 -1 -1 -1\n"


def test_swf_is_checked_alike(tmp_path: Path) -> None:
    got = jobs(write(tmp_path, SWF, "a.swf"))
    assert got.cores.tolist() == [4, 2]
    assert got.memory.tolist() == [16, 2 / 1024]
    assert got.apps == ("application 7",)
    bad = SWF + "3 20 0 nan 1 -1 -1 1 1 -1 1 1 1 1 1 -1 -1 -1\n"
    assert "line 4, column run time: 'nan'" in str(refusal(write(tmp_path, bad, "b.swf")))
    assert "line 4: 3 fields" in str(refusal(write(tmp_path, SWF + "1 2 3\n", "c.swf")))
    unknown = SWF + "3 20 0 -1 1 -1 -1 1 1 -1 1 1 1 1 1 -1 -1 -1\n"
    assert jobs(write(tmp_path, unknown, "d.swf")).provenance.left_out == {"run time unknown (-1)": 1}
    assert "no rows" in str(refusal(write(tmp_path, "; only\n; comments\n", "e.swf")))


SWIM = "job0\t5\t5\t64000001\t0\t0\njob1\t9\t4\t0\t1000000000\t5\n"


def test_swim_is_checked_alike(tmp_path: Path) -> None:
    got = jobs(write(tmp_path, SWIM, "a.tsv"), swim_max_cores="8", swim_overhead_seconds="10")
    assert got.cores.tolist() == [2, 8]
    assert got.duration[0] == pytest.approx(10 + 64000001 / 2e7)
    for text in ("nan", "-1", "0x5", "1_0", "1e19"):
        error = refusal(write(tmp_path, SWIM + f"job2\t10\t1\t{text}\t0\t0\n", "b.tsv"))
        assert "line 3, column map input bytes" in str(error)
    assert "line 3, column job: 'job0'" in str(refusal(write(tmp_path, SWIM + "job0\t10\t1\t1\t0\t0\n", "c.tsv")))


def series(path: Path, **keys: str) -> Demand:
    got = read_workload(path, options=with_keys(WorkloadOptions(), keys))
    assert isinstance(got, Demand)
    return got


def stamps(*rows: str) -> str:
    return "timestamp,value\n" + "".join(f"2020-01-01 00:{row}\n" for row in rows)


def test_series_values_gaps_and_keys(tmp_path: Path) -> None:
    path = write(tmp_path, stamps("00:00,50", "05:00,100", "15:00,25", "20:00,0"))
    got = series(path, series_value="percent", series_cores="4", batch_share="0.5")
    assert got.cores.tolist() == [2, 4, 4, 1, 0]
    assert got.batch_cores.tolist() == [1, 2, 2, 0.5, 0]
    assert got.provenance.repaired == {"missing steps: filled with the value before": 1}
    assert (got.start, got.step_seconds) == (1577836800.0, 300)
    requests = series(path, series_value="requests", requests_per_core_second="0.5")
    assert requests.cores[0] == pytest.approx(50 / 300 / 0.5)
    assert "gaps of up to 300 s" in str(refusal(path, max_gap_seconds="300"))


@pytest.mark.parametrize("text", ["nan", "-1", "inf", "1_0", "0x1", "", "100.1"])
def test_series_values_are_checked(tmp_path: Path, text: str) -> None:
    error = refusal(write(tmp_path, stamps("00:00,1", f"05:00,{text}")), series_value="percent", series_cores="8")
    assert "line 3, column value" in str(error)


def test_the_hour_that_comes_twice_is_read_in_its_zone(tmp_path: Path) -> None:
    """Exports in local time were refused, whatever zone was said."""
    clocks = ["01:30", "02:00", "02:30", "02:00", "02:30", "03:00"]
    path = write(tmp_path, "timestamp,cores\n" + "".join(f"2026-10-25 {at},{n}\n" for n, at in enumerate(clocks)))
    assert "say in which zone: --set zone=Europe/Berlin" in refusal(path).hint
    assert series(path, zone="Europe/Berlin").cores.tolist() == [0, 1, 2, 3, 4, 5]
    assert "line 5: a duplicate time" in str(refusal(path, zone="America/New_York"))


def test_series_times_are_checked(tmp_path: Path) -> None:
    assert "line 4: a duplicate time" in str(refusal(write(tmp_path, stamps("00:00,1", "05:00,1", "00:00,2"))))
    got = series(write(tmp_path, stamps("05:00,2", "00:00,1", "10:00,3")))
    assert got.cores.tolist() == [1, 2, 3]
    assert sum(got.provenance.repaired.values()) == 1
    uneven = series(write(tmp_path, stamps("00:00,1", "01:00,1", "02:00,3", "02:30,5", "03:30,1")))
    assert uneven.step_seconds == 60
    assert np.allclose(uneven.cores, [1, 1, 4, 3, 1])
    assert "at least two rows" in str(refusal(write(tmp_path, stamps("00:00,1"))))


def test_series_column_names_say_what_they_are(tmp_path: Path) -> None:
    path = write(tmp_path, "timestamp,percent\n0,50\n60,100\n")
    assert series(path, series_cores="8").cores.tolist() == [4, 8]
    assert "--set series_cores=4" in str(refusal(path).hint)
    with pytest.raises(UsageError, match="column is named percent"):
        series(path, series_value="cores")
    assert "the unit of 'vlue' is unknown" in str(refusal(write(tmp_path, "timestamp,vlue\n0,1\n")))
    assert "unknown column 'vlue'" in str(refusal(write(tmp_path, "timestamp,cores,vlue\n0,1,2\n")))


OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)
PODS = (
    "p0,4000,2048,0,0,,LS,Running,0,100,10\n"
    "p1,2000,1024,1,500,,BE,Running,5,105,5\n"
    "p2,1000,1024,0,0,,BE,Running,7,,7\n"
    "p3,1000,1024,0,0,,BE,Pending,7,50,\n"
)


def test_openb_pods(tmp_path: Path) -> None:
    path = write(tmp_path, OPENB + PODS)
    got = jobs(path)
    assert got.duration.tolist() == [90, 98]
    assert got.kind.tolist() == [JobKind.SERVICE, JobKind.BATCH]
    assert got.provenance.left_out == {
        "never placed on a machine": 1,
        "asks for GPUs, planned by themselves with --set gpu=only": 1,
    }
    assert got.provenance.repaired == {"running at the end: ends with the trace": 1}
    assert jobs(path, gpu="demand").gpus.tolist() == [0, 0.5, 0]
    late = write(tmp_path, OPENB + PODS + "p4,1000,1,0,0,,ZZ,Running,7,9,8\n")
    assert "line 6, column qos" in str(refusal(late))


def azure(folder: Path, flavours: str, lives: str, bins: str = "0 0\n300 1\n600 2\n") -> Path:
    write(folder, "1,2 a\n2,4.5 b\n", "az_flav_map.txt")
    write(folder, bins, "az_v1.interval_map.txt")
    write(folder, lives, "az_v1.dev.c900.txt")
    return write(folder, flavours, "az_v1.dev.txt")


def test_azure_bins(tmp_path: Path) -> None:
    path = azure(tmp_path, "300 a,|,b,b\n600 b\n", "300 U0,|,U2,C2\n600 C1\n")
    got = jobs(path, azure_zero_lifetime="100")
    assert got.duration.tolist() == [100, 450, 300, 100]
    assert got.cores.tolist() == [1, 2, 2, 2]
    assert got.memory.tolist() == [2, 4.5, 4.5, 4.5]
    twin = jobs(tmp_path / "az_v1.dev.c900.txt", azure_zero_lifetime="100")
    assert twin.duration.tolist() == got.duration.tolist()


@pytest.mark.parametrize(
    ("flavours", "lives", "complaint"),
    [
        ("300 a,z\n", "300 U1,U1\n", "line 1, token 2: 'z'"),
        ("300 a,b\n", "300 U1,U9\n", "line 1, token 2: 'U9'"),
        ("300 a,b\n", "300 U1\n", "line 1: 300 with 2 tokens"),
        ("300 a,|,b\n", "300 U1,U1,U1\n", "bars at other places"),
        ("300 a\n", "600 U1\n", "line 1: 300 with 1 tokens"),
        ("300 a\n600 a\n", "300 U1\n", "2 lines"),
        ("300 a\nnan a\n", "300 U1\nnan U1\n", "line 2: 'nan'"),
        ("300 a\n-5 a\n", "300 U1\n-5 U1\n", "line 2: '-5'"),
    ],
)
def test_azure_faults(tmp_path: Path, flavours: str, lives: str, complaint: str) -> None:
    assert complaint in str(refusal(azure(tmp_path, flavours, lives)))


def test_azure_siblings_are_named_by_key(tmp_path: Path) -> None:
    path = azure(tmp_path, "300 a\n", "300 U1\n")
    (tmp_path / "az_flav_map.txt").rename(tmp_path / "sizes.txt")
    assert "azure_flavour_map=PATH" in refusal(path).hint
    assert len(jobs(path, azure_flavour_map=str(tmp_path / "sizes.txt"))) == 1


def test_keys_and_formats_are_checked(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + GOOD)
    for keys in ({"default_core": "1"}, {"default_cores": "nan"}, {"default_cores": "0"}, {"gpu": "maybe"}):
        with pytest.raises(UsageError):
            with_keys(WorkloadOptions(), keys)
    with pytest.raises(UsageError, match="did you mean jobs-csv"):
        read_workload(path, "job-csv")
    assert len(read_workload(path, "jobs-csv")) == 1
    assert with_keys(WorkloadOptions(), {"step-seconds": "60"}).step_seconds == 60


@pytest.mark.parametrize("between", [" " * 60, "," * 60, ", " * 30])
def test_a_duration_of_many_blanks_is_refused_at_once(between: str, tmp_path: Path) -> None:
    """Each blank more took a tenth longer: one cell of a hundred held the reader for minutes."""
    path = tmp_path / "jobs.csv"
    path.write_text(f'submit,duration\n0,1h\n0,"5d{between}x"\n')
    began = time.process_time()
    with pytest.raises(InputError, match="line 3, column duration"):
        read_workload(path)
    assert time.process_time() - began < 2


def test_a_limit_of_memory_is_not_told_as_a_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jobs.parquet"
    parquet.write_table(pa.table({"submit": [1.0], "duration": [1.0]}), path)

    def out_of_memory(*_: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(parquet, "ParquetFile", out_of_memory)
    with pytest.raises(MemoryError):
        read_workload(path)


@pytest.mark.parametrize("name", ["jobs.parquet", "jobs.json"])
def test_what_is_written_as_text_first_is_half_of_the_progress(name: str, tmp_path: Path) -> None:
    path, told = tmp_path / name, list[float]()
    if name == "jobs.parquet":
        stamps = pa.array(np.arange(70_000), pa.timestamp("s", "Europe/Berlin"))
        parquet.write_table(pa.table({"submit": stamps, "duration": np.ones(70_000)}), path)
    else:
        path.write_text('{"submit": 1, "duration": 1}\n' * 41_000, encoding="utf-8")
    read_workload(path, progress=told.append)
    assert told == sorted(told)
    assert 0.2 < min(share for share in told if share) < 0.5 <= min(told[2:])
    assert told[-1] == 1.0
