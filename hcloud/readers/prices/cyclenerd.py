"""Reads the ``pricing.yml`` of Cyclenerd's Google Cloud calculator: hour, spot, month and committed use by region.

``hour`` is the list price and ``month`` holds the sustained-use discount already, so ``month / (hour x 730)`` tells
which of Google's published tiers a series has. ``month_1y`` and ``month_3y`` are what a committed month costs; where
they equal ``month`` the file means that no commitment is sold (shared-core types), and no offer is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import PriceIntake, PriceRow, PriceSource, accelerators, number
from hcloud.errors import InputError
from hcloud.model.catalog import OfferKey, Provider, PurchaseOption, SustainedUse
from hcloud.readers.prices.json_text import members, word
from hcloud.readers.safe_yaml import load_yaml
from hcloud.units import HOURS_PER_MONTH

# Google's published incremental rates of a full month: N1 and the other older series, then N2, N2D, C2 and their kin
TIERS = (
    (Decimal(1), Decimal("0.8"), Decimal("0.6"), Decimal("0.4")),
    (Decimal(1), Decimal("0.8678"), Decimal("0.733"), Decimal("0.6")),
)
_NEAR = Decimal("0.002")
_PRICE_DIGITS = Decimal("1E-10")
_NOT_GPUS = ("cpu", "ram", "cost", "type", "local-ssd")


def read_cyclenerd(text: str, source: PriceSource) -> PriceBook:
    """The book in a ``pricing.yml``; raises InputError where ``compute.instance`` is not there."""
    compute = members(members(load_yaml(text, source.name, decimals=True)).get("compute"))
    machines = members(compute.get("instance"))
    if not machines:
        raise InputError(f"{source.name} has no compute.instance")
    intake = PriceIntake(source)
    factors: dict[str, list[Decimal]] = {}
    for name, entry in machines.items():
        series = _take_machine(name, members(entry), intake)
        for region, cost in members(members(entry).get("cost")).items():
            address = f"compute.instance.{name}.cost.{region}"
            _take_cost(OfferKey(Provider.GCP, region, name, PurchaseOption.ON_DEMAND), members(cost), address, intake)
            factors.setdefault(series, []).extend(_month_factor(members(cost)))
        if not members(members(entry).get("cost")):
            intake.refuse(f"compute.instance.{name}", "has no prices")
    for series, seen in factors.items():
        if tiers := tiers_of(seen):
            intake.sustain(Provider.GCP, SustainedUse(series, tiers))
    return intake.book()


def tiers_of(factors: list[Decimal]) -> tuple[Decimal, ...]:
    """The published tiers whose full month comes to the middle one of the ratios seen, none where no tiers do."""
    if not factors:
        return ()
    middle = sorted(factors)[len(factors) // 2]
    return next((t for t in TIERS if abs(sum(t, Decimal(0)) / len(t) - middle) <= _NEAR), ())


def _month_factor(cost: Mapping[str, object]) -> list[Decimal]:
    try:
        hour, month = number(cost.get("hour")), number(cost.get("month"))
    except ValueError:
        return []
    return [month / (hour * HOURS_PER_MONTH)] if hour > 0 else []


def _take_machine(name: str, entry: Mapping[str, object], intake: PriceIntake) -> str:
    gpus = max((accelerators(v) for k, v in entry.items() if k not in _NOT_GPUS), default=0)
    series = name.partition("-")[0]
    rest = {"gpus": gpus, "arch": "arm64" if series in ("t2a", "c4a", "n4a", "a4x") else "x86_64"}
    if gpus:
        rest["category"] = "accelerated"
    intake.size(f"compute.instance.{name}", (Provider.GCP, name), entry.get("cpu"), entry.get("ram"), **rest)
    return series


def _take_cost(base: OfferKey, cost: Mapping[str, object], address: str, intake: PriceIntake) -> None:
    if "hour" in cost:
        intake.price(PriceRow(f"{address}.hour", base, cost["hour"]))
    else:
        intake.refuse(f"{address}.hour", "has no on-demand price")
    if "hour_spot" in cost:
        spot = replace(base, option=PurchaseOption.SPOT)
        intake.price(PriceRow(f"{address}.hour_spot", spot, cost["hour_spot"]))
    for years in (1, 3):
        field = f"month_{years}y"
        key = replace(base, option=PurchaseOption.COMMITTED_USE, term_years=years)
        if field not in cost:
            continue
        if cost[field] == cost.get("month"):
            intake.refuse(f"{address}.{field}", "repeats the price without commitment: none is sold")
            continue
        intake.price(PriceRow(f"{address}.{field}", key, _hourly(cost[field])))


def _hourly(month: object) -> object:
    """A month's price by the hour; what is no number goes on as it is, to be refused with its reason."""
    try:
        return (number(month) / HOURS_PER_MONTH).quantize(_PRICE_DIGITS)
    except (ValueError, ArithmeticError):
        return word(month) or month
