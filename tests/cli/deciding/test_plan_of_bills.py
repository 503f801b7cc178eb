"""``hcloud plan BILL``: the screen, the other forms, one kind of a bill, and the same demand whatever it comes from."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from hcloud.cli.main import run
from hcloud.readers.configuration.config import load_config
from hcloud.usecases.deciding.plan import planned_demand
from hcloud.usecases.workloads.sources import Flags, open_workload, with_flags

START = datetime(2026, 9, 1, tzinfo=UTC)
HOURS = 24 * 30
RUNNING = 20 + np.random.default_rng(5).integers(0, 9, HOURS)
"""m5.large that run in each hour."""
KIND = "aws/us-east-1/m5"
CASES = Path(__file__).parents[2] / "cases" / "bills"


def at(hour: int) -> str:
    return f"{START + timedelta(hours=hour):%Y-%m-%dT%H:%M:%SZ}"


def report() -> Iterable[Mapping[str, object]]:
    for hour, count in enumerate(RUNNING.tolist()):
        yield {
            "lineItem/LineItemType": "Usage", "lineItem/ProductCode": "AmazonEC2", "lineItem/UsageType":
            "BoxUsage:m5.large", "lineItem/Operation": "RunInstances", "lineItem/UsageAccountId": "1",
            "lineItem/UsageAmount": count, "lineItem/UnblendedCost": f"{count * 0.096:.3f}",
            "lineItem/UsageStartDate": at(hour), "lineItem/UsageEndDate": at(hour + 1),
        }  # fmt: skip


def focus() -> Iterable[Mapping[str, object]]:
    for hour, count in enumerate(RUNNING.tolist()):
        yield {
            "ProviderName": "AWS", "ChargeCategory": "Usage", "ServiceCategory": "Compute", "ServiceName": "Amazon EC2",
            "ChargeDescription": "On Demand Linux m5.large Instance Hour", "RegionId": "us-east-1",
            "ChargePeriodStart": at(hour), "ChargePeriodEnd": at(hour + 1), "BilledCost": f"{count * 0.096:.3f}",
            "EffectiveCost": f"{count * 0.096:.3f}", "ConsumedQuantity": count, "ConsumedUnit": "Hours",
            "SkuPriceDetails": json.dumps({"InstanceType": "m5.large"}), "ResourceType": "Virtual machine",
        }  # fmt: skip


def series() -> Iterable[Mapping[str, object]]:
    for hour, count in enumerate(RUNNING.tolist()):
        yield {"timestamp": at(hour), "cores": 2 * count}


def jobs() -> Iterable[Mapping[str, object]]:
    for hour, count in enumerate(RUNNING.tolist()):
        for _ in range(count):
            yield {"submit": at(hour), "duration": 3600, "cores": 2, "memory": 8}


def written(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """A file of rows."""
    every = list(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, every[0])
        writer.writeheader()
        writer.writerows(every)
    return path


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("bill") / "cur.csv", report())


@pytest.mark.parametrize("made", [report, focus, series, jobs])
def test_the_same_use_is_the_same_demand(made: object, tmp_path: Path) -> None:
    path = written(tmp_path / "use.csv", made())  # type: ignore[operator]
    options = (f"kind={KIND}",) if made in (report, focus) else ()
    loaded = with_flags(load_config(None), Flags(workload=str(path), options=options, families=("m5",)))
    demand = planned_demand(open_workload(loaded), loaded.config.settings())
    whole = demand.cores if made is not jobs else demand.cores[: HOURS - 1]  # the last hour of jobs drains
    assert whole.tolist() == pytest.approx((2.0 * RUNNING)[: len(whole)])
    assert len(demand.cores) >= HOURS - 24


def test_the_screen_has_a_line_for_each_kind_and_the_sum(bill: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(bill)]) == 0
    out = capsys.readouterr().out
    assert "this plan" in out.splitlines()[0]
    assert KIND in out
    assert f"hcloud plan {bill} --set kind={KIND}" in out.replace("\n  ", " ").replace(" \n", " ")


def test_every_form_tells_the_same(bill: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "bill.json"
    assert run(["plan", str(bill), "-o", "json", "--out", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert json.loads(out.read_text())["whole"] == document["whole"]
    [kind] = document["kinds"]
    assert kind["plan_monthly"] == document["whole"]["plan_monthly"]
    assert run(["plan", str(bill), "-o", "csv"]) == 0
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["name"], row["after"]) == (KIND, kind["plan_monthly"])
    for form, has in (("md", "| aws/us-east-1/m5 |"), ("html", "<h2>Kinds of machines</h2>")):
        assert run(["plan", str(bill), "-o", form]) == 0
        assert has in capsys.readouterr().out.replace(' id="kinds-of-machines"', "")


def test_the_plan_of_one_kind_is_a_plan_like_any(
    bill: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "m5.json"
    assert run(["plan", str(bill), "--set", f"kind={KIND}", "--out", str(out)]) == 0
    assert run(["plan", str(bill), "-o", "json"]) == 0
    whole = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]) or "{}")
    plan = json.loads(out.read_text())
    assert plan["after"]["monthly"] == whole["whole"]["plan_monthly"]
    assert run(["explain", str(out)]) == 0


def beside_a_savings_plan() -> Iterable[Mapping[str, object]]:
    """The same with five c6g.large, and a Compute Savings Plan that is not used yet."""
    fee = {
        "lineItem/LineItemType": "SavingsPlanRecurringFee", "lineItem/ProductCode": "ComputeSavingsPlans",
        "lineItem/UsageType": "ComputeSP:1yrNoUpfront", "lineItem/UsageAmount": 1, "lineItem/UnblendedCost": "0.9",
        "lineItem/Operation": "", "savingsPlan/SavingsPlanARN": "arn:aws:savingsplans::1:savingsplan/a",
        "savingsPlan/TotalCommitmentToDate": "0.9", "savingsPlan/UsedCommitment": "0",
        "savingsPlan/OfferingType": "ComputeSavingsPlans", "savingsPlan/PurchaseTerm": "1yr",
        "savingsPlan/PaymentOption": "No Upfront", "savingsPlan/EndTime": at(9000),
    }  # fmt: skip
    without = {key: "" for key in fee if key.startswith("savingsPlan")}
    c6g = {"lineItem/UsageType": "BoxUsage:c6g.large", "lineItem/UsageAmount": 5, "lineItem/UnblendedCost": "0.34"}
    for row in report():
        yield from ({**row, **without}, {**row, **c6g, **without}, {**row, **fee})


def test_the_plan_of_one_kind_buys_what_the_plan_of_all_does_and_says_their_dollars(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = written(tmp_path / "cur.csv", beside_a_savings_plan()), tmp_path / "m5.json"
    assert run(["plan", str(path), "--now", "2026-10-01T00:00:00Z", "-o", "json"]) == 0
    [of_all] = (kind for kind in json.loads(capsys.readouterr().out)["kinds"] if kind["name"] == KIND)
    asked = ["plan", str(path), "--now", "2026-10-01T00:00:00Z", "--set", f"kind={KIND}", "--out", str(out)]
    assert run(asked) == 0
    alone = json.loads(out.read_text())
    bought = [
        [(line["address"], float(line["count"])) for line in of["mix"] if "plan-1y-all-upfront" in line["address"]]
        for of in (of_all, alone)
    ]
    assert bought[0] == bought[1] != []
    said = " ".join(capsys.readouterr().err.split())
    assert f"this kind costs ${float(of_all['now_monthly']):,.0f}/month" in said
    assert f"saves ${float(of_all['now_monthly']) - float(of_all['plan_monthly']):,.0f}/month of all kinds" in said


def test_the_plan_of_one_kind_says_what_the_bill_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(CASES / "focus_1.2.csv"), "--set", f"kind={KIND}"]) == 0
    told = capsys.readouterr()
    assert "does not say when 2 commitments end" in " ".join(told.err.split())
    assert "focus_1.2.csv aws us-east-1 m5: 4 rows" in " ".join(told.out.split())


def test_the_command_for_one_kind_does_what_it_says_in_another_currency(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**row, "lineItem/CurrencyCode": "EUR"} for row in report()]
    path = written(tmp_path / "in euros.csv", rows)
    assert run(["plan", str(path), "--set", "rate_EUR=1.10"]) == 0
    said = " ".join("".join(capsys.readouterr()).split())
    command = said.partition("the whole plan of one kind: hcloud ")[2].partition(f" --set kind={KIND}")[0]
    assert shlex.split(command) == ["plan", str(path), "--set", "rate_EUR=1.10"]
    assert run([*shlex.split(command), "--set", f"kind={KIND}"]) == 0


def test_the_command_in_markdown_can_be_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "it's $5 `of` https=a.csv", report())
    assert run(["plan", str(path), "-o", "md"]) == 0
    lines = capsys.readouterr().out.splitlines()
    before, command, after = lines[-3:]
    assert before == after == "```"
    assert shlex.split(command) == ["hcloud", "plan", str(path), "--set", f"kind={KIND}"]


@pytest.mark.parametrize(
    ("operation", "kind"), [("RunInstances", KIND), ("RunInstances:0002", f"{KIND}.large/windows")]
)
def test_a_report_of_a_plan_is_a_bill_of_its_machines(
    operation: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**row, "lineItem/Operation": operation} for row in report()]
    path, plan = written(tmp_path / "bill.csv", rows), tmp_path / "plan.json"
    assert run(["plan", str(path), "--set", f"kind={kind}", "--out", str(plan)]) == 0
    capsys.readouterr()
    assert run(["report", "cost", str(plan), "-o", "focus"]) == 0
    charges = capsys.readouterr().out
    (tmp_path / "focus.csv").write_text(charges)
    used = [row for row in csv.DictReader(io.StringIO(charges)) if row["ConsumedUnit"] == "Hours"]
    assert run(["workload", "show", str(tmp_path / "focus.csv"), "-o", "json"]) == 0
    bill = json.loads(capsys.readouterr().out)
    hours = sum(float(row["ConsumedQuantity"]) for row in used)
    assert sum(one["hours"] for one in bill["kinds"]) == pytest.approx(hours)
    assert hours > 730  # a machine of a month at least
    assert float(bill["usage"]["list_cost"]) == pytest.approx(sum(float(row["ListCost"]) for row in used))
    assert {one["os"] for one in bill["kinds"]} == {"windows" if ":" in operation else "linux"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "kind=aws/us-east-1/m6"], "no kind of machine is called"),
        (["--strategy", "auto"], "--strategy is for the plan of one kind"),
        (["--window", "14d"], "--window is for traces"),
        (["--region", "eu-west-1"], "in the markets that are asked for"),
        (["--set", "default_cores=2"], "is not a key of bills"),
    ],
)
def test_what_a_bill_does_not_have_is_refused(
    words: list[str], told: str, bill: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(bill), *words]) == 64
    assert told in capsys.readouterr().err.replace("\n  ", " ")


def test_a_bill_of_several_kinds_is_no_trace(bill: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(bill)]) == 64
    assert "--set kind=NAME" in capsys.readouterr().err.replace("\n  ", " ")
