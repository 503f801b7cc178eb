"""Of bands of 80 % that are drawn from the first half of real traces, about 80 % hold what came in the second."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.b13_bands import CALIBRATED, Bench, Split, market, splits, traces
from hcloud.planning.settings import RiskSettings


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(market())


@pytest.fixture(scope="module")
def unseen(shared_data: Path) -> list[Split]:
    """Halves of traces that the bands were not chosen on."""
    found = [s for t in traces(shared_data / "workloads") for s in splits(t) if s.half]
    return [s for s in found if not s.group.startswith(CALIBRATED)]


def test_bands_hold_what_they_say_on_traces_they_were_not_chosen_on(unseen: list[Split], bench: Bench) -> None:
    held = [bench.judge(s, RiskSettings()) for s in unseen]
    assert len(held) > 30
    for name in ("demand", "cost"):
        assert 0.7 <= sum(getattr(h, name) for h in held) / len(held) <= 0.9  # a split is 3 points; all: 75 to 85 %


def test_days_alone_would_hold_far_less(unseen: list[Split], bench: Bench) -> None:
    days = RiskSettings(level_prior=0.0, growth_prior=0.0, level_prior_weeks=1e9)
    held = [bench.judge(s, days).demand for s in unseen]
    assert sum(held) / len(held) < 0.6
