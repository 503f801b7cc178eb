"""Charges worked by hand: whole seconds, days, commitments hour by hour, their purchase and their unused part."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from billing import BOOK, DAY, HOUR, MONTH, D, commitment, machine, tariff

from hcloud.catalog.bills.billing import charges
from hcloud.catalog.bills.terms import why_not
from hcloud.errors import EvidenceError
from hcloud.model.catalog import BillingRule, Provider, PurchaseOption
from hcloud.model.report import (
    Charge,
    ChargeCategory,
    ChargeFrequency,
    CommitmentStatus,
    Costs,
    Period,
    PricingCategory,
)
from hcloud.planning.reports.report import total
from hcloud.units import cents

NOVEMBER = Period(MONTH, MONTH + 30 * DAY)
ONE_DAY = Period(MONTH, MONTH + DAY)


def used(rows: tuple[Charge, ...]) -> list[Charge]:
    return [c for c in rows if c.resource]


def unused(rows: tuple[Charge, ...]) -> list[Charge]:
    return [c for c in rows if c.status is CommitmentStatus.UNUSED]


def bought(rows: tuple[Charge, ...]) -> list[Charge]:
    return [c for c in rows if c.category is ChargeCategory.PURCHASE]


def test_a_day_on_demand_costs_its_hours_four_ways_alike() -> None:
    (row,) = charges([machine()], [], tariff(), NOVEMBER)
    assert (row.hours, row.costs) == (D(24), Costs(D("2.4"), D("2.4"), D("2.4"), D("2.4")))
    assert (row.category, row.frequency, row.pricing) == (
        ChargeCategory.USAGE, ChargeFrequency.USAGE_BASED, PricingCategory.STANDARD,
    )  # fmt: skip
    assert (row.provider, row.account, row.region, row.address) == ("aws", "111122223333", "us-east-1", "web")


def test_a_rental_over_midnight_is_a_row_a_day() -> None:
    rows = charges([machine(start=MONTH + 23 * HOUR, end=MONTH + 26 * HOUR)], [], tariff(), NOVEMBER)
    assert [(r.start, r.hours) for r in rows] == [(MONTH, D(1)), (MONTH + DAY, D(2))]


def test_the_minimum_is_charged_when_a_rental_begins() -> None:
    across = charges([machine(start=MONTH + DAY - 10, end=MONTH + DAY + 20)], [], tariff(), NOVEMBER)
    assert [r.hours * HOUR for r in across] == [pytest.approx(60)]
    assert across[0].start == MONTH


def test_a_step_is_charged_where_it_begins() -> None:
    book = replace(BOOK, billing={Provider.AWS: BillingRule(60, 60)})
    rows = charges([machine(start=MONTH, end=MONTH + 61)], [], tariff(book=book), NOVEMBER)
    assert sum(r.hours for r in rows) * HOUR == pytest.approx(120)


def test_what_runs_is_charged_up_to_the_end_of_the_period() -> None:
    rows = charges([machine(end=None)], [], tariff(), Period(MONTH, MONTH + 36 * HOUR))
    assert sum(r.hours for r in rows) == 36


def test_what_ran_outside_of_the_period_is_not_charged() -> None:
    before, after = machine(start=MONTH - DAY, end=MONTH), machine("i-2", start=MONTH + DAY, end=None)
    assert charges([before, after], [], tariff(), ONE_DAY) == ()


def test_a_missing_price_is_an_error_and_not_nothing() -> None:
    with pytest.raises(EvidenceError, match=r"x9\.large"):
        charges([machine(instance_type="x9.large")], [], tariff(), NOVEMBER)


def test_a_provider_without_a_billing_rule_is_an_error() -> None:
    with pytest.raises(EvidenceError, match="step"):
        charges([machine()], [], tariff(book=replace(BOOK, billing={})), NOVEMBER)


def test_spot_is_paid_at_its_own_price_and_listed_on_demand() -> None:
    rows = charges([machine(option=PurchaseOption.SPOT)], [commitment()], tariff(), ONE_DAY)
    (row,) = used(rows)
    assert row.pricing is PricingCategory.DYNAMIC
    assert row.costs == Costs(D("2.4"), D("0.72"), D("0.72"), D("0.72"))
    assert sum(r.costs.effective for r in unused(rows)) == cents(D("1.44"))


def test_covered_use_is_billed_nothing_and_costs_its_share() -> None:
    rows = charges([machine()], [commitment(hourly="0.02", upfront="350.40")], tariff(), ONE_DAY)
    (row,) = used(rows)
    assert (row.pricing, row.status, row.commitment) == (PricingCategory.COMMITTED, CommitmentStatus.USED, "ri-1")
    assert row.option is PurchaseOption.RESERVED
    assert row.costs == Costs(D("2.4"), D("2.4"), D("1.44"), D(0))
    assert unused(rows) == []


def test_a_purchase_is_billed_once_and_hour_by_hour_and_is_effective_where_it_is_used() -> None:
    rows = bought(charges([machine()], [commitment(hourly="0.02", upfront="350.40")], tariff(), NOVEMBER))
    once = [r for r in rows if r.frequency is ChargeFrequency.ONE_TIME]
    again = [r for r in rows if r.frequency is ChargeFrequency.RECURRING]
    assert [(r.start, r.costs.billed) for r in once] == [(MONTH, D("350.40"))]
    assert len(again) == 30
    assert {r.costs for r in again} == {Costs(billed=D("0.48"))}


def test_the_upfront_payment_is_billed_in_the_period_it_falls_on_only() -> None:
    later = Period(MONTH + DAY, MONTH + 2 * DAY)
    assert total(bought(charges([], [commitment(hourly="0", upfront="876")], tariff(), later))) == Costs()


def test_what_nobody_used_stands_in_a_row_of_its_own() -> None:
    rows = charges([machine(end=MONTH + 6 * HOUR)], [commitment()], tariff(), ONE_DAY)
    (row,) = unused(rows)
    assert (row.resource, row.hours, row.costs) == ("", D(18), Costs(effective=D("1.08")))
    assert total(rows) == Costs(D("0.6"), D("0.6"), D("1.44"), D("1.44"))


def test_an_hour_covers_no_more_than_an_hour_of_machines() -> None:
    two = [machine("i-1", end=MONTH + HOUR), machine("i-2", end=MONTH + HOUR)]
    rows = charges(two, [commitment()], tariff(), Period(MONTH, MONTH + 2 * HOUR))
    assert [(r.resource, r.commitment) for r in used(rows)] == [("i-1", "ri-1"), ("i-2", "")]
    assert sum(r.hours for r in unused(rows)) == 1


def test_machines_one_after_the_other_share_an_hour() -> None:
    half = MONTH + HOUR // 2
    two = [machine("i-1", end=half), machine("i-2", start=half, end=MONTH + HOUR)]
    rows = charges(two, [commitment()], tariff(), Period(MONTH, MONTH + HOUR))
    assert [r.commitment for r in used(rows)] == ["ri-1", "ri-1"]
    assert unused(rows) == []


def test_the_first_to_end_is_used_first() -> None:
    starts = datetime.fromtimestamp(MONTH, UTC)
    soon = commitment("z", starts=starts - timedelta(days=100), ends=starts + timedelta(days=265))
    rows = charges([machine()], [commitment("a"), soon], tariff(), ONE_DAY)
    assert [r.commitment for r in used(rows)] == ["z"]
    assert [r.commitment for r in unused(rows)] == ["a"]


def test_reserved_instances_cover_their_family_by_size() -> None:
    rows = charges([machine(instance_type="m5.xlarge")], [commitment(), commitment("ri-2")], tariff(), ONE_DAY)
    assert sorted(r.commitment for r in used(rows)) == ["ri-1", "ri-2"]
    assert sum(r.hours for r in used(rows)) == 24


def test_a_reserved_instance_does_not_cover_another_family() -> None:
    rows = charges([machine(instance_type="c5.large")], [commitment()], tariff(), ONE_DAY)
    assert [r.commitment for r in used(rows)] == [""]
    assert len(unused(rows)) == 1


def test_a_savings_plan_is_used_up_at_its_own_rates() -> None:
    plan = commitment("sp", PurchaseOption.COMPUTE_SAVINGS_PLAN, "0.14", instance_type="", count=0)
    rows = charges([machine(), machine("i-2", instance_type="c5.large")], [plan], tariff(), ONE_DAY)
    by_machine = {r.resource: r for r in used(rows)}
    assert by_machine["i-1"].costs.effective == cents(D("1.68"))  # 0.07 an hour
    assert by_machine["i-2"].costs.effective == pytest.approx(D("1.344"))  # 0.056 an hour
    assert sum(r.costs.effective for r in unused(rows)) == pytest.approx(D("0.336"))


def test_a_plan_of_a_family_is_told_by_the_family_alone() -> None:
    plan = commitment("sp", PurchaseOption.INSTANCE_SAVINGS_PLAN, "0.065", instance_type="m5", count=0)
    rows = charges([machine(), machine("i-2", instance_type="c5.large")], [plan], tariff(), ONE_DAY)
    assert [r.commitment for r in used(rows)] == ["sp", ""]


def test_azure_reservations_and_google_committed_use_cover_their_own() -> None:
    azure = machine(instance_type="Standard_D2s_v5")
    kept = commitment("res", PurchaseOption.RESERVATION, "0.0595", instance_type="Standard_D2s_v5")
    assert [r.commitment for r in used(charges([azure], [kept], tariff(Provider.AZURE), ONE_DAY))] == ["res"]
    google = machine(instance_type="n1-standard-4")
    use = commitment("cud", PurchaseOption.COMMITTED_USE, "0.1134", instance_type="n1-standard-4")
    rows = used(charges([google], [use], tariff(Provider.GCP), ONE_DAY))
    assert [(r.commitment, r.hours, r.costs.list) for r in rows] == [("cud", D(24), D("4.32"))]


def test_a_full_month_of_sustained_use_costs_seven_tenths() -> None:
    rows = charges([machine(instance_type="n1-standard-4", end=None)], [], tariff(Provider.GCP), NOVEMBER)
    whole = total(rows)
    assert whole.list == D("129.6")
    assert whole.contracted == whole.effective == whole.billed == pytest.approx(D("129.6") * D("0.7"))


def test_sustained_use_grows_over_the_month_and_its_days_add_up() -> None:
    google = [machine(instance_type="n1-standard-4", end=None)]
    halves = [Period(MONTH, MONTH + 15 * DAY), Period(MONTH + 15 * DAY, MONTH + 30 * DAY)]
    first, second = (total(charges(google, [], tariff(Provider.GCP), half)).billed for half in halves)
    assert first == pytest.approx(D("64.8") * D("0.9"))
    assert second == pytest.approx(D("64.8") * D("0.5"))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"hourly": "0"}, "returned no price"),
        ({"currency": "EUR"}, "EUR"),
        ({"count": 0}, "returned no count"),
        ({"option": PurchaseOption.INSTANCE_SAVINGS_PLAN, "instance_type": "x9", "count": 0}, "no type of that family"),
        ({"option": PurchaseOption.RESERVATION}, "sells no such commitment"),
        ({"option": PurchaseOption.FLEXIBLE_COMMITTED_USE, "instance_type": "", "count": 0}, "what it covers"),
    ],
)
def test_a_commitment_that_cannot_be_told_truly_is_an_error(told: dict[str, object], said: str) -> None:
    with pytest.raises(EvidenceError, match=said):
        charges([machine()], [commitment(**told)], tariff(), ONE_DAY)  # type: ignore[arg-type]


def test_one_that_was_given_back_or_has_no_beginning_is_left_out_with_a_reason() -> None:
    gone, vague = commitment(state="ended", ends=datetime(2026, 11, 5, tzinfo=UTC)), commitment(starts=None)
    assert "before its time" in why_not(gone)
    assert "when it begins" in why_not(vague)
    assert charges([], [gone, vague], tariff(), NOVEMBER) == ()
    over = commitment(state="ended")
    assert why_not(over) == ""
