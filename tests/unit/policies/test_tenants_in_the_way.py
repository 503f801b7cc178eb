"""How many tenants of the reserve would make a place for a job by leaving: as many as do when they are taken off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.control.controller import open_pool
from hcloud.control.opening import new_control
from hcloud.control.searching.search import could_take
from hcloud.control.servers.tenancy import seat, unseat
from hcloud.control.state import Control, Job, RentableKind
from hcloud.control.waits.tenants import LOOKED, tenants_in_the_way
from hcloud.policy.records import table
from hcloud.policy.registry import compose
from hcloud.readers.strategies import load_strategy


def reserve(strategy: str, seed: int, servers: int, most: int = 60) -> Control:
    """Servers of 16 vCPUs with tenants that fill them by chance; the row after the last tenant is free."""
    chance, kinds, jobs = np.random.default_rng(seed), table(RentableKind, 1), table(Job, 400)
    kinds[0].cores, kinds[0].memory, kinds[0].spin_up = 16_000, 64_000, 12.0
    control = new_control(compose(load_strategy(strategy), 0), kinds, jobs, servers + 1)
    open_pool(control, 0, servers)
    control.desk.now = 1000.0
    for number in range(400):
        jobs[number].server = -1
    for number in range(min(400 - 1, 6 * servers)):
        job, place = jobs[number], int(chance.integers(servers))
        _asks(job, chance, most)
        if job.ask <= 16_000 - control.servers[place].used and job.memory <= 64_000 - control.servers[place].memory:
            job.seated = float(chance.uniform(0, 1000))
            seat(control, number, place)
    _asks(jobs[399], chance, most)
    return control


def _asks(job: Job, chance: np.random.Generator, most: int) -> None:
    job.ask = job.cores = int(chance.choice([1000, 2000, 4000, 8000]))
    job.memory = int(chance.integers(1000, 30_000))
    for i in range(10):
        job.vector[i] = int(chance.integers(0, most))
        job.tolerates[i] = 99 - job.vector[i]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["HF", "HM"])
@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_as_many_make_a_place_as_do_when_they_are_taken_off(strategy: str, seed: int, servers: int) -> None:
    control = reserve(strategy, seed, servers)
    job = control.jobs[399]
    seated = [number for number in range(399) if control.jobs[number].server >= 0]
    alone, tenants, stayed = tenants_in_the_way(control, job)
    assert tenants == len(seated)
    if seated:
        assert stayed == pytest.approx(np.mean([1000.0 - control.jobs[number].seated for number in seated]))
    made = 0
    for number in seated:
        place = unseat(control, number)
        made += could_take(control, place, job)
        seat(control, number, place)
    assert alone == made


@pytest.mark.slow
def test_of_many_servers_a_part_is_looked_at() -> None:
    few, many = reserve("HF", 3, LOOKED, 30), reserve("HF", 3, 2 * LOOKED, 30)
    for control in (few, many):
        seated = sum(control.jobs[number].server >= 0 for number in range(399))
        assert tenants_in_the_way(control, control.jobs[399])[1] == pytest.approx(seated, rel=0.2)
