"""``hcloud operate`` on this machine with real processes: judged by what the jobs wrote, and by what is left."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import pytest
from waiting import PATIENCE, until

from hcloud.cli import main
from hcloud.model.running.event import UNKNOWN, Arrival, Closing
from hcloud.profiling.local.machines import ProcessHost
from hcloud.readers.bundle import bundled
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.live.decide import replay
from hcloud.usecases.live.operate_requests import Requests, lock_of_work
from hcloud.usecases.live.operating import asking as operate_asking

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="machines are processes of Linux"),
    pytest.mark.usefixtures("quick_starts"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    host = ProcessHost(tmp_path / ".hcloud" / "local" / "running")
    host.end({p.name for p in (tmp_path / ".hcloud" / "local" / "running").glob("*")} | host.alive())


def jobs(rows: dict[str, tuple[float, float]], more: str = "") -> None:
    """A job file; each job notes in a ledger when it begins and when it ends. Rows: submit and seconds by id."""
    lines = ["id,submit,command,cores,memory,restartable"]
    for name, (submit, seconds) in rows.items():
        command = f"sh -c 'echo begin {name} >> ledger; sleep {seconds}; echo end {name} >> ledger'"
        lines.append(f'{name},{submit},"{command}",0.5,32Mi,no')
    Path("jobs.csv").write_text("\n".join(lines) + "\n" + more)


def ledger() -> Counter[str]:
    path = Path("ledger")
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def left() -> frozenset[str]:
    """The machines of which anything still runs."""
    return ProcessHost(Path(".hcloud") / "local" / "running").alive()


def controller(*words: str) -> subprocess.Popen[str]:
    """A controller in a process of its own."""
    command = [sys.executable, "-m", "hcloud", "operate", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


RUN = ("run", "jobs.csv", "--plain", "--no-probe", "--pool", "1")


def test_jobs_run_where_it_is_decided_and_nothing_is_left(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs(
        {"a": (0, 0.2), "b": (0, 0.2), "c": (0.2, 0.1)},
        "d,0,nosuchcommand,0.5,32Mi,no\ne,0,\"sh -c 'exit 3'\",0.5,32Mi,no\n",
    )
    assert main.run(["operate", *RUN]) == 1, "two of the jobs fail"
    told = capsys.readouterr().out
    assert "jobs: 3 completed, 2 failed" in told
    assert "job d failed: exit code 127: there is no such command" in told
    assert "job e failed: exit code 3" in told
    assert "none still running" in told
    assert ledger() == Counter({f"{what} {name}": 1 for what in ("begin", "end") for name in "abc"})
    assert not left()
    assert main.run(["operate", "status", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["results"] == {"completed": 3, "failed": 2}
    assert {j["id"]: j["code"] for j in document["jobs"]} == {"a": 0, "b": 0, "c": 0, "d": 127, "e": 3}
    assert main.run(["operate", "explain", "--job", "a"]) == 0
    assert "reserved server 0" in capsys.readouterr().out
    kept = read_journal(here / ".hcloud" / "operate" / "journal.jsonl")
    assert not any(isinstance(event, Closing) for event in kept.events), (
        "what the loop itself ends is not closed before"
    )


def test_lines_for_programs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs({"a": (0, 0.1)})
    assert main.run(["operate", *RUN, "--json"]) == 0
    first, *_, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["decision"], first["job"], first["place"]) == ("place", "a", "reserved server 0")
    assert last["results"] == {"completed": 1}


def test_a_controller_that_is_killed_is_taken_up(here: Path) -> None:
    """Twelve jobs; the controller is killed six times at any moment."""
    names = [f"j{n}" for n in range(12)]
    jobs({name: (0.5 * n, 0.6) for n, name in enumerate(names)})
    chance = random.Random(7)
    for _ in range(6):
        running = controller(*RUN)
        time.sleep(chance.uniform(0.5, 1.6))
        running.send_signal(signal.SIGKILL)
        running.communicate()
    assert main.run(["operate", *RUN]) == 0
    assert ledger() == Counter({f"{what} {name}": 1 for what in ("begin", "end") for name in names})
    assert not left()


def test_two_controllers_and_a_stop(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs({"a": (0, 300), "b": (0, 300)})
    running = controller(*RUN)
    until(lambda: ledger().total() == 2 or running.poll() is not None)
    assert running.poll() is None, running.communicate()
    assert main.run(["operate", *RUN]) == 5
    told = " ".join(capsys.readouterr().err.split())
    assert "is locked" in told
    assert "'hcloud operate stop' ends it" in told
    assert main.run(["operate", "cancel", "bb"]) == 64
    assert "job bb is not known; did you mean b?; nothing was cancelled" in capsys.readouterr().err
    assert main.run(["operate", "cancel", "nobody", "--ahead"]) == 0
    assert "not submitted yet" in capsys.readouterr().err
    assert main.run(["operate", "cancel", "a"]) == 0
    assert main.run(["operate", "stop"]) == 0
    out, err = running.communicate(timeout=PATIENCE)
    assert "2 cancelled" in out, (out, err)
    assert not left()
    assert ledger() == Counter({"begin a": 1, "begin b": 1})


def test_a_keeper_that_hangs_cannot_keep_machines_from_being_ended_by_force(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs({"a": (0, 300)})
    running = controller(*RUN)
    until(ledger)
    mine = str(here / ".hcloud" / "operate" / "machines").encode()
    keepers = [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/cmdline") if mine in p.read_bytes()]
    assert keepers
    for pid in keepers:
        os.kill(pid, signal.SIGSTOP)
    assert main.run(["operate", "stop", "--no-wait"]) == 0
    time.sleep(1.0)
    assert running.poll() is None, "it cannot say that its job ended"
    assert main.run(["operate", "stop", "--force"]) == 0
    assert "stop --force: the controller has it" in capsys.readouterr().err
    out, err = running.communicate(timeout=PATIENCE)
    assert "none still running" in out, (out, err)
    assert not left()
    assert ledger() == Counter({"begin a": 1})


def test_leaving_and_stopping_without_a_controller(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs({"a": (0, 60)})
    running = controller(*RUN)
    until(ledger)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "left as they are" in err
    assert left()
    assert main.run(["operate", "status"]) == 0
    assert "no controller works now" in capsys.readouterr().out
    assert main.run(["operate", "stop"]) == 0
    assert not left()


def test_a_stop_goes_on_where_the_controller_dies_before_all_has_ended(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with exit code 0 while machines stood: nobody ended them."""
    jobs({"a": (0, 300)})
    running = controller(*RUN)
    until(lambda: ledger() and '"beginning"' in Path(".hcloud/operate/journal.jsonl").read_text(encoding="utf-8"))

    def dies(_place: str, seconds: float = 0.0) -> bool:
        if not seconds:
            running.kill()
            running.communicate()
        return not seconds

    monkeypatch.setattr(operate_asking, "ask", lambda place, what: f"{what}: saved")
    monkeypatch.setattr(operate_asking, "works_no_more", dies)
    assert main.run(["operate", "stop"]) == 0
    told = capsys.readouterr()
    assert "waits for 1 job that did not end yet: a; 'hcloud operate stop --force'" in told.err
    assert "the controller left before that was done" in told.err
    assert "none still running" in told.out
    assert not left()


