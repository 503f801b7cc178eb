"""Bills of clouds: what each format says of the same use, and that no cent is lost."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from hcloud.cli.main import run
from hcloud.errors import InputError
from hcloud.model.bill import Bill, BilledUsage, LineKind, LineSum
from hcloud.model.bill_figures import figures_of
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.readers.bills.cells import cells_of
from hcloud.readers.bills.files import is_bill
from hcloud.readers.bills.formats.amazon import Ran, ran
from hcloud.readers.bills.formats.azure import AZURE
from hcloud.readers.bills.money import Amounts, decimal_of
from hcloud.readers.bills.options import bill_options
from hcloud.readers.bills.reading import read_bill
from hcloud.readers.bills.tables import batches, opened
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.source import open_source

CASES = Path(__file__).parents[2] / "cases" / "bills"
DISCOUNTS = {"lines of discounts (in the total alone: what usage paid and saved is before them)": 1}
SAMPLE = Path(__file__).parents[4] / "shared" / "data" / "bills" / "focus_1.0_sample.csv"
COSTS = {
    "cur_legacy.csv": "lineItem/UnblendedCost",
    "cur_2.csv": "line_item_unblended_cost",
    "focus_1.2.csv": "BilledCost",
    "azure_ea_amortised.csv": "CostInBillingCurrency",
    "azure_mca_actual.csv": "costInBillingCurrency",
    "google_standard.csv": "cost",
    "google_detailed.csv": "cost",
}
NAMES = {
    "cur_legacy.csv": "AWS CUR legacy",
    "cur_2.csv": "AWS CUR 2.0",
    "focus_1.2.csv": "FOCUS 1.2",
    "azure_ea_amortised.csv": "Azure cost details (EA)",
    "azure_mca_actual.csv": "Azure cost details (MCA)",
    "google_standard.csv": "Google billing export (standard)",
    "google_detailed.csv": "Google billing export (detailed)",
    "google_detailed.jsonl": "Google billing export (detailed)",
}


def usage_of(bill: Bill) -> dict[tuple[str, str, str, str], BilledUsage]:
    return {
        (u.kind.account[:1], u.kind.instance_type or u.kind.family, u.kind.os, u.kind.tenancy): u for u in bill.usage
    }


def total_by_hand(path: Path, column: str) -> Decimal:
    """The sum of a column, and of the credits of a line, without a line of the reader's."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    lists = (json.loads(row.get("credits") or "[]", parse_float=Decimal) for row in rows)
    off = sum((credit["amount"] for of in lists for credit in of), Decimal(0))
    return sum((Decimal(row[column]) for row in rows), Decimal(0)) + off


@pytest.mark.parametrize("name", COSTS)
def test_the_costs_by_kind_add_up_to_the_file(name: str) -> None:
    bill = read_bill(CASES / name)
    assert bill.total == total_by_hand(CASES / name, COSTS[name])
    with (CASES / name).open(encoding="utf-8-sig", newline="") as file:
        assert bill.rows == len(list(csv.DictReader(file)))


@pytest.mark.parametrize("name", NAMES)
def test_a_format_is_known_by_its_columns(name: str) -> None:
    assert is_bill(CASES / name) == read_bill(CASES / name).format == NAMES[name]


def test_the_same_use_in_reports_of_aws_and_in_focus() -> None:
    report, focus = read_bill(CASES / "cur_2.csv"), read_bill(CASES / "focus_1.2.csv")
    assert [u.kind for u in report.usage] == [u.kind for u in focus.usage]
    for one, other in zip(report.usage, focus.usage, strict=True):
        assert (one.cost, one.list_cost, one.spot_cost) == (other.cost, other.list_cost, other.spot_cost)
        assert one.hours.tolist() == other.hours.tolist()
        assert {k: v.tolist() for k, v in one.covered.items()} == {k: v.tolist() for k, v in other.covered.items()}
    assert [c.id for c in report.commitments] == [c.id for c in focus.commitments]
    assert focus.commitments[1].utilisation == report.commitments[1].utilisation == Decimal("0.7")


