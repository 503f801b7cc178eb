"""Google: vCPU and GiB of a series apart for committed use, then flexible committed use; rows for sustained use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import NamedTuple

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import (
    ONE,
    CoveredResource,
    CoverLayout,
    Numbered,
    Owned,
    RanOffer,
    UsageRow,
    bare_key,
    bought_offer,
    draw_by_discount,
    families_in_plan,
    plan_rate,
    whole_row,
)
from hcloud.model.catalog import InstanceType, OfferKey, Provider, PurchaseOption
from hcloud.model.clouds.facts import custom_size
from hcloud.model.usage import CommitmentTerm, CommittedResources

ZERO = Decimal(0)

# A type whose price is within this fraction of vCPUs x price + GiB x price is held to be made of nothing else; list
# prices rounded to a millionth of a dollar stay far inside it, an attached disk or accelerator far outside.

PROVIDER = Provider.GCP

_TOLERANCE = Decimal("0.005")


class UnitPrices(NamedTuple):
    """Dollars per vCPU-hour and GiB-hour of a series in a region. ``ratio`` is None, or, where all its types have the
    same GiB per vCPU and the split cannot be known, that ratio; the vCPU then carries the whole price."""

    vcpu: Decimal
    gib: Decimal
    ratio: Decimal | None = None

    def of(self, vcpus: Decimal, memory_gib: Decimal) -> Decimal:
        """Dollars an hour of a shape."""
        return vcpus * self.vcpu + memory_gib * self.gib


def rows(slots: Sequence[tuple[int, RanOffer]], book: PriceBook, *, split: bool) -> list[UsageRow]:
    """Rows for vCPUs, memory and the rest of each slot, or one whole row where its price does not come apart.

    Slots are split where ``split`` (there are commitments) or the series has sustained use. Raises EvidenceError for
    a missing price, that of the bare Linux machine included where it must be told from a licence.
    """
    found = []
    for index, slot in slots:
        whole = whole_row(index, slot, book)
        whole = replace(whole, sustained=book.sustained.get((Provider.GCP, whole.shape.family)))
        found.extend(_split(whole, book) if split or whole.sustained else [whole])
    return found


def unit_prices(book: PriceBook, family: str, region: str) -> UnitPrices | None:
    """What a vCPU and a GiB of a series cost on demand in a region, solved from the prices of two of its types.

    Of all pairs the one is taken whose solution explains most vCPUs of the series, so that shared-core types and
    types with disks or accelerators in their price do not spoil it. None where no two types give a sensible solution.
    """
    priced = _priced_shapes(book, family, region)
    ratios = {shape.memory_gib / shape.vcpus for shape, _ in priced}
    if len(ratios) == 1:
        shape, price = priced[0]
        return UnitPrices(price / shape.vcpus, ZERO, ratios.pop())
    solved = [s for pair in combinations(_one_a_ratio(priced), 2) if (s := _solve(*pair)) is not None]
    # Weighed by vCPUs, as what is priced by other rules (shared cores) is small.
    return max(solved, key=lambda s: sum(t.vcpus for t, price in priced if _explains(s, t, price)), default=None)


def cover(result: CoverLayout, bought: Owned, own: Numbered, book: PriceBook) -> None:
    """Append the pools and draws of the Google commitments; raises EvidenceError for a missing price.

    Sources: Google Cloud "Resource-based committed use discounts" (vCPUs and memory of one series in one region,
    matched apart, before flexible ones) and "Compute flexible CUDs" (dollars an hour across series and regions).
    """
    for index, commitment in bought:
        if commitment.offer.key.option is PurchaseOption.COMMITTED_USE:
            _cover_series(result, index, commitment, own, book)
    plans = [
        (result.add_pool(i, c.count * price_ratio(c, book)), c)
        for i, c in bought
        if c.offer.key.option is PurchaseOption.FLEXIBLE_COMMITTED_USE
    ]
    if plans:
        families = families_in_plan(Provider.GCP, PurchaseOption.FLEXIBLE_COMMITTED_USE, book)
        eligible = [(i, r) for i, r in own if r.shape.family in families]
        draw_by_discount(result, plans, eligible, lambda plan, row: _flexible_rate(plan, row, book))


def price_ratio(commitment: CommitmentTerm, book: PriceBook) -> Decimal:
    """A flexible commitment's price over on-demand for its reference type.

    It is bought in on-demand-equivalent dollars and consumed at discounted rates: $10 an hour at a ratio of 0.72 is a
    pool of $7.20, which $10 of list price uses up. With one discount for every series that is Google's rule until
    2025; with several, its rule since (commitments stated after discount).
    """
    return bought_offer(commitment, book).effective_hourly / book.offer(_on_demand(commitment.offer.key)).hourly


def _priced_shapes(book: PriceBook, family: str, region: str) -> list[tuple[InstanceType, Decimal]]:
    """Types of the series with an on-demand Linux price in the region, by ratio, the largest first."""
    found = []
    for (provider, name), shape in book.types.items():
        if provider is Provider.GCP and shape.family == family and not shape.gpus and shape.vcpus > 0:
            offer = book.offers.get(OfferKey(provider, region, name, PurchaseOption.ON_DEMAND))
            if offer is not None:
                found.append((shape, offer.hourly))
    return sorted(found, key=lambda x: (x[0].memory_gib / x[0].vcpus, -x[0].vcpus, x[0].name))


def _one_a_ratio(priced: Sequence[tuple[InstanceType, Decimal]]) -> list[tuple[InstanceType, Decimal]]:
    """The first type of each ratio: the largest, which is never a shared-core one where there is another."""
    first: dict[Decimal, tuple[InstanceType, Decimal]] = {}
    for shape, price in priced:
        first.setdefault(shape.memory_gib / shape.vcpus, (shape, price))
    return list(first.values())


def _solve(one: tuple[InstanceType, Decimal], two: tuple[InstanceType, Decimal]) -> UnitPrices | None:
    (a, price_a), (b, price_b) = one, two
    determinant = a.vcpus * b.memory_gib - b.vcpus * a.memory_gib
    vcpu = (price_a * b.memory_gib - price_b * a.memory_gib) / determinant
    gib = (a.vcpus * price_b - b.vcpus * price_a) / determinant
    return UnitPrices(vcpu, gib) if vcpu > 0 and gib > 0 else None


def _explains(prices: UnitPrices, shape: InstanceType, price: Decimal) -> bool:
    return abs(prices.of(shape.vcpus, shape.memory_gib) - price) <= _TOLERANCE * price


def _split(whole: UsageRow, book: PriceBook) -> list[UsageRow]:
    """The rows of one slot: a price rounded off its vCPUs and memory is fitted to them, what is above stays as rest.

    A type dearer by the unit than it is (shared core), or of a series without unit prices, stays whole.
    """
    shape = whole.shape
    prices = unit_prices(book, shape.family, whole.key.region)
    if prices is None:
        return [whole]
    bare = book.offer(bare_key(whole.key)).hourly
    explained = prices.of(shape.vcpus, shape.memory_gib)
    is_made_up = _explains(prices, shape, bare) or custom_size(shape.name) is not None
    machine = bare if is_made_up else explained
    rest = whole.rate - machine
    if rest < 0:
        return [whole]
    gib = prices.gib * machine / explained
    vcpu = (machine - gib * shape.memory_gib) / shape.vcpus
    memory_share = gib * shape.memory_gib / machine
    parts = [
        replace(whole, resource=CoveredResource.VCPU, quantity=shape.vcpus, rate=vcpu, share=ONE - memory_share),
        replace(whole, resource=CoveredResource.MEMORY, quantity=shape.memory_gib, rate=gib, share=memory_share),
        replace(whole, resource=CoveredResource.REST, rate=rest, share=ZERO, sustained=None),
    ]
    return [part for part in parts if part.rate]


def _cover_series(
    layout_: CoverLayout, index: int, commitment: CommitmentTerm, own: Sequence[tuple[int, UsageRow]], book: PriceBook
) -> None:
    """Pools for vCPUs and for GiB, or for instances of exactly its type where its series has no unit prices."""
    key = commitment.offer.key
    shape = book.instance_type(key.provider, key.instance_type)
    prices = None if _stays_whole(key, book) else unit_prices(book, shape.family, key.region)
    near = [(n, r) for n, r in own if (r.key.region, r.shape.family) == (key.region, shape.family)]
    if prices is None:
        pool = layout_.add_pool(index, commitment.count)
        for number, row in near:
            if row.resource is CoveredResource.INSTANCE and row.key.instance_type == key.instance_type:
                layout_.draw(pool, number, ONE)
        return
    each = commitment.resources or CommittedResources(shape.vcpus, shape.memory_gib)
    amounts = ((CoveredResource.VCPU, each.vcpus, prices.vcpu), (CoveredResource.MEMORY, each.memory_gib, prices.gib))
    for resource, amount, value in amounts:
        pool = layout_.add_pool(index, commitment.count * amount, value)
        for number, row in near:
            if row.resource is resource:
                layout_.draw(pool, number, ONE)


def _stays_whole(key: OfferKey, book: PriceBook) -> bool:
    """Whether usage of the type is one whole row: asks the very function that splits usage, so that both agree."""
    whole = whole_row(0, RanOffer(_on_demand(key), ""), book)
    return _split(whole, book)[0].resource is CoveredResource.INSTANCE


def _flexible_rate(plan: CommitmentTerm, row: UsageRow, book: PriceBook) -> Decimal:
    """Discounted dollars per unit of a row: one discount for the vCPUs and the memory of a type."""
    bare = bare_key(row.key)
    return row.rate * plan_rate(plan, bare, book) / book.offer(bare).hourly


def _on_demand(key: OfferKey) -> OfferKey:
    return OfferKey(key.provider, key.region, key.instance_type, PurchaseOption.ON_DEMAND)
