"""Job tables whose columns have other names, and ends in place of durations."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from hcloud.errors import InputError, UsageError
from hcloud.model.workload import Demand, Jobs
from hcloud.readers.workloads.commands import Advice
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.formats.jobs.jobs_table import NEVER_RAN, NO_START, NO_SUBMIT, STILL_RUNS
from hcloud.readers.workloads.meanings import called_columns, job_columns
from hcloud.readers.workloads.options import WorkloadOptions, with_keys
from hcloud.readers.workloads.source import HEAD_BYTES
from hcloud.readers.workloads.tables.columns import Column, Sink

ROWS = "1,2026-11-01T08:00:00,2026-11-01T09:00:00,4,x\n2,2026-11-01T08:30:00,2026-11-01T10:00:00,2,y\n"


def jobs(path: Path, columns: str = "", **keys: str) -> Jobs:
    found = read_workload(path, options=with_keys(WorkloadOptions(columns=columns), keys))
    assert isinstance(found, Jobs)
    return found


def test_columns_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job,start time (UTC),end-time,vcpus,submit\n" + ROWS)
    found = jobs(path, "id=job, submit=start time (UTC), end=end-time, cores=vcpus")
    assert list(found.duration) == [3600, 5400]
    assert list(found.cores) == [4, 2]
    assert found.ids is not None
    assert list(found.ids) == [b"1", b"2"]


def test_the_refusal_names_the_columns_that_would_do(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job,start_time,end_time,vcpus,note\n" + ROWS)
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert caught.value.hint is not None
    said = caught.value.hint.partition("--columns ")[2]
    assert said == "id=job,submit=start_time,end=end_time,cores=vcpus"
    assert list(jobs(path, said).duration) == [3600, 5400]


def test_a_job_runs_from_its_start_and_waits_from_its_submission(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,start,end,cores\n0,10,110,1\n5,,25,1\n")
    found = jobs(path)
    assert list(found.submit) == [0, 5]
    assert list(found.duration) == [100, 20]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("submt=a", "did you mean submit"),
        ("submit", "write submit=NAME"),
        ("submit=", "write submit=NAME"),
        ("submit=a,submit=b", "name each column once"),
        ("submit=a,end=a", "name each column once"),
    ],
)
def test_columns_that_are_none_of_ours(tmp_path: Path, columns: str, says: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match=says):
        jobs(path, columns)


def test_columns_that_the_file_has_not_and_ends_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("begins,ends\n5,3\n7,9\n8,2e10\n")
    with pytest.raises(InputError, match="has no column 'begin'; did you mean begins"):
        jobs(path, "submit=begin,end=ends")
    with pytest.raises(InputError) as caught:
        jobs(path, "submit=begins,end=ends")
    assert [problem.where for problem in caught.value.problems] == ["line 2, column ends", "line 4, column ends"]


@pytest.mark.parametrize(("ticks", "unit"), [(10**3, "milliseconds"), (10**6, "microseconds"), (10**9, "nanoseconds")])
def test_unix_times_in_other_units_are_told_by_their_size(tmp_path: Path, ticks: int, unit: str) -> None:
    start = 1_793_520_000
    path = tmp_path / "jobs.csv"
    rows = [f"{(start + at) * ticks},,{(start + at + 50) * ticks}" for at in (0, 7)]
    path.write_text("submit,start,end\n" + "\n".join(rows) + "\n")
    found = jobs(path)
    assert list(found.submit) == [start, start + 7]
    assert list(found.duration) == pytest.approx([50, 50])
    assert f"{unit}, by the size of the first" in {rule.rule for rule in found.provenance.modelled}
    path.write_text(f"timestamp,cores\n{start * ticks},1\n{(start + 60) * ticks},2\n{(start + 120) * ticks},2\n")
    history = read_workload(path)
    assert isinstance(history, Demand)
    assert (history.start, history.step_seconds, len(history)) == (start, 60, 3)


def test_a_time_in_another_unit_than_the_first_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration\n1793520000,5\n1793520000000,5\n")
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert caught.value.problems[0].where == "line 3, column submit"


@pytest.mark.parametrize(("unit", "gib"), [("MiB", 2.0), ("GiB", 2048.0), ("KiB", 2048 / 2**20)])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_memory_of_jobs_in_another_unit(tmp_path: Path, form: str, unit: str, gib: float) -> None:
    path = tmp_path / f"jobs.{form}"
    if form == "csv":
        path.write_text("submit,duration,mem\n0,10,2048\n")
    else:
        parquet.write_table(pa.table({"submit": [0.0], "duration": [10.0], "mem": [2048.0]}), path)
    options = with_keys(WorkloadOptions(columns="memory=mem"), {"memory_unit": unit})
    found = read_workload(path, options=options)
    assert isinstance(found, Jobs)
    assert found.memory.tolist() == [gib]


def test_memory_that_no_machine_has_needs_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration,cores,memory\n0,10,2,8192\n0,10,,4096\n0,10,1,\n0,10,64,128\n")
    with pytest.raises(InputError, match="half of the jobs have 4,096 GiB or more for each vCPU") as caught:
        jobs(path)
    assert "--set memory_unit=MiB" in caught.value.hint
    path.write_text("submit,duration,cores,memory\n0,10,2,8192\n0,10,4,16\n0,10,4,16\n")
    assert jobs(path).memory.max() == 8192


def duration_file(path: Path, name: str, cells: list[str]) -> Path:
    if path.suffix == ".csv":
        path.write_text(f"submit,{name}\n" + "".join(f'0,"{cell}"\n' for cell in cells))
    else:
        parquet.write_table(pa.table({"submit": [0.0] * len(cells), name: cells}), path)
    return path


CLOCKS = {
    "01:34:00": 5640.0, "1-02:03:04": 93_784.0, "0 days 00:00:01.500000": 1.5, "1 day, 2:03:04": 93_784.0,
    "90m": 5400.0, "1h30m": 5400.0, "1.5h": 5400.0, "2 hours 5 minutes": 7500.0, "1d 2h": 93_600.0, "45 s": 45.0,
    "PT1H30M": 5400.0, "P1DT0.5S": 86_400.5, "P2W": 1_209_600.0, "1w": 604_800.0, "500ms": 0.5, "2 Days": 172_800.0,
    "1h30": 5400.0, "1 hour, 5 minutes and 3 seconds": 3903.0, "1H30M": 5400.0, "7 second(s)": 7.0,
}  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["duration", "elapsed_min"])
def test_durations_as_on_a_clock_are_read(tmp_path: Path, form: str, name: str) -> None:
    path = duration_file(tmp_path / f"jobs.{form}", name, list(CLOCKS))
    called = "" if name == "duration" else f"duration={name}"
    found = jobs(path, columns=called)
    assert sorted(found.duration) == sorted(CLOCKS.values())
    assert all(one.column != "duration" for one in found.provenance.modelled)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_durations_of_two_numbers_are_asked_about(tmp_path: Path, form: str) -> None:
    path = duration_file(tmp_path / f"jobs.{form}", "duration", ["01:34", "01:34"])
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert caught.value.hint.endswith(f"read it with: hcloud plan {path} --set duration_unit=mm:ss")
    assert jobs(path, duration_unit="mm:ss").duration.tolist() == [94.0, 94.0]
    assert jobs(path, duration_unit="hh:mm").duration.tolist() == [5640.0, 5640.0]


@pytest.mark.parametrize(
    "odd", ["01:34", "90", "1-02:03", "00:75:00", "P1M", "1:2:3", "12h am", "-1:00:00", "9" * 9 + ":00:00"]
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_duration_that_may_be_several_among_those_on_a_clock_is_refused(tmp_path: Path, form: str, odd: str) -> None:
    path = duration_file(tmp_path / f"jobs.{form}", "duration", ["01:34:00", odd])
    with pytest.raises(InputError, match="a duration as 01:34:00, 1-02:03:04, 90m") as caught:
        jobs(path)
    assert [problem.value for problem in caught.value.problems] == [repr(odd)]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_durations_that_may_be_minutes_or_months_are_asked_about(tmp_path: Path, form: str) -> None:
    path = duration_file(tmp_path / f"jobs.{form}", "duration", ["90M", "2h"])
    with pytest.raises(InputError, match=r"'90M' .*write 90m of minutes") as caught:
        jobs(path)
    assert caught.value.hint == f"if M is minutes, read it with: hcloud plan {path} --set duration_unit=min"
    assert jobs(path, duration_unit="min").duration.tolist() == [5400.0, 7200.0]


def test_a_number_among_durations_of_two_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column duration: '90'"):
        jobs(duration_file(tmp_path / "jobs.csv", "duration", ["90", "01:34"]), duration_unit="mm:ss")


@pytest.mark.parametrize(
    ("ran", "took", "seconds", "gib", "keys"),
    [
        ("minutes", "mem_mb", 600.0, 2.0, {}),
        ("Run time [h]", "Memory (KiB)", 36_000.0, 2048 / 2**20, {}),
        ("durationMs", "memoryBytes", 0.01, 2048 / 2**30, {}),
        ("elapsed_days", "ram_gb", 864_000.0, 2048.0, {}),
        ("min_elapsed", "mb_of_memory", 10.0, 2048.0, {}),
        ("minutes", "mem_mb", 10.0, 2048.0, {"duration_unit": "s", "memory_unit": "GiB"}),
        ("took", "mem", 600.0, 2.0, {"duration_unit": "min", "memory_unit": "MiB"}),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_a_column_is_called_says_its_unit(
    tmp_path: Path, form: str, ran: str, took: str, seconds: float, gib: float, keys: dict[str, str]
) -> None:
    path = tmp_path / f"jobs.{form}"
    if form == "csv":
        path.write_text(f"submit,{ran},{took},cores\n0,10,2048,64\n")
    else:
        parquet.write_table(pa.table({"submit": [0.0], ran: [10.0], took: [2048.0], "cores": [64]}), path)
    found = read_workload(path, options=with_keys(WorkloadOptions(columns=f"duration={ran},memory={took}"), keys))
    assert isinstance(found, Jobs)
    assert (found.duration.tolist(), found.memory.tolist()) == ([pytest.approx(seconds)], [pytest.approx(gib)])
    told = {one.key for one in found.provenance.modelled}
    assert ("duration_unit" in told, "memory_unit" in told) == (seconds != 10, gib != 2048)


def test_durations_of_parquet_know_their_unit(tmp_path: Path) -> None:
    path = tmp_path / "jobs.parquet"
    parquet.write_table(pa.table({"submit": [0.0], "took_min": pa.array([10], pa.duration("s"))}), path)
    for unit in ("auto", "hh:mm"):
        found = read_workload(path, options=WorkloadOptions(columns="duration=took_min", duration_unit=unit))
        assert isinstance(found, Jobs)
        assert found.duration.tolist() == [10.0]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_times_of_which_some_have_a_zone_and_others_none_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"jobs{suffix}"
    if suffix == ".csv":
        path.write_text("submit,end\n2026-11-01T10:00:00+02:00,2026-11-01T12:00:00\n", encoding="utf-8")
    else:
        zoned = pa.array([1_793_520_000], pa.timestamp("s", "Europe/Berlin"))
        naive = pa.array([1_793_527_200], pa.timestamp("s"))
        parquet.write_table(pa.table({"submit": zoned, "end": naive}), path)
    with pytest.raises(InputError, match=r"column submit have a time zone .* and those of end have none"):
        read_workload(path)
    path.with_suffix(".csv").write_text("submit,end\n2026-11-01T10:00:00Z,2026-11-01T12:00:00\n", encoding="utf-8")
    assert len(read_workload(path.with_suffix(".csv"))) == 1


@pytest.mark.parametrize(
    ("first", "then", "said"), [("+09:00", "", "with a zone"), ("", "Z", r"without a zone \(UTC\)")]
)
def test_of_times_in_one_column_a_zone_that_is_missing_is_named(
    first: str, then: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "jobs.csv"
    rows = f"2026-11-01T10:00:00{first},3600,1\n2026-11-01T12:00:00{then},3600,1\n"
    path.write_text("submit,duration,cores\n" + rows, encoding="utf-8")
    with pytest.raises(InputError, match=said + ", as 2026"):
        read_workload(path)


OPEN_ENDED = """\
vm,started,stopped,vcpu
a,2026-10-01T00:00:00Z,,4
b,2026-10-01T06:00:00Z,2026-10-02T00:00:00Z,8
c,2026-10-01T08:00:00Z,,2
"""
VMS = "id=vm,submit=started,end=stopped,cores=vcpu"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_jobs_without_an_end_are_refused_with_the_option_that_says_they_run(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"vms{suffix}"
    path.write_text(OPEN_ENDED, encoding="utf-8")
    if suffix == ".parquet":
        parquet.write_table(csv.read_csv(tmp_path / "vms.parquet"), path)
    with pytest.raises(InputError) as caught:
        read_workload(path, options=WorkloadOptions(columns=VMS))
    assert len(caught.value.problems) == 2, "an end that is there is none of them"
    assert caught.value.hint is not None
    assert "--set open_ends=run" in caught.value.hint
    jobs = read_workload(path, options=WorkloadOptions(columns=VMS, open_ends="run"))
    assert isinstance(jobs, Jobs)
    assert jobs.duration.tolist() == [24 * 3600, 18 * 3600, 16 * 3600]
    assert jobs.provenance.repaired[STILL_RUNS] == 2


NEVER_BEGAN = """id,submit,start,end,duration
a,2026-10-01T00:00:00Z,2026-10-01T00:10:00Z,2026-10-01T01:10:00Z,3600
b,2026-10-01T00:00:00Z,,2026-10-01T02:00:00Z,
c,2026-10-01T00:00:00Z,,,
d,2026-10-01T00:00:00Z,2026-10-01T00:40:00Z,,
"""


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_jobs_that_never_began_are_left_out_where_that_is_said(tmp_path: Path, suffix: str) -> None:
    """Of a table with durations there was no way but to take them out by hand."""
    path = tmp_path / f"jobs{suffix}"
    path.write_text(NEVER_BEGAN, encoding="utf-8")
    if suffix == ".parquet":
        parquet.write_table(csv.read_csv(tmp_path / "jobs.parquet"), path)
    with pytest.raises(InputError) as caught:
        jobs(path, "id=id,submit=submit,start=start,duration=duration")
    assert caught.value.hint.startswith("if jobs without a duration never ran, read it with: ")
    assert "--set open_ends=leave-out" in caught.value.hint
    for columns in ("submit=submit,start=start,duration=duration", "submit=submit,start=start,end=end"):
        found = jobs(path, columns, open_ends="leave-out")
        assert (found.duration.tolist(), found.provenance.left_out) == ([3600], {NEVER_RAN: 3})
    running = jobs(path, "submit=submit,start=start,end=end", open_ends="run")
    assert running.duration.tolist() == [3600, 4800], "b was cancelled before it began, c waits, d still runs"
    assert running.provenance.left_out == {NEVER_RAN: 2}


def test_that_a_job_without_a_start_counts_is_said_though_no_other_waited(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,start,end,cores\n0,0,10,1\n0,,100,64\n")
    found = jobs(path)
    assert (found.duration.tolist(), found.provenance.repaired) == ([10, 100], {NO_START: 1})


def test_a_job_that_began_counts_whose_submission_is_missing(tmp_path: Path) -> None:
    """It was left out as one that never ran."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit,start,end\n1764000000,1764000060,1764000160\n,1764000100,1764000190\n1764000200,,\n")
    found = jobs(path, open_ends="leave-out")
    assert (found.submit.tolist(), found.duration.tolist()) == ([1764000000, 1764000100], [100, 90])
    assert (found.provenance.repaired, found.provenance.left_out) == ({NO_SUBMIT: 1}, {NEVER_RAN: 1})


