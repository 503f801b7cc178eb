"""Bills that leave something out: commitments without use, columns and prices that are not there."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from hcloud.cli.main import run
from hcloud.errors import InputError
from hcloud.model.bill import LineKind, Service
from hcloud.model.bill_figures import figures_of
from hcloud.model.catalog import PurchaseOption
from hcloud.readers.bills.formats.spelling import spelled
from hcloud.readers.bills.options import bill_options
from hcloud.readers.bills.reading import read_bill

Row = Mapping[str, object]
PLAN = "arn:aws:savingsplans::1:savingsplan/"


def written(rows: Iterable[Row], path: Path) -> Path:
    table = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in table for name in row)), restval="")
        writer.writeheader()
        writer.writerows(table)
    return path


def of_focus(**cells: object) -> Row:
    return {
        "ProviderName": "AWS", "ChargeCategory": "Usage", "ServiceCategory": "Compute",
        "ServiceName": "Amazon Elastic Compute Cloud", "ChargePeriodStart": "2026-10-01T00:00:00Z",
        "ChargePeriodEnd": "2026-10-01T01:00:00Z", "BillingCurrency": "USD", "SubAccountId": "1",
        "RegionId": "us-east-1", "x_Operation": "RunInstances", "BilledCost": 0, "ListCost": 0, **cells,
    }  # fmt: skip


def of_plan(name: str, status: str, cost: str, **cells: object) -> Row:
    return of_focus(
        CommitmentDiscountId=f"{PLAN}{name}", CommitmentDiscountType="Compute Savings Plans",
        CommitmentDiscountStatus=status, EffectiveCost=cost, **cells,
    )  # fmt: skip


def test_a_savings_plan_that_covered_nothing_was_not_used(tmp_path: Path) -> None:
    machine = {"x_UsageType": "BoxUsage:m5.large", "ConsumedQuantity": 1, "ConsumedUnit": "Hours", "ListCost": "0.096"}
    rows = [
        of_plan("a", "Used", "0.07", **machine),
        of_plan("a", "Unused", "0.03"),
        of_plan("b", "Unused", "0.5"),
    ]
    figures = figures_of(read_bill(written(rows, tmp_path / "focus.csv")))
    # paid 0.07 + 0.03 + 0.5 = 0.6, of which 0.07 was used
    assert figures.unused == Decimal("0.53")
    assert figures.utilisation == round(Decimal("0.07") / Decimal("0.6"), 6)
    # what the machine took, 0.07, and the 0.53 that covered nothing, against 0.096
    assert figures.effective_savings_rate == round(1 - Decimal("0.6") / Decimal("0.096"), 6)


def test_a_reservation_of_azure_that_covered_nothing_was_not_used(tmp_path: Path) -> None:
    def of_day(charge: str, reservation: str, cost: str, quantity: int) -> Row:
        return {
            "Date": "10/01/2026", "MeterCategory": "Virtual Machines", "ChargeType": charge, "SubscriptionId": "1",
            "ResourceLocation": "eastus", "UnitOfMeasure": "1 Hour", "Quantity": quantity,
            "CostInBillingCurrency": cost, "PricingModel": "Reservation", "BillingCurrency": "USD",
            "ReservationId": reservation, "AdditionalInfo": '{"ServiceType":"Standard_D4s_v5"}',
        }  # fmt: skip

    rows = [
        of_day("Usage", "used", "3", 24),
        of_day("UnusedReservation", "used", "1", 8),
        of_day("UnusedReservation", "idle", "8", 64),
    ]
    figures = figures_of(read_bill(written(rows, tmp_path / "azure.csv")))
    assert {c.id: c.used for c in figures.commitments} == {"used": Decimal(3), "idle": Decimal(0)}
    assert (figures.unused, figures.utilisation) == (Decimal(9), Decimal("0.25"))


@pytest.mark.parametrize(("rate", "listed"), [({"ExchangeRatePricingToBilling": "0.9"}, "21.6"), ({}, "24")])
def test_prices_of_azure_are_in_the_currency_of_prices(rate: Row, listed: str, tmp_path: Path) -> None:
    """24 hours at $1 are 21.60 euros where a dollar is 0.90; agreements without a rate have prices in euros."""
    row = {
        "Date": "10/01/2026", "MeterCategory": "Virtual Machines", "ChargeType": "Usage", "SubscriptionId": "1",
        "ResourceLocation": "eastus", "UnitOfMeasure": "1 Hour", "Quantity": 24, "CostInBillingCurrency": "18",
        "PricingModel": "OnDemand", "BillingCurrency": "EUR", "PayGPrice": "1", **rate,
        "AdditionalInfo": '{"ServiceType":"Standard_D4s_v5"}',
    }  # fmt: skip
    (used,) = read_bill(written([row], tmp_path / "azure.csv"), bill_options({"rate_EUR": "1.1"})).usage
    assert (used.cost, used.list_cost) == (Decimal("19.8"), Decimal(listed) * Decimal("1.1"))


@pytest.mark.parametrize(("meter", "system"), [("Dsv5 Series", "linux"), ("Dsv5 Series Windows", "windows")])
def test_a_licence_that_the_user_brings_to_azure_is_not_paid_for(meter: str, system: str, tmp_path: Path) -> None:
    image = '{"ServiceType":"Standard_D4s_v5","ImageType":"Windows Server BYOL"}'
    details = {
        "Date": "10/01/2026", "MeterCategory": "Virtual Machines", "ChargeType": "Usage", "SubscriptionId": "1",
        "ResourceLocation": "eastus", "UnitOfMeasure": "1 Hour", "Quantity": 24, "CostInBillingCurrency": "4.6",
        "MeterSubCategory": meter, "AdditionalInfo": image,
    }  # fmt: skip
    focus = of_focus(
        ProviderName="Microsoft", ServiceName="Virtual Machines", x_SkuDetails=image, x_SkuMeterName=meter,
        ConsumedQuantity=1, ConsumedUnit="Hours", ResourceType="Virtual machine", BilledCost=1, EffectiveCost=1,
    )  # fmt: skip
    for row in (details, focus):
        (used,) = read_bill(written([row], tmp_path / "bill.csv")).usage
        assert used.kind.os == system


def of_google(sku: str, cost: str, quantity: float, model: str = "Default", off: str = "") -> Row:
    """A line of the second form of flexible commitments, of the amounts in Google's own example of it."""
    fee = "Commitment" in sku
    taken = [{"type": "FEE_UTILIZATION_OFFSET", "amount": float(off)}] if off else []
    return {
        "service": {"description": "Compute Engine"}, "sku": {"description": sku}, "cost": float(cost),
        "cost_at_list": quantity * (1.0 if fee else 0.02181159 if "Core" in sku else 0.00292353),
        "usage_start_time": "2026-10-01 00:00:00 UTC", "usage_end_time": "2026-10-01 01:00:00 UTC",
        "usage": {"amount_in_pricing_units": quantity, "pricing_unit": "gibibyte hour" if "Ram" in sku else "hour"},
        "location": {"region": "us-central1"}, "project": {"id": "p"}, "currency": "USD", "credits": taken,
        "consumption_model": {"description": model}, "subscription": {"instance_id": "s" if fee else ""},
    }  # fmt: skip


