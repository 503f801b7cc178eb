"""Jobs by the length of their last run: where short and long begin, and which patterns of use each prefers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harvesting import daily, histories

from hcloud.harvest.classes import use_types
from hcloud.harvest.jobs import LENGTHS, Length, Thresholds, lengths, thresholds, weights_of
from hcloud.harvest.kernels.holding import length_of
from hcloud.harvest.typing import PATTERNS, Pattern
from hcloud.readers.harvest.policy import load_harvest

POLICY = load_harvest()
UNKNOWN = -1.0


def test_who_took_just_as_long_as_short_jobs_may_is_short_and_as_long_ones_begin_medium() -> None:
    """And who has never run is medium, in plans and in simulations."""
    seconds = np.array([0.5, 173.0, 173.1, 433.0, 433.1, np.nan])
    found = [LENGTHS[at] for at in lengths(seconds, Thresholds(173.0, 433.0))]
    assert found == [Length.SHORT, Length.SHORT, Length.MEDIUM, Length.MEDIUM, Length.LONG, Length.MEDIUM]
    told = [LENGTHS[length_of(UNKNOWN if np.isnan(s) else float(s), 173.0, 433.0)] for s in seconds]
    assert told == found


def test_short_and_long_jobs_have_the_shares_of_work_that_passing_and_lasting_use_has_of_idle_capacity() -> None:
    odd = np.clip(0.3 + np.cumsum(np.random.default_rng(5).normal(0, 0.02, 14 * 96)), 0, 1)
    types = use_types(histories({"day": daily(14), "flat": np.full(14 * 96, 0.4), "odd": odd}), POLICY)
    idle = {c.pattern: c.cores * (1 - POLICY.reserve_cores - c.mean) for c in types.classes}
    assert set(idle) == set(PATTERNS)
    chance = np.random.default_rng(3)
    seconds, work = chance.permutation(np.arange(1.0, 1001.0)), chance.uniform(0.5, 1.5, 1000)
    found = thresholds(types, POLICY, seconds, work)
    short, long = (float(work[some].sum() / work.sum()) for some in (seconds <= found.short, seconds > found.long))
    whole = sum(idle.values())
    assert short == pytest.approx(idle[Pattern.UNPREDICTABLE] / whole, abs=0.003)
    assert long == pytest.approx(idle[Pattern.CONSTANT] / whole, abs=0.003)
    stated = replace(POLICY, short_below=173, long_above=433)
    assert thresholds(types, stated, seconds, work) == Thresholds(173, 433)


def test_long_jobs_prefer_what_lasts_and_short_ones_what_does_not() -> None:
    patterns = (Pattern.PERIODIC, Pattern.CONSTANT, Pattern.UNPREDICTABLE)
    best = [[patterns[at] for at in np.argsort(-row)] for row in weights_of(patterns, POLICY)]
    assert dict(zip(LENGTHS, best, strict=True)) == {
        Length.SHORT: [Pattern.UNPREDICTABLE, Pattern.PERIODIC, Pattern.CONSTANT],
        Length.MEDIUM: [Pattern.PERIODIC, Pattern.CONSTANT, Pattern.UNPREDICTABLE],
        Length.LONG: [Pattern.CONSTANT, Pattern.PERIODIC, Pattern.UNPREDICTABLE],
    }
