"""What must hold for every plan: it beats its rivals, keeps above its bounds, and is priced as it would be billed."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from bill_lines import Usage
from builders import REGION, book, candidate, demand, reserved
from hour_bills import bill
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.model.catalog import Provider
from hcloud.model.usage import CommitmentTerm
from hcloud.planning.decide import FleetDecision, decide
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import instances_needed
from hcloud.planning.settings import Market, Outlook, PlanSettings

SETTINGS = PlanSettings(markets=(Market(Provider.AWS, (REGION,)),), outlook=Outlook(horizon_hours=240))
hours = st.lists(st.integers(0, 400).map(float), min_size=1, max_size=60).filter(any)


@st.composite
def markets(draw: st.DrawFn) -> tuple[Candidate, ...]:
    """One to three types of different shapes with commitments at random discounts (terms of a year and three)."""
    found = []
    for name, memory in (("c9.4xlarge", 32), ("m9.4xlarge", 64), ("r9.4xlarge", 128))[: draw(st.integers(1, 3))]:
        price = Decimal(draw(st.integers(50, 150))) / 100
        terms = [
            reserved(name, str(price * draw(st.integers(1, 30)) / 1000), years)
            for years in (1, 3)
            if draw(st.booleans())
        ]
        found.append(candidate(name, str(price), terms, memory=memory))
    return tuple(found)


@settings(max_examples=25, deadline=None)
@given(cores=hours, types=markets(), memory=st.sampled_from([1.0, 3.0, 5.0, 9.0]))
def test_a_plan_never_exceeds_a_rival_nor_undercuts_a_bound(
    cores: list[float], types: tuple[Candidate, ...], memory: float
) -> None:
    decision = decide(book(*types), demand(cores, memory_per_core=memory), SETTINGS)
    cost = float(decision.fleet.cost)
    for rival in decision.rivals:
        assert cost <= float(rival.fleet.cost) * (1 + 1e-9)
    for evaluation in decision.evaluations:
        assert cost <= float(evaluation.cost) * (1 + 1e-9)
        assert float(evaluation.bound) <= float(evaluation.cost) * (1 + 1e-9)
    assert decision.lower_bound <= cost * (1 + 1e-7) + 1e-7
    assert decision.bound_gap >= -1e-6 * max(cost, 1.0)


@settings(max_examples=6, deadline=None)
@given(
    cores=st.lists(st.sampled_from([0.0, 160.0, 400.0]), min_size=24, max_size=48).filter(any),
    beyond=st.integers(1, 9000),
)
def test_the_bound_holds_where_a_term_ends_inside_any_horizon(cores: list[float], beyond: int) -> None:
    c = candidate(commitments=[reserved("m9.4xlarge", "0.6")])
    longer = PlanSettings(markets=SETTINGS.markets, outlook=Outlook(horizon_hours=8760 + beyond))
    decision = decide(book(c), demand(cores), longer)
    exact = decide(book(c), demand(cores), replace(longer, spread_min_saving=0.0))
    for found, part in ((decision, longer.spread_min_saving), (exact, 1e-6)):
        assert found.lower_bound <= float(found.fleet.cost) * (1 + 1e-9)
        assert found.bound_gap - float(found.left_out.saved) <= part * float(found.fleet.cost)


@settings(max_examples=15, deadline=None)
@given(cores=hours, types=markets(), factor=st.integers(2, 5))
def test_more_demand_never_costs_less(cores: list[float], types: tuple[Candidate, ...], factor: int) -> None:
    less = decide(book(*types), demand(cores), SETTINGS)
    more = decide(book(*types), demand([c * factor for c in cores]), SETTINGS)
    assert min(e.cost for e in less.evaluations) <= min(e.cost for e in more.evaluations)


@settings(max_examples=12, deadline=None)
@given(cores=hours, types=markets(), data=st.data())
def test_the_order_of_offers_changes_nothing(
    cores: list[float], types: tuple[Candidate, ...], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(types))
    one, other = (decide(book(*t), demand(cores), SETTINGS) for t in (types, shuffled))
    assert one.fleet == other.fleet
    assert one.refusals == other.refusals
    assert one.lower_bound == other.lower_bound


@settings(max_examples=12, deadline=None)
@given(cores=hours, price=st.integers(1, 30))
def test_a_plan_costs_what_its_usage_would_be_billed(cores: list[float], price: int) -> None:
    c = candidate(commitments=[reserved("m9.4xlarge", str(Decimal(price) / 1000))])
    decision = decide(book(c), demand(cores), SETTINGS)
    assert billed_usage(decision, c) == decision.fleet.rentals_cost
    held = sum(h.count for h in decision.fleet.holdings)
    units = instances_needed(decision.forecast.cores, decision.forecast.memory, c)
    assert sum(r.hours for r in decision.fleet.rentals) == int(np.maximum(units - held, 0).sum())


def billed_usage(decision: FleetDecision, c: Candidate) -> Decimal:
    """The on-demand part of the bill of the plan's own usage under the plan's own commitments."""
    units = instances_needed(decision.forecast.cores, decision.forecast.memory, c)
    usage = [[Usage(c.on_demand.key, Decimal(int(n)))] if n else [] for n in units]
    bought = [CommitmentTerm(h.offer, Decimal(h.count), h.start_hour) for h in decision.fleet.holdings]
    return bill(usage, bought, book(c)).on_demand_cost


def test_the_bill_of_a_year_equals_the_plan_to_the_cent() -> None:
    c = candidate(commitments=[reserved("m9.4xlarge", "0.60")])
    year = PlanSettings(markets=SETTINGS.markets)
    decision = decide(book(c), demand([160.0] * 12 + [320.0] * 12), year)
    units = instances_needed(decision.forecast.cores, decision.forecast.memory, c)
    usage = [[Usage(c.on_demand.key, Decimal(int(n)))] for n in units]
    bought = [CommitmentTerm(h.offer, Decimal(h.count), h.start_hour) for h in decision.fleet.holdings]
    billed = bill(usage, bought, book(c))
    assert billed.total == decision.fleet.cost
    assert billed.unused == 0
    assert float(billed.coverage) == pytest.approx(2 / 3)