FLEXIBLE = "Compute Flexible CUDs 1 Year"
FEE = "Commitment - dollar based v1: GCE for 1 year"
CORE, RAM = "E2 Instance Core running in Americas", "E2 Instance Ram running in Americas"


def as_objects(rows: Iterable[Row], path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("as_focus", [True, False])
def test_licences_of_google_are_no_machines(as_focus: bool, tmp_path: Path) -> None:
    sku = "Licensing Fee for Windows Server 2022 Datacenter Edition (CPU cost)"
    focus = {"ProviderName": "Google Cloud", "ServiceName": "Compute Engine", "ConsumedUnit": "hour"}
    rows = [
        of_focus(
            **focus, ChargeDescription=what, **{"BilledCost": "0.1", "EffectiveCost": "0.1", "ConsumedQuantity": 4}
        )
        for what in (CORE, sku)
    ]
    path = as_objects([of_google(CORE, "0.1", 4.0), of_google(sku, "0.1", 4.0)], tmp_path / "google.jsonl")
    bill = read_bill(written(rows, tmp_path / "focus.csv") if as_focus else path)
    assert {kind: line.rows for kind, line in bill.lines.items()} == {LineKind.ON_DEMAND: 1, LineKind.LICENCE: 1}
    assert not bill.said


def test_use_at_the_price_of_a_flexible_commitment_is_covered(tmp_path: Path) -> None:
    rows = [
        of_google(FEE, "0.046868", 0.04686833, off="-0.046868"),
        of_google(FEE, "0.025132", 0.02513167, off="-0.025132"),
        of_google(CORE, "0.109398", 5.0),
        of_google(RAM, "0.058648", 20.0),
        of_google(CORE, "0.046868", 3.0, FLEXIBLE),
        of_google(RAM, "0.025132", 12.0, FLEXIBLE),
    ]
    bill = read_bill(as_objects(rows, tmp_path / "google.jsonl"))
    (used,), (held,) = bill.usage, bill.commitments
    assert {option: hours.tolist() for option, hours in used.covered.items()} == {held.option: [3.0]}
    assert held.option is PurchaseOption.FLEXIBLE_COMMITTED_USE
    assert used.hours.tolist() == [8.0]
    # the fee is taken off again, so that the bill's total is what the use cost
    assert bill.total == used.cost == Decimal("0.240046")
    assert (held.paid, held.used) == (Decimal("0.072"), Decimal("0.072"))


def test_what_is_left_of_the_fee_of_a_flexible_commitment_was_not_used(tmp_path: Path) -> None:
    rows = [
        of_google(FEE, "0.022994", 0.022994),
        of_google(FEE, "0.193006", 0.193006, off="-0.192993"),
        of_google(CORE, "0.125637", 8.0, FLEXIBLE),
        of_google(RAM, "0.067369", 32.0, FLEXIBLE),
    ]
    figures = figures_of(read_bill(as_objects(rows, tmp_path / "google.jsonl")))
    assert figures.unused == Decimal("0.216") - Decimal("0.192993")
    assert figures.usage.coverage == 1
    assert figures.usage.cost == Decimal("0.193006")


def with_credit(sku: str, cost: str, quantity: float, off: str) -> Row:
    """A line of use that a commitment to vCPUs or memory takes something off."""
    credit = {"type": "COMMITTED_USAGE_DISCOUNT", "amount": float(off)}
    return {**of_google(sku, cost, quantity), "cost_at_list": float(cost), "credits": [credit]}


def test_the_fee_of_a_commitment_of_google_is_borne_by_the_lines_that_it_is_taken_off(tmp_path: Path) -> None:
    """8 vCPUs of N2 of which 4 are committed, 4 of C2 and 2 of N1 that all are; GPUs and disks have their own."""
    names = ("N2 Cpu", "Compute optimized Cpu", "Cpu", "Nvidia Tesla T4 GPU running", "Local SSD")
    rows = [
        of_google(f"Commitment v1: {name} In Americas for 1 Year", fee, 1.0)
        for name, fee in zip(names, ("0.08", "0.10", "0.04", "0.90", "0.5"), strict=True)
    ]
    for number, row in enumerate(rows):
        row["subscription"] = {"instance_id": f"s{number}"}  # type: ignore[index]
    rows += [
        with_credit("N2 Instance Core running in Americas", "0.252888", 8.0, "-0.126444"),
        with_credit("Compute optimized Core running in Americas", "0.1356", 4.0, "-0.1356"),
        with_credit("N1 Predefined Instance Core running in Americas", "0.063222", 2.0, "-0.063222"),
    ]
    bill = read_bill(as_objects(rows, tmp_path / "google.jsonl"))
    used = {one.kind.family: one for one in bill.usage}
    cost = {family: one.cost for family, one in used.items()}
    assert cost == {"n2": Decimal("0.126444") + Decimal("0.08"), "c2": Decimal("0.1"), "n1": Decimal("0.04")}
    covered = {family: one.covered[PurchaseOption.COMMITTED_USE].tolist() for family, one in used.items()}
    assert covered == {"n2": [4.0], "c2": [4.0], "n1": [2.0]}
    assert [held.family for held in bill.commitments] == ["n2", "c2", "n1", "nvidia-tesla-t4-gpu", "local-ssd"]


def machine_of_google(name: str, cores: int, row: Row) -> Row:
    labels = {"machine_spec": name, "cores": str(cores)}
    return {
        **row, "system_labels": [{"key": f"compute.googleapis.com/{k}", "value": v} for k, v in labels.items()],
    }  # fmt: skip


def test_a_shared_core_counts_as_the_part_that_is_charged(tmp_path: Path) -> None:
    """Two e2-small: half a vCPU each by the bill, two each by their label."""
    line = of_google("E2 Instance Core running in Americas", "0.0218", 1.0)
    (used,) = read_bill(as_objects([machine_of_google("e2-small", 2, line)], tmp_path / "google.jsonl")).usage
    assert (used.kind.instance_type, used.hours.tolist()) == ("e2-small", [2.0])


def test_a_custom_machine_of_the_first_series_is_named_with_it(tmp_path: Path) -> None:
    """Its label has no series, and its vCPUs were counted as some of any size."""
    rows = [machine_of_google("custom-4-8192", 4, of_google("Custom Instance Core running in Americas", "0.1327", 4.0))]
    bill = read_bill(as_objects(rows, tmp_path / "google.jsonl"))
    assert [(u.kind.family, u.kind.instance_type, u.hours.tolist()) for u in bill.usage] == [
        ("n1", "n1-custom-4-8192", [1.0])
    ]
    assert not any("do not have" in said for said in bill.said)


def test_committed_vcpus_and_memory_are_used_and_borne_apart(tmp_path: Path) -> None:
    """16 vCPUs and 64 GiB of N2 are committed; machines of 8 vCPUs use half of the ones, with 32 GiB and 32 GiB all of
    the other. A correction with a credit of its own is no use."""
    rows = [
        of_google("Commitment v1: N2 Cpu in Americas for 1 Year", "0.32", 16.0),
        of_google("Commitment v1: N2 Ram in Americas for 1 Year", "0.16", 64.0),
        machine_of_google(
            "n2-standard-8", 8, with_credit("N2 Instance Core running in Americas", "0.24", 8.0, "-0.24")
        ),
        machine_of_google(
            "n2-standard-8", 8, with_credit("N2 Instance Ram running in Americas", "0.128", 32.0, "-0.128")
        ),
        machine_of_google(
            "n2-highmem-4", 4, with_credit("N2 Instance Ram running in Americas", "0.128", 32.0, "-0.128")
        ),
        {**with_credit("N2 Instance Core running in Americas", "-0.3", -10.0, "0.1"), "cost_type": "adjustment"},
    ]
    figures = figures_of(read_bill(as_objects(rows, tmp_path / "google.jsonl")))
    (held,) = figures.commitments
    assert held.used == Decimal("0.16") + Decimal("0.16")
    assert held.used_parts == {"vCPUs": Decimal("0.5"), "memory": 1}
    assert held.committed == {"vCPUs": 16, "memory": 64}
    assert (figures.unused, figures.utilisation) == (Decimal("0.16"), round(Decimal("0.32") / Decimal("0.48"), 6))
    assert figures.usage.coverage == 1  # by hours of vCPUs what covers memory alone was none
    assert {u.kind.instance_type: u.cost for u in figures.bill.usage} == {
        "n2-standard-8": Decimal("0.16") + Decimal("0.08"),
        "n2-highmem-4": Decimal("0.08"),
    }


def of_report(kind: str, usage_type: object = "BoxUsage:m5.large", cost: object = "0", **cells: object) -> Row:
    """A line of CUR 2.0: an hour of a machine, or what a commitment cost."""
    return {
        "line_item_line_item_type": kind, "line_item_product_code": "AmazonEC2",
        "line_item_usage_type": usage_type, "line_item_operation": "RunInstances",
        "line_item_usage_account_id": "1", "line_item_usage_amount": 1, "line_item_unblended_cost": cost,
        "line_item_usage_start_date": "2026-10-01 00:00:00", "line_item_usage_end_date": "2026-10-01 01:00:00",
        "product_region_code": "us-east-1", "product": "{}", **cells,
    }  # fmt: skip


RESERVED = {"reservation_reservation_a_r_n": "arn:aws:ec2:us-east-1:1:reserved-instances/a"}


def test_a_free_machine_has_a_list_cost_of_nothing(tmp_path: Path) -> None:
    listed = {"pricing_public_on_demand_cost": "0.096"}
    rows = [
        of_report("Usage", cost="0.096", **listed),
        of_report("DiscountedUsage", **RESERVED, **listed, reservation_effective_cost="0.06"),
        of_report("Usage", "BoxUsage:t2.micro", pricing_public_on_demand_cost="0.0000000000"),
    ]
    figures = figures_of(read_bill(written(rows, tmp_path / "report.csv")))
    assert (figures.usage.list_cost, figures.usage.coverage) == (Decimal("0.192"), Decimal("0.5"))
    # paid 0.096 + 0.06 of 0.192
    assert figures.effective_savings_rate == Decimal("0.1875")


def test_a_report_of_aws_is_of_what_is_paid_after_discounts(tmp_path: Path) -> None:
    """A tenth is taken off in columns of their own, without lines of discounts; tax has none of it. What a savings plan
    has committed to is said before discounts."""
    listed = {"pricing_public_on_demand_cost": "0.1"}
    plan = {"savings_plan_savings_plan_a_r_n": f"{PLAN}a", "savings_plan_offering_type": "ComputeSavingsPlans"}
    upfront = "amortized_upfront_fee_for_billing_period"
    fee = {f"reservation_{upfront}": "0.05", "reservation_unused_recurring_fee": "0.04"}
    off = {f"reservation_net_{upfront}": "0.045", "reservation_net_unused_recurring_fee": "0.036"}
    off["line_item_net_unblended_cost"] = "0.045"
    covered = {"savings_plan_savings_plan_effective_cost": "0.07"}
    rows = [
        of_report("Usage", cost="0.1", line_item_net_unblended_cost="0.09", **listed),
        of_report("DiscountedUsage", **RESERVED, **listed, reservation_effective_cost="0.06",
                  reservation_net_effective_cost="0.054"),
        of_report("RIFee", "HeavyUsage:m5.large", "0.05", **RESERVED, **fee, **off),
        of_report("SavingsPlanCoveredUsage", cost="0.1", line_item_net_unblended_cost="0.09", **plan, **listed,
                  **covered, savings_plan_net_savings_plan_effective_cost="0.063"),
        of_report("SavingsPlanNegation", cost="-0.1", line_item_net_unblended_cost="-0.09", **plan),
        of_report("SavingsPlanRecurringFee", "ComputeSP:1yrNoUpfront", "0.07", line_item_net_unblended_cost="0.063",
                  savings_plan_total_commitment_to_date="0.1", savings_plan_used_commitment="0.07", **plan),
        of_report("Tax", "", "1"),
    ]  # fmt: skip
    told = of_report("EdpDiscount", cost="-0.01")  # nothing in the net column: it is in that of usage
    figures = figures_of(read_bill(written([*rows, told], tmp_path / "report.csv")))
    assert figures.bill.total == Decimal("1.198")  # 0.09 + 0.045 + 0.063 + 1
    assert figures.usage.cost == Decimal("0.207")  # 0.09 + 0.054 + 0.063
    reserved, saved = figures.commitments
    assert (reserved.paid, reserved.used) == (Decimal("0.09"), Decimal("0.054"))
    assert (saved.paid, saved.used, saved.unused) == (Decimal("0.1"), Decimal("0.07"), Decimal("0.027"))
    assert [use.cost for use in (saved.covered or {}).values()] == [Decimal("0.07")]
    assert figures.effective_savings_rate == Decimal("0.1")  # 0.207, 0.036 and 0.027 of 0.3
    # of a plan without any use its fee says it
    fee_alone = of_report("SavingsPlanRecurringFee", "ComputeSP:1yrNoUpfront", "0.1", **plan,
                          line_item_net_unblended_cost="0.09", savings_plan_total_commitment_to_date="0.1",
                          savings_plan_used_commitment="0", savings_plan_payment_option="No Upfront")  # fmt: skip
    [unused] = figures_of(read_bill(written([rows[0], fee_alone], tmp_path / "unused.csv"))).commitments
    assert (unused.paid, unused.unused) == (Decimal("0.1"), Decimal("0.09"))
    parts = {"recurring": ("0.04", "0.036"), "amortized_upfront": ("0.06", "0.051")}
    of_period = {
        f"savings_plan_{net}{part}_commitment_for_billing_period": dollars
        for part, both in parts.items()
        for net, dollars in zip(("", "net_"), both, strict=True)
    }
    partly = {**fee_alone, **of_period, "savings_plan_payment_option": "Partial Upfront"}
    [unused] = figures_of(read_bill(written([rows[0], partly], tmp_path / "unused.csv"))).commitments
    assert (unused.paid, unused.unused) == (Decimal("0.1"), Decimal("0.087"))
    # a column that a table has filled with 0 says nothing: all was free
    zero = [{**row, "line_item_net_unblended_cost": "0E-10"} for row in [*rows, told]]
    bill = read_bill(written(zero, tmp_path / "zero.csv"))
    assert bill.total == Decimal("1.21")  # 0.1 + 0.05 + 0.07 + 1 - 0.01
    assert any("line_item_net_unblended_cost is 0 throughout" in said for said in bill.said)
    # but a part of a bill with lines of discounts alone has none of it
    (tmp_path / "parts").mkdir()
    for part, lines in (("a", rows), ("b", [{**told, "line_item_net_unblended_cost": "0"}])):
        written(lines, tmp_path / "parts" / f"{part}.csv")
    assert read_bill(tmp_path / "parts").total == Decimal("1.198")
    # nor is what is wholly discounted dear in a part of its own, where another part of the month has net costs
    month = {"bill_billing_period_start_date": "2026-10-01 00:00:00"}
    for part, lines in (("a", rows), ("b", [{**rows[0], "line_item_net_unblended_cost": "0"}])):
        written([{**line, **month} for line in lines], tmp_path / "parts" / f"{part}.csv")
    assert read_bill(tmp_path / "parts").total == Decimal("1.198")


def test_a_list_cost_of_nothing_for_what_was_paid_for_is_not_known(tmp_path: Path) -> None:
    rows = [of_report("Usage", cost="0.096", pricing_public_on_demand_cost="0")]
    assert figures_of(read_bill(written(rows, tmp_path / "report.csv"))).usage.list_cost is None


def test_a_list_cost_of_nothing_beside_lines_that_have_one_is_not_known_either(tmp_path: Path) -> None:
    rows = [
        of_report("Usage", cost="0.096", pricing_public_on_demand_cost="0"),
        of_report("DiscountedUsage", **RESERVED, pricing_public_on_demand_cost="0.096"),
    ]
    assert figures_of(read_bill(written(rows, tmp_path / "report.csv"))).usage.list_cost is None


def test_rows_of_a_month_are_not_told_as_those_of_a_day(tmp_path: Path) -> None:
    """What a plan says of uneven days does not hold for them."""
    rows = [of_report("Usage", line_item_usage_end_date=f"2026-{end} 00:00:00") for end in ("10-02", "11-01")]
    bill = read_bill(written(rows, tmp_path / "report.csv"))
    assert (bill.daily, bill.longest_days) == (True, 31)
    assert [rows for said, rows in bill.said.items() if said.startswith("lines of more than")] == [2, 1]


def test_coverage_by_hours_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [of_report("Usage", cost="0.096"), of_report("DiscountedUsage", **RESERVED)]
    assert run(["workload", "show", str(written(rows, tmp_path / "report.csv"))]) == 0
    assert "50.0% of the hours are covered by commitments" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cells", "other", "listed"),
    [
        ({"ListCost": "0"}, True, "0.288"),  # two machines at the price of the one on demand
        ({"ListCost": ""}, True, "0.288"),
        ({"ListCost": "0", "ListUnitPrice": "0.1", "PricingQuantity": 2}, True, "0.296"),
        ({"ListCost": "", "ListUnitPrice": "0.1", "PricingQuantity": 2}, False, "0.2"),
        ({"ListCost": "0"}, False, None),
    ],
)
def test_covered_lines_without_a_list_cost_have_that_of_the_same_machines(
    cells: Row, other: bool, listed: str | None, tmp_path: Path
) -> None:
    machine = {"x_UsageType": "BoxUsage:m5.large", "ConsumedUnit": "Hours"}
    rows = [
        of_plan("a", "Used", "0.12", **machine, **{"ConsumedQuantity": 2, **cells}),
        of_focus(**{**machine, "x_UsageType": f"BoxUsage:{'m5' if other else 'r5'}.large"}, ConsumedQuantity=1,
                 ListCost="0.096", BilledCost="0.096", EffectiveCost="0.096"),
    ]  # fmt: skip
    figures = figures_of(read_bill(written(rows, tmp_path / "focus.csv")))
    covered = next(used for used in figures.bill.usage if used.covered)
    assert covered.list_cost == (None if listed is None else Decimal(listed))
    told = " ".join(figures.bill.said)
    assert ("what they save is not said" in told) == (listed is None)
    assert ("the same machines on demand" in told) == (listed == "0.288")
    if listed == "0.288":
        assert figures.usage.coverage == Decimal("0.666667")
        assert figures.effective_savings_rate == Decimal("0.25")  # 0.216 was paid


