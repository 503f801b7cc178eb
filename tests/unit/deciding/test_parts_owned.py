"""Parts of machines that are owned: what flexes covers half of a machine, and only the rest of it is rented."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from builders import REGION, book, candidate, demand, forecast, reserved, shape

from hcloud.model.catalog import Provider, PurchaseOption, SustainedUse
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.explanations.reasons import reasons
from hcloud.planning.explanations.renewals import renewal
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.options import divide
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.risks.risk import step_costs
from hcloud.planning.settings import Market, Outlook, PlanSettings

SETTINGS = PlanSettings(markets=(Market(Provider.AWS, (REGION,)),))
PRICE, TERM = Decimal("1.00"), Decimal("0.60")
HOURS = 8760
FLOOR = Decimal("0.05")  # planning.commit_min_saving


def owns(count: str, hours_left: int = HOURS) -> Owned:
    """Machines of 16 vCPUs, or parts of one."""
    return Owned(reserved("m9.4xlarge", "0.60"), shape(), Decimal(count), hours_left)


def decided(hours: list[float], *owned: Owned, settings: PlanSettings = SETTINGS) -> FleetDecision:
    """For machines of one size, held for a year."""
    market = book(candidate("m9.4xlarge", str(PRICE), [reserved("m9.4xlarge", str(TERM))]))
    return decide(market, demand(hours), settings, owned)


def least_by_hand(machines: list[int], owned: Decimal) -> Decimal:
    """The best of all numbers to hold: hours of whole machines that neither what is owned nor held covers are rented,
    by the part where a part is covered. What is held has to save a twentieth of its cost."""

    def cost(held: int) -> Decimal:
        rented = sum((max(n - owned - held, Decimal(0)) for n in machines), Decimal(0))
        return held * TERM * HOURS + rented * PRICE * HOURS / len(machines)

    return cost(min(range(max(machines) + 1), key=lambda held: cost(held) + FLOOR * held * TERM * HOURS))


def test_the_rest_of_a_machine_that_is_half_owned_is_rented_and_not_bought() -> None:
    decision = decided([16.0] * 24, owns("0.5"))
    assert decision.fleet.holdings == ()
    assert decision.machines.cost == Decimal("0.5") * PRICE * HOURS
    assert any("50.0% of its hours left to pay for" in r for r in reasons(decision))
    assert {r.fleet.cost for r in decision.rivals if r.name == "all on demand"} == {decision.machines.cost}


@pytest.mark.parametrize("owned", ["0.25", "0.5", "1.75", "2.4"])
@pytest.mark.parametrize("seed", range(5))
def test_no_number_held_costs_less_than_the_plan_beside_parts_of_machines(seed: int, owned: str) -> None:
    machines = [int(n) for n in np.random.default_rng(seed).integers(3, 9, 24)]
    decision = decided([16.0 * n for n in machines], owns(owned))
    assert float(decision.machines.cost) == pytest.approx(float(least_by_hand(machines, Decimal(owned))), abs=0.01)
    assert decision.lower_bound <= float(decision.machines.cost) + 0.01


def test_two_parts_of_one_machine_leave_what_neither_covers() -> None:
    decision = decided([16.0] * 24, owns("0.5"), owns("0.25"))
    assert decision.machines.cost == Decimal("0.25") * PRICE * HOURS


def test_a_reserved_instance_that_is_bound_to_its_type_covers_no_part_of_a_larger_machine() -> None:
    """Of Windows half the vCPUs are owned as another machine, beside which a whole one is needed."""
    key = replace(reserved("m9.2xlarge", "0.30").key, os="windows")
    owned = Owned(replace(reserved("m9.2xlarge", "0.30"), key=key), shape("m9.2xlarge", 8, 32), Decimal(1), HOURS)
    assert decided([16.0] * 24, owned).machines.cost == TERM * HOURS


def test_a_family_of_its_own_covers_no_part_of_another() -> None:
    part = Owned(reserved("m8.4xlarge", "0.60"), replace(shape("m8.4xlarge"), family="m8"), Decimal("0.5"), HOURS)
    assert decided([16.0] * 24, part).machines.cost == TERM * HOURS


def test_where_terms_end_inside_the_horizon_a_part_is_not_bought_again_either() -> None:
    two_years = replace(SETTINGS, outlook=Outlook(horizon_hours=2 * HOURS))
    decision = decided([16.0] * 24, owns("0.5", 2 * HOURS), settings=two_years)
    assert decision.machines.cost == Decimal("0.5") * PRICE * 2 * HOURS
    assert decision.bound_gap >= 0


def test_when_what_is_owned_ends_the_whole_machine_is_paid_for() -> None:
    half_a_year = decided([16.0] * 24, owns("0.5", HOURS // 2))
    assert half_a_year.machines.cost == min(TERM * HOURS, Decimal("0.75") * PRICE * HOURS)


@pytest.mark.slow
def test_under_a_sustained_use_discount_the_rest_of_a_machine_is_discounted_alike() -> None:
    rule = SustainedUse("m9", tuple(map(Decimal, ("1", "0.8", "0.6", "0.4"))))
    market = replace(book(candidate("m9.4xlarge", "1.00", [])), sustained={(Provider.AWS, "m9"): rule})
    decision = decide(market, demand([16.0] * 24), SETTINGS, [owns("0.5")])
    assert decision.machines.cost == Decimal("0.5") * Decimal("0.7") * PRICE * HOURS


@pytest.mark.parametrize("part", [0.5, 1.25])
def test_a_machine_that_is_rented_by_part_earns_the_discount_of_its_part_of_the_month(part: float) -> None:
    """Half of each hour is half of a month: a quarter of it at the whole price and a quarter at 0.8."""
    rule = SustainedUse("m9", tuple(map(Decimal, ("1", "0.8", "0.6", "0.4"))))
    market = replace(book(candidate("m9.4xlarge", "1.00", [])), sustained={(Provider.AWS, "m9"): rule})
    decision = decide(market, replace(demand([16.0 * part] * 24), by_part=True), SETTINGS)
    charged = {0.5: Decimal("0.45"), 1.25: Decimal("0.7") + Decimal("0.25")}[part]
    assert decision.machines.cost == charged * PRICE * HOURS


def test_futures_count_the_parts_too() -> None:
    """Three machines, one and a half owned and one held: half of one is rented in every hour, of twice the demand
    three and a half."""
    decision = decided([48.0] * 24, owns("1.5"))
    assert [h.count for h in decision.fleet.holdings] == [1]
    for factor, rented in ((1.0, 0.5), (2.0, 3.5)):
        left = divide(decision.demanded.times(factor), SETTINGS, decision.owned).planned
        dollars = step_costs(decision.types, left, [1.0])(decision.fleet.holdings)
        assert set(dollars) == {rented}


def test_a_savings_plan_of_any_family_covers_a_part_of_another() -> None:
    key = replace(reserved("m8.4xlarge", "0.60").key, option=PurchaseOption.COMPUTE_SAVINGS_PLAN)
    part = replace(owns("0.5"), offer=replace(reserved("m8.4xlarge", "0.60"), key=key))
    assert decided([16.0] * 24, part).machines.cost == Decimal("0.5") * PRICE * HOURS


def test_hours_of_the_past_that_fill_no_step_do_not_end_a_plan() -> None:
    """Nine hours in steps of two are five steps of demand and four of what was held in the last of them."""
    held = Owned(reserved("m9.4xlarge", "0.60"), shape(), Decimal(1), 40, phases=((40, np.arange(1.0, 10.0)),))
    counts = held.counts(replace(forecast([1.0] * 20, step=7200), pattern=5))
    assert counts[:5].tolist() == [8.5, 2.5, 4.5, 6.5, 8.5]


def told_of_renewal(machines: list[int], *owned: Owned) -> list[str]:
    market = book(candidate("m9.4xlarge", str(PRICE), [reserved("m9.4xlarge", str(TERM))]))
    asked = demand([16.0 * n for n in machines])
    return list(renewal(decide(market, asked, SETTINGS, owned), market, asked, Given()))


def by_hand(machines: list[int], owned: list[tuple[int, int]], renewed: bool) -> tuple[Decimal, int]:
    """The least that a year of such days costs, and the number to hold for it: hour by hour, each number tried."""
    ends = [(count, HOURS if renewed else end) for count, end in owned]
    left = [max(machines[t % 24] - sum(n for n, end in ends if t < end), 0) for t in range(HOURS)]
    hours_of = {n: left.count(n) for n in set(left)}
    sunk = sum(n * TERM * end for n, end in ends)
    costs = (
        (sunk + held * TERM * HOURS + sum(max(n - held, 0) * h * PRICE for n, h in hours_of.items()), held)
        for held in range(max(machines) + 1)
    )
    return min(costs, key=lambda of: of[0] + FLOOR * of[1] * TERM * HOURS)


@pytest.mark.parametrize(
    "owned", [[(16, 4000)], [(16, 8759)], [(16, 1)], [(9, 2000), (7, 6000)], [(5, 7000), (3, HOURS)], [(16, HOURS)]]
)
@pytest.mark.parametrize("seed", range(2))
def test_what_is_bought_again_when_it_ends_is_told_where_that_costs_less(
    seed: int, owned: list[tuple[int, int]]
) -> None:
    machines = [int(n) for n in np.random.default_rng(seed).integers(35, 60, 24)]
    (cost, count), (total, fewer) = (by_hand(machines, owned, renewed) for renewed in (False, True))
    told = told_of_renewal(machines, *(owns(str(n), end) for n, end in owned))
    if fewer < count and cost - total >= cost * Decimal("0.0005"):
        (said,) = told
        assert f"reserving {16 * fewer} vCPUs now and renewing those then costs ${total:,.0f} over" in said
        assert f"${cost - total:,.0f} less than reserving {16 * count} vCPUs now" in said
    else:
        assert told == []


def test_several_that_end_are_told_by_their_days() -> None:
    (said,) = told_of_renewal([40] * 24, owns("9", 2400), owns("7", 1200))
    assert said.startswith(
        "you own 7 x m9.4xlarge for 50 days and 9 x m9.4xlarge for 100 days: reserving 384 vCPUs now"
    )


def test_what_is_bought_again_is_told_in_vcpus_where_less_of_them_takes_as_many_machines() -> None:
    """8 machines of 16 vCPUs now, or 7 and one of 8 vCPUs: by the number of machines there was nothing to tell."""
    offer = reserved("m9.2xlarge", "0.30")
    small = Candidate(shape("m9.2xlarge", 8, 32), candidate("m9.2xlarge", "0.50").on_demand, (offer,), None, None)
    market = book(small, candidate("m9.4xlarge", str(PRICE), [reserved("m9.4xlarge", str(TERM))]))
    asked, owned = demand([128.0] * 24), Owned(offer, small.shape, Decimal(1), 1000)
    decision = decide(market, asked, SETTINGS, [owned])
    assert sum(h.count for h in decision.machines.holdings) == 8
    (said,) = renewal(decision, market, asked, Given())
    assert "reserving 120 vCPUs now and renewing those then costs $42,048 over" in said
    assert "$300 less than reserving 128 vCPUs now" in said


def test_nothing_is_told_of_what_ends_where_demand_does_not_need_it_again() -> None:
    assert told_of_renewal([4] * 24, owns("16", 4000)) == []


def test_where_renewing_is_not_compared_that_is_said() -> None:
    """Silence was taken for: renewing does not pay."""
    market = book(candidate("m9.4xlarge", str(PRICE), [reserved("m9.4xlarge", str(TERM))]))
    asked = demand([640.0] * 24)
    decision = decide(market, asked, SETTINGS, [owns("16", 4000)])
    (said,) = renewal(decision, market, asked, Given(), "the reserve is that of a strategy")
    assert said == (
        "you own 16 x m9.4xlarge for 166 days: the 384 vCPUs that are reserved now also serve the demand after that;"
        " reserving fewer and renewing those may cost less and was not compared (the reserve is that of a strategy)"
    )
    by_regret = replace(decision, optimum_cost=decision.fleet.cost - 1)
    assert "not compared (the reserve is sized by regret)" in next(renewal(by_regret, market, asked, Given()))
    nothing_bought = decide(market, demand([64.0] * 24), SETTINGS, [owns("16", 4000)])
    assert not list(renewal(nothing_bought, market, asked, Given(), "the plan has idle hours"))
