"""Live work on every cloud that listens, with all that may befall it: what 'hcloud report cost' says of it is the
fake's own bill, to the cent, of all together and of each machine."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from operating import FakeEngine, GivenJobs, World, job, setup_of
from renting import Renting, billed_by, opened

from hcloud.catalog.bills.billing import charges
from hcloud.catalog.bills.terms import Tariff
from hcloud.control.ports import Cloud
from hcloud.fake.ledger import Rented
from hcloud.live.operating.terms import Rhythm
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.job import JobOrder
from hcloud.planning.reports.report import Report
from hcloud.policy.facts import TypeFacts
from hcloud.store.journals import live as journal_file
from hcloud.store.journals.journal import LiveOrigin
from hcloud.store.journals.live import read_whole
from hcloud.units import cents
from hcloud.usecases.reports.rented import rented_live
from hcloud.usecases.reports.report import RequestedPeriod

BEGIN = datetime(2026, 11, 29, 22, 11, 12, 700_000, tzinfo=UTC)
HOUR, END_DELAY = 3600.0, 45.0
SLOWLY = Rhythm(period=60.0, look=600.0, join=600.0, settled=0.0, again=60.0)


@dataclass
class Listening:
    """A fake that listens as the tests of live work know one in memory: calls go over the wire, its clock and its
    ledger are at hand."""

    renting: Renting
    provider: Cloud

    def __getattr__(self, name: str) -> Any:
        return getattr(self.provider, name)

    @property
    def clock(self) -> Any:
        return self.renting.rig.fake.clock

    @property
    def ledger(self) -> Any:
        return self.renting.rig.fake.ledger

    @property
    def world(self) -> Any:
        fake: Any = self.renting.rig.fake
        return SimpleNamespace(settle=fake.settle, semantics=SimpleNamespace(zones=self.renting.rig.zones[:2]))


@pytest.fixture(params=["aws", "gcp", "azure"])
def renting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Renting]:
    found = opened(request.param, tmp_path)
    yield found
    found.rig.close()


def world_of(renting: Renting, orders: list[JobOrder], strategy: str, pool: int) -> World:
    """Live work on a fake that listens, at the prices that it asks."""
    cloud: Any = Listening(renting, renting.rig.cloud())
    types = tuple(
        TypeFacts(name, cores, 16_384, 60.0, 9000) for name, cores in zip(sold(renting), (2000, 8000), strict=True)
    )
    path = renting.directory / ".hcloud" / "operate" / "journal.jsonl"
    path.parent.mkdir(parents=True)
    scope, begins = cloud.scope(), cloud.clock.now()
    return World(
        path,
        setup_of(strategy, pool, types),
        cloud,
        FakeEngine(cloud, join_after=40.0),
        GivenJobs([replace(order, submit=begins + order.submit) for order in orders]),
        SLOWLY,
        origin=LiveOrigin("0123456789abcdef0123456789abcdef", scope.cloud, scope.account, scope.region, "fake"),
        price=lambda name, option: renting.hourly(name, spot=option is PurchaseOption.SPOT),
    )


def sold(renting: Renting) -> tuple[str, str]:
    """The two types, the one that commitments are sold for as the large one."""
    large, small = renting.kind.types
    return small, large


def jobs(count: int) -> list[JobOrder]:
    """Jobs of odd lengths up to an hour and a half, two at a time."""
    return [
        job(f"j{n}", cores=1 + n % 3, seconds=300.0 + 617.0 * (n % 9), submit=431.0 * (n // 2), restartable=n % 3 == 0)
        for n in range(count)
    ]


def test_what_live_work_cost_is_what_the_cloud_itself_bills(renting: Renting) -> None:
    """With commitments, a kill, a launch that is refused, one whose answer is lost, and machines that are lost."""
    renting.begin(BEGIN)
    for one in renting.kind.sold[:2]:
        renting.buy(*one)
    world = world_of(renting, jobs(18), "HM", 2)
    operate(renting, world)
    assert not renting.rig.live()
    renting.rig.later(9 * HOUR)
    judge(renting)
    assert len(renting.rig.rented()) > 6
    assert len(list(world.path.parent.glob("journal*.jsonl"))) > 2, "it began anew"
    notes = renting.report(RequestedPeriod(BEGIN.date())).notes
    silent = any("of 2 machines the cloud reported no end" in note for note in notes)
    assert silent == (renting.kind.rig == "azure"), "who reads it is told which ends nobody told"
    of_its_journal(renting, world)


RENEWING = ("write", "link", "replace", "replaced")
"""What is written is as it is before it is linked, and what is linked as it is before it takes the other's place."""


