"""The bundled Azure tables: one pay-as-you-go price a family and region, commitments as fractions of it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from hcloud.model.catalog import InstanceType, Offer, Origin, Provider, PurchaseOption
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

_FAMILIES = (
    "family", "name", "arch", "category", "gib_per_vcpu", "vcpus", "ratio_per_vcpu", "current", "source", "date",
)  # fmt: skip
_SIZES = ("size", "family", "vcpus", "memory_gib", "source", "date")
_PRICES = ("family", "region", "size", "usd_per_hour", "source", "date", "derived")
_TERMS = ("family", "option", "years", "fraction", "measured_in", "source", "date", "derived")
_SPOT = ("family", "share", "source", "date", "derived")
_SURCHARGES = ("os", "family", "per", "usd_per_hour", "source", "date", "derived")

_OPTIONS = {"reservation": PurchaseOption.RESERVATION, "savings-plan": PurchaseOption.SAVINGS_PLAN}


class _VcpuPrice(NamedTuple):
    """Dollars an hour for one vCPU of a family in a region."""

    per_vcpu: Decimal
    origin: Origin


class _Fraction(NamedTuple):
    """What an option costs as a fraction of pay-as-you-go, and the region where that was seen."""

    term: TermOption
    fraction: Decimal
    measured_in: str
    origin: Origin


class _Azure(NamedTuple):
    """Everything read."""

    types: dict[str, dict[str, InstanceType]]
    prices: dict[tuple[str, str], _VcpuPrice]
    fractions: dict[str, list[_Fraction]]
    surcharges: Surcharges


def read(tables: PriceTables, wanted: TableFilter) -> ProviderOffers:
    """Instance types and offer makers of the ``azure`` tables under the root."""
    types = _types(tables, wanted)
    surcharges = read_surcharges(tables, "azure/surcharges.csv", _SURCHARGES)
    read = _Azure(types, _prices(tables, wanted, types), _fractions(tables, wanted), surcharges)
    offered = {t.name: t for name, _ in read.prices for t in types[name].values()}
    return ProviderOffers(list(offered.values()), dict(_makers(read, wanted)))


def _types(tables: PriceTables, wanted: TableFilter) -> dict[str, dict[str, InstanceType]]:
    special = {
        row.text("size"): (row.positive("vcpus"), row.positive("memory_gib"))
        for row in tables.rows("azure/sizes.csv", _SIZES, ("size",))
    }
    found: dict[str, dict[str, InstanceType]] = {}
    for row in tables.rows("azure/families.csv", _FAMILIES, ("family",)):
        family = row.text("family")
        if not wanted.family(family):
            continue
        pattern, per_vcpu, ratio = row.text("name"), row.positive("gib_per_vcpu"), row.positive("ratio_per_vcpu")
        rest = row.text("arch", ("x86_64", "arm64")), row.text("category"), 0, row.flag("current")
        types = found.setdefault(family, {})
        for count in row.numbers("vcpus"):
            name = pattern.replace("{n}", str(count))
            vcpus, memory = special.get(name, (count, count * per_vcpu))
            types[name] = InstanceType(Provider.AZURE, name, family, vcpus, memory, vcpus * ratio, *rest)
    return found


def _prices(
    tables: PriceTables, wanted: TableFilter, types: dict[str, dict[str, InstanceType]]
) -> dict[tuple[str, str], _VcpuPrice]:
    found = {}
    for row in tables.rows("azure/pay_as_you_go.csv", _PRICES, ("family", "region")):
        family, region = row.text("family"), row.text("region")
        if not (wanted.family(family) and wanted.region(region)):
            continue
        shape = types.get(family, {}).get(row.text("size"))
        if shape is None:
            row.refuse("size", row.cells["size"], "a size of a family in families.csv")
            continue
        found[family, region] = _VcpuPrice(row.positive("usd_per_hour") / shape.vcpus, row.origin())
    return found


def _fractions(tables: PriceTables, wanted: TableFilter) -> dict[str, list[_Fraction]]:
    found: dict[str, list[_Fraction]] = {}
    for row in tables.rows("azure/discounts.csv", _TERMS, ("family", "option", "years")):
        family = row.text("family")
        if wanted.family(family):
            option = _OPTIONS.get(row.text("option", _OPTIONS), PurchaseOption.RESERVATION)
            seen = row.share("fraction"), row.text("measured_in"), row.origin()
            found.setdefault(family, []).append(_Fraction(TermOption(option, row.years("years")), *seen))
    for row in tables.rows("azure/spot.csv", _SPOT, ("family",)):
        family = row.text("family")
        if wanted.family(family):
            share = _Fraction(TermOption(PurchaseOption.SPOT), row.share("share"), "", row.origin())
            found.setdefault(family, []).append(share)
    return {family: [one for one in shares if wanted.term(one.term)] for family, shares in found.items()}


def _makers(read: _Azure, wanted: TableFilter) -> Iterator[tuple[OfferGroup, Maker]]:
    for (family, region), price in read.prices.items():
        for shape in read.types[family].values():
            for block in groups_of(shape, region, read.surcharges, wanted):
                yield block, partial(_offers, read, block, shape, price)


def _offers(read: _Azure, block: OfferGroup, shape: InstanceType, price: _VcpuPrice) -> Iterator[Offer]:
    """A commitment is a fraction of the Linux price, with the operating system at its full price on top."""
    complete = partial(with_surcharge, read.surcharges.find(block.os, shape.family), shape.vcpus)
    listed = price.per_vcpu * shape.vcpus
    yield offer_of(block, TermOption(PurchaseOption.ON_DEMAND), *complete(listed, price.origin))
    for seen in read.fractions.get(shape.family, ()):
        origin = join_origins(price.origin, seen.origin)
        if seen.measured_in and seen.measured_in != block.region:
            origin = because(origin, f"fraction as in {seen.measured_in}")
        yield offer_of(block, seen.term, *complete(listed * seen.fraction, origin))
