"""What holds in every simulated run: nothing is lost, nothing overfilled, nothing cheaper than it can be."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulating import Row, changed, excerpt, jobs_of, setting_of, tasks_in, with_spot

from hcloud.model.running.strategy import Parameter, Strategy
from hcloud.policy.records import Ints, column
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.sim.outcomes.measure import batch_performance, measure
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.streams import stream
from hcloud.sim.setup.variation import parse_axis, varied_cloud
from hcloud.usecases.studies.journal import journal_entries, setup_of_run

ROWS: st.SearchStrategy[list[Row]] = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 1.0, 5.0, 60.0, 400.0]),
        st.floats(1, 2000),
        st.sampled_from([0.1, 0.5, 1.0, 1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 40.0]),
        st.sampled_from([0.1, 2.0, 4.0, 15.0]),
        st.sampled_from([0, 0, 0, 1]),
    ),
    min_size=1,
    max_size=30,
)


@st.composite
def strategies(draw: st.DrawFn) -> tuple[Strategy, int]:
    """A strategy, some of its keys changed, and a pool."""
    chosen = load_strategy(draw(st.sampled_from(["SR", "OdF", "OdM", "HF", "HM", "HC"])))
    if chosen.mechanism("retention").rule != "none":
        chosen = changed(chosen, "retention", factor=draw(st.sampled_from([0, 1, 10, 100])))
    if chosen.mechanism("queueing").rule != "none":
        chosen = changed(chosen, "queueing", overtaking=draw(st.booleans()))
    if draw(st.booleans()) and chosen.name != "SR":
        chosen = with_spot(chosen, 0.7)
    order = draw(st.sampled_from(["best-fit", "least-loaded", "first-fit"]))
    pool = draw(st.integers(1, 4)) if chosen.name == "SR" else draw(st.integers(0, 4))
    return changed(chosen, "placement", order=order), 0 if chosen.name.startswith("Od") else pool


def spread(rows: list[Row]) -> list[Row]:
    """Rows whose first column is the gap to the row before."""
    times = np.cumsum([r[0] for r in rows])
    return [(float(t), *r[1:]) for t, r in zip(times, rows, strict=True)]


def of_jobs(outcome: RunOutcome, field: str) -> Ints:
    """A field of what the controller knows of the jobs."""
    return column(outcome.world.control.jobs, field)


def same_tasks(one: RunOutcome, other: RunOutcome) -> bool:
    return np.asarray(one.world.tasks).tobytes() == np.asarray(other.world.tasks).tobytes()


def simulated(rows: list[Row], chosen: tuple[Strategy, int]) -> RunOutcome:
    setting = setting_of(*chosen)
    return run(setting, tasks_in(setting, jobs_of(rows)), journal=True)


@settings(deadline=None, max_examples=8)
@given(ROWS, strategies())
def test_M3_what_holds_in_every_run(rows: list[Row], chosen: tuple[Strategy, int]) -> None:
    outcome = simulated(spread(rows), chosen)
    use, tally = measure(outcome).use, outcome.world.tally
    ended, ran = outcome.of_tasks("ended"), outcome.of_tasks("ran")
    assert len(outcome.tasks) == int((ended >= 0).sum()) + use.refused + use.unfinished
    assert use.unfinished == outcome.world.control.desk.queued
    assert tally.running == 0
    done, batch = ended >= 0, outcome.tasks.service == 0
    quiet = done & (of_jobs(outcome, "enlarged") == 0) & (of_jobs(outcome, "moves") == 0)
    cores = of_jobs(outcome, "cores")
    if not use.interrupted:
        assert outcome.of_tasks("usage")[quiet] == pytest.approx((cores * ran)[quiet], rel=1e-9)
    assert np.all(ran[done & batch] >= outcome.tasks.work[done & batch] - 1e-6)
    assert ran[done & ~batch] == pytest.approx(outcome.tasks.work[done & ~batch], abs=1e-6) or use.interrupted
    rentals = [outcome.of_rentals(field) for field in ("launched", "ready", "released")]
    assert np.all(rentals[0] <= rentals[1])
    assert np.all(rentals[1] <= rentals[2]) or use.interrupted
    assert np.all(outcome.world.heat <= 1)
    never_overfilled(outcome)
    cost_is_bounded(outcome)


RATES = st.sampled_from([0.0, 0.2, 0.9])


@settings(deadline=None, max_examples=8)
@given(ROWS, strategies(), st.tuples(RATES, RATES, RATES))
def test_what_holds_where_things_go_wrong(
    rows: list[Row], chosen: tuple[Strategy, int], rates: tuple[float, ...]
) -> None:
    """Every job is done, cancelled or lost with its machine, once; a fresh controller that is told what happened
    decides as the engine did (else writing the entries fails)."""
    keys = ("failed_launches", "lost_per_hour", "cancelled")
    faults = [c for key, rate in zip(keys, rates, strict=True) for c in parse_axis(f"cloud.faults.{key}={rate}")]
    plain = setting_of(*chosen)
    setting = replace(plain, cloud=varied_cloud(plain.cloud, faults))
    outcome = run(setting, tasks_in(setting, jobs_of(spread(rows))), journal=True)
    figures, tally = measure(outcome), outcome.world.tally
    use, went = figures.use, figures.faults
    ended, ran = outcome.of_tasks("ended"), outcome.of_tasks("ran")
    gone = went.lost_jobs + went.cancelled_jobs
    assert len(outcome.tasks) == int((ended >= 0).sum()) + use.refused + use.unfinished + gone
    assert (tally.running, use.unfinished) == (0, outcome.world.control.desk.queued)
    assert use.unfinished == tally.present
    done, batch = ended >= 0, outcome.tasks.service == 0
    assert np.all(ran[done & batch] >= outcome.tasks.work[done & batch] - 1e-6)
    rentals = [outcome.of_rentals(field) for field in ("launched", "released")]
    assert np.all(rentals[0] <= rentals[1])
    assert np.all(outcome.world.active[1:] == 0)
    cost_is_bounded(outcome)
    assert list(journal_entries(outcome, setup_of_run(outcome)))


def never_overfilled(outcome: RunOutcome) -> None:
    """Tenants of an instance, by the runs of jobs that were never moved: never more than it holds at any time."""
    stays = of_jobs(outcome, "moves") == 0
    began, ended, serial = (outcome.of_tasks(f) for f in ("began", "ended", "serial"))
    kinds, shop = outcome.of_tasks("kind"), outcome.setting.shop
    changes: dict[int, list[tuple[float, int, float, float]]] = defaultdict(list)
    for i in np.flatnonzero(stays & (ended >= 0)):
        held = outcome.tasks.ask[i], outcome.tasks.memory[i]
        changes[int(serial[i])] += [(began[i], 1, *held), (ended[i], 0, -held[0], -held[1])]
    for number, steps in changes.items():
        shape = shop.types[int(kinds[(serial == number) & (ended >= 0)][0])].shape
        cores = memory = 0.0
        for _, _, more, gib in sorted(steps):
            cores, memory = cores + more, memory + gib
            assert cores <= float(shape.vcpus) * 1000
            assert memory <= float(shape.memory_gib) * 1024


def cost_is_bounded(outcome: RunOutcome) -> None:
    """No run costs less than its finished rented work at the cheapest rate of its own types, plus its reserve."""
    shop, cost = outcome.setting.shop, measure(outcome).cost
    rates = [float(o.hourly / t.shape.vcpus) for t in shop.types for o in (t.on_demand, t.spot) if o]
    rented = (outcome.of_tasks("ended") >= 0) & (outcome.of_tasks("paid") != 0)
    stays = of_jobs(outcome, "moves") == 0
    work = outcome.tasks.work * np.minimum(outcome.tasks.need, outcome.tasks.ask) / 1000 / 3600
    bound = float(work[rented & stays].sum()) * min(rates)
    assert float(cost.rented) >= bound * (1 - 1e-9)
    assert cost.total >= cost.reserved


@pytest.mark.parametrize("name", ["static", "low-variability", "high-variability"])
def test_M3_where_nobody_waits_nothing_serves_batch_jobs_better_than_reserved_servers(name: str) -> None:
    """Others may come near: what they rent is as large, and what runs on their own servers runs as well."""

    def served(strategy: str, pool: int) -> float:
        setting = setting_of(strategy, pool)
        outcome = run(setting, tasks_in(setting, excerpt(240, name)))
        if strategy == "SR":
            assert measure(outcome).service.queued.count == 0
        return float(batch_performance(outcome).mean())

    best = served("SR", 40)
    for strategy, pool in (("OdF", 0), ("OdM", 0), ("HF", 6), ("HM", 6), ("HC", 6)):
        assert served(strategy, pool) <= best, strategy


@settings(deadline=None, max_examples=7)
@given(ROWS, strategies(), st.randoms(use_true_random=False))
def test_M2_the_order_of_rows_at_the_same_time_does_not_matter(
    rows: list[Row], chosen: tuple[Strategy, int], chance: np.random.Generator
) -> None:
    ordered = spread(rows)
    shuffled = list(ordered)
    chance.shuffle(shuffled)
    shuffled.sort(key=lambda r: r[0])
    one, other = simulated(ordered, chosen), simulated(shuffled, chosen)
    assert same_tasks(one, other)
    assert np.asarray(one.world.rentals).tobytes() == np.asarray(other.world.rentals).tobytes()


def with_cloud(setting: Setting, **values: float) -> Setting:
    """The setting with other numbers of the neighbours."""

    def new(parameter: Parameter) -> Parameter:
        return replace(parameter, value=values.get(parameter.key, parameter.value))

    cloud = load_cloud("paper")
    sections = {**cloud.sections, "neighbours": tuple(map(new, cloud.sections["neighbours"]))}
    return replace(setting, cloud=replace(cloud, sections=sections))


def test_sr_does_not_feel_other_start_up_times_and_hardly_external_load() -> None:
    base = setting_of("SR", 30)
    tasks = tasks_in(base, excerpt(240))
    slower = [replace(s.spin_up, values=tuple(9 * v for v in s.spin_up.values)) for s in base.cloud.sizes]
    sizes = tuple(replace(s, spin_up=q) for s, q in zip(base.cloud.sizes, slower, strict=True))
    usual = run(base, tasks)
    assert same_tasks(run(replace(base, cloud=replace(base.cloud, sizes=sizes)), tasks), usual)
    loaded = with_cloud(base, mean_load=0.9, amplitude=0.1)
    assert batch_performance(run(loaded, tasks)).mean() == pytest.approx(batch_performance(usual).mean(), rel=0.01)


def test_more_external_load_never_helps_odm() -> None:
    base = setting_of("OdM", 0)
    tasks = tasks_in(base, excerpt(240))
    means = [
        batch_performance(run(with_cloud(base, mean_load=load, amplitude=0.0), tasks)).mean()
        for load in (0.0, 0.25, 0.5, 1.0)
    ]
    assert means == sorted(means, reverse=True)
    assert means[0] > means[-1]


def test_M2_ten_thousand_jobs_at_once_start_in_their_documented_order() -> None:
    rows: list[Row] = [(0.0, 100.0, 1.0, 1.0, 0) for _ in range(10_000)]
    setting = setting_of(changed(load_strategy("SR"), "queueing", overtaking=False), 40)
    outcome = run(setting, tasks_in(setting, jobs_of(rows)))
    began = outcome.of_tasks("began")
    assert np.all(np.diff(began) >= 0)
    assert measure(outcome).use.unfinished == 0
    assert sorted(set(np.round(began).astype(int).tolist()))[:3] == [0, 100, 200]


def test_a_stream_is_known_by_its_purpose_alone() -> None:
    assert stream(5, "spin-up").random() == stream(5, "spin-up").random()
    assert len({stream(5, name).random() for name in ("a", "b", "c")} | {stream(6, "a").random()}) == 4


def test_M1_the_same_seed_gives_the_same_bytes_in_any_process() -> None:
    """This one hashes by chance, the other by a seed of its own."""
    code = "import test_simulation; print(test_simulation.digest())"
    path = os.pathsep.join(p for p in (str(Path(__file__).parent), *sys.path) if p)
    told = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "1"},
    )  # fmt: skip
    assert told.stdout.strip() == digest()


def digest() -> str:
    setting = setting_of("HM", 4)
    world = run(setting, tasks_in(setting, excerpt(120)), journal=True).world
    return hashlib.sha256(np.asarray(world.tasks).tobytes() + np.asarray(world.lines).tobytes()).hexdigest()


def test_a_longer_week_costs_more_and_terms_begin_anew() -> None:
    cost = measure(run(setting_of("HF", 2), tasks_in(setting_of("HF", 2), excerpt(60)))).cost
    weeks = [cost.over_weeks(w) for w in (1, 26, 52, 53, 104, 105)]
    assert weeks == sorted(weeks)
    assert cost.over_weeks(53) - cost.over_weeks(52) >= cost.upfront > Decimal(0)
