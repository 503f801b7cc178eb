"""The bundled AWS tables: one list price a family and region, reserved prices as fractions of it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from hcloud.model.catalog import InstanceType, Offer, Origin, Payment, Provider, PurchaseOption
from hcloud.readers.prices.bundled_offers import Block, Maker, Part, Term, committed_offer, plain_offer
from hcloud.readers.prices.bundled_tables import (
    Surcharge,
    Surcharges,
    Tables,
    Wanted,
    because,
    join_origins,
    read_surcharges,
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
_PLANS = {
    "standard": (PurchaseOption.RESERVED, PurchaseOption.INSTANCE_SAVINGS_PLAN),
    "convertible": (PurchaseOption.CONVERTIBLE, PurchaseOption.COMPUTE_SAVINGS_PLAN),
}
_PLAN_REASON = {
    "standard": "priced as the standard reserved instance of the same term and payment",
    "convertible": "priced as the convertible reserved instance of the same term and payment",
}


class _Price(NamedTuple):
    """Dollars an hour, or a fraction, with its origin."""

    amount: Decimal
    origin: Origin


class _Family(NamedTuple):
    """A family's types, and the size whose list price fixes the others'."""

    types: dict[str, InstanceType]
    reference: str


class _Fraction(NamedTuple):
    """A reserved price as a fraction of the list price of the size, with the two options sold at it."""

    plan: str
    years: int
    payment: Payment
    fraction: Decimal
    origin: Origin


_Place = tuple[str, str]


class _Aws(NamedTuple):
    """Everything read, by family and region."""

    families: dict[str, _Family]
    list_prices: dict[_Place, dict[str, _Price]]
    fractions: dict[_Place, list[_Fraction]]
    spot: dict[_Place, _Price]
    surcharges: Surcharges


def read_aws(tables: Tables, wanted: Wanted) -> Part:
    """Instance types and offer makers of the ``aws`` tables under the root."""
    families = _families(tables, wanted)
    read = _Aws(
        families,
        _list_prices(tables, wanted, families),
        _fractions(tables, wanted),
        _spot(tables, wanted),
        read_surcharges(tables, "aws/surcharges.csv", _SURCHARGES),
    )
    types = {t.name: t for name, _ in read.list_prices for t in read.families[name].types.values()}
    return Part(list(types.values()), dict(_makers(read, wanted)))


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


def _families(tables: Tables, wanted: Wanted) -> dict[str, _Family]:
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


def _list_prices(tables: Tables, wanted: Wanted, families: dict[str, _Family]) -> dict[_Place, dict[str, _Price]]:
    """List prices by size; the first row of a family and region must be its reference size."""
    found: dict[_Place, dict[str, _Price]] = {}
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
            found.setdefault(place, {})[size] = _Price(row.positive("usd_per_hour"), row.origin())
    return found


def _fractions(tables: Tables, wanted: Wanted) -> dict[_Place, list[_Fraction]]:
    found: dict[_Place, list[_Fraction]] = {}
    for row in tables.rows("aws/discounts.csv", _TERMS):
        name, region = row.text("family"), row.text("region")
        if not (wanted.family(name) and wanted.region(region)):
            continue
        plan, years, origin = row.text("class", _PLANS), row.years("years"), row.origin()
        terms = found.setdefault((name, region), [])
        # Payment options of one term may stand on different lines, where their sources differ.
        known = {t.payment for t in terms if (t.plan, t.years) == (plan, years)}
        for column, payment in _PAYMENTS.items():
            if row.cells[column] and payment in known:
                row.refuse(column, row.cells[column], "one price for a term and payment")
            elif row.cells[column]:
                terms.append(_Fraction(plan, years, payment, row.share(column), origin))
    return found


def _spot(tables: Tables, wanted: Wanted) -> dict[_Place, _Price]:
    found = {}
    for row in tables.rows("aws/spot.csv", _SPOT, ("family", "region")):
        name, region = row.text("family"), row.text("region")
        if wanted.family(name) and wanted.region(region):
            found[name, region] = _Price(row.share("share"), row.origin())
    return found


def _makers(read: _Aws, wanted: Wanted) -> Iterator[tuple[Block, Maker]]:
    for (name, region), prices in read.list_prices.items():
        family = read.families[name]
        for size, shape in family.types.items():
            for system in ("linux", *read.surcharges.systems()):
                if not wanted.system(system) or (system == "windows" and shape.arch == "arm64"):
                    continue
                block = Block(Provider.AWS, region, shape.name, system)
                yield block, partial(_offers, read, block, (name, size), prices)


def _offers(read: _Aws, block: Block, which: tuple[str, str], prices: dict[str, _Price]) -> Iterator[Offer]:
    name, size = which
    family, place = read.families[name], (name, block.region)
    shape, reference = family.types[size], family.types[family.reference]
    surcharge = None if block.os == "linux" else read.surcharges.find(block.os, name, size)
    # Reserved prices follow the size exactly; only on-demand has rounded small sizes and dearer metal ones.
    linear = _Price(prices[family.reference].amount * shape.units / reference.units, prices[family.reference].origin)
    listed = prices.get(size, linear)
    yield plain_offer(block, PurchaseOption.ON_DEMAND, *_with_surcharge(listed, surcharge, shape))
    if place in read.spot:
        share = read.spot[place]
        spot = _Price(listed.amount * share.amount, join_origins(listed.origin, share.origin))
        yield plain_offer(block, PurchaseOption.SPOT, *_with_surcharge(spot, surcharge, shape))
    for term in read.fractions.get(place, ()):
        price = _Price(linear.amount * term.fraction, join_origins(linear.origin, term.origin))
        amortised, origin = _with_surcharge(price, surcharge, shape)
        reserved, plan = _PLANS[term.plan]
        yield committed_offer(block, Term(reserved, term.years, term.payment), amortised, origin)
        origin = because(origin, _PLAN_REASON[term.plan])
        yield committed_offer(block, Term(plan, term.years, term.payment), amortised, origin)


def _with_surcharge(price: _Price, surcharge: Surcharge | None, shape: InstanceType) -> _Price:
    if surcharge is None:
        return price
    origin = join_origins(price.origin, surcharge.origin, "Linux price plus the surcharge of the operating system")
    return _Price(price.amount + surcharge.for_instance(shape.vcpus), origin)
