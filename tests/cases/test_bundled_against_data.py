"""The bundled prices against the published data they were taken from; skipped where that data is not on the machine.

``pytest -rA -k test_bundled`` prints the table of differences of each comparison.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from hcloud.catalog.book import PriceBook
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.units import HOURS_PER_MONTH, HOURS_PER_YEAR

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "prices"
ALLOWED = Decimal("0.01")
SHOWN = 15
SHARE = 4
SIZES = Path(__file__).resolve().parents[2] / "pricing" / "gcp" / "sizes.csv"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the published price files (../shared/data/prices) are absent"
)


class Seen(NamedTuple):
    """A price in the data: what it is the price of, and dollars an hour."""

    key: OfferKey
    hourly: Decimal


class Difference(NamedTuple):
    """How far a bundled price is from the data, as a fraction of the data's."""

    relative: Decimal
    key: OfferKey
    bundled: Decimal
    data: Decimal

    def __str__(self) -> str:
        return (
            f"{self.relative:+8.3%}  {self.key}  bundled {self.bundled.normalize():f}  data {self.data.normalize():f}"
        )


@cache
def book() -> PriceBook:
    return load_bundled(systems=["linux"])


def on_demand_2026() -> Iterator[Seen]:
    with (DATA / "aws_on-demand_us-east-1_2026-07-20.csv").open(encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            key = OfferKey(Provider.AWS, "us-east-1", row["instance_type"], PurchaseOption.ON_DEMAND)
            yield Seen(key, Decimal(row["usd_per_hour"]))


def on_demand_2024() -> Iterator[Seen]:
    text = (DATA / "aws_on-demand_spot_2024-04-04.json").read_text(encoding="utf-8")
    for row in json.loads(text)["data"]:
        # Prices of us-east-1 are bundled from the later file.
        if row["region"] != "us-east-1" and row["ondemand"] not in (None, "N/A"):
            key = OfferKey(Provider.AWS, row["region"], row["instance-type"], PurchaseOption.ON_DEMAND)
            yield Seen(key, Decimal(str(row["ondemand"])))


def reserved(
    name: str, years: int, payment: Payment, region: str = "us-east-1", *, convertible: bool = False
) -> OfferKey:
    option = PurchaseOption.CONVERTIBLE if convertible else PurchaseOption.RESERVED
    return OfferKey(Provider.AWS, region, name, option, years, payment)


def one_year_all_upfront_2023() -> Iterator[Seen]:
    text = (DATA / "aws_od_spot_ri1y_us-east-1_2023-08-30.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        cells = dict(part.rsplit(":", 1) for part in line.split(",") if ":" in part)
        values = {name.strip(): value.strip() for name, value in cells.items()}
        price = Decimal(values.get("Linux Standard RI 1y AllUpfront cost in us-east-1", "0"))
        if price:
            yield Seen(reserved(values["Instance type"], 1, Payment.ALL), price)


def three_year_all_upfront_2026() -> Iterator[Seen]:
    text = (DATA / "aws_3yr_allupfront_us-east-1_2026-06-09.json").read_text(encoding="utf-8")
    for name, row in json.loads(text)["us-east-1"]["instances"].items():
        yield Seen(reserved(name, 3, Payment.ALL), Decimal(str(row["annual_cost"])) / HOURS_PER_YEAR)


def reserved_2019() -> Iterator[Seen]:
    """All twelve terms, where the bundle has them from this file and not from a later one."""
    payments = {"noUpfront": Payment.NONE, "partialUpfront": Payment.PARTIAL, "allUpfront": Payment.ALL}
    with gzip.open(DATA / "ec2instances-info_2019-04-05.json.gz", "rt", encoding="utf-8") as handle:
        types = json.load(handle)
    for row in types:
        for region, systems in row["pricing"].items():
            for term, price in systems.get("linux", {}).get("reserved", {}).items():
                plan, payment = term.split(".")
                years, convertible = int(plan[6]), plan.endswith("Convertible")
                key = reserved(row["instance_type"], years, payments[payment], region, convertible=convertible)
                offer = book().offers.get(key)
                if offer is not None and offer.origin.day.year == 2019 and not offer.origin.derived:
                    yield Seen(key, Decimal(price))


@cache
def google_types() -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """One of so many, for a series has the same rates in all of its machines; and all that are stated one by one, or
    are of a shape with so few sizes that none would be among them."""
    with gzip.open(DATA / "gcp_pricing_2026-07-30.yml.gz", "rt", encoding="utf-8") as handle:
        inside = re.split(r"(?m)^  \S", handle.read().partition("\n  instance:\n")[2])[0]
    machines = re.split(r"(?m)^(?=    \S)", inside)
    with SIZES.open(encoding="utf-8") as handle:
        alone = {row["machine_type"] for row in csv.DictReader(handle)}
    names = [machine.strip().partition(":")[0] for machine in machines]
    some = [m for at, m in enumerate(machines) if at % SHARE == 0 or names[at] in alone or "-megamem-" in names[at]]
    loaded: dict[str, dict[str, dict[str, dict[str, float]]]] = yaml.load("".join(some), yaml.CSafeLoader)
    return loaded


def google(field: str, option: PurchaseOption, years: int = 0, per: int = 1) -> Callable[[], Iterator[Seen]]:
    def prices() -> Iterator[Seen]:
        for name, row in google_types().items():
            for region, costs in row.get("cost", {}).items():
                if costs.get(field):
                    yield Seen(OfferKey(Provider.GCP, region, name, option, years), Decimal(str(costs[field])) / per)

    return prices


def differences(prices: Iterable[Seen]) -> list[Difference]:
    """Every bundled price that the data has, the largest difference first."""
    found = []
    for seen in prices:
        offer = book().offers.get(seen.key)
        if offer is not None:
            ours = offer.effective_hourly
            found.append(Difference(ours / seen.hourly - 1, seen.key, ours, seen.hourly))
    return sorted(found, key=lambda d: (-abs(d.relative), d.key))


COMPARISONS = {
    "aws on-demand us-east-1 2026": (on_demand_2026, 400),
    "aws on-demand other regions 2024": (on_demand_2024, 500),
    "aws 1-year all-upfront us-east-1 2023": (one_year_all_upfront_2023, 200),
    "aws 3-year all-upfront us-east-1 2026": (three_year_all_upfront_2026, 400),
    "google hour": (google("hour", PurchaseOption.ON_DEMAND), 250),
    "google spot": (google("hour_spot", PurchaseOption.SPOT), 250),
    "google 1 year": (google("month_1y", PurchaseOption.COMMITTED_USE, 1, HOURS_PER_MONTH), 250),
    "google 3 years": (google("month_3y", PurchaseOption.COMMITTED_USE, 3, HOURS_PER_MONTH), 250),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_bundled_prices_are_within_one_percent(name: str) -> None:
    prices, at_least = COMPARISONS[name]
    found = differences(prices())
    table = "\n".join(map(str, found[:SHOWN]))
    print(f"{name}: {len(found)} prices compared; largest differences:\n{table}")  # noqa: T201 - this is the table
    assert len(found) >= at_least
    beyond = [d for d in found if abs(d.relative) > ALLOWED]
    assert not beyond, "\n".join(map(str, beyond))


def test_reserved_prices_of_2019() -> None:
    """No hard figures: one fraction a family cannot follow the file's rounding, which is 3 % of the smallest sizes."""
    found = differences(reserved_2019())
    table = "\n".join(map(str, found[:SHOWN]))
    print(f"aws reserved 2019: {len(found)} prices compared; largest differences:\n{table}")  # noqa: T201
    assert len(found) >= 900
    rounding = Decimal("0.0007")  # AWS cuts the hourly part of a partial payment to tenths of a cent
    beyond = [d for d in found if abs(d.relative) > 2 * ALLOWED and abs(d.bundled - d.data) > rounding]
    assert not beyond, "\n".join(map(str, beyond))


def test_no_size_of_a_bundled_aws_family_is_left_out() -> None:
    families = {t.family for (provider, _), t in book().types.items() if provider is Provider.AWS}
    left_out = [
        seen.key.instance_type
        for seen in on_demand_2026()
        if seen.key.instance_type.split(".")[0] in families and seen.key not in book().offers
    ]
    assert not left_out
