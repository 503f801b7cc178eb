"""Bills that leave something out: commitments without use, columns and prices that are not there."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path

from hcloud.model.bill_figures import figures_of
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