@pytest.mark.parametrize(
    ("unit", "stated", "seconds", "said"), [("auto", 900, 900, 1), ("ms", 9000, 9, 0), ("s", 9000, 9000, 0)]
)
def test_that_durations_beside_times_in_ms_are_read_as_seconds_is_said(
    unit: str, stated: int, seconds: float, said: int, tmp_path: Path
) -> None:
    """They were without a word, and may be in milliseconds, too."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit,duration\n1764000000000,{stated}\n")
    found = jobs(path, duration_unit=unit)
    assert found.duration.tolist() == [seconds]
    assert sum(rule.column == "duration" and "in s," in rule.rule for rule in found.provenance.modelled) == said


@pytest.mark.parametrize("ticks", [10**3, 10**6, 10**9])
def test_durations_of_a_second_in_the_unit_of_the_times_are_asked_for(ticks: int, tmp_path: Path) -> None:
    """Two hours in ms beside times in ms counted as 83 days, a thousand times the demand."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit,duration\n{1764000000 * ticks},{ticks}\n{1764000060 * ticks},{ticks}\n")
    with pytest.raises(InputError, match="half of the durations") as caught:
        jobs(path)
    assert "duration_unit=s" in caught.value.hint
    assert jobs(path, duration_unit="s").duration.tolist() == [ticks, ticks]


