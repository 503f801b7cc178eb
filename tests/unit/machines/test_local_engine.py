"""This machine as an engine: real keepers and real jobs, judged by what the jobs leave behind and what still runs."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from left_running import runs, some_number
from waiting import PATIENCE

from hcloud.control.ports import Size
from hcloud.errors import FileError, HcloudError
from hcloud.model.running.job import JobOrder, JobPhase, JobPlace, JobSighting, MachineRole, NodePhase
from hcloud.profiling.cage import Hierarchy, this_machine
from hcloud.profiling.local.engine import LocalEngine
from hcloud.profiling.local.machines import ProcessHost
from hcloud.profiling.local.spool import MachineFolder, attempt_name, attempt_of, ended_sighting
from hcloud.profiling.programs.keeper import files, keep

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="machines are processes of Linux")
ROOM = Size(2, 1.0)


@dataclass
class Ground:
    """A spool with machines; each call of ``anew`` is an engine as the next process would have it."""

    folder: Path
    hierarchy: Hierarchy = field(default_factory=this_machine)
    engines: list[LocalEngine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host = ProcessHost(self.folder / "running", self.hierarchy)
        self.engine = self.anew()

    def anew(self) -> LocalEngine:
        self.engine = LocalEngine(self.folder / "spool", self.folder / "output", self.folder)
        self.engines.append(self.engine)
        return self.engine

    def machine(self, number: int = 0) -> None:
        self.host.start([f"m-{number}"], self.engine.joining(MachineRole(number, "medium", True)), ROOM)
        self.until(lambda: dict(self.engine.look().nodes).get(number) is NodePhase.READY)

    def begin(self, job: str, *command: str, memory: int = 200, attempt: int = 1, machine: int = 0) -> None:
        self.engine.begin(JobOrder(job, 0.0, command, 1000, memory), JobPlace(machine, attempt, 1000, memory))

    def shell(self, job: str, script: str, memory: int = 200, machine: int = 0) -> None:
        self.begin(job, "/bin/sh", "-c", script, memory=memory, machine=machine)

    def seen(self, job: str, attempt: int = 1) -> JobSighting | None:
        return next((j for j in self.engine.look().jobs if (j.job, j.attempt) == (job, attempt)), None)

    def over(self, job: str, attempt: int = 1) -> JobSighting:
        self.until(lambda: (s := self.seen(job, attempt)) is not None and s.phase in (JobPhase.ENDED, JobPhase.LOST))
        found = self.seen(job, attempt)
        assert found is not None
        return found

    def until(self, holds: Callable[[], object], seconds: float = PATIENCE) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it never came"
            self.engine.wait(0.05)

    def printed(self, job: str, kind: str = "out", attempt: int = 1) -> str:
        return (self.folder / "output" / f"{attempt_name(job, attempt)}.{kind}").read_text()

    def keeper(self, number: int = 0) -> int:
        """The process that holds the lock of a machine's folder."""
        lock = (self.folder / "spool" / str(number) / "lock").stat().st_ino
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "FLOCK" in line]
        return next(int(line[4]) for line in lines if line[5].endswith(f":{lock}"))


@pytest.fixture
def groups() -> bool:
    """Whether jobs are in control groups where there are any; what ends and bounds them is tried without, too."""
    return True


both = pytest.mark.parametrize("groups", [True, False], ids=["groups", "no groups"])


@pytest.fixture
def ground(groups: bool, tmp_path: Path) -> Iterator[Ground]:
    found = Ground(tmp_path, this_machine() if groups else Hierarchy(0))
    yield found
    running = tmp_path / "running"
    found.host.end({p.name for p in running.glob("*")} | found.host.alive())
    for engine in found.engines:
        engine.close()


