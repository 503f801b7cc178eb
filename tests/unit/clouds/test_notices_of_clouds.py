"""A cloud says that it takes machines away: jobs leave them before, judged by what the cloud and the engine did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest
from operating import World, closed_after, job

from hcloud.errors import Call, DeniedError
from hcloud.fake.faults import FaultPlan
from hcloud.fake.world import MAINTENANCE_NOTICE_SECONDS
from hcloud.live.operating.loop import OperatingLoop
from hcloud.live.operating.losing import HEEDED_SECONDS
from hcloud.model.holdings.live import Notice
from hcloud.model.running.decision import Decision, DecisionAction, Entry
from hcloud.model.running.event import Closing
from hcloud.model.running.note import Held
from hcloud.readers.bundle import bundled
from hcloud.store.journals.live import read_whole

TOLD = 40
BEGINS = TOLD + MAINTENANCE_NOTICE_SECONDS


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every world lets go of its journal."""
    with closed_after(monkeypatch):
        yield


def maintained(path: Path, strategy: str, pool: int, seconds: float, *, restartable: bool) -> World:
    """A job of so many seconds on a machine whose maintenance is told 40 s after the beginning."""
    plan = FaultPlan.model_validate({"maintenance": [TOLD]})
    orders = [job("one", seconds=seconds, restartable=restartable)]
    return World.of(path / "j", orders, strategy, pool, plan=plan)


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "pool"), [("SR", 1), ("OdF", 0)])
def test_a_job_that_may_begin_anew_leaves_at_once(tmp_path: Path, strategy: str, pool: int) -> None:
    world = maintained(tmp_path, strategy, pool, 300.0, restartable=True)
    world.run()
    world.check(completed=1)
    first, second = world.engine.ran
    began = world.cloud.faults.started
    assert first.stopped is not None
    assert TOLD <= first.stopped - began < TOLD + 20, "it is ended long before its machine is"
    assert second.machine != first.machine


@pytest.mark.parametrize(("strategy", "pool"), [("SR", 1), ("OdF", 0)])
def test_a_job_that_may_not_begin_anew_ends_where_it_is(tmp_path: Path, strategy: str, pool: int) -> None:
    """And nothing new begins there meanwhile."""
    world = maintained(tmp_path, strategy, pool, 200.0, restartable=False)
    world.source.orders.append(job("two", seconds=10.0, submit=world.now + TOLD + 20))
    world.run()
    world.check(completed=2)
    one, two = sorted(world.engine.ran, key=lambda ran: ran.job)
    assert one.machine != two.machine
    told = [n.why for n in read_whole(tmp_path / "j").lines if isinstance(n, Held) and "takes it away" in n.why]
    assert len(told) == 1, "it is said once, not each time that is looked"


def is_put(entry: Entry) -> TypeGuard[Decision]:
    return isinstance(entry, Decision) and entry.action is DecisionAction.PLACE


def test_no_job_is_put_on_a_machine_of_which_there_is_notice(tmp_path: Path) -> None:
    """It has room: before the notice a second job was put there, one that comes after it waits for another machine."""
    world = maintained(tmp_path, "SR", 1, 200.0, restartable=False)
    world.source.orders += [job("two", seconds=10.0), job("three", seconds=10.0, submit=world.now + TOLD + 20)]
    loop = world.run()
    world.check(completed=3)
    entries = read_whole(tmp_path / "j").entries
    [closing] = [at for at, entry in enumerate(entries) if isinstance(entry, Closing)]
    put = [(at, d.job, d.instance) for at, d in enumerate(entries) if is_put(d)]
    assert sorted((job, number) for at, job, number in put if at < closing) == [("one", 0), ("two", 0)]
    assert [job for at, job, number in put if at > closing and number != 0] == ["three"] == [j for a, j, _ in put[2:]]
    assert loop.fold.is_finished


def test_what_takes_longer_than_is_left_is_lost_and_said_so(tmp_path: Path) -> None:
    world = maintained(tmp_path, "SR", 1, 2000.0, restartable=False)
    loop = world.run()
    world.check(completed=0)
    assert loop.fold.jobs["one"].result == "lost"
    [ran] = world.engine.ran
    assert ran.stopped is not None
    assert 0 < world.cloud.faults.started + BEGINS - ran.stopped <= 120, "it had all the time there was"


def test_a_notice_of_what_is_far_away_changes_nothing_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcloud.fake.world.MAINTENANCE_NOTICE_SECONDS", HEEDED_SECONDS + 1000)
    world = maintained(tmp_path, "SR", 1, 300.0, restartable=True)
    world.run()
    world.check(completed=1)
    assert len(world.engine.ran) == 1


def test_a_cloud_that_does_not_let_us_see_notices_is_worked_with_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = maintained(tmp_path, "SR", 1, 60.0, restartable=True)

    def denied(lineage: str) -> tuple[Notice, ...]:
        raise DeniedError("ec2:DescribeInstanceStatus is not allowed", Call("aws", "here", "DescribeInstanceStatus"))

    monkeypatch.setattr(world.cloud, "notices", denied)
    said: set[str] = set()

    def listen(loop: OperatingLoop) -> bool:
        said.update(loop.desk.troubles.values())
        return False

    world.run(until=listen)
    world.check(completed=1)
    assert any("DescribeInstanceStatus" in why for why in said)


def test_a_job_leaves_a_spot_machine_when_its_cloud_says_so_and_not_when_it_ends(tmp_path: Path) -> None:
    """Two minutes before: what began anew after the end would have lost them."""
    text = (bundled("policies") / "OdM.yaml").read_text()
    below = "{below_quality: {value: 1.0, unit: quality, origin: C, source: ours, why: a test}}"
    (tmp_path / "spot.yaml").write_text(
        text.replace("  spot:\n    rule: none", f"  spot:\n    rule: tolerant-batch\n    parameters: {below}")
    )
    plan = FaultPlan.model_validate({"spot_notices": [TOLD]})
    orders = [job("one", seconds=300.0, restartable=True)]
    world = World.of(tmp_path / "j", orders, str(tmp_path / "spot.yaml"), 0, plan=plan)
    world.run()
    world.check(completed=1)
    first, second = world.engine.ran
    machines = world.cloud.ledger.machines
    assert (machines[first.machine].spot, machines[second.machine].spot) == (True, False)
    ended = machines[first.machine].asked_to_end
    began = world.cloud.faults.started
    assert ended is not None
    assert ended < began + TOLD + 20, "it is not paid for until it is taken"