@pytest.mark.parametrize(
    "text",
    [
        "submit,duration\n{0},7200\n{1},7200\n",
        "timestamp,cores\n{0},3\n{1},3\n",
        "timestamp,name,value\n{0},a,3%\n{1},a,3%\n",
    ],
)
def test_days_of_a_spreadsheet_are_not_read_as_seconds(text: str, tmp_path: Path) -> None:
    """Six weeks of jobs counted as 42 seconds, and a plan reserved $4m for them."""
    path = tmp_path / "jobs.csv"
    options = WorkloadOptions(series_cores=8)
    path.write_text(text.format("46296", "46296.0416667"))
    with pytest.raises(InputError, match="days of a spreadsheet, as 46296"):
        read_workload(path, options=options)
    path.write_text(text.format("6296", "6297.0416667"))
    assert read_workload(path, options=options)
    path.write_text("id,start,end,cores\na,46296.5,46297.5,2\nb,46296.25,46297.5,2\n")
    with pytest.raises(InputError) as refused:
        read_workload(path)
    assert "write its days of a spreadsheet as dates" in (refused.value.hint or "")
    path.write_text("submit,duration,start\n0,7200,46296.5\n60,7200,\n")  # submit says that these are seconds
    assert read_workload(path)


STATED = "submit,duration,causes,tolerates\n0,10,1 2 3 4 5 6 7 8 9 10,{}\n5,10,,\n"


