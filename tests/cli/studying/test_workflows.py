"""Traces in which jobs wait for the end of others: what is read, what is shown, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hcloud.cli.main import run

HEAD = "id,submit,duration,cores,after\n"
NOW = ("--now", "2026-11-20T12:00:00Z")


def test_a_workflow_is_shown_and_its_jobs_come_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, journal = tmp_path / "trace.csv", tmp_path / "run.jsonl"
    trace.write_text(HEAD + "c,0,30,2,a b\na,0,100,2,\nb,0,50,2,\nd,500,20,2,c\nz,0,10,2,\n")
    words = ("simulate", str(trace), "--strategy", "SR", "--pool", "2")
    assert run([*words, "--journal", str(journal)]) == 0
    assert "jobs that wait for each other" in capsys.readouterr().out
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    came = {one["job"]: one["submitted"] for one in lines if one.get("event") == "arrival"}
    ended = {one["job"]: one["at"] for one in lines if one.get("event") == "completion"}
    assert came["c"] == ended["a"] > ended["b"]
    assert came["d"] == 500.0
    capsys.readouterr()
    assert run([*words, "--json", *NOW]) == 0
    (only,) = json.loads(capsys.readouterr().out)["strategies"]
    assert only["runs"][0]["workflows"]["workflows"] == 1
    assert only["runs"][0]["workflows"]["jobs_that_never_came"] == 0


def test_demand_begins_when_those_before_have_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At no moment more than one of a chain runs, though all were submitted at once."""
    trace = tmp_path / "trace.csv"
    trace.write_text(HEAD + "a,0,3600,8,\nb,0,3600,8,a\nc,0,3600,8,b\n")
    assert run(["workload", "show", str(trace), "--json", *NOW]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "of 2 jobs that wait for others" in json.dumps(told)
    assert run(["workload", "convert", str(trace), "--out", str(tmp_path / "made.csv")]) == 0
    made = (tmp_path / "made.csv").read_text().splitlines()
    assert made[0].replace(chr(34), "").startswith("id,after,submit,")
    assert [line.split(",")[:3] for line in made[1:]] == [["a", "", "0"], ["b", "a", "3600"], ["c", "b", "7200"]]


@pytest.mark.parametrize(
    ("rows", "whys"),
    [
        (
            "a,0,1,2,x b\nb,0,5,2,c\nc,0,3,2,a\nd,0,2,2,d\n",
            (
                "3 problems",
                "line 2, column after: 'b' (jobs that do not wait for this one: a waits for b for c for a)",
                "line 2, column after: 'x' (ids of jobs of this file, apart by spaces",
                "line 5, column after: 'd' (other jobs: this one would wait for itself)",
            ),
        ),
        ("a,0,1,-2,\nb,0,5,2,zz\n", ("2 problems", "line 2, column cores: '-2'", "line 3, column after: 'zz'")),
    ],
)
def test_what_nobody_can_wait_for_is_told_together(
    rows: str, whys: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trace.csv").write_text(HEAD + rows)
    assert run(["simulate", str(tmp_path / "trace.csv")]) == 1
    told = " ".join(capsys.readouterr().err.split())
    for why in whys:
        assert why in told


def test_parquet_and_files_without_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.parquet"
    columns = {"id": ["a", "b"], "submit": [0.0, 0.0], "duration": [5.0, 6.0], "after": [None, "zz"]}
    pq.write_table(pa.table(columns), trace)
    assert run(["workload", "show", str(trace)]) == 1
    assert "row 2, column after: 'zz' (ids of jobs of this file" in " ".join(capsys.readouterr().err.split())
    (tmp_path / "trace.csv").write_text("submit,duration,after\n0,5,a\n")
    assert run(["workload", "show", str(tmp_path / "trace.csv")]) == 1
    assert "column after: needs a column id" in " ".join(capsys.readouterr().err.split())


def _swf(*jobs: str) -> str:
    return "".join(f"{job.replace('=', ' -1 -1 8 -1 -1 1 1 1 1 1 -1 ')}\n" for job in jobs)


def test_jobs_of_swf_come_after_their_preceding_job_and_think_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fields 17 and 18; in a run the think time counts from when the preceding job did end, which here waits."""
    trace, journal = tmp_path / "log.swf", tmp_path / "run.jsonl"
    trace.write_text(_swf("1 0 -1 600 12=-1 -1", "2 50 -1 300 12=-1 -1", "3 70 -1 100 8=2 60", "4 90 -1 50 8=3 -1"))
    assert run(["workload", "convert", str(trace), "--out", str(tmp_path / "made.csv")]) == 0
    made = [line.split(",")[:5] for line in (tmp_path / "made.csv").read_text().splitlines()[1:]]
    assert made[2:] == [["3", "2", "60", "410", "100"], ["4", "3", "0", "510", "50"]]
    for read in (trace, tmp_path / "made.csv"):
        words = ("simulate", str(read), "--strategy", "SR", "--pool", "1")
        assert run([*words, "--journal", str(journal)]) == 0
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        came = {one["job"]: one["submitted"] for one in lines if one.get("event") == "arrival"}
        ended = {one["job"]: one["at"] for one in lines if one.get("event") == "completion"}
        assert ended["2"] > 900, "it waited for the only server"
        assert (came["3"], came["4"]) == (ended["2"] + 60, ended["3"])
        journal.unlink()


def test_what_a_job_of_swf_cannot_have_waited_for_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not in the file, itself, a later one, or one that by the record still ran; a left out one waits in turn."""
    trace = tmp_path / "log.swf"
    jobs = ("1 0 10 600 8=-1 -1", "2 20 5 50 8=1 -1", "3 30 -1 50 8=99 -1", "4 40 -1 -1 8=1 -1", "5 50 -1 50 8=4 -1")
    trace.write_text(
        _swf(
            *jobs,
            "6 60 -1 50 8=6 -1",
            "7 70 -1 50 8=8 -1",
            "8 80 540 50 8=1 -1",
            "9 90 -1 600 8=1 -1",
            "10 95 5 50 8=9 -1",
        )
    )
    assert run(["workload", "show", str(trace), "--json", *NOW]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {why: n for why, n in told["workload"]["repaired"].items() if "preceding" in why} == {
        "preceding job (field 17) is no earlier job of the file: not waited for": 3,
        "began before the end of its preceding job and its think time (fields 17, 18): not waited for": 1,
    }
    (rule,) = (one["rule"] for one in told["workload"]["modelled"] if one["column"] == "submit")
    assert rule.startswith("of 4 jobs that wait for others")
    assert run(["workload", "convert", str(trace), "--out", str(tmp_path / "made.csv")]) == 0
    lines = (tmp_path / "made.csv").read_text().splitlines()
    assert next(line for line in lines if line.startswith("10,9,")).split(",")[2:4] == ["100", "100"], "it had begun"
