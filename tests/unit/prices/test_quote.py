"""The price formula: billing steps, commitments over their term, and sustained use as Google publishes it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hour_bills import sustained_cost

from hcloud.catalog.cover.sustained import charged_unit_hours, paper_sustained_cost
from hcloud.catalog.quote import (
    amortised_cost,
    billed_seconds,
    break_even,
    commitment_cost,
    monthly_sustained_cost,
    rental_cost,
    sustained_factor,
    usage_cost,
)
from hcloud.model.catalog import BillingRule, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption, SustainedUse

D = Decimal
ORIGIN = Origin("test", date(2026, 1, 1))
SECOND = BillingRule(1, 60)
HOUR = BillingRule(3600, 3600)
TEN_MINUTES = BillingRule(60, 600)
N1 = SustainedUse("n1", (D(1), D("0.8"), D("0.6"), D("0.4")))
N2 = SustainedUse("n2", (D(1), D("0.8678"), D("0.733"), D("0.6")))


def offer(hourly: str, upfront: str = "0", years: int = 0, payment: Payment = Payment.NONE) -> Offer:
    option = PurchaseOption.RESERVED if years else PurchaseOption.ON_DEMAND
    key = OfferKey(Provider.AWS, "us-east-1", "m5.large", option, years, payment)
    return Offer(key, D(hourly), D(upfront), ORIGIN)


@pytest.mark.parametrize(
    ("seconds", "rule", "billed"),
    [
        (0, SECOND, 0),
        (1, SECOND, 60),
        (60, SECOND, 60),
        (61, SECOND, 61),
        (1, HOUR, 3600),
        (3600, HOUR, 3600),
        (3601, HOUR, 7200),
        (30, TEN_MINUTES, 600),
        (601, TEN_MINUTES, 660),
    ],
)
def test_seconds_are_rounded_up_to_the_step_and_the_minimum(seconds: int, rule: BillingRule, billed: int) -> None:
    assert billed_seconds(seconds, rule) == billed


def test_a_rental_cannot_last_less_than_nothing() -> None:
    with pytest.raises(ValueError, match="-1 s"):
        billed_seconds(-1, SECOND)


def test_a_rental_costs_its_billed_time_at_the_hourly_price() -> None:
    assert rental_cost(offer("0.096"), 90, SECOND) == D("0.0024")
    assert rental_cost(offer("0.096"), 90, HOUR) == D("0.096")
    assert rental_cost(offer("0.096"), 0, HOUR) == 0


def test_usage_costs_hours_times_price() -> None:
    assert usage_cost(offer("0.096"), D("2.5")) == D("0.24")


@pytest.mark.parametrize(
    ("bought", "first_hour", "whole_year"),
    [
        (offer("0.06", years=1), D("0.06"), D("525.6")),
        (offer("0.03", "250", 1, Payment.PARTIAL), D("250.03"), D("512.8")),
        (offer("0", "501", 1, Payment.ALL), D(501), D(501)),
    ],
)
def test_cash_is_upfront_then_recurring(bought: Offer, first_hour: Decimal, whole_year: Decimal) -> None:
    assert commitment_cost(bought, 0) == bought.upfront
    assert commitment_cost(bought, 1) == first_hour
    assert commitment_cost(bought, 8760) == whole_year == bought.term_cost
    assert commitment_cost(bought, 9000) == whole_year
    assert abs(amortised_cost(bought, 8760) - whole_year) < D("1e-20")
    assert amortised_cost(bought, 9000) == amortised_cost(bought, 8760)


def test_a_three_year_term_is_half_amortised_halfway() -> None:
    bought = offer("0", "1314", 3, Payment.ALL)
    assert amortised_cost(bought, 13140) == D(657)
    assert commitment_cost(bought, 13140) == D(1314)


@pytest.mark.parametrize(
    ("used", "charged"),
    [("0", "0"), ("0.25", "0.25"), ("0.5", "0.45"), ("0.75", "0.6"), ("1", "0.7"), ("0.375", "0.35")],
)
def test_n1_quarters_cost_less_and_less(used: str, charged: str) -> None:
    assert sustained_factor(N1, D(used)) == D(charged)


def test_n2_saves_a_fifth_over_a_full_month() -> None:
    assert N2.full_month_factor == sustained_factor(N2, D(1)) == D("0.8002")


@pytest.mark.parametrize("outside", ["-0.01", "1.01"])
def test_a_month_has_only_one_month(outside: str) -> None:
    with pytest.raises(ValueError, match=r"outside 0\.\.1"):
        sustained_factor(N1, D(outside))


def test_a_month_of_n1_standard_1() -> None:
    """Google's own example of 2018: $0.0475 an hour comes to 70 % of list over a whole month."""
    assert monthly_sustained_cost(D("0.0475"), N1, D(1)) == D("0.0475") * 730 * D("0.7")


