"""This machine as a cloud: real processes, and what is true of them however they end."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import PATIENCE, until

from hcloud.control.ports import Size
from hcloud.errors import (
    MismatchError,
    NoCapacityError,
    NotFoundError,
    QuotaError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.fake.clock import FakeClock
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder, Launch, MachineState, Owner
from hcloud.profiling.cage import this_machine
from hcloud.profiling.local.machines import GROUP, LEAF, ProcessHost, passing_host
from hcloud.profiling.programs import orphans
from hcloud.providers.local.provider import LINGER_SECONDS, LocalCloud
from hcloud.providers.local.registry import Note, Registry
from hcloud.providers.local.settings import LocalSettings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="machines are processes of Linux")
LINEAGE = "5e1f" * 8
ITS_LAUNCHER_AND_SHELL, ITS_LAUNCHER_SHELL_AND_SLEEPS = 2, 4


class Ground:
    """A directory with machines, seen anew by each call of ``cloud``, as another process would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FakeClock(1_796_000_000.0, speed=0.0)
        self.capacity: Size | None = Size(4, 4.0)

    @property
    def host(self) -> ProcessHost:
        return ProcessHost(self.folder / "running")

    @property
    def registry(self) -> Registry:
        return Registry(self.folder)

    def cloud(self) -> LocalCloud:
        return LocalCloud(LocalSettings(self.folder, self.capacity), self.clock, self.host)

    def groups(self, machine: str) -> list[Path]:
        """The control groups of a machine that was started."""
        return [Path(line) for line in (self.folder / "running" / machine / "groups").read_text().splitlines()]

    def states(self) -> list[MachineState]:
        return [m.state for m in self.cloud().machines(LINEAGE)]


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    found = Ground(tmp_path)
    yield found
    found.host.end({p.name for p in (tmp_path / "running").glob("*")} | found.host.alive())


def says(ground: Ground, machine: str, word: str) -> None:
    """Wait until the machine's console says it; fails with what it says instead."""
    console = ground.cloud().console
    until(lambda: word in console(machine), why=lambda: f"no {word!r} in {console(machine)!r}")


def order(count: int = 1, kind: str = "small", key: str = "a1" * 16, script: str = "") -> Launch:
    return Launch(key, "web", kind, "local", count, Owner(LINEAGE, "shop", "0123456789ab"), start_up=script)


def test_a_machine_outlasts_whoever_started_it_and_its_script(ground: Ground) -> None:
    [machine] = ground.cloud().launch(order(script="#!/bin/sh\necho hello $((6 * 7))\n")).machines
    says(ground, machine.id, "hello 42")
    assert ground.states() == [MachineState.RUNNING]


