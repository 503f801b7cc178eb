"""Reads an offer file of the AWS Price List (``AmazonEC2/current/<region>/index.json``): on-demand and reserved terms.

Kept are compute instances in use (``capacitystatus`` Used) on shared or dedicated tenancy with the licence included;
unused capacity reservations, capacity blocks (listed at $0), hosts and bring-your-own-licence products are other things
under similar names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import PriceIntake, PriceRow, PriceSource, accelerators
from hcloud.errors import InputError
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.readers.prices.json_text import JsonCursor, elements, members, word

_FAMILIES = ("Compute Instance", "Compute Instance (bare metal)")
_SYSTEMS = {
    "Linux": "linux", "Windows": "windows", "RHEL": "rhel", "SUSE": "sles", "Ubuntu Pro": "ubuntu-pro",
    "Red Hat Enterprise Linux with HA": "rhel-ha",
}  # fmt: skip
_SOFTWARE = {
    "NA": "", "": "", "SQL Web": "-sql-web", "SQL Std": "-sql-standard", "SQL Ent": "-sql-enterprise",
}  # fmt: skip
_TENANCIES = {"Shared": "shared", "Dedicated": "dedicated"}
_CLASSES = {"standard": PurchaseOption.RESERVED, "convertible": PurchaseOption.CONVERTIBLE}
_PAYMENTS = {"No Upfront": Payment.NONE, "Partial Upfront": Payment.PARTIAL, "All Upfront": Payment.ALL}
_TERMS = {"1yr": 1, "3yr": 3}
_UNITS = ("Hrs", "Quantity")


@dataclass(frozen=True, slots=True)
class _Charges:
    """The two kinds of figures in a term's price dimensions."""

    hourly: object
    upfront: object


def read_aws_offer(text: str, source: PriceSource) -> PriceBook:
    """The book in an offer file; raises InputError where it has no products or is no sound JSON."""
    intake = PriceIntake(source)
    cursor = JsonCursor(text, source.name)
    products: dict[str, OfferKey] = {}
    terms_at: int | None = None
    seen_products = False
    for section in cursor.names():
        if section == "products":
            products = _products(cursor, intake)
            seen_products = True
        elif section == "terms":
            terms_at = cursor.at
            if seen_products:
                _take_terms(cursor, products, intake)
                terms_at = None
    if not seen_products:
        raise InputError(f"{source.name} has no products")
    if terms_at is not None:
        _take_terms(JsonCursor(text, source.name, terms_at), products, intake)
    return intake.book()


def _products(cursor: JsonCursor, intake: PriceIntake) -> dict[str, OfferKey]:
    """The on-demand key of every product that is kept, by its SKU."""
    keys: dict[str, OfferKey] = {}
    for sku in cursor.names():
        product = members(cursor.value())
        if product.get("productFamily") not in _FAMILIES:
            continue
        attributes = members(product.get("attributes"))
        if (key := _key(attributes, intake.source)) is None:
            continue
        if not key.region:
            intake.refuse(f"products.{sku}", "has no regionCode; add --region")
            continue
        keys[sku] = key
        _take_shape(f"products.{sku}", key.instance_type, attributes, intake)
    return keys


def _key(attributes: Mapping[str, object], source: PriceSource) -> OfferKey | None:
    """The key of a product, None for what is not a plain instance in use."""
    if word(attributes.get("capacitystatus")) not in ("Used", "") or attributes.get("marketoption") == "CapacityBlock":
        return None
    if word(attributes.get("licenseModel")) == "Bring your own license":
        return None
    system = _SYSTEMS.get(word(attributes.get("operatingSystem")))
    software = _SOFTWARE.get(word(attributes.get("preInstalledSw")))
    tenancy = _TENANCIES.get(word(attributes.get("tenancy")))
    if system is None or software is None or tenancy is None:
        return None
    region = word(attributes.get("regionCode")) or source.region
    name = word(attributes.get("instanceType"))
    option = PurchaseOption.ON_DEMAND
    return OfferKey(Provider.AWS, region, name, option, os=system + software, tenancy=tenancy)


def _take_shape(address: str, name: str, attributes: Mapping[str, object], intake: PriceIntake) -> None:
    memory = word(attributes.get("memory")).removesuffix(" GiB").replace(",", "")
    arch = "arm64" if "Graviton" in word(attributes.get("physicalProcessor")) else "x86_64"
    rest = {"gpus": accelerators(attributes.get("gpu")), "current": attributes.get("currentGeneration") != "No"}
    intake.size(address, (Provider.AWS, name), attributes.get("vcpu"), memory, arch=arch, **rest)


def _take_terms(cursor: JsonCursor, products: Mapping[str, OfferKey], intake: PriceIntake) -> None:
    for kind in cursor.names():
        if kind not in ("OnDemand", "Reserved"):
            continue
        for sku in cursor.names():
            if (base := products.get(sku)) is None:
                continue
            for code, term in members(cursor.value()).items():
                _take_term(f"terms.{kind}.{code}", base, members(term), intake)


def _take_term(address: str, base: OfferKey, term: Mapping[str, object], intake: PriceIntake) -> None:
    attributes = members(term.get("termAttributes"))
    key = base if "terms.OnDemand" in address else _reserved(base, attributes)
    if key is None:
        intake.refuse(address, "is a reserved term of unknown length, class or payment")
        return
    dimensions = [members(dimension) for dimension in members(term.get("priceDimensions")).values()]
    if why := _other_thing(dimensions):
        intake.refuse(address, why)
        return
    charges = _charges(dimensions)
    if isinstance(charges, str):
        intake.refuse(address, charges, key)
        return
    intake.price(PriceRow(address, key, charges.hourly, charges.upfront))


def _reserved(base: OfferKey, attributes: Mapping[str, object]) -> OfferKey | None:
    years = _TERMS.get(word(attributes.get("LeaseContractLength")).replace(" ", ""))
    option = _CLASSES.get(word(attributes.get("OfferingClass")) or "standard")
    payment = _PAYMENTS.get(word(attributes.get("PurchaseOption")))
    if years is None or option is None or payment is None:
        return None
    return replace(base, option=option, term_years=years, payment=payment)


def _other_thing(dimensions: Sequence[Mapping[str, object]]) -> str:
    """Why a term says nothing of a price by the hour in dollars, empty where it does."""
    for entry in dimensions:
        prices = members(entry.get("pricePerUnit"))
        if (unit := word(entry.get("unit"))) not in _UNITS:
            return f"is charged by {unit!r}, neither by the hour nor once"
        if "USD" not in prices:
            return f"has no price in USD but in {', '.join(prices) or 'nothing'}"
    return ""


def _charges(dimensions: Sequence[Mapping[str, object]]) -> _Charges | str:
    """The hourly and upfront charge of a term, or why they cannot be told."""
    found: dict[str, list[object]] = {unit: [] for unit in _UNITS}
    for entry in dimensions:
        found[word(entry.get("unit"))].append(members(entry.get("pricePerUnit"))["USD"])
    if len(found["Hrs"]) > 1 or len(found["Quantity"]) > 1:
        return "has several prices of the same kind"
    if not found["Hrs"] and not found["Quantity"]:
        return "the price is missing"
    hourly, upfront = elements(found["Hrs"]), elements(found["Quantity"])
    return _Charges(hourly[0] if hourly else 0, upfront[0] if upfront else 0)
