"""The bundled Google tables: prices of a vCPU and of a GiB, from which every machine type is put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from hcloud.model.catalog import InstanceType, Offer, Origin, Provider, PurchaseOption, SustainedUse
from hcloud.model.clouds.facts import SHARED_CORE, custom_size
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
    TableRow,
    join_origins,
    read_surcharges,
    with_surcharge,
)

_SERIES = ("series", "arch", "category", "flexible_1y", "flexible_3y", "current", "source", "date", "derived")
_SHAPES = ("series", "shape", "gib_per_vcpu", "vcpus", "source", "date")
_SIZES = ("machine_type", "series", "vcpus", "memory_gib", "shared_core", "source", "date")
_PRICES = ("series", "region", "option", "usd_per_vcpu_hour", "usd_per_gib_hour", "source", "date", "derived")
_SURCHARGES = ("os", "series", "per", "usd_per_hour", "source", "date", "derived")
_SUSTAINED = ("series", "tiers", "source", "date")

_FLEXIBLE = {"flexible_1y": 1, "flexible_3y": 3}
_OPTIONS = {
    "on-demand": TermOption(PurchaseOption.ON_DEMAND),
    "spot": TermOption(PurchaseOption.SPOT),
    "1y": TermOption(PurchaseOption.COMMITTED_USE, 1),
    "3y": TermOption(PurchaseOption.COMMITTED_USE, 3),
}


_CUSTOM = Decimal("1.05")
"""What a vCPU and a GiB of a custom machine cost beside those of the types of its series, on demand and committed to:
Google Cloud, "VM instance pricing", custom machine types."""


class _Series(NamedTuple):
    """A machine series: its types, which of them share a core, and its flexible commitments by years."""

    types: dict[str, InstanceType]
    shared_core: set[str]
    flexible: dict[int, tuple[Decimal, Origin]]


class _Rate(NamedTuple):
    """Dollars an hour for a vCPU and for a GiB under one option."""

    term: TermOption
    per_vcpu: Decimal
    per_gib: Decimal
    origin: Origin

    def price(self, shape: InstanceType) -> Decimal:
        whole = self.per_vcpu * shape.vcpus + self.per_gib * shape.memory_gib
        return whole if custom_size(shape.name) is None else whole * _CUSTOM


class _Gcp(NamedTuple):
    """Everything read."""

    series: dict[str, _Series]
    rates: dict[tuple[str, str], list[_Rate]]
    surcharges: Surcharges


def read(tables: PriceTables, wanted: TableFilter) -> ProviderOffers:
    """Machine types and offer makers of the ``gcp`` tables under the root."""
    series = _series(tables, wanted)
    surcharges = read_surcharges(tables, "gcp/surcharges.csv", _SURCHARGES)
    read = _Gcp(series, _rates(tables, wanted, series), surcharges)
    types = {t.name: t for name, _ in read.rates for t in series[name].types.values()}
    return ProviderOffers(list(types.values()), dict(_makers(read, wanted)), _sustained(tables, wanted))


def _sustained(tables: PriceTables, wanted: TableFilter) -> dict[tuple[Provider, str], SustainedUse]:
    """Sustained-use tiers by series; a series that is not listed has none."""
    return {
        (Provider.GCP, row.text("series")): SustainedUse(row.text("series"), row.numbers("tiers"))
        for row in tables.rows("gcp/sustained.csv", _SUSTAINED, ("series",))
        if wanted.family(row.text("series"))
    }


def _series(tables: PriceTables, wanted: TableFilter) -> dict[str, _Series]:
    found: dict[str, _Series] = {}
    patterns: dict[str, InstanceType] = {}
    for row in tables.rows("gcp/series.csv", _SERIES, ("series",)):
        name, one = row.text("series"), Decimal(1)
        if not wanted.family(name):
            continue
        arch, category = row.text("arch", ("x86_64", "arm64")), row.text("category")
        patterns[name] = InstanceType(Provider.GCP, name, name, one, one, one, arch, category, 0, row.flag("current"))
        origin = row.origin()
        shares = {years: (row.share(c), origin) for c, years in _FLEXIBLE.items() if row.cells[c]}
        flexible = {years: share for years, share in shares.items() if wanted.term(_flexible(years))}
        found[name] = _Series({}, set(), flexible)
    for row in tables.rows("gcp/shapes.csv", _SHAPES, ("series", "shape")):
        name = row.text("series")
        if name in found:
            _add_shape(found[name], patterns[name], row)
    for row in tables.rows("gcp/sizes.csv", _SIZES, ("machine_type",)):
        name, machine = row.text("series"), row.text("machine_type")
        if name in found:
            shape = _shaped(patterns[name], machine, row.positive("vcpus"), row.positive("memory_gib"))
            shared = row.flag("shared_core")
            found[name].types[machine] = replace(shape, category=SHARED_CORE) if shared else shape
            if shared:
                found[name].shared_core.add(machine)
    for machine in wanted.machines or ():
        size = custom_size(machine)
        if size is not None and size[0] in found:
            found[size[0]].types[machine] = _shaped(patterns[size[0]], machine, *size[1:])
    return found


def _add_shape(series: _Series, pattern: InstanceType, row: TableRow) -> None:
    per_vcpu, shape = row.positive("gib_per_vcpu"), row.text("shape")
    for vcpus in row.numbers("vcpus"):
        machine = f"{pattern.family}-{shape}-{vcpus}"
        series.types[machine] = _shaped(pattern, machine, vcpus, vcpus * per_vcpu)


def _shaped(pattern: InstanceType, name: str, vcpus: Decimal, memory_gib: Decimal) -> InstanceType:
    rest = pattern.arch, pattern.category, pattern.gpus, pattern.current
    return InstanceType(Provider.GCP, name, pattern.family, vcpus, memory_gib, vcpus, *rest)


def _rates(tables: PriceTables, wanted: TableFilter, series: dict[str, _Series]) -> dict[tuple[str, str], list[_Rate]]:
    found: dict[tuple[str, str], list[_Rate]] = {}
    for row in tables.rows("gcp/prices.csv", _PRICES, ("series", "region", "option")):
        name, region = row.text("series"), row.text("region")
        if not (wanted.family(name) and wanted.region(region)):
            continue
        if name not in series:
            row.refuse("series", name, "a series of series.csv")
            continue
        term = _OPTIONS.get(row.text("option", _OPTIONS), _OPTIONS["on-demand"])
        rate = _Rate(term, row.positive("usd_per_vcpu_hour"), row.positive("usd_per_gib_hour"), row.origin())
        found.setdefault((name, region), []).append(rate)
    return found


def _makers(read: _Gcp, wanted: TableFilter) -> Iterator[tuple[OfferGroup, Maker]]:
    for (name, region), rates in read.rates.items():
        asked = [r for r in rates if r.term.option is PurchaseOption.ON_DEMAND or wanted.term(r.term)]
        for shape in read.series[name].types.values():
            for block in groups_of(shape, region, read.surcharges, wanted):
                yield block, partial(_offers, read, block, shape, asked)


def _flexible(years: int) -> TermOption:
    return TermOption(PurchaseOption.FLEXIBLE_COMMITTED_USE, years)


def _with_flexible(series: _Series, shape: InstanceType, rates: list[_Rate]) -> list[_Rate]:
    """The rates of a machine type, its flexible commitments included; shared cores cannot have them."""
    if shape.name in series.shared_core:
        return rates
    flexible = [
        _Rate(
            _flexible(years),
            rate.per_vcpu * fraction,
            rate.per_gib * fraction,
            join_origins(rate.origin, origin),
        )
        for rate in rates
        if rate.term.option is PurchaseOption.ON_DEMAND
        for years, (fraction, origin) in series.flexible.items()
    ]
    return rates + flexible


def _offers(read: _Gcp, block: OfferGroup, shape: InstanceType, rates: list[_Rate]) -> Iterator[Offer]:
    surcharge = read.surcharges.find(block.os, shape.family)
    for rate in _with_flexible(read.series[shape.family], shape, rates):
        yield offer_of(block, rate.term, *with_surcharge(surcharge, shape.vcpus, rate.price(shape), rate.origin))