def test_a_bill_of_days_is_spread_over_their_hours() -> None:
    bill = read_bill(CASES / "azure_ea_amortised.csv")
    linux, windows = bill.usage
    assert (bill.daily, bill.hours, linux.kind.instance_type) == (True, 48, "Standard_D2s_v5")
    assert linux.hours.tolist() == [2.5] * 48
    assert linux.whole_days is not None
    assert linux.whole_days.tolist() == [2] * 48
    assert {k: set(v.tolist()) for k, v in linux.covered.items()} == {
        PurchaseOption.RESERVATION: {1.0}, PurchaseOption.SAVINGS_PLAN: {0.5},
    }  # fmt: skip
    assert (windows.kind.os, windows.hours.tolist()) == ("windows", [0] * 24 + [1] * 24)
    assert linux.spot is not None
    assert linux.spot[:24].tolist() == [0.25] * 24
    assert linux.list_cost == Decimal("0.096") * 120
    assert linux.cost == 2 * (Decimal("2.304") + Decimal("1.3939776") + Decimal("0.7834"))
    reservation = next(c for c in bill.commitments if c.option is PurchaseOption.RESERVATION)
    assert (reservation.used, reservation.paid) == (Decimal("2.7879552"), Decimal("4.1819328"))
    assert any("spread evenly" in said for said in bill.said)


@pytest.mark.parametrize(("unit", "block"), [("10 Hours", 10), ("100 Hours", 100)])
def test_the_quantity_of_azure_is_use_whatever_the_block_that_is_priced(unit: str, block: int, tmp_path: Path) -> None:
    path = tmp_path / "blocks.csv"
    path.write_text((CASES / "azure_ea_amortised.csv").read_text(encoding="utf-8-sig").replace(",1 Hour,", f",{unit},"))
    assert f",{unit}," in path.read_text()
    linux = read_bill(path).usage[0]
    assert linux.hours.tolist() == [2.5] * 48  # 120 hours in two days, as in a file of single hours
    assert linux.list_cost == Decimal("0.096") * 120 / block  # one price is for a block


def test_actual_costs_of_azure_say_that_no_commitment_is_amortised(capsys: pytest.CaptureFixture[str]) -> None:
    bill = read_bill(CASES / "azure_mca_actual.csv")
    amortised = read_bill(CASES / "azure_ea_amortised.csv")
    assert [u.hours.tolist() for u in bill.usage] == [u.hours.tolist() for u in amortised.usage]
    assert bill.usage[0].list_cost == amortised.usage[0].list_cost
    assert any("without their amortised cost" in said for said in bill.said)
    assert figures_of(bill).effective_savings_rate is None
    assert figures_of(amortised).effective_savings_rate is not None
    assert run(["workload", "show", str(CASES / "azure_mca_actual.csv")]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines() if "(res-1)" in line]
    assert [words[-2:] for words in shown] == [["not", "said"]]


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.csv", content)
    return path


def test_a_zip_archive_is_read_as_the_file_or_the_folder_in_it(tmp_path: Path) -> None:
    content = (CASES / "cur_2.csv").read_bytes()
    header, *lines = content.splitlines(keepends=True)
    half = len(lines) // 2
    whole = read_bill(CASES / "cur_2.csv")
    one = zipped(tmp_path / "october.ZIP", october=content)
    parts = {"part_1": header + b"".join(lines[:half]), "part_2": header + b"".join(lines[half:])}
    two = zipped(tmp_path / "parts.zip", **parts, readme=b"name,colour\na,red\n")
    assert is_bill(one) == "AWS CUR 2.0"
    assert (read_bill(one).lines, read_bill(one).usage[0].cost) == (whole.lines, whole.usage[0].cost)
    assert read_bill(two).lines == whole.lines
    assert read_bill(two).said == {**whole.said, "files that are no bill (not read)": 1}
    two.unlink()
    assert read_bill(tmp_path).lines == whole.lines


def test_a_zip_archive_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GZIP_FREE", 1 << 20)
    content = (CASES / "cur_2.csv").read_bytes()

    def refused(path: Path) -> str:
        with pytest.raises(InputError) as error:
            read_bill(path)
        return f"{error.value} {error.value.hint}"

    header = content.splitlines(keepends=True)[0]
    bomb = zipped(tmp_path / "bomb.zip", bill=header + b"\n" * (4 << 20))
    assert "expands to more than 200 times its size; refused as a zip bomb" in refused(bomb)
    damaged = zipped(tmp_path / "damaged.zip", bill=content)
    raw = damaged.read_bytes()
    damaged.write_bytes(raw[:400] + bytes(len(raw[400:-200])) + raw[-200:])
    assert "damaged.zip/bill.csv: damaged or truncated zip archive" in refused(damaged)
    damaged.write_bytes(raw[:500])
    assert "damaged.zip: damaged or truncated zip archive" in refused(damaged)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("bill.parquet", b"PAR1")
    assert "holds no file of a bill unpack it" in refused(tmp_path / "other.zip")


