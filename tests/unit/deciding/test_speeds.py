"""Families that differ in speed for a workload: how that is told from profiles, and what it does to a plan."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import pytest
from builders import book, demand, shape
from hypothesis import given
from hypothesis import strategies as st
from test_decide import DAYS, SETTINGS, market_of_two

from hcloud.model.catalog import Provider
from hcloud.planning.decide import decide
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.forecasting.speeds import family_speeds, fleet_speeds
from hcloud.planning.settings import Speed

SHAPES = {name: shape(name, vcpus) for name, vcpus in (("a.large", 2), ("a.xlarge", 4), ("b.large", 2), ("c.large", 2))}


def test_speed_is_performance_per_vcpu_relative_to_the_geometric_mean() -> None:
    speeds = family_speeds({"a.large": 100.0, "a.xlarge": 200.0, "b.large": 400.0}, SHAPES)
    assert speeds == {"a": pytest.approx(0.5), "b": pytest.approx(2.0)}


def test_one_family_or_types_nobody_sells_say_nothing() -> None:
    assert family_speeds({"a.large": 100.0, "a.xlarge": 250.0}, SHAPES) == {}
    assert family_speeds({"a.large": 100.0, "z9.mega": 250.0}, SHAPES) == {}


def test_shares_of_the_work_are_weighed_harmonically() -> None:
    half = [(1.0, {"a": 2.0}), (1.0, {})]
    assert fleet_speeds(half) == {"a": Decimal("1.333")}  # half the work in half the vCPUs: three quarters in all
    assert fleet_speeds([(0.0, {"a": 9.0})]) == {}


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(sorted(SHAPES)), st.floats(1e-3, 1e6), min_size=2), st.floats(1e-3, 1e3))
def test_the_unit_of_the_performance_does_not_matter(performance: dict[str, float], factor: float) -> None:
    here, there = (family_speeds(p, SHAPES) for p in (performance, {t: v * factor for t, v in performance.items()}))
    assert here == {f: pytest.approx(v, rel=1e-9) for f, v in there.items()}
    if here:
        assert math.prod(here.values()) == pytest.approx(1.0, rel=1e-6)


def test_a_dearer_type_is_taken_where_it_is_faster_by_more() -> None:
    market = book(*market_of_two())
    faster = replace(SETTINGS, speeds=(Speed(Provider.AWS, "m8", Decimal("1.25")),))
    cores = demand(DAYS[0], memory_per_core=1.0)
    slow, fast = decide(market, cores, SETTINGS), decide(market, cores, faster)
    assert [c.shape.name for c in slow.types] == ["m9.4xlarge"]
    assert [c.shape.name for c in fast.types] == ["m8.4xlarge"]
    assert sum(h.count for h in slow.fleet.holdings) == 10
    assert sum(h.count for h in fast.fleet.holdings) == 8


def test_memory_is_not_faster_on_a_faster_type() -> None:
    market = book(*market_of_two())
    faster = replace(SETTINGS, speeds=(Speed(Provider.AWS, "m9", Decimal(2)),))
    full, lean = (decide(market, demand(DAYS[0], memory_per_core=gib), faster) for gib in (4.0, 1.0))
    assert sum(h.count for h in full.fleet.holdings) == 10  # 640 GiB are ten instances, however fast
    assert sum(h.count for h in lean.fleet.holdings) == 5
    assert lean.lower_bound <= float(lean.fleet.cost)
    assert lean.bound_gap == pytest.approx(0, abs=1e-6)


def test_what_is_owned_serves_as_much_as_it_is_fast() -> None:
    cheap, dear = market_of_two()
    owned = Owned(cheap.commitments[0], cheap.shape, Decimal(5), 8760, Decimal(2))
    decision = decide(book(cheap, dear), demand([160.0] * 24, memory_per_core=1.0), SETTINGS, [owned])
    assert decision.fleet.holdings == ()
