"""Jobs on several servers from the command line: run with real processes; what is wrong with ``servers``, said once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hcloud.cli import main
from hcloud.model.running.event import Arrival
from hcloud.profiling.local.machines import ProcessHost
from hcloud.readers.bundle import bundled
from hcloud.store.journals.journal import read_journal

WHOLE = "a whole number from 1 to"
BAD = ("0", "-1", "two", "1.5", "20001")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    running = tmp_path / ".hcloud" / "local" / "running"
    host = ProcessHost(running)
    host.end({p.name for p in running.glob("*")} | host.alive())


def write(header: str, rows: list[str]) -> None:
    Path("jobs.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="machines are processes of Linux")
def test_two_agents_as_processes_place_real_pieces(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pieces know their place, begin when both are there, and are proposed together by one agent."""
    text = (bundled("policies") / "placements" / "tarcil.yaml").read_text(encoding="utf-8")
    three = "agents:\n      value: 3\n"
    assert three in text
    Path("two.yaml").write_text(text.replace(three, three.replace("3", "2")), encoding="utf-8")
    command = (
        "sh -c 'echo $HCLOUD_PIECE of $HCLOUD_PIECES >> ledger; while [ $(wc -l < ledger) -lt 2 ]; do sleep 0.1; done'"
    )
    write("id,command,cores,memory,servers", [f'both,"{command}",1,64Mi,2', "one,true,0.5,32Mi,"])
    words = ["operate", "run", "jobs.csv", "--plain", "--no-probe", "--strategy", "SR", "--placement", "two.yaml"]
    assert main.run([*words, "--pool", "1"]) == 0, capsys.readouterr()
    assert "jobs: 2 completed" in capsys.readouterr().out
    assert sorted(Path("ledger").read_text().splitlines()) == ["1 of 2", "2 of 2"]
    events = read_journal(here / ".hcloud" / "operate" / "journal.jsonl").events
    first, last = [e for e in events if isinstance(e, Arrival) and e.pieces == 2]
    assert (first.agent, first.ranked) == (None, ())
    assert last.agent in (0, 1)
    assert last.ranked == (0,)


def test_all_bad_servers_of_a_file_of_jobs_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("id,command,cores,servers", [*(f"j{n},true,1,{value}" for n, value in enumerate(BAD)), "big,true,64,64"])
    assert main.run(["operate", "run", "jobs.csv", "--strategy", "SR", "--pool", "1"]) == 1
    told = capsys.readouterr().err
    assert "jobs.csv: 6 problems in the file of jobs" in told
    for line, value in enumerate(BAD, 2):
        assert f"jobs.csv: line {line}, servers: '{value}' ({WHOLE} 10,000)" in told
    assert "line 7, servers: '64' (pieces that begin together; 1 reserved server hold" in told
    assert not Path(".hcloud/operate/journal.jsonl").exists()


def test_all_bad_servers_of_a_trace_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("submit,duration,cores,memory,servers", [f"{n},60,2,1,{value}" for n, value in enumerate(BAD)])
    assert main.run(["simulate", "jobs.csv", "--strategy", "SR", "--placement", "tarcil"]) == 1
    told = capsys.readouterr().err
    assert "jobs.csv: 5 problems" in told
    for line, value in enumerate(BAD, 2):
        assert f"line {line}, column servers: '{value}' ({WHOLE} 10000)" in told


@pytest.mark.parametrize("placement", ["greedy", "tarcil"])
def test_pieces_that_the_reserve_never_holds_at_once_are_refused(
    placement: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("id,submit,duration,cores,memory,servers", ["ok,0,60,16,8,2", "wide,5,60,80,8,5"])
    words = ["simulate", "jobs.csv", "--strategy", "SR", "--placement", placement, "--pool", "2"]
    assert main.run(words) != 0
    told = " ".join(capsys.readouterr().err.split())
    assert "job wide runs on 5 servers at once (" in told
    assert "2 reserved servers together never hold that" in told
    assert "--pool" in told