@pytest.mark.parametrize("name", ["google_detailed.csv", "google_detailed.jsonl"])
def test_what_a_detailed_export_of_google_says(name: str) -> None:
    bill = read_bill(CASES / name)
    used = usage_of(bill)
    small, large = (used["s", f"n2-standard-{n}", "linux", "shared"] for n in (4, 8))
    assert (small.hours.tolist(), small.cost) == ([1, 1, 1, 1], Decimal("0.77688"))
    assert {k: v.tolist() for k, v in large.covered.items()} == {PurchaseOption.COMMITTED_USE: [1, 1, 1, 1]}
    assert (large.list_cost, large.cost) == (Decimal("1.55376"), Decimal("0.637264"))
    older = used["s", "n1", "linux", "shared"]
    assert older.memory is not None
    assert (older.hours.tolist(), older.memory.tolist()) == ([0, 2, 0, 0], [0, 7.5, 0, 0])
    assert older.cost == Decimal("0.0949995") - Decimal("0.0189666")
    assert bill.commitments[0].paid == bill.commitments[0].used == Decimal("0.637264")
    assert bill.lines[LineKind.COMMITTED] == LineSum(0, Decimal("-1.55376"))


def test_a_standard_export_of_google_counts_vcpus_and_memory() -> None:
    used = usage_of(read_bill(CASES / "google_standard.csv"))
    series = used["s", "n2", "linux", "shared"]
    assert series.memory is not None
    assert (series.hours.tolist(), series.memory.tolist()) == ([12] * 4, [48] * 4)
    assert {k: v.tolist() for k, v in series.covered.items()} == {PurchaseOption.COMMITTED_USE: [8] * 4}


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
    left_out: dict[str, Any] = {"hours": np.zeros(1), "memory": None, "covered": {}, "spot": None}
    for one, other in zip(legacy.usage, newer.usage, strict=True):
        assert replace(one, **left_out) == replace(other, **left_out)
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
    assert bill.said == {"lines of an instance type that is not known (r5)": 1, **DISCOUNTS}
    assert bill.total == total_by_hand(path, "lineItem/UnblendedCost")
    assert bill.lines[LineKind.OTHER_COMPUTE].rows == 3