def test_stopping_what_is_over_changes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["operate", "stop"]) == 64
    assert main.run(["operate", "run"]) == 64
    jobs({"a": (0, 0.1)})
    assert main.run(["operate", *RUN]) == 0
    before = Path(".hcloud/operate/journal.jsonl").read_bytes()
    capsys.readouterr()
    assert main.run(["operate", "stop"]) == 0
    assert main.run(["operate", "drain"]) == 0
    told = capsys.readouterr()
    assert "jobs: 1 completed" in told.out
    assert "1 machine launched" in told.out
    assert "no work is running there" in " ".join(told.err.split())
    assert main.run(["operate", "run"]) == 64
    assert main.run(["operate", "run", "nosuch.csv"]) == 1
    Path("jobs.csv").write_text("id,command\na,true\n")
    assert main.run(["operate", "run", "jobs.csv", "--pool", "5000"]) == 64
    assert "the reserve needs" in capsys.readouterr().err
    assert Path(".hcloud/operate/journal.jsonl").read_bytes() == before


def test_a_damaged_journal_says_how_to_end_its_machines(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs({"a": (0, 0.1)})
    assert main.run(["operate", *RUN]) == 0
    journal = Path(".hcloud/operate/journal.jsonl")
    first, second, *others = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([first, "x" + second, *others]))
    lineage = json.loads(first)["live"]["lineage"]
    for words in (RUN, ("status",), ("stop",)):
        assert main.run(["operate", *words]) == 1
        told = " ".join(capsys.readouterr().err.split())
        assert "line 2 is damaged" in told
        assert f"hcloud gc --cloud local --lineage {lineage} --delete" in told


