"""An hour of usage against commitments: its priced rows, and the pools and draws in the order each provider has."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover import aws, azure, google
from hcloud.catalog.cover.steps import CoveredResource, CoverLayout, RanOffer, UsageRow
from hcloud.model.catalog import Provider
from hcloud.model.usage import CommitmentTerm

_PROVIDERS = (aws, azure, google)


def rows_of(slots: Sequence[RanOffer], committed: Collection[Provider], book: PriceBook) -> tuple[UsageRow, ...]:
    """The rows of these kinds of usage; ``committed`` are the providers of whom commitments are held."""
    of: dict[Provider, list[tuple[int, RanOffer]]] = {provider: [] for provider in Provider}
    for index, slot in enumerate(slots):
        of[slot.key.provider].append((index, slot))
    return tuple(row for p in _PROVIDERS for row in p.rows(of[p.PROVIDER], book, split=p.PROVIDER in committed))


def layout_of(rows: Sequence[UsageRow], commitments: Sequence[CommitmentTerm], book: PriceBook) -> CoverLayout:
    """Pools and draws of these commitments, whose places in the sequence the pools bear."""
    result = CoverLayout()
    for p in _PROVIDERS:
        bought = [(i, c) for i, c in enumerate(commitments) if c.offer.key.provider is p.PROVIDER]
        coverable = (x for x in enumerate(rows) if x[1].resource is not CoveredResource.REST)
        p.cover(result, bought, [(i, r) for i, r in coverable if r.key.provider is p.PROVIDER], book)
    return result
