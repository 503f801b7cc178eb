"""The screen of live work on terminals of any width: nothing is cut off, and it says of what a figure is."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from operating import World, closed_after, job, setup_of
from rich.console import Console

from hcloud.control.operating.records import MachinePhase
from hcloud.control.operating.wanted import SpendingLimits
from hcloud.policy.facts import TypeFacts
from hcloud.views.console import Terminal
from hcloud.views.live.documents import operating_document
from hcloud.views.live.operating import Moment, operating_screen, outcome_lines

NAMES = ("Standard_D2s_v5", "Standard_D16s_v5")


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every world lets go of its journal."""
    with closed_after(monkeypatch):
        yield


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Long names, a limit, and machines of which some were probed."""
    orders = [
        job(f"render-frame-{n:05d}-of-the-film", cores=1 + n % 4 * 2, seconds=400.0 + 37 * n, submit=4.0 * n)
        for n in range(30)
    ]
    world = World.of(tmp_path_factory.mktemp("busy") / "j", orders, "HM", 2)
    world.setup = setup_of(
        "HM", 2, tuple(TypeFacts(n, c, 4 * c, 30.0, 9000) for n, c in zip(NAMES, (2000, 16000), strict=True))
    )
    world.cloud.world.semantics = replace(world.cloud.world.semantics, types=tuple(sorted(NAMES)))
    world.limits, world.probe = SpendingLimits(hourly=Decimal("0.5")), lambda instance: 0.87
    world.run(until=lambda loop: len(world.engine.ran) > 20)
    world.close()
    return world


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_machine_is_one_row_at_any_width(busy: World, width: int) -> None:
    world = busy
    assert world.loop is not None
    fold, console = world.loop.fold, Console(width=width, file=io.StringIO(), record=True, force_terminal=True)
    troubles = {"cloud": "it did not answer"}
    Terminal(console, console).show(*operating_screen(fold, Moment(world.now, troubles, ("1234", "1240"), 24)))
    text = console.export_text()
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    header = next(line for line in lines if line.startswith("#") or " #  " in line[:5])
    assert header.split() == ["#", "machine", "state", "jobs", "quality", "$/h"]
    shown = [line for line in lines if line.split("  ")[0].strip().isdigit()]
    assert len(shown) == 6
    assert all(line.rstrip().endswith("0.1000") or "wanted" in line for line in shown)
    words = " ".join(text.split())
    for said in (
        "quality of service:",
        "2 jobs passed by",
        "problem with cloud",
        "$0.50/h",
        "machines more",
        "quality 0.",
    ):
        assert said in words, said
    if width >= 80:
        assert len(lines) <= 30, "little more than a terminal has"


@pytest.mark.parametrize("width", [60, 120])
def test_a_name_that_the_table_cuts_can_be_copied(tmp_path: Path, width: int) -> None:
    """All machines had jobs called "nightly-b…", and none could be cancelled by that; the live screen stays short."""
    names = [f"nightly-batch/customer-{n:04d}/ledger" for n in range(3)]
    world = World.of(tmp_path / "j", [job(name, 0.5, seconds=90.0) for name in names], "SR", 1)
    world.run(until=lambda loop: bool(world.engine.ran))
    assert world.loop is not None
    for lines in (None, 24):
        console = Console(width=width, file=io.StringIO(), record=True, force_terminal=True)
        Terminal(console, console).show(*operating_screen(world.loop.fold, Moment(world.now, lines=lines)))
        told, _, _ = console.export_text().partition("last decisions")
        assert all((name in told.replace("\n  ", "")) == (lines is None) for name in names)
        assert "nightly-b…, nightly-b… +1" in told


def test_a_queued_job_says_what_its_wait_costs_where_it_promised_a_time(tmp_path: Path) -> None:
    waits = replace(job("waits", seconds=10.0, submit=5.0), expect=30.0)
    orders = [job("runs", cores=8, seconds=500.0), waits, replace(waits, id="silent", expect=None)]
    world = World.of(tmp_path / "j", orders, "SR", 1)
    world.run(until=lambda loop: len(loop.fold.queue) == 2)
    assert world.loop is not None
    console = Console(width=200, file=io.StringIO(), record=True, force_terminal=True)
    came = world.loop.fold.jobs["waits"].came
    Terminal(console, console).show(*operating_screen(world.loop.fold, Moment(came + 10.0)))
    text = console.export_text()
    assert "waits  waits 10 s, 75% of its performance is left: " in text
    assert "silent  waits 10 s: " in text
    world.loop.fold.is_finished = True
    console = Console(width=200, file=io.StringIO(), record=True, force_terminal=True)
    for machine in world.loop.fold.standing.values():
        machine.phase = MachinePhase.WANTED
    Terminal(console, console).show(*operating_screen(world.loop.fold, Moment(came)))
    assert "wanted" not in console.export_text(), "nobody wants a machine of work that is over"


def test_work_without_machines_costs_nothing_in_any_unit(tmp_path: Path) -> None:
    """A cloud with prices was shown with vCPU-hours until its first machine stood."""
    world = World.of(tmp_path / "j", [], "OdF", 0)
    fold = world.run().fold
    assert "no cost so far" in str(operating_screen(fold, Moment(world.now))[0])
    assert "0 machines launched, none still running; no cost" in map(str, outcome_lines(fold, world.now))


def test_where_the_clock_was_set_back_nothing_counts_for_less_than_it_did(tmp_path: Path) -> None:
    """Jobs waited for -3,600 s, and machines had cost nothing yet."""
    world = World.of(tmp_path / "j", [job(name, cores=8, seconds=400.0) for name in "abc"], "SR", 1)
    fold = world.run(until=lambda loop: bool(loop.fold.queue) and world.now > loop.fold.began + 200.0).fold
    assert fold.queue
    assert fold.spent(fold.last)
    then, at = fold.last - 3600.0, datetime(2026, 11, 20, tzinfo=UTC)
    screens = [list(map(str, operating_screen(fold, Moment(seen)))) for seen in (then, fold.last)]
    assert screens[0] == screens[1]
    assert operating_document(fold, at, now=then) == operating_document(fold, at, now=fold.last)