@pytest.mark.parametrize("kind", [pa.string(), pa.float64(), pa.int64(), pa.decimal128(21, 2)])
def test_the_list_price_fills_in_whatever_type_a_list_cost_is_stored_in(kind: pa.DataType, tmp_path: Path) -> None:
    rows = [
        of_plan("a", "Used", "0.07", **{"x_UsageType": "BoxUsage:m5.large", "ConsumedUnit": "Hours", **cells})
        for cells in ({"ConsumedQuantity": 2, "ListUnitPrice": "0.096", "PricingQuantity": 2},)
    ]
    table = arrow_csv.read_csv(written(rows, tmp_path / "focus.csv"))
    at = table.column_names.index("ListCost")
    parquet.write_table(table.set_column(at, "ListCost", table["ListCost"].cast(kind)), tmp_path / "focus.parquet")
    assert read_bill(tmp_path / "focus.parquet").usage[0].list_cost == Decimal("0.192")


UPFRONT = {
    **RESERVED, "pricing_purchase_option": "All Upfront", "reservation_number_of_reservations": 2,
    "reservation_unused_recurring_fee": "0", "reservation_unused_amortized_upfront_fee_for_billing_period": "0.06",
}  # fmt: skip
UNUSED = "reservation_unused_recurring_fee"
AMORTISED = "reservation_amortized_upfront_fee_for_billing_period"


