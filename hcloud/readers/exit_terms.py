"""The ways out of commitments as published, from the bundled table: these terms move, so they are data with a day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import get_args

from hcloud.model.catalog import PurchaseOption, ScopeName
from hcloud.model.holdings.purchase import ExitTerms, Refund
from hcloud.readers.bundle import bundled
from hcloud.readers.prices.shipped.tables import PriceTables, TableRow

TABLE = "exits.csv"
_COLUMNS = (
    "cloud", "option", "refund", "queued_deletable", "within_days", "same_month", "most_hourly", "most_a_year",
    "most_dollars_a_year", "note", "source", "date", "derived",
)  # fmt: skip
_COMMITMENTS = tuple(str(o) for o in PurchaseOption if o.is_commitment)

Terms = Mapping[tuple[str, PurchaseOption], ExitTerms]


def exit_terms() -> Terms:
    """The terms by cloud and option; InputError with every problem where the table cannot be used."""
    tables = PriceTables(bundled("pricing"))
    found = {}
    for row in tables.rows(TABLE, _COLUMNS, ("cloud", "option")):
        terms = _terms(row)
        found[terms.cloud, terms.option] = terms
    tables.check()
    return found


def _terms(row: TableRow) -> ExitTerms:
    option = row.text("option", _COMMITMENTS)
    refund = row.text("refund", tuple(Refund))
    origin, days, a_year = row.origin(), _limit(row, "within_days"), _limit(row, "most_a_year")
    return ExitTerms(
        cloud=row.text("cloud", get_args(ScopeName)),
        option=PurchaseOption(option) if option in _COMMITMENTS else PurchaseOption.RESERVED,
        refund=Refund(refund) if refund in tuple(Refund) else Refund.NONE,
        queued_deletable=row.flag("queued_deletable"),
        within=timedelta(days=int(days)) if days is not None else None,
        same_month=row.flag("same_month"),
        most_hourly=_limit(row, "most_hourly"),
        most_a_year=int(a_year) if a_year is not None else None,
        most_dollars_a_year=_limit(row, "most_dollars_a_year"),
        note=row.text("note"),
        source=origin.source,
        day=origin.day.isoformat(),
    )


def _limit(row: TableRow, column: str) -> Decimal | None:
    return row.positive(column) if row.cells[column] else None
