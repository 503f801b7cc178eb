"""Azure: reservations by ratio inside their flexibility group and region, then savings plans; licences stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import (
    ONE,
    CoveredResource,
    CoverLayout,
    Numbered,
    Owned,
    RanOffer,
    UsageRow,
    draw_by_discount,
    families_in_plan,
    plan_rate,
    whole_row,
)
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.usage import CommitmentTerm

PROVIDER = Provider.AZURE


def rows(slots: Sequence[tuple[int, RanOffer]], book: PriceBook, *, split: bool) -> list[UsageRow]:
    """One row a slot and, where ``split``, a second for the licence in the price of other systems than Linux.

    Reservations and savings plans cover the compute meter, which is that of Linux; software is charged beside it
    (Microsoft Learn, "Software costs not included with reservations"). Raises EvidenceError where splitting needs a
    Linux price that the book lacks.
    """
    found = []
    for index, slot in slots:
        row = whole_row(index, slot, book)
        licence = row.rate - book.offer(replace(slot.key, os="linux")).hourly if split else Decimal(0)
        found.append(replace(row, rate=row.rate - licence))
        if licence:
            found.append(replace(row, resource=CoveredResource.REST, rate=licence, share=Decimal(0)))
    return found


def cover(result: CoverLayout, bought: Owned, own: Numbered, book: PriceBook) -> None:
    """Append the pools and draws of the Azure commitments; raises EvidenceError for a missing savings-plan rate.

    Azure gives a reservation to whichever machine comes first; usage by the hour does not know, so the smallest size
    goes first as with AWS. Sources: Microsoft Learn "Virtual machine size flexibility with Reserved VM Instances" and
    "How saving plan discount is applied" (reservations first, then the greatest discount; unused hours are lost).
    """
    for index, commitment in bought:
        if commitment.offer.key.option is PurchaseOption.RESERVATION:
            _cover_group(result, index, commitment, own, book)
    plans = [(result.add_pool(i, c.count), c) for i, c in bought if c.offer.key.option is PurchaseOption.SAVINGS_PLAN]
    if plans:
        families = families_in_plan(Provider.AZURE, PurchaseOption.SAVINGS_PLAN, book)
        eligible = [(i, r) for i, r in own if r.shape.family in families]
        draw_by_discount(result, plans, eligible, lambda plan, row: plan_rate(plan, replace(row.key, os="linux"), book))


def _cover_group(layout_: CoverLayout, index: int, commitment: CommitmentTerm, own: Numbered, book: PriceBook) -> None:
    key = commitment.offer.key
    shape = book.instance_type(key.provider, key.instance_type)
    pool = layout_.add_pool(index, commitment.count * shape.units, ONE)
    group = [
        (n, r)
        for n, r in own
        if (r.key.region, r.key.tenancy, r.shape.family) == (key.region, key.tenancy, shape.family)
    ]
    for number, row in sorted(group, key=lambda x: (x[1].shape.units, x[0])):
        layout_.draw(pool, number, row.shape.units)
