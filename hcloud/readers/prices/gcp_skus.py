"""Reads SKU pages of Google's Cloud Billing API and composes machine prices from those of a vCPU and a GiB.

Google prices predefined machines by their vCPUs and memory. A machine's price is vCPUs x core price + GiB x memory
price; shapes come from the book that is in use already. Machines with a fraction of a core, GPUs or local disks carry
prices the two do not hold: they are not composed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import PriceIntake, PriceRow, PriceSource, number
from hcloud.errors import InputError
from hcloud.model.catalog import InstanceType, OfferKey, Provider, PurchaseOption
from hcloud.readers.prices.json_text import elements, members, paged, word

USAGES = {
    "OnDemand": (PurchaseOption.ON_DEMAND, 0), "Preemptible": (PurchaseOption.SPOT, 0),
    "Commit1Yr": (PurchaseOption.COMMITTED_USE, 1), "Commit3Yr": (PurchaseOption.COMMITTED_USE, 3),
}  # fmt: skip
_DESCRIPTION = re.compile(
    r"(?:Spot Preemptible |Preemptible |Commitment(?: v\d)?: )?"
    r"(?:([A-Z]\d+[A-Z]?) )?(?:AMD |Arm |Predefined |(Compute optimized|Memory-optimized) )?"
    r"(?:Instance )?(Core|Cpu|CPU|Ram|RAM) (?:running )?in .+"
)
_NAMELESS_SERIES = {"Compute optimized": "c2", "Memory-optimized": "m1", None: "n1"}
_UNITS = {"cpu": "h", "ram": "GiBy.h"}
_SHARED_CORE = ("e2-micro", "e2-small", "e2-medium", "f1-micro", "g1-small")
_NANO = Decimal("1E-9")


@dataclass(frozen=True, slots=True, order=True)
class Component:
    """What one SKU prices: a vCPU or a GiB of a series, under one usage type, in one region."""

    region: str
    series: str
    usage: str
    part: str


def read_gcp_skus(text: str, source: PriceSource) -> PriceBook:
    """The book of one page (``{"skus": [...]}``) or an array of pages; raises InputError where there are no SKUs."""
    skus = paged(text, source.name, "skus")
    machines = [m for m in source.shapes.values() if m.provider == Provider.GCP]
    if not machines:
        raise InputError(
            f"{source.name} prices vCPUs and GiB, and no machine shapes are known to apply them to",
            hint="import a file with Google's machine types first",
        )
    intake = PriceIntake(source)
    prices: dict[Component, Decimal] = {}
    for address, sku in skus:
        _take_sku(address, sku, prices, intake)
    _compose(prices, machines, intake)
    return intake.book()


def component_of(sku: Mapping[str, object]) -> tuple[str, str, str] | None:
    """Series, usage type and part a SKU prices, None for SKUs that are neither vCPUs nor memory of whole machines."""
    category = members(sku.get("category"))
    usage = word(category.get("usageType"))
    match = _DESCRIPTION.fullmatch(word(sku.get("description")))
    if category.get("resourceFamily") != "Compute" or usage not in USAGES or match is None:
        return None
    series = match[1].lower() if match[1] else _NAMELESS_SERIES[match[2]]
    return series, usage, "ram" if match[3].lower() == "ram" else "cpu"


def unit_price(sku: Mapping[str, object], part: str) -> Decimal:
    """Dollars per vCPU-hour or GiB-hour; raises ValueError where the SKU says it in another unit or currency."""
    entries = elements(sku.get("pricingInfo"))
    expression = members(members(entries[-1] if entries else None).get("pricingExpression"))
    if expression.get("usageUnit") != _UNITS[part]:
        raise ValueError(f"is priced by {word(expression.get('usageUnit'))!r}, not by {_UNITS[part]!r}")
    rates = elements(expression.get("tieredRates"))
    if len(rates) != 1:
        raise ValueError(f"has {len(rates)} tiers of prices, not one")
    price = members(members(rates[0]).get("unitPrice"))
    if price.get("currencyCode") != "USD":
        raise ValueError(f"is in {word(price.get('currencyCode')) or 'no currency'}, not in USD")
    amount = number(price.get("units") or 0) + number(price.get("nanos", 0)) * _NANO
    if amount <= 0:
        raise ValueError(f"the price is {'zero' if amount == 0 else 'negative'}")
    return amount


def _take_sku(address: str, sku: Mapping[str, object], prices: dict[Component, Decimal], intake: PriceIntake) -> None:
    what = component_of(sku)
    if what is None:
        return
    try:
        amount = unit_price(sku, what[2])
    except ValueError as error:
        intake.refuse(address, f"{word(sku.get('description'))}: {error}")
        return
    for region in elements(sku.get("serviceRegions")):
        component = Component(word(region), *what)
        if prices.setdefault(component, amount) != amount:
            prices[component] = Decimal("NaN")
            intake.refuse(address, f"prices the {what[2]} of {what[0]} in {region} ({what[1]}) a second time")


def _compose(prices: Mapping[Component, Decimal], machines: list[InstanceType], intake: PriceIntake) -> None:
    composed = [m for m in machines if _is_plain(m)]
    for core in sorted(c for c in prices if c.part == "cpu"):
        memory = prices.get(replace(core, part="ram"))
        if memory is None:
            intake.refuse(f"{core.region} {core.series} {core.usage}", "prices vCPUs but no memory")
            continue
        if memory.is_nan() or prices[core].is_nan():
            continue
        option, years = USAGES[core.usage]
        derived = f"vCPUs x {prices[core].normalize():f} + GiB x {memory.normalize():f}"
        for machine in composed:
            if machine.family == core.series:
                key = OfferKey(Provider.GCP, core.region, machine.name, option, years)
                hourly = machine.vcpus * prices[core] + machine.memory_gib * memory
                intake.price(PriceRow(f"{core.region} {core.series} {core.usage}", key, hourly, 0, derived))


def _is_plain(machine: InstanceType) -> bool:
    return not machine.gpus and machine.name not in _SHARED_CORE and not machine.name.endswith("lssd")
