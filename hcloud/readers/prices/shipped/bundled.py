"""The price book that ships with hcloud: published facts of AWS, Google and Azure, so that planning works offline."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from pathlib import Path

from hcloud.catalog.book import PriceBook
from hcloud.model.catalog import BillingRule, Payment, Provider, PurchaseOption
from hcloud.readers.bundle import bundled
from hcloud.readers.prices.shipped.offers import LazyOffers, Maker, OfferGroup, ProviderOffers
from hcloud.readers.prices.shipped.tables import PriceTables, TableFilter

_BILLING = ("provider", "step_seconds", "minimum_seconds", "source", "date", "derived")


def load_bundled(  # noqa: PLR0913 - one for each thing that is asked for
    root: Path | None = None,
    providers: Collection[Provider] | None = None,
    regions: Collection[str] | None = None,
    families: Collection[str] | None = None,
    systems: Collection[str] | None = None,
    terms: Collection[tuple[PurchaseOption, int, Payment]] | None = None,
    machines: Collection[str] | None = None,
) -> PriceBook:
    """The bundled prices, all of them or only those asked for.

    ``root`` is a directory laid out like ``pricing/``. A family is an EC2 family (``m6i``), a Google series (``n2``)
    or an Azure series (``Dsv5``); ``systems`` are operating systems (``linux``, ``windows``), ``terms`` what
    is asked for beside on-demand, ``machines`` custom types of Google, which no table has. The tables are read and
    checked here, offers are made when they are looked up. Raises InputError naming file, line and value of every cell
    that cannot be used.
    """
    tables = PriceTables(root if root is not None else bundled("pricing"))
    wanted = TableFilter(regions, families, systems, terms, machines)
    asked = [p for p in Provider if providers is None or p in providers]
    parts = [_read(p, tables, wanted) for p in asked]
    billing = _billing(tables, asked)
    tables.check()
    makers: dict[OfferGroup, Maker] = {}
    for part in parts:
        makers |= part.makers
    sustained = {key: rule for part in parts for key, rule in part.sustained.items()}
    types = {(t.provider, t.name): t for part in parts for t in part.types}
    return PriceBook(types, LazyOffers(makers), billing, sustained)


def _read(provider: Provider, tables: PriceTables, wanted: TableFilter) -> ProviderOffers:
    found: ProviderOffers = import_module(f"hcloud.readers.prices.shipped.{provider}").read(tables, wanted)
    return found


def _billing(tables: PriceTables, asked: Collection[Provider]) -> dict[Provider, BillingRule]:
    found = {}
    for row in tables.rows("billing.csv", _BILLING, ("provider",)):
        row.origin()
        name = row.text("provider", [p.value for p in Provider])
        if name in asked:
            found[Provider(name)] = BillingRule(int(row.positive("step_seconds")), int(row.positive("minimum_seconds")))
    return found