def of_reserved() -> list[Row]:
    """Two machines paid for at once, 0.06 an hour each, of which one ran."""
    return [
        of_report("RIFee", "HeavyUsage:m5.large", **UPFRONT, **{AMORTISED: "0.12"}),
        of_report(
            "DiscountedUsage", **RESERVED, pricing_public_on_demand_cost="0.096", reservation_effective_cost="0.06"
        ),
    ]


def without(rows: Iterable[Row], column: str) -> list[Row]:
    return [{name: cell for name, cell in row.items() if name != column} for row in rows]


def test_a_report_without_the_upfront_fee_does_not_say_how_well_it_was_used(tmp_path: Path) -> None:
    whole = figures_of(read_bill(written(of_reserved(), tmp_path / "whole.csv")))
    assert (whole.utilisation, whole.effective_savings_rate) == (Decimal("0.5"), Decimal("-0.25"))
    figures = figures_of(read_bill(written(without(of_reserved(), AMORTISED), tmp_path / "part.csv")))
    assert (figures.utilisation, figures.effective_savings_rate) == (None, None)
    assert figures.bill.lacking == (AMORTISED,)
    assert any(said.endswith(f"export column {AMORTISED} too") for said in figures.bill.said)
    (held,) = figures.commitments
    assert (held.paid, held.used, held.utilisation) == (Decimal("0.06"), None, None)


