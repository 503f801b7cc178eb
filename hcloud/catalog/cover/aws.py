"""AWS: zonal reserved instances, then regional ones, then EC2-instance and last compute savings plans."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import (
    ONE,
    CoverLayout,
    Numbered,
    Owned,
    RanOffer,
    UsageRow,
    draw_by_discount,
    plan_rate,
    whole_row,
)
from hcloud.catalog.flexibility import covers_all_sizes
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.usage import CommitmentTerm

PROVIDER = Provider.AWS

_RESERVED = (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE)


def rows(
    slots: Sequence[tuple[int, RanOffer]],
    book: PriceBook,
    *,
    split: bool,  # noqa: ARG001 - what AWS sells pays for licences, too
) -> list[UsageRow]:
    """One row a slot: AWS matches whole instances."""
    return [whole_row(index, slot, book) for index, slot in slots]


def cover(result: CoverLayout, bought: Owned, own: Numbered, book: PriceBook) -> None:
    """Append the pools and draws for AWS, in its order; raises EvidenceError for a missing savings-plan rate.

    Sources: EC2 User Guide "How Reserved Instance discounts are applied" (zonal by exact attributes; regional from
    the smallest to the largest size by normalisation factor) and Savings Plans User Guide "Understanding how Savings
    Plans apply" (after reserved instances; EC2-instance before compute plans; plans of one kind together).
    """
    reserved = [(i, c) for i, c in bought if c.offer.key.option in _RESERVED]
    for index, commitment in (x for x in reserved if x[1].scope_zone):
        _cover_same(result, index, commitment, own)
    for index, commitment in (x for x in reserved if not x[1].scope_zone):
        _cover_region(result, index, commitment, own, book)
    for option in (PurchaseOption.INSTANCE_SAVINGS_PLAN, PurchaseOption.COMPUTE_SAVINGS_PLAN):
        _cover_spend(result, [x for x in bought if x[1].offer.key.option is option], own, book)


def _cover_same(layout_: CoverLayout, index: int, commitment: CommitmentTerm, own: Numbered) -> None:
    """Cover instances equal in every attribute, in the commitment's zone if it has one."""
    pool = layout_.add_pool(index, commitment.count)
    for number, row in own:
        if _same(commitment, row) and row.key.instance_type == commitment.offer.key.instance_type:
            layout_.draw(pool, number, ONE)


def _cover_region(layout_: CoverLayout, index: int, commitment: CommitmentTerm, own: Numbered, book: PriceBook) -> None:
    key = commitment.offer.key
    shape = book.instance_type(key.provider, key.instance_type)
    if not covers_all_sizes(key, shape.family):
        _cover_same(layout_, index, commitment, own)
        return
    pool = layout_.add_pool(index, commitment.count * shape.units)
    family = [(n, r) for n, r in own if _same(commitment, r) and r.shape.family == shape.family]
    for number, row in sorted(family, key=lambda x: (x[1].shape.units, x[0])):
        layout_.draw(pool, number, row.shape.units)


def _same(commitment: CommitmentTerm, row: UsageRow) -> bool:
    """Whether place, operating system and tenancy agree."""
    key, used = commitment.offer.key, row.key
    place = not commitment.scope_zone or commitment.scope_zone == (row.zone or used.zone)
    return place and (key.region, key.os, key.tenancy) == (used.region, used.os, used.tenancy)


def _cover_spend(layout_: CoverLayout, plans: Owned, own: Numbered, book: PriceBook) -> None:
    pools = [(layout_.add_pool(index, plan.count), plan) for index, plan in plans]
    draw_by_discount(layout_, pools, own, lambda plan, row: _rate(plan, row, book))


def _rate(plan: CommitmentTerm, row: UsageRow, book: PriceBook) -> Decimal | None:
    key = plan.offer.key
    if key.option is PurchaseOption.INSTANCE_SAVINGS_PLAN:
        family = book.instance_type(key.provider, key.instance_type).family
        if (key.region, family) != (row.key.region, row.shape.family):
            return None
    return plan_rate(plan, row.key, book)
