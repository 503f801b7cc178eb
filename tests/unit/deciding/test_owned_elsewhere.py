"""Commitments that are owned where the markets allow nothing: paid for, named, and in the way of nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from builders import ORIGIN

from hcloud.catalog.book import PriceBook
from hcloud.cli.main import run
from hcloud.model.catalog import InstanceType, Offer, OfferKey, Payment, Provider, PurchaseOption
from hcloud.planning.fleets.allowed_cover import allowed_cover
from hcloud.planning.purchases.purchase import owned_in
from hcloud.planning.settings import Market, PlanSettings
from hcloud.planning.strategies.own_fleet import fleet_of
from hcloud.readers.configuration.config import load_config
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.store.plan_file import load_plan
from hcloud.usecases.deciding.billed.licences import as_bought

OPTION = PurchaseOption
CENT = Decimal("0.01")
HERE = Market(Provider.AWS, ("us-east-1",))
CLOUDS = {Provider.AWS: "us-east-1", Provider.GCP: "us-central1", Provider.AZURE: "eastus"}
SHAPES = (
    InstanceType(Provider.AWS, "m5a.large", "m5a", Decimal(2), Decimal(8), Decimal(4)),
    InstanceType(Provider.AWS, "c7i.large", "c7i", Decimal(2), Decimal(4), Decimal(4)),
    InstanceType(Provider.AWS, "c7i.4xlarge", "c7i", Decimal(16), Decimal(32), Decimal(32)),
    InstanceType(Provider.AWS, "m7g.large", "m7g", Decimal(2), Decimal(8), Decimal(4), arch="arm64"),
    InstanceType(Provider.AWS, "g5.xlarge", "g5", Decimal(4), Decimal(16), Decimal(4), gpus=1),
    InstanceType(Provider.AWS, "g5.2xlarge", "g5", Decimal(8), Decimal(32), Decimal(8), gpus=1),
    InstanceType(Provider.GCP, "n2-standard-2", "n2", Decimal(2), Decimal(8), Decimal(8)),
    InstanceType(Provider.GCP, "n2d-standard-2", "n2d", Decimal(2), Decimal(8), Decimal(8)),
    InstanceType(Provider.AZURE, "Standard_D2s_v5", "Dsv5", Decimal(2), Decimal(8), Decimal(8)),
    InstanceType(Provider.AZURE, "Standard_D2as_v5", "Dasv5", Decimal(2), Decimal(8), Decimal(8)),
)
AMERICAN = "{provider: aws, regions: [us-east-1], families: [m5a]}"
HOURLY = {"c7i": "0.04", "n2d": "0.025", "Dasv5": "0.025"}
"""By the vCPU, at every term; 0.05 for the others."""


def key(option: PurchaseOption, region: str = "us-east-1", os: str = "linux", name: str = "m5a.large") -> OfferKey:
    cloud = next(s.provider for s in SHAPES if s.name == name)
    place = region if cloud is Provider.AWS else CLOUDS[cloud]
    return OfferKey(cloud, place, name, option, 1, Payment.NONE, os)


def prices() -> PriceBook:
    """Every type under every option, wherever these tests look."""
    keys = {
        key(option, region, os, s.name): Decimal(HOURLY.get(s.family, "0.05")) * s.vcpus
        for s in SHAPES
        for option in OPTION
        if option.is_commitment
        for region in ("us-east-1", "eu-west-1")
        for os in ("linux", "windows")
    }
    return PriceBook(
        {(s.provider, s.name): s for s in SHAPES}, {k: Offer(k, p, Decimal(0), ORIGIN) for k, p in keys.items()}
    )


def why_elsewhere(owned: OfferKey, *markets: Market) -> str:
    return allowed_cover(owned, prices(), PlanSettings(markets=markets)).elsewhere


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
            key(OPTION.COMMITTED_USE, name="n2-standard-2"),
            "no market is of gcp: add {provider: gcp, regions: [us-central1]} to markets",
        ),
        (
            key(OPTION.FLEXIBLE_COMMITTED_USE, name="n2-standard-2"),
            "no market is of gcp: add {provider: gcp, regions: [us-central1]} to markets",
        ),
        (key(OPTION.RESERVED, name="m7g.large"), "markets.architectures does not name arm64: add it"),
        (
            key(OPTION.RESERVED, name="g5.xlarge"),
            "g5 has GPUs, and the plan is for jobs without: set markets.gpus",
        ),
    ],
)
def test_what_is_owned_counts_where_it_covers_what_a_market_allows(owned: OfferKey, said: str) -> None:
    assert why_elsewhere(owned, HERE) == said


def test_of_a_plan_by_gpus_the_dollars_of_another_size_count_as_its_own() -> None:
    market = Market(Provider.AWS, ("us-east-1",), ("g5",), gpus=Decimal(4))
    why = "g5.2xlarge has other vCPUs for each GPU: the plan counts 4 for each; set markets.vcpus to 8 to plan on it"
    assert why_elsewhere(key(OPTION.RESERVED, name="g5.2xlarge"), market) == why
    for option, bought in ((OPTION.INSTANCE_SAVINGS_PLAN, "g5.2xlarge"), (OPTION.COMPUTE_SAVINGS_PLAN, "m5a.large")):
        cover = allowed_cover(key(option, name=bought), prices(), PlanSettings(markets=(market,)))
        assert (cover.shape.name, cover.elsewhere) == ("g5.xlarge", "")


OTHERS = {Provider.AWS: "c7i", Provider.GCP: "n2d", Provider.AZURE: "Dasv5"}


def _of_other_families(cloud: Provider, size: int = 0) -> Market:
    return Market(cloud, (CLOUDS[cloud],), (OTHERS[cloud],), vcpus=size)


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (OPTION.RESERVED, "m5a.large"),
        (OPTION.CONVERTIBLE, "m5a.large"),
        (OPTION.INSTANCE_SAVINGS_PLAN, "m5a.large"),
        (OPTION.COMMITTED_USE, "n2-standard-2"),
        (OPTION.RESERVATION, "Standard_D2s_v5"),
    ],
)
def test_what_is_bound_to_a_family_covers_no_other(option: PurchaseOption, name: str) -> None:
    owned = key(option, name=name)
    family = next(s.family for s in SHAPES if s.name == name)
    assert (
        why_elsewhere(owned, _of_other_families(owned.provider)) == f"markets.families does not name {family}: add it"
    )


@pytest.mark.parametrize(
    ("option", "name", "counted_in"),
    [
        (OPTION.COMPUTE_SAVINGS_PLAN, "m5a.large", "c7i.large"),
        (OPTION.FLEXIBLE_COMMITTED_USE, "n2-standard-2", "n2d-standard-2"),
        (OPTION.SAVINGS_PLAN, "Standard_D2s_v5", "Standard_D2as_v5"),
    ],
)
def test_dollars_of_any_family_are_counted_in_one_that_is_allowed(
    option: PurchaseOption, name: str, counted_in: str
) -> None:
    owned = key(option, name=name)
    found = allowed_cover(owned, prices(), PlanSettings(markets=(_of_other_families(owned.provider),)))
    assert (found.offer.key, found.elsewhere) == (replace(owned, instance_type=counted_in), "")
    assert found.shape.name == counted_in


def test_dollars_are_counted_in_the_size_that_is_allowed() -> None:
    settings = PlanSettings(markets=(_of_other_families(Provider.AWS, 16),))
    found = allowed_cover(key(OPTION.COMPUTE_SAVINGS_PLAN), prices(), settings)
    assert found.shape.name == "c7i.4xlarge"


def test_dollars_that_nothing_allowed_is_priced_under_cover_nothing() -> None:
    owned, without = key(OPTION.COMPUTE_SAVINGS_PLAN), prices()
    without = without.restricted(k for k in without.offers if k.instance_type == owned.instance_type)
    settings = PlanSettings(markets=(_of_other_families(Provider.AWS),))
    assert allowed_cover(owned, without, settings).elsewhere == "no type that markets allow has a price under it"


def test_a_reserved_instance_of_one_size_covers_no_other_size() -> None:
    owned, windows = key(OPTION.RESERVED, os="windows"), replace(HERE, os="windows")
    said = "it covers m5a.large alone, and markets.vcpus is 16: set that to 2 or 0"
    assert why_elsewhere(owned, replace(windows, vcpus=16)) == said
    assert why_elsewhere(owned, windows) == why_elsewhere(key(OPTION.RESERVED), replace(HERE, vcpus=16)) == ""


def _planned(tmp_path: Path, name: str, owned: str, market: str = AMERICAN) -> Path:
    (tmp_path / "steady.csv").write_text(
        "id,submit,duration,cores,memory,kind\na,0,2592000,6,24,service\n", encoding="utf-8"
    )
    config, out = tmp_path / f"{name}.yaml", tmp_path / f"{name}.json"
    config.write_text(f"workload: {{path: steady.csv}}\nmarkets: [{market}]\n{owned}", encoding="utf-8")
    assert run(["-q", "plan", "-f", str(config), "--now", "2026-10-01", "--out", str(out)]) == 0
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "os"), [(OPTION.RESERVATION, "linux"), (OPTION.SAVINGS_PLAN, "linux"), (OPTION.SAVINGS_PLAN, "windows")]
)
def test_what_is_owned_without_the_licence_of_what_it_serves_is_counted_with_it(
    option: PurchaseOption, os: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six vCPUs of Windows all year on what covers three machines of two: their licences were nobody's. Nor do these
    count as dollars that are committed to, and what is said to be for Windows covers as many."""
    offers, name = load_bundled(providers={Provider.AZURE}, regions={"eastus"}).offers, "Standard_D2s_v5"
    rented, held = ((Provider.AZURE, "eastus", name, one) for one in (OPTION.ON_DEMAND, option))
    linux, windows = (offers[OfferKey(*rented, os=os)].hourly for os in ("linux", "windows"))
    price = offers[OfferKey(*held, 1, Payment.NONE)].effective_hourly
    amount = f"dollars_per_hour: {3 * price}" if option.is_spend_based else "count: 3"
    owned = (
        f"owned:\n  - {{provider: azure, region: eastus, instance_type: {name}, option: {option}, term_years: 1,\n"
        f"     payment: no-upfront, {amount}, os: {os}, expires: 2030-03-01}}\n"
    )
    market = "{provider: azure, regions: [eastus], families: [Dsv5], os: windows}"
    plan = load_plan(_planned(tmp_path, "with", owned, market))
    assert not plan.purchases
    assert float(plan.after.hourly) == pytest.approx(float(3 * (price + windows - linux)), rel=1e-4)
    prices = load_config(tmp_path / "with.yaml")
    [(_, counted)] = owned_in(as_bought(plan, prices, plan.generated_at.date()), plan.generated_at)
    assert float(counted) == pytest.approx(float(3 * price) if option.is_spend_based else 3, rel=1e-4)


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