@both
def test_a_job_runs_where_it_was_told_to_and_its_end_is_told(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-12345678")
    monkeypatch.setenv("HOME", "/home/somebody")
    ground.machine()
    (ground.folder / "sub").mkdir()
    order = JobOrder("a/b.c", 0.0, ("/bin/sh", "-c", "pwd; env; echo no >&2; exit 3"), 500, 100, directory="sub")
    before = time.time()
    ground.engine.begin(order, JobPlace(0, 1, 500, 100))
    end = ground.over("a/b.c")
    assert (end.phase, end.code, end.out_of_memory) == (JobPhase.ENDED, 3, False)
    assert end.began is not None
    assert end.ended is not None
    assert before - 0.01 <= end.began <= end.ended <= time.time() + 0.01
    lines = ground.printed("a/b.c").splitlines()
    assert lines[0] == str(ground.folder / "sub")
    assert {"HCLOUD_JOB=a/b.c", "HOME=/home/somebody"} <= set(lines)
    assert not any("canary" in line for line in lines)
    assert ground.printed("a/b.c", "err") == "no\n"


CODES = [
    (("no-such-command-here",), 127, "command not found"),
    (("/etc/passwd",), 126, "Permission denied"),
    (("/bin/sh", "-c", "kill -9 $$"), 137, ""),
    (("/bin/sh", "-c", "kill -TERM $$"), 143, ""),
    (("true",), 0, ""),
]


@both
def test_a_code_is_what_a_shell_would_tell(ground: Ground) -> None:
    ground.machine()
    for at, (command, _, _) in enumerate(CODES):
        ground.begin(f"job-{at}", *command)
    for at, (_, code, said) in enumerate(CODES):
        assert ground.over(f"job-{at}").code == code
        assert said in ground.printed(f"job-{at}", "err")


@both
@pytest.mark.slow
def test_what_a_job_leaves_running_ends_with_it(ground: Ground) -> None:
    ground.machine()
    number = some_number()
    other = some_number()
    ground.begin("other", "sleep", other)
    go = ground.folder / "go"
    double = f"(setsid sh -c 'sleep {number} & sleep {number}' > /dev/null 2>&1 &)"
    ground.shell("job", f"sleep {number} & {double}; while [ ! -e {go} ]; do sleep 0.02; done")
    ground.until(lambda: len(runs(number)) == 3)
    go.touch()
    assert ground.over("job").code == 0
    assert not runs(number)
    assert len(runs(other)) == 1, "another job's processes are its own"


def test_children_of_a_stray_that_ends_while_it_is_looked_at_are_strays(monkeypatch: pytest.MonkeyPatch) -> None:
    """They came to the keeper after it had listed its children, and the job was told to be over while they ran."""
    keeper = keep.Keeper.__new__(keep.Keeper)
    keeper.pid, keeper.jobs, keeper.spares = 1, {}, []
    lists, ended = iter([[7], [7, 8, 9], [7, 8, 9, 10]]), {7, 9}
    monkeypatch.setattr(keep, "children", lambda pid: next(lists))
    monkeypatch.setattr(keep, "started_at", lambda pid: None if pid in ended else 1)
    assert keeper.strays() == [8, 10]


@both
@pytest.mark.slow
def test_what_shed_every_sign_of_its_job_ends_with_the_last_that_may_have_started_it(ground: Ground) -> None:
    ground.machine()
    number = some_number()
    ground.shell("job", f"(env -i setsid sleep {number} &); sleep 0.2")
    assert ground.over("job").code == 0
    assert not runs(number)


@both
@pytest.mark.slow
def test_a_stopped_job_ends_with_all_its_processes_and_says_so(ground: Ground) -> None:
    ground.machine()
    number = some_number()
    ground.shell("job", f"trap 'echo asked; exit 9' TERM; (setsid sleep {number} &); while :; do sleep 0.05; done")
    ground.until(lambda: runs(number))
    ground.until(lambda: (s := ground.seen("job")) is not None and s.phase is JobPhase.RUNNING)
    for _ in range(2):
        ground.engine.stop("job", 1)
    assert ground.over("job").code == 9
    assert ground.printed("job") == "asked\n"
    assert not runs(number)
    ground.engine.stop("job", 1)
    ground.engine.stop("nobody", 1)


@both
@pytest.mark.slow
def test_one_that_does_not_heed_is_killed(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    set_in_keeper(monkeypatch, "GRACE", 0.2)
    ground.machine()
    number = some_number()
    ground.shell("job", f"trap '' TERM; echo on; sleep {number}; sleep {number}; sleep {number}")
    ground.until(lambda: runs(number) and ground.printed("job") == "on\n")
    ground.engine.stop("job", 1)
    assert ground.over("job").code == 137
    assert not runs(number)


@both
@pytest.mark.slow
def test_a_job_that_takes_more_memory_than_it_asked_for_is_killed_and_told(ground: Ground) -> None:
    ground.machine()
    ground.begin("job", sys.executable, "-c", "import time; x = bytearray(300 << 20); time.sleep(20)", memory=100)
    end = ground.over("job")
    assert (end.phase, end.code, end.out_of_memory) == (JobPhase.ENDED, 137, True)


@pytest.mark.slow
def test_a_job_gets_the_cpu_that_it_asked_for(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    burn = "import time; t = time.monotonic()\nwhile time.monotonic() < t + 0.6: pass\nprint(time.process_time())"
    try:
        ground.machine()
        ground.engine.begin(
            JobOrder("job", 0.0, (sys.executable, "-S", "-c", burn), 300, 100), JobPlace(0, 1, 300, 100)
        )
        assert ground.over("job").code == 0
        if this_machine().has("cpu"):
            assert float(ground.printed("job")) < 0.4
    finally:
        ground.host.end(["m-0"])
        ground.engine.close()


@pytest.mark.slow
def test_a_job_whose_directory_is_missing_says_so(ground: Ground) -> None:
    ground.machine()
    order = JobOrder("job", 0.0, ("true",), 1000, 100, directory="nowhere")
    ground.engine.begin(order, JobPlace(0, 1, 1000, 100))
    assert ground.over("job").code == 126
    assert "nowhere" in ground.printed("job", "err")


@pytest.mark.slow
def test_one_that_is_stopped_before_it_began_never_begins(ground: Ground) -> None:
    ground.engine.joining(MachineRole(0, "medium", True))
    ground.shell("job", "echo ran")
    assert (s := ground.seen("job")) is not None
    assert s.phase is JobPhase.WAITING
    ground.engine.stop("job", 1)
    ground.machine()
    end = ground.over("job")
    assert (end.phase, end.began) == (JobPhase.LOST, None)
    assert ground.printed("job") == ""


@pytest.mark.slow
def test_progress_is_told_and_nonsense_is_not(ground: Ground) -> None:
    ground.machine()
    go = ground.folder / "go"
    wait = f"while [ ! -e {go} ]; do sleep 0.02; done; rm {go}"
    ground.shell("job", f'echo 0.25 > "$HCLOUD_PROGRESS"; {wait}; echo much > "$HCLOUD_PROGRESS"; {wait}')
    ground.shell("pipe", f'mkfifo "$HCLOUD_PROGRESS"; sleep {some_number()}')
    ground.until(lambda: (s := ground.seen("job")) is not None and s.progress == 0.25)
    go.touch()
    ground.until(lambda: (s := ground.seen("job")) is not None and s.progress is None)
    assert (s := ground.seen("pipe")) is not None
    assert s.progress is None
    go.touch()
    assert ground.over("job").code == 0


@pytest.mark.slow
def test_an_attempt_begins_once_however_often_it_is_said(ground: Ground) -> None:
    ground.machine()
    for _ in range(3):
        ground.shell("job", "echo ran")
        ground.anew()
        ground.shell("job", "echo ran")
    assert ground.over("job").code == 0
    ground.anew()
    ground.shell("job", "echo ran")
    ground.engine.wait(0.2)
    assert ground.printed("job") == "ran\n"
    ground.begin("job", "echo", "again", attempt=2)
    assert ground.over("job", 2).code == 0
    assert ground.printed("job", attempt=2) == "again\n"


KILLED_AT = """
import os, signal
from pathlib import Path
from hcloud.model.running.job import JobOrder, JobPlace
from hcloud.profiling.local.engine import LocalEngine

def dying(at, real):
    def call(*given, **named):
        if next(steps) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*given, **named)
        if next(steps) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    return call

status, at = 1, 0
while status:
    if not os.fork():
        engine = LocalEngine(Path("spool"), Path("output"), Path.cwd())
        engine.look()
        steps = iter(range(1000))
        os.open, os.fsync, os.rename = dying(at, os.open), dying(at, os.fsync), dying(at, os.rename)
        name = f"job-{at}"
        engine.begin(JobOrder(name, 0.0, ("/bin/sh", "-c", "echo ran"), 100, 50), JobPlace(0, 1, 100, 50))
        os._exit(0)
    status = os.wait()[1]
    at += 1
print(at)
"""


@pytest.mark.slow
def test_a_job_is_begun_once_where_the_engine_is_killed_at_any_step(tmp_path: Path) -> None:
    ground = Ground(tmp_path, Hierarchy(0))
    try:
        ground.machine()
        died = subprocess.run([sys.executable, "-c", KILLED_AT], cwd=tmp_path, capture_output=True, check=True)
        steps = int(died.stdout)
        assert steps > 12, "it was killed before and after each call"
        ground.anew()
        for at in range(steps):
            ground.shell(f"job-{at}", "echo ran")
        for at in range(steps):
            assert ground.over(f"job-{at}").code == 0
            assert ground.printed(f"job-{at}") == "ran\n"
    finally:
        ground.host.end(["m-0"])
        for engine in ground.engines:
            engine.close()


@both
@pytest.mark.slow
def test_what_was_with_a_dead_keeper_is_lost_and_nothing_of_it_runs(ground: Ground) -> None:
    ground.machine()
    number = some_number()
    ground.shell("job", f"(setsid sleep {number} > /dev/null 2>&1 &); sleep {number}")
    ground.until(lambda: len(runs(number)) == 2)
    ground.begin("done", "true")
    assert ground.over("done").code == 0
    os.kill(ground.keeper(), signal.SIGKILL)
    ground.until(lambda: dict(ground.engine.look().nodes)[0] is NodePhase.GONE)
    ground.begin("late", "touch", str(ground.folder / "late"))
    lost = ground.over("job")
    assert lost.phase is JobPhase.LOST
    assert lost.began is not None
    assert not runs(number)
    late = ground.over("late")
    assert (late.phase, late.began, late.code) == (JobPhase.LOST, None, None)
    assert not (ground.folder / "late").exists()
    assert ground.over("done").code == 0
    ground.anew()
    assert {(j.job, j.phase) for j in ground.engine.look().jobs} == {
        ("job", JobPhase.LOST), ("late", JobPhase.LOST), ("done", JobPhase.ENDED)
    }  # fmt: skip


DIES = """
import os, signal
from hcloud.profiling.programs.keeper import keep
def dying(real):
    def call(*given, **named):
        if os.getpid() != keeper:
            return real(*given, **named)
        if next(steps) == {at}:
            os.kill(keeper, signal.SIGKILL)
        found = real(*given, **named)
        if os.getpid() == keeper and next(steps) == {at}:
            os.kill(keeper, signal.SIGKILL)
        return found
    return call
def begin(self):
    for name in ("rename", "fork", "fsync", "utime", "unlink", "waitpid"):
        setattr(os, name, dying(getattr(os, name)))
    real(self)
keeper, steps, real = os.getpid(), iter(range(10**9)), keep.Keeper.keep
keep.Keeper.keep = begin
"""


@pytest.mark.slow
def test_a_keeper_killed_at_any_step_loses_no_job_and_begins_none_twice(tmp_path: Path) -> None:
    """Judged by what the jobs wrote themselves: one that was told not to have begun wrote nothing."""
    ground = Ground(tmp_path)
    steps, number = range(0, 34, 2), some_number()  # after a call is as before the next
    try:
        for at in steps:
            script = ground.engine.joining(MachineRole(at, "medium", True))
            text = f"exec({DIES.format(at=at)!r}); from hcloud"
            words = shlex.split(script.partition("exec ")[2])
            words[-1] = words[-1].replace("from hcloud", text, 1)
            ground.host.start([f"m-{at}"], f"#!/bin/sh\nexec {shlex.join(words)}\n", ROOM)
            ground.shell(f"job-{at}", f"echo ran; (setsid sleep {number} &); sleep 0.05", machine=at)
        told = {at: ground.over(f"job-{at}") for at in steps}
        for at, end in told.items():
            ran = ground.printed(f"job-{at}").count("ran")
            assert ran <= 1
            assert end.began is not None or not ran, f"killed at {at}"
            assert end.code == 0 if end.phase is JobPhase.ENDED else end.code is None
            assert ran or end.phase is JobPhase.LOST
        assert {end.phase for end in told.values()} == {JobPhase.ENDED, JobPhase.LOST}, "some died before, some after"
        assert {end.began is None for end in told.values()} == {True, False}
        ground.until(lambda: not runs(number))
        again = ground.anew().look().jobs
        assert {(j.job, j.phase, j.began) for j in again} == {(j.job, j.phase, j.began) for j in told.values()}
    finally:
        ground.host.end({f"m-{at}" for at in steps})
        for engine in ground.engines:
            engine.close()


@pytest.mark.slow
def test_a_second_keeper_of_a_machine_begins_nothing(ground: Ground) -> None:
    ground.machine()
    ground.host.start(["again"], ground.engine.joining(MachineRole(0, "medium", True)), ROOM)
    ground.begin("first", "true")
    assert ground.over("first").code == 0
    os.kill(ground.keeper(), signal.SIGKILL)
    ground.until(lambda: dict(ground.engine.look().nodes)[0] is NodePhase.GONE)
    ground.begin("job", "true")
    assert ground.over("job").phase is JobPhase.LOST


@pytest.mark.slow
def test_a_machine_that_is_let_go_begins_nothing_more_and_is_forgotten_when_it_is_gone(ground: Ground) -> None:
    ground.machine()
    ground.begin("job", "sleep", "0.5")
    ground.until(lambda: (s := ground.seen("job")) is not None and s.phase is JobPhase.RUNNING)
    for _ in range(2):
        ground.engine.let_go(0)
    assert dict(ground.engine.look().nodes) == {0: NodePhase.LEAVING}
    ground.begin("late", "true")
    assert ground.over("late").began is None
    assert ground.over("job").code == 0
    ground.host.end(["m-0"])
    assert not ground.engine.look().nodes
    assert {j.job for j in ground.engine.look().jobs} == {"job", "late"}
    for job in ("job", "late", "job"):
        ground.engine.forget(job)
    assert not ground.engine.look().jobs
    assert not list((ground.folder / "spool").glob("0*"))
    with pytest.raises(HcloudError, match="machine 0 never joined, or is gone"):
        ground.begin("later", "true")


@pytest.mark.slow
def test_a_number_may_be_given_to_another_machine(ground: Ground) -> None:
    ground.machine()
    number = some_number()
    script = ground.engine.joining(MachineRole(0, "medium", True))
    ground.begin("job", "sleep", number)
    ground.until(lambda: runs(number))
    ground.host.end(["m-0"])
    ground.until(lambda: dict(ground.engine.look().nodes)[0] is NodePhase.GONE)
    assert ground.engine.joining(MachineRole(0, "medium", True)) == script
    assert dict(ground.engine.look().nodes) == {0: NodePhase.JOINING}
    ground.machine()
    ground.begin("job", "true", attempt=2)
    assert ground.over("job", 2).code == 0
    assert ground.over("job", 1).phase is JobPhase.LOST
    ground.engine.forget("job")
    assert not ground.engine.look().jobs


def set_in_keeper(monkeypatch: pytest.MonkeyPatch, name: str, value: float) -> None:
    """Let keepers that are started later have another patience."""
    real = LocalEngine.joining
    assert hasattr(keep, name)
    first = f"from hcloud.profiling.programs.keeper import keep; keep.{name} = {value}; from hcloud"
    monkeypatch.setattr(LocalEngine, "joining", lambda self, role: real(self, role).replace("from hcloud", first, 1))


@pytest.mark.slow
def test_what_is_foreign_or_torn_is_passed_over(ground: Ground) -> None:
    ground.machine()
    spool = ground.folder / "spool"
    (spool / "notes.txt").touch()
    (spool / "lost+found").mkdir()
    (spool / "7-x").mkdir()
    (spool / "0" / "inbox" / "README").touch()
    (spool / "0" / "inbox" / ".half.1").touch()
    (spool / "0" / "inbox" / "broken.1").write_text('{"job": "bro')
    (spool / "0" / "done" / "what.is.this").touch()
    (spool / "0" / "done" / "job.1.x.y.z.0").touch()
    (spool / "0" / "running" / "folder.1").mkdir()
    (spool / "0" / "poke").write_bytes(b"!")
    assert ground.over("broken").phase is JobPhase.LOST
    assert ground.anew().look().nodes == ((0, NodePhase.READY),)
    ground.begin("job", "true")
    assert ground.over("job").code == 0


def test_a_poke_that_is_lost_is_made_up_for(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    set_in_keeper(monkeypatch, "LOOK_EVERY", 0.2)
    ground.machine()
    monkeypatch.setattr(files, "poke", lambda path: None)
    ground.begin("job", "true")
    assert ground.over("job").code == 0


def test_a_full_disk_is_told_and_nothing_begins(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.machine()
    real = os.fsync

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="no space left on device"):
        ground.begin("job", "true")
    monkeypatch.setattr(os, "fsync", real)
    ground.engine.wait(0.1)
    assert not ground.engine.look().jobs
    ground.begin("job", "true")
    assert ground.over("job").code == 0


def test_a_wait_ends_when_a_job_does(ground: Ground) -> None:
    ground.machine()
    ground.engine.wait(0)
    ground.begin("job", "sleep", "0.2")
    ground.engine.wait(1000)
    assert ground.over("job").code == 0


def test_a_running_job_may_be_given_less(tmp_path: Path) -> None:
    hierarchy = this_machine()
    if not hierarchy.has("cpu"):
        return
    ground = Ground(tmp_path, hierarchy)
    try:
        ground.machine()
        ground.begin("job", "sleep", some_number())
        ground.until(lambda: (s := ground.seen("job")) is not None and s.phase is JobPhase.RUNNING)
        ground.engine.resize("job", 1, 300)
        [group] = (tmp_path / "running" / "m-0" / "groups").read_text().splitlines()[:1] or [""]
        name = "cpu.max" if hierarchy.version == 2 else "cpu.cfs_quota_us"
        machine = hierarchy.roots["cpu"] / Path(group).name
        ground.until(lambda: any(cpu.read_text().split()[0] == "6000" for cpu in machine.glob(f"job-*/{name}")))
    finally:
        ground.host.end(["m-0"])
        ground.engine.close()


@pytest.mark.parametrize("job", ["a", "a.b", "..", ".hidden", "a/b\\c d\n", "x" * 500, "ä%41~", "~", "\udc80", "1.1"])
def test_a_name_of_a_file_is_that_of_one_job(job: str, tmp_path: Path) -> None:
    name = attempt_name(job, 12)
    path = tmp_path / name
    path.write_text(json.dumps({"job": job}))
    found = attempt_of(name, path)
    assert found is not None
    assert (found.job, found.attempt) == (job, 12)
    told = path.rename(tmp_path / f"{name}.137.1000.2500.1")
    assert ended_sighting(told.name, told) == JobSighting(job, 12, JobPhase.ENDED, 1.0, 2.5, 137, out_of_memory=True)


def test_a_folder_that_was_never_up_is_one_that_joins(tmp_path: Path) -> None:
    folder = MachineFolder(tmp_path / "0")
    folder.make()
    folder.make()
    assert (folder.was_up, folder.is_kept(), folder.groups()) == (False, False, [])


@pytest.mark.slow
def test_a_machine_is_probed_in_about_a_second(ground: Ground) -> None:
    ground.machine()
    score = ground.engine.probe(0)
    assert score is not None
    assert 0 < score <= 1
    best = json.loads((ground.folder / "spool" / "best").read_text())
    assert list(best) == [str(len(os.sched_getaffinity(0)))]
    assert not ground.engine.look().jobs, "a probe is no job"
    assert not list((ground.folder / "output").iterdir())
    assert not list((ground.folder / "spool" / "0" / "done").iterdir())
    assert ground.engine.probe(7) is None


@pytest.mark.slow
def test_a_machine_that_gives_half_has_half_the_quality(ground: Ground) -> None:
    ground.machine()
    cores = str(len(os.sched_getaffinity(0)))
    (ground.folder / "spool" / "best").write_text(json.dumps({cores: [1e12, 1.0]}))
    assert 0 < _probed(ground) < 0.01, "the lower of both counts"
    (ground.folder / "spool" / "best").write_text("torn")
    assert 0 < _probed(ground) <= 1
    best = json.loads((ground.folder / "spool" / "best").read_text())[cores]
    assert 0 < best[0] < 1e12, "what was measured here, however busy it is, in place of what cannot be read"


def _probed(ground: Ground) -> float:
    """The score of machine 0; on a busy machine a probe may take too long, and gives none."""
    found = (ground.engine.probe(0) for _ in range(5))
    return next(score for score in found if score is not None)
