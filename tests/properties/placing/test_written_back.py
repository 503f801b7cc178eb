"""What jobs were measured to need sizes the next ones of their application, in the simulator as in a journal; and jobs
are measured on empty servers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulating import changed, excerpt, jobs_of, paper_shop, tasks_in
from test_watching import ADJUSTED, decisions, ground, taken, with_phases

from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import Arrival
from hcloud.model.workload import Jobs
from hcloud.policy.records import Reals
from hcloud.readers.clouds import load_cloud
from hcloud.sim.machine_code.compiled import plain
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.fitting import Room
from hcloud.sim.setup.prepare import tasks_of
from hcloud.sim.setup.shop import ShopChoice, open_shop
from hcloud.sim.setup.variation import parse_axis, varied_cloud
from hcloud.store.journals.events import event_document, parse_event
from hcloud.usecases.prices.pricing import open_book
from hcloud.usecases.studies.journal import JournalReader, setup_of_run

TARGETED = "SR+target+adjust-to-target"
UNDISTURBED = ("cloud.batch.sensitivity=0", "cloud.service.sensitivity=0")
ROOM_ON_TOP = 1.1


def of_applications(rows: list[tuple[float, float, float, float, int]], apps: list[int]) -> Jobs:
    return replace(jobs_of(rows), app=np.array(apps, np.int32), apps=tuple(f"app-{n}" for n in range(max(apps) + 1)))


def taught(name: str, pool: int, *changes: str) -> Setting:
    """A strategy whose jobs are sized by what others of their application were measured to need."""
    return ground(name, pool, *changes, sizes_next=True)


def off(setting: Setting, error: float) -> Setting:
    """The same with rows that err so much."""
    return replace(setting, strategy=changed(setting.strategy, "sizing", row_error=error))


def asked(outcome: RunOutcome) -> Reals:
    """What each job asked for as it came, in the order of decisions, by the journal."""
    entries = JournalReader(outcome, setup_of_run(outcome)).entries()
    return np.array([one.ask for one in entries if isinstance(one, Arrival) and "+" not in one.job], np.float64)


def errors(outcome: RunOutcome) -> Reals:
    """How far what jobs asked for is from what they should, by ratio."""
    made: Reals = np.abs(np.log(asked(outcome) / (outcome.tasks.need * ROOM_ON_TOP)))
    return made


def without(setting: Setting) -> Setting:
    return replace(setting, strategy=changed(setting.strategy, "monitoring", sizes_next=False))


def stream_of_jobs(seed: int, count: int = 120) -> Jobs:
    """Jobs of nine applications, batch and services, one every 15 s for a quarter of an hour each."""
    chance = np.random.default_rng(seed)
    cores, kinds = chance.uniform(0.5, 8.0, count).tolist(), chance.integers(0, 2, count).tolist()
    rows = [(15.0 * at, 900.0, c, 2.0 * c, kind) for at, (c, kind) in enumerate(zip(cores, kinds, strict=True))]
    return of_applications(rows, chance.integers(0, 9, count).tolist())


def test_the_second_job_of_an_application_gets_what_the_first_was_measured_to_need() -> None:
    rows = [(at, 900.0, 4.0, 8.0, kind) for kind in (0, 1) for at in (0.0, 500.0)]
    setting = off(taught(TARGETED, 8, *UNDISTURBED), 0.6)
    tasks = tasks_in(setting, of_applications(rows, [0, 0, 1, 1]))
    outcome = run(setting, tasks, journal=True)
    assert errors(outcome)[tasks.submit == 500.0] == pytest.approx(0.0, abs=0.001)
    assert (errors(outcome)[tasks.submit == 0.0] > 0.1).all()
    assert outcome.world.tally.resized == 2
    kept = run(without(setting), tasks, journal=True)
    assert (asked(kept) == tasks.ask).all()
    assert kept.world.tally.resized == 0


def test_a_phase_of_one_job_sizes_no_other() -> None:
    setting = off(taught(TARGETED, 8, *UNDISTURBED), 0.0)
    tasks = tasks_in(setting, of_applications([(0.0, 4000.0, 4.0, 8.0, 1), (3000.0, 600.0, 4.0, 8.0, 1)], [0, 0]))
    outcome = run(setting, with_phases(tasks, (0, 0.25, 2.0, 1.0)), journal=True)
    assert outcome.world.tally.enlarged == 1
    assert (asked(outcome) == tasks.ask).all()


def test_a_size_beyond_what_a_target_takes_is_no_error_of_its_row() -> None:
    """Servers come in sizes: the first job gets half as much again as it needs and gives that back; the next one of the
    application gets what it needs."""
    setting = off(taught(TARGETED, 8, *UNDISTURBED), 0.0)
    tasks = tasks_in(setting, of_applications([(0.0, 900.0, 6.0, 8.0, 0), (500.0, 600.0, 4.0, 8.0, 0)], [0, 0]))
    need, reached = np.array([4000, tasks.need[1]]), np.array([1.5, 1.0])
    outcome = run(setting, replace(tasks, need=need, reached=reached), journal=True)
    assert outcome.world.tally.shrunk > 0
    assert asked(outcome).tolist() == tasks.ask.tolist()


def test_a_job_larger_than_the_large_type_keeps_a_larger_server_when_its_row_is_written_anew() -> None:
    """It was cut to the large type, where it does a part of its work."""
    setting = off(taught("HM+target+adjust-to-target", 8, *UNDISTURBED), 0.6)
    sold = open_shop(open_book(), replace(ShopChoice.paper(), large_vcpus=64))
    large = next(at for at, one in enumerate(sold.types) if one.shape.vcpus == 16)
    setting = replace(setting, shop=replace(sold, large=large, reserved=paper_shop().reserved))
    jobs = of_applications([(0.0, 900.0, 4.0, 8.0, 0), (500.0, 900.0, 40.0, 80.0, 0)], [0, 0])
    tasks = tasks_of(jobs, setting.cloud, setting.strategy, Room(64_000, 245_760), setting.seed)
    outcome = run(setting, tasks, journal=True)
    assert outcome.world.tally.resized == 1
    assert 16_000 < asked(outcome)[-1] <= tasks.ask[-1]


@pytest.mark.parametrize("name", [TARGETED, "HM+target+adjust-to-target"])
def test_written_back_measurements_never_raise_the_error_on_held_rows(name: str) -> None:
    """Each job that was not measured itself: by what is written of its application it is never further off."""
    for seed in range(3):
        setting = off(replace(taught(name, 60, *UNDISTURBED), seed=seed), 0.3)
        tasks = tasks_in(setting, stream_of_jobs(seed))
        after, before = errors(run(setting, tasks, journal=True)), errors(run(without(setting), tasks, journal=True))
        assert (after <= before + 0.01).all()
        assert after.mean() < 0.5 * before.mean()


@pytest.mark.parametrize("cloud", ["paper", "measured-aws"])
def test_neighbours_phases_and_slow_machines_do_not_turn_rows_wrong(cloud: str) -> None:
    """Where jobs disturb each other and change, and machines of a type differ, what is written is less exact; it is
    still nearer than the rows."""
    for seed in (3, 7):
        setting = replace(taught(TARGETED, 60), seed=seed)
        phased = varied_cloud(load_cloud(cloud), parse_axis("cloud.phases.share=0.3"))
        setting = replace(setting, cloud=phased)
        tasks = tasks_in(setting, stream_of_jobs(seed))
        after, before = (errors(run(one, tasks, journal=True)).mean() for one in (setting, without(setting)))
        assert after < 0.9 * before


@pytest.mark.parametrize("name", [TARGETED, "HM+target+adjust-to-target", "OdM+target+adjust-to-target"])
def test_a_controller_that_sees_the_journal_alone_decides_the_same(name: str) -> None:
    setting = off(taught(name, 8, "cloud.phases.share=0.3"), 0.4)
    tasks = tasks_in(setting, stream_of_jobs(1))
    outcome = run(setting, tasks, journal=True)
    assert repeated(outcome) == list(map(taken, decisions(outcome)))
    assert outcome.world.tally.resized > 20 or not setting.strategy.follows("reserved")


def repeated(outcome: RunOutcome) -> list[tuple[object, ...]]:
    """What a controller decides by the events of a journal, as they stand in its lines."""
    setup = setup_of_run(outcome)
    live, told = ControlSession(setup, plain()), list[tuple[object, ...]]()
    for entry in JournalReader(outcome, setup).entries():
        if not isinstance(entry, Decision):
            told += map(taken, live.handle(parse_event(event_document(entry))))
    return told


def test_only_sizes_by_target_follow_what_is_written() -> None:
    for name in (ADJUSTED, "SR+requested+adjust-to-target", "SR+profiled+adjust-to-target"):
        setting = taught(name, 30, *UNDISTURBED)
        jobs = excerpt(110)
        tasks = tasks_in(setting, replace(jobs, app=np.zeros(len(jobs), np.int32), apps=("a",)))
        outcome = run(setting, tasks, journal=True)
        assert (asked(outcome) == tasks.ask).all()
