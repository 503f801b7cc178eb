"""What two files of a folder both say is counted once: two exports of an account, and files whose days overlap."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import json as arrow_json
from pyarrow import parquet

from hcloud.errors import InputError
from hcloud.model.bill import LineKind
from hcloud.readers.bills import twice
from hcloud.readers.bills.reading import rank, read_bill
from hcloud.readers.workloads.identity import identity_hashes

CASES = Path(__file__).parents[2] / "cases" / "bills"
REPORT = CASES / "cur_legacy.csv"
HEAD = (
    "ProviderName,ChargeCategory,ServiceCategory,ServiceName,ChargeDescription,ChargePeriodStart,ChargePeriodEnd,"
    "BilledCost,EffectiveCost,ListCost,ConsumedQuantity,ConsumedUnit,BillingCurrency,SubAccountId,RegionId,"
    "SkuPriceDetails,x_UsageType,x_Operation\n"
)


def cur(days: range, account: str = "012345678901", machines: int = 1) -> str:
    lines = [
        f"Usage,AmazonEC2,BoxUsage:m5.large,RunInstances,{account},i-{n},2024-10-{day:02}T{hour:02}:00:00Z,1,0.1\n"
        for day in days
        for hour in range(24)
        for n in range(machines)
    ]
    return (
        "line_item_line_item_type,line_item_product_code,line_item_usage_type,line_item_operation,"
        "line_item_usage_account_id,line_item_resource_id,line_item_usage_start_date,line_item_usage_amount,"
        "line_item_unblended_cost\n" + "".join(lines)
    )


def focus(days: range, account: str = "12345678901") -> str:
    """The same machine in FOCUS, with the account as a spreadsheet leaves it."""
    return HEAD + "".join(
        "AWS,Usage,Compute,Amazon Elastic Compute Cloud,$0.1 per On Demand Linux m5.large Instance Hour,"
        f"2024-10-{day:02}T{hour:02}:00:00Z,,0.1,0.1,0.1,1,Hours,USD,{account},us-east-1,,BoxUsage:m5.large,RunInstances\n"
        for day in days
        for hour in range(24)
    )


def hours_of(folder: Path) -> tuple[list[float], dict[str, int]]:
    bill = read_bill(folder)
    total = sum((used.hours for used in bill.usage), start=0 * bill.usage[0].hours)
    return total.reshape(-1, 24).sum(axis=1).tolist(), dict(bill.said)


def test_credits_and_fees_of_google_that_two_files_share_count_once(tmp_path: Path) -> None:
    """Its credits have the columns of their lines, and were taken for the same line twice: nothing was left out."""
    head = (
        "service.description,sku.description,usage_start_time,project.id,resource.name,subscription.instance_id,cost,"
        "usage.amount_in_pricing_units,usage.pricing_unit,sku.id,credits\n"
    )
    credit = '"[{""amount"": -0.1, ""type"": ""COMMITTED_USAGE_DISCOUNT""}]"'
    for name, days in (("a", range(1, 4)), ("b", range(3, 6))):
        rows = [
            f"Compute Engine,{sku},2026-10-{day:02} {hour:02}:00:00 UTC,p,{of},0.1,4,hour,{sku},{off}\n"
            for day in days
            for hour in range(24)
            for sku, of, off in (
                ("N2 Instance Core running in Americas", "vm,", credit),
                ("Commitment v1: N2 Cpu in Americas for 1 Year", ",s", ""),
            )
        ]
        (tmp_path / f"{name}.csv").write_text(head + "".join(rows))
    bill = read_bill(tmp_path)
    assert {kind: round(line.cost, 6) for kind, line in bill.lines.items()} == {
        LineKind.ON_DEMAND: 12,
        LineKind.COMMITTED: -12,
        LineKind.RECURRING: 12,
    }


def test_files_of_google_by_sku_are_others_without_its_id_too(tmp_path: Path) -> None:
    """vCPUs and memory of a machine at one cost were taken for lines that two files share: half was left out."""
    head = "service.description,sku.description,usage_start_time,project.id,resource.name,cost,"
    head += "usage.amount_in_pricing_units\n"
    for part in ("Core", "Ram"):
        sku = f"N2 Instance {part} running in Americas"
        rows = [f"Compute Engine,{sku},2026-10-01 {hour:02}:00:00 UTC,p,vm,0.1,4\n" for hour in range(24)]
        (tmp_path / f"{part}.csv").write_text(head + "".join(rows))
    assert round(read_bill(tmp_path).total, 6) == Decimal("4.8")


def standard(days: Iterable[int], machines: range, suffix: str) -> str:
    """Google's standard export, that names no machine: of each a line for vCPUs and one for memory an hour."""
    at = [(f"2026-10-{day:02} {hour:02}:00:00 UTC", n) for day in days for hour in range(24) for n in machines]
    skus = [f"N2 Instance {part} running in Americas" for part in ("Core", "Ram")]
    if suffix == "csv":
        head = "service.description,sku.description,usage_start_time,project.id,cost,usage.amount_in_pricing_units,"
        rows = [f"Compute Engine,{sku},{time},p,0.1,4,app={n}\n" for time, n in at for sku in skus]
        return head + "labels\n" + "".join(rows)
    return "".join(
        f'{{"service": {{"description": "Compute Engine"}}, "sku": {{"description": "{sku}"}}, "usage_start_time": '
        f'"{time}", "project": {{"id": "p"}}, "cost": 0.1, "usage": {{"amount_in_pricing_units": 4}}, '
        f'"labels": [{{"key": "app", "value": "{n}"}}]}}\n'
        for time, n in at
        for sku in skus
    )


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("parts", "cost"),
    [
        pytest.param([(range(1, 4), range(2)), (range(3, 6), range(2))], 48, id="days of both count once"),
        pytest.param([(range(1, 4), range(2)), (range(2, 3), range(2))], 28.8, id="a day exported again"),
        pytest.param([(range(1, 5), range(2)), (range(2, 5), range(2))], 38.4, id="most days of both"),
        pytest.param([(range(1, 4), range(1)), (range(1, 4), range(1, 2))], 28.8, id="shards that labels tell apart"),
    ],
)
def test_lines_of_google_without_a_machine_count_once(
    tmp_path: Path, parts: list[tuple[range, range]], cost: float, suffix: str
) -> None:
    """They were counted twice, and most days of both were refused as a month that was delivered twice."""
    for name, (days, machines) in zip("ab", parts, strict=True):
        (tmp_path / f"{name}.{suffix}").write_text(standard(days, machines, suffix))
    assert round(float(read_bill(tmp_path).total), 6) == cost


