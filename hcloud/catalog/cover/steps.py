"""What matching works on: priced rows of usage, pools of commitment, and the order in which rows draw on pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError
from hcloud.model.catalog import InstanceType, Offer, OfferKey, Provider, PurchaseOption, SustainedUse
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.usage import CommitmentTerm

ONE = Decimal(1)

# Discounts that agree to this are equal: a rate worked out from unit prices carries the noise of its divisions.
_SAME_DISCOUNT = Decimal("1e-12")


class RanOffer(NamedTuple):
    """One kind of usage: the on-demand offer and the zone it ran in."""

    key: OfferKey
    zone: str


class CoveredResource(StrEnum):
    """What a row of usage is an amount of. ``REST`` is what no commitment covers: licences, attached devices."""

    INSTANCE = "instance"
    VCPU = "vcpu"
    MEMORY = "memory"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One resource of one slot of usage.

    ``quantity`` units per instance-hour at a list price of ``rate`` dollars per unit-hour; ``share`` is the part of an
    instance that counts as covered when the row is. ``sustained`` holds the tiers where sustained use applies.
    """

    slot: int
    key: OfferKey
    zone: str
    shape: InstanceType
    resource: CoveredResource
    quantity: Decimal
    rate: Decimal
    share: Decimal
    sustained: SustainedUse | None = None


Numbered = Sequence[tuple[int, UsageRow]]
Owned = Sequence[tuple[int, CommitmentTerm]]
"""Rows, and commitments, with their places in the whole."""


class CommitmentPool(NamedTuple):
    """What a commitment gives each hour: ``capacity`` in units, GiB or dollars; ``value`` weighs a unit of it against
    the commitment's other pools when utilisation is computed."""

    commitment: int
    capacity: Decimal
    value: Decimal


class PoolDraw(NamedTuple):
    """Row ``row`` draws on pool ``pool``, ``weight`` of the pool for each unit of the row."""

    pool: int
    row: int
    weight: Decimal


class CoveredAmount(NamedTuple):
    """``amount`` of row ``row`` covered by pool ``pool``, of which it used up ``drawn``."""

    pool: int
    row: int
    amount: Decimal
    drawn: Decimal


@dataclass(frozen=True, slots=True)
class CoverLayout:
    """The pools of some commitments and every draw on them, in the order a provider applies them.

    Every step keeps an order: with less left in a row or more in a pool before it, the same holds after it. So one
    more commitment, or a larger one, never raises what is left for on-demand; keep the sequence fixed to keep that.
    """

    pools: list[CommitmentPool] = field(default_factory=list)
    steps: list[PoolDraw] = field(default_factory=list)

    def add_pool(self, commitment: int, capacity: Decimal, value: Decimal = ONE) -> int:
        """Append a pool and return its index."""
        self.pools.append(CommitmentPool(commitment, capacity, value))
        return len(self.pools) - 1

    def draw(self, pool: int, row: int, weight: Decimal) -> None:
        """Append a step; raises EvidenceError for a weight of 0, which would cover without end."""
        if weight <= 0:
            raise EvidenceError(
                "a price or size-flexibility weight of zero was met while matching",
                hint="check the price file: every rate and every instance type's units must be above 0",
            )
        self.steps.append(PoolDraw(pool, row, weight))

    def take(self, left: list[Decimal]) -> tuple[list[CoveredAmount], list[Decimal]]:
        """Walk the steps once: each takes what its row still needs or its pool still has, whichever is less. ``left``
        is lessened by what is covered; with it comes what is left of each pool."""
        room = [pool.capacity for pool in self.pools]
        found = []
        for number, index, weight in self.steps:
            if not left[index] or not room[number]:
                continue
            need, before = left[index] * weight, room[number]
            # Setting the emptied side to zero rather than subtracting keeps the last digit of a division from lingering
            if need <= room[number]:
                taken, left[index], room[number] = left[index], Decimal(0), room[number] - need
            else:
                taken = min(left[index], room[number] / weight)
                left[index], room[number] = left[index] - taken, Decimal(0)
            found.append(CoveredAmount(number, index, taken, before - room[number]))
        return found, room


def whole_row(index: int, slot: RanOffer, book: PriceBook) -> UsageRow:
    """The row of usage that is matched by the instance; raises EvidenceError for an unknown price or type."""
    offer, shape = book.offer(slot.key), book.instance_type(slot.key.provider, slot.key.instance_type)
    return UsageRow(index, slot.key, slot.zone, shape, CoveredResource.INSTANCE, ONE, offer.hourly, ONE)


def bare_key(key: OfferKey) -> OfferKey:
    """The on-demand offer of the same machine without licence or sole tenancy."""
    return replace(key, os="linux", tenancy="shared")


def bought_key(key: OfferKey) -> OfferKey:
    """What commitments really cover: Google and Azure commit machines, and a licence is paid by use beside them.

    Price books also quote such commitments with the licence in the price, to compare like with like; charging that
    while the usage pays its licence would count it twice.
    """
    return key if CLOUDS[key.provider].covers_licence else replace(key, os="linux")


def sustained_of(book: PriceBook, listed: Offer, family: str) -> SustainedUse | None:
    """The sustained-use tiers of an on-demand price of a series: of the licence in it nothing is taken off."""
    rule = book.sustained.get((listed.key.provider, family))
    alone = book.offers.get(bought_key(listed.key), listed)
    if rule is None or alone.hourly == listed.hourly:
        return rule
    machine = alone.hourly / listed.hourly
    return replace(rule, tiers=tuple(1 - (1 - tier) * machine for tier in rule.tiers))


def bought_offer(commitment: CommitmentTerm, book: PriceBook) -> Offer:
    """What is really bought; raises EvidenceError where the book lacks the Linux offer."""
    key = bought_key(commitment.offer.key)
    return commitment.offer if key == commitment.offer.key else book.offer(key)


def plan_rate(plan: CommitmentTerm, key: OfferKey, book: PriceBook) -> Decimal:
    """Dollars an hour that usage of ``key`` consumes of a plan; raises EvidenceError where the book has no rate."""
    bought = plan.offer.key
    wanted = replace(key, option=bought.option, term_years=bought.term_years, payment=bought.payment, zone="")
    return book.offer(wanted).effective_hourly


def families_in_plan(provider: Provider, option: PurchaseOption, book: PriceBook) -> frozenset[str]:
    """Families with a rate under a spend-based option somewhere: the only evidence of which families it includes."""
    names = {k.instance_type for k in book.offers if k.option is option and k.provider is provider}
    return frozenset(book.types[provider, name].family for name in names if (provider, name) in book.types)


def draw_by_discount(
    layout: CoverLayout,
    plans: Owned,
    rows: Numbered,
    rate_of: Callable[[CommitmentTerm, UsageRow], Decimal | None],
) -> None:
    """Append the draws of spend-based plans (pool, commitment): greatest discount first, then the lowest rate.

    All plans handed over together compete together. ``rate_of`` gives None for usage outside a plan; a rate that saves
    nothing is left out, as on-demand is then no dearer.
    """
    pairs = []
    for order, (pool, plan) in enumerate(plans):
        for index, row in rows:
            rate = rate_of(plan, row)
            if rate is not None and rate < row.rate:
                paid = (rate / row.rate).quantize(_SAME_DISCOUNT)
                pairs.append((paid, rate, index, order, pool))
    for _, rate, index, _, pool in sorted(pairs):
        layout.draw(pool, index, rate)
