"""Demand runs from the starts that a trace states to the ends, in whatever form it comes; a simulation lets jobs come
when they were submitted."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from hcloud.cli.main import run
from hcloud.model.workload import Jobs, WindowRule
from hcloud.planning.forecasting.demand import demand_of, mean_cores, peak_cores
from hcloud.planning.forecasting.window import AskedWindow, restricted, window_of
from hcloud.readers.configuration.config import load_config
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.formats.jobs.jobs_table import NO_START, NO_WAIT
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.store.plan_file import load_plan
from hcloud.usecases.studies.simulation import SimulationRequest, open_study
from hcloud.usecases.workloads.modelled import of_rules
from hcloud.usecases.workloads.sources import Flags, with_flags
from hcloud.usecases.workloads.workload import convert, workload_table
from hcloud.views.workloads.window import window_line

HOUR, DAY = 3600, 86_400
BEGAN = 1_790_812_800  # 2026-10-01
ROWS = [(BEGAN + day * DAY, BEGAN + day * DAY + slot * HOUR, HOUR) for day in range(7) for slot in range(24)]
"""What is submitted each midnight runs an hour after the other: one job of 4 vCPUs at every moment of a week."""


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _csv(header: str, cells: str) -> str:
    lines = [
        cells.format(i=i, s=submit, b=start, e=start + length, d=length, w=start - submit, S=_iso(submit),
                     B=_iso(start), E=_iso(start + length))
        for i, (submit, start, length) in enumerate(ROWS)
    ]  # fmt: skip
    return "\n".join([header, *lines]) + "\n"


FORMS = {
    "sacct.txt": _csv("JobID|Submit|Start|End|AllocCPUS", "{i}|{S}|{B}|{E}|4"),
    "ends.csv": _csv("id,submit,start,end,cores", "{i},{S}Z,{B}Z,{E}Z,4"),
    "lasts.csv": _csv("id,submit,start,duration,cores", "{i},{s},{b},{d},4"),
    "log.swf": _csv("; Version: 2.2", "{i} {s} {w} {d} 4 -1 -1 4 -1 -1 1 1 1 -1 1 -1 -1 -1"),
    "jobcomp.txt": _csv(
        "JobId=x9 SubmitTime=0 StartTime=Unknown EndTime=0",
        "JobId={i} SubmitTime={S} StartTime={B} EndTime={E} NodeCnt=1 ProcCnt=4",
    ),
}
FORMS["jobcomp.txt"] = FORMS["jobcomp.txt"].split("\n", 1)[1]


@pytest.fixture(params=[*FORMS, "jobs.parquet"])
def trace(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / request.param
    if path.suffix == ".parquet":
        submit, start, length = (np.array(column, np.float64) for column in zip(*ROWS, strict=True))
        table = {"submit": submit, "start": start, "end": start + length, "cores": np.full(len(ROWS), 4.0)}
        parquet.write_table(pa.table(table), path)
    else:
        path.write_text(FORMS[request.param], encoding="utf-8")
    return path


def test_demand_runs_from_start_to_end(trace: Path) -> None:
    jobs = read_workload(trace)
    assert isinstance(jobs, Jobs)
    demand = demand_of(jobs, HOUR)
    assert demand.start == BEGAN
    assert demand.cores == pytest.approx(np.full(7 * 24, 4.0))
    assert (peak_cores(jobs), mean_cores(jobs)) == (4.0, 4.0)
    assert not jobs.provenance.modelled or "start" not in {m.column for m in jobs.provenance.modelled}
    window = window_of(jobs)
    assert (window.start, window.end, window.rule) == (BEGAN, BEGAN + 7 * DAY, WindowRule.ARRIVALS)
    assert (
        window_line(window)
        == "7d, up to the last start; jobs count from their start, 11.5h after submission on average"
    )


def test_the_option_begin_counts_from_submission(trace: Path) -> None:
    jobs = read_workload(trace, options=WorkloadOptions(begin="submit"))
    assert isinstance(jobs, Jobs)
    assert jobs.start is None
    assert demand_of(jobs, HOUR).cores.max() == 96.0
    assert [(m.column, m.key) for m in jobs.provenance.modelled if m.column == "start"] == [("start", "begin")]
    assert "last submission" in window_line(window_of(jobs))


def test_jobs_are_converted_with_their_starts(trace: Path, tmp_path: Path) -> None:
    jobs = read_workload(trace)
    target = tmp_path / "again.csv"
    convert(jobs, target)
    assert workload_table(read_workload(target)).equals(workload_table(jobs))
    assert "start" in workload_table(jobs).column_names


def test_a_window_keeps_what_runs_in_it(trace: Path) -> None:
    jobs = read_workload(trace)
    part = restricted(jobs, AskedWindow("second day", BEGAN + DAY + HOUR / 2, BEGAN + 2 * DAY))
    assert isinstance(part, Jobs)
    assert len(part) == 24
    assert float(part.begins.min()) == BEGAN + DAY + HOUR / 2
    assert float(part.ends.max()) == BEGAN + 2 * DAY
    assert (part.begins >= part.submit).all()
    assert peak_cores(part) == 4.0


def test_jobs_come_to_a_simulation_when_they_were_submitted(trace: Path) -> None:
    jobs = read_workload(trace)
    assert isinstance(jobs, Jobs)
    came = jobs.arriving
    assert came.start is None
    assert sorted(set(came.submit.tolist())) == [BEGAN + day * DAY for day in range(7)]


def test_a_job_without_a_start_counts_from_its_submission(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("submit,start,duration\n0,50,100\n10,,100\n", encoding="utf-8")
    jobs = read_workload(path)
    assert isinstance(jobs, Jobs)
    assert jobs.begins.tolist() == [50.0, 10.0]
    assert jobs.provenance.repaired[NO_START] == 1


def test_a_log_whose_waits_are_unknown_names_no_option_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("; Version: 2.2\n1 10 -1 100 4 -1 -1 4 -1 -1 1 1 1 -1 1 -1 -1 -1\n", encoding="utf-8")
    jobs = read_workload(path)
    assert isinstance(jobs, Jobs)
    assert jobs.begins.tolist() == [10.0]
    assert [reason for reason in jobs.provenance.repaired if "start" in reason] == [NO_WAIT]


def test_the_same_jobs_in_another_order_give_the_same_bits(tmp_path: Path) -> None:
    head, *lines = FORMS["lasts.csv"].splitlines()
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    other.write_text("\n".join([head, *reversed(lines)]) + "\n", encoding="utf-8")
    first, second = (demand_of(read_workload(path), 1000) for path in (one, other))
    assert first.cores.tobytes() == second.cores.tobytes()


def test_a_file_whose_jobs_never_waited_says_nothing_of_starts(tmp_path: Path) -> None:
    path = tmp_path / "at_once.csv"
    path.write_text("submit,start,duration\n0,0,100\n10,10,100\n", encoding="utf-8")
    jobs = read_workload(path)
    assert isinstance(jobs, Jobs)
    assert jobs.start is None
    assert window_of(jobs).waited == 0.0


def test_no_study_begins_a_job_when_the_trace_did(trace: Path) -> None:
    loaded = with_flags(load_config(None, {}), Flags(workload=str(trace)))
    study = open_study(loaded, SimulationRequest(), date(2026, 11, 20))
    assert study.jobs.start is None
    assert study.window is not None
    assert study.window.waited == 0.0


@pytest.mark.slow
def test_a_plan_simulates_the_demand_that_it_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace.csv").write_text(FORMS["lasts.csv"], encoding="utf-8")
    plan = tmp_path / "plan.json"
    words = ["plan", str(tmp_path / "trace.csv"), "--provider", "aws", "--family", "m6i", "--vcpus", "4"]
    assert run([*words, "--out", str(plan), "--now", "2026-11-20T12:00:00Z"]) == 0
    found = load_plan(plan)
    assert found.prediction is not None
    assert found.prediction.monthly is not None
    assert float(found.prediction.monthly) == pytest.approx(float(found.after.monthly), rel=0.25), "not twice"
    capsys.readouterr()
    assert run(["simulate", str(plan), "--json", "--now", "2026-11-20T12:00:00Z"]) == 0
    assert f'"kept_qos": {found.prediction.kept_qos}' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("header", "columns", "said"),
    [
        ("id,queued_at,end,cores", "submit=queued_at", "jobs run from queued_at on, waits included"),
        ("id,submit,end,cores", "", "jobs run from submit on, waits included"),
        ("id,queued_at,duration,cores", "submit=queued_at", "jobs begin at queued_at, as if none waited"),
        ("id,submit,duration,cores", "", ""),
        ("id,begin_time,end,cores", "submit=begin_time", ""),
    ],
)
def test_a_table_that_tells_submissions_alone_says_that_jobs_count_from_there(
    tmp_path: Path, header: str, columns: str, said: str
) -> None:
    cells = "{i},{s},{d},4" if "duration" in header else "{i},{s},{e},4"
    (tmp_path / "jobs.csv").write_text(_csv(header, cells), encoding="utf-8")
    jobs = read_workload(tmp_path / "jobs.csv", options=WorkloadOptions(columns=columns))
    warned = [one for one in of_rules(jobs.provenance.modelled) if "start" in one]
    rule = f"{said} (else say start=NAME)"
    assert warned == (
        [f"no column of the workload is read as start; assumed: {rule} (workload.options.columns)"] * bool(said)
    )