def test_a_day_that_stands_twice_in_one_table_of_google_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "bill.jsonl"
    table.write_text(standard([1, 2, 3, 2], range(2), "jsonl"))
    with pytest.raises(InputError, match=r"all 96 lines of 2026-10-02 are there twice") as caught:
        read_bill(table)
    assert "take one of the two out" in caught.value.hint


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_days_of_twice_as_many_machines_are_not_there_twice(tmp_path: Path, suffix: str) -> None:
    """Five days of a week with two machines that nothing tells apart were refused."""
    weeks = standard([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7], range(1), suffix)
    (tmp_path / f"bill.{suffix}").write_text(weeks)
    assert round(float(read_bill(tmp_path).total), 6) == 57.6


def test_only_a_table_that_is_added_to_may_have_a_day_twice(tmp_path: Path) -> None:
    """A day with two machines that nothing tells apart was refused in every export of several files."""
    for month in (10, 11):
        lines = (cur(range(1, 5)) + "".join(cur(range(2, 3)).splitlines(keepends=True)[1:])).replace(",i-0,", ",,")
        (tmp_path / f"{month}.csv").write_text(lines.replace("2024-10-", f"2024-{month}-"))
    assert read_bill(tmp_path).total == Decimal("24")


_PAIR = [{"key": "a", "value": "b"}]


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(
            pa.array([_PAIR], pa.large_list(pa.struct([("key", pa.string()), ("value", pa.string())]))), id="64"
        ),
        pytest.param(pa.array([[("a", "b")]], pa.map_(pa.string(), pa.string())), id="a map"),
        pytest.param(pa.array([[{"key": "a", "value": {"of": 1}}]]), id="values of several parts"),
        pytest.param(pa.array([[]], pa.list_(pa.null())), id="none"),
    ],
)
def test_labels_of_google_may_be_stored_in_any_way(tmp_path: Path, labels: pa.Array) -> None:
    """A table was refused for labels that only tell its lines apart."""
    (text := tmp_path / "bill.jsonl").write_text(standard([1], range(1), "jsonl"))
    table = arrow_json.read_json(text).drop_columns(["labels"]).slice(0, 1)
    text.unlink()
    parquet.write_table(table.append_column("labels", labels), tmp_path / "bill.parquet")
    assert read_bill(tmp_path).total == Decimal("0.1")