def test_jobs_are_no_bill(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration\n0,60\n")
    assert is_bill(path) is None


def test_a_month_that_was_delivered_twice_is_an_error(tmp_path: Path) -> None:
    header, *lines = (CASES / "cur_legacy.csv").read_text().splitlines(keepends=True)
    (tmp_path / "a.csv").write_text(header + "".join(lines))
    (tmp_path / "b.csv").write_text(header + "".join(lines[2:]).replace("0.0683000000", "0.0700000000"))
    with pytest.raises(InputError, match=r"b\.csv: 31 of its lines are in .*a\.csv too: a month"):
        read_bill(tmp_path)


def test_actual_and_amortised_costs_of_a_month_are_not_added(tmp_path: Path) -> None:
    actual = (CASES / "azure_mca_actual.csv").read_text()
    (tmp_path / "actual.csv").write_text(actual)
    (tmp_path / "amortised.csv").write_text(amortised := actual.replace(",24,0,", ",24,1.39,"))
    assert amortised != actual
    with pytest.raises(InputError, match="actual and amortised costs of one"):
        read_bill(tmp_path)


def test_parts_of_a_month_are_one_bill(tmp_path: Path) -> None:
    header, *lines = (CASES / "cur_legacy.csv").read_text().splitlines(keepends=True)
    (tmp_path / "20241001-20241101").mkdir()
    (tmp_path / "20241001-20241101" / "report-1.csv").write_text(header + "".join(lines[:10]))
    (tmp_path / "20241001-20241101" / "report-2.csv.gz").write_bytes(
        gzip.compress((header + "".join(lines[10:])).encode())
    )
    (tmp_path / "notes.json").write_text("{}")
    bill, whole = read_bill(tmp_path), read_bill(CASES / "cur_legacy.csv")
    assert is_bill(tmp_path) == "AWS CUR legacy"
    assert (bill.files, bill.lines, bill.commitments) == (2, whole.lines, whole.commitments)
    assert [u.hours.tolist() for u in bill.usage] == [u.hours.tolist() for u in whole.usage]
    assert bill.said == {"files that are no bill (not read)": 1, **DISCOUNTS}


def test_actual_and_amortised_costs_are_not_added_up(tmp_path: Path) -> None:
    content = (CASES / "azure_ea_amortised.csv").read_text()
    (tmp_path / "actual.csv").write_text(content.replace("1.3939776", "0"))
    (tmp_path / "amortised.csv").write_text(content)
    with pytest.raises(InputError, match="actual and amortised"):
        read_bill(tmp_path)


def delivered(folder: Path, assembly: str, content: str) -> str:
    (folder / assembly).mkdir(parents=True)
    (folder / assembly / "report-1.csv").write_text(content)
    manifest = {
        "assemblyId": assembly,
        "reportKeys": [f"billing/report/20241001-20241101/{assembly}/report-1.csv"],
        "billingPeriod": {"start": "20241001T000000.000Z", "end": "20241101T000000.000Z"},
        "reportName": "report",
    }
    (folder / assembly / "report-Manifest.json").write_text(json.dumps(manifest))
    return json.dumps(manifest)


def test_of_a_month_that_was_delivered_again_the_newest_is_read(tmp_path: Path) -> None:
    content = (CASES / "cur_legacy.csv").read_text()
    month = tmp_path / "20241001-20241101"
    delivered(month, "0f1e2d3c", "".join(content.splitlines(keepends=True)[:20]))
    (month / "report-Manifest.json").write_text(delivered(month, "9a8b7c6d", content))
    bill = read_bill(tmp_path)
    assert (bill.files, bill.total) == (1, total_by_hand(CASES / "cur_legacy.csv", "lineItem/UnblendedCost"))
    again = "files of a month that was delivered again (the manifest's own are read)"
    assert bill.said == {again: 1, **DISCOUNTS}
    assert read_bill(month / "report-Manifest.json").total == bill.total


def test_of_two_deliveries_without_a_manifest_above_none_is_chosen(tmp_path: Path) -> None:
    content = (CASES / "cur_legacy.csv").read_text()
    delivered(tmp_path, "0f1e2d3c", "".join(content.splitlines(keepends=True)[:30]))
    delivered(tmp_path, "9a8b7c6d", content.replace("0.0683000000", "0.0700000000"))
    with pytest.raises(InputError, match="a month that was delivered twice"):
        read_bill(tmp_path)


def test_what_is_committed_without_a_status_is_covered(tmp_path: Path) -> None:
    path = tmp_path / "focus.csv"
    path.write_text((CASES / "focus_1.2.csv").read_text().replace(",Used,", ",,"))
    assert read_bill(path).lines == read_bill(CASES / "focus_1.2.csv").lines


def test_google_in_focus_counts_vcpus_and_memory(tmp_path: Path) -> None:
    header = (
        "ProviderName,ChargeCategory,ServiceCategory,ServiceName,ChargeDescription,ChargePeriodStart,ChargePeriodEnd,"
        "BilledCost,EffectiveCost,ListCost,ConsumedQuantity,ConsumedUnit,BillingCurrency,SubAccountId,RegionId\n"
    )
    hour = "2024-10-01T00:00:00Z,2024-10-01T01:00:00Z"
    path = tmp_path / "focus.csv"
    path.write_text(
        f"{header}Google Cloud,Usage,Compute,Compute Engine,N2 Instance Core running in Americas,{hour},"
        "0.1,0.1,0.1,14400,seconds,USD,shop,us-central1\n"
        f"Google Cloud,Usage,Compute,Compute Engine,N2 Instance Ram running in Americas,{hour},"
        "0.05,0.05,0.05,16,gibibyte hour,USD,shop,us-central1\n"
        f"Google Cloud,Usage,Compute,Compute Engine,Commitment v1: N2 Cpu in Americas for 1 Year,{hour},"
        "0.08,0.08,0.08,4,hour,USD,shop,us-central1\n"
    )
    bill = read_bill(path)
    (used,), (said,) = bill.usage, bill.said
    assert (bill.lines[LineKind.OTHER_COMPUTE].rows, said.partition(":")[0]) == (1, "fees of Google's commitments")
    assert used.memory is not None
    assert (used.kind.family, used.hours.tolist(), used.memory.tolist()) == ("n2", [4], [16])
    assert used.cost == Decimal("0.15")


def test_a_spreadsheet_may_have_saved_a_bill_with_commas_in_its_amounts(tmp_path: Path) -> None:
    """The first amount was refused, without a way out."""
    path, amounts = (
        tmp_path / "saved.csv",
        ("quantity", "costInBillingCurrency", "PayGPrice", "paygCostInBillingCurrency"),
    )
    with (CASES / "azure_mca_actual.csv").open() as file, path.open("w", newline="", encoding="utf-8-sig") as saved:
        rows = list(csv.DictReader(file))
        (table := csv.DictWriter(saved, rows[0], delimiter=";")).writeheader()
        table.writerows({k: v.replace(".", ",") if k in amounts else v for k, v in row.items()} for row in rows)
    whole, found = read_bill(CASES / "azure_mca_actual.csv"), read_bill(path)
    assert (found.lines, found.commitments) == (whole.lines, whole.commitments)
    assert [used.list_cost for used in found.usage] == [used.list_cost for used in whole.usage]
    # a thousand beside prices with points was read as 1
    path.write_text((CASES / "azure_mca_actual.csv").read_text().replace(",24,2.304,", ',"1,200",2.304,'))
    with path.open(newline="") as file:
        cells = list(csv.reader(file))
    with path.open("w", newline="") as saved:
        csv.writer(saved, delimiter=";").writerows(cells)
    with pytest.raises(InputError, match=r"column quantity: '1,200'"):
        read_bill(path)


def test_focus_of_google_says_the_same_as_its_detailed_export(tmp_path: Path) -> None:
    """Its export has no categories of services and no columns of commitments: it was refused."""
    rows = []
    for line in (CASES / "google_detailed.jsonl").read_text().splitlines():
        row = json.loads(line)
        taken = [{"Name": c["name"], "Amount": c["amount"], "Type": c["type"]} for c in row["credits"]]
        usage, labels = row["usage"], [{"Key": one["key"], "Value": one["value"]} for one in row["system_labels"]]
        rows.append({
            "ProviderName": "Google Cloud", "ChargeCategory": row["cost_type"].replace("regular", "Usage").title(),
            "ServiceName": row["service"]["description"], "ChargeDescription": row["sku"]["description"],
            "ChargePeriodStart": row["usage_start_time"], "ChargePeriodEnd": row["usage_end_time"],
            "SubAccountId": row["project"]["id"], "RegionId": row["location"]["region"], "BillingCurrency": "USD",
            "EffectiveCost": row["cost"] + sum(c["amount"] for c in row["credits"]), "ListCost": row["cost_at_list"],
            "PricingQuantity": usage["amount_in_pricing_units"], "PricingUnit": usage["pricing_unit"],
            "x_Credits": taken, "x_SystemLabels": labels, "x_CostType": row["cost_type"], "PricingCurrency": "USD",
            "x_SubscriptionInstanceId": (row.get("subscription") or {}).get("instance_id"),
        })  # fmt: skip
    stored, text, objects = (tmp_path / f"focus.{kind}" for kind in ("parquet", "csv", "jsonl"))
    parquet.write_table(pa.Table.from_pylist(rows), stored)
    with text.open("w", newline="") as file:
        (table := csv.DictWriter(file, rows[0])).writeheader()
        table.writerows({k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows)
    objects.write_text(json.dumps(rows[0]))
    detailed = read_bill(CASES / "google_detailed.jsonl")
    for focus in (read_bill(stored), read_bill(text)):
        assert focus.format == "FOCUS 1.2 of Google"
        assert [repr(used) for used in focus.usage] == [repr(used) for used in detailed.usage]
        assert (focus.lines, focus.commitments) == (detailed.lines, detailed.commitments)
    with pytest.raises(InputError, match="of Google as JSON, which is not read"):
        read_bill(objects)
    # beside another cloud, with columns of that: its credits were not taken off
    more = {"ServiceCategory": "Compute", "x_Operation": ""}
    table = pa.Table.from_pylist([{**row, **more, "BilledCost": row["EffectiveCost"]} for row in rows])
    amazon = {**rows[0], **more, "ProviderName": "AWS", "BilledCost": 0.2, "x_Credits": [], "x_SystemLabels": []}
    aws = {"x_Operation": "RunInstances", "ServiceName": "Amazon Elastic Compute Cloud", "PricingUnit": "Hours"}
    aws["ChargeDescription"] = "$0.1 per On Demand Linux m5.large Instance Hour"
    machine = pa.Table.from_pylist([{**amazon, **aws, "SubAccountId": "1", "EffectiveCost": 0.2}], table.schema)
    parquet.write_table(pa.concat_tables([table, machine]), stored)
    both = read_bill(stored)
    assert both.commitments == detailed.commitments
    assert [repr(used) for used in both.usage[1:]] == [repr(used) for used in detailed.usage]
    assert (both.usage[0].kind.instance_type, both.total) == ("m5.large", detailed.total + Decimal("0.2"))


def test_corrections_of_an_earlier_bill_leave_no_negative_hours(tmp_path: Path) -> None:
    text = (CASES / "cur_legacy.csv").read_text()
    path = tmp_path / "corrected.csv"
    path.write_text(text.replace(",i-05,1,USD,0.6630000000,", ",i-05,-1,USD,-0.6630000000,"))
    bill = read_bill(path)
    assert usage_of(bill)["2", "r5.2xlarge", "rhel", "dedicated"].hours.tolist() == [0, 0, 0, 0]
    assert list(bill.repaired.values()) == [1]
    assert bill.total == total_by_hand(path, "lineItem/UnblendedCost")


def test_a_correction_of_an_earlier_bill_is_no_hour_of_this_one(tmp_path: Path) -> None:
    """Machines of a month were planned for as if none had run for three days before it."""
    header, *lines = (CASES / "cur_legacy.csv").read_text().splitlines(keepends=True)
    line = next(line for line in lines if ",i-05,1,USD,0.6630000000," in line)
    earlier = line.replace(",1,USD,0.66", ",-1,USD,-0.66").replace("2024-10-01T", "2024-09-28T")
    covered = [line.replace("2024-10-01T", "2024-09-28T") for line in lines if "DiscountedUsage" in line]
    path = tmp_path / "corrected.csv"
    path.write_text("".join([header, *lines, earlier]))
    bill, before = read_bill(path), read_bill(CASES / "cur_legacy.csv")
    assert earlier != line
    assert (bill.start, bill.hours) == (before.start, before.hours)
    assert [used.hours.tolist() for used in bill.usage] == [used.hours.tolist() for used in before.usage]
    assert bill.total == before.total - Decimal("0.663")
    more = [*lines, earlier.replace(",-1,USD,-0.66", ",1,USD,0.66"), *covered]
    months = ["bill/BillingPeriodStartDate", *["2024-10-01T00:00:00Z"] * len(more)]
    path.write_text("".join(f"{month},{line}" for month, line in zip(months, [header, *more], strict=True)))
    bill = read_bill(path)
    assert (bill.start, bill.hours) == (before.start, before.hours)
    assert [used.hours.tolist() for used in bill.usage] == [used.hours.tolist() for used in before.usage]
    assert bill.total == before.total + Decimal("0.663")
    assert [(used.cost, used.list_cost) for used in bill.usage] == [(u.cost, u.list_cost) for u in before.usage]
    assert (len(covered), bill.commitments) == (4, before.commitments)
    assert sum(count for told, count in bill.said.items() if "first billed month" in told) == 4
    # without a column of periods late use is told by a day without any, behind less than half a day
    usual = [line.replace("10-01T", f"10-0{day}T") for day in range(1, 6) for line in lines]
    for late, hours in ((more[-5:-4], 100), ([line.replace("10-01T", "09-29T") for line in lines], 148)):
        path.write_text("".join([header, *usual, *late]))
        bill = read_bill(path)
        assert bill.hours == hours
        assert any("without billing periods" in told for told in bill.said) is (hours == 100)
    # a small start of the same month is none
    path.write_text(
        "".join([header, *(line.replace("10-0", "10-1") for line in usual), *more[-5:-4]]).replace("09-28", "10-08")
    )
    assert read_bill(path).hours == 171


def test_a_commitment_that_begins_after_its_lines_is_of_all_their_hours(tmp_path: Path) -> None:
    """It was taken for one of an hour that cost what a month did: a plan of $1.50 an hour covered 25,000 machines."""
    path, text = tmp_path / "later.csv", (CASES / "cur_legacy.csv").read_text()
    path.write_text(text.replace(",2024-06-15T12", ",2025-06-10T12"))
    of_both = [[(c.hours, c.count) for c in read_bill(p).commitments] for p in (path, CASES / "cur_legacy.csv")]
    assert of_both[0] == of_both[1]


def test_a_set_of_machines_may_have_run_at_any_time_of_a_day(tmp_path: Path) -> None:
    text = (CASES / "azure_ea_amortised.csv").read_text()
    path = tmp_path / "sets.csv"
    path.write_text(text.replace("virtualMachines/web-2", "virtualMachineScaleSets/web"))
    linux = read_bill(path).usage[0]
    assert linux.whole_days is not None
    assert (set(linux.hours.tolist()), set(linux.whole_days.tolist())) == ({2.5}, {1.0})


@pytest.mark.parametrize(
    ("usage_type", "region", "said"),
    [
        ("USW2-BoxUsage:c5.xlarge", "us-west-2", ""),
        ("USW2-LAX1-BoxUsage:c5.xlarge", "us-west-2", ""),
        ("BoxUsage:c5.xlarge", "us-east-1", ""),
        ("XYZ9-BoxUsage:c5.xlarge", "", "region"),
        ("BoxUsage:c5", "", "instance type"),
    ],
)
def test_usage_types_of_aws(usage_type: str, region: str, said: str) -> None:
    found = ran(usage_type, "RunInstances", "1", "", "")
    assert (found.kind.region if isinstance(found, Ran) else "") == region
    assert said in (found if isinstance(found, str) else "")


def test_machines_that_differ_in_name_only_are_one_sort_of_line(tmp_path: Path) -> None:
    header, line, *_ = (CASES / "azure_ea_amortised.csv").read_text(encoding="utf-8-sig").splitlines(keepends=True)
    path = tmp_path / "many.csv"
    path.write_text(header + "".join(line.replace('""VMName"": null', f'""VMName"": ""vm-{n}""') for n in range(200)))
    bill = read_bill(path)
    assert bill.usage[0].hours.tolist() == [200] * 24
    batch = next(batches(opened(open_source(path), AZURE, AZURE.name)))
    assert len(cells_of(AZURE, batch).sorts) == 1


def test_many_unknown_words_are_said_in_short(tmp_path: Path) -> None:
    header, line, *_ = (CASES / "cur_legacy.csv").read_text().splitlines(keepends=True)
    path = tmp_path / "odd.csv"
    path.write_text(header + "".join(line.replace("BoxUsage:m5.large", f"BoxUsage:x{n}") for n in range(100)))
    said = read_bill(path).said
    assert (len(said), sum(said.values())) == (51, 100)


def as_parquet(name: str, folder: Path, change: Callable[[pa.Table], pa.Table] = lambda table: table) -> Path:
    """A case as Parquet, its costs as floats and its times as times."""
    table = arrow_csv.read_csv(CASES / name)
    path = folder / "bill.parquet"
    parquet.write_table(change(table), path, row_group_size=10)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COSTS if name != "cur_2.csv"])
