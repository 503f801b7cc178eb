"""Reads pages of Azure's Retail Prices API: pay-as-you-go, spot, reservations and savings plans of virtual machines.

The ``unitPrice`` of a reservation is for the whole term, whatever its unit of measure says; Azure lets it be paid by
the month at the same total, so it is kept as an hourly price without upfront payment. A reservation covers the bare
machine: Windows is charged on top of it, so its offer stands under ``linux``, and that of ``windows`` is derived: to
compare like with like, as in the bundled prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.book import LICENCE, PriceBook
from hcloud.catalog.intake import PriceIntake, PriceRow, PriceSource, number
from hcloud.model.catalog import OfferKey, Provider, PurchaseOption
from hcloud.readers.prices.json_text import elements, members, paged, word
from hcloud.units import HOURS_PER_YEAR

_TERMS = {"1 Year": 1, "3 Years": 3, "5 Years": 5}
_OTHER_PRODUCTS = ("CloudServices", "Cloud Services", "Dedicated Host")
_PRICE_DIGITS = Decimal("1E-10")


def read_azure_retail(text: str, source: PriceSource) -> PriceBook:
    """The book in one page (``{"Items": [...]}``) or an array of pages; raises InputError where there are no Items."""
    intake = PriceIntake(source)
    for address, item in paged(text, source.name, "Items"):
        _take_item(address, item, intake)
    _derive_licensed(intake)
    return intake.book()


def _derive_licensed(intake: PriceIntake) -> None:
    """Take in commitments for Windows machines: those for the machine with the licence beside them."""
    offers = intake.book().offers
    for key, sold in [(k, o) for k, o in offers.items() if k.option.is_commitment]:
        usual, wanted = (replace(key, option=PurchaseOption.ON_DEMAND, term_years=0), replace(key, os="windows"))
        rented = [offers.get(replace(usual, os=os)) for os in ("linux", "windows")]
        if wanted not in offers and None not in rented:
            bare, licensed = (offer.hourly for offer in rented if offer is not None)
            intake.price(PriceRow(str(wanted), wanted, sold.hourly + licensed - bare, derived=LICENCE))


def _take_item(address: str, item: Mapping[str, object], intake: PriceIntake) -> None:
    if why := _other_thing(item):
        if why != "-":
            intake.refuse(address, why)
        return
    day, starts, ends = intake.source.day.isoformat(), _day(item, "effectiveStartDate"), _day(item, "effectiveEndDate")
    if starts > day or "" < ends < day:
        intake.refuse(
            address,
            f"applies from {starts or 'ever'} to {ends or 'ever'}, not on {day}, the day of these prices (--date)",
        )
        return
    product, sku = word(item.get("productName")), f"{word(item.get('skuName'))} {word(item.get('meterName'))}"
    base = OfferKey(
        Provider.AZURE,
        word(item.get("armRegionName")) or intake.source.region,
        word(item.get("armSkuName")),
        PurchaseOption.SPOT if "Spot" in sku else PurchaseOption.ON_DEMAND,
        os="windows" if "Windows" in product else "linux",
    )
    if not (base.region and base.instance_type):
        intake.refuse(address, "names no region or no machine type (armRegionName, armSkuName)")
    elif item.get("type") == "Reservation":
        _take_reservation(PriceRow(address, base, item.get("unitPrice")), word(item.get("reservationTerm")), intake)
    else:
        intake.price(PriceRow(address, base, item.get("unitPrice", item.get("retailPrice"))))
        _take_savings_plans(PriceRow(address, base, None), elements(item.get("savingsPlan")), intake)


def _day(item: Mapping[str, object], name: str) -> str:
    return word(item.get(name))[: len("2026-11-01")]


def _other_thing(item: Mapping[str, object]) -> str:
    """Why an item is no price of a virtual machine in dollars: a reason, ``-`` where it is merely something else."""
    product, sku = word(item.get("productName")), f"{word(item.get('skuName'))} {word(item.get('meterName'))}"
    if word(item.get("serviceName")) not in ("Virtual Machines", ""):
        return "-"
    if item.get("type") == "DevTestConsumption" or "Low Priority" in sku or any(o in product for o in _OTHER_PRODUCTS):
        return "-"
    if item.get("type") not in ("Consumption", "Reservation"):
        return f"is of unknown type {word(item.get('type'))!r}"
    if word(item.get("currencyCode")) not in ("USD", ""):
        return f"is in {word(item.get('currencyCode'))}, not in USD; add currencyCode=USD to the query"
    if word(item.get("unitOfMeasure")) not in ("1 Hour", ""):
        return f"is priced by {word(item.get('unitOfMeasure'))!r}, not by the hour"
    return ""


def _take_reservation(row: PriceRow, term: str, intake: PriceIntake) -> None:
    years = _TERMS.get(term)
    if years is None:
        intake.refuse(row.address, f"has the unknown reservation term {term!r}")
        return
    key = replace(row.key, option=PurchaseOption.RESERVATION, term_years=years)
    try:
        hourly: object = (number(row.hourly) / (years * HOURS_PER_YEAR)).quantize(_PRICE_DIGITS)
    except (ValueError, ArithmeticError):
        hourly = row.hourly
    intake.price(PriceRow(row.address, key, hourly))


def _take_savings_plans(row: PriceRow, plans: list[object], intake: PriceIntake) -> None:
    for index, plan in enumerate(plans):
        entry = members(plan)
        address = f"{row.address}.savingsPlan[{index}]"
        years = _TERMS.get(word(entry.get("term")))
        if years is None:
            intake.refuse(address, f"has the unknown term {word(entry.get('term'))!r}")
            continue
        key = replace(row.key, option=PurchaseOption.SAVINGS_PLAN, term_years=years)
        intake.price(PriceRow(address, key, entry.get("unitPrice", entry.get("retailPrice"))))
