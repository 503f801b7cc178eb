"""Batch in idle hours beside a strategy: it never costs more than without, and harms no service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from harvesting import MONDAY, daily, histories
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from simulating import jobs_of, paper_shop, setting_of, tasks_in

from hcloud.control.state import OWN
from hcloud.harvest.classes import use_types
from hcloud.harvest.results import OpenedUse
from hcloud.model.workload import JobKind
from hcloud.readers.clouds import load_cloud
from hcloud.readers.harvest.policy import load_harvest
from hcloud.readers.strategies import load_strategy
from hcloud.sim.harvesting.compiled import SET
from hcloud.sim.outcomes.measure import Measures
from hcloud.sim.run import run
from hcloud.sim.setup.resumed import ROWS, some_tasks
from hcloud.usecases.harvesting.compared import OFF, ON, compare_with_idle_hours, why_withheld
from hcloud.usecases.harvesting.idle import AskIdle
from hcloud.usecases.harvesting.played import PlayLimits, as_before, play
from hcloud.usecases.studies.simulate import CompareRequest
from hcloud.usecases.studies.simulation import Study, simulate_once

DAY = 86_400
Batch = tuple[int, int, float]
STRATEGIES = ("SR", "OdF", "OdM", "HF", "HM", "HC")


@pytest.fixture(autouse=True)
def _plain() -> Iterator[None]:
    SET.spent[""] = -(10**9)
    yield
    SET.spent[""] = 0


@cache
def idle() -> AskIdle:
    """Services that follow the day, looked at once a minute."""
    policy = replace(load_harvest(), tick=60)
    found = histories({"day": daily(7, mean=0.35, swing=0.3), "flat": np.full(7 * 96, 0.3)})
    return AskIdle(OpenedUse("use", found, policy), use_types(found, policy))


def study_of(services: int, batch: list[Batch]) -> Study:
    """Services for six hours on half a server each, and batch: its hour in tenths, its minutes, its vCPUs."""
    rows = [(float(MONDAY), 21_600.0, 8.0, 16.0, JobKind.SERVICE)] * services
    rows += [(float(MONDAY + 360 * at), 60.0 * long, cores, 2 * cores, JobKind.BATCH) for at, long, cores in batch]
    jobs = jobs_of(sorted(rows))
    return Study(jobs, load_cloud("paper"), paper_shop(), True, 7)


FEW: list[Batch] = [(0, 60, 4.0), (5, 30, 1.0), (5, 20, 2.0)]
BATCH = st.tuples(st.integers(0, 60), st.integers(1, 120), st.sampled_from([0.5, 1.0, 2.0, 4.0]))


@settings(max_examples=2, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@example(3, [(0, 91, 4.0)], "HC")  # moved, and then found to need more quality than there is
@example(3, FEW, "HM")
@example(3, FEW, "HF")
@example(3, FEW, "SR")
@example(3, FEW, "OdM")
@example(3, FEW, "OdF")
@given(st.integers(1, 6), st.lists(BATCH, min_size=1, max_size=25), st.sampled_from(STRATEGIES))
def test_it_is_never_dearer_and_harms_no_service_in_any_run(services: int, batch: list[Batch], name: str) -> None:
    study = study_of(services, batch)
    found = compare_with_idle_hours(
        study, [load_strategy(name)], CompareRequest(2, 2), lambda _: None, (idle(), (ON, OFF))
    )
    on, off = (one.runs for one in found.strategies)
    assert len(on) == len(off) == 2
    for with_idle, without in zip(on, off, strict=True):
        assert with_idle.seed == without.seed
        _costs_and_harms_nothing(with_idle, without, services, len(batch))
        if on[0].idle is not None and on[0].idle.withheld:
            assert with_idle == replace(without, idle=with_idle.idle)
    if on[0].idle is not None and on[0].idle.withheld:
        assert found.strategies[0].name == f"{name}, idle hours unused"
        assert any(f"not used, so the figures are those of {name}" in said for said in found.assumed)


def _costs_and_harms_nothing(with_idle: Measures, without: Measures, services: int, batch: int) -> None:
    played = with_idle.idle
    assert played is not None
    assert with_idle.cost.total <= without.cost.total
    assert with_idle.cost.reserved == without.cost.reserved
    assert with_idle.service.tail.count == without.service.tail.count == services
    assert with_idle.service.tail.mean <= without.service.tail.mean * 1.01
    assert with_idle.service.tail.p95 <= without.service.tail.p95 * 1.01
    told = played.ended + played.no_class + played.moved + played.too_sensitive
    assert (told, played.jobs) == (batch if without.pool else 0, batch), "what is reserved has idle hours, nothing else"
    assert played.longest_broken <= played.tick
    if not played.withheld and played.beside is not None:
        assert played.beside.queued <= played.beside.queued_without
        assert played.beside.rented <= played.beside.rented_without


def test_what_is_dearer_or_harms_services_in_one_run_is_withheld_with_the_reason() -> None:
    study = study_of(4, [(at, 30, 2.0) for at in range(20)])
    found = compare_with_idle_hours(
        study, [load_strategy("HC")], CompareRequest(1, 2), lambda _: None, (idle(), (ON, OFF))
    )
    (on,), (off,) = (one.runs for one in found.strategies)
    assert why_withheld([(off, on)]) == ""
    cheap = replace(on, cost=replace(on.cost, rented=on.cost.rented - 5))
    dear = replace(on, seed=8, cost=replace(off.cost, rented=off.cost.rented + Decimal("0.01")))
    assert "more with them" in why_withheld([(off, dear)])
    eighth = replace(off, seed=8)
    said = why_withheld([(off, cheap), (eighth, dear)])
    assert said.endswith(" more with them (seed 8); 1 of 2 runs cost more or harm services"), (
        "that others save is no help"
    )
    tail = replace(on.service.tail, mean=off.service.tail.mean * 1.02)
    longer = replace(cheap, service=replace(on.service, tail=tail))
    assert why_withheld([(off, longer)]) == "tails of services are 2.0% longer with them (mean)"
    assert why_withheld([(off, cheap), (off, cheap), (off, longer)]).endswith("1 of 3 runs cost more or harm services")
    assert on.idle is not None
    assert on.idle.beside is not None
    queued = replace(on.idle, beside=replace(on.idle.beside, queued=on.idle.beside.queued_without + 1))
    assert "more services wait" in why_withheld([(off, replace(cheap, idle=queued))])
    rented = replace(on.idle, beside=replace(on.idle.beside, rented=on.idle.beside.rented_without + 1))
    assert why_withheld([(off, replace(cheap, idle=rented))]) == "more services run on demand with them"


def test_services_stay_on_the_reserve_and_batch_where_it_went() -> None:
    """Whoever leaves: a limit that would now be decided otherwise changes nothing."""
    study = study_of(4, [(at // 2, 90, 4.0) for at in range(40)])
    without = simulate_once(study, load_strategy("HM"), pool=3)
    tasks, paid = as_before(without), without.of_tasks("paid")
    assert len(set(paid.tolist())) == 2, "some are on the reserve, others on rented machines"
    again = run(without.setting, tasks)
    assert (again.of_tasks("paid") == paid).all()
    gone = np.isin(np.arange(len(study.jobs)), np.flatnonzero(study.jobs.kind == JobKind.BATCH)[::2])
    fewer = run(without.setting, some_tasks(tasks, ~gone, np.zeros(len(gone)), np.ones(len(gone))))
    before = dict(zip(without.tasks.job.tolist(), paid.tolist(), strict=True))
    for job, service, now in zip(fewer.tasks.job.tolist(), fewer.tasks.service, fewer.of_tasks("paid"), strict=True):
        assert now == before[job] or (service and now == OWN)


def test_rounds_that_do_not_settle_are_told_and_the_dearest_counts() -> None:
    """After one round nobody can know whether the same jobs leave again."""
    study = study_of(4, [(at // 2, 90, 4.0) for at in range(40)])
    without = simulate_once(study, load_strategy("HM"), pool=2)
    once = play(study, without, idle(), PlayLimits(rounds=1)).batch
    assert (once.rounds, once.settled, once.no_class + once.moved > 0) == (1, False, True)
    found = play(study, without, idle()).batch
    assert found.settled or found.rounds == PlayLimits().rounds
    assert 0 <= once.spread == 0 <= found.spread < 1


def test_a_job_is_the_same_whoever_else_takes_part() -> None:
    """What is left of a run has the draws, needs and vectors that it had among all; those later later."""
    jobs, setting = study_of(3, [(at // 2, 30, 2.0) for at in range(20)]).jobs, setting_of("HM", 4)
    tasks = tasks_in(setting, jobs)
    keep = np.arange(len(jobs)) % 3 > 0
    later, part = np.where(np.arange(len(jobs)) == 4, 1e6, 0.0), np.where(np.arange(len(jobs)) == 4, 0.5, 1.0)
    some = some_tasks(tasks, keep, later, part)
    before = {job: np.flatnonzero(tasks.job == job) for job in np.flatnonzero(keep).tolist()}
    assert sorted(set(some.job.tolist())) == sorted(before)
    assert (np.diff(some.decide) >= 0).all()
    for job, rows in before.items():
        mine = np.flatnonzero(some.job == job)
        for name in ROWS:
            if getattr(tasks, name) is not None and (
                job != 4 or name not in {"submit", "decide", "need", "ask", "memory"}
            ):
                assert (getattr(some, name)[mine] == getattr(tasks, name)[rows]).all()
    moved, was = np.flatnonzero(some.job == 4), before[4]
    assert np.allclose(some.decide[moved], tasks.decide[was] + 1e6)
    assert (some.need[moved] == np.maximum(np.rint(tasks.need[was] / 2), 1)).all()