def test_a_reserved_instance_without_an_upfront_fee_needs_no_column_of_one(tmp_path: Path) -> None:
    rows = [
        of_report("RIFee", "HeavyUsage:m5.large", "0.12", **RESERVED, pricing_purchase_option="No Upfront"),
        of_report(
            "DiscountedUsage", **RESERVED, pricing_public_on_demand_cost="0.096", reservation_effective_cost="0.06"
        ),
    ]
    figures = figures_of(read_bill(written(rows, tmp_path / "report.csv")))
    assert (figures.bill.lacking, figures.utilisation) == ((), Decimal("0.5"))


@pytest.mark.parametrize("upfront", [True, False])
def test_the_fee_of_a_month_that_is_not_over_counts_until_the_last_hour_of_the_bill(
    upfront: bool, tmp_path: Path
) -> None:
    whole, rest = "89.28", "89.22"  # of two machines at 0.06 an hour, 744 hours; one ran in the one hour there is
    paid = {"pricing_purchase_option": "All Upfront", AMORTISED: whole} if upfront else {}
    left = "reservation_unused_amortized_upfront_fee_for_billing_period" if upfront else UNUSED
    fee = of_report(
        "RIFee", "HeavyUsage:m5.large", "0" if upfront else whole, **{**RESERVED, **paid, left: rest},
        reservation_number_of_reservations=2, line_item_usage_end_date="2026-10-31 23:59:59",
    )  # fmt: skip
    report = [{AMORTISED: "", "bill_invoice_id": "", **row} for row in (fee, *of_reserved()[1:])]
    figures = figures_of(read_bill(written(report, tmp_path / "report.csv")))
    (held,) = figures.commitments
    assert (held.paid, held.used, held.hours) == (Decimal("0.12"), Decimal("0.06"), 1)
    assert figures.utilisation == Decimal("0.5")
    assert any(said.startswith("fees of commitments of a month that is not over") for said in figures.bill.said)
    ended = {"reservation_start_time": "2025-10-01T01:00:00.000Z", "reservation_end_time": "2026-10-01T01:00:00.000Z"}
    of_an_hour = {**report[0], **ended, left: "0.06", AMORTISED if upfront else "line_item_unblended_cost": "0.12"}
    (held,) = figures_of(read_bill(written([of_an_hour, *report[1:]], tmp_path / "ended.csv"))).commitments
    assert (held.paid, held.used, held.hours) == (Decimal("0.12"), Decimal("0.06"), 1)  # all of the fee is of that hour
    over = [{**row, "bill_invoice_id": "1"} for row in report]
    (held,) = figures_of(read_bill(written(over, tmp_path / "over.csv"))).commitments
    assert (held.paid, held.used, held.hours) == (Decimal(whole), Decimal("0.06"), 744)


