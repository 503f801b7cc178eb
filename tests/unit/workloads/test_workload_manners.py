"""However a file is packed and written (stdin, gzip, zstd, BOM, CRLF, zones, epochs), its demand is the same."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import sys
import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from hcloud.cli.main import run
from hcloud.errors import InputError
from hcloud.model.workload import Demand, Jobs, Workload
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions, with_keys
from hcloud.readers.workloads.source import CheckedReader, TraceFile
from hcloud.readers.workloads.tables.header import separator

CASES = Path(__file__).parent.parent.parent / "cases" / "workloads"
KEYS = cast("dict[str, dict[str, dict[str, str]]]", json.loads((CASES / "expected.json").read_text()))
TEXTS = sorted(
    name
    for name in KEYS
    if (CASES / name).is_file() and not name.startswith("invented") and not name.endswith(".parquet")
)
TABLES = [name for name in TEXTS if name.endswith(".csv")]
COMMAS = [name for name in TABLES if name != "grafana.csv" and ";" not in (CASES / name).read_text()]
START = 1_793_520_000


def read(path: Path, name: str) -> Workload:
    return read_workload(path, options=with_keys(WorkloadOptions(), KEYS[name].get("keys", {})))


@cache
def expected(name: str) -> Workload:
    """The demand of a case as it is."""
    return read(CASES / name, name)


def same(found: Workload, expected: Workload) -> None:
    assert np.allclose(found.cores, expected.cores, rtol=1e-12)
    if isinstance(expected, Demand):
        assert isinstance(found, Demand)
        assert (found.start, found.step_seconds) == (expected.start, expected.step_seconds)
    else:
        assert isinstance(found, Jobs)
        assert np.allclose(found.submit, expected.submit)
        assert np.allclose(found.duration, expected.duration)


def as_it_is(data: bytes) -> bytes:
    return data


def zstd(data: bytes) -> bytes:
    return cast("bytes", pa.compress(data, codec="zstd", asbytes=True))


def with_mark(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf")


def with_returns(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


@pytest.mark.parametrize("name", TEXTS)
def test_every_text_format_in_every_wrapping(name: str, tmp_path: Path) -> None:
    data, path = (CASES / name).read_bytes(), tmp_path / name
    for written in (gzip.compress(with_mark(data)), zstd(with_returns(data))):
        path.write_bytes(written)
        same(read(path, name), expected(name))


@pytest.mark.parametrize("way", [as_it_is, gzip.compress, zstd])
@pytest.mark.parametrize("name", ["jobs.csv", "wide.csv", "sacct.txt", "google.json"])
def test_standard_input(name: str, way: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = way((CASES / name).read_bytes())  # type: ignore[operator]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    found = read(Path("-"), name)
    same(found, expected(name))
    assert found.provenance.name == "standard input"
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("words", [["plan", "-"], ["workload", "show", "-"], ["workload", "validate", "-"]])
def test_verbs_read_standard_input(
    words: list[str], coarse_steps: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = b"submit;duration;cores\n0;1e6;2,5\n5;1e6;1\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run([*words, "--decimal", ","]) == 0
    assert ("standard input" in capsys.readouterr().out) == ("validate" not in words)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run(words) == 1
    said = capsys.readouterr()
    assert "line 2, column cores: '2,5'" in said.out + said.err


def test_a_terminal_is_no_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(InputError, match="standard input is a terminal"):
        read_workload(Path("-"))


@pytest.mark.slow
@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_packed_file_that_is_cut_short_is_refused(pack: object, tmp_path: Path) -> None:
    whole = pack((CASES / "sacct.txt").read_bytes())  # type: ignore[operator]
    path = tmp_path / "sacct.txt"
    for length in [*range(5, len(whole) - 8, 11), *range(len(whole) - 8, len(whole))]:
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="damaged or truncated"):
            read_workload(path)


def test_a_reader_that_could_not_be_made_closes_quietly(tmp_path: Path) -> None:
    """Python 3.13 says so of each that does not, whatever became of the error."""
    gone = TraceFile(tmp_path / "gone.csv", 1, "", marked=False, head=b"", name="gone.csv", command=())
    half = CheckedReader.__new__(CheckedReader)
    with pytest.raises(FileNotFoundError):
        half.__init__(gone)  # type: ignore[misc]
    half.close()


def test_a_parquet_file_in_gzip_is_to_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "jobs.parquet.gz"
    path.write_bytes(gzip.compress(b"PAR1 and more"))
    with pytest.raises(InputError, match="is a Parquet file in gzip"):
        read_workload(path)


@pytest.mark.parametrize("name", COMMAS)
def test_semicolons_and_decimal_commas(name: str, tmp_path: Path) -> None:
    text = (CASES / name).read_text()
    keys = KEYS[name].get("keys", {})
    path = tmp_path / name
    path.write_text(text.replace(",", ";").replace(".", ",") if name != "llm.csv" else text.replace(",", ";"))
    found = read_workload(path, options=with_keys(WorkloadOptions(), {**keys, "decimal": ","}))
    same(found, expected(name))


@pytest.mark.parametrize("ticks", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize(
    "text",
    [
        "submit,duration\n{0},60\n{1},60\n{2},60\n",
        "submit,start,end\n{0},{0},{1}\n{1},{1},{2}\n{2},{2},{3}\n",
        "timestamp,cores\n{0},1\n{1},1\n{2},1\n",
        "Time,web cores\n{0},1\n{1},1\n{2},1\n",
        "timestamp,host,cores\n{0},a,1\n{1},a,1\n{2},a,1\n",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n{0},1,1\n{1},1,1\n{2},1,1\n",
    ],
)
def test_epochs_by_size_and_one_row_of_another_unit(text: str, ticks: int, tmp_path: Path) -> None:
    path = tmp_path / "epochs.csv"
    times = [START + 60 * step for step in range(4)]
    path.write_text(text.format(*(time * ticks for time in times)))
    found = read_workload(path)
    assert (found.start if isinstance(found, Demand) else float(found.submit[0])) == START
    for other in {1, 10**3, 10**6, 10**9} - {ticks}:
        path.write_text(text.format(times[0] * ticks, times[1] * ticks, times[2] * other, times[3] * ticks))
        with pytest.raises(InputError) as caught:
            read_workload(path)
        assert [problem.where.partition(",")[0] for problem in caught.value.problems][-1] == "line 4"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_of_a_data_frame_in_parquet(unit: str, tmp_path: Path) -> None:
    path, ticks = tmp_path / "jobs.parquet", {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    lasts = pa.array([5 * ticks, 90_000 * ticks], pa.duration(unit))
    parquet.write_table(pa.table({"submit": [0, 1], "duration": lasts}), path)
    found = read_workload(path)
    assert isinstance(found, Jobs)
    assert list(found.duration) == [5.0, 90_000.0]
    lasts = pa.array([None, 41 * ticks], pa.duration(unit))
    parquet.write_table(pa.table({"submit": [0, 1], "duration": lasts}), path)
    found = read_workload(path, options=WorkloadOptions(open_ends="leave-out"))
    assert isinstance(found, Jobs)
    assert list(found.duration) == [41.0]
    parquet.write_table(pa.table({"submit": [0, 1], "duration": pa.array([5, None], pa.duration(unit))}), path)
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert caught.value.problems[0].where == "row 2, column duration"


@pytest.mark.parametrize("ticks", [1, 10**3, 10**6, 10**9])
def test_epochs_in_parquet(ticks: int, tmp_path: Path) -> None:
    path = tmp_path / "jobs.parquet"
    times = [START * ticks, (START + 60) * ticks]
    parquet.write_table(pa.table({"submit": times, "duration": [5, 5]}), path)
    found = read_workload(path)
    assert isinstance(found, Jobs)
    assert list(found.submit) == [START, START + 60]
    parquet.write_table(pa.table({"submit": [*times, START * (1000 if ticks == 1 else 1)], "duration": [5] * 3}), path)
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert caught.value.problems[0].where == "row 3, column submit"


@pytest.mark.parametrize("name", ["demand.csv", "wide.csv", "long.csv"])
def test_series_as_parquet(name: str, tmp_path: Path) -> None:
    path = tmp_path / "series.parquet"
    parquet.write_table(csv.read_csv(CASES / name), path)
    found = read(path, name)
    same(found, expected(name))
    assert (found.provenance.name, found.provenance.digest) == (
        str(path),
        hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def test_a_series_of_our_own_names_in_per_cent(tmp_path: Path) -> None:
    path = tmp_path / "use.csv"
    path.write_text("timestamp,value\n0,45%\n60,50 %\n")
    found = read_workload(path, options=WorkloadOptions(series_cores=8))
    assert list(found.cores) == pytest.approx([3.6, 4])


def test_columns_of_a_series_as_parquet(tmp_path: Path) -> None:
    path = tmp_path / "use.parquet"
    times = [START * 1000, (START + 60) * 1000]
    hosts = pa.array(["a", "a"]).dictionary_encode()
    parquet.write_table(pa.table({"seen": times, "node": hosts, "pct": [50.0, 25.0], "tags": [["x"], []]}), path)
    with pytest.raises(InputError, match="for which column timestamp is missing") as caught:
        read_workload(path)
    assert "--columns timestamp=seen,name=node,percent=pct" in caught.value.hint
    found = read_workload(path, options=WorkloadOptions(columns="timestamp=seen,name=node,percent=pct", series_cores=4))
    assert list(found.cores) == [2, 1]


@pytest.mark.parametrize("ticks", [1, 10**3, 10**6])
def test_epochs_in_an_answer_of_monitoring(ticks: int, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    times = [(START + 60 * step) * ticks for step in range(3)]

    def write() -> None:
        series = {"metric": {"instance": "a"}, "values": [[time, "1"] for time in times]}
        path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [series]}}))

    write()
    found = read_workload(path, options=WorkloadOptions(series_value="cores"))
    assert isinstance(found, Demand)
    assert (found.start, found.step_seconds, len(found)) == (START, 60, 3)
    times[1] = START * (1 if ticks > 1 else 1000)
    write()
    with pytest.raises(InputError, match="sample 2"):
        read_workload(path, options=WorkloadOptions(series_value="cores"))


@pytest.mark.parametrize("times", [
    ("2026-11-01T00:00:00Z", "2026-11-01T00:01:00Z"),
    ("2026-11-01T01:00:00+01:00", "2026-11-01T01:01:00+01:00"),
    ("2026-11-01 00:00:00", "2026-11-01 00:01:00"),
    ("2026-11-01 00:00:00.000", "2026-11-01 00:01:00.000"),
])  # fmt: skip
@pytest.mark.parametrize("header", ["timestamp,cores", "Time,web cores"])
def test_zones(header: str, times: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "zones.csv"
    path.write_text(f"{header}\n{times[0]},1\n{times[1]},2\n")
    found = read_workload(path)
    assert isinstance(found, Demand)
    assert (found.start, found.step_seconds) == (1_793_491_200, 60)
    other = "2026-11-01T00:01:00" if times[0].endswith(("Z", "+01:00")) else "2026-11-01T00:01:00Z"
    path.write_text(f"{header}\n{times[0]},1\n{other},2\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert caught.value.problems[0].where.startswith("line 3, column")


DATED = ["31.10.2026 01:00", "31.10.2026 01:05", "31.10.2026 01:10"]
DATED_TABLES: dict[str, dict[str, list[str | float]]] = {
    "jobs": {"submit": [*DATED], "end": ["31.10.2026 02:00"] * 3, "cores": ["1", "2", "3"]},
    "series": {"timestamp": [*DATED], "cores": [1.0, 2.0, 3.0]},
    "machines": {"Time": [*DATED], "web cores": [1.0, 2.0, 3.0]},
    "rows of machines": {"time": [*DATED], "host": ["a"] * 3, "cores": [1.0, 2.0, 3.0]},
}


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("name", list(DATED_TABLES))
def test_dates_of_every_table_are_read_in_their_order_and_zone(name: str, form: str, tmp_path: Path) -> None:
    """Those of jobs as CSV were; of others the hint was a line of pandas, and a zone was refused."""
    path = tmp_path / f"table.{form}"
    table = pa.table(DATED_TABLES[name])
    parquet.write_table(table, path) if form == "parquet" else csv.write_csv(table, path)
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert caught.value.hint == f"read it with: hcloud plan {path} --set dates=day-first"
    assert caught.value.problems[0].where.startswith("row 1," if form == "parquet" else "line 2,")
    found = read_workload(path, options=WorkloadOptions(dates="day-first", zone="Europe/Berlin"))
    start = float(found.submit[0]) if isinstance(found, Jobs) else found.start
    assert start == datetime(2026, 10, 31, 0, tzinfo=UTC).timestamp()
    assert found.provenance.format == ("jobs-csv" if name == "jobs" and form == "csv" else {
        "jobs": "jobs-parquet", "rows of machines": "machines"}.get(name, name))  # fmt: skip


def test_jobs_as_parquet_may_hold_texts_days_and_decimals_beside_lines_and_lists(tmp_path: Path) -> None:
    columns = {
        "submit": pa.array([date(2026, 11, 1), date(2026, 11, 2)]),
        "duration": pa.array(["1h30", "90 s"]).dictionary_encode(),
        "cores": pa.array([Decimal("2.50"), None], pa.decimal128(8, 2)),
        "app": ["a\nb", "c"],
        "tags": [["x"], []],
    }
    path = tmp_path / "jobs.parquet"
    parquet.write_table(pa.table(columns), path)
    found = read_workload(path, options=WorkloadOptions(extra_columns="ignore"))
    assert isinstance(found, Jobs)
    assert (found.duration.tolist(), found.cores.tolist(), found.apps) == ([5400, 90], [2.5, 1], ("a b", "c"))
    assert found.submit[0] == datetime(2026, 11, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_full_disk_is_told_of_the_folder_for_a_while(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Parquet file was called damaged where its text found no room, and of others the result could not be used."""
    path = tmp_path / f"jobs.{form}"
    path.write_text('{"submit": 0, "duration": 60}\n')
    if form == "parquet":
        parquet.write_table(pa.table({"submit": [0], "duration": [60]}), path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(csv, "write_csv", full)
    monkeypatch.setattr(csv, "CSVWriter", full)
    with pytest.raises(InputError, match="cannot be written: no space left on device") as caught:
        read_workload(path)
    assert str(caught.value).startswith(f"{tempfile.gettempdir()}: ")
    assert "TMPDIR" in caught.value.hint


def test_bars_separate_columns_where_nothing_else_does(tmp_path: Path) -> None:
    """A table of bars, as sacct's with columns of other names, was one column whose name held all of them."""
    table, series = tmp_path / "jobs.txt", tmp_path / "series.csv"
    table.write_text("id|submit|duration|cores|memory\na|0|60|4|8\nb|60|60|2|8\n")
    read = read_workload(table)
    assert isinstance(read, Jobs)
    assert list(read.cores) == [4, 2]
    assert separator("timestamp,cpu | web | 1") == ","
    series.write_text("timestamp,web | a | b\n0,1\n3600,2\n")
    assert read_workload(series, options=WorkloadOptions(series_value="cores")).provenance.format == "machines"
