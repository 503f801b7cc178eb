"""A reserve of several families: whole servers are rented of the one that suits a job, and each type is replaced by its
own; in the engine, in its journal, and in a controller that replays it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from simulating import Row, changed, excerpt, jobs_of, setting_of, tasks_in, was_roomy, world_of

from hcloud.control.sessions.story import Story
from hcloud.model.running.event import EventError, Lost, Pool
from hcloud.model.workload import Jobs
from hcloud.planning.strategies.own_fleet import STRATEGY
from hcloud.readers.strategies import load_strategy
from hcloud.sim.kernels.world import SimulatedWorld
from hcloud.sim.machine_code.compiled import SIMULATE, compiled, plain
from hcloud.sim.machine_code.objects import as_objects, write_back
from hcloud.sim.outcomes.covered import apart_beside
from hcloud.sim.run import charges, run
from hcloud.sim.setup.build import Setting, rental_kinds
from hcloud.sim.setup.shop import ShopChoice, SmallerReserve, open_shop
from hcloud.sim.setup.variation import parse_axis, varied_cloud
from hcloud.store.journals.journal import read_journal, save_journal
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.usecases.prices.pricing import open_book
from hcloud.usecases.reports.rented import rented_in
from hcloud.usecases.studies.journal import journal_entries, setup_of_run
from hcloud.usecases.studies.simulation import Study, setting_for

LEAN, FAT, SMALLER = "n1-standard-16", "n1-highmem-16", "n1-standard-8"
LOSSES = "lost_per_hour=1"


@cache
def families(strategy: str, *faults: str) -> Setting:
    """Two servers of the dearer family, one of the other one, two of half its size."""
    shop = open_shop(open_book(), replace(ShopChoice.paper(), patterns=("n1-standard*", "n1-highmem*")))
    names = [one.shape.name for one in shop.types]
    shop, setting = replace(shop, large=names.index(FAT)), setting_of(strategy, 2)
    cloud = varied_cloud(setting.cloud, [change for fault in faults for change in parse_axis(f"cloud.faults.{fault}")])
    beside = SmallerReserve(LEAN, 1, shop.reserved), SmallerReserve(SMALLER, 2, shop.reserved)
    return replace(setting, shop=shop, cloud=cloud, beside=beside)


def mixed() -> Jobs:
    """The last few want more GiB than a whole server of the cheaper family has."""
    jobs = excerpt(120)
    return replace(jobs, memory=np.where(np.arange(len(jobs)) < 117, jobs.cores, 80.0))


def on_objects(world: SimulatedWorld, until: int) -> None:
    objects = as_objects(world)
    assert plain()[SIMULATE](objects, until)
    write_back(objects, world)


@pytest.mark.parametrize("strategy", ["HF", STRATEGY])
def test_a_whole_server_is_of_the_family_that_suits_the_job(strategy: str) -> None:
    """All were of the dearest family, whatever the job wanted."""
    setting = families(strategy)
    made = run(setting, tasks_in(setting, mixed()), journal=True)
    bought = {one.offer.key.instance_type for one in charges(made)}
    assert {LEAN, FAT} <= bought
    setup = setup_of_run(made)
    assert {setup.types[kind].name for kind in setup.wholes} == {LEAN, FAT}
    assert setup.types[setup.whole_for(2_000, 4_096, 0)].name == LEAN
    assert setup.types[setup.whole_for(2_000, 61_441, 0)].name == FAT, "the cheaper one has no such memory"
    assert setup.whole_for(17_000, 1_024, 0) == -1
    with pytest.raises(EventError, match="n1-standard-1: none of it is reserved, only n1-highmem-16, n1-standard-16"):
        setup.reserved_as("n1-standard-1")
    list(journal_entries(made, setup))  # a controller that is told the events decides as the engine did


def test_compiled_and_plain_write_the_same() -> None:
    setting, lines = families("HF", LOSSES), []
    tasks = tasks_in(setting, mixed())
    for simulate in (on_objects, compiled()[SIMULATE]):
        world = world_of(setting, tasks)
        simulate(world, len(tasks) + 1)
        assert was_roomy(world)
        lines.append(np.asarray(world.lines).tobytes() + world.series.tobytes())
    assert lines[0] == lines[1]


def test_a_reserved_server_that_is_lost_is_replaced_by_one_of_its_type() -> None:
    """Those of the smaller types were never lost, and live the large type stood in for them."""
    setting = families("HF", LOSSES)
    rows: list[Row] = [(10.0 * at, 9_000.0, 2.0, 4.0, 0) for at in range(30)]
    made = run(setting, tasks_in(setting, jobs_of(rows)), journal=True)
    setup = setup_of_run(made)
    entries = tuple(journal_entries(made, setup))
    lost = {entry.instance for entry in entries if isinstance(entry, Lost)}
    assert lost & {0, 1}, "of the large type"
    assert lost & {3, 4}, "of the smaller one"
    assert {entry.type for entry in entries if isinstance(entry, Pool)} == {None, LEAN, SMALLER}
    rented = rented_in(setup, entries, 0)
    assert rented.pool == {FAT: 2, LEAN: 1, SMALLER: 2}
    seconds = sum((rental.end or 0) - rental.start for rental in rented.rented if rental.address != "reserved")
    assert seconds >= sum(charge.seconds for charge in charges(made))


def test_without_a_reserve_whole_servers_of_all_its_families_are_rented() -> None:
    """All on demand, which a plan is compared with, was rented of the dearest."""
    there = families("HF")
    study = Study(mixed(), there.cloud, there.shop, True, 7, beside=there.beside)
    bare = setting_for(study, load_strategy("OdF"), 0)
    kinds = rental_kinds(bare)
    assert {t.shape.name for at, t in enumerate(bare.shop.types) if kinds[at].whole} == {LEAN, FAT}
    assert bare.servers == 0


def test_an_explanation_names_the_family_of_which_a_whole_server_is_rented(tmp_path: Path) -> None:
    """The large one was named. A journal that does not say which are rented whole is of a time when only that one was:
    it was replayed as if others had been."""
    setting, path = families("HM"), tmp_path / "run.journal"
    made = run(setting, tasks_in(setting, excerpt(100)), journal=True)
    setup = setup_of_run(made)
    save_journal(setup, journal_entries(made, setup), path)
    read = read_journal(path)
    assert read.setup == setup
    rented = [d for d in read.decisions if d.reason == "wait-too-long" and d.place == f"on-demand {LEAN}"]
    assert all(f"that {LEAN} takes to start" in d.why for d in rented)
    waits = next(d for d in read.decisions if d.reason == "type-good-enough")
    assert rented
    assert waits.job
    found = explain_job(path, waits.job)
    assert isinstance(found, Story)
    assert found.considered is not None
    assert f"on-demand {LEAN} at once" in {one.option for one in found.considered.refused}
    path.write_text(path.read_text("utf-8").replace(',"wholes":', ',"other":', 1), "utf-8")
    assert {setup.types[kind].name for kind in read_journal(path).setup.wholes} == {FAT}


def test_what_is_idle_beside_what_is_rented_is_told_where_jobs_are_kept_apart() -> None:
    setting = setting_of("HC", 4)
    tasks = tasks_in(setting, excerpt(300))
    made = run(setting, tasks)
    assert 0 < apart_beside(made) <= 1 - made.world.series[: made.world.tally.samples, 1].mean() / 64
    packed = changed(setting.strategy, "mapping", interference_is_full=False)
    assert apart_beside(run(replace(setting, strategy=packed), tasks)) == 0