@pytest.mark.parametrize("renting", ["aws"], indirect=True)
@pytest.mark.parametrize("point", RENEWING)
def test_a_journal_that_is_killed_while_it_begins_anew_keeps_every_machine(
    renting: Renting, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step on the disk, while machines stand at a cloud that listens."""
    renting.begin(BEGIN)
    world = world_of(renting, jobs(8), "HM", 1)
    world.long, world.kill_at = 4_000, (f"renew.{point}", 1)
    steps = (os, "link", "link"), (Path, "replace", "replace"), (journal_file, "_written", "write")
    for owner, name, step in steps:
        monkeypatch.setattr(owner, name, between(world, getattr(owner, name), step))
    try:
        world.run()
        world.check(completed=8)
        assert world.points[f"renew.{point}"], "it was killed there"
    finally:
        world.close()
    assert not renting.rig.live()
    judge(renting)
    of_its_journal(renting, world)


def between(world: World, done: Callable[..., Any], step: str) -> Callable[..., Any]:
    """A step on the disk, with a point before it and one behind it."""

    def does(*what: Any) -> Any:
        world.crash(f"renew.{step}")
        made = done(*what)
        world.crash("renew.written" if step == "write" else f"renew.{step.rstrip('e')}ed")
        return made

    return does


def operate(renting: Renting, world: World) -> None:
    """Run it, and let happen to it what may."""
    rig = renting.rig
    world.kill_at, world.long = ("operate.noted", 9), 6_000
    refused = {"on": rig.words.launch, "answer": "no-capacity", "calls": [3, 5]}
    lost = {"on": rig.words.launch, "answer": "dropped-after", "calls": [4]}
    rig.faults({"rules": [refused, lost], "end_delay": END_DELAY})
    try:
        begun(world, 8)
        for reserved in (True, False):
            rig.fake.edit({"terminate": in_use(world, reserved=reserved).id})
            begun(world, 3)
        judge(renting)  # in the middle, too: some still run
        loop = world.run()
        world.check()
        assert world.points["operate.noted"] > 9, "it was killed there"
        assert set(loop.fold.results.counted) <= {"completed", "lost"}
    finally:
        world.close()


def begun(world: World, more: int) -> None:
    """Go on until so many more jobs have begun."""
    wanted = len(world.engine.ran) + more
    world.run(until=lambda loop: len(world.engine.ran) >= wanted)


def in_use(world: World, *, reserved: bool) -> Rented:
    """A machine on which something runs."""
    there = world.cloud.ledger.machines
    running = [r for r in world.engine.ran if world.now < r.began + r.seconds and there[r.machine].asked_to_end is None]
    return there[next(r.machine for r in running if (r.instance < world.setup.pool) == reserved)]


def judge(renting: Renting) -> None:
    """Of each machine and purchase, and of all together, the report says what the fake's bill says."""
    report = renting.report(RequestedPeriod(BEGIN.date()))
    billed = renting.bill(report.period)
    assert by_resource(report) == in_cents(billed_by(billed, "resource"))
    assert cents(sum((c.costs.billed for c in report.charges), Decimal(0))) == cents(billed.total)
    assert billed.total > Decimal("0.1")


def of_its_journal(renting: Renting, world: World) -> None:
    """The report of the journal alone, which knows of no commitment, says what the fake bills without any."""
    renting.rig.fake.ledger.purchases.clear()
    known = read_whole(world.path)
    told = rented_live(known)
    assert known.live is not None
    tariff = Tariff(renting.book(), renting.kind.provider, known.live.region)
    rows = charges(told.rented, (), tariff, told.period)
    billed = renting.bill(told.period)
    assert {c.resource for c in rows} == {m.id for m in renting.rig.rented()}
    assert cents(sum((c.costs.billed for c in rows), Decimal(0))) == cents(billed.total)


def by_resource(report: Report) -> dict[str, Decimal]:
    """Billed dollars of each machine and purchase, in cents."""
    found: defaultdict[str, Decimal] = defaultdict(Decimal)
    for charge in report.charges:
        found[charge.resource or charge.commitment] += charge.costs.billed
    return in_cents(found)


def in_cents(dollars: Mapping[str, Decimal]) -> dict[str, Decimal]:
    return {name: cents(amount) for name, amount in dollars.items() if cents(amount)}