def test_parquet_says_the_same_as_csv(name: str, tmp_path: Path) -> None:
    stored, text = read_bill(as_parquet(name, tmp_path)), read_bill(CASES / name)
    assert (stored.format, stored.lines, stored.commitments) == (text.format, text.lines, text.commitments)
    assert [u.hours.tolist() for u in stored.usage] == [u.hours.tolist() for u in text.usage]
    assert [(u.kind, u.cost, u.list_cost) for u in stored.usage] == [(u.kind, u.cost, u.list_cost) for u in text.usage]


def test_details_in_maps_of_parquet(tmp_path: Path) -> None:
    def with_map(table: pa.Table) -> pa.Table:
        cells = [list(json.loads(cell or "{}").items()) for cell in table.column("SkuPriceDetails").to_pylist()]
        at = table.schema.names.index("SkuPriceDetails")
        return table.set_column(at, "SkuPriceDetails", pa.array(cells, pa.map_(pa.string(), pa.string())))

    stored, text = read_bill(as_parquet("focus_1.2.csv", tmp_path, with_map)), read_bill(CASES / "focus_1.2.csv")
    assert stored.lines == text.lines
    assert [u.kind for u in stored.usage] == [u.kind for u in text.usage]


def test_nested_columns_of_parquet(tmp_path: Path) -> None:
    objects = [json.loads(line) for line in (CASES / "google_detailed.jsonl").read_text().splitlines()]
    path = tmp_path / "export.parquet"
    parquet.write_table(pa.Table.from_pylist(objects), path)
    stored, text = read_bill(path), read_bill(CASES / "google_detailed.jsonl")
    assert (stored.format, stored.lines) == (text.format, text.lines)
    assert [(u.kind, u.hours.tolist(), u.cost) for u in stored.usage] == [
        (u.kind, u.hours.tolist(), u.cost) for u in text.usage
    ]


