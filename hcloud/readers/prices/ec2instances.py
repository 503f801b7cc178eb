"""Reads ``instances.json`` of ec2instances.info: every operating system, region and reserved term of EC2.

Reserved prices stand in that file as *effective* hourly prices: what a term costs, spread over its hours. hcloud needs
what is paid at the start and what is paid each hour, so it splits them here and marks the offers as derived:

* no upfront: the hourly price is the published one;
* all upfront: price x hours of the term, to the whole dollar AWS charges where the file's six decimals allow it;
* partial upfront: half of the term's cost at the start (AWS's rule of thumb), the rest by the hour, so that the
  effective hourly price stays the file's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import PriceIntake, PriceRow, PriceSource, accelerators, number
from hcloud.errors import InputError
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.readers.prices.json_text import elements, load_json, members, word
from hcloud.units import CENT, HOURS_PER_YEAR

OPERATING_SYSTEMS = {
    "linux": "linux", "mswin": "windows", "rhel": "rhel", "sles": "sles",
    "linuxSQL": "linux-sql-standard", "linuxSQLWeb": "linux-sql-web", "linuxSQLEnterprise": "linux-sql-enterprise",
    "mswinSQL": "windows-sql-standard", "mswinSQLWeb": "windows-sql-web",
    "mswinSQLEnterprise": "windows-sql-enterprise",
}  # fmt: skip
_NOT_MACHINES = ("ebs", "emr")
_TERM = re.compile(r"yrTerm([13])(Standard|Convertible|Savings|)\.(no|partial|all)Upfront", re.ASCII)
_CLASSES = {
    "": PurchaseOption.RESERVED,  # files of before convertible ones were sold
    "Standard": PurchaseOption.RESERVED,
    "Convertible": PurchaseOption.CONVERTIBLE,
    "Savings": PurchaseOption.INSTANCE_SAVINGS_PLAN,
}
_PAYMENTS = {"no": Payment.NONE, "partial": Payment.PARTIAL, "all": Payment.ALL}
_DOLLAR = Decimal(1)
_LAST_DIGIT = Decimal("0.0000005")
_DERIVED = {
    Payment.NONE: "",
    Payment.PARTIAL: "effective hourly price, split into half upfront and half hourly",
    Payment.ALL: "effective hourly price x hours of the term",
}


def read_ec2instances(text: str, source: PriceSource) -> PriceBook:
    """The book in an ``instances.json``; raises InputError where the text is not such a list."""
    listing = elements(load_json(text, source.name))
    if not listing:
        raise InputError(f"{source.name} holds no list of instance types")
    intake = PriceIntake(source)
    for index, item in enumerate(listing):
        entry = members(item)
        name = word(entry.get("instance_type"))
        if not name:
            intake.refuse(f"[{index}]", "has no instance_type")
            continue
        _take_shape(f"[{index}] {name}", entry, name, intake)
        for region, systems in members(entry.get("pricing")).items():
            _take_region(name, region, members(systems), intake)
    return intake.book()


def split_term(effective: Decimal, years: int, payment: Payment) -> tuple[Decimal, Decimal]:
    """Hourly charge and upfront payment of a term whose effective hourly price is given to six decimals."""
    hours = years * HOURS_PER_YEAR
    if payment == Payment.NONE:
        return effective, Decimal(0)
    if payment == Payment.PARTIAL:
        upfront = (effective * hours / 2).quantize(CENT)
        return (effective - upfront / hours).quantize(Decimal("1E-10")), upfront
    exact = effective * hours
    whole = exact.quantize(_DOLLAR)
    return Decimal(0), whole if abs(whole - exact) <= hours * _LAST_DIGIT else exact.quantize(CENT)


def _take_shape(address: str, entry: Mapping[str, object], name: str, intake: PriceIntake) -> None:
    arch = "arm64" if "arm64" in elements(entry.get("arch")) else "x86_64"
    rest = {"arch": arch, "gpus": accelerators(entry.get("GPU")), "current": entry.get("generation") != "previous"}
    intake.size(address, (Provider.AWS, name), entry.get("vCPU"), entry.get("memory"), **rest)


def _take_region(name: str, region: str, systems: Mapping[str, object], intake: PriceIntake) -> None:
    for system, prices in systems.items():
        if system in _NOT_MACHINES:
            continue
        address = f"{name}.pricing.{region}.{system}"
        listed = members(prices)
        os = OPERATING_SYSTEMS.get(system)
        if os is None or not listed:
            intake.refuse(address, "is no operating system hcloud knows" if os is None else "holds no prices")
            continue
        key = OfferKey(Provider.AWS, region, name, PurchaseOption.ON_DEMAND, os=os)
        intake.price(PriceRow(f"{address}.ondemand", key, listed.get("ondemand")))
        spot = listed.get("spot_avg", listed.get("spot"))
        if isinstance(spot, (str, Decimal)) and spot not in ("N/A", ""):
            intake.price(PriceRow(f"{address}.spot", replace(key, option=PurchaseOption.SPOT), spot))
        for term, effective in members(listed.get("reserved")).items():
            _take_term(PriceRow(f"{address}.reserved.{term}", key, effective), term, intake)


def _take_term(row: PriceRow, term: str, intake: PriceIntake) -> None:
    match = _TERM.fullmatch(term)
    if match is None:
        intake.refuse(row.address, "is no reserved term hcloud knows")
        return
    years, payment = int(match[1]), _PAYMENTS[match[3]]
    base = row.key
    key = OfferKey(
        base.provider, base.region, base.instance_type, _CLASSES[match[2]], years, payment, base.os, base.tenancy
    )
    try:
        effective = number(row.hourly)
        hourly, upfront = split_term(effective, years, payment)
    except (ValueError, ArithmeticError) as error:
        intake.refuse(row.address, f"the price {error}", key)
        return
    intake.price(PriceRow(row.address, key, hourly, upfront, _DERIVED[payment]))
