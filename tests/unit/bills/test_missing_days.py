"""A bill of which days are missing: what commitments hold an hour, and what ran at a time, as if they were no days."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.errors import UsageError
from hcloud.model.bill import Bill
from hcloud.model.bill_figures import figures_of
from hcloud.model.catalog import Provider
from hcloud.planning.billed.held import HeldRule, held_of
from hcloud.planning.billed.kinds import kinds_of
from hcloud.planning.billed.spread import missing_days, without_missing_days
from hcloud.readers.bills.options import bill_options
from hcloud.readers.bills.reading import read_bill
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.views.workloads.bills import bill_figures, chart_of
from hcloud.views.workloads.documents import BillDocument

START = datetime(2026, 10, 1, tzinfo=UTC)
PLAN = {
    "savingsPlan/SavingsPlanARN": "arn:aws:savingsplans::1:savingsplan/a",
    "savingsPlan/OfferingType": "ComputeSavingsPlans",
    "savingsPlan/EndTime": "2027-11-01T00:00:00.000Z",
}
COLUMNS = (
    "lineItem/LineItemType", "lineItem/ProductCode", "lineItem/UsageType", "lineItem/UsageAccountId",
    "lineItem/UsageStartDate", "lineItem/UsageEndDate", "lineItem/UsageAmount", "lineItem/UnblendedCost",
    "lineItem/ResourceId", "lineItem/Operation", "lineItem/CurrencyCode", "product/region",
    "savingsPlan/StartTime", "savingsPlan/SavingsPlanEffectiveCost", "savingsPlan/TotalCommitmentToDate",
    "savingsPlan/UsedCommitment", *PLAN,
)  # fmt: skip


def row(at: datetime, kind: str, **more: str) -> dict[str, str]:
    return {
        "lineItem/LineItemType": kind,
        "lineItem/ProductCode": "AmazonEC2",
        "lineItem/UsageType": "BoxUsage:m5.large",
        "lineItem/UsageAccountId": "1",
        "lineItem/UsageStartDate": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lineItem/UsageEndDate": (at + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lineItem/UsageAmount": "10",
        "lineItem/Operation": "RunInstances",
        "lineItem/CurrencyCode": "USD",
        "product/region": "us-east-1",
        **more,
    }


def hour(at: datetime, bought: datetime) -> list[dict[str, str]]:
    """Twenty m5.large in an hour; from when it is bought, a plan of $0.70 an hour covers ten of them."""
    machines = row(at, "Usage", **{"lineItem/ResourceId": "a", "lineItem/UnblendedCost": "0.96"})
    if at < bought:
        return [machines, {**machines, "lineItem/ResourceId": "b"}]
    dated = {**PLAN, "savingsPlan/StartTime": bought.strftime("%Y-%m-%dT%H:%M:%S.000Z")}
    effective = {"savingsPlan/SavingsPlanEffectiveCost": "0.7", "lineItem/UnblendedCost": "0.96"}
    fee = {"savingsPlan/TotalCommitmentToDate": "0.7", "savingsPlan/UsedCommitment": "0.7"}
    charged = {"lineItem/ProductCode": "ComputeSavingsPlans", "lineItem/UsageType": "ComputeSP:1yrNoUpfront"}
    return [
        machines,
        row(at, "SavingsPlanCoveredUsage", **{"lineItem/ResourceId": "b"}, **effective, **dated),
        row(at, "SavingsPlanRecurringFee", **charged, **{"lineItem/UnblendedCost": "0.7"}, **fee, **dated),
    ]


def bill_of(folder: Path, bought: int, missing: range) -> Bill:
    """Sixty days, of which some are missing; a plan is bought on one of them."""
    days = (day for day in range(60) if day not in missing)
    path = folder / "bill.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for day in days:
            for at in (START + timedelta(days=day, hours=h) for h in range(24)):
                writer.writerows(hour(at, START + timedelta(days=bought)))
    return read_bill(path)


def test_how_many_days_are_missing_ones_can_be_said(tmp_path: Path) -> None:
    bill_of(tmp_path, 0, range(10, 15))

    def missing(**keys: str) -> int:
        return missing_days(read_bill(tmp_path / "bill.csv", bill_options(keys)))

    assert (missing(), missing(missing_days="5"), missing(missing_days="6")) == (0, 5, 0)
    for wrong in ("0", "x", "400", "-1"):
        with pytest.raises(UsageError, match="missing_days"):
            bill_options({"missing_days": wrong})


def said_of(bill: Bill) -> dict[str, str]:
    return {row[0]: row[1] for row in bill_figures(figures_of(bill)).rows}


@pytest.mark.parametrize("missing", [range(0), range(10, 40), range(45, 50)])
@pytest.mark.parametrize("bought", [0, 40])
def test_a_plan_holds_as_much_whatever_days_are_missing(missing: range, bought: int, tmp_path: Path) -> None:
    bill = bill_of(tmp_path, bought, missing)
    (held,) = bill.commitments
    assert held.count == Decimal("0.7")
    types = load_bundled(providers={Provider.AWS}, regions={"us-east-1"}).types
    there, _ = without_missing_days(bill)
    rule = HeldRule(START + timedelta(days=61), None, 8760, 24 * 7)
    ((owned,),) = held_of(there, kinds_of(there, types)[0], types, rule).by_kind.values()
    # ten m5.large of two vCPUs, for 70 cents an hour
    assert float(owned.count * owned.shape.vcpus) == pytest.approx(20)
    assert float(owned.count * owned.offer.hourly) == pytest.approx(0.7)


def test_missing_days_are_said_and_do_not_lower_what_ran_at_a_time(tmp_path: Path) -> None:
    bill = bill_of(tmp_path, 0, range(10, 40))
    rows = said_of(bill)
    assert rows["instance-hours"] == "14,400, 20 at a time"  # twenty machines in each hour of thirty days
    assert rows["missing"] == "30 days between the first and the last without any machine: they do not count"
    assert chart_of(bill).subtitle == "mean 20, peak 20 in an hour"
    document = json.loads(json.dumps(BillDocument.of(figures_of(bill), START)))
    assert document["bill"]["missing_days"] == 30
    (tmp_path / "bill.csv").unlink()
    assert "missing" not in said_of(bill_of(tmp_path, 0, range(0)))
