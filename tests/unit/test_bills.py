"""Bills of clouds: what each format says of the same use, and that no cent is lost."""

from __future__ import annotations

import csv
import gzip
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from hcloud.errors import InputError
from hcloud.model.bill import Bill, BilledUsage, LineKind
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.readers.bills import bill_options, is_bill, read_bill

CASES = Path(__file__).parents[1] / "cases" / "bills"
SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "bills" / "focus_1.0_sample.csv"
COSTS = {"cur_legacy.csv": "lineItem/UnblendedCost", "cur_2.csv": "line_item_unblended_cost"}


def usage_of(bill: Bill) -> dict[tuple[str, str, str, str], BilledUsage]:
    return {
        (u.kind.account[:1], u.kind.instance_type or u.kind.family, u.kind.os, u.kind.tenancy): u for u in bill.usage
    }


def total_by_hand(path: Path, column: str) -> Decimal:
    with path.open(encoding="utf-8", newline="") as file:
        return sum((Decimal(row[column]) for row in csv.DictReader(file)), Decimal(0))


@pytest.mark.parametrize("name", COSTS)
def test_the_costs_by_kind_add_up_to_the_file(name: str) -> None:
    bill = read_bill(CASES / name)
    assert bill.total == total_by_hand(CASES / name, COSTS[name])
    assert bill.rows == 34


@pytest.mark.skipif(not SAMPLE.exists(), reason="needs ../shared/data/bills")
def test_a_real_bill_of_three_providers() -> None:
    bill = read_bill(SAMPLE)
    assert (bill.format, bill.rows, bill.total) == ("FOCUS 1.0", 1000, total_by_hand(SAMPLE, "BilledCost"))
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        machines = [
            row for row in csv.DictReader(file) if re.search(r"Linux \S+ Instance Hour", row["ChargeDescription"])
        ]
    hours = sum(float(row["ConsumedQuantity"]) for row in machines)
    assert sum(float(u.hours.sum()) for u in bill.usage if u.kind.instance_type) == pytest.approx(hours)
    assert bill.said["lines of a provider that is not planned (Oracle)"] == 3


def test_what_a_cost_and_usage_report_says() -> None:
    bill = read_bill(CASES / "cur_legacy.csv")
    used = usage_of(bill)
    assert (bill.start.isoformat(), bill.hours, bill.daily) == ("2024-10-01T00:00:00+00:00", 4, False)
    reserved = used["1", "m5.large", "linux", "shared"]
    assert reserved.hours.tolist() == [2, 2, 2, 2]
    assert {k: v.tolist() for k, v in reserved.covered.items()} == {PurchaseOption.RESERVED: [1, 1, 1, 1]}
    assert (reserved.cost, reserved.list_cost) == (Decimal("0.626"), Decimal("0.768"))
    planned = used["2", "c5.xlarge", "windows", "shared"]
    assert {k: v.tolist() for k, v in planned.covered.items()} == {PurchaseOption.COMPUTE_SAVINGS_PLAN: [0.5] * 4}
    assert (planned.kind.region, planned.cost) == ("eu-central-1", Decimal("0.56"))
    assert used["2", "r5.2xlarge", "rhel", "dedicated"].hours.tolist() == [0, 1, 0, 0]
    spot = used["2", "c5.xlarge", "linux", "shared"]
    assert spot.spot is not None
    assert (spot.spot.tolist(), spot.hours.sum(), spot.spot_cost) == ([1, 0, 0, 0], 0, Decimal("0.0683"))
    fargate, function = used["1", "fargate", "linux", "shared"], used["1", "lambda", "linux", "shared"]
    assert fargate.memory is not None
    assert function.memory is not None
    assert (fargate.hours[3], fargate.memory[3], function.memory[2]) == (2, 4, 2)


def test_the_commitments_of_a_cost_and_usage_report() -> None:
    reserved, plan = read_bill(CASES / "cur_legacy.csv").commitments
    assert (reserved.option, reserved.count, reserved.instance_type) == (
        PurchaseOption.RESERVED,
        Decimal(1),
        "m5.large",
    )
    assert (reserved.paid, reserved.used) == (Decimal("45.012"), Decimal("0.242"))
    assert (reserved.payment, reserved.term_years) == (Payment.PARTIAL, 1)
    assert (plan.option, plan.count, plan.utilisation) == (
        PurchaseOption.COMPUTE_SAVINGS_PLAN, Decimal("0.2"), Decimal("0.7"),
    )  # fmt: skip
    assert plan.end is not None
    assert plan.end.year == 2025


def test_both_forms_of_a_cost_and_usage_report_say_the_same() -> None:
    legacy, newer = read_bill(CASES / "cur_legacy.csv"), read_bill(CASES / "cur_2.csv")
    assert is_bill(CASES / "cur_2.csv") == newer.format == "AWS CUR 2.0"
    assert legacy.format == "AWS CUR legacy"
    assert newer.lines == legacy.lines
    assert newer.commitments == legacy.commitments
    for one, other in zip(legacy.usage, newer.usage, strict=True):
        assert replace(one, hours=other.hours, memory=None, covered={}, spot=None) == replace(
            other, memory=None, covered={}, spot=None
        )
        assert np.array_equal(one.hours, other.hours)


def test_a_compressed_file_is_the_same_bill(tmp_path: Path) -> None:
    packed = tmp_path / "report-1.csv.gz"
    packed.write_bytes(gzip.compress((CASES / "cur_legacy.csv").read_bytes()))
    assert read_bill(packed).lines == read_bill(CASES / "cur_legacy.csv").lines


def test_a_file_that_is_there_twice_is_read_once(tmp_path: Path) -> None:
    content = (CASES / "cur_legacy.csv").read_bytes()
    (tmp_path / "october.csv").write_bytes(content)
    (tmp_path / "october (1).csv").write_bytes(content)
    bill = read_bill(tmp_path)
    assert (bill.rows, bill.files) == (34, 1)
    assert bill.said["files that are there twice, under another name (read once)"] == 1


def test_another_currency_needs_a_rate(tmp_path: Path) -> None:
    path = tmp_path / "euro.csv"
    path.write_text((CASES / "cur_legacy.csv").read_text().replace(",USD,", ",EUR,"))
    with pytest.raises(InputError, match=r"line 2, column lineItem/CurrencyCode: is EUR .*rate_EUR"):
        read_bill(path)
    bill = read_bill(path, bill_options({"rate_EUR": "1.08"}))
    assert bill.total == total_by_hand(path, "lineItem/UnblendedCost") * Decimal("1.08")


def test_a_bad_cell_is_told_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text((CASES / "cur_legacy.csv").read_text().replace("0.0683000000", "much"))
    with pytest.raises(InputError, match="line 22, column lineItem/UnblendedCost: 'much'"):
        read_bill(path)


def test_a_machine_that_is_not_known_is_said(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text((CASES / "cur_legacy.csv").read_text().replace("DedicatedUsage:r5.2xlarge", "DedicatedUsage:r5"))
    bill = read_bill(path)
    assert bill.said == {"lines of an instance type that is not known (r5)": 1}
    assert bill.total == total_by_hand(path, "lineItem/UnblendedCost")
    assert bill.lines[LineKind.OTHER_COMPUTE].rows == 3


def test_jobs_are_no_bill(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration\n0,60\n")
    assert is_bill(path) is None