@pytest.mark.parametrize("scale", [0, 10, 18, 30])
def test_sums_of_money_are_exact(scale: int) -> None:
    amounts = [Decimal(n * 7919 - 10**6).scaleb(-scale) for n in range(1, 1000)]
    if scale < 18:
        amounts += [Decimal("99999999999999"), Decimal("-12345678901234")]
    column = pa.array(amounts, pa.decimal256(60, 30) if scale == 30 else pa.decimal128(38, scale))
    codes = np.arange(len(amounts)) % 2
    if scale == 30:
        column = column.cast(pa.decimal256(76, 24), safe=False)
        amounts = [a.quantize(Decimal(1).scaleb(-24), ROUND_DOWN) for a in amounts]
    sums = Amounts.of(column).sums(codes, 2)
    with localcontext(prec=100):
        assert [decimal_of(units) for units in sums] == [sum(amounts[k::2], Decimal(0)) for k in range(2)]


def test_sums_of_floats_are_those_of_their_shortest_decimals() -> None:
    values = [0.1, 0.2, 0.3, 1e-10, 4095.123456789, 123456.789, -5e6, 1e12]
    sums = Amounts.of(pa.array(values)).sums(np.zeros(len(values), np.int64), 1)
    assert decimal_of(sums[0]) == sum((Decimal(repr(value)) for value in values), Decimal(0))