OTHER_FAMILY = """owned:
  - {provider: aws, region: us-east-1, instance_type: m6i.2xlarge, option: OPTION, term_years: 1,
     payment: no-upfront, count: 1, expires: 2030-03-01}
"""


@pytest.mark.slow
def test_a_reserved_instance_of_a_family_that_is_not_allowed_takes_no_purchase_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without = load_plan(_planned(tmp_path, "without", ""))
    plan = load_plan(_planned(tmp_path, "with", OTHER_FAMILY.replace("OPTION", "reserved-instance")))
    assert plan.purchases == without.purchases
    assert plan.purchases
    assert [m.instance_type for m in plan.mix if m.covers_nothing] == ["m6i.2xlarge"]


@pytest.mark.slow
def test_a_compute_savings_plan_covers_by_its_dollars_what_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = load_plan(_planned(tmp_path, "with", OTHER_FAMILY.replace("OPTION", "compute-savings-plan")))
    (owned,) = (m for m in plan.mix if m.is_owned)
    book = load_bundled()
    rates = {
        name: book.offer(OfferKey(Provider.AWS, "us-east-1", name, OPTION.COMPUTE_SAVINGS_PLAN, 1, Payment.NONE))
        for name in ("m6i.2xlarge", owned.instance_type)
    }
    dollars, rate = (o.effective_hourly for o in rates.values())
    assert owned.instance_type.startswith("m5a.")
    assert abs(owned.hourly - dollars) < Decimal("0.0001")
    assert abs(owned.count - dollars / rate) < Decimal("0.0001")
    (said,) = (a for a in plan.assumptions if "m6i.2xlarge" in a.why)
    assert owned.instance_type in said.value


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


def test_a_fleet_in_two_clouds_is_planned_and_says_why_it_is_not_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was a KeyError."""
    there = "{provider: gcp, regions: [us-central1], families: [n2]}"
    markets = f"[{{provider: aws, regions: [us-east-1], families: [m5a]}}, {there}]"
    owned = "provider: gcp, region: us-central1, instance_type: n2-standard-2, option: committed-use, term_years: 1"
    (tmp_path / "jobs.csv").write_text(
        "id,submit,duration,cores,memory,kind\na,0,2592000,40,160,service\n", encoding="utf-8"
    )
    config, out = tmp_path / "two.yaml", tmp_path / "plan.json"
    rest = f"owned: [{{{owned}, payment: no-upfront, count: 1, expires: 2030-03-01}}]\n"
    config.write_text(f"workload: {{path: jobs.csv}}\nmarkets: {markets}\n{rest}", encoding="utf-8")
    assert run(["-q", "plan", "-f", str(config), "--now", "2026-10-01", "--out", str(out)]) == 0
    why = "its reserve is in aws and gcp, and one cloud is simulated at a time"
    assert why in " ".join(capsys.readouterr().out.split())
    assert run(["simulate", str(out)]) == 64
    assert why in " ".join(capsys.readouterr().err.split())
