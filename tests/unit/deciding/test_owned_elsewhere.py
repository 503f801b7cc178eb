"""Commitments that are owned where the markets allow nothing: paid for, named, and in the way of nothing."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.planning.fleets.owned import why_elsewhere
from hcloud.planning.purchases.purchase import owned_in
from hcloud.planning.settings import Market
from hcloud.planning.strategies.own_fleet import fleet_of
from hcloud.store.plan_file import load_plan

HERE = Market(Provider.AWS, ("us-east-1",))
OPTION = PurchaseOption
CENT = Decimal("0.01")


def key(option: PurchaseOption, region: str = "us-east-1", os: str = "linux", cloud: str = "aws") -> OfferKey:
    return OfferKey(Provider(cloud), region, "m5a.large", option, 1, Payment.NONE, os)


@pytest.mark.parametrize(
    ("owned", "said"),
    [
        (key(OPTION.RESERVED), ""),
        (key(OPTION.RESERVED, "eu-west-1"), "markets.regions does not name eu-west-1: add it"),
        (key(OPTION.INSTANCE_SAVINGS_PLAN, "eu-west-1"), "markets.regions does not name eu-west-1: add it"),
        (key(OPTION.COMPUTE_SAVINGS_PLAN, "eu-west-1", "windows"), ""),
        (key(OPTION.INSTANCE_SAVINGS_PLAN, os="windows"), ""),
        (
            key(OPTION.RESERVED, os="windows"),
            "no market there is of windows on shared hardware: set markets.os and markets.tenancy",
        ),
        (
            key(OPTION.COMMITTED_USE, "us-central1", cloud="gcp"),
            "no market is of gcp: add {provider: gcp, regions: [us-central1]} to markets",
        ),
    ],
)
def test_what_is_owned_counts_where_it_covers_what_a_market_allows(owned: OfferKey, said: str) -> None:
    assert why_elsewhere(owned, (HERE,)) == said


def _planned(tmp_path: Path, name: str, owned: str) -> Path:
    (tmp_path / "steady.csv").write_text(
        "id,submit,duration,cores,memory,kind\na,0,2592000,6,24,service\n", encoding="utf-8"
    )
    config, out = tmp_path / f"{name}.yaml", tmp_path / f"{name}.json"
    config.write_text(
        "workload: {path: steady.csv}\nmarkets: [{provider: aws, regions: [us-east-1], families: [m5a]}]\n" + owned,
        encoding="utf-8",
    )
    assert run(["-q", "plan", "-f", str(config), "--now", "2026-10-01", "--out", str(out)]) == 0
    return out


STRANGER = """owned:
  - {provider: aws, region: eu-west-1, instance_type: m5a.large, option: reserved-instance, term_years: 1,
     payment: all-upfront, count: 6, expires: 2030-03-01}
"""


@pytest.mark.slow
def test_what_is_owned_in_another_region_is_paid_for_named_and_covers_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without = load_plan(_planned(tmp_path, "without", ""))
    capsys.readouterr()
    plan = load_plan(_planned(tmp_path, "with", STRANGER))
    (owned,) = (m for m in plan.mix if m.covers_nothing)
    assert plan.purchases == without.purchases
    assert plan.purchases
    assert abs(plan.after.total - without.after.total - owned.total) <= CENT < owned.total
    assert abs(plan.now.total - without.now.total - owned.total) <= CENT
    assert (owned.count, owned.vcpus, owned.memory_gib) == tuple(map(Decimal, (6, 0, 0)))
    (said,) = (w for w in plan.warnings if w.startswith("owned"))
    assert "aws/eu-west-1/m5a.large/reserved-instance-1y-all-upfront covers nothing here" in said
    assert "markets.regions does not name eu-west-1: add it" in said


@pytest.mark.slow
def test_no_reader_of_the_plan_takes_it_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = _planned(tmp_path, "with", STRANGER)
    plan = load_plan(out)
    assert list(owned_in(plan, plan.generated_at)) == []
    assert {lot[0].region for lot in fleet_of(plan).beside} <= {"us-east-1"}
    assert fleet_of(plan).on_demand.region == "us-east-1"
    capsys.readouterr()
    assert run(["export", "karpenter", str(out)]) == 0
    assert "eu-west-1" not in capsys.readouterr().out


@pytest.mark.slow
def test_validate_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _planned(tmp_path, "with", STRANGER)
    capsys.readouterr()
    run(["validate", "-f", str(tmp_path / "with.yaml"), "--now", "2026-10-01", "--json"])
    found = {c["name"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
    assert found["owned"]["status"] == "warning"
    assert "owned.0: aws/eu-west-1" in found["owned"]["details"][0]
    assert Decimal(found["owned"]["message"].split()[0]) == 1