def test_covered_use_without_the_name_of_its_commitment_is_held(tmp_path: Path) -> None:
    path = tmp_path / "nameless.csv"
    text = (CASES / "cur_legacy.csv").read_text()
    path.write_text(re.sub(r"arn:aws:(savingsplans|ec2)[^,]*", "", text))
    bill, named = read_bill(path), read_bill(CASES / "cur_legacy.csv")
    assert {c.option for c in bill.commitments} == {c.option for c in named.commitments}
    assert all(c.id.endswith("without name") for c in bill.commitments)
    assert sum(c.paid for c in bill.commitments) == sum(c.paid for c in named.commitments)
    covered = bill.lines[LineKind.COVERED].rows
    assert bill.said["lines that a commitment covers which the bill does not name: held at what it covers"] == covered


def test_covered_use_of_focus_without_the_name_of_its_commitment_is_held(tmp_path: Path) -> None:
    path = tmp_path / "nameless.csv"
    rows = list(csv.DictReader((CASES / "focus_1.2.csv").read_text().splitlines()))
    for row in rows:
        row["CommitmentDiscountId"] = ""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    bill, named = read_bill(path), read_bill(CASES / "focus_1.2.csv")
    assert bill.lines[LineKind.COVERED] == named.lines[LineKind.COVERED]
    assert [u.covered.keys() for u in bill.usage] == [u.covered.keys() for u in named.usage]
    assert bill.commitments


