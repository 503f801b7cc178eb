"""Jobs that require something of a machine run on no other, and one that no machine meets is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.model.requirement import Requirement, requirement_of

HEAD = "id,submit,duration,cores,memory,requires\n"
ROWS = "".join(f"{at},{at},500,1,1,{'vcpus>=16' if at % 2 else ''}\n" for at in range(20))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("type=m5.xlarge|c5*", Requirement(("m5.xlarge", "c5*"))),
        ("vcpus>=8 memory>=60.5", Requirement((), 8.0, 60.5)),
        *((wrong, None) for wrong in ("", "type=", "type=a||b", "vcpus>8", "vcpus>=-1", "gpu=1", "memory>=1e9")),
    ],
)
def test_what_a_text_requires(text: str, found: Requirement | None) -> None:
    assert requirement_of(text) == found


@pytest.mark.parametrize("placement", ["greedy", "tarcil", "paragon", "least-loaded", "random"])
def test_jobs_run_where_they_may(placement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, journal = tmp_path / "trace.csv", tmp_path / "run.jsonl"
    trace.write_text(HEAD + ROWS)
    words = (str(trace), "--strategy", "OdM", "--placement", placement, "--journal", str(journal))
    assert run(["simulate", *words]) == 0
    capsys.readouterr()
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    placed = [entry for entry in lines if entry.get("decision") in ("place", "launch")]
    for entry in placed:
        if int(entry["job"]) % 2:
            assert entry["place"].endswith(("-16", "-32", "-64", "-96")), entry
    assert {int(entry["job"]) for entry in placed} == set(range(20))
    assert len({entry["place"] for entry in placed}) > 1


def test_a_job_that_no_machine_meets_is_refused_with_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(HEAD + "a,0,10,1,1,type=z9*\n")
    assert run(["simulate", str(trace), "--strategy", "SR"]) == 9
    told = " ".join(capsys.readouterr().err.split())
    assert "job a (1 vCPU, 1 GiB, type=z9*) fits no type that may be rented" in told
    assert "there are n1-standard-16 (16 vCPU, 60 GiB)" in told
    trace.write_text(HEAD + "a,0,10,1,1,gpu=1\n")
    assert run(["simulate", str(trace), "--strategy", "SR"]) == 1
    assert "line 2, column requires" in capsys.readouterr().err