def test_jobs_state_what_they_cause_and_tolerate(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(STATED.format("99 0 50 50 50 50 50 50 50 50"))
    found = jobs(path)
    assert found.causes is not None
    assert found.bears is not None
    assert found.causes.tolist() == [list(range(1, 11)), [-1] * 10]
    assert found.bears[0].tolist() == [99, 0] + [50] * 8
    parquet.write_table(csv.read_csv(path), tmp_path / "jobs.parquet")
    assert jobs(tmp_path / "jobs.parquet").bears.tolist() == found.bears.tolist()  # type: ignore[union-attr]


def test_what_is_tolerated_is_assumed_where_it_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration,causes\n0,10,1 2 3 4 5 6 7 8 9 10\n")
    assert [(m.column, m.rule) for m in jobs(path).provenance.modelled if m.column == "tolerates"] == [
        ("tolerates", "99 points less than what each job causes")
    ]


@pytest.mark.parametrize("cell", ["1 2 3", "100 2 3 4 5 6 7 8 9 10", "-1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 9 x"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_vectors_outside_0_to_99_are_refused_by_file_row_and_value(tmp_path: Path, cell: str, form: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(STATED.format(cell))
    if form == "parquet":
        parquet.write_table(csv.read_csv(path), path.with_suffix(".parquet"))
    with pytest.raises(InputError) as caught:
        jobs(path.with_suffix(f".{form}"))
    (problem,) = caught.value.problems
    assert problem.where == ("line 2, column tolerates" if form == "csv" else "row 1, column tolerates")
    assert problem.value == repr(cell)
    assert problem.allowed == "10 whole numbers from 0 to 99, apart by spaces"


@pytest.mark.parametrize(
    ("table", "columns", "first"),
    [
        ("jobId,startTime,durationSec,memMb,cpuMilli,class\nx,0,10,2048,1500,service\ny,0,1,1024,500,batch\n",
         "id=jobId,submit=startTime,duration=durationSec,cores=cpuMilli,memory=memMb,kind=class", (10.0, 1.5, 2.0, 1)),
        ("task_id,dag_id,run_id,start_date,end_date,duration,queued_dttm\nt,a,r1,0,10,10,0\nt,b,r2,5,6,1,5\n",
         "id=run_id,submit=queued_dttm,start=start_date", (10.0, 1.0, 4.0, 0)),
        ("namespace,pod,Created,Started,Completed,cpuRequestMilli,memoryRequestMiB\nn,p,0,0,10,2000,3072\nn,q,1,1,2,1,1\n",
         "id=pod,submit=Created,start=Started,end=Completed,cores=cpuRequestMilli,memory=memoryRequestMiB",
         (10.0, 2.0, 3.0, 0)),
        ("jobName,jobId,created_at,runtime\netl,a,0,10\netl,b,1,2\n", "id=jobId,submit=created_at,duration=runtime",
         (10.0, 1.0, 4.0, 0)),
        ("submit,runtimeMs,cpus,type\n0,10000,2,latency-critical\n0,1,1,best-effort\n",
         "duration=runtimeMs,cores=cpus,kind=type", (10.0, 2.0, 8.0, 1)),
        ("submit,duration,millicores,type\n0,10,2000,spark\n0,1,1000,etl\n", "cores=millicores", (10.0, 2.0, 8.0, 0)),
        ("submit,duration,RAM (GB)\n0,10,64\n0,1,2\n", "memory=RAM (GB)", (10.0, 1.0, 64.0, 0)),
        ("submit,duration,Job Class\n0,10,LC\n0,1,BE\n", "kind=Job Class", (10.0, 1.0, 4.0, 1)),
    ],
)  # fmt: skip
def test_names_with_units_and_classes_of_jobs_are_in_the_advice(
    tmp_path: Path, table: str, columns: str, first: tuple[float, float, float, int]
) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(table)
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert caught.value.hint == f"read it with: {shlex.join(['hcloud', 'plan', str(path), '--columns', columns])}"
    found = jobs(path, columns)
    assert (found.duration[0], found.cores[0], found.memory[0], found.kind[0]) == first


def test_kinds_called_otherwise_are_said_and_others_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration,kind\n0,10,LC\n0,10,batch\n0,10,\n")
    found = jobs(path)
    assert found.kind.tolist() == [1, 0, 0]
    assert [one.rule for one in found.provenance.modelled if one.column == "kind"] == ["LC is service"]
    path.write_text("submit,duration,kind\n0,10,LC\n0,10,bach\n")
    with pytest.raises(InputError, match=r"column kind: 'bach' \(one of batch, service; did you mean batch\?"):
        jobs(path)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_times_without_a_zone_are_of_the_one_that_is_said(tmp_path: Path, suffix: str) -> None:
    """As sacct's are: a zone was taken and did nothing. A time with a zone keeps its own."""
    path = tmp_path / f"jobs.{suffix}"
    local = ["2026-07-01T10:00:00", "2026-10-25T02:30:00", "2026-12-01T10:00:00"]
    zoned = ["2026-07-01T09:00:00Z", "2026-10-25T01:30:00Z", "2026-12-01T10:00:00Z"]
    if suffix == "csv":
        path.write_text("submit,end\n" + "".join(f"{a},{b}\n" for a, b in zip(local, zoned, strict=True)))
    else:
        columns = {
            "submit": pa.array(local).cast(pa.timestamp("s")),
            "end": pa.array(zoned).cast(pa.timestamp("s", "UTC")),
        }
        parquet.write_table(pa.table(columns), path)
    found = read_workload(path, options=WorkloadOptions(zone="Europe/Berlin"))
    assert isinstance(found, Jobs)
    assert found.duration.tolist() == [3600.0, 3600.0, 3600.0]
    assert [datetime.fromtimestamp(at, UTC).hour for at in found.submit] == [8, 0, 9]
    assert ("times", "Europe/Berlin", "zone") in [(m.column, m.rule, m.key) for m in found.provenance.modelled]


def test_a_job_of_the_hour_that_comes_twice_ends_after_it_began(tmp_path: Path) -> None:
    """It was refused as ending before it began, with its zone said, too; an hour that comes once is still refused."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit,end\n2026-10-25T02:50:00,2026-10-25T02:10:00\n2026-10-25T01:00:00,2026-10-25T04:00:00\n")
    with pytest.raises(InputError, match="not within a job's length of its begin") as refused:
        read_workload(path)
    assert str(refused.value.hint).startswith("where clocks were put back, say the zone (--set zone=Europe/Berlin)")
    found = read_workload(path, options=WorkloadOptions(zone="Europe/Berlin"))
    assert isinstance(found, Jobs)
    assert dict(zip(found.submit.tolist(), found.duration.tolist(), strict=True)) == {
        1_792_889_400.0: 1200.0, 1_792_882_800.0: 14_400.0
    }  # fmt: skip
    path.write_text("submit,end\n2026-10-25T02:50:00,2126-10-25T02:10:00\n")
    with pytest.raises(InputError, match="not within a job's length of its begin") as refused:
        read_workload(path)
    assert "clocks" not in str(refused.value.hint), "a job of a hundred years"
    path.write_text("submit,end\n2026-10-26T02:50:00,2026-10-26T02:10:00\n")
    with pytest.raises(InputError, match="not within a job's length of its begin"):
        read_workload(path, options=WorkloadOptions(zone="Europe/Berlin"))


DATES = [
    ("day-first", ["31.10.2026 14:30", "01.11.2026 14:30:05"], ""),
    ("day-first", ["02.11.2026 10:00", "1.12.26 10:00"], "if the day comes first (else say month-first), "),
    ("month-first", ["10/31/2026 2:30 PM", "11/1/2026, 12:30:05 AM"], ""),
]


@pytest.mark.parametrize(("order", "cells", "sure"), DATES)
def test_dates_that_begin_with_no_year_are_read_by_the_command_that_is_named(
    tmp_path: Path, order: str, cells: list[str], sure: str
) -> None:
    """The hint was a line of pandas."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit;duration;cores\n" + "".join(f"{cell};60;1\n" for cell in cells))
    with pytest.raises(InputError) as refused:
        read_workload(path)
    assert refused.value.hint == f"{sure}read it with: hcloud plan {path} --set dates={order}"
    found = jobs(path, dates=order, zone="Europe/Berlin")
    form = "%m/%d/%Y" if order == "month-first" else "%d.%m.%Y"
    first = datetime.strptime(cells[0].split()[0], form).replace(tzinfo=ZoneInfo("Europe/Berlin"))
    assert datetime.fromtimestamp(found.submit[0], ZoneInfo("Europe/Berlin")).date() == first.date()
    assert found.duration.tolist() == [60.0, 60.0]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_one_command_has_all_that_a_file_needs(tmp_path: Path, form: str) -> None:
    """It had the columns; the command that had been copied was then refused for the dates."""
    path = tmp_path / f"jobs.{form}"
    rows = [("a", "02.11.2026 10:00", "", "2048"), ("b", "03.11.2026 10:00", "03.11.2026 12:00", "1024")]
    if form == "csv":
        path.write_text("job;queued;finished;mem\n" + "".join(";".join(row) + "\n" for row in rows))
    else:
        path.write_text(json.dumps([dict(zip(("job", "queued", "finished", "mem"), row, strict=True)) for row in rows]))
    with pytest.raises(InputError) as caught:
        read_workload(path)
    words = shlex.split(caught.value.hint.partition("read it with: ")[2])
    keys = dict(word.split("=", 1) for word in words if word.startswith(("dates", "open_ends", "memory_unit")))
    found = jobs(path, words[words.index("--columns") + 1], **keys)
    assert (found.duration.tolist(), found.memory.tolist()) == ([93_600.0, 7200.0], [2.0, 1.0])
    told = ("mem is in MiB (else", "the day comes first (else", "jobs without an end still run")
    assert all(f"if {one}" in caught.value.hint for one in told)


def test_a_day_that_does_not_exist_or_the_other_order_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,end\n28.02.2026 10:00,28.02.2026 11:00\n31.02.2026 10:00,02.03.2026 25:00\n")
    with pytest.raises(InputError, match=r"line 3, column submit: '31.02.2026 10:00' .a date with the day first") as no:
        jobs(path, dates="day-first")
    assert len(no.value.problems) == 2
    path.write_text("submit,end\n10/31/2026,11/1/2026\n")
    with pytest.raises(InputError) as other:
        jobs(path, dates="day-first")
    assert other.value.hint.endswith("dates=month-first")
    path.write_text("submit,end\n2026-11-01T10:00:00,2026-11-01T11:00:00\n")
    assert jobs(path, dates="day-first").duration.tolist() == [3600.0], "dates with the year first are certain"


def test_a_class_of_jobs_is_found_behind_the_separator_for_excel_and_on_a_last_line_without_end(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("sep=;\nsubmitted;runtime;class\n0;10;LC")
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert "kind=class" in caught.value.hint


def test_a_duration_as_on_a_clock_among_numbers_is_met_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 3, column duration: '01:34:00'") as caught:
        jobs(duration_file(tmp_path / "jobs.csv", "duration", ["0", "01:34:00"]))
    assert caught.value.hint == "write all durations in one way: as numbers, or as 01:34:00"
    path = tmp_path / "memory.csv"
    path.write_text("submit,duration,memory\n0,60,5h\n")
    with pytest.raises(InputError, match="line 2, column memory: '5h'") as caught:
        jobs(path)
    assert "durations" not in caught.value.hint, "its durations are all numbers"


def test_numbers_that_are_called_minutes_and_seconds_are_refused_in_parquet_as_in_csv(tmp_path: Path) -> None:
    """They were read as seconds, and said to be read as mm:ss."""
    path = tmp_path / "jobs.parquet"
    parquet.write_table(pa.table({"submit": [0.0], "duration": [90.0]}), path)
    with pytest.raises(InputError, match=r"row 1, column duration: '90' \(a duration as 01:34:00"):
        jobs(path, duration_unit="mm:ss")


def test_lists_and_truths_in_json_are_read_as_cells_have_them(tmp_path: Path) -> None:
    """What a job waits for was left out without a word."""
    path = tmp_path / "jobs.json"
    path.write_text(
        '[{"id": "a", "submit": 0, "duration": 10, "cores": 2, "divisible": true},'
        ' {"id": "b", "submit": 0, "duration": 10, "cores": 2, "after": ["a"], "requires": ["vcpus>=2", "memory>=4"]}]'
    )
    found = jobs(path)
    assert found.after is not None
    assert found.after.tolist() == [[1, 0]]
    assert found.requirements == ("vcpus>=2 memory>=4",)
    assert found.divisible is not None
    assert found.divisible.tolist() == [1, -1]


@pytest.mark.parametrize("form", ["{}\n\n{}\n", "[{},{}]", '{{"jobs": [{}, {}], "nextToken": null}}'])
def test_what_is_wrong_in_json_is_said_of_the_job(tmp_path: Path, form: str) -> None:
    """It was said of lines of a table that nobody has."""
    path = tmp_path / "jobs.json"
    path.write_text(form.format('{"submit": 0, "duration": 10}', '{"submit": 0, "duration": -1}'))
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert [problem.where for problem in caught.value.problems] == ["job 2, column duration"]
    assert str(caught.value).count("job 2") == 1


@pytest.mark.parametrize(
    "text", ['[{"submit": 0, "duration": 9, "app": "\\ud800"}]', '[{"\\ud800": 0, "submit": 0, "duration": 9}]']
)
def test_half_a_character_in_json_is_refused(tmp_path: Path, text: str) -> None:
    """It was a bug of hcloud."""
    path = tmp_path / "jobs.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"is no JSON of jobs: .*surrogates not allowed"):
        jobs(path)


def test_keys_of_json_with_blanks_and_line_breaks_are_columns(tmp_path: Path) -> None:
    """Those were no keys, and what was advised to skip these was met with rows of too few fields."""
    path = tmp_path / "jobs.json"
    path.write_text('[{"queued at": 1764000000, "run time": 90, "my\\nnote": 1}, {"queued at": 1764000000}]')
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert "nearest is a table of jobs" in str(caught.value)
    path.write_text(
        '[{"submit": 1, "my\\nnote": {"a\\tb": "x"}}, {"submit": 2, "duration": 90}, {"duration": 9, "submit": 3}]'
    )
    found = jobs(path, "submit=submit,duration=duration", open_ends="leave-out")
    assert (found.submit.tolist(), found.duration.tolist()) == ([2, 3], [90, 9])


def test_a_broken_line_of_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text('{"submit": 0, "duration": 10}\n' * 2 + '{"submit": 0, "duration": }\n')
    with pytest.raises(InputError, match="Expecting value: line 3 column 27"):
        jobs(path)


@pytest.mark.parametrize(
    "names",
    [
        "starttime wall procs", "queued_at took slots", "start_time_ms end_time_ms processors",
        "createTime runDuration cpus", "qtime resources_used.walltime Resource_List.ncpus",
        "submission_time wallclock_s num_procs",
        "time_start time_end requested_cpus", "submitTime runTime numProcessors",
        "SubmitTime ElapsedRaw ReqCPUs", "enqueued walltime_minutes n_cpus", "date_created total_time_ms num_vcpus",
        "run_start run_end threads", "request_time job_end vcpu_count",
    ],
)  # fmt: skip
def test_columns_are_known_by_what_schedulers_and_clouds_call_them(tmp_path: Path, names: str) -> None:
    """Most were met with the advice to name the columns by hand."""
    path = tmp_path / "jobs.csv"
    path.write_text(names.replace(" ", ",") + "\n1790000000,1790000060,4\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    words = shlex.split(caught.value.hint.partition("read it with: ")[2])
    called = called_columns(words[words.index("--columns") + 1])
    assert len(called) == 3
    assert called["cores"] == names.split()[2]


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        ("submit_time,start_time,end_time,req_cpus,alloc_cpus", "cores is req_cpus (else say alloc_cpus)"),
        ("submit_time,execution_duration,run_duration,x,y", "duration is execution_duration (else say run_duration)"),
        ("submit_time,start_time,end_time,mem_mb,memory_gb", "memory is mem_mb (else say memory_gb)"),
        ("submit_time,started_at,launched_at,end_time,x", "start is started_at (else say launched_at)"),
        ("created,start,end,cpu", "cpu counts vCPUs (else add --set vcpus_per_core=N, the vCPUs of each)"),
        ("submit_time,request_time,end_time,num_threads,vcpus", "cores is vcpus (else say num_threads)"),
        ("created,start,end,x,threads", "threads counts vCPUs (else add --set vcpus_per_core=N, the vCPUs of each)"),
        (
            "submit_time,start_time,end_time,nodes,cpus_per_task",
            "each job takes 1 vCPU (else say cores=NAME), whatever nodes, cpus_per_task say",
        ),
        ("submit_time,start_time,end_time,ncpus,quantity",
         "ncpus has the vCPUs of a job on all nodes, whatever quantity say"),
        ("submit_time,deleted_at,completed_at,x,y", "end is completed_at (else say deleted_at)"),
        ("submit_time,start_time,deleted_at,total_slot_ms,x",
         "total_slot_ms is how long each job ran times its vCPUs (else say cores=NAME)"),
        ("submit_time,start_time,end_time,ncpus,num_nodes",
         "ncpus has the vCPUs of a job on all nodes, whatever num_nodes say"),
        ("submit_time,start_time,end_time,cpu_num,node_num",
         "cpu_num has the vCPUs of a job on all nodes, whatever node_num say"),
        ("StartedOn,CompletedOn,JobName,NumberOfWorkers,x",
         "each job takes 1 vCPU (else say cores=NAME), whatever NumberOfWorkers say"),
    ],
)  # fmt: skip
def test_what_columns_may_mean_otherwise_is_asked(tmp_path: Path, names: str, asked: str) -> None:
    """The first of two was taken, CPU units (1024 of a vCPU) were vCPUs, and nodes left out, all without a word."""
    path = tmp_path / "jobs.csv"
    fourth = 1790000180 if "launched_at" in names else 3
    path.write_text(f"{names}\n1790000000,1790000060,1790000120,{fourth},4\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert f"if {asked}, read it with: " in str(caught.value.hint)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("request_time submit_time end_time", {"submit": "submit_time", "end": "end_time"}),
        ("submit_time total_time end_time", {"submit": "submit_time", "end": "end_time"}),
        ("submit_time total_time_ms", {"submit": "submit_time", "duration": "total_time_ms"}),
        ("submit_time total_time elapsed end", {"submit": "submit_time", "duration": "elapsed"}),
    ],
)
def test_what_may_have_a_wait_in_it_is_taken_where_nothing_else_is(names: str, expected: dict[str, str]) -> None:
    assert job_columns(names.split()) == expected


def test_plan_cpu_is_per_cent_of_a_vcpu_unless_it_is_said_what_it_is(tmp_path: Path) -> None:
    """Named by hand, it was a hundred vCPUs a job without a word."""
    path, options = tmp_path / "jobs.csv", WorkloadOptions(columns="submit=submit,duration=duration,cores=plan_cpu")
    path.write_text("submit,duration,plan_cpu\n0,60,150\n")
    for keys, cores in (({}, 1.5), ({"vcpus_per_core": "2"}, 300), ({"cores_unit": "vcpu"}, 150)):
        found = read_workload(path, options=with_keys(options, keys))
        assert isinstance(found, Jobs)
        assert found.cores.tolist() == [cores]
        assert ("vcpus_per_core" in {one.key for one in found.provenance.modelled}) == (cores != 150)


def test_a_first_row_of_more_than_is_looked_at_still_says_what_its_columns_hold(tmp_path: Path) -> None:
    """Its times were small seconds then, so that those of every row were refused."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit,duration,script\n1790000000,60,{'x' * HEAD_BYTES}\n1790000060,60,y\n")
    found = read_workload(path, options=WorkloadOptions(extra_columns="ignore"))
    assert isinstance(found, Jobs)
    assert found.submit.tolist() == [1_790_000_000, 1_790_000_060]


def test_parts_of_a_column_are_joined_as_they_come(tmp_path: Path) -> None:
    """Half a million small ones left gaps as large as the table when they were joined at its end."""
    sink = Sink((Column("cores"), Column("app", "label")), 1000, str(tmp_path))
    for row in range(300):
        sink.take(pa.record_batch([pa.array([float(row)]), pa.array([f"{row}"]).dictionary_encode()], ["cores", "app"]))
    assert {name: len(parts) for name, parts in sink.parts.items()} == {"cores": 4 + 44, "app": 4 + 44}
    assert sink.numbers("cores").tolist() == sink.codes("app").tolist() == list(range(300))


_HOURS = [f"2026-11-01T{hour}:00:00Z" for hour in (10, 11, 12)]


@pytest.mark.parametrize(
    ("names", "cells", "told"),
    [
        ("time,started,terminated", "{},1.5,2", "the unit of 'started' is unknown"),
        ("time,complete,web", "{},1.5,2", "the unit of 'complete' is unknown"),
        ("time,complete,date", "{},1.5,2", "column 'date' is no machine's use of CPUs by its name"),
        ("time,name,vcpus,launched,terminated", f"{{}},web,4,{_HOURS[0]},{_HOURS[2]}", "unknown column 'launched'"),
        ("LaunchTime,InstanceId,State", "{},i-1,running", "--columns id=InstanceId,submit=LaunchTime,duration=NAME"),
        ("start_time,end_time,plan_cpu", f"{{}},{_HOURS[2]},50", "cores=plan_cpu --set vcpus_per_core=0.01"),
        ("Job;Gestartet am;Dauer (h);Kerne", "{0};{0};1,5;2", "submit=Gestartet am,duration=Dauer (h),cores=Kerne"),
        ("SUBMIT_TIME,FINISH_TIME,NREQ_SLOT", f"{{}},{_HOURS[2]},8", "end=FINISH_TIME,cores=NREQ_SLOT"),
        ("name,time,host,usage_user", "cpu,{},a,1.5", "the machines and their use: --columns timestamp=time"),
    ],
)
def test_columns_are_told_by_what_stands_in_them_too(tmp_path: Path, names: str, cells: str, told: str) -> None:
    """Machines that are called as times are, and one machine's rows, were taken for jobs."""
    path = tmp_path / "table.csv"
    path.write_text(f"{names}\n" + "".join(f"{cells.format(hour)}\n" for hour in _HOURS))
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert told in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("names", "cells", "columns", "unit"),
    [
        ("gpu_num,cpu_num,mem", "1,8,64", {"gpus": "gpu_num", "cores": "cpu_num"}, "GiB"),
        ("num_gpu,num_cpu,memory_request", "1,2,4096", {"gpus": "num_gpu", "cores": "num_cpu"}, "MiB"),
        ("gpu_request,cpu_request,mem", "1,12,120.0", {"gpus": "gpu_request", "cores": "cpu_request"}, "GiB"),
        ("%cpu,cpus,mem", "380.6%,4,16", {"cores": "cpus"}, "GiB"),
        ("%cpu,x,mem", "380.6%,4,16", {}, "GiB"),
    ],
)
def test_sizes_of_jobs_are_found_by_names_of_gpu_clusters_and_memory_by_what_a_vcpu_has(
    tmp_path: Path, names: str, cells: str, columns: dict[str, str], unit: str
) -> None:
    """Jobs with GPUs were some of one vCPU without any, %cpu was vCPUs, and 120 GiB for 12 vCPUs were MiB."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit_time,start_time,complete,{names}\n1790000000,1790000060,1790000120,{cells}\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert isinstance(caught.value.hint, Advice)
    found = called_columns(caught.value.hint.keys["columns"])
    assert found["end"] == "complete"
    assert {mine: found[mine] for mine in ("gpus", "cores") if mine in found} == columns
    assert caught.value.hint.keys["memory_unit"] == unit


@pytest.mark.parametrize("end", ["deleted", "stopped", "terminated", "complete"])
def test_whether_a_machine_was_deleted_is_not_when(end: str, tmp_path: Path) -> None:
    path = tmp_path / "machines.csv"
    path.write_text(f"created_at,{end},cores\n1790000000,true,3\n1790000060,False,4\n")
    with pytest.raises(InputError, match="for which column duration is missing"):
        read_workload(path)
    path.write_text(f"created_at,{end},finished,cores\n1790000000,0,1790000100,3\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert "end is finished" in str(caught.value.hint)


@pytest.mark.parametrize(
    "times", ["created,deleted", "launched,terminated", "launch_time,termination_time", "LaunchDate,TerminationDate",
              "started,stopped"]
)  # fmt: skip
def test_an_inventory_of_machines_is_one_of_jobs_of_which_some_still_run(times: str, tmp_path: Path) -> None:
    """It was said to lack a column of times, or a duration."""
    path = tmp_path / "machines.csv"
    rows = "a,4,16,2026-11-01T00:00Z,2026-11-01T10:00Z,35,3\nb,8,32,2026-11-01T02:00Z,,50,4\n"
    path.write_text(f"name,vcpus,memory_gib,{times},cpu_avg_percent,avg_cpu\n{rows}")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert isinstance(caught.value.hint, Advice)
    assert caught.value.hint.keys["open_ends"] == "run"
    found = read_workload(path, options=caught.value.hint.on(WorkloadOptions()))
    assert isinstance(found, Jobs)
    assert (found.duration.tolist(), found.cores.tolist()) == ([36_000, 28_800], [4, 8])


@pytest.mark.parametrize("start", ["", "start\t"])
def test_the_length_of_a_task_of_nextflow_is_the_one_without_its_wait(start: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    began = "2026-11-01 10:30:00.000\t" if start else ""
    path.write_text(
        f"task_id\tsubmit\t{start}duration\trealtime\tcpus\n1\t2026-11-01 10:00:00.000\t{began}1h 5m\t30m\t4\n"
    )
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert isinstance(caught.value.hint, Advice)
    assert "duration is realtime (else say duration)" in caught.value.hint
    found = read_workload(path, options=caught.value.hint.on(WorkloadOptions()))
    assert isinstance(found, Jobs)
    assert found.duration.tolist() == [1800]


@pytest.mark.parametrize(
    ("columns", "cells", "units"),
    [
        ("vcpus,memory", "2,2048", {"memory_unit": "MiB"}),
        ("cpu,memory", "1024,2048", {"memory_unit": "MiB", "cores_unit": "cpu-units"}),
        ("vcpus,memory", "2,8", {}),
        ("jobArn,vcpus,memoryGiB", "a,2,8", {}),
    ],
)
def test_the_command_that_reads_jobs_of_aws_in_a_table_has_all_that_it_takes(
    columns: str, cells: str, units: dict[str, str], tmp_path: Path
) -> None:
    """Without its column of ARNs, memory was in GiB; then GiB of other systems, and in a column called so, were MiB."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"jobId,createdAt,startedAt,stoppedAt,{columns}\na,1790000000000,,,{cells}\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert isinstance(caught.value.hint, Advice)
    keys = caught.value.hint.keys
    assert {key: keys[key] for key in ("open_ends", "memory_unit", "cores_unit") if key in keys} == {
        "open_ends": "run",
        **units,
    }


@pytest.mark.parametrize("names", ["submitted,started,ended,vcpus,state", "submit,start,end,cores,state"])
def test_jobs_that_ended_before_they_began_are_left_out_by_the_command_that_is_named(
    names: str, tmp_path: Path
) -> None:
    """They ran from their submission to the moment they were cancelled."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"{names}\n0,10,20,1,done\n0,,90,2,cancelled\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    hint = caught.value.hint
    assert isinstance(hint, Advice)
    assert hint.startswith("if jobs without a start never ran (else leave open_ends out), ")
    found = read_workload(path, options=hint.on(WorkloadOptions()))
    assert found.cores.tolist() == [1]


@pytest.mark.parametrize(
    ("start", "end", "took", "unit"),
    [
        ("2026-11-01T00:00:00Z", "2026-11-01T02:00:00Z", "7200000", "ms"),
        ("2026-11-01 00:00:00", "2026-11-01 02:00:00", "120", "min"),
        ("2026-11-01 00:00:00", "2026-11-01 02:00:00", "2.0", "h"),
        ("2026-11-01 00:00:00", "2026-11-01 02:00:00", "7199.5", None),
        ("1790000000000", "1790007200000", "7200", "s"),
        ("1790000000000", "", "7200000", "ms"),
        ("1790000000000", "", "72", "s"),
        ("2026-11-01T00:00:00Z", "", "7200000", "s"),
        ("2026-11-01T00:00:00Z", "", "7200", None),
    ],
)
def test_durations_beside_a_start_and_an_end_have_the_unit_that_fits_these(
    tmp_path: Path, start: str, end: str, took: str, unit: str | None
) -> None:
    """Only times in ms said so: 7,200,000 ms beside dates were read as 83 days."""
    path = tmp_path / "jobs.csv"
    rows = ((start, "", 0), (start, end, took), (start, end, took))  # one that never ran says nothing
    cells = "".join(f"{start},{began},{ended},{ran}\n" for began, ended, ran in rows)
    path.write_text(f"created_at,started_at,ended_at,elapsed\n{start},,,\n{cells}")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert isinstance(caught.value.hint, Advice)
    assert caught.value.hint.keys.get("duration_unit") == unit


@pytest.mark.parametrize("time", ["2026-11-01T08:00:00Z", "1790000000", "1790000000000"])
def test_a_wait_is_not_taken_for_a_time(tmp_path: Path, time: str) -> None:
    """Jobs that were queued for 30 s came in 1970, and waited for 56 years."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"queued,started,took\n30,{time},60\n")
    with pytest.raises(InputError, match="column queued has no times as column started has: '30'"):
        read_workload(path, options=WorkloadOptions(columns="submit=queued,start=started,duration=took"))


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize(
    "time",
    [
        "2026-11-01 10:00:00.5 UTC",
        "2026-11-01T10:00:00.500GMT",
        "2026-11-01 12:00:00,500+02:00",
        "2026/11/01 10:00:00.5 UTC",
        "Sun, 01 Nov 2026 10:00:00.5 GMT",
        "Sun, 01 Nov 2026 04:30:00.5 -0530",
        "01-Nov-2026 10:00:00.5 UTC",
        "Nov 1, 2026, 10:00:00.5 AM UTC",
        "Sun Nov  1 10:00:00.5 UTC 2026",
        "Nov 1 2026 05:00:00.5 EST",
        "2026-11-01 11:00:00.5 +0100 CET",
        "2026-11-01 11:00:00.5 CET",
        "Sun Nov  1 11:00:00.5 2026",
        "Nov  1 11:00:00.5 2026 L",
        "2026/11/01 11:00:00.5",
        "2026.11.01 11:00:00.5",
    ],
)
def test_times_that_can_mean_one_thing_are_read(tmp_path: Path, time: str, form: str) -> None:
    """Those of BigQuery, Spark, logs and mails were refused. Those without a zone are of the one that is said."""
    path = tmp_path / f"jobs.{form}"
    other = time.replace("Nov", "November").replace(":00.5", ":01.5").replace(":00,5", ":01,5")
    rows = [{"submit": time, "duration": 1}, {"submit": other, "duration": 1}]
    path.write_text(json.dumps(rows) if form == "json" else f'submit;duration\n"{time}";1\n{other};1\n')
    assert jobs(path, zone="Europe/Berlin").submit.tolist() == [1793527200.5, 1793527201.5]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("2026-11-01 10:00:00 UTC", "2026-11-01 10:00:00"),
        ("Sun Nov  1 10:00:00 2026", "Sun Nov  1 10:00:00 UTC 2026"),
        ("2026/11/01 10:00", "2026/11/31 10:00"),
        ("Nov 1 2026 10:00:00", "Nob 1 2026 10:00:00"),
        ("Nov 1 2026 10:00:00", "Nov 1 2026 10:00:00 2026"),
    ],
)
def test_a_time_written_otherwise_than_the_first_is_refused(tmp_path: Path, first: str, then: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit,duration\n{first},1\n{then},1\n")
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert [(p.where, p.allowed) for p in caught.value.problems] == [
        ("line 3, column submit", f"a time as the first of the column, '{first}'")
    ]


def test_a_wait_is_not_taken_for_a_time_beside_one_in_letters(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,start,duration\nSun Nov  1 10:00:00 2026,35,1\n")
    with pytest.raises(InputError, match="column start has no times as column submit has"):
        jobs(path)