@pytest.mark.parametrize("labels", ['"{}"', '["a"]', '[{"key": "a", "value": 1}]', '{"a": "b"}', "null"])
def test_labels_of_google_may_be_written_in_any_way(tmp_path: Path, labels: str) -> None:
    lines = standard([1], range(1), "jsonl").replace('[{"key": "app", "value": "0"}]', labels)
    (tmp_path / "bill.jsonl").write_text(lines.replace('"sku": {', '"sku": {"id": 7, '))
    assert round(float(read_bill(tmp_path).total), 6) == 4.8


def test_the_export_that_says_most_is_read_first() -> None:
    names = ["AWS CUR 2.0", "AWS CUR legacy", "Azure cost details (EA)", "Google billing export (detailed)"]
    names += ["Google billing export (standard)", *(f"FOCUS 1.{minor}" for minor in (3, 2, 1, 0))]
    assert [rank(name) for name in names] == list(range(len(names)))


def test_two_exports_of_an_account_are_its_use_once(tmp_path: Path) -> None:
    (tmp_path / "a-focus.csv").write_text(focus(range(1, 4)))
    (tmp_path / "cur.csv").write_text(cur(range(1, 3)))
    days, said = hours_of(tmp_path)
    assert days == [24, 24, 24]
    assert said == {"lines of FOCUS 1.1 of accounts and days that AWS CUR legacy has too ($4.80 left out)": 48}
    assert read_bill(tmp_path).total == Decimal("7.2")


def test_exports_of_different_accounts_are_added_up(tmp_path: Path) -> None:
    (tmp_path / "focus.csv").write_text(focus(range(1, 3), "999"))
    (tmp_path / "cur.csv").write_text(cur(range(1, 3)))
    days, said = hours_of(tmp_path)
    assert (days, said) == ([48, 48], {})


def test_parts_of_a_machine_that_two_pods_are_told_apart_by_are_two(tmp_path: Path) -> None:
    """Split costs of FOCUS 1.3: a row a pod of the machine's hour, and two alike in all but the pod are two."""
    head, *rows = focus(range(1, 3)).replace("ProviderName", "ServiceProviderName").splitlines()
    for pod in ("a", "b"):
        halves = "".join(f"{row.replace(',1,', ',0.5,')},i-1,{pod}\n" for row in rows)
        (tmp_path / f"{pod}.csv").write_text(f"{head},ResourceId,AllocatedResourceId\n{halves}")
    assert hours_of(tmp_path) == ([24, 24], {})
    assert read_bill(tmp_path).format == "FOCUS 1.3"


def test_an_export_without_accounts_is_not_added_to_one_of_the_same_days(tmp_path: Path) -> None:
    (tmp_path / "focus.csv").write_text(focus(range(1, 3), ""))
    (tmp_path / "cur.csv").write_text(cur(range(1, 3)))
    assert hours_of(tmp_path)[0] == [24, 24]


def test_a_bad_cell_beside_lines_that_are_left_out_is_told_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "cur.csv").write_text(cur(range(1, 2)))
    (tmp_path / "focus.csv").write_text(focus(range(1, 3)).replace("2024-10-02T05:00:00Z", "", 1))
    with pytest.raises(InputError, match=r"focus\.csv: line 31, column ChargePeriodStart: is empty"):
        read_bill(tmp_path)


@pytest.mark.parametrize("sampled", [False, True])
def test_lines_that_two_files_share_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, sampled: bool
) -> None:
    if sampled:
        monkeypatch.setattr(twice, "_ALL_BELOW", 0)
    (tmp_path / "a.csv").write_text(cur(range(1, 5), machines=2))
    (tmp_path / "b.csv").write_text(cur(range(4, 8), machines=2))
    days, said = hours_of(tmp_path)
    assert days == [48] * 7
    assert said == {"lines that another file has too, counted once ($4.80 left out)": 48}


