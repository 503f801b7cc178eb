"""Reads four small public formats of EC2 prices: two-column CSV, annual cost, labelled text and on-demand with spot."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import PriceIntake, PriceRow, PriceSource, accelerators, number, shortened
from hcloud.catalog.shapes import guess_provider
from hcloud.errors import InputError
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.readers.prices.ec2instances import split_term
from hcloud.readers.prices.json_text import elements, load_json, members, word
from hcloud.units import CENT

ANNUAL_TERM_YEARS = 3
_ANNUAL_ROUNDING = Decimal("0.015")
_COST_LABEL = re.compile(
    r"(Linux|Windows|RHEL|SLES) (OD|Spot|Standard RI 1y AllUpfront) cost in ([a-z0-9-]+)", re.ASCII
)
_NO_SPOT = "repeats the on-demand price: there is no spot market for it"


def read_two_columns(text: str, source: PriceSource) -> PriceBook:
    """On-demand prices from a CSV of ``instance_type,usd_per_hour``; the region comes from the source."""
    region = _region(source)
    rows = csv.reader(io.StringIO(text))
    header = [c.strip().lower() for c in next(rows, [])]
    if header != ["instance_type", "usd_per_hour"]:
        raise InputError(f"{source.name}: the header is {shortened(header)}, not instance_type,usd_per_hour")
    intake = PriceIntake(source)
    for cells in rows:
        if len(cells) != 2:
            intake.refuse(f"line {rows.line_num}", f"has {len(cells)} cells under 2 columns")
            continue
        name = cells[0].strip()
        provider = guess_provider(name) or source.provider or Provider.AWS
        key = OfferKey(provider, region, name, PurchaseOption.ON_DEMAND)
        intake.price(PriceRow(f"line {rows.line_num}", key, cells[1] or None))
    return intake.book()


def read_annual_cost(text: str, source: PriceSource) -> PriceBook:
    """Three-year all-upfront reserved prices from ``{region: {instances: {type: {annual_cost: dollars}}}}``.

    The upfront payment is three times the annual cost, to the whole dollar where the rounding of the file allows it.
    """
    intake = PriceIntake(source)
    for region, listing in members(load_json(text, source.name)).items():
        for name, figures in members(members(listing).get("instances")).items():
            key = OfferKey(
                Provider.AWS, region, name, PurchaseOption.RESERVED, ANNUAL_TERM_YEARS, Payment.ALL
            )  # fmt: skip
            annual = members(figures).get("annual_cost")
            derived = f"annual cost x {ANNUAL_TERM_YEARS}"
            intake.price(PriceRow(f"{region}.instances.{name}.annual_cost", key, 0, _whole_term(annual), derived))
    return intake.book()


def read_labelled_text(text: str, source: PriceSource) -> PriceBook:
    """On-demand (four systems), spot and one-year all-upfront prices from lines of ``label: value`` parted by commas.

    A zero means that the type is not sold with that system; a spot price equal to the on-demand price is none.
    """
    intake = PriceIntake(source)
    for line, content in enumerate(text.splitlines(), 1):
        if content.strip():
            labels = dict(_labelled(part) for part in re.split(r",\s*\t", content))
            _take_labels(f"line {line}", labels, intake)
    return intake.book()


def read_spot_average(text: str, source: PriceSource) -> PriceBook:
    """On-demand and average spot prices from ``{data: [{instance-type, region, ondemand, spot_avg, ...}]}``."""
    intake = PriceIntake(source)
    for index, item in enumerate(elements(members(load_json(text, source.name)).get("data"))):
        entry = members(item)
        name, region = word(entry.get("instance-type")), word(entry.get("region"))
        address = f"data[{index}]"
        if not (name and region):
            intake.refuse(address, "names no instance type or no region")
            continue
        _take_size(address, entry, intake)
        key = OfferKey(Provider.AWS, region, name, PurchaseOption.ON_DEMAND)
        ondemand, spot = entry.get("ondemand"), entry.get("spot_avg")
        intake.price(PriceRow(f"{address}.ondemand", key, ondemand))
        _take_spot(PriceRow(f"{address}.spot_avg", replace(key, option=PurchaseOption.SPOT), spot), ondemand, intake)
    return intake.book()


def _take_spot(row: PriceRow, ondemand: object, intake: PriceIntake) -> None:
    if row.hourly is None:
        intake.refuse(row.address, "is empty: there is no spot price")
    elif _same(row.hourly, ondemand):
        intake.refuse(row.address, _NO_SPOT)
    else:
        intake.price(row)


def _take_labels(address: str, labels: Mapping[str, str], intake: PriceIntake) -> None:
    name = labels.get("Instance type", "")
    if not name:
        intake.refuse(address, "names no instance type")
        return
    arch = "arm64" if labels.get("Arch") == "arm64" else "x86_64"
    intake.size(address, (Provider.AWS, name), labels.get("CPU cores"), labels.get("Memory(GB)"), arch=arch)
    ondemand: dict[str, str] = {}
    for label, value in labels.items():
        if match := _COST_LABEL.fullmatch(label):
            os, kind, region = match[1].lower(), match[2], match[3]
            key = OfferKey(Provider.AWS, region, name, PurchaseOption.ON_DEMAND, os=os)
            _take_cost(PriceRow(f"{address}, {label}", key, value), kind, ondemand, intake)


def _take_cost(row: PriceRow, kind: str, ondemand: dict[str, str], intake: PriceIntake) -> None:
    if _same(row.hourly, "0"):
        intake.refuse(row.address, "is zero: the type is not sold this way")
    elif kind == "OD":
        ondemand[f"{row.key.region} {row.key.os}"] = str(row.hourly)
        intake.price(row)
    elif kind == "Spot":
        spot = row._replace(key=replace(row.key, option=PurchaseOption.SPOT))
        _take_spot(spot, ondemand.get(f"{row.key.region} {row.key.os}"), intake)
    else:
        key = replace(row.key, option=PurchaseOption.RESERVED, term_years=1, payment=Payment.ALL)
        try:
            hourly, upfront = split_term(number(row.hourly), 1, Payment.ALL)
        except (ValueError, ArithmeticError) as error:
            intake.refuse(row.address, f"the price {error}", key)
            return
        intake.price(PriceRow(row.address, key, hourly, upfront, "effective hourly price x hours of the term"))


def _take_size(address: str, entry: Mapping[str, object], intake: PriceIntake) -> None:
    current = entry.get("current-generation") is not False
    rest = {"arch": "arm64" if entry.get("arch") == "arm64" else "x86_64", "current": current}
    of = (Provider.AWS, word(entry.get("instance-type")))
    intake.size(address, of, entry.get("vCPU"), entry.get("memory"), gpus=accelerators(entry.get("GPU")), **rest)


def _whole_term(annual: object) -> object:
    try:
        exact = number(annual) * ANNUAL_TERM_YEARS
        whole = exact.quantize(Decimal(1))
        return whole if abs(whole - exact) <= _ANNUAL_ROUNDING else exact.quantize(CENT)
    except (ValueError, ArithmeticError):
        return annual


def _labelled(part: str) -> tuple[str, str]:
    label, _, value = part.partition(":")
    return label.strip(), value.strip()


def _same(left: object, right: object) -> bool:
    try:
        return number(left) == number(right)
    except ValueError:
        return False


def _region(source: PriceSource) -> str:
    if not source.region:
        raise InputError(f"{source.name} does not say for which region its prices are", hint="add --region us-east-1")
    return source.region
