"""What is said of a run that idle hours make dearer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from hcloud.sim.outcomes.measure import Measures
from hcloud.usecases.harvesting.compared import why_withheld


@pytest.mark.parametrize(
    ("totals", "said"),
    [
        ((1000.0, 1012.0), "it costs 1.20% more with them"),
        ((100000.0, 100001.0), "it costs less than 0.01% more with them"),
        ((0.0, 1.0), "it costs more with them"),
        ((1000.0, 1000.0), ""),
    ],
)
def test_a_small_rise_is_never_told_as_nothing(totals: tuple[float, float], said: str) -> None:
    def run(total: float) -> Measures:
        tail = SimpleNamespace(mean=float("nan"), p95=float("nan"))
        made = SimpleNamespace(seed=1, cost=SimpleNamespace(total=total), idle=None)
        made.service = SimpleNamespace(tail=tail)
        return cast("Measures", made)

    assert why_withheld([(run(totals[0]), run(totals[1]))]) == said