def test_days_of_both_files_that_were_stated_anew_are_refused(tmp_path: Path) -> None:
    """A line with another cost counted beside what it replaces: 25 hours of a machine ran that day."""
    (tmp_path / "a.csv").write_text(cur(range(1, 5), machines=3))
    later = cur(range(4, 8), machines=3)
    (tmp_path / "b.csv").write_text(later.replace("i-1,2024-10-04T05:00:00Z,1,0.1", "i-1,2024-10-04T05:00:00Z,1,0.2"))
    with pytest.raises(InputError, match=r"71 of its lines are in .* too: a month that was delivered twice") as caught:
        read_bill(tmp_path)
    assert caught.value.hint == "keep one of the two, the newer, or take the days of both out of the other"


@pytest.mark.parametrize(
    "hours",
    [
        pytest.param(range(24), id="in another zone"),
        pytest.param(range(0, 24, 3), id="in an hour of three that has no others"),
    ],
)
def test_parts_of_a_month_without_resources_share_nothing(tmp_path: Path, hours: range) -> None:
    """Lines of another zone, or of a second machine, that are alike by chance were taken for an overlap."""
    zones = ["a", "a"] if len(hours) < 24 else ["a", "b"]
    for zone, (name, cost) in zip(zones, [("a", "0.3"), ("b", "0.4")], strict=True):
        head, *lines = cur(range(1, 5)).replace(",i-0,", ",,").splitlines()
        rows = [f"{line},{zone}\n" for line in lines]
        others = [
            f"{line},{zone}\n".replace(",0.1,", f",{cost},") for at, line in enumerate(lines) if at % 24 not in hours
        ]
        alike = [row for at, row in enumerate(rows) if at % 24 in hours]
        (tmp_path / f"{name}.csv").write_text(f"{head},line_item_availability_zone\n" + "".join(alike + others))
    assert hours_of(tmp_path) == ([48] * 4, {})


def test_exports_of_different_accounts_share_those_that_both_have(tmp_path: Path) -> None:
    """They were refused, as hours of which most lines are in both had others in each."""
    for name, own in (("a", "1"), ("b", "3")):
        shared, *lines = cur(range(1, 4), account="2", machines=9).splitlines(keepends=True)
        (tmp_path / f"{name}.csv").write_text("".join([shared, *lines, *cur(range(1, 4), own).splitlines(True)[1:]]))
    days, said = hours_of(tmp_path)
    assert days == [11 * 24] * 3
    assert said == {"lines that another file has too, counted once ($64.80 left out)": 648}


def azure(days: range, reserved: str, resource: str = "r") -> str:
    """Two machines on demand, and three that are reserved, which cost so much."""
    head = (
        "SubscriptionId,resourceLocation,date,meterCategory,meterSubCategory,meterId,meterName,unitOfMeasure,quantity,"
    )
    head += "costInBillingCurrency,ResourceId,additionalInfo,billingCurrency,reservationId,chargeType,pricingModel\n"
    kinds = [(n, "2.4", "", "OnDemand") for n in range(2)] + [(n, reserved, "r-1", "Reservation") for n in (2, 3, 4)]
    return head + "".join(
        f"s,eastus,10/{day:02}/2024,Virtual Machines,Virtual Machines Dsv5 Series,m{n if not resource else 0},D2s v5,"
        f"1 Hour,24,{cost},{resource and f'{resource}{n}'},,USD,{of},Usage,{model}\n"
        for day in days
        for n, cost, of, model in kinds
    )


def test_actual_and_amortised_costs_of_azure_are_refused(tmp_path: Path) -> None:
    """Lines of reserved machines at 0 were taken for those with their cost, and fees of one counted beside."""
    (tmp_path / "actual.csv").write_text(azure(range(1, 29), "0"))
    (tmp_path / "amortised.csv").write_text(azure(range(1, 29), "1.1"))
    with pytest.raises(InputError, match=r"56 of its lines .* or actual and amortised costs of one"):
        read_bill(tmp_path)


