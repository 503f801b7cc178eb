"""Reads a SkyPilot catalogue CSV: on-demand and spot prices by region and zone."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import HIGHEST_HOURLY, PriceIntake, PriceRow, PriceSource, accelerators, number
from hcloud.catalog.shapes import guess_provider
from hcloud.errors import InputError, Problem
from hcloud.model.catalog import OfferKey, PurchaseOption

REQUIRED = ("InstanceType", "vCPUs", "MemoryGiB", "Price", "Region", "SpotPrice")


def read_skypilot(text: str, source: PriceSource) -> PriceBook:
    """The book in a catalogue; a spot price per zone also gives the region's, the mean of its zones, marked as derived.

    Raises InputError where columns are missing.
    """
    rows = csv.DictReader(io.StringIO(text), restkey="", restval=None)
    missing = [c for c in REQUIRED if c not in (rows.fieldnames or ())]
    if missing:
        problems = [Problem(source.name, "header", f"column {c!r} is missing", "required") for c in missing]
        raise InputError(f"{source.name} is not a SkyPilot catalogue", problems)
    intake = PriceIntake(source)
    zones: dict[OfferKey, list[Decimal]] = {}
    try:
        for row in rows:
            _take_row(f"line {rows.line_num}", row, zones, intake)
    except csv.Error as error:
        raise InputError(f"{source.name}: line {rows.line_num} is not CSV: {error}") from error
    for key, prices in zones.items():
        mean = (sum(prices, Decimal(0)) / len(prices)).quantize(Decimal("1E-10"))
        intake.price(PriceRow(str(key), key, mean, 0, f"mean of {len(prices)} zones"))
    return intake.book()


def _take_row(
    address: str, row: Mapping[str, str | None], zones: dict[OfferKey, list[Decimal]], intake: PriceIntake
) -> None:
    if any(cell is None for cell in row.values()) or "" in row:
        intake.refuse(address, "has more or fewer cells than the header")
        return
    name, region = (row["InstanceType"] or "").strip(), (row["Region"] or "").strip()
    if not name:
        intake.refuse(address, "names no instance type (an accelerator on its own is no machine)")
        return
    provider = guess_provider(name) or intake.source.provider
    if provider is None:
        intake.refuse(address, f"the cloud of {name!r} is unknown; add --provider")
        return
    key = OfferKey(provider, region, name, PurchaseOption.ON_DEMAND)
    _take_shape(address, key, row, intake)
    if row["Price"]:
        intake.price(PriceRow(address, key, row["Price"]))
    else:
        intake.refuse(address, "has no on-demand price")
    if row["SpotPrice"]:
        _take_spot(PriceRow(f"{address}, SpotPrice", key, row["SpotPrice"]), row, zones, intake)


def _take_spot(
    row: PriceRow, cells: Mapping[str, str | None], zones: dict[OfferKey, list[Decimal]], intake: PriceIntake
) -> None:
    key = replace(row.key, option=PurchaseOption.SPOT, zone=(cells.get("AvailabilityZone") or "").strip())
    intake.price(row._replace(key=key))
    try:
        price = number(row.hourly)
    except ValueError:
        return
    if key.zone and 0 < price <= HIGHEST_HOURLY:
        zones.setdefault(replace(key, zone=""), []).append(price)


def _take_shape(address: str, key: OfferKey, row: Mapping[str, str | None], intake: PriceIntake) -> None:
    gpus = accelerators(row.get("AcceleratorCount"))
    rest = {"gpus": gpus, "category": "accelerated"} if gpus else {}
    intake.size(address, (key.provider, key.instance_type), row["vCPUs"] or None, row["MemoryGiB"] or None, **rest)