@pytest.mark.parametrize(
    ("text", "what", "export"),
    [
        ('"Service","S3($)","Total costs($)"\n"Service total","90.1","90.1"\n', "AWS Cost Explorer", "CUR 2.0, hourly"),
        (
            '"Instance type","m5.large(Hrs)","Total usage(Hrs)"\n"2026-10-01","24","24"\n',
            "AWS Cost Explorer",
            "CUR 2.0",
        ),
        ('"Usage type","EBS(GB)","Total usage"\n"2026-10-01","24","24"\n', "AWS Cost Explorer", "CUR 2.0, hourly"),
        ("UsageDate,ServiceName,Cost,CostUSD,Currency\n2026-10-01,Storage,1,1,USD\n", "cost analysis", "amortized"),
        ('"Service description","Unrounded subtotal ($)"\n"Compute Engine","1"\n', "Google's", "detailed usage cost"),
    ],
)
def test_a_table_of_a_console_is_refused_with_what_to_export(text: str, what: str, export: str, tmp_path: Path) -> None:
    """A download of Cost Explorer was taken for a table of jobs without its columns."""
    path = tmp_path / "costs.csv"
    path.write_text(text)
    for refused, named in ((read_bill, path), (is_bill, path), (read_bill, tmp_path), (is_bill, tmp_path)):
        with pytest.raises(InputError, match=what) as error:
            refused(named)
        assert export in error.value.hint
    (tmp_path / "web.csv").write_text("timestamp,cpu\n2026-10-01T00:00:00Z,1\n")
    assert is_bill(tmp_path) is None