def test_two_for_half_a_month_are_two_levels_at_half() -> None:
    assert sustained_cost([D(2)] * 365, D(1), N1) == 2 * 730 * D("0.45")


def test_levels_stand_on_each_other() -> None:
    """One unit all month and a second for a quarter of it: 0.7 + 0.25 of a month at list price."""
    levels = [D(1)] * 365 + [D(2)] * 182 + [D(1)] * 183
    expected = monthly_sustained_cost(D(1), N1, D(1)) + monthly_sustained_cost(D(1), N1, D(182) / 730)
    assert sustained_cost(levels, D(1), N1) == expected


def test_one_after_the_other_is_one_level() -> None:
    """A machine that replaces another keeps the level in use; side by side they would be two short ones."""
    assert sustained_cost([D(4)] * 730, D(1), N1) < sustained_cost([D(8)] * 365, D(1), N1)


def test_hours_without_usage_earn_nothing() -> None:
    assert sustained_cost([], D(1), N1) == 0
    assert sustained_cost([D(0)] * 700, D(1), N1) == 0
    assert charged_unit_hours({D(3): 73, D(0): 657}, N1) == 3 * 73


def test_a_month_has_730_hours() -> None:
    with pytest.raises(ValueError, match="outside"):
        sustained_cost([D(1)] * 731, D(1), N1)


def test_a_month_cut_into_twelfths_of_an_hour_is_no_longer_than_a_month() -> None:
    steps = [D(n) * 300 / 3600 for n in (1, 1, 1, 1, 1, 730 * 12 - 5)]
    parts = {D(level): hours for level, hours in enumerate([*steps[:5], steps[5] + D("1e-24")], start=1)}
    assert sum(parts.values()) > 730
    assert charged_unit_hours(parts, N1) == pytest.approx(charged_unit_hours({D(6): 730}, N1), abs=D(5))


def test_the_thesis_lays_hours_of_a_type_end_to_end() -> None:
    three_weeks_of_one = paper_sustained_cost(D(21 * 24), D("0.1"), N1)
    one_week_of_three = paper_sustained_cost(D(3 * 7 * 24), D("0.1"), N1)
    assert three_weeks_of_one == one_week_of_three
    assert paper_sustained_cost(D(365), D(1), N1) == 730 * D("0.45")
    assert paper_sustained_cost(D(730 * 2 + 365), D(1), N1) == 730 * (2 * D("0.7") + D("0.45"))


def test_the_thesis_pooling_is_never_dearer_than_levels() -> None:
    assert paper_sustained_cost(D(3 * 168), D(1), N1) < sustained_cost([D(3)] * 168, D(1), N1)
    with pytest.raises(ValueError, match="below 0"):
        paper_sustained_cost(D(-1), D(1), N1)


def test_break_even_walks_the_sustained_use_tiers() -> None:
    rule = SustainedUse("n1", tuple(map(Decimal, ("1", "0.8", "0.6", "0.4"))))
    assert break_even(Decimal("0.6"), Decimal(1)) == Decimal("0.6")
    assert break_even(Decimal("0.45"), Decimal(1), rule) == Decimal("0.5")
    assert break_even(Decimal("0.7"), Decimal(1), rule) == 1
    assert break_even(Decimal("1.4"), Decimal(1), rule) == 2
    with pytest.raises(ValueError, match="costs nothing"):
        break_even(Decimal(1), Decimal(0))
