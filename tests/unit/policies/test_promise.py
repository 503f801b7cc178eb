"""The law of the best of R holds for what is drawn, and the figures of the sources come out of it."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import pytest

from hcloud.policy.placing.promise import (
    AuditedDecision,
    below,
    candidates_for,
    chance_of_miss,
    distance,
    free_above,
    mean_rank,
    quality_among_all,
    quality_kept,
)

DRAWS = 10_000
NEAR = 1.95 / math.sqrt(DRAWS)
"""The distance that one honest sample in a thousand exceeds."""


@pytest.mark.parametrize(
    ("quality", "miss", "candidates"),
    [(0.8, 1e-3, 31), (0.8, 1e-6, 62), (0.92, 1e-3, 83), (0.9, 1e-3, 66), (0.8, 0.8**3, 3), (0.5, 0.25, 2)],
)
def test_candidates_of_a_promise(quality: float, miss: float, candidates: int) -> None:
    assert candidates_for(quality, miss) == candidates


@pytest.mark.parametrize(("candidates", "miss"), [(64, 1.2e-3), (128, 1.4e-6)])
def test_what_a_number_of_candidates_misses(candidates: int, miss: float) -> None:
    assert chance_of_miss(candidates, 0.9) == pytest.approx(miss, rel=0.02)


def test_busy_servers_in_the_sample_as_in_the_source() -> None:
    """Tarcil's example of high load: 100 units, 60 % busy, 8 of the top 20 free."""
    assert free_above(0.8, 100, 0.6) == 8
    assert quality_among_all(8, 100) == pytest.approx(0.92)
    assert candidates_for(quality_among_all(8, 100), 1e-3) == 83


@pytest.mark.parametrize("units", [1, 2, 3, 10, 11, 97, 1000])
@pytest.mark.parametrize("quality", [0.1, 0.5, 0.8, 0.9, 0.99])
def test_ranks_below_a_quality_are_those_of_the_law(units: int, quality: float) -> None:
    short = sum(i < quality * (units - 1) - 1e-9 for i in range(units))
    assert below(quality, units) == short
    for candidates in (1, 2, 8):
        law = chance_at_most(short - 1, candidates, units)
        assert chance_of_miss(candidates, quality, units) == pytest.approx(law)


@pytest.mark.parametrize("units", [None, 5, 40, 1000])
def test_the_fewest_candidates_keep_the_promise_and_one_less_does_not(units: int | None) -> None:
    for quality in (0.3, 0.8, 0.9):
        for miss in (0.3, 1e-2, 1e-5):
            needed = candidates_for(quality, miss, units)
            assert chance_of_miss(needed, quality, units) <= miss * (1 + 1e-6)
            assert needed == 1 or chance_of_miss(needed - 1, quality, units) > miss
            assert quality_kept(needed, miss, units) >= quality - 1e-9


def test_mean_rank_is_that_of_the_law() -> None:
    assert mean_rank(1, 9) == pytest.approx(0.5)
    assert mean_rank(3) == 0.75
    assert mean_rank(4, 1) == 1.0
    law = [chance_at_most(i, 4, 6) for i in range(6)]
    by_hand = sum(i / 5 * (at - before) for i, (at, before) in enumerate(zip(law, [0.0, *law], strict=False)))
    assert mean_rank(4, 6) == pytest.approx(by_hand)
    assert mean_rank(8, 100_000) == pytest.approx(mean_rank(8), abs=1e-5)


def chance_at_most(index: int, candidates: int, units: int) -> float:
    """The law itself: the probability that the best draw has an index of at most ``index``."""
    return float(((index + 1) / units) ** candidates)


def _indices(chance: random.Random, units: int, candidates: int) -> Sequence[int]:
    return [max(chance.choices(range(units), k=candidates)) for _ in range(DRAWS)]


@pytest.mark.slow
@pytest.mark.parametrize(("units", "candidates"), [(7, 2), (40, 8), (1000, 8), (200, 64)])
def test_ten_thousand_draws_follow_the_law(units: int, candidates: int) -> None:
    """At 64 of 200 the continuous law would be missed by a quarter: the best server alone has that share."""
    found = _indices(random.Random(units), units, candidates)
    told = distance(AuditedDecision(units - 1 - index, units, candidates) for index in found)
    ranks = sorted(found)
    plain = max(abs(bisect_right(ranks, i) / DRAWS - chance_at_most(i, candidates, units)) for i in range(units))
    assert told == pytest.approx(plain, abs=1e-9)
    assert told < NEAR
    assert sum(found) / DRAWS / (units - 1) == pytest.approx(mean_rank(candidates, units), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("busy", [0.0, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("units", [20, 300])
def test_draws_among_the_free_follow_the_law_at_any_load(units: int, busy: float) -> None:
    """Other servers are free at each decision, and another number of them."""
    chance = np.random.default_rng([units, int(100 * busy)])
    free = np.maximum((chance.random((DRAWS, units)) >= busy).sum(axis=1), 1)
    best = (chance.random((DRAWS, 8)).max(axis=1) * free).astype(int)
    told = zip((free - 1 - best).tolist(), free.tolist(), strict=True)
    assert distance(AuditedDecision(better, among, 8) for better, among in told) < NEAR


@pytest.mark.slow
@pytest.mark.parametrize("busy", [0.0, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("units", [20, 300])
def test_draws_among_all_follow_the_law_with_busy_ones_as_misses(units: int, busy: float) -> None:
    chance = np.random.default_rng([units, int(100 * busy)])
    free = chance.random((DRAWS, units)) >= busy
    drawn = chance.integers(0, units, (DRAWS, 8))
    best = np.where(np.take_along_axis(free, drawn, axis=1), drawn, -1).max(axis=1)
    better = np.where(np.arange(units) > best[:, None], free, False).sum(axis=1)
    told = zip(better.tolist(), (best >= 0).tolist(), strict=True)
    assert distance(AuditedDecision(above, units, 8, taken=taken) for above, taken in told) < NEAR


def test_an_audit_sees_worse_and_better_choices_than_promised() -> None:
    chance = random.Random(3)
    found = _indices(chance, 100, 2)
    assert distance(AuditedDecision(99 - index, 100, 8) for index in found) > 0.4
    assert distance(AuditedDecision(0, 100, 2) for _ in found) > 0.9
    assert math.isnan(distance([]))
