"""What happened over the time of a run, held against what the engine and the cloud did, and its picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from operating import World, closed_after, job

from hcloud.cli.main import run as cli
from hcloud.planning.reports.course import QUEUED, RENTED, RESERVED, course_of
from hcloud.usecases.reports.quality import course_of_journal
from hcloud.views.page.drawn import standalone
from hcloud.views.reports.course import course_picture


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every world lets go of its journal."""
    with closed_after(monkeypatch):
        yield


def world_of(path: Path, strategy: str, pool: int) -> World:
    orders = [job(f"j{n}", cores=4, seconds=600.0, submit=90.0 * n) for n in range(12)]
    world = World.of(path, orders, strategy, pool)
    world.rhythm = replace(world.rhythm, period=10.0, look=60.0)
    world.run()
    return world


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "pool"), [("SR", 1), ("OdF", 0), ("HM", 1)])
def test_the_course_adds_up_to_what_was(tmp_path: Path, strategy: str, pool: int) -> None:
    world = world_of(tmp_path / "j", strategy, pool)
    assert world.loop is not None
    found = course_of_journal(world.path)
    seconds = found.step * len(found.demand)
    came = {o.id: o.submit for o in world.source.orders}
    asked = sum(4 * (r.began + r.seconds - came[r.job]) for r in world.engine.ran)
    assert found.demand.mean() * seconds == pytest.approx(asked, rel=0.05)
    machines = world.cloud.ledger.machines.values()
    vcpus = {"small": 2, "large": 8}
    charged = sum(vcpus[m.instance_type] * ((m.asked_to_end or 0) - m.made_at) for m in machines)
    assert (found.reserved + found.rented).mean() * seconds == pytest.approx(charged, rel=0.02)
    assert found.reserved.any() == (pool > 0)
    assert found.rented.any() == (strategy != "SR")
    placed = sum(sum(found.decisions.get(kind, ())) for kind in (RESERVED, RENTED))
    assert placed == 12
    if strategy == "SR":
        waiting = [
            sum(came[r.job] <= t < r.began for r in world.engine.ran)
            for t in np.arange(found.start, found.start + seconds)
        ]
        assert found.queue.max() == pytest.approx(max(waiting), abs=1)
        assert sum(found.decisions[QUEUED]) == 10


@pytest.mark.slow
def test_its_picture_has_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = world_of(tmp_path / "journal.jsonl", "SR", 1)
    drawn = course_picture(course_of_journal(world.path), "A run")
    text = standalone(drawn, "A run")
    for said in ("demand of jobs", "reserved", "jobs in the queue", "decisions", "to a reserved machine", "vCPUs"):
        assert said in text, said
    assert "NaN" not in text
    assert cli(["report", "quality", str(world.path), "-o", "html"]) == 0
    assert "Over time" in capsys.readouterr().out


def test_of_nothing_there_is_a_picture_too() -> None:
    assert "Decisions" in course_picture(course_of((), ()), "nothing").alternative