@pytest.mark.parametrize("resource", ["", "r"])
def test_days_of_two_files_of_azure_count_once(tmp_path: Path, resource: str) -> None:
    """Lines that name no resource counted twice."""
    (tmp_path / "a.csv").write_text(azure(range(1, 11), "1.1", resource))
    (tmp_path / "b.csv").write_text(azure(range(8, 15), "1.1", resource))
    assert read_bill(tmp_path).total == 14 * Decimal("8.1")


def test_a_file_that_is_whole_in_another_counts_once(tmp_path: Path) -> None:
    lines = cur(range(1, 4), machines=3).replace(",i-0,", ",,")  # a third of them as taxes are, without a resource
    (tmp_path / "a.csv").write_text("".join(lines.splitlines(keepends=True)[:100]))
    (tmp_path / "b.csv").write_text(lines)
    days, said = hours_of(tmp_path)
    assert days == [72] * 3
    assert said == {"lines that another file has too, counted once ($9.90 left out)": 99}


def test_lines_that_are_alike_within_a_file_are_not_one_in_two(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(cur(range(1, 5), machines=2).replace(",i-1,", ",i-0,"))
    (tmp_path / "b.csv").write_text(cur(range(4, 8), machines=2).replace(",i-1,", ",i-0,"))
    assert hours_of(tmp_path)[0] == [48, 48, 48, 96, 48, 48, 48]


def test_lines_without_a_resource_may_be_alike(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(cur(range(1, 5), machines=2).replace(",i-0,", ",,"))
    (tmp_path / "b.csv").write_text(cur(range(4, 8), machines=1).replace(",i-0,", ",,"))
    assert hours_of(tmp_path)[0] == [48, 48, 48, 72, 24, 24, 24]


def test_lines_that_differ_in_machine_and_month_are_different_lines() -> None:
    months = [f"i-m5x0{n:02}\n2026-{month:02}-16T09:00:00Z" for n in range(100) for month in range(1, 13)]
    assert len(np.unique(identity_hashes(pa.array(months)))) == len(months)


def with_alike(days: range) -> list[str]:
    """Three machines an hour, and of a savings plan two lines that say the same, as what it takes off does."""
    head, *lines = cur(days, machines=3).splitlines(keepends=True)
    plan = [line.replace(",i-0,", ",plan,") for line in lines if ",i-0," in line]
    return [head, *sorted([*lines, *plan, *plan], key=lambda line: line.split(",")[6])]


def test_a_part_that_was_delivered_twice_counts_once_where_lines_within_it_are_alike(tmp_path: Path) -> None:
    head, *lines = with_alike(range(1, 5))
    # cut between the two lines of an hour that are alike, which are so in both parts
    (tmp_path / "part-1.csv").write_text(head + "".join(lines[:244]))
    (tmp_path / "part-2.csv.gz").write_bytes(gzip.compress((head + "".join(lines[244:])).encode()))
    (tmp_path / "part-2 (1).csv").write_text(head + "".join(lines[244:]))
    days, said = hours_of(tmp_path)
    # an hour has 3 machines and 2 lines that are alike, at 0.1 each: 4 days have 480 lines, the second part 236
    assert days == [120] * 4
    assert said == {"lines that another file has too, counted once ($23.60 left out)": 236}


def test_files_whose_days_overlap_count_lines_that_are_alike_as_often_as_one_of_them_has_them(tmp_path: Path) -> None:
    head, *lines = with_alike(range(1, 5))
    # the first file ends, and the second begins, amid an hour, between two lines that are alike
    (tmp_path / "a.csv").write_text(head + "".join(lines[: 5 * 60 + 4]))
    (tmp_path / "b.csv").write_text(head + "".join(lines[5 * 40 + 4 :]))
    assert hours_of(tmp_path)[0] == [120] * 4


def test_parts_that_are_cut_between_lines_that_are_alike_share_nothing(tmp_path: Path) -> None:
    head, *lines = with_alike(range(1, 5))
    (tmp_path / "part-1.csv").write_text(head + "".join(lines[: 5 * 60 + 4]))
    (tmp_path / "part-2.csv").write_text(head + "".join(lines[5 * 60 + 4 :]))
    assert hours_of(tmp_path) == ([120] * 4, {})
