"""The bundled AWS tables: one list price a family and region, reserved prices as fractions of it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from hcloud.model.catalog import InstanceType, Offer, Origin, Payment, Provider, PurchaseOption
from hcloud.readers.prices.shipped.offers import (
    Maker,
    OfferGroup,
    ProviderOffers,
    TermOption,
    groups_of,
    offer_of,
)
from hcloud.readers.prices.shipped.tables import (
    PriceTables,
    Surcharges,
    TableFilter,
    because,
    join_origins,
    read_surcharges,
    with_surcharge,
)

_FAMILIES = ("family", "arch", "category", "gib_per_vcpu", "reference", "sizes", "current", "source", "date")
_SIZES = ("family", "size", "vcpus", "memory_gib", "units", "source", "date")
_PRICES = ("family", "region", "size", "usd_per_hour", "source", "date", "derived")
_TERMS = (
    "family",
    "region",
    "class",
    "years",
    "no_upfront",
    "partial_upfront",
    "all_upfront",
    "source",
    "date",
    "derived",
)
_SPOT = ("family", "region", "share", "source", "date", "derived")
_SURCHARGES = ("os", "family", "size", "per", "usd_per_hour", "source", "date", "derived")

_SMALL = {
    "nano": Decimal("0.25"),
    "micro": Decimal("0.5"),
    "small": Decimal(1),
    "medium": Decimal(2),
    "large": Decimal(4),
    "xlarge": Decimal(8),
}
_PAYMENTS = {"no_upfront": Payment.NONE, "partial_upfront": Payment.PARTIAL, "all_upfront": Payment.ALL}
_CLASSES = {
    "standard": PurchaseOption.RESERVED,
    "convertible": PurchaseOption.CONVERTIBLE,
    "instance-savings-plan": PurchaseOption.INSTANCE_SAVINGS_PLAN,
    "compute-savings-plan": PurchaseOption.COMPUTE_SAVINGS_PLAN,
}
# A savings plan without a listed rate costs what the reserved instance of the same term and payment costs.
_UNLISTED = {
    PurchaseOption.RESERVED: (PurchaseOption.INSTANCE_SAVINGS_PLAN, "priced as the standard reserved instance"),
    PurchaseOption.CONVERTIBLE: (PurchaseOption.COMPUTE_SAVINGS_PLAN, "priced as the convertible reserved instance"),
}
# Where a region has no fraction of its own it has this region's: current price lists agree type by type.
_HOME = "us-east-1"
_DERIVED = "Linux price plus the surcharge of the operating system"


class _AwsPrice(NamedTuple):
    """Dollars an hour, or a fraction of the list price of the size, with its origin."""

    amount: Decimal
    origin: Origin


class _Family(NamedTuple):
    """A family's types, and the size whose list price fixes the others'."""

    types: dict[str, InstanceType]
    reference: str


_Place = tuple[str, str]
_Fractions = dict[TermOption, _AwsPrice]


class _Aws(NamedTuple):
    """Everything read, by family and region."""

    families: dict[str, _Family]
    list_prices: dict[_Place, dict[str, _AwsPrice]]
    fractions: dict[_Place, _Fractions]
    spot: dict[_Place, _AwsPrice]
    surcharges: Surcharges


def read(tables: PriceTables, wanted: TableFilter) -> ProviderOffers:
    """Instance types and offer makers of the ``aws`` tables under the root."""
    families = _families(tables, wanted)
    read = _Aws(
        families,
        _list_prices(tables, wanted, families),
        _fractions(tables, wanted),
        _spot(tables, wanted),
        read_surcharges(tables, "aws/surcharges.csv", _SURCHARGES, _DERIVED),
    )
    types = {t.name: t for name, _ in read.list_prices for t in read.families[name].types.values()}
    return ProviderOffers(list(types.values()), dict(_makers(read, wanted)))


def size_units(size: str) -> Decimal:
    """The EC2 normalisation factor of a size name: 8 for xlarge, 16 for 2xlarge, 192 for metal-24xl.

    Raises ValueError for a bare ``metal``, whose size depends on its family.
    """
    if size in _SMALL:
        return _SMALL[size]
    digits = size.removeprefix("metal-").removesuffix("xlarge").removesuffix("xl")
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"{size!r} is not a size with a normalisation factor")
    return Decimal(digits) * _SMALL["xlarge"]


def _families(tables: PriceTables, wanted: TableFilter) -> dict[str, _Family]:
    special = {}
    for row in tables.rows("aws/sizes.csv", _SIZES, ("family", "size")):
        shape = row.positive("vcpus"), row.positive("memory_gib"), row.positive("units")
        special[row.text("family"), row.text("size")] = shape
    found = {}
    for row in tables.rows("aws/families.csv", _FAMILIES, ("family",)):
        name = row.text("family")
        if not wanted.family(name):
            continue
        per_vcpu, types = row.positive("gib_per_vcpu"), {}
        rest = row.text("arch", ("x86_64", "arm64")), row.text("category"), 0, row.flag("current")
        for size in row.words("sizes"):
            try:
                units = Decimal(0) if (name, size) in special else size_units(size)
            except ValueError:
                row.refuse("sizes", size, "a size name, or a line of its own in sizes.csv")
                continue
            vcpus, memory, units = special.get((name, size)) or (units / 2, units / 2 * per_vcpu, units)
            types[size] = InstanceType(Provider.AWS, f"{name}.{size}", name, vcpus, memory, units, *rest)
        found[name] = _Family(types, row.text("reference", types))
    return found


def _list_prices(
    tables: PriceTables, wanted: TableFilter, families: dict[str, _Family]
) -> dict[_Place, dict[str, _AwsPrice]]:
    """List prices by size; the first row of a family and region must be its reference size."""
    found: dict[_Place, dict[str, _AwsPrice]] = {}
    for row in tables.rows("aws/on_demand.csv", _PRICES, ("family", "region", "size")):
        name, region, size = row.text("family"), row.text("region"), row.text("size")
        if not (wanted.family(name) and wanted.region(region)):
            continue
        place, family = (name, region), families.get(name)
        if family is None or size not in family.types:
            row.refuse("size", f"{name}.{size}", "a size of families.csv")
        elif place not in found and size != family.reference:
            row.refuse("size", size, f"first the reference size {family.reference} of the family")
        else:
            found.setdefault(place, {})[size] = _AwsPrice(row.positive("usd_per_hour"), row.origin())
    return found


def _fractions(tables: PriceTables, wanted: TableFilter) -> dict[_Place, _Fractions]:
    found: dict[_Place, _Fractions] = {}
    for row in tables.rows("aws/discounts.csv", _TERMS):
        name, region = row.text("family"), row.text("region")
        if not (wanted.family(name) and (region == _HOME or wanted.region(region))):
            continue
        option = _CLASSES.get(row.text("class", _CLASSES), PurchaseOption.RESERVED)
        years, origin, terms = row.years("years"), row.origin(), found.setdefault((name, region), {})
        # Payment options of one term may be on different lines, where their sources differ.
        known = set(terms)
        for column, payment in _PAYMENTS.items():
            term = TermOption(option, years, payment)
            if row.cells[column] and term in known:
                row.refuse(column, row.cells[column], "one price for a term and payment")
            elif row.cells[column]:
                terms[term] = _AwsPrice(row.share(column), origin)
    return found


def _sold(read: _Aws, name: str, region: str) -> _Fractions:
    """The fractions of a family in a region: its own, those of the home region, savings plans where none is listed."""
    own = read.fractions.get((name, region), {})
    home = {} if region == _HOME else read.fractions.get((name, _HOME), {})
    listed = {t: f._replace(origin=because(f.origin, f"fraction as in {_HOME}")) for t, f in home.items()} | own
    sold = dict(listed)
    for term, fraction in listed.items():
        if term.option in _UNLISTED:
            plan, reason = _UNLISTED[term.option]
            sold.setdefault(term._replace(option=plan), fraction._replace(origin=because(fraction.origin, reason)))
    return sold


def _spot(tables: PriceTables, wanted: TableFilter) -> dict[_Place, _AwsPrice]:
    found = {}
    for row in tables.rows("aws/spot.csv", _SPOT, ("family", "region")):
        name, region = row.text("family"), row.text("region")
        if wanted.family(name) and wanted.region(region) and wanted.term(TermOption(PurchaseOption.SPOT)):
            found[name, region] = _AwsPrice(row.share("share"), row.origin())
    return found


def _makers(read: _Aws, wanted: TableFilter) -> Iterator[tuple[OfferGroup, Maker]]:
    for name, region in read.list_prices:
        family = read.families[name]
        fractions = {t: f for t, f in _sold(read, name, region).items() if wanted.term(t)}
        for size, shape in family.types.items():
            for block in groups_of(shape, region, read.surcharges, wanted):
                yield block, partial(_offers, read, block, (name, size), fractions)


def _offers(read: _Aws, block: OfferGroup, which: tuple[str, str], fractions: _Fractions) -> Iterator[Offer]:
    name, size = which
    family, place = read.families[name], (name, block.region)
    prices, shape, reference = read.list_prices[place], family.types[size], family.types[family.reference]
    complete = partial(with_surcharge, read.surcharges.find(block.os, name, size), shape.vcpus)
    # Reserved prices follow the size exactly; only on-demand has rounded small sizes and dearer metal ones.
    linear = _AwsPrice(prices[family.reference].amount * shape.units / reference.units, prices[family.reference].origin)
    listed = prices.get(size, linear)
    yield offer_of(block, TermOption(PurchaseOption.ON_DEMAND), *complete(*listed))
    if place in read.spot:
        share = read.spot[place]
        spot = _AwsPrice(listed.amount * share.amount, join_origins(listed.origin, share.origin))
        yield offer_of(block, TermOption(PurchaseOption.SPOT), *complete(*spot))
    for term, fraction in fractions.items():
        price = _AwsPrice(linear.amount * fraction.amount, join_origins(linear.origin, fraction.origin))
        yield offer_of(block, term, *complete(*price))
