"""An hour of usage against commitments: its priced rows, and the pools and draws in the order each provider has."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover import aws, azure, google
from hcloud.catalog.cover.steps import CoverLayout, UsageKind, UsageRow
from hcloud.model.catalog import Provider
from hcloud.model.usage import CommitmentTerm


def rows_of(slots: Sequence[UsageKind], committed: Collection[Provider], book: PriceBook) -> tuple[UsageRow, ...]:
    """The rows of these kinds of usage; ``committed`` are the providers of whom commitments are held."""
    by_provider: dict[Provider, list[tuple[int, UsageKind]]] = {provider: [] for provider in Provider}
    for index, slot in enumerate(slots):
        by_provider[slot.key.provider].append((index, slot))
    return (
        *aws.rows(by_provider[Provider.AWS], book),
        *azure.rows(by_provider[Provider.AZURE], book, split=Provider.AZURE in committed),
        *google.rows(by_provider[Provider.GCP], book, split=Provider.GCP in committed),
    )


def layout_of(rows: Sequence[UsageRow], commitments: Sequence[CommitmentTerm], book: PriceBook) -> CoverLayout:
    """Pools and draws of these commitments, whose places in the sequence the pools bear."""
    result = CoverLayout()
    for provider in (aws, azure, google):
        result.extend(provider.layout(rows, commitments, book))
    return result
