"""Commitments of the cloud in memory: what they cost, who may buy them twice, and which can be given back."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from hcloud.errors import MismatchError, NotFoundError, RefusedError
from hcloud.fake.clock import midnight_after
from hcloud.fake.in_memory.world import MemoryWorld
from hcloud.fake.ledger import BoughtCommitment
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import Commitment, CommitmentOrder, CommitmentQuote
from hcloud.units import HOURS_PER_YEAR, counted

SHARE_OF_PRICE = {1: Decimal("0.6"), 3: Decimal("0.4")}
"""A commitment's price in terms of on demand, by its years."""
UPFRONT_SHARE = {Payment.NONE: Decimal(0), Payment.PARTIAL: Decimal("0.5"), Payment.ALL: Decimal(1)}
WITHOUT_KEY = (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE)
_RETURN_WINDOW_SECONDS = 7 * 86_400.0
_SECONDS_PER_YEAR = HOURS_PER_YEAR * 3600
_CENT = Decimal("0.0001")


def quoted(world: MemoryWorld, order: CommitmentOrder) -> CommitmentQuote:
    """What a commitment costs now; NotFoundError where it is not sold, RefusedError where nothing is ordered."""
    if order.option not in world.semantics.sold or order.term_years not in SHARE_OF_PRICE:
        raise NotFoundError(f"{order.option} for {counted(order.term_years, 'year')} is not sold", world.call("quote"))
    if not order.option.is_spend_based and order.instance_type not in world.semantics.types:
        raise NotFoundError(f"there is no type {order.instance_type}", world.call("quote"))
    if order.starts is not None and not world.semantics.queues:
        raise RefusedError("it begins when it is bought, not on a day of choice", world.call("quote"))
    spent = order.dollars_per_hour or Decimal(0)
    if (spent <= 0) if order.option.is_spend_based else (order.count < 1 or spent):
        raise RefusedError("neither a count nor an amount that can be bought", world.call("quote"))
    full = spent
    if not order.option.is_spend_based:
        full = world.on_demand(order.instance_type) * SHARE_OF_PRICE[order.term_years] * order.count
    share = UPFRONT_SHARE[order.payment]
    upfront = (full * share * HOURS_PER_YEAR * order.term_years).quantize(_CENT)
    hourly = (full * (1 - share)).quantize(_CENT)
    offering = f"{order.option}/{order.instance_type}/{order.term_years}y/{order.payment}"
    return CommitmentQuote(order, offering, upfront, hourly, "USD")


def purchase(world: MemoryWorld, quote: CommitmentQuote, principal: str) -> Commitment:
    """Buy what was quoted: twice where the cloud takes no key, once where it does."""
    order, now = quote.order, world.clock.now()
    current = quoted(world, order)
    if current.upfront > quote.upfront or current.hourly > quote.hourly or current.offering != quote.offering:
        raise RefusedError("it costs more than was quoted", world.call("buy", "LimitPriceExceeded"))
    key = "" if order.option in WITHOUT_KEY else order.key
    for known in world.ledger.purchases.values():
        if key and known.key == key:
            if known.detail.get("order") != order:
                raise MismatchError("the key was used for another purchase", world.call("buy", "mismatch"))
            return _told(world, known)
    bought = BoughtCommitment(
        id=f"{world.semantics.cloud}-commitment-{world.ledger.next_number()}",
        option=order.option,
        offering=quote.offering,
        instance_type=order.instance_type,
        count=order.count,
        hourly=current.hourly,
        upfront=current.upfront,
        term_seconds=order.term_years * _SECONDS_PER_YEAR,
        bought_at=now,
        starts_at=_starts(world, order),
        key=key,
        principal=principal,
        detail={"order": order},
    )
    world.ledger.purchases[bought.id] = bought
    return _told(world, bought)


def held(world: MemoryWorld) -> tuple[Commitment, ...]:
    """All purchases that lists show by now."""
    seen = world.clock.now() - world.faults.plan.visibility_delay
    return tuple(_told(world, p) for _, p in sorted(world.ledger.purchases.items()) if p.bought_at <= seen)


def cancel(world: MemoryWorld, commitment: str) -> None:
    """Give back what can be: queued purchases, young savings plans, reservations of Azure; RefusedError for others."""
    found, now = world.ledger.purchases.get(commitment), world.clock.now()
    if found is None:
        raise NotFoundError(f"there is no commitment {commitment}", world.call("cancel"))
    if found.cancelled_at is not None:
        return
    option = PurchaseOption(found.option)
    queued = world.semantics.takes_back and now < found.starts_at
    young = option.is_spend_based and now - found.bought_at < _RETURN_WINDOW_SECONDS
    refunded = option is PurchaseOption.RESERVATION
    if not (queued or refunded or (young and world.semantics.takes_back)):
        raise RefusedError(f"a {option} cannot be given back", world.call("cancel", "NotReturnable"))
    found.cancelled_at = now


def _starts(world: MemoryWorld, order: CommitmentOrder) -> float:
    now = world.clock.now()
    if world.semantics.starts_tomorrow:
        return midnight_after(now)
    return max(now, order.starts.timestamp()) if order.starts is not None else now


def _told(world: MemoryWorld, found: BoughtCommitment) -> Commitment:
    order = found.detail["order"]
    if not isinstance(order, CommitmentOrder):
        raise TypeError(f"{found.id} keeps no order")
    now, ends = world.clock.now(), found.starts_at + found.term_seconds
    state = "active"
    if found.cancelled_at is not None or now >= ends:
        state = "ended"
    elif now < found.starts_at:
        state = "queued" if world.semantics.takes_back else "pending"
    return Commitment(
        id=found.id,
        option=order.option,
        offering=found.offering,
        instance_type=found.instance_type,
        count=found.count,
        term_years=order.term_years,
        payment=order.payment,
        state=state,
        starts=datetime.fromtimestamp(found.starts_at, UTC),
        ends=datetime.fromtimestamp(ends, UTC),
        upfront=found.upfront,
        hourly=found.hourly,
        currency="USD",
        key=found.key,
    )
