"""``hcloud workload`` from the command line: what is printed, written and returned."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from hcloud.cli.main import run
from hcloud.model.workload import Demand, Jobs
from hcloud.planning.forecasting.following import waits_of
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions

CASES = Path(__file__).parent.parent.parent / "cases" / "workloads"
NOW = ("--now", "2026-11-20T12:00:00Z")


def test_show_prints_figures_treatment_and_the_curve(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", str(CASES / "jobs.csv")]) == 0
    out = capsys.readouterr().out
    for text in (
        "rows read",
        "zero duration",
        "memory_per_core",
        "16 mean, 30 peak (means of 5min); 30 at one moment",
        "vCPUs in use",
        "█",
    ):
        assert text in out


@pytest.mark.slow
@pytest.mark.parametrize("width", ["30", "60", "200"])
def test_show_fits_the_width(width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert run(["workload", "show", "scenario:static"]) == 0
    assert max(len(line) for line in capsys.readouterr().out.split("\n")) <= int(width)


@pytest.mark.slow
def test_json_is_reproducible_to_the_byte(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["workload", "show", "scenario:high-variability", "-o", "json", "--seed", "4", *NOW]
    assert run(words) == 0
    first = capsys.readouterr().out
    assert run(words) == 0
    assert capsys.readouterr().out == first
    document = json.loads(first)
    assert (document["format_version"], document["generated_at"]) == ("1.0", "2026-11-20T12:00:00Z")
    assert document["figures"]["peak_at_once_cores"] > 1200
    assert len(document["demand"]["cores"]) == len(document["demand"]["batch_cores"])


def test_validate_reports_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("submit,duration\n0,1\n1,nan\n2,-1\n")
    good = str(CASES / "hadoop.tsv")
    assert run(["workload", "validate", good]) == 0
    capsys.readouterr()
    assert run(["workload", "validate", str(bad), good]) == 1
    out = capsys.readouterr().out
    assert "line 3, column duration: 'nan'" in out
    assert "line 4, column duration: '-1'" in out
    assert "swim, 3 rows" in out
    assert run(["workload", "validate", str(bad), good, "--json", *NOW]) == 1
    files = json.loads(capsys.readouterr().out)["files"]
    assert [f["usable"] for f in files] == [False, True]
    assert files[0]["problems"][0]["where"] == "line 3, column duration"


def test_validate_names_what_is_modelled(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "validate", str(CASES / "hadoop.tsv"), str(CASES / "demand.csv")]) == 0
    modelled, whole = capsys.readouterr().out.splitlines()
    assert "; modelled: cores, duration, memory" in modelled
    assert "memory_per_core" in modelled.partition("(keys ")[2]
    assert "modelled" not in whole


def test_help_names_every_format_and_key(capsys: pytest.CaptureFixture[str]) -> None:
    from hcloud.readers.workloads.formats import FORMATS

    for verb in ([], ["show"], ["validate"], ["convert"]):
        assert run(["workload", *verb, "--help"]) == 0
        shown = capsys.readouterr().out.replace("│", " ").split()
        assert "docs/reference/formats.md" in shown
        assert {f"{name}," for name in list(FORMATS)[:-1]} <= set(shown)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("source", ["jobs.csv", "hadoop.tsv", "machine.swf", "scenario:low-variability"])
def test_converted_jobs_are_the_same_jobs(tmp_path: Path, source: str, suffix: str) -> None:
    name = source if source.startswith("scenario:") else str(CASES / source)
    target = tmp_path / f"out{suffix}"
    assert run(["-q", "workload", "convert", name, "--to", str(target)]) == 0
    again = tmp_path / f"again{suffix}"
    assert run(["-q", "workload", "convert", str(target), "--to", str(again)]) == 0
    assert target.read_bytes() == again.read_bytes()
    jobs = read_workload(target)
    assert isinstance(jobs, Jobs)
    assert not jobs.provenance.modelled
    assert not jobs.provenance.repaired


STATED = """id,submit,duration,cores,memory,divisible,causes,tolerates,requires,servers,urgent,after
a,0,60,8,16,no,1 2 3 4 5 6 7 8 9 10,,"type=m5.xlarge|c5* memory>=60",,yes,
b,5,60,8,16,,,90 90 90 90 90 90 90 90 90 99,,4,,a
"c,d",9,60,2,4,yes,,,vcpus>=8,1,no,
"""


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_all_that_jobs_state_is_converted(tmp_path: Path, suffix: str) -> None:
    source, target = tmp_path / "stated.csv", tmp_path / f"out{suffix}"
    source.write_text(STATED)
    assert run(["-q", "workload", "convert", str(source), "--to", str(target)]) == 0
    first, again = read_workload(source), read_workload(target)
    assert isinstance(first, Jobs)
    assert isinstance(again, Jobs)
    for name in {column.name for column in fields(Jobs)} - {"provenance", "serial", "after"}:
        mine, theirs = (getattr(jobs, name) for jobs in (first, again))
        assert np.array_equal(np.asarray(mine), np.asarray(theirs)), name
    assert waits_of(first).tolist() == waits_of(again).tolist()


@pytest.mark.parametrize(("scenario", "is_said"), [("local-40", True), ("static", False)])
def test_who_converts_is_told_what_has_no_column(
    tmp_path: Path, scenario: str, is_said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["workload", "convert", f"scenario:{scenario}", "--to", str(tmp_path / "out.csv")]) == 0
    assert ("what is known of applications is not in the file" in capsys.readouterr().err) == is_said


def test_converted_series_keep_every_column(tmp_path: Path) -> None:
    eight = ("--set", "series_cores=8")
    target = tmp_path / "out.csv"
    assert run(["-q", "workload", "convert", str(CASES / "cpu_of_one_machine.csv"), "--to", str(target), *eight]) == 0
    options = WorkloadOptions(series_cores=8.0)
    first, second = read_workload(CASES / "cpu_of_one_machine.csv", options=options), read_workload(target)
    assert isinstance(first, Demand)
    assert isinstance(second, Demand)
    assert (first.start, first.step_seconds) == (second.start, second.step_seconds)
    for name in ("cores", "memory", "batch_cores"):
        assert getattr(first, name).tolist() == getattr(second, name).tolist()


def test_labels_with_delimiters_survive(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text('submit,duration,app\n0,1,"a,b"\n1,1,"say ""c"""\n2,1,=cmd|x\n')
    target = tmp_path / "out.csv"
    assert run(["-q", "workload", "convert", str(source), "--to", str(target)]) == 0
    jobs = read_workload(target)
    assert isinstance(jobs, Jobs)
    assert jobs.apps == ("a,b", 'say "c"', "=cmd|x")


