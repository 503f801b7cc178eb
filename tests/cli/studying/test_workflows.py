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