def test_a_request_outlasts_the_controller_that_read_it_and_was_killed(tmp_path: Path) -> None:
    path = Requests(tmp_path).put("cancel", "a")
    killed, second = Requests(tmp_path), Requests(tmp_path)
    assert [asked.job for asked in killed.new()] == ["a"]
    assert [asked.job for asked in second.new()] == ["a"]
    assert path.exists(), "it is not noted yet"
    assert not second.new()
    assert not path.exists()


def test_a_request_that_cannot_be_removed_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that was mounted read-only ended the controller, and its machines went on to cost money."""
    path, there = Requests(tmp_path).put("cancel", "a"), Requests(tmp_path)

    def read_only(*given: object, **more: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "unlink", read_only)
    assert [len(there.new()) for _ in range(3)] == [1, 0, 0]
    monkeypatch.undo()
    assert not there.new()
    assert not path.exists()


@pytest.mark.parametrize("looks", ["scandir", "open"])
def test_a_request_that_cannot_be_read_for_a_time_is_told_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: str
) -> None:
    """A file server that is away for a moment ended the controller, or took the request for none and removed it."""
    path, there = Requests(tmp_path).put("stop"), Requests(tmp_path)

    def stale(*given: object, **more: object) -> None:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    with monkeypatch.context() as patched:
        patched.setattr(*((os, "scandir") if looks == "scandir" else (io, "open")), stale)
        assert [list(there.new()) for _ in range(2)] == [[], []]
    assert path.exists()
    assert [asked.what for asked in there.new()] == ["stop"]
    assert not there.new()
    assert not path.exists()


FULL = """import resource, sys
from pathlib import Path
from hcloud.usecases.live.operate_requests import Requests
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
asked = Requests(Path(sys.argv[1]))
asked.put("stop")
asked.put("cancel", "a.b/c,d")
"""


def test_a_disk_that_takes_no_bytes_keeps_nobody_from_asking(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], check=False).returncode == 0
    there = Requests(tmp_path)
    assert sorted((asked.what, asked.job) for asked in there.new()) == [("cancel", "a.b/c,d"), ("stop", "")]
    assert not there.new()
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".asked"]


def _has_begun(name: str) -> bool:
    return f"begin {name}" in ledger()


def interrupted(until_it: Callable[[], bool], *words: str, by: int = signal.SIGINT) -> None:
    """Live work that somebody left."""
    running = controller(*words)
    until(lambda: until_it() or running.poll() is not None)
    running.send_signal(by)
    running.communicate(timeout=PATIENCE)


@pytest.mark.slow
def test_who_stops_reading_is_told_what_is_left(here: Path) -> None:
    jobs({"a": (0, 1.5), "b": (0.3, 0.1), "c": (0.6, 0.1)})
    running = controller(*RUN)
    assert running.stdout is not None
    assert running.stderr is not None
    assert "job a" in running.stdout.readline()
    running.stdout.close()
    assert "left as they are: 'hcloud operate run' continues" in running.stderr.read()
    assert running.wait(PATIENCE) == 141
    running.stderr.close()
    assert main.run(["operate", *RUN]) == 0


class Full(io.StringIO):
    """A stream on a disk that has no room."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_who_writes_to_a_full_disk_is_told_what_is_left(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Machines went on costing money, and nobody was told of them."""
    jobs({"a": (0, 0.1)})
    with redirect_stdout(Full()):
        assert main.run(["operate", *RUN]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "left as they are: 'hcloud operate run' continues" in told
    assert "the result cannot be used: no space left on device" in told


@pytest.mark.slow
def test_jobs_of_another_file_are_not_taken_for_those_of_the_same_name(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs({"a": (0, 1.5)})
    interrupted(lambda: bool(ledger()), *RUN)
    jobs({"a": (0, 0.3), "b": (0, 0.1)})
    assert main.run(["operate", *RUN]) == 64
    assert "has jobs with the same ids that differ: a in command" in " ".join(capsys.readouterr().err.split())
    jobs({"a": (0, 1.5), "b": (0, 0.1)})
    assert main.run(["operate", *RUN]) == 0
    assert ledger() == Counter({"begin a": 1, "end a": 1, "begin b": 1, "end b": 1})


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["run", "drain"])
def test_jobs_that_are_due_later_are_not_forgotten_by_who_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    """Their file need not be named again, nor what its columns are called."""
    late = 60.0 if verb == "drain" else 4.0
    jobs({"a": (0, 1.5), "late": (late, 0.1)})
    text = Path("jobs.csv").read_text()
    Path("jobs.csv").write_text(text.replace("id,submit", "Task,Planned for", 1))
    interrupted(lambda: bool(ledger()), *RUN, "--columns", "id=Task,submit=Planned for")
    words = ("--plain", "--no-probe") if verb == "run" else ()
    assert main.run(["operate", verb, *words]) == 0
    begun = {"begin a": 1, "end a": 1}
    if verb == "run":
        assert ledger() == Counter({**begun, "begin late": 1, "end late": 1})
    else:
        assert ledger() == Counter(begun)
        assert "1 job not run, as 'drain' was asked for: late" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_jobs_of_every_file_that_the_work_was_given_outlast_a_kill(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first one was remembered, and jobs of the second that were due later never ran. One that is gone is named."""
    for name in ("c", "b", "a"):
        jobs({name: (0, 1.5), f"late-{name}": (60 if name == "c" else 6, 0.1)})
        Path("jobs.csv").rename(f"{name}.csv")
    interrupted(lambda: bool(ledger()), "run", "a.csv", *RUN[2:])
    for name in ("b", "c"):
        interrupted(partial(_has_begun, name), "run", f"{name}.csv", *RUN[2:], by=signal.SIGKILL)
    Path("c.csv").unlink()
    Path("d.csv").write_text('id,command\nlate-b,"true"\n')
    assert main.run(["operate", "run", "d.csv", "--plain", "--no-probe"]) == 64
    assert "differ: late-b in command" in " ".join(capsys.readouterr().err.split())
    assert main.run(["operate", "run", "--plain", "--no-probe"]) == 1
    assert "did not run: restore it, and 'hcloud operate run' continues" in " ".join(capsys.readouterr().err.split())
    assert main.run(["operate", "drain"]) == 0
    ran = ("a", "late-a", "b", "late-b", "c")
    assert ledger() == Counter({f"{what} {name}": 1 for what in ("begin", "end") for name in ran})
    assert not left()


@pytest.mark.slow
def test_a_file_that_was_damaged_meanwhile_keeps_nobody_from_a_drain(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs({"a": (0, 1.5)})
    interrupted(lambda: bool(ledger()), *RUN)
    jobs({"a": (0, 1.5)}, "b,0,true,minus,32Mi,no\n")
    assert main.run(["operate", "drain"]) == 0
    said = capsys.readouterr()
    assert "none still running" in said.out
    assert "line 3, cores: 'minus'" in " ".join(said.err.split())


@pytest.mark.slow
def test_a_job_that_no_machine_holds_keeps_nobody_from_ending_the_work(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It came while the work was on, and its line stays in the file of events."""
    events = Path("events.jsonl")
    events.touch()
    orders = Path(".hcloud/operate/orders.jsonl")
    words = ("events.jsonl", "--engine", "none", "--cloud", "fake:aws", "--pool", "1", "--follow", "--plain")

    def refused() -> bool:
        if orders.exists() and not events.stat().st_size:
            events.write_text('{"event":"arrival","job":"big","cores":999,"memory_gib":8}\n')
        journal = Path(".hcloud/operate/journal.jsonl")
        return journal.exists() and '"decision":"refuse"' in journal.read_text()

    interrupted(refused, *words)
    assert main.run(["operate", "stop"]) == 1, "a job was refused"
    assert "none still running" in capsys.readouterr().out


def test_a_request_to_a_controller_that_is_busy_does_not_say_that_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operate_asking, "ANSWER_SECONDS", 0.0)
    assert "no controller is running" in operate_asking.ask(str(tmp_path), "stop")
    lock = lock_of_work(str(tmp_path))
    assert lock is not None
    with lock.hold("hcloud operate"):
        assert "the controller has not read it yet" in operate_asking.ask(str(tmp_path), "stop")


def test_a_stop_that_came_too_late_does_not_end_new_work(here: Path) -> None:
    requests = Path(".hcloud/operate/requests")
    requests.mkdir(parents=True)
    (requests / "late.json").write_text('{"what": "stop", "job": ""}')
    jobs({"a": (0, 0.1)})
    assert main.run(["operate", *RUN]) == 0
    assert ledger() == Counter({"begin a": 1, "end a": 1})


def test_a_stop_that_comes_while_the_controller_starts_ends_the_work(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As while its journal is read: nothing is begun then."""
    jobs({"a": (0, 0.1)})

    def starting() -> object:
        Requests(here / ".hcloud" / "operate" / "requests").put("stop")
        return plain()

    monkeypatch.setattr("hcloud.sim.machine_code.compiled.soonest", starting)
    assert main.run(["operate", *RUN, "--compiled"]) == 0
    assert "none still running" in capsys.readouterr().out
    assert not ledger()
    assert not left()


def test_a_family_is_refused_where_there_are_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs({"a": (0, 0.1)})
    assert main.run(["operate", *RUN, "--family", "m5"]) == 64
    assert "machines of this computer have no families" in capsys.readouterr().err


def test_a_reserve_beyond_the_limits_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs would be placed on machines that may never be launched."""
    jobs({"a": (0, 0.1)})
    assert main.run(["operate", "jobs.csv", "--plain", "--pool", "2", "--max-machines", "1"]) == 64
    assert "--max-machines 1: the reserve alone is 2 machines" in capsys.readouterr().err


def test_bad_files_are_refused_before_anything_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["status"], ["explain", "--job", "a"]):
        assert main.run(["operate", *words, "--state", "mine"]) == 64
        told = " ".join(capsys.readouterr().err.split())
        assert "'hcloud operate' has never run there hint: hcloud operate run --state mine jobs.csv" in told
    Path("jobs.csv").write_text("id,command\na,\nb,true\nb,false\n")
    assert main.run(["operate", *RUN]) == 1
    told = capsys.readouterr().err
    assert "line 2" in told
    assert "line 4" in told
    assert not left()
    Path("jobs.csv").write_text("id,command,cores\na,true,1\nb,true,64\n")
    assert main.run(["operate", *RUN]) == 9
    assert "no machine holds b (64 vCPUs" in capsys.readouterr().err
    assert not (here / ".hcloud" / "operate" / "journal.jsonl").exists()
    assert main.run(["operate", "run", "nosuch.csv"]) == 1
    Path("jobs.csv").write_text("id,command\na,true\n")
    assert main.run(["operate", "run", "jobs.csv", "--pool", "5000"]) == 64
    assert "the reserve needs" in capsys.readouterr().err
    assert main.run(["operate", "run", "jobs.csv", "--engine", "nosuch"]) == 64


@pytest.mark.parametrize("content", [bytes(range(256)), b"", b'{"id": [', b"id,command\na,\n"])
def test_work_that_is_refused_leaves_no_folder_behind(here: Path, content: bytes) -> None:
    """Folders of a machine that never was, a lock and a pipe stayed where the first file of jobs was no such file."""
    Path("jobs.csv").write_bytes(content)
    assert main.run(["operate", *RUN]) == 1
    assert [path.name for path in here.iterdir()] == ["jobs.csv"]
    (here / ".hcloud").mkdir()
    assert main.run(["operate", *RUN]) == 1
    assert not list((here / ".hcloud").iterdir())


def test_refused_work_leaves_what_its_folder_held_before(here: Path) -> None:
    """Where somebody had put a journal aside, the output of jobs was removed with all else in the folder."""
    kept = here / ".hcloud" / "operate" / "output" / "a.1"
    kept.parent.mkdir(parents=True)
    kept.write_text("what job a printed")
    Path("jobs.csv").write_text("id,command\na,\n")
    assert main.run(["operate", *RUN]) == 1
    assert kept.read_text() == "what job a printed"


def test_a_slurmctld_out_of_reach_is_said_and_nothing_begins(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slurm's own commands are scripts here that say what they say without one."""
    site = ("--out", str(here / "etc"), "--folder", str(here / "folder"))
    assert main.run(["slurm", "config", "--cloud", "local", *site]) == 0
    (here / "bin").mkdir()
    for name in ("scontrol", "squeue", "sinfo"):
        (here / "bin" / name).write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
        (here / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{here / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_CONF", str(here / "etc" / "slurm.conf"))
    capsys.readouterr()
    assert main.run(["operate", "--engine", "slurm", "--cloud", "local", "--pool", "1"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "Unable to contact slurm controller" in said
    assert "check with 'scontrol ping' that slurmctld is running" in said
    assert not (here / ".hcloud" / "operate" / "journal.jsonl").exists()
    assert not left()


def test_a_job_of_a_profiled_application_has_its_estimated_vector(here: Path) -> None:
    Path("hcloud.yaml").write_text(f"profiles: {{folder: {bundled('profiles')}}}\n")
    Path("jobs.csv").write_text("id,command,cores,memory,app\na,true,0.5,32Mi,sort\nb,true,0.5,32Mi,\n")
    assert main.run(["operate", *RUN]) == 0
    events = read_journal(here / ".hcloud" / "operate" / "journal.jsonl").events
    vectors = {e.job: e.vector for e in events if isinstance(e, Arrival)}
    assert vectors["b"] == UNKNOWN
    assert vectors["a"] != UNKNOWN


def test_two_agents_as_processes_place_jobs_and_may_die(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each agent ends in the middle of its fourth decision, and so do those that come in their place."""
    text = (bundled("policies") / "placements" / "tarcil.yaml").read_text()
    Path("two.yaml").write_text(re.sub(r"(agents:\n +value: )\d+", r"\g<1>2", text))
    jobs({f"j{n}": (n / 20, 0.1) for n in range(12)})
    monkeypatch.setenv("HYC_CRASH_AT", "agent.proposed|4")
    assert main.run(["operate", *RUN, "--strategy", "SR", "--placement", "two.yaml"]) == 0
    assert ledger() == Counter({f"{what} j{n}": 1 for what in ("begin", "end") for n in range(12)})
    told = read_journal(here / ".hcloud" / "operate" / "journal.jsonl")
    assert {e.agent for e in told.events if isinstance(e, Arrival) and e.ranked} == {0, 1}
    assert tuple(replay(told, plain())[1]) == told.decisions
    assert not left()


def test_a_strategy_that_rents_nothing_gets_the_whole_machine(here: Path) -> None:
    jobs({"a": (0, 0.1)})
    assert main.run(["operate", "run", "jobs.csv", "--plain", "--no-probe", "-s", "SR"]) == 0
    setup = read_journal(here / ".hcloud" / "operate" / "journal.jsonl").setup
    cores = len(os.sched_getaffinity(0))
    assert setup.reserved_cores == cores // (setup.large.cores // 1000) * setup.large.cores