def test_what_was_not_used_in_months_that_are_over_counts_whole(tmp_path: Path) -> None:
    machine = {"x_UsageType": "BoxUsage:m5.large", "ConsumedQuantity": 240, "ConsumedUnit": "Hours"}
    rows = [
        of_plan("a", "Unused", "100", ChargePeriodStart="2026-09-01T00:00:00Z"),
        of_plan("a", "Unused", "37.2", ChargePeriodEnd="2026-11-01T00:00:00Z"),
        of_plan("a", "Used", "6", **machine, ChargePeriodEnd="2026-10-11T00:00:00Z"),
        of_focus(**machine, ChargePeriodStart="2026-10-10T00:00:00Z", ChargePeriodEnd="2026-10-11T00:00:00Z"),
    ]  # the bill ends after 240 of the 744 hours of October: 12 of the 37.2
    (held,) = figures_of(read_bill(written(rows, tmp_path / "focus.csv"))).commitments
    assert (held.paid, held.used, held.hours) == (Decimal(118), Decimal(6), 960)


def test_long_lines_of_a_month_that_begins_within_a_day_keep_their_cost(tmp_path: Path) -> None:
    """Months of Google begin at seven or eight of UTC. Behind a late line the first ones cost nothing."""
    machine = {
        "x_UsageType": "BoxUsage:m5.large",
        "ConsumedUnit": "Hours",
        "BillingPeriodStart": "2026-10-01T07:00:00Z",
    }
    times = {"ChargePeriodStart": "2026-10-01T07:00:00Z", "ChargePeriodEnd": "2026-10-11T07:00:00Z"}
    late = {"ChargePeriodStart": "2026-09-30T00:00:00Z", "ChargePeriodEnd": "2026-09-30T01:00:00Z"}
    rows = [of_focus(**machine, ConsumedQuantity=240, EffectiveCost=24, **{**times, "BilledCost": 24, "ListCost": 30})]
    rows.append(of_focus(**machine, ConsumedQuantity=1, EffectiveCost=1, **{**late, "BilledCost": 1}))
    (used,) = read_bill(written(rows, tmp_path / "focus.csv")).usage
    assert (used.hours.sum(), used.cost, used.list_cost) == (240, Decimal(24), Decimal(30))


