"""What a purchase has to pass: quantities, prices, the approved amount and the ceiling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import bought_key
from hcloud.errors import DeniedByGuardError, EvidenceError, InputError, StaleError
from hcloud.model.catalog import refresh_command, special_in
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Commitment, CommitmentQuote
from hcloud.model.holdings.purchase import TERM_YEARS, CommitmentNeed, PurchaseItem, PurchasePlan, committed, snapshot
from hcloud.model.plans.plan import Plan
from hcloud.units import cents, counted, format_money, plain, rate

MOST_INSTANCES = 10_000  # ours: one purchase of more is a slip of the pen
MOST_DOLLARS_PER_HOUR = Decimal(100_000)  # ours: likewise
FARTHEST_FROM_BOOK = Decimal("0.25")  # ours: a quote that differs more from the price book is not believed
LEAST_MOVE = Decimal("0.001")  # ours: prices that differ by less are the same, rounded
CURRENCY = "USD"
CLOCK_SKEW = timedelta(minutes=15)  # ours: how far clocks may be from each other
_AMOUNT = re.compile(r"\d{1,12}(\.\d{1,2})?", re.ASCII)


def checked_count(count: Decimal | int, where: str) -> int:
    """A number of instances that can be bought: whole, one at least, and not absurd. Raises InputError."""
    exact = Decimal(count)
    if not exact.is_finite() or exact != exact.to_integral_value() or not 1 <= exact <= MOST_INSTANCES:
        raise InputError(f"{where}: {count} instances cannot be bought (a whole number from 1 to {MOST_INSTANCES:,})")
    return int(exact)


def checked_dollars(dollars: Decimal, where: str) -> Decimal:
    """A commitment in dollars an hour that can be bought. Raises InputError."""
    if not dollars.is_finite() or not 0 < dollars <= MOST_DOLLARS_PER_HOUR:
        raise InputError(
            f"{where}: ${dollars} an hour cannot be bought (more than 0, at most {MOST_DOLLARS_PER_HOUR:,})"
        )
    return dollars


def check_item(item: PurchaseItem) -> None:
    """Refuse, with InputError or EvidenceError, an item whose quantity, term or price cannot be right, and what is
    bound to a system or tenancy: clouds are asked for Linux on shared hardware, and that would cover none of it."""
    order, where = item.quote.order, item.address
    if order.option.bound_to(special_in(where)):
        raise InputError(f"{where}: hcloud buys {order.option.in_words}s of Linux on shared hardware only")
    if (cloud := CLOUDS.get(where.partition("/")[0])) and order.option in cloud.console:
        raise InputError(f"{where}: the API does not sell it: buy it in the cloud's console")
    if order.option.is_spend_based:
        if order.dollars_per_hour is None or order.count:
            raise InputError(f"{where}: {order.option.in_words}s are bought in dollars an hour only")
        checked_dollars(order.dollars_per_hour, where)
    else:
        if order.dollars_per_hour is not None:
            raise InputError(f"{where}: {order.option.in_words}s are bought in instances, not in dollars an hour")
        checked_count(order.count, where)
    if not order.option.is_commitment or order.term_years not in TERM_YEARS:
        raise InputError(f"{where}: {order.option.in_words} over {counted(order.term_years, 'year')} is not for sale")
    check_price(item.quote, where)


def check_price(quote: CommitmentQuote, where: str) -> None:
    """Refuse, with EvidenceError, a price that is no price: zero, negative, not a number, or in another currency."""
    if quote.currency != CURRENCY:
        raise EvidenceError(f"{where}: quoted in {quote.currency or 'no currency'}; only {CURRENCY} can be compared")
    parts = (quote.upfront, quote.hourly)
    if not all(p.is_finite() and p >= 0 for p in parts) or not any(parts):
        raise EvidenceError(f"{where}: {quote.upfront} at once and {quote.hourly} an hour is not a valid price")


def check_against_plan(need: CommitmentNeed, quote: CommitmentQuote) -> None:
    """Refuse, with EvidenceError, a quote that does not fit the price the plan was made with: far from it (cents in
    place of dollars), or so dear that renting by the hour is cheaper."""
    where = need.wanted.address
    check_price(quote, where)
    expected, asked = need.expected, committed(quote)
    if expected <= 0:
        raise EvidenceError(f"{where}: the plan holds no price for it")
    if abs(asked / expected - 1) > FARTHEST_FROM_BOOK:
        raise EvidenceError(
            moved(need, quote),
            hint=f"refresh the prices ('{refresh_command(need.wanted.cloud, need.wanted.region)}'), plan again and"
            " compare",
        )
    if need.wanted.break_even is not None and need.wanted.break_even * asked / expected >= 1:
        raise EvidenceError(f"{where}: quoted at {format_money(asked, 2)}, it costs as much as on demand, or more")


def moved(need: CommitmentNeed, quote: CommitmentQuote) -> str:
    """How far a quote is from the price that the plan was made with; empty where that is rounding."""
    expected, asked = need.expected, committed(quote)
    if abs(change := asked / expected - 1) < LEAST_MOVE:
        return ""
    return (
        f"{need.wanted.address}: quoted at {format_money(asked, 2)} over its term, and the plan was made with"
        f" {format_money(expected, 2)} ({float(change):+.1%})"
    )


def repriced(plan: Plan, book: PriceBook) -> Iterator[str]:
    """What a plan buys in dollars an hour and the price book sells at another price now: no quote says that these buy
    less or more of it."""
    for line in (line for line in plan.purchases if line.option.is_spend_based):
        offer, was = book.offers.get(bought_key(line.key)), line.hourly_held / line.count
        if offer is not None and abs(change := offer.effective_hourly / was - 1) >= LEAST_MOVE:
            yield (
                f"{line.address}: ${plain(rate(was))}/h when the plan was made,"
                f" ${plain(rate(offer.effective_hourly))}/h by the prices here now ({float(change):+.1%}): plan again"
            )


def check_fresh(plan: PurchasePlan, at: datetime) -> None:
    """Refuse, with StaleError, a purchase plan that has expired, or that comes from the future by more than clocks
    differ."""
    if not plan.generated_at - CLOCK_SKEW <= at < plan.expires:
        raise StaleError(
            f"this purchase plan was made at {plan.generated_at:%Y-%m-%d %H:%M} UTC and held until"
            f" {plan.expires:%Y-%m-%d %H:%M}; it is {at:%Y-%m-%d %H:%M} now, and nothing was bought",
            hint="make a new one with 'hcloud commit plan'",
        )


def check_still_held(plan: PurchasePlan, held: Iterable[Commitment], own: frozenset[str]) -> None:
    """Refuse, with StaleError, where commitments came or went since the plan was made; ``own`` are those that this very
    plan has bought."""
    before = {h.id: (h.option, h.instance_type, h.count) for h in plan.held if h.state != "ended"}
    now = {
        h.id: (h.option, h.instance_type, h.count)
        for h in snapshot(tuple(held))
        if h.state != "ended" and h.id not in own
    }
    moved = sorted(i for i in before.keys() | now.keys() if before.get(i) != now.get(i))
    if moved:
        raise StaleError(
            f"commitments changed since this purchase plan was made ({', '.join(moved[:5])}); nothing was bought",
            hint="look at them with 'hcloud commit list', then make a new one with 'hcloud commit plan'",
        )


def check_quote(item: PurchaseItem, fresh: CommitmentQuote, tolerance: Decimal) -> None:
    """Refuse, with StaleError, where what is sold now is not what was planned, or its price moved beyond the share that
    is tolerated, up or down."""
    check_price(fresh, item.address)
    planned = item.quote
    if fresh.order != planned.order or fresh.offering != planned.offering or fresh.currency != planned.currency:
        raise StaleError(
            f"{item.address}: {planned.offering} was planned, but the cloud now sells {fresh.offering}"
            " on these terms; nothing was bought",
            hint="make a new purchase plan with 'hcloud commit plan'",
        )
    for name, was, now in (("upfront", planned.upfront, fresh.upfront), ("hourly", planned.hourly, fresh.hourly)):
        if abs(now - was) > was * tolerance:
            raise StaleError(
                f"{item.address}: the {name} price moved from {plain(was)} to {plain(now)} since this purchase plan"
                " was made; nothing was bought",
                hint="make a new one with 'hcloud commit plan', or allow it with commitments.price_tolerance",
            )


@dataclass(frozen=True, slots=True)
class PurchaseApproval:
    """What a person (or a pipeline) has put down: the digest they were shown and the amount they typed."""

    digest: str
    amount: str


def check_approval(approval: PurchaseApproval, plan: PurchasePlan, amount: Decimal) -> None:
    """Refuse, with DeniedByGuardError, an approval of another plan or of another amount."""
    if approval.digest != plan.digest:
        raise DeniedByGuardError(
            f"{approval.digest or 'an empty digest'} was approved, and this purchase plan is {plan.digest}; nothing"
            " was bought",
            hint="read the plan that is to be bought and approve that one",
        )
    if typed_amount(approval.amount) != cents(amount):
        raise DeniedByGuardError(
            f"{approval.amount or 'nothing'!r} was approved, and these purchases commit"
            f" {plain(cents(amount))} {CURRENCY}; nothing was bought",
            hint="type the amount as it stands in the table's total, with its cents",
        )


def typed_amount(text: str) -> Decimal | None:
    """Dollars as somebody typed them: digits and at most two places; None where that is no amount."""
    return Decimal(text.strip()) if _AMOUNT.fullmatch(text.strip()) else None


def check_ceiling(past: Decimal, new: Decimal, ceiling: Decimal | None) -> None:
    """Refuse, with DeniedByGuardError, where past and new purchases together exceed the ceiling, or there is none."""
    if ceiling is None:
        raise DeniedByGuardError(
            "commitments.ceiling is not set, and hcloud buys nothing without it",
            hint="commitments.ceiling in hcloud.yaml: the most dollars that all purchases together may commit",
        )
    if past + new > ceiling:
        raise DeniedByGuardError(
            f"{format_money(new, 2)} on top of {format_money(past, 2)} that is committed already exceeds the ceiling of"
            f" {format_money(ceiling, 2)} by {format_money(past + new - ceiling, 2)}",
            hint="commitments.ceiling in hcloud.yaml sets it",
        )


def check_items(items: Sequence[PurchaseItem]) -> None:
    """Refuse what :func:`check_item` refuses, and keys that stand twice."""
    for item in items:
        check_item(item)
    if len({item.key for item in items}) != len(items):
        raise InputError("two purchases of this plan have the same key")