@pytest.mark.slow
def test_what_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.csv"
    target.write_text("mine")
    words = ["workload", "convert", "scenario:static", "--to", str(target)]
    assert run(words) == 1
    assert target.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert run([*words, "--force"]) == 0
    assert target.read_text() != "mine"
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "elsewhere.csv")
    assert run(["workload", "convert", "scenario:static", "--to", str(link), "--force"]) == 1
    assert not (tmp_path / "elsewhere.csv").exists()
    assert run(["workload", "convert", "scenario:static", "--to", str(tmp_path / "no" / "x.csv")]) == 64


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["show", "scenario:hgh"], "is not a scenario"),
        (["show", "scenario:static", "--step", "5"], "is not a duration"),
        (["show", "x.csv", "--set", "cores"], "write KEY=VALUE"),
        (["show", "x.csv", "--set", "default_core=1"], "did you mean default_cores?"),
        (["show", "x.csv", "--format", "swif"], "did you mean swf"),
        (["show", "scenario:static", "--out", "x.pdf"], ".png, .svg or .html"),
        (["convert", "scenario:static", "--to", "x.xlsx"], ".csv or .parquet"),
        (["show", "scenario:static", "--now", "soon"], "not an ISO 8601 time"),
    ],
)
def test_usage_errors(
    words: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["workload", *words]) == 64
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.out == ""
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", "no-such.csv"]) == 1
    assert "no-such.csv: no such workload" in capsys.readouterr().err


def test_pictures_are_drawn(tmp_path: Path) -> None:
    for suffix in ("png", "svg", "html"):
        target = tmp_path / f"demand.{suffix}"
        assert run(["-q", "workload", "show", str(CASES / "demand.csv"), "--out", str(target)]) == 0
        assert target.stat().st_size > 2000