def test_focus_of_google_tells_purchases_and_lines_of_other_clouds(tmp_path: Path) -> None:
    """The fees of its commitments were credits, and machines of AWS beside them other services without a word."""
    google = {
        "ProviderName": "Google Cloud", "ServiceName": "Compute Engine", "ConsumedUnit": "hour", "x_Credits": "[]",
        "EffectiveCost": "0.1", "PricingQuantity": 4, "ConsumedQuantity": 4,
    }  # fmt: skip
    fee = "Commitment v1: N2 Cpu in Americas for 1 Year"
    said_of_aws = "$0.1 per On Demand Linux m5.large Instance Hour"
    rows = [
        of_focus(**google, ChargeDescription=CORE),
        of_focus(**{**google, "ChargeCategory": "Purchase"}, ChargeDescription=fee),
        of_focus(ChargeDescription=said_of_aws, ConsumedQuantity=1, ConsumedUnit="Hours", EffectiveCost="0.2"),
    ]
    path = written(({k: v for k, v in row.items() if k != "x_Operation"} for row in rows), tmp_path / "focus.csv")
    bill = read_bill(path)
    assert {kind: line.rows for kind, line in bill.lines.items()} == {
        LineKind.ON_DEMAND: 1,
        LineKind.RECURRING: 1,
        LineKind.OTHER_SERVICE: 1,
    }
    (said,) = bill.said
    assert said.startswith("lines of other clouds in a table with Google's credits: not planned")
    known = read_bill(written(rows, tmp_path / "focus.csv"))  # with a column of AWS it is a table of several clouds
    assert [used.kind.instance_type or used.kind.family for used in known.usage] == ["m5.large", "e2"]


@pytest.mark.parametrize(
    ("last", "keys", "paid", "told"),
    [
        ("2026-10-31 02:00:00", {}, "89.28", "reach its last day: taken as over"),
        ("2026-10-20 02:00:00", {}, "55.08", "end days before it: taken as not over"),
        ("2026-10-20 02:00:00", {"finished": "yes"}, "89.28", ""),
    ],
)
def test_an_export_without_invoices_tells_by_its_days_whether_its_month_is_over(
    last: str, keys: dict[str, str], paid: str, told: str, tmp_path: Path
) -> None:
    fee = of_report(
        "RIFee", "HeavyUsage:m5.large", "89.28", **RESERVED, reservation_number_of_reservations=2,
        pricing_purchase_option="No Upfront", line_item_usage_end_date="2026-10-31 23:59:59",
    )  # fmt: skip
    used = {"reservation_effective_cost": "0.06", "line_item_usage_start_date": last}
    later = of_report("DiscountedUsage", **RESERVED, **used, line_item_usage_end_date=last.replace("02:", "03:"))
    path = written([fee, *of_reserved()[1:], later], tmp_path / "report.csv")
    bill = read_bill(path, bill_options(keys))
    assert bill.commitments[0].paid == Decimal(paid)
    assert [said.partition("whose lines ")[2].partition(", ")[0] for said in bill.said if "InvoiceId" in said] == (
        [told] if told else []
    )


def test_fees_that_begin_together_and_end_apart_have_their_own_part_of_the_bill(tmp_path: Path) -> None:
    """That of ten days which are over was scaled as that of the month: 72.85 was paid."""
    ends = {"2026-10-31 23:59:59": "89.28", "2026-10-10 23:59:59": "28.80"}
    no_upfront = {**RESERVED, "pricing_purchase_option": "No Upfront"}
    fees = [
        of_report("RIFee", "HeavyUsage:m5.large", fee, **no_upfront, line_item_usage_end_date=end)
        for end, fee in ends.items()
    ]
    last = {"line_item_usage_start_date": "2026-10-20 02:00:00", "line_item_usage_end_date": "2026-10-20 03:00:00"}
    used = of_report("DiscountedUsage", **RESERVED, reservation_effective_cost="0.06", **last)
    (held,) = read_bill(written([*fees, used], tmp_path / "report.csv")).commitments
    assert held.paid == Decimal("55.08") + Decimal("28.80")


def of_savings_plan() -> list[Row]:
    plan = {"savings_plan_savings_plan_a_r_n": f"{PLAN}a", "savings_plan_offering_type": "ComputeSavingsPlans"}
    cover = {"savings_plan_savings_plan_effective_cost": "0.07", "pricing_public_on_demand_cost": "0.096"}
    fee = {"savings_plan_total_commitment_to_date": "0.1", "savings_plan_used_commitment": "0.07"}
    return [
        of_report("SavingsPlanCoveredUsage", cost="0.096", **plan, **cover),
        of_report("SavingsPlanNegation", cost="-0.096", **plan),
        of_report("SavingsPlanRecurringFee", "ComputeSP:1yrNoUpfront", "0.1", **plan, **fee),
    ]


@pytest.mark.parametrize("column", ["total_commitment_to_date", "savings_plan_effective_cost"])
def test_a_report_without_a_cost_of_savings_plans_does_not_say_what_they_save(column: str, tmp_path: Path) -> None:
    whole = figures_of(read_bill(written(of_savings_plan(), tmp_path / "whole.csv")))
    assert (whole.utilisation, whole.unused) == (Decimal("0.7"), Decimal("0.03"))
    rows = without(of_savings_plan(), f"savings_plan_{column}")
    figures = figures_of(read_bill(written(rows, tmp_path / "part.csv")))
    assert figures.bill.lacking == (f"savings_plan_{column}",)
    assert (figures.utilisation, figures.effective_savings_rate) == (None, None)


