"""What live work cost beside what SR and OdF would have cost for the same jobs, by one formula of prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from operating import World, closed_after, job, setup_of

from hcloud.model.running.alternatives import CostComparison, StrategyCost
from hcloud.model.running.job import in_pieces
from hcloud.policy.facts import TypeFacts
from hcloud.readers.configuration.config import load_config
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.store.journals.journal import LiveOrigin
from hcloud.usecases.live.operating.compared import compared

TODAY = date(2026, 11, 23)
HOUR = Decimal(3600)


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every world lets go of its journal."""
    with closed_after(monkeypatch):
        yield


def world_of(path: Path, strategy: str, pool: int, place: tuple[str, str], names: tuple[str, str]) -> World:
    """Four jobs at once for a thousand seconds, then one at a time, each of two vCPUs."""
    at = [0.0] * 4 + [1000.0 * n for n in range(1, 6)]
    orders = [job(f"j{n}", cores=2, seconds=900.0, submit=when) for n, when in enumerate(at)]
    world = World.of(path, orders, strategy, pool)
    types = tuple(TypeFacts(n, c, c * 4, 5.0, 9000) for n, c in zip(names, (2000, 8000), strict=True))
    world.setup = setup_of(strategy, pool, types)
    world.cloud.world.semantics = replace(world.cloud.world.semantics, types=tuple(sorted(names)))
    world.origin = LiveOrigin("0" * 32, place[0], "test", place[1], "fake")
    world.rhythm = replace(world.rhythm, period=20.0, look=100.0)
    return world


def costs(found: CostComparison) -> dict[str, StrategyCost]:
    return {c.strategy: c for c in found.costs}


@pytest.mark.slow
def test_this_machine_costs_hours_of_its_vcpus(tmp_path: Path) -> None:
    world = world_of(tmp_path / "j", "HF", 1, ("local", "local"), ("medium", "large"))
    loop = world.run()
    world.check(completed=9)
    found = compared(world.path, load_config(None), TODAY)
    assert found.unit == "vCPU-hours"
    assert "no price" in found.notes[0]
    told = costs(found)
    assert set(told) == {"HF", "SR", "OdF"}
    began, ended = (f(r.began for r in world.engine.ran) for f in (min, max))
    own = told["HF"]
    assert float(own.reserved) == pytest.approx(8 * (ended + 900 - began) / 3600, rel=0.02)
    assert float(own.total) == pytest.approx(loop.fold.core_seconds(world.now) / 3600, rel=0.05)
    assert told["SR"].servers == 2, "eight vCPUs and 15 %"
    assert not told["SR"].rented
    assert float(told["SR"].total) == pytest.approx(16 * 5900 / 3600, rel=0.02)
    assert float(told["OdF"].total) == pytest.approx(9 * 8 * 905 / 3600, rel=0.3), "whole servers, kept for a while"
    assert told["OdF"].reserved == 0


@pytest.mark.slow
def test_a_cloud_is_priced_by_its_book(tmp_path: Path) -> None:
    """The cost of what ran, reckoned here from the journal's own rentals and the list prices."""
    names = ("m5.large", "m5.2xlarge")
    world = world_of(tmp_path / "j", "OdM", 0, ("aws", "us-east-1"), names)
    world.run()
    found = compared(world.path, load_config(None), TODAY)
    book = load_bundled(regions={"us-east-1"})
    hourly = {
        o.key.instance_type: o.hourly
        for o in book.offers.values()
        if o.key.instance_type in names and (o.key.option, o.key.os) == ("on-demand", "linux")
    }
    machines = world.cloud.ledger.machines.values()
    seconds = {m.id: int(m.asked_to_end or 0) - int(m.made_at) for m in machines}
    expected = sum((hourly[m.instance_type] * seconds[m.id] / HOUR for m in machines), Decimal(0))
    told = costs(found)
    assert round(told["OdM"].rented, 6) == round(expected, 6)
    assert told["OdM"].reserved == 0
    assert told["SR"].reserved > told["OdM"].rented / 10
    assert any("1 year" in note for note in found.notes)


def test_machines_of_others_end_with_the_work_as_ours_do(tmp_path: Path) -> None:
    """OdF keeps a whole server for minutes: not where the work ends before (a minute more, for it starts later)."""
    world = world_of(tmp_path / "j", "OdM", 0, ("aws", "us-east-1"), ("m5.large", "m5.2xlarge"))
    del world.source.orders[1:]
    world.run()
    lasted = Decimal(int(world.now - world.source.orders[0].submit) + 60)
    told = costs(compared(world.path, load_config(None), TODAY))
    assert 0 < told["OdF"].rented <= Decimal("0.384") * lasted / HOUR


def test_a_strategy_is_not_compared_with_itself(tmp_path: Path) -> None:
    world = world_of(tmp_path / "j", "SR", 2, ("local", "local"), ("medium", "large"))
    world.run()
    assert [(c.strategy, c.simulated) for c in compared(world.path, load_config(None), TODAY).costs] == [
        ("SR", False),
        ("OdF", True),
    ]


@pytest.mark.slow
def test_work_that_goes_on_is_compared_so_far(tmp_path: Path) -> None:
    """A job that runs counts as long as it ran: the more of it, the more all of them cost."""
    world = world_of(tmp_path / "j", "HF", 1, ("local", "local"), ("medium", "large"))
    totals: dict[str, list[Decimal]] = {}
    for seconds in (400, 800, 2500):
        begins = world.source.orders[0].submit
        world.run(until=lambda loop, until=begins + seconds: world.now > until)  # type: ignore[misc]
        found = compared(world.path, load_config(None), TODAY, world.now)
        if seconds < 900:
            assert "4 jobs still running" in found.notes[-1]
        for name, cost in costs(found).items():
            totals.setdefault(name, []).append(cost.total)
    assert set(totals) == {"HF", "SR", "OdF"}
    for each in totals.values():
        assert each[0] < each[1] < each[2]


@pytest.mark.slow
def test_where_there_is_nothing_to_compare_it_says_why(tmp_path: Path) -> None:
    """Before a job has ended, for a type without a price, and (at the end) for a journal that is long."""
    world = world_of(tmp_path / "j", "OdM", 0, ("aws", "us-east-1"), ("no-such", "m5.2xlarge"))
    world.start()
    assert compared(world.path, load_config(None), TODAY) == CostComparison(), "no job came: there is nothing to say"
    world.run(until=lambda loop: bool(loop.fold.active))
    assert "no usable job" in compared(world.path, load_config(None), TODAY).notes[0]
    world.run()
    found = compared(world.path, load_config(None), TODAY)
    assert found.costs == ()
    assert "no-such" in found.notes[0]
    (tmp_path / "long").mkdir()
    world = world_of(tmp_path / "long" / "journal.jsonl", "OdM", 0, ("local", "local"), ("medium", "large"))
    world.long = 3_000
    world.run()
    assert "--compare" in compared(world.path, load_config(None), TODAY, at_end=True).notes[0]
    assert len(compared(world.path, load_config(None), TODAY).costs) == 3


@pytest.mark.slow
def test_the_pieces_of_a_job_that_ran_are_not_left_out(tmp_path: Path) -> None:
    world = world_of(tmp_path / "j", "SR", 2, ("local", "local"), ("medium", "large"))
    world.source.orders += in_pieces(job("g", cores=4, seconds=900.0), 2)
    world.run()
    world.check(completed=10)
    found = compared(world.path, load_config(None), TODAY)
    assert not [note for note in found.notes if "left out" in note]
