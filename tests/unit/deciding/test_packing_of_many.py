"""Millions of jobs of few shapes are packed by shape, others one by one: the same comes of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from builders import demand

from hcloud.model.workload import Demand, Jobs, Provenance
from hcloud.planning.forecasting.demand import canonical_order
from hcloud.planning.forecasting.packing import MOST, JobShapes, MachineSizes, RunningJobs, packed

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

HOURS = 48
SIZES = {"exact": (2.0, 4.0, 8.0, 16.0, 32.0), "odd": (1.9, 3.8, 7.6, 15.2, 30.4)}


def some_jobs(count: int, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Beginnings, ends, vCPUs and GiB; most are short."""
    chance = np.random.default_rng(seed)
    begin = np.sort(chance.uniform(0, HOURS * 3600, count))
    end = np.minimum(begin + chance.exponential(2000, count), HOURS * 3600.0)
    cores = chance.choice([0.1, 0.5, 1.0, 3.0, 6.0, 12.0], count)
    return begin, end, cores, cores * chance.choice([1.0, 4.0, 9.0], count)


def demand_for_hours() -> Demand:
    return demand([0.0] * HOURS)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_by_shape_and_one_by_one_is_the_same(sizes: tuple[float, ...], share: float) -> None:
    columns = some_jobs(3000, 1)
    whole = np.random.default_rng(2).random(3000) < share
    # as many jobs of shapes of their own again that run at no moment at which jobs are packed
    beside = np.full(MOST + 1, 10.0), np.full(MOST + 1, 20.0), np.full(MOST + 1, 0.1), np.linspace(0.1, 0.2, MOST + 1)
    begin, end, cores, memory = (np.concatenate(pair) for pair in zip(columns, beside, strict=True))
    few = RunningJobs(*columns, whole)
    many = RunningJobs(begin, end, cores, memory, np.concatenate([whole, np.ones(MOST + 1, np.bool_)]))
    assert few.shapes().shape is not None
    assert many.shapes().shape is None
    machines = MachineSizes(sizes, 4.0, 8.0)
    one, other = (packed(running, demand_for_hours(), machines) for running in (few, many))
    assert one.largest == other.largest
    np.testing.assert_allclose(one.extra, other.extra, atol=1e-9)
    assert one.extra.any()
    assert packed(few, demand_for_hours(), machines) is one


def test_shapes_are_those_of_the_jobs_that_cannot_be_split() -> None:
    _, _, cores, memory = some_jobs(500, 3)
    whole = np.random.default_rng(4).random(500) < 0.5
    shapes = JobShapes.of(cores, memory, whole)
    assert shapes.shape is not None
    np.testing.assert_array_equal(shapes.cores[shapes.shape], cores[whole])
    np.testing.assert_array_equal(shapes.memory[shapes.shape], memory[whole])
    pairs = set(zip(cores[whole].tolist(), memory[whole].tolist(), strict=True))
    assert len(shapes.cores) == len(pairs)
    largest = shapes.memory == shapes.memory.max()
    assert shapes.row(largest) == int(np.flatnonzero(whole & (memory == memory[whole].max()))[0])


@pytest.mark.parametrize("is_sorted", [True, False])
def test_the_order_is_that_of_all_columns(is_sorted: bool) -> None:
    chance = np.random.default_rng(5)
    submit = chance.integers(0, 300, 2000).astype(float)
    none = np.full(2000, -1, np.int32)
    jobs = Jobs(
        np.sort(submit) if is_sorted else submit,
        chance.choice([1.0, 2.0, 3.0], 2000),
        chance.choice([1.0, 2.0], 2000),
        chance.choice([4.0, 8.0], 2000),
        np.zeros(2000),
        chance.integers(0, 2, 2000).astype(np.int8),
        none,
        (),
        none,
        (),
        Provenance("made", "made", "0" * 64, 2000),
    )
    order = canonical_order(jobs)
    np.testing.assert_array_equal(order, np.lexsort((jobs.kind, jobs.memory, jobs.cores, jobs.duration, jobs.submit)))
