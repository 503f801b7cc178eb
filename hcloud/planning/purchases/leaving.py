"""Whether a commitment can be got rid of, by the terms on file: queued, within the window, within the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hcloud.model.holdings.live import Commitment
from hcloud.model.holdings.purchase import ExitTerms, PurchaseOutcome, Refund
from hcloud.planning.purchases.history import PurchaseHistory
from hcloud.planning.purchases.purchase import held_quantity
from hcloud.units import HOURS_PER_YEAR, format_money

A_YEAR = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class WayOut:
    """Whether there is one, and why, in words that name the terms and their day."""

    is_open: bool
    why: str


def way_out(commitment: Commitment, terms: ExitTerms | None, past: PurchaseHistory, at: datetime) -> WayOut:
    """What the terms say of giving a commitment back now."""
    if commitment.state == "ended":
        return WayOut(False, "it has ended already")
    if terms is None:
        return WayOut(False, f"no terms are on file for {commitment.option.in_words}s")
    told = f"{terms.note} ({terms.source}, {terms.day})"
    if commitment.state == "queued":
        return WayOut(terms.queued_deletable, "it is queued and has not begun" if terms.queued_deletable else told)
    if terms.refund is Refund.NONE:
        return WayOut(False, told)
    broken = [why for why, holds in _conditions(commitment, terms, past, at) if not holds]
    return WayOut(not broken, f"{'; '.join(broken)}; {told}" if broken else told)


def _conditions(
    commitment: Commitment, terms: ExitTerms, past: PurchaseHistory, at: datetime
) -> list[tuple[str, bool]]:
    """Each condition with what is to be said where it does not hold."""
    since, recent = commitment.starts, _recently_cancelled(past, at)
    found: list[tuple[str, bool]] = []
    if terms.within is not None:
        day = f"{since:%Y-%m-%d %H:%M} UTC" if since else "an unknown day"
        found.append(
            (f"held since {day}, and the window is {terms.within.days} days", _within(since, terms.within, at))
        )
    if terms.same_month:
        found.append(("bought in another month", since is not None and _month(since) == _month(at)))
    if terms.most_hourly is not None:
        most = format_money(terms.most_hourly, 2)
        found.append((f"commits more than {most} an hour", held_quantity(commitment) <= terms.most_hourly))
    if terms.most_a_year is not None:
        found.append((f"{len(recent)} were given back within a year already", len(recent) < terms.most_a_year))
    if terms.most_dollars_a_year is not None:
        total = outstanding(commitment, at) + _dollars(past, recent)
        most = format_money(terms.most_dollars_a_year)
        found.append((f"more than {most} would be given back within a year", total <= terms.most_dollars_a_year))
    return found


def _within(since: datetime | None, window: timedelta, at: datetime) -> bool:
    return since is not None and at - since <= window


def _month(moment: datetime) -> tuple[int, int]:
    there = moment.astimezone(UTC)
    return there.year, there.month


def _recently_cancelled(past: PurchaseHistory, at: datetime) -> Sequence[str]:
    return [
        c.intent.commitment
        for c in past.cancellations
        if c.outcome in (PurchaseOutcome.CANCELLED, PurchaseOutcome.UNKNOWN) and at - c.intent.at <= A_YEAR
    ]


def _dollars(past: PurchaseHistory, ids: Sequence[str]) -> Decimal:
    return sum((p.intent.amount for p in past.purchases if p.id in ids), Decimal(0))


def outstanding(commitment: Commitment, at: datetime) -> Decimal:
    """Dollars of the part of the term that is still to come."""
    hours = commitment.term_years * HOURS_PER_YEAR
    whole = commitment.upfront + commitment.hourly * hours
    if commitment.ends is None or not hours:
        return whole
    left = Decimal((commitment.ends - at) // timedelta(seconds=1)) / 3600
    return whole * max(min(left / hours, Decimal(1)), Decimal(0))
