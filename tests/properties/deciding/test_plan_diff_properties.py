"""Differences of any two plans: the effects add up, exchanging the plans changes signs, a plan is itself."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from plan_figures import committed, plan, rented

from hcloud.model.plans.difference import PlanDifference
from hcloud.model.plans.figures import PlanFigures, PlanPart
from hcloud.planning.explanations.plan_diff import difference_of

amounts = st.decimals(min_value=0, max_value=10_000, places=6)
prices = st.decimals(min_value="0.0001", max_value=500, places=4)
cores = st.decimals(min_value=0, max_value=100_000, places=3)
NAMES = ("a9.large", "b9.xlarge", "c9.metal")


@st.composite
def plans(draw: st.DrawFn) -> PlanFigures:
    """Plans of up to six offers, some bought later, at prices and counts as plan files hold them."""
    parts: list[PlanPart] = []
    for name in NAMES:
        if draw(st.booleans()):
            parts.append(rented(str(draw(amounts)), str(draw(prices)), name))
        if draw(st.booleans()):
            later = draw(st.sampled_from((0, 24)))
            parts.append(committed(draw(st.integers(1, 500)), str(draw(prices)), name, starts_hour=later))
    horizon = draw(st.sampled_from((8760, 3 * 8760)))
    return plan(*parts, cores=str(draw(cores)), horizon_hours=horizon)


def figures(found: PlanDifference) -> list[Decimal]:
    shifts = [found.hourly, found.monthly, found.upfront, found.longest_term_years, found.rounding]
    three = [found.effects, *(p.effects for p in found.parts)]
    shifts += [s for p in found.parts for s in (p.count, p.hourly, p.upfront)]
    shifts += [s for o in found.options for s in (o.count, o.hourly, o.upfront)]
    shifts += [p.price for p in found.prices]
    return [s.difference for s in shifts] + [f for e in three for f in (e.prices, e.demand, e.decisions)]


@given(plans(), plans())
def test_the_effects_add_up_exactly(one: PlanFigures, other: PlanFigures) -> None:
    found = difference_of(one, other)
    assert found.effects.total == found.hourly.difference == other.hourly - one.hourly
    assert all(p.effects.total == p.hourly.difference for p in found.parts)
    moved = sum((p.hourly.difference for p in found.parts), Decimal(0)) + found.rounding.difference
    assert moved == found.hourly.difference
    assert sum((o.hourly.difference for o in found.options), Decimal(0)) == moved - found.rounding.difference


@given(plans(), plans())
def test_exchanging_the_plans_negates_every_figure(one: PlanFigures, other: PlanFigures) -> None:
    there, back = difference_of(one, other), difference_of(other, one)
    assert figures(there) == [-f for f in figures(back)]
    assert there.is_empty == back.is_empty


@given(plans())
def test_a_plan_does_not_differ_from_itself(one: PlanFigures) -> None:
    found = difference_of(one, one)
    assert found.is_empty
    assert not any(figures(found))


@given(plans())
def test_from_nothing_everything_is_a_decision(one: PlanFigures) -> None:
    found = difference_of(None, one)
    assert not found.effects.prices
    assert not found.effects.demand
    assert found.effects.decisions == one.hourly
    assert figures(found) == [-f for f in figures(difference_of(one, None))]
