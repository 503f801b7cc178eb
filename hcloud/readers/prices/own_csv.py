"""Reads hcloud's own price table (the columns are documented in ``hcloud.catalog.table``)."""

from __future__ import annotations

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import PriceSource
from hcloud.catalog.table import read_table


def read_own_csv(text: str, source: PriceSource) -> PriceBook:
    """The book in our own CSV; every row carries its provider, date and source itself."""
    return read_table(text, source)
