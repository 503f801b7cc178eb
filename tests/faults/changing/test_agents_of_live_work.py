"""Agents of live work are processes that may end at any point: no job is lost and none begun twice, by the ledgers."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from operating import World, closed_after, job

from hcloud.control.sessions.session import ControlSession
from hcloud.errors import HcloudError
from hcloud.live.operating.agents import Agents
from hcloud.model.running.event import Arrival
from hcloud.model.running.job import in_pieces
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.files.crash import CrashAt
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.live.operating.agents import POINTS, AgentProcess, serve

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")
SINGLE, COUNT, TAKEOVER = 8, 2, 1.0
PIECES = {"g0": 3, "g1": 2}
NAMES = [*(f"j{n}" for n in range(SINGLE)), *(f"{g}.{n + 1}" for g, count in PIECES.items() for n in range(count))]


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


class Crew:
    """Begins agents as forks of this process; the first so many of them come to a crash point."""

    def __init__(self, crash: Callable[[], Callable[[str], None]], crashing: int) -> None:
        self.crash, self.crashing, self.begun = crash, crashing, 0
        self.pids: set[int] = set()

    def start(self, session: ControlSession) -> AgentProcess:
        told, answered = os.pipe(), os.pipe()
        self.begun += 1
        crash = self.crash() if self.begun <= self.crashing else lambda name: None
        pid = os.fork()
        if pid == 0:
            os.close(told[1])
            os.close(answered[0])
            with suppress(HcloudError, OSError), os.fdopen(told[0], "rb") as lines:
                serve(lines, lambda line: os.write(answered[1], line), plain(), crash)
            os._exit(0)
        os.close(told[0])
        os.close(answered[1])
        self.pids.add(pid)

        def kill() -> None:
            self.pids.discard(pid)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(told[1])
            os.close(answered[0])

        return AgentProcess(session, told[1], answered[0], kill)

    def of(self, session: ControlSession) -> Agents:
        return Agents(session, self.start, COUNT, TAKEOVER)

    def settle(self) -> None:
        """Until each has read all that it was told, or has ended: it sleeps then, however busy the machine is."""
        while any(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "RD" for pid in self.pids):
            time.sleep(0.001)


def world_with(crew: Crew, path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """More jobs than two servers hold at a time, some on several; a pass lasts until all processes have done what they
    were told."""
    given = [job(f"j{n}", cores=2.0, seconds=20.0, submit=3.0 * (n // 4)) for n in range(SINGLE)]
    for name, count in PIECES.items():
        given += in_pieces(job(name, cores=2.0 * count, seconds=20.0, submit=3.0), count)
    world = World.of(path, given, "SR+tarcil", 2)
    world.agents = crew.of
    wait = world.engine.wait

    def waiting(seconds: float) -> None:
        crew.settle()
        wait(seconds)

    monkeypatch.setattr(world.engine, "wait", waiting)
    return world


def arrivals(world: World) -> list[Arrival]:
    return [e for e in read_journal(world.path).events if isinstance(e, Arrival)]


def judge(world: World) -> None:
    """No job lost, none begun twice, pieces begun together, and the journal replays."""
    world.check(completed=SINGLE + len(PIECES))
    assert Counter(ran.job for ran in world.engine.ran) == dict.fromkeys(NAMES, 1)
    assert Counter(e.job for e in arrivals(world)) == dict.fromkeys(NAMES, 1)
    for name in PIECES:
        assert len({ran.began for ran in world.engine.ran if ran.job.startswith(f"{name}.")}) == 1


@pytest.mark.parametrize("point", sorted(POINTS))
def test_an_agent_that_ends_at_a_point_loses_nothing(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = point if point == "agent.copied" else f"{point}|2"
    crew = Crew(lambda: CrashAt(chosen), crashing=3)
    world = world_with(crew, tmp_path / "journal.jsonl", monkeypatch)
    world.run()
    judge(world)
    assert crew.begun >= COUNT + 3, "three agents ended and were begun anew"
    told = arrivals(world)
    assert {e.agent for e in told if e.ranked} == {0, 1}, "both agents decided"
    assert all(not e.ranked or e.job in ("g0.3", "g1.2") for e in told if e.pieces > 1), "on all pieces at once"


def test_a_job_of_which_every_agent_dies_is_decided_on_by_the_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = Crew(lambda: CrashAt("agent.asked"), crashing=1_000)
    world = world_with(crew, tmp_path / "journal.jsonl", monkeypatch)
    world.run()
    judge(world)
    told = arrivals(world)
    assert not any(e.ranked for e in told)
    late = [e.at - e.submitted for e in told if e.submitted is not None]
    assert min(late) >= TAKEOVER, "another agent was asked first, after a while"


def test_what_was_open_when_the_controller_itself_ended_is_decided_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = Crew(lambda: CrashAt("agent.answered|3"), crashing=2)
    world = world_with(crew, tmp_path / "journal.jsonl", monkeypatch)
    world.kill_at = ("operate.begin", 5)
    world.run()
    judge(world)


def test_an_agent_that_stands_still_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stand_still(name: str) -> None:
        if name == "agent.asked":
            signal.pause()

    crew = Crew(lambda: stand_still, crashing=1)
    world = world_with(crew, tmp_path / "journal.jsonl", monkeypatch)
    world.run()
    judge(world)
    assert crew.begun == COUNT + 1
