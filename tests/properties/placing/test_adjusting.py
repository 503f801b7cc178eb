"""Jobs kept at their target: no oscillation under a constant load, never less than sizing gives, best effort first."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.policy.adjusting import (
    ADD,
    EVICT,
    GROW,
    KEEP,
    MIGRATE,
    SHRINK,
    Position,
    Watched,
    due_at,
    migration_seconds,
    needed,
    next_step,
    notice,
    pays,
    refold,
    remember,
    unseen,
)
from hcloud.policy.records import record
from hcloud.policy.rules import Rules

RULES = Rules(
    monitor=1, monitor_level=0.95, monitor_period=2.0, watch_samples=2, above=1.15, above_samples=10, apart=10.0,
    aim=0.05, grain=1, settling=600.0, grow=1, evict=1, migrate=1, shrink=1, differs=0.2,
    move_seconds=2.0, move_gib_seconds=1.0, shard_mib=64, shard_seconds=0.005,
)  # fmt: skip
CORES = st.integers(1, 32_000)


class _Unwatched(NamedTuple):
    adjusted: float = -math.inf
    way: int = 0
    turned: int = 0
    short: int = 0
    rated: float = 0.0


def unwatched() -> Watched:
    """Of a job that was never adjusted."""
    made: Watched = record(_Unwatched())  # type: ignore[assignment]
    return made


def lived(
    begins: int, reached: list[tuple[int, float]], noise: np.ndarray, floor: int, most: int = 1 << 40
) -> list[tuple[float, int, int]]:
    """The steps of a job (time, what, size after it) whose rate at a size is that of the last size not above it."""
    seen, job, cores, made = unseen(), unwatched(), begins, list[tuple[float, int, int]]()
    for at, off in enumerate(noise):
        now, size = 2.0 * at, cores
        rate = next(rate * size / least for least, rate in reversed(reached) if least <= size) * off
        notice(RULES, seen, (min(rate, 1.0), rate), now)
        if now < due_at(RULES, seen, job):
            continue
        step = next_step(RULES, job, (min(rate, 1.0), rate), Position(cores, floor, most - cores, 0, 0, most, 0, 0, 0))
        if step[0] == KEEP:
            continue
        remember(RULES, job, rate, (step[0], cores), now)
        cores = step[1]
        made.append((now, step[0], cores))
    return made


@st.composite
def scalings(draw: st.DrawFn) -> list[tuple[int, float]]:
    """How a rate rises with the size: in proportion within a stretch, with jumps up and down between stretches."""
    sizes = sorted(draw(st.sets(st.integers(2, 40_000), max_size=4)) | {1})
    rate, made = draw(st.floats(1e-4, 1e-3)), [(1, 0.0)]
    made[0] = 1, rate
    for before, size in pairwise(sizes):
        rate = rate * size / before * draw(st.floats(0.6, 1.8))
        made.append((size, rate))
    return made


@given(scalings(), CORES)
@settings(max_examples=25, deadline=None)
def test_under_a_constant_load_at_most_one_step_is_taken_after_ten_minutes(
    scaling: list[tuple[int, float]], begins: int
) -> None:
    late = [step for step in lived(begins, scaling, np.ones(900), 0, most=40_000) if step[0] > 600.0]
    assert len(late) <= 1, late


@given(st.floats(1e-4, 1e-3), CORES, st.integers(0, 2**31), st.floats(0.0, 0.04))
@settings(max_examples=25, deadline=None)
def test_nor_where_what_is_measured_of_it_is_noisy(slope: float, begins: int, seed: int, spread: float) -> None:
    noise = 1.0 + spread * (2.0 * np.random.default_rng(seed).random(900) - 1.0)
    late = [step for step in lived(begins, [(1, slope)], noise, 0, most=40_000) if step[0] > 600.0]
    assert len(late) <= 1, late


@given(CORES, st.floats(0.05, 20.0), CORES)
@settings(max_examples=25, deadline=None)
def test_a_job_whose_rate_follows_its_size_comes_to_its_target_and_keeps_what_sizing_gives(
    begins: int, rate: float, floor: int
) -> None:
    made = lived(begins, [(1, rate / begins)], np.ones(60), floor)
    ends = made[-1][2] if made else begins
    assert rate * ends / begins >= 0.95
    assert all(size >= floor for _, what, size in made if what == SHRINK)
    if rate * max(floor, 1) / begins <= 1.05 and begins > 100:
        assert rate * ends / begins <= 1.2


def test_a_load_that_falls_and_comes_back_is_followed_both_ways() -> None:
    """The size that was too small at full load is right again at half of it."""
    seen, job, cores, sizes = unseen(), unwatched(), 4000, list[int]()
    for at in range(1600):
        load = 1.0 if at < 300 or 700 <= at < 1000 else 0.4
        rate = cores / (4000 * load)
        notice(RULES, seen, (min(rate, 1.0), rate), 2.0 * at)
        if 2.0 * at >= due_at(RULES, seen, job):
            step = next_step(RULES, job, (min(rate, 1.0), rate), Position(cores, 0, 50_000, 0, 0, 50_000, 0, 0, 0))
            if step[0] != KEEP:
                remember(RULES, job, rate, (step[0], cores), 2.0 * at)
                cores = step[1]
                sizes.append(cores)
    assert sizes == [1680, 4200, 1680]  # 5 % above what it takes


@given(CORES, st.floats(0.01, 0.94), *[st.integers(0, 64_000)] * 4, st.booleans())
@settings(max_examples=25, deadline=None)
def test_best_effort_yields_before_another_server_is_looked_for(
    cores: int, rate: float, free: int, lent: int, elsewhere: int, beside: int, movable: bool
) -> None:
    at = Position(cores, 0, free, lent, elsewhere, 1 << 40, beside, 0, int(movable))
    what, size = next_step(RULES, unwatched(), (rate, rate), at)
    wanted = max(needed(RULES, cores, rate), cores + 1)
    if wanted <= cores + free:
        assert (what, size) == (GROW, wanted)
    elif wanted <= cores + free + lent:
        assert (what, size) == (EVICT, wanted)
    else:
        assert what != GROW or lent == 0
    if what in (ADD, MIGRATE):
        assert wanted > cores + free + lent
        assert size <= (beside if what == ADD else elsewhere)
        assert what == ADD or movable
    assert what != KEEP or free + lent == 0


def test_steps_wait_for_enough_samples_and_are_apart() -> None:
    seen, job = unseen(), unwatched()
    notice(RULES, seen, (0.9, 0.9), 4.0)
    assert due_at(RULES, seen, job) == 6.0
    notice(RULES, seen, (0.96, 0.96), 6.0)  # a spike shorter than two samples
    assert due_at(RULES, seen, job) == math.inf
    notice(RULES, seen, (1.0, 1.2), 8.0)
    assert due_at(RULES, seen, job) == 26.0  # ten samples
    remember(RULES, job, 1.2, (SHRINK, 1000), 26.0)
    notice(RULES, seen, (0.9, 0.9), 28.0)
    assert due_at(RULES, seen, job) == 36.0  # ten seconds after the step before
    remember(RULES, job, 0.9, (GROW, 900), 36.0)
    notice(RULES, seen, (1.0, 1.2), 38.0)
    assert due_at(RULES, seen, job) == 38.0 + 38.0  # it turned once: twice as many samples


def test_what_a_move_costs_and_when_it_pays() -> None:
    assert migration_seconds(RULES, 4096, stateful=False) == 6.0
    assert migration_seconds(RULES, 4096, stateful=True) == 0.32  # 64 microshards of 5 ms
    assert pays(0.5, 1.0, left=100.0, seconds=6.0)
    assert not pays(0.5, 1.0, left=6.0, seconds=6.0)
    assert not pays(0.9, 0.9, left=1e6, seconds=6.0)


@given(
    st.lists(st.integers(0, 99), min_size=20, max_size=20),
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda at: at[0] != at[1]),
    st.tuples(*[st.integers(0, 99)] * 4),
)
@settings(max_examples=25, deadline=None)
def test_what_was_measured_is_written_in_and_all_else_changes_only_with_the_kind(
    known: list[int], at: tuple[int, int], found: tuple[int, int, int, int]
) -> None:
    nature = np.array(known)
    changed = refold(RULES, nature, at, found)
    assert (nature[at[0]], nature[10 + at[0]], nature[at[1]], nature[10 + at[1]]) == found
    assert nature.min() >= 0
    assert nature.max() <= 99
    others = [i for i in range(20) if i % 10 not in at]
    if not changed:
        assert [nature[i] for i in others] == [known[i] for i in others]
    old = [known[i] for i in (at[0], 10 + at[0], at[1], 10 + at[1])]
    assert changed == (sum(abs(new - was) for new, was in zip(found, old, strict=True)) > 0.2 * sum(old))