def test_the_screen_of_a_report_without_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = without(of_savings_plan(), "savings_plan_total_commitment_to_date")
    assert run(["workload", "show", str(written(rows, tmp_path / "part.csv"))]) == 0
    out = capsys.readouterr().out
    assert "at least $0.07" in out
    assert "utilisation  " not in out
    assert "rate  " not in out
    assert "export column savings_plan_total_commitment_to_date too" in " ".join(out.split())


@pytest.mark.parametrize(
    ("plain", "snake", "legacy"),
    [
        ("lineitemunblendedcost", "line_item_unblended_cost", "lineItem/UnblendedCost"),
        ("savingsplanusedcommitment", "savings_plan_used_commitment", "savingsPlan/UsedCommitment"),
        ("billedcost", "BilledCost", "BilledCost"),
        ("pricingquantity", "PricingQuantity", "PricingQuantity"),
    ],
)  # fmt: skip
def test_columns_are_named_as_exports_spell_them(plain: str, snake: str, legacy: str) -> None:
    assert (spelled(plain), spelled(plain, slashes=True)) == (snake, legacy)


def test_what_a_savings_plan_covers_of_lambda_and_memory_is_covered(tmp_path: Path) -> None:
    plan = {"savings_plan_savings_plan_a_r_n": f"{PLAN}a", "savings_plan_offering_type": "ComputeSavingsPlans"}

    def covered(usage_type: str, quantity: int, listed: str) -> Row:
        cells = {"line_item_usage_amount": quantity, "pricing_public_on_demand_cost": listed}
        kind = "SavingsPlanCoveredUsage"
        return {**of_report(kind, usage_type, listed, **plan, savings_plan_savings_plan_effective_cost="0.01"), **cells}

    memory = covered("Fargate-GB-Hours", 16, "0.07")
    rows: list[Row] = [
        {**covered("Lambda-GB-Second", 7200, "0.12"), "line_item_product_code": "AWSLambda"},
        {**memory, "line_item_product_code": "AmazonECS"},
        {**of_report("Usage", "Fargate-vCPU-Hours:perCPU", "0.13"), "pricing_public_on_demand_cost": "0.13"},
    ]
    rows[2] = {**rows[2], "line_item_product_code": "AmazonECS", "line_item_usage_amount": 4}
    figures = figures_of(read_bill(written(rows, tmp_path / "report.csv")))
    by_size = {one.name: one.coverage for one in figures.by["size"]}
    # of Fargate's 0.13 + 0.07 the memory is covered; of 0.32 in all, 0.12 + 0.07
    assert by_size == {"Lambda": Decimal(1), "Fargate": Decimal("0.35")}
    assert figures.usage.coverage == Decimal("0.59375")
    # 7,200 GiB-seconds are 2 GiB-hours
    of_lambda = next(used for used in figures.bill.usage if used.kind.service is Service.LAMBDA)
    assert [hours.sum() for hours in of_lambda.covered.values()] == [2.0]
    assert figures.usage.covered_hours == 0


def test_a_column_that_is_missing_is_named_as_the_export_spells_it(tmp_path: Path) -> None:
    path = written(without([of_report("Usage")], "line_item_unblended_cost"), tmp_path / "report.csv")
    with pytest.raises(InputError, match=r"column line_item_unblended_cost is missing .add it to the export"):
        read_bill(path)
    slashed = written([{"lineItem/LineItemType": "Usage"}], tmp_path / "legacy.csv")
    with pytest.raises(InputError, match="column lineItem/UnblendedCost is missing"):
        read_bill(slashed)


def test_a_date_that_cannot_be_read_is_told_the_forms_that_can(tmp_path: Path) -> None:
    row = {**of_report("Usage"), "line_item_usage_start_date": "10/1/2026"}
    with pytest.raises(InputError, match=r"line 2.*'10/1/2026' .*as 2026-10-01, .* or 10/01/2026 \(month, day, year"):
        read_bill(written([row], tmp_path / "report.csv"))


def test_what_is_taken_off_for_committed_use_is_no_savings_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = as_objects(
        [of_google(FEE, "0.1", 0.1, off="-0.1"), of_google(CORE, "0.1", 4.0, FLEXIBLE)], tmp_path / "g.json"
    )
    assert run(["workload", "show", str(path)]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "taken off" in line)
    assert line.split() == ["taken", "off", "for", "committed", "use", "-$0.10"]


def test_a_flexible_commitment_of_whose_fee_nothing_is_taken_off_was_not_used(tmp_path: Path) -> None:
    idle = {**of_google(FEE, "0.3", 0.3), "subscription": {"instance_id": "idle"}}
    rows = [of_google(FEE, "0.1", 0.1, off="-0.1"), of_google(CORE, "0.1", 4.0, FLEXIBLE), idle]
    figures = figures_of(read_bill(as_objects(rows, tmp_path / "google.jsonl")))
    assert {held.id: held.used for held in figures.commitments} == {"s": Decimal("0.1"), "idle": Decimal(0)}
    assert (figures.unused, figures.utilisation) == (Decimal("0.3"), Decimal("0.25"))
    # nor was any where nothing is taken off in all the bill; one without credits does not say it
    (held,) = read_bill(as_objects([of_google(CORE, "0.1", 4.0), idle], tmp_path / "google.jsonl")).commitments
    assert held.used == 0
    columns = ["service.description", "sku.description", "cost", "usage.amount_in_pricing_units", "usage_start_time"]
    bare = f"{','.join(columns)},usage.pricing_unit\nCompute Engine,{FEE},0.3,0.3,2026-10-01 00:00:00 UTC,hour\n"
    (tmp_path / "google.csv").write_text(bare)
    (held,) = read_bill(tmp_path / "google.csv").commitments
    assert held.used is None
