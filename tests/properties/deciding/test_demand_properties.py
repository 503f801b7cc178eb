"""Demand of jobs keeps the integral, does not depend on row order and never averages a peak above itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.errors import UsageError
from hcloud.model.workload import Demand, Jobs, Provenance
from hcloud.planning.forecasting.demand import coarser, demand_of, mean_cores, peak_cores

Row = tuple[float, float, float, float, int]
ROWS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 5000).map(float), st.floats(0, 1e6)),
        st.one_of(st.integers(1, 3000).map(float), st.floats(1e-3, 1e5)),
        st.sampled_from([0.25, 1.0, 2.0, 3.7, 16.0]),
        st.floats(0, 512),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=60,
)


def jobs_of(rows: list[Row]) -> Jobs:
    columns = [np.array(column, np.float64) for column in zip(*rows, strict=True)]
    none = np.full(len(rows), -1, np.int32)
    return Jobs(
        columns[0], columns[1], columns[2], columns[3], np.zeros(len(rows)), columns[4].astype(np.int8),
        none, (), none, (), Provenance("made", "test", "", len(rows)),
    )  # fmt: skip


@given(ROWS, st.sampled_from([1, 60, 300, 3600]))
@settings(deadline=None, max_examples=25)
def test_integral_is_preserved(rows: list[Row], step: int) -> None:
    jobs = jobs_of(rows)
    demand = demand_of(jobs, step)
    for got, weight in ((demand.cores, jobs.cores), (demand.memory, jobs.memory)):
        assert got.sum() * step == pytest.approx(float(np.dot(jobs.duration, weight)), rel=1e-9, abs=1e-6)
    batch = np.where(jobs.kind == 0, jobs.cores, 0.0)
    assert demand.batch_cores.sum() * step == pytest.approx(float(np.dot(jobs.duration, batch)), rel=1e-9, abs=1e-6)
    assert demand.start % step == 0
    assert demand.start <= jobs.submit.min()
    assert demand.start + step * len(demand) >= (jobs.submit + jobs.duration).max()


@given(ROWS, st.randoms(use_true_random=False), st.sampled_from([60, 300]))
@settings(deadline=None, max_examples=25)
def test_row_order_changes_no_bit(rows: list[Row], chance: object, step: int) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis hands a random.Random
    first, second = demand_of(jobs_of(sorted(rows)), step), demand_of(jobs_of(shuffled), step)
    for name in ("cores", "memory", "batch_cores"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@given(ROWS, st.sampled_from([7, 60]))
@settings(deadline=None, max_examples=25)
def test_each_step_is_the_mean_of_what_ran_in_it(rows: list[Row], step: int) -> None:
    near = [(s % 4000, d % 900 + 0.5, c, m, k) for s, d, c, m, k in rows]
    jobs = jobs_of(near)
    demand = demand_of(jobs, step)
    begins = demand.start + step * np.arange(len(demand))
    low = np.maximum(jobs.submit[None, :], begins[:, None])
    high = np.minimum((jobs.submit + jobs.duration)[None, :], begins[:, None] + step)
    brute = (np.maximum(high - low, 0) * jobs.cores).sum(axis=1) / step
    assert demand.cores == pytest.approx(brute, abs=1e-8)
    assert demand.cores.max() <= peak_cores(jobs) + 1e-9


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=80), st.integers(0, 40), st.integers(1, 12))
@settings(deadline=None, max_examples=25)
def test_coarser_keeps_the_integral(values: list[float], start: int, factor: int) -> None:
    cores = np.array(values)
    demand = Demand(start * 60.0, 60, cores, cores * 4, cores / 2, Provenance("made", "test", "", len(values)))
    wide = coarser(demand, 60 * factor)
    for name in ("cores", "memory", "batch_cores"):
        expected = getattr(demand, name).sum() * 60
        assert getattr(wide, name).sum() * wide.step_seconds == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert wide.cores.max() <= demand.cores.max() + 1e-6


def test_a_job_that_ends_makes_room_for_one_that_starts_then() -> None:
    jobs = jobs_of([(0.0, 10.0, 4.0, 1.0, 0), (10.0, 10.0, 4.0, 1.0, 0)])
    assert peak_cores(jobs) == 4.0
    assert mean_cores(jobs) == 4.0
    assert demand_of(jobs, 10).cores.tolist() == [4.0, 4.0]


def test_impossible_steps_are_refused() -> None:
    jobs = jobs_of([(0.0, 1e9, 1.0, 1.0, 0)])
    with pytest.raises(UsageError, match="shortest is 1 s"):
        demand_of(jobs, 0)
    with pytest.raises(UsageError, match="more than 20,000,000"):
        demand_of(jobs, 1)
    with pytest.raises(UsageError, match="cannot be refined") as refused:
        demand_of(demand_of(jobs, 3600), 60)
    assert str(refused.value.hint).startswith("leave planning.step out"), "a week is longer than any"
