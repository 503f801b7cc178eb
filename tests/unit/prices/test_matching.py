"""Commitments against usage, worked by hand: order of application, size flexibility, loss, expiry, sustained use."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from bill_lines import CommitmentLine, HourBill, Usage
from hour_bills import bill, bill_hour, is_active, whole_offer

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.google import unit_prices
from hcloud.errors import EvidenceError
from hcloud.model.catalog import (
    InstanceType,
    Offer,
    OfferKey,
    Origin,
    Payment,
    Provider,
    PurchaseOption,
    SustainedUse,
)
from hcloud.model.usage import CommitmentTerm, CommittedResources
from hcloud.units import cents

D = Decimal
ORIGIN = Origin("test", date(2026, 1, 1))
AWS, GCP, AZURE = Provider.AWS, Provider.GCP, Provider.AZURE
ON_DEMAND, RESERVED = PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED
INSTANCE_PLAN, COMPUTE_PLAN = PurchaseOption.INSTANCE_SAVINGS_PLAN, PurchaseOption.COMPUTE_SAVINGS_PLAN
COMMITTED, FLEXIBLE = PurchaseOption.COMMITTED_USE, PurchaseOption.FLEXIBLE_COMMITTED_USE
RESERVATION, AZURE_PLAN = PurchaseOption.RESERVATION, PurchaseOption.SAVINGS_PLAN
HOME = {AWS: "us-east-1", GCP: "us-central1", AZURE: "eastus"}
NEAR = D("1e-20")


def shape(provider: Provider, name: str, family: str, size: tuple[str, str, str], gpus: int = 0) -> InstanceType:
    vcpus, memory, units = (D(x) for x in size)
    return InstanceType(provider, name, family, vcpus, memory, units, gpus=gpus)


TYPES = [
    shape(AWS, "m5.large", "m5", ("2", "8", "4")),
    shape(AWS, "m5.xlarge", "m5", ("4", "16", "8")),
    shape(AWS, "m5.2xlarge", "m5", ("8", "32", "16")),
    shape(AWS, "m5.4xlarge", "m5", ("16", "64", "32")),
    shape(AWS, "c5.large", "c5", ("2", "4", "4")),
    shape(AWS, "r5.large", "r5", ("2", "16", "4")),
    shape(AWS, "g5.xlarge", "g5", ("4", "16", "8")),
    shape(AWS, "g5.2xlarge", "g5", ("8", "32", "16")),
    shape(AZURE, "Standard_D2s_v5", "Dsv5", ("2", "8", "1")),
    shape(AZURE, "Standard_D4s_v5", "Dsv5", ("4", "16", "2")),
    shape(AZURE, "Standard_E2s_v5", "Esv5", ("2", "16", "1")),
    shape(GCP, "n1-standard-4", "n1", ("4", "15", "4")),
    shape(GCP, "n1-standard-8", "n1", ("8", "30", "8")),
    shape(GCP, "n1-highmem-4", "n1", ("4", "26", "4")),
    shape(GCP, "c2-standard-4", "c2", ("4", "16", "4")),
    shape(GCP, "c2-standard-8", "c2", ("8", "32", "8")),
    shape(GCP, "e2-standard-4", "e2", ("4", "16", "4")),
    shape(GCP, "e2-highmem-4", "e2", ("4", "32", "4")),
    shape(GCP, "e2-medium", "e2", ("2", "4", "2")),
    shape(GCP, "a2-highgpu-1g", "a2", ("12", "85", "12"), 1),
]
N1_VCPU, N1_GIB = D("0.03"), D("0.004")


def key(name: str, option: PurchaseOption = ON_DEMAND, *, os: str = "linux", tenancy: str = "shared") -> OfferKey:
    provider = next(t.provider for t in TYPES if t.name == name)
    years = 0 if option is ON_DEMAND else 1
    return OfferKey(provider, HOME[provider], name, option, years, Payment.NONE, os, tenancy)


def priced(*rows: tuple[OfferKey, str | Decimal]) -> dict[OfferKey, Offer]:
    return {k: Offer(k, D(hourly), D(0), ORIGIN) for k, hourly in rows}


def n1(vcpus: int, gib: int) -> Decimal:
    return vcpus * N1_VCPU + gib * N1_GIB


PRICES = priced(
    (key("m5.large"), "0.10"), (key("m5.xlarge"), "0.20"), (key("m5.2xlarge"), "0.40"), (key("m5.4xlarge"), "0.80"),
    (key("c5.large"), "0.08"), (key("r5.large"), "0.13"), (key("g5.xlarge"), "1.00"), (key("g5.2xlarge"), "1.20"),
    (key("m5.large", os="windows"), "0.20"), (key("m5.xlarge", os="windows"), "0.40"),
    (key("m5.large", RESERVED), "0.06"), (key("m5.xlarge", RESERVED), "0.12"), (key("m5.2xlarge", RESERVED), "0.24"),
    (key("m5.large", RESERVED, os="windows"), "0.15"), (key("g5.2xlarge", RESERVED), "0.70"),
    (key("m5.large", INSTANCE_PLAN), "0.065"), (key("m5.xlarge", INSTANCE_PLAN), "0.13"),
    (key("m5.large", INSTANCE_PLAN, os="windows"), "0.16"),
    (key("m5.large", COMPUTE_PLAN), "0.07"), (key("m5.xlarge", COMPUTE_PLAN), "0.14"),
    (key("c5.large", COMPUTE_PLAN), "0.06"), (key("r5.large", COMPUTE_PLAN), "0.091"),
    (key("m5.large", COMPUTE_PLAN, os="windows"), "0.18"),
    (key("Standard_D2s_v5"), "0.10"), (key("Standard_D4s_v5"), "0.20"), (key("Standard_E2s_v5"), "0.12"),
    (key("Standard_D4s_v5", os="windows"), "0.38"),
    (key("Standard_D2s_v5", RESERVATION), "0.06"), (key("Standard_D4s_v5", RESERVATION), "0.12"),
    (key("Standard_D2s_v5", AZURE_PLAN), "0.07"), (key("Standard_D4s_v5", AZURE_PLAN), "0.14"),
    (key("n1-standard-4"), n1(4, 15)), (key("n1-standard-8"), n1(8, 30)), (key("n1-highmem-4"), n1(4, 26)),
    (key("n1-standard-4", os="windows"), n1(4, 15) + D("0.184")),
    (key("n1-standard-4", COMMITTED), n1(4, 15) * D("0.6")), (key("n1-highmem-4", COMMITTED), n1(4, 26) * D("0.6")),
    (key("n1-standard-4", FLEXIBLE), n1(4, 15) * D("0.7")), (key("n1-standard-8", FLEXIBLE), n1(8, 30) * D("0.7")),
    (key("n1-highmem-4", FLEXIBLE), n1(4, 26) * D("0.7")),
    (key("c2-standard-4"), "0.20"), (key("c2-standard-8"), "0.40"), (key("c2-standard-4", COMMITTED), "0.12"),
    (key("e2-standard-4"), "0.16"), (key("e2-highmem-4"), "0.24"), (key("e2-medium"), "0.04"),
    (key("a2-highgpu-1g"), "3.60"), (key("a2-highgpu-1g", COMMITTED), "2.30"),
)  # fmt: skip
N1 = SustainedUse("n1", (D(1), D("0.8"), D("0.6"), D("0.4")))
BOOK = PriceBook({(t.provider, t.name): t for t in TYPES}, PRICES, {}, {(GCP, "n1"): N1})
PLAIN_BOOK = replace(BOOK, sustained={})


def use(name: str, hours: str | int, *, os: str = "linux", tenancy: str = "shared", zone: str = "") -> Usage:
    return Usage(key(name, os=os, tenancy=tenancy), D(hours), zone)


def own(
    name: str, option: PurchaseOption, count: str | int | Decimal, start: int = 0, zone: str = ""
) -> CommitmentTerm:
    return CommitmentTerm(PRICES[key(name, option)], D(count), start, zone)


def covered(result: HourBill) -> dict[str, Decimal]:
    return {u.key.instance_type + u.zone: u.covered_hours for u in result.usage if u.covered_hours}


def only(result: HourBill) -> CommitmentLine:
    (line,) = result.commitments
    return line


# --- AWS


@pytest.mark.parametrize(
    ("name", "hours", "expected"),
    [("m5.xlarge", 3, 2), ("m5.large", 5, 4), ("m5.2xlarge", 1, 1), ("m5.4xlarge", 1, "0.5")],
)
def test_one_2xlarge_covers_any_size_by_its_weight(name: str, hours: int, expected: str) -> None:
    result = bill_hour([use(name, hours)], [own("m5.2xlarge", RESERVED, 1)], BOOK, 0)
    assert covered(result) == {name: D(expected)}
    assert result.total == D("0.24") + (D(hours) - D(expected)) * PRICES[key(name)].hourly


def test_regional_reservations_start_with_the_smallest_size() -> None:
    usage = [use("m5.4xlarge", 1), use("m5.xlarge", 1), use("m5.large", 1)]
    result = bill_hour(usage, [own("m5.2xlarge", RESERVED, 1)], BOOK, 0)
    assert covered(result) == {"m5.large": 1, "m5.xlarge": 1, "m5.4xlarge": D("0.125")}
    assert only(result).utilisation == 1


def test_zonal_reservations_do_not_flex() -> None:
    usage = [use("m5.xlarge", 2, zone="us-east-1a"), use("m5.2xlarge", 1, zone="us-east-1b")]
    result = bill_hour(usage, [own("m5.2xlarge", RESERVED, 1, zone="us-east-1a")], BOOK, 0)
    assert covered(result) == {}
    assert only(result).unused == D("0.24")
    assert result.total == D("0.24") + D("0.80")


def test_zonal_reservations_come_first() -> None:
    """The zonal one takes the large, so the regional one reaches the xlarge that it would have left otherwise."""
    usage = [use("m5.large", 1, zone="us-east-1a"), use("m5.xlarge", 1, zone="us-east-1b")]
    held = [own("m5.xlarge", RESERVED, 1), own("m5.large", RESERVED, 1, zone="us-east-1a")]
    result = bill_hour(usage, held, BOOK, 0)
    assert result.on_demand_cost == 0
    assert result.utilisation == 1


def test_windows_reservations_cover_exactly_their_type() -> None:
    held = CommitmentTerm(PRICES[key("m5.large", RESERVED, os="windows")], D(1), 0)
    others = [use("m5.xlarge", 1, os="windows"), use("c5.large", 1), use("m5.large", 1)]
    assert covered(bill_hour(others, [held], BOOK, 0)) == {}
    assert covered(bill_hour([*others, use("m5.large", 2, os="windows")], [held], BOOK, 0)) == {"m5.large": 1}


def test_some_families_never_flex() -> None:
    held = [own("g5.2xlarge", RESERVED, 1)]
    assert covered(bill_hour([use("g5.xlarge", 2)], held, BOOK, 0)) == {}
    assert covered(bill_hour([use("g5.2xlarge", 2)], held, BOOK, 0)) == {"g5.2xlarge": 1}


def test_linux_reservations_leave_dedicated_and_windows_machines() -> None:
    book = replace(BOOK, offers=PRICES | priced((key("m5.large", tenancy="dedicated"), "0.11")))
    usage = [use("m5.large", 1, tenancy="dedicated"), use("m5.large", 1, os="windows")]
    assert covered(bill_hour(usage, [own("m5.large", RESERVED, 2)], book, 0)) == {}


def test_a_savings_plan_is_consumed_at_its_own_rates() -> None:
    """$0.14 an hour is two m5.large at $0.07; the third is on demand."""
    result = bill_hour([use("m5.large", 3)], [own("m5.large", COMPUTE_PLAN, "0.14")], BOOK, 0)
    assert covered(result) == {"m5.large": 2}
    assert (result.total, result.coverage) == (D("0.24"), D(2) / 3)


def test_savings_plans_serve_the_greatest_discount_first() -> None:
    """As in AWS' published example, with prices of ours: 30 % for m5 and r5, 25 % for c5; of equals the lower rate.

    $0.20 an hour: two m5.large take 0.14; of r5.large at 0.091 the remaining 0.06 buys 0.659; c5.large gets nothing.
    """
    usage = [use("c5.large", 1), use("r5.large", 1), use("m5.large", 2)]
    result = bill_hour(usage, [own("c5.large", COMPUTE_PLAN, "0.20")], BOOK, 0)
    assert covered(result)["m5.large"] == 2
    assert covered(result)["r5.large"] == D("0.06") / D("0.091")
    assert "c5.large" not in covered(result)
    assert cents(result.total) == D("0.32")  # 0.20 + 0.341 x 0.13 + 0.08


def test_reserved_then_instance_plan_then_compute_plan() -> None:
    usage = [use("m5.large", 3), use("c5.large", 1)]
    held = [
        own("c5.large", COMPUTE_PLAN, "0.13"),
        own("m5.large", INSTANCE_PLAN, "0.065"),
        own("m5.large", RESERVED, 1),
    ]
    result = bill_hour(usage, held, BOOK, 0)
    by_option = {c.commitment.offer.key.option: c for c in result.commitments}
    assert by_option[RESERVED].covered_hours == by_option[INSTANCE_PLAN].covered_hours == 1
    assert by_option[COMPUTE_PLAN].covered_hours == D(1) + 1  # an m5.large at 30 %, then the c5.large at 25 %
    assert result.on_demand_cost == 0
    assert result.utilisation == 1


def test_an_instance_plan_covers_any_system_of_its_family_and_no_other() -> None:
    plan = own("m5.large", INSTANCE_PLAN, 10)
    result = bill_hour([use("m5.large", 1, os="windows"), use("c5.large", 1)], [plan], BOOK, 0)
    assert covered(result) == {"m5.large": 1}
    assert cents(only(result).unused) == D("9.84")


def test_an_instance_plan_stays_in_its_region() -> None:
    west = replace(key("m5.large"), region="us-west-2")
    plan_there = replace(key("m5.large", COMPUTE_PLAN), region="us-west-2")
    book = replace(BOOK, offers=PRICES | priced((west, "0.11"), (plan_there, "0.077")))
    usage = [Usage(west, D(1))]
    assert covered(bill_hour(usage, [own("m5.large", INSTANCE_PLAN, 1)], book, 0)) == {}
    assert covered(bill_hour(usage, [own("m5.large", COMPUTE_PLAN, 1)], book, 0)) == {"m5.large": 1}


def test_a_plan_never_makes_usage_dearer() -> None:
    book = replace(BOOK, offers=PRICES | priced((key("m5.large", COMPUTE_PLAN), "0.12")))
    result = bill_hour([use("m5.large", 1)], [own("c5.large", COMPUTE_PLAN, 1)], book, 0)
    assert covered(result) == {}


def test_what_an_hour_leaves_unused_is_lost() -> None:
    result = bill([[use("m5.large", 2)], []], [own("m5.large", RESERVED, 1)], BOOK)
    assert result.usage[0].covered_hours == 1
    assert result.total == D("0.10") + 2 * D("0.06")
    assert result.unused == D("0.06")
    assert result.utilisation == D("0.5")


# --- terms and money


def test_a_term_that_ends_in_mid_year_covers_to_its_last_hour() -> None:
    held = own("m5.large", RESERVED, 1, start=-8757)
    result = bill([[use("m5.large", 1)]] * 5, [held], BOOK)
    (line,) = result.commitments
    assert line.hours == line.covered_hours == 3
    assert line.amortised == line.cash == D("0.18")
    assert result.on_demand_cost == D("0.20")
    assert is_active(held, 2)
    assert not is_active(held, 3)


def test_a_term_that_starts_later_covers_from_its_first_hour() -> None:
    result = bill([[use("m5.large", 1)]] * 5, [own("m5.large", RESERVED, 1, start=12)], BOOK, first_hour=10)
    assert result.usage[0].covered_hours == result.commitments[0].hours == 3
    assert (result.first_hour, result.hours) == (10, 5)


def test_a_term_may_start_in_the_second_hour() -> None:
    result = bill([[use("m5.large", 1)]] * 3, [own("m5.large", RESERVED, 1, start=1)], BOOK)
    assert result.usage[0].covered_hours == result.commitments[0].hours == 2


def test_a_term_outside_the_bill_costs_nothing() -> None:
    result = bill([[use("m5.large", 1)]], [own("m5.large", RESERVED, 1, start=1)], BOOK)
    (line,) = result.commitments
    assert line.hours == line.amortised == line.cash == line.utilisation == line.unused == 0
    assert result.utilisation == 0
    assert result.total == result.list_cost


@pytest.mark.parametrize(
    ("payment", "hourly", "upfront"),
    [(Payment.NONE, "0.06", "0"), (Payment.PARTIAL, "0.03", "255"), (Payment.ALL, "0", "500")],
)
def test_a_years_amortised_cost_is_upfront_plus_recurring(payment: Payment, hourly: str, upfront: str) -> None:
    bought = Offer(replace(key("m5.large", RESERVED), payment=payment), D(hourly), D(upfront), ORIGIN)
    result = bill([[]] * 8760, [CommitmentTerm(bought, D(3), 0)], BOOK)
    assert cents(result.commitment_cost) == result.cash == 3 * (D(upfront) + 8760 * D(hourly))
    later = bill([[]] * 10, [CommitmentTerm(bought, D(3), -1)], BOOK)
    assert later.cash == 3 * 10 * D(hourly)


@pytest.mark.parametrize(("payment", "upfront"), [(Payment.NONE, 0), (Payment.PARTIAL, 4380), (Payment.ALL, 8760)])
def test_a_plan_in_dollars_is_paid_as_its_option_says(payment: Payment, upfront: int) -> None:
    bought = Offer(replace(key("m5.large", COMPUTE_PLAN), payment=payment), D("0.07"), D(0), ORIGIN)
    whole = whole_offer(CommitmentTerm(bought, D(1), 0), BOOK)
    assert whole.upfront == upfront
    assert whole.effective_hourly == 1


def test_lines_add_up() -> None:
    usage = [use("m5.large", 7), use("c5.large", 3), use("r5.large", "1.5")]
    held = [own("m5.xlarge", RESERVED, 1), own("m5.large", COMPUTE_PLAN, "0.3")]
    result = bill([usage] * 24, held, BOOK)
    assert result.list_cost == 24 * (D("0.7") + D("0.24") + D("0.195"))
    assert result.total == result.on_demand_cost + D("0.42") * 24
    assert abs(sum(c.covered_cost for c in result.commitments) + result.on_demand_cost - result.list_cost) < NEAR
    assert all(0 < u.coverage <= 1 for u in result.usage if u.covered_hours)


def test_equal_usage_is_added_up_and_none_is_no_line() -> None:
    result = bill_hour([use("m5.large", 1), use("m5.large", "0.5"), use("c5.large", 0)], [], BOOK, 0)
    assert [(u.key.instance_type, u.instance_hours, u.billed) for u in result.usage] == [
        ("m5.large", D("1.5"), D("0.15"))
    ]


def test_a_year_of_like_hours_is_as_exact_as_one() -> None:
    usage, held = [use("m5.large", 3)], [own("m5.large", RESERVED, 2)]
    year = bill([usage] * 8760, held, BOOK)
    hour = bill_hour(usage, held, BOOK, 0)
    assert year.total == 8760 * hour.total
    assert year.coverage == hour.coverage


# --- missing evidence and nonsense


def test_a_missing_on_demand_price_is_an_error() -> None:
    with pytest.raises(EvidenceError, match="no such price"):
        bill_hour([Usage(key("m5.large", os="rhel"), D(1))], [], BOOK, 0)


def test_a_missing_plan_rate_is_an_error_even_if_the_plan_ran_dry_before() -> None:
    with pytest.raises(EvidenceError, match=r"g5\.xlarge/compute-savings-plan"):
        bill_hour([use("m5.large", 9), use("g5.xlarge", 1)], [own("m5.large", COMPUTE_PLAN, "0.07")], BOOK, 0)


def test_an_unknown_committed_type_is_an_error() -> None:
    ghost = Offer(replace(key("m5.large", RESERVED), instance_type="m5.ghost"), D(1), D(0), ORIGIN)
    with pytest.raises(EvidenceError, match=r"m5\.ghost"):
        bill_hour([], [CommitmentTerm(ghost, D(1), 0)], BOOK, 0)


def test_a_zero_rate_is_an_error() -> None:
    book = replace(BOOK, offers=PRICES | priced((key("m5.large", COMPUTE_PLAN), "0")))
    with pytest.raises(EvidenceError, match="zero"):
        bill_hour([use("m5.large", 1)], [own("c5.large", COMPUTE_PLAN, 1)], book, 0)


def test_values_refuse_what_nobody_sells() -> None:
    with pytest.raises(ValueError, match="on-demand offer"):
        Usage(key("m5.large", RESERVED), D(1))
    with pytest.raises(ValueError, match="at least 0"):
        use("m5.large", "-1")
    with pytest.raises(ValueError, match="at least 0"):
        own("m5.large", RESERVED, "NaN")
    with pytest.raises(ValueError, match="sells no such"):
        CommitmentTerm(Offer(replace(key("n1-standard-4", COMMITTED), provider=AWS), D(1), D(0), ORIGIN), D(1), 0)
    with pytest.raises(ValueError, match="sells no such"):
        CommitmentTerm(PRICES[key("m5.large")], D(1), 0)
    with pytest.raises(ValueError, match="for a zone"):
        own("m5.large", COMPUTE_PLAN, 1, zone="us-east-1a")
    with pytest.raises(ValueError, match="vCPUs and GiB"):
        CommitmentTerm(PRICES[key("m5.large", RESERVED)], D(1), 0, "", CommittedResources(D(1), D(1)))


# --- Azure


def test_azure_reservations_flex_by_ratio_within_the_group() -> None:
    usage = [use("Standard_D2s_v5", 3), use("Standard_E2s_v5", 1)]
    result = bill_hour(usage, [own("Standard_D4s_v5", RESERVATION, 1)], BOOK, 0)
    assert covered(result) == {"Standard_D2s_v5": 2}


def test_azure_reservations_come_before_plans_and_leave_the_licence() -> None:
    """A Windows D4s is $0.20 of compute and $0.18 of licence; a D2s reservation halves the first, the plan the rest."""
    held = [own("Standard_D2s_v5", AZURE_PLAN, "0.07"), own("Standard_D2s_v5", RESERVATION, 1)]
    result = bill_hour([use("Standard_D4s_v5", 1, os="windows")], held, BOOK, 0)
    assert result.on_demand_cost == D("0.18")
    assert result.usage[0].covered_hours == 1
    assert result.commitment_cost == D("0.13")
    assert result.utilisation == 1


def test_no_azure_commitment_is_large_enough_to_cover_a_licence() -> None:
    usage = [use("Standard_D4s_v5", 1, os="windows")]
    for option in (RESERVATION, AZURE_PLAN):
        result = bill_hour(usage, [own("Standard_D4s_v5", option, 9)], BOOK, 0)
        assert result.on_demand_cost == D("0.18")
        assert result.usage[0].covered_hours == 1


@pytest.mark.parametrize(
    ("name", "option"), [("Standard_D2s_v5", RESERVATION), ("n1-standard-4", COMMITTED), ("m5.large", RESERVED)]
)
def test_reserved_capacity_stays_in_its_region(name: str, option: PurchaseOption) -> None:
    away = {replace(k, region="away"): replace(o, key=replace(k, region="away")) for k, o in PRICES.items()}
    book = replace(BOOK, offers=PRICES | away)
    usage = [Usage(replace(key(name), region="away"), D(1))]
    assert covered(bill_hour(usage, [own(name, option, 1)], book, 0)) == {}


def test_azure_families_without_any_plan_rate_stay_outside() -> None:
    plan = own("Standard_D2s_v5", AZURE_PLAN, 1)
    result = bill_hour([use("Standard_E2s_v5", 1), use("Standard_D4s_v5", 1)], [plan], BOOK, 0)
    assert covered(result) == {"Standard_D4s_v5": 1}


def test_azure_licence_needs_the_linux_price_only_where_something_is_committed() -> None:
    book = replace(BOOK, offers={k: o for k, o in PRICES.items() if k != key("Standard_D4s_v5")})
    usage = [use("Standard_D4s_v5", 1, os="windows")]
    assert bill_hour(usage, [], book, 0).total == D("0.38")
    with pytest.raises(EvidenceError, match="Standard_D4s_v5"):
        bill_hour(usage, [own("Standard_D2s_v5", RESERVATION, 1)], book, 0)


# --- Google


def test_unit_prices_are_solved_from_two_types() -> None:
    found = unit_prices(BOOK, "n1", "us-central1")
    assert found is not None
    assert (found.vcpu, found.gib, found.ratio) == (N1_VCPU, N1_GIB, None)


def test_a_shared_core_type_does_not_spoil_the_unit_prices() -> None:
    """e2-medium has two vCPUs to show and is priced as one; the two honest types give $0.02 and $0.005."""
    found = unit_prices(BOOK, "e2", "us-central1")
    assert found is not None
    assert (found.vcpu, found.gib) == (D("0.02"), D("0.005"))


def test_a_series_of_one_shape_carries_its_price_on_the_vcpu() -> None:
    found = unit_prices(BOOK, "c2", "us-central1")
    assert found is not None
    assert found == (D("0.05"), D(0), D(4))
    result = bill_hour([use("c2-standard-8", 1)], [own("c2-standard-4", COMMITTED, 1)], BOOK, 0)
    assert covered(result) == {"c2-standard-8": D("0.5")}
    assert result.total == D("0.12") + D("0.20")


def test_accelerator_series_match_by_the_exact_type() -> None:
    assert unit_prices(BOOK, "a2", "us-central1") is None
    result = bill_hour([use("a2-highgpu-1g", 2)], [own("a2-highgpu-1g", COMMITTED, 1)], BOOK, 0)
    assert covered(result) == {"a2-highgpu-1g": 1}


def test_committed_vcpus_and_gib_match_apart() -> None:
    """4 vCPUs and 15 GiB against an n1-highmem-4: all of its vCPUs, 15 of its 26 GiB."""
    result = bill_hour([use("n1-highmem-4", 1)], [own("n1-standard-4", COMMITTED, 1)], PLAIN_BOOK, 0)
    assert abs(result.on_demand_cost - 11 * N1_GIB) < NEAR
    assert abs(result.usage[0].covered_hours - n1(4, 15) / n1(4, 26)) < NEAR
    assert only(result).utilisation == 1


def test_unused_gib_are_lost_by_their_value() -> None:
    result = bill_hour([use("n1-standard-4", 1)], [own("n1-highmem-4", COMMITTED, 1)], PLAIN_BOOK, 0)
    assert abs(result.on_demand_cost) < NEAR
    assert abs(only(result).unused - 11 * N1_GIB * D("0.6")) < NEAR


def test_a_commitment_in_vcpus_and_gib_costs_its_share() -> None:
    held = CommitmentTerm(PRICES[key("n1-standard-4", COMMITTED)], D(1), 0, "", CommittedResources(D(8), D(26)))
    result = bill_hour([use("n1-highmem-4", 2)], [held], PLAIN_BOOK, 0)
    assert abs(result.commitment_cost - n1(8, 26) * D("0.6")) < NEAR
    assert abs(result.on_demand_cost - 26 * N1_GIB) < NEAR


def test_a_series_of_one_shape_sells_no_other_ratio() -> None:
    held = CommitmentTerm(PRICES[key("c2-standard-4", COMMITTED)], D(1), 0, "", CommittedResources(D(4), D(20)))
    with pytest.raises(EvidenceError, match="series c2"):
        bill_hour([], [held], BOOK, 0)


def test_committed_use_leaves_the_licence() -> None:
    result = bill_hour([use("n1-standard-4", 1, os="windows")], [own("n1-standard-4", COMMITTED, 1)], PLAIN_BOOK, 0)
    assert abs(result.on_demand_cost - D("0.184")) < NEAR


@pytest.mark.parametrize(
    ("name", "option", "licence"),
    [
        ("n1-standard-4", COMMITTED, "0.184"),
        ("n1-standard-4", FLEXIBLE, "0.184"),
        ("Standard_D4s_v5", RESERVATION, "0.18"),
        ("Standard_D4s_v5", AZURE_PLAN, "0.18"),
    ],
)
def test_a_licence_quoted_with_a_commitment_is_paid_once(name: str, option: PurchaseOption, licence: str) -> None:
    quoted = Offer(key(name, option, os="windows"), PRICES[key(name, option)].hourly + D(licence), D(0), ORIGIN)
    # so many dollars an hour as cover one machine, where the commitment is in dollars
    count = {FLEXIBLE: n1(4, 15), AZURE_PLAN: D("0.14")}.get(option, D(1))
    result = bill_hour([use(name, 1, os="windows")], [CommitmentTerm(quoted, count, 0)], PLAIN_BOOK, 0)
    assert abs(result.total - quoted.hourly) < NEAR
    assert abs(result.on_demand_cost - D(licence)) < NEAR


def test_flexible_commitments_leave_the_licence() -> None:
    result = bill_hour([use("n1-standard-4", 1, os="windows")], [own("n1-standard-4", FLEXIBLE, 9)], PLAIN_BOOK, 0)
    assert abs(result.on_demand_cost - D("0.184")) < NEAR


@pytest.mark.parametrize("off", ["-0.0005", "0.0005"])
def test_a_rounded_price_is_still_made_of_vcpus_and_gib(off: str) -> None:
    """A list price a little off the unit prices is covered whole, and to the cent; there is no rest of it."""
    book = replace(PLAIN_BOOK, offers=PRICES | priced((key("n1-standard-8"), n1(8, 30) + D(off))))
    result = bill_hour([use("n1-standard-8", 1)], [own("n1-standard-4", COMMITTED, 2)], book, 0)
    assert abs(result.on_demand_cost) < NEAR
    assert abs(result.usage[0].covered_hours - 1) < NEAR


def test_flexible_commitments_are_bought_in_on_demand_dollars() -> None:
    """$0.36 of list price is two n1-standard-4 an hour for 70 % of it."""
    held = [own("n1-standard-4", FLEXIBLE, n1(4, 15) * 2)]
    result = bill_hour([use("n1-standard-4", 3)], held, PLAIN_BOOK, 0)
    assert abs(result.usage[0].covered_hours - 2) < NEAR
    assert abs(result.commitment_cost - 2 * n1(4, 15) * D("0.7")) < NEAR


def test_committed_use_comes_before_flexible() -> None:
    held = [
        own("n1-standard-4", FLEXIBLE, "0.18"),
        own("n1-standard-8", FLEXIBLE, "0.01"),
        own("n1-standard-4", COMMITTED, 1),
    ]
    result = bill_hour([use("n1-standard-4", 1)], held, PLAIN_BOOK, 0)
    by_option = {c.commitment.offer.key.option: c.covered_hours for c in result.commitments}
    assert by_option == {COMMITTED: 1, FLEXIBLE: 0}


def test_sustained_use_is_for_what_no_commitment_covers() -> None:
    """Two of three instances committed; the third runs half the month and pays 90 % of list for it."""
    hours = [[use("n1-standard-4", 3)]] * 365 + [[use("n1-standard-4", 2)]] * 365
    result = bill(hours, [own("n1-standard-4", COMMITTED, 2)], BOOK)
    assert abs(result.on_demand_cost - n1(4, 15) * 365 * D("0.9")) < NEAR
    assert abs(result.sustained_discount - n1(4, 15) * 365 * D("0.1")) < NEAR


def test_sustained_use_pools_the_types_of_a_series() -> None:
    """Half a month of n1-standard-8, then half a month of two n1-standard-4: 8 vCPUs and 30 GiB all month."""
    hours = [[use("n1-standard-8", 1)]] * 365 + [[use("n1-standard-4", 2)]] * 365
    assert abs(bill(hours, [], BOOK).total - n1(8, 30) * 730 * D("0.7")) < D("1e-15")


def test_sustained_use_starts_again_every_month() -> None:
    hours = [[use("n1-standard-4", 1)]] * 730
    assert abs(bill(hours, [], BOOK).total - n1(4, 15) * 730 * D("0.7")) < D("1e-15")
    assert abs(bill(hours, [], BOOK, first_hour=365).total - n1(4, 15) * 730 * D("0.9")) < D("1e-15")


def test_series_without_tiers_get_no_discount() -> None:
    assert bill([[use("e2-standard-4", 1)]] * 730, [], BOOK).sustained_discount == 0


def test_clouds_do_not_mix() -> None:
    usage = [use("m5.large", 1), use("Standard_D2s_v5", 1), use("n1-standard-4", 1)]
    held = [own("m5.large", RESERVED, 1), own("Standard_D2s_v5", RESERVATION, 1), own("n1-standard-4", COMMITTED, 1)]
    for number, commitment in enumerate(held):
        result = bill_hour(usage, [commitment], PLAIN_BOOK, 0)
        assert len(covered(result)) == 1
        assert list(covered(result)) == [usage[number].key.instance_type]
    assert abs(bill_hour(usage, held, PLAIN_BOOK, 0).on_demand_cost) < NEAR
