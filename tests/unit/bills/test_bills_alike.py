"""The same use, written as each cloud's bill would have it, gives the same hours."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from hcloud.model.bill import LineKind
from hcloud.readers.bills.reading import read_bill

START = datetime(2024, 10, 1, tzinfo=UTC)
RUNNING = np.random.default_rng(7).integers(0, 5, 48)
"""How many machines run in each hour of two days."""
PRICE = 0.1
Row = Mapping[str, object]


def hours() -> Iterator[tuple[str, str, int]]:
    for hour, count in enumerate(RUNNING.tolist()):
        first = START + timedelta(hours=hour)
        for _ in range(count):
            yield f"{first:%Y-%m-%dT%H:%M:%SZ}", f"{first + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}", hour


def report(form: str) -> Iterator[Row]:
    names = (
        ("lineItem/LineItemType", "line_item_line_item_type", "Usage"),
        ("lineItem/ProductCode", "line_item_product_code", "AmazonEC2"),
        ("lineItem/UsageType", "line_item_usage_type", "BoxUsage:m5.large"),
        ("lineItem/Operation", "line_item_operation", "RunInstances"),
        ("lineItem/UsageAccountId", "line_item_usage_account_id", "1"),
        ("lineItem/UsageAmount", "line_item_usage_amount", "1"),
        ("lineItem/UnblendedCost", "line_item_unblended_cost", PRICE),
    )
    for first, last, _ in hours():
        row: dict[str, object] = {(a if form == "legacy" else b): value for a, b, value in names}
        dates = ("lineItem/UsageStartDate", "lineItem/UsageEndDate")
        row |= dict(zip(dates if form == "legacy" else ("line_item_usage_start_date", "line_item_usage_end_date"),
                        (first, last), strict=True))  # fmt: skip
        yield row if form == "legacy" else {**row, "product": json.dumps({"instance_type": "m5.large"})}


def focus(provider: str, name: str, service: str) -> Iterator[Row]:
    for first, last, _ in hours():
        yield {
            "ProviderName": provider, "ChargeCategory": "Usage", "ServiceCategory": "Compute", "ServiceName": service,
            "ChargeDescription": "On Demand Linux Instance Hour", "ChargePeriodStart": first, "ChargePeriodEnd": last,
            "BilledCost": PRICE, "EffectiveCost": PRICE, "ConsumedQuantity": 1, "ConsumedUnit": "Hours",
            "SkuPriceDetails": json.dumps({"InstanceType": name}), "ResourceType": "Virtual machine",
        }  # fmt: skip


def azure() -> Iterator[Row]:
    for day in range(2):
        total = int(RUNNING[24 * day : 24 * day + 24].sum())
        yield {
            "Date": f"{START + timedelta(days=day):%m/%d/%Y}", "MeterCategory": "Virtual Machines",
            "ChargeType": "Usage", "SubscriptionId": "1", "ResourceLocation": "eastus", "UnitOfMeasure": "1 Hour",
            "Quantity": total,
            "CostInBillingCurrency": round(PRICE * total, 10), "AdditionalInfo": '{"ServiceType":"Standard_D2s_v5"}',
            "BillingCurrency": "USD", "PricingModel": "OnDemand",
        }  # fmt: skip


def google() -> Iterator[Row]:
    for first, last, _ in hours():
        for sku, unit, quantity, cost in (("Core", "hour", 4, PRICE / 2), ("Ram", "gibibyte hour", 16, PRICE / 2)):
            yield {
                "service.description": "Compute Engine", "sku.description": f"N2 Instance {sku} running in Americas",
                "usage_start_time": first, "usage_end_time": last, "cost": cost, "usage.pricing_unit": unit,
                "usage.amount_in_pricing_units": quantity, "location.region": "us-central1", "project.id": "1",
                "system_labels": json.dumps({"compute.googleapis.com/machine_spec": "n2-standard-4",
                                             "compute.googleapis.com/cores": "4"}),
            }  # fmt: skip


BILLS = {
    "CUR legacy": lambda: report("legacy"),
    "CUR 2.0": lambda: report("2.0"),
    "FOCUS of AWS": lambda: focus("AWS", "m5.large", "Amazon Elastic Compute Cloud"),
    "FOCUS of Azure": lambda: focus("Microsoft", "Standard_D2s_v5", "Virtual Machines"),
    "FOCUS of Google": lambda: focus("Google Cloud", "n2-standard-4", "Compute Engine"),
    "Google": google,
}


def written(rows: Iterator[Row], path: Path) -> Path:
    table = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return path


@pytest.mark.parametrize("name", BILLS)
def test_the_same_use_gives_the_same_hours(name: str, tmp_path: Path) -> None:
    bill = read_bill(written(BILLS[name](), tmp_path / "bill.csv"))
    (used,) = bill.usage
    first = int(np.flatnonzero(RUNNING)[0])
    assert bill.start == START + timedelta(hours=first)
    assert used.hours.tolist() == RUNNING[first : first + bill.hours].tolist()
    assert float(bill.total) == pytest.approx(PRICE * RUNNING.sum())
    assert float(used.cost) == pytest.approx(PRICE * RUNNING.sum())
    assert set(bill.lines) == {LineKind.ON_DEMAND}


def test_the_same_use_in_daily_rows_has_the_hours_of_each_day(tmp_path: Path) -> None:
    (used,) = read_bill(written(azure(), tmp_path / "bill.csv")).usage
    days = RUNNING.reshape(2, 24).sum(axis=1)
    assert used.hours.reshape(2, 24).sum(axis=1).tolist() == pytest.approx(days.tolist())
    assert len(set(used.hours[:24].tolist())) == 1