def test_a_script_gets_nothing_of_the_environment_but_the_path(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-12345678")
    [machine] = ground.cloud().launch(order(script="#!/bin/sh\nenv\necho over\n")).machines
    says(ground, machine.id, "over")
    assert "canary" not in ground.cloud().console(machine.id)


@pytest.mark.slow
def test_a_script_has_the_cores_and_the_memory_of_its_type(ground: Ground) -> None:
    script = "#!/bin/sh\nnproc\nhead -c 2G /dev/zero | tail | wc -c\necho over\n"
    [machine] = ground.cloud().launch(order(script=script)).machines
    says(ground, machine.id, "over")
    said = ground.cloud().console(machine.id).split()
    assert said[0] == "1"
    if this_machine().has("memory"):
        assert str(2 << 30) not in said


def test_a_script_runs_in_a_group_of_its_own_inside_the_machines(ground: Ground) -> None:
    """In version 2 a group with limited groups inside takes no process."""
    [machine] = ground.cloud().launch(order(script="#!/bin/sh\ncat /proc/self/cgroup\necho over\n")).machines
    says(ground, machine.id, "over")
    inside = [group.name for group in ground.groups(machine.id)]
    found = [line for line in ground.cloud().console(machine.id).splitlines() if any(name in line for name in inside)]
    assert len(found) == len(inside)
    assert all(line.endswith(f"/{LEAF}") for line in found)


@pytest.mark.slow
def test_an_end_takes_what_left_the_process_group_too(ground: Ground) -> None:
    [machine] = ground.cloud().launch(order(script="#!/bin/sh\nsetsid sleep 1000 &\necho over\n")).machines
    says(ground, machine.id, "over")
    groups = ground.groups(machine.id)
    assert all(group.is_dir() and group.name.startswith(GROUP) for group in groups)
    ground.cloud().terminate([machine.id])
    assert not ground.host.alive()
    assert ground.states() == [MachineState.ENDED]
    assert not [group for group in groups if group.exists()]


def test_a_script_runs_though_another_thread_starts_a_program_while_it_is_written(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its fork and its program that holds all open files, and a script that is open for writing is busy."""
    real, holders = os.fdopen, []

    def held(*args: object, **more: object) -> object:
        if not (holder := os.fork()):
            time.sleep(PATIENCE)
            os._exit(0)
        holders.append(holder)
        return real(*args, **more)  # type: ignore[call-overload]

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", held)
        [machine] = ground.cloud().launch(order(script="#!/bin/sh\necho hello $((6 * 7))\n")).machines
    try:
        says(ground, machine.id, "hello 42")
    finally:
        for holder in holders:
            os.kill(holder, signal.SIGKILL)
            os.waitpid(holder, 0)


def test_a_script_is_never_readable_by_others(ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may hold a password, and is readable by its owner alone before it can be run, too."""
    seen, chmod = tmp_path / "seen", tmp_path / "bin" / "chmod"
    chmod.parent.mkdir()
    chmod.write_text(f'#!/bin/sh\nstat -c %a start-up > {seen}\nexec {shutil.which("chmod")} "$@"\n')
    chmod.chmod(0o700)
    monkeypatch.setenv("PATH", str(chmod.parent), prepend=os.pathsep)
    os.umask(own := os.umask(0))
    [machine] = ground.cloud().launch(order(script="#!/bin/sh\numask\n")).machines
    says(ground, machine.id, f"{own:04o}")
    assert seen.read_text() == "600\n"


def test_a_script_is_nobody_elses_to_read_while_it_is_written_and_one_that_is_not_starts_nothing(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = tmp_path / "cat"
    writer.write_text(f"#!/bin/sh\nstat -c %a start-up > {tmp_path}/mode\nexit 1\n")
    writer.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(UnknownOutcomeError, match="its start-up script cannot be written"):
        ground.cloud().launch(order(script="#!/bin/sh\necho hello\n"))
    assert (tmp_path / "mode").read_text() == "600\n"
    assert not ground.host.alive()


@pytest.mark.slow
def test_nothing_of_a_machine_sees_another_part_of_it_end(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """What watches over others would tell that they failed, where they were lost with the machine."""
    seen, real = ground.folder / "seen", orphans.kill
    child = f"while grep -qs 'State:.[RSDTt]' /proc/$$/status; do sleep 0.005; done; echo parent > {seen}"
    [machine] = (
        ground.cloud()
        .launch(order(script=f"#!/bin/sh\n({child}) &\necho over\nwait $!\necho child > {seen}\n"))
        .machines
    )
    says(ground, machine.id, "over")

    def kept_waiting(pid: int, number: int = signal.SIGKILL) -> None:
        real(pid, number)
        time.sleep(0.02)

    monkeypatch.setattr(orphans, "kill", kept_waiting)
    ground.cloud().terminate([machine.id])
    assert not seen.exists()


@pytest.mark.slow
def test_a_machine_whose_processes_died_has_ended_and_one_of_which_any_is_left_has_not(ground: Ground) -> None:
    ground.cloud().launch(order(script="#!/bin/sh\nexec 1>&2\nsleep 1000 &\nsleep 1000\n"))
    [machine] = ground.cloud().machines(LINEAGE)
    until(lambda: len(ground.host.processes()[machine.id]) >= ITS_LAUNCHER_SHELL_AND_SLEEPS)
    pids = sorted(ground.host.processes()[machine.id])
    os.kill(pids[0], signal.SIGKILL)
    until(lambda: orphans.is_dead(pids[0]))
    assert ground.states() == [MachineState.RUNNING]
    for pid in ground.host.processes()[machine.id]:
        orphans.kill(pid)
    until(lambda: ground.states() == [MachineState.ENDED])
    groups = ground.groups(machine.id)
    with pytest.raises(NoCapacityError, match="have ended"):
        ground.cloud().launch(order(script="#!/bin/sh\nexec 1>&2\nsleep 1000 &\nsleep 1000\n"))
    assert not [group for group in groups if group.exists()], "what died by itself is cleared away, too"


@pytest.mark.slow
def test_a_machine_whose_one_process_goes_from_program_to_program_is_seen_all_the_time(ground: Ground) -> None:
    [machine] = ground.cloud().launch(order(script='#!/bin/sh\nexec "$0"\n')).machines
    until(lambda: len(ground.host.processes()[machine.id]) >= ITS_LAUNCHER_AND_SHELL)
    launcher = min(ground.host.processes()[machine.id])
    os.kill(launcher, signal.SIGKILL)  # from here on its one process is the one that starts programs
    until(lambda: orphans.is_dead(launcher))
    assert all(ground.states() == [MachineState.RUNNING] for _ in range(75))


@pytest.mark.slow
def test_A1_what_was_noted_and_not_started_is_pending_and_started_by_the_same_order(ground: Ground) -> None:
    ground.cloud().launch(order(2))
    notes = ground.registry.all()
    ground.host.end([notes[1].id])  # as if the crash had come before its start
    assert ground.states() == [MachineState.RUNNING, MachineState.PENDING]
    assert len(ground.cloud().launch(order(2)).machines) == 2
    assert ground.states() == [MachineState.RUNNING] * 2
    assert [n.id for n in ground.registry.all()] == [n.id for n in notes]


@pytest.mark.slow
def test_R8_other_parameters_under_the_same_key_are_told(ground: Ground) -> None:
    ground.cloud().launch(order(1))
    for other in (order(2), order(1, "medium"), order(1, script="#!/bin/sh\n")):
        with pytest.raises(MismatchError):
            ground.cloud().launch(other)
    assert len(ground.registry.all()) == 1


@pytest.mark.slow
def test_E4_as_many_come_as_this_machine_has_room_for(ground: Ground) -> None:
    launched = ground.cloud().launch(order(3, "medium"))
    assert (len(launched.machines), launched.missing) == (2, 1)
    assert launched.why
    with pytest.raises(NoCapacityError):
        ground.cloud().launch(order(1, key="b2" * 16))
    ground.cloud().terminate([launched.machines[0].id])
    assert len(ground.cloud().launch(order(2, key="c3" * 16)).machines) == 2


def test_E3_a_type_that_is_larger_than_this_machine_names_the_limit(ground: Ground) -> None:
    ground.capacity = Size(2, 8.0)
    with pytest.raises(QuotaError, match=r"4 cores.*limit"):
        ground.cloud().launch(order(1, "large"))
    assert not ground.registry.all()


def test_without_anything_said_the_room_is_what_this_machine_has(ground: Ground) -> None:
    ground.capacity = None
    limits = {q.name: q.limit for q in ground.cloud().quotas("small")}
    assert limits["cores"] == len(os.sched_getaffinity(0))


@pytest.mark.slow
def test_ended_machines_are_told_of_for_a_while(ground: Ground) -> None:
    [machine] = ground.cloud().launch(order()).machines
    ground.cloud().terminate([machine.id])
    ground.clock.advance(LINGER_SECONDS - 1)
    assert ground.states() == [MachineState.ENDED]
    ground.clock.advance(2)
    assert ground.states() == []
    assert ground.cloud().terminate([machine.id]).gone == (machine.id,)
    assert not ground.registry.all()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "{", "[]", '{"format_version": "1.0"}', '{"format_version": "9"}', "\0"])
def test_H3_a_note_that_cannot_be_read_is_no_empty_list(ground: Ground, text: str) -> None:
    ground.cloud().launch(order())
    [note] = ground.registry.all()
    (ground.folder / f"{note.id}.json").write_text(text)
    with pytest.raises(UnavailableError):
        ground.cloud().machines(LINEAGE)


def test_a_note_is_made_once(ground: Ground) -> None:
    note = Note("a", "small", "local", 0.0)
    with ground.registry.held(), (ground.folder / "lock").open() as another:
        with pytest.raises(BlockingIOError):  # who else writes has to wait
            fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ground.registry.add(note)
        with pytest.raises(FileExistsError):
            ground.registry.add(note)


def test_nothing_is_committed_to_here(ground: Ground) -> None:
    wanted = CommitmentOrder("a1", PurchaseOption.RESERVED, "small", 1, Payment.NONE, count=1)
    with pytest.raises(NotFoundError):
        ground.cloud().quote(wanted)
    with pytest.raises(RefusedError):
        ground.cloud().cancel("anything")
    assert ground.cloud().commitments() == ()


def test_spot_is_not_to_be_had_here(ground: Ground) -> None:
    spot = Launch("a1", "web", "small", "local", 1, Owner(LINEAGE, "shop", "0"), option=PurchaseOption.SPOT)
    with pytest.raises(RefusedError):
        ground.cloud().launch(spot)


def test_what_passes_is_gone_with_its_context() -> None:
    with passing_host() as host:
        host.start(["one"], "#!/bin/sh\necho hi\nsleep 1000\n", Size(1, 0.5))
        until(lambda: "hi" in host.console("one"))
        pids = host.processes()["one"]
        assert pids
    assert all(orphans.is_dead(pid) for pid in pids)
