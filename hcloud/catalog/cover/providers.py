"""The commitments of all providers: what each of them settles, and into which rows usage comes apart there."""

from __future__ import annotations

from collections.abc import Container, Sequence

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover import aws, azure, google
from hcloud.catalog.cover.steps import CoverLayout, UsageKind, UsageRow
from hcloud.model.catalog import Provider
from hcloud.model.usage import CommitmentTerm

_PROVIDERS = (aws, azure, google)


def rows_of(slots: Sequence[UsageKind], book: PriceBook, split: Container[Provider]) -> tuple[UsageRow, ...]:
    """The rows of all usage, split where commitments of its provider may cover a part of it alone."""
    by_provider: dict[Provider, list[tuple[int, UsageKind]]] = {provider: [] for provider in Provider}
    for index, slot in enumerate(slots):
        by_provider[slot.key.provider].append((index, slot))
    return tuple(row for p in _PROVIDERS for row in p.rows(by_provider[p.PROVIDER], book, split=p.PROVIDER in split))


def layout_of(rows: Sequence[UsageRow], commitments: Sequence[CommitmentTerm], book: PriceBook) -> CoverLayout:
    """Pools and draws of the commitments of all providers."""
    found = CoverLayout()
    for provider in _PROVIDERS:
        found.extend(provider.layout(rows, commitments, book))
    return found
