"""Jobs that require something of a machine run on no other, and one that no machine meets is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.model.requirement import Requirement, requirement_of

pytestmark = pytest.mark.usefixtures("coarse_steps")

HEAD = "id,submit,duration,cores,memory,requires\n"
ROWS = "".join(f"{at},{at},500,1,1,{'vcpus>=16' if at % 2 else ''}\n" for at in range(20))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("type=m5.xlarge|c5*", Requirement(("m5.xlarge", "c5*"))),
        ("vcpus>=8 memory>=60.5", Requirement((), 8.0, 60.5)),
        ("server=17|0|17", Requirement(servers=(0, 17))),
        *(
            (wrong, None)
            for wrong in (
                "server=",
                "server=-1",
                "server=a",
                "server=1e3",
                "",
                "type=",
                "type=a||b",
                "vcpus>8",
                "vcpus>=-1",
                "gpu=1",
                "memory>=1e9",
            )
        ),
    ],
)
def test_what_a_text_requires(text: str, found: Requirement | None) -> None:
    assert requirement_of(text) == found


def test_names_are_those_of_the_cloud_and_sizes_are_the_least() -> None:
    one, either = requirement_of("type=Standard_E*"), requirement_of("type=z9|Standard_E4s_v5 vcpus>=4 memory>=32")
    assert one is not None
    assert either is not None
    assert [w.is_met("Standard_E4s_v5", *of) for w, of in ((one, (0, 0)), (either, (4, 32)))] == [True, True]
    assert [either.is_met("Standard_E4s_v5", *of) for of in ((3, 32), (4, 31))] == [False, False]
    assert not one.is_met("standard_e4s_v5", 4, 32)


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
    assert "there are n1-standard-16 (16 vCPU, 60 GiB); allow what it requires (--family" in told
    assert "take the others alone (--set requires=nothing)" in told
    trace.write_text(HEAD + "a,0,10,1,1,gpu=1\n")
    assert run(["simulate", str(trace), "--strategy", "SR"]) == 1
    assert "line 2, column requires" in capsys.readouterr().err


NAMED = "a,0,100,2,2,server=0|3\nb,0,100,2,2,server=2\nc,0,100,12,2,\nd,5,100,8,2,server=1\ne,6,100,9,2,server=1\n"


@pytest.mark.parametrize("placement", ["greedy", "tarcil", "sparrow", "paragon", "tarcil-admission", "two-level"])
def test_jobs_run_on_the_servers_that_they_name(
    placement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, journal = tmp_path / "trace.csv", tmp_path / "run.jsonl"
    trace.write_text(HEAD + NAMED)
    words = (str(trace), "--strategy", "SR", "--pool", "4", "--placement", placement, "--journal", str(journal))
    assert run(["simulate", *words]) == 0
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    where = {one["job"]: one["place"] for one in lines if one.get("decision") == "place"}
    assert where["a"] in ("reserved server 0", "reserved server 3")
    assert where["b"] == "reserved server 2"
    assert where["d"] == where["e"] == "reserved server 1", "e waits until d has ended, though others are free"
    assert run(["explain", "--job", "e", str(journal)]) == 0
    assert "server 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (
            "--strategy SR --pool 2",
            9,
            "trace.csv: job a requires server=2, and no such server is there and large enough: the",
        ),
        ("--strategy SR --pool 4 --size-for 0.9", 64, "trace.csv require certain reserved servers"),
        ("--strategy HM --pool 4", 64, "HM rents servers, and some jobs require certain reserved ones"),
    ],
)
def test_servers_that_are_not_there_are_told(
    words: str, code: int, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trace.csv").write_text(HEAD + "a,0,100,2,2,server=2\n")
    assert run(["simulate", str(tmp_path / "trace.csv"), *words.split()]) == code
    assert why in " ".join(capsys.readouterr().err.split())


def test_a_plan_of_such_jobs_is_made_and_says_that_it_was_not_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trace.csv").write_text(HEAD + "".join(f"{at},{at * 60},100,2,2,server=2\n" for at in range(90)))
    assert run(["plan", str(tmp_path / "trace.csv"), "--now", "2026-08-01"]) == 0
    assert "this fleet was not simulated: some jobs require certain reserved servers" in " ".join(
        capsys.readouterr().out.split()
    )
