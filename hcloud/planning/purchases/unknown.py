"""Whether a purchase whose answer was lost took place: decided from what was held before and what is held now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from hcloud.model.holdings.live import Commitment
from hcloud.model.holdings.purchase import PurchaseIntent, committed, takes_key
from hcloud.planning.purchases.gates import CLOCK_SKEW
from hcloud.units import HOURS_PER_YEAR, cents

GRACE = timedelta(minutes=15)  # ours: how long a cloud may take to list what was bought
RESEND_WITHIN = timedelta(minutes=30)  # ours: how long after a purchase its key is surely still known


class PurchaseVerdict(StrEnum):
    """What can be said of a purchase that was asked for."""

    BOUGHT = "bought"
    NOT_BOUGHT = "not bought"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class PurchaseJudgement:
    """A verdict with the commitment it rests on, and why nothing more can be said."""

    verdict: PurchaseVerdict
    commitment: Commitment | None = None
    why: str = ""


def judge(intent: PurchaseIntent, held: Sequence[Commitment], known: frozenset[str], at: datetime) -> PurchaseJudgement:
    """What the commitments held now say about an intent; ``known`` are ids that other purchases account for.

    A commitment that bears the intent's key decides at once. Otherwise it is the only new one since the snapshot, with
    the same offering, quantity and price, begun no earlier than it was asked for. That there is none counts only when
    the cloud has had time to list it and still lists all it listed before. Everything else cannot be told.
    """
    keyed = [c for c in held if c.key and c.key == intent.key]
    if len(keyed) == 1 and keyed[0].state != "ended":
        return PurchaseJudgement(PurchaseVerdict.BOUGHT, keyed[0])
    if keyed:
        return _cannot(f"{', '.join(sorted(c.id for c in keyed))}: has its key, but it has ended or there are several")
    before = {h.id for h in intent.before} | known
    new = [c for c in held if c.id not in before]
    alike = [c for c in new if is_like(intent, c)]
    if len(alike) == 1 and not alike[0].key and _begun_since(alike[0], intent):
        return PurchaseJudgement(PurchaseVerdict.BOUGHT, alike[0])
    if alike:
        ids = ", ".join(sorted(c.id for c in alike))
        return _cannot(f"{ids}: match it, and hcloud cannot tell which of them it bought")
    if doubtful := sorted(c.id for c in new if c.instance_type == intent.quote.order.instance_type):
        return _cannot(f"{', '.join(doubtful)}: new, of the same type, but not as ordered")
    return _absent(intent, held, at)


def _absent(intent: PurchaseIntent, held: Sequence[Commitment], at: datetime) -> PurchaseJudgement:
    listed = {c.id for c in held}
    standing = (h for h in intent.before if h.state != "ended" and (h.ends is None or h.ends > at))
    gone = sorted(h.id for h in standing if h.id not in listed)
    if gone:
        return _cannot(f"the cloud does not list {', '.join(gone[:3])} either, though it listed them before")
    if not intent.at + GRACE <= at:
        return _cannot(f"the cloud does not list it yet; it may take until {intent.at + GRACE:%H:%M:%S} UTC")
    return PurchaseJudgement(PurchaseVerdict.NOT_BOUGHT)


def _cannot(why: str) -> PurchaseJudgement:
    return PurchaseJudgement(PurchaseVerdict.CANNOT_TELL, None, why)


def is_like(intent: PurchaseIntent, commitment: Commitment) -> bool:
    """Whether a commitment is what was ordered: the same offering (where the cloud tells which one it came from), the
    same terms, the same number or dollars, the same price to the cent, and the same time at which it begins."""
    quote, order = intent.quote, intent.quote.order
    hours = order.term_years * HOURS_PER_YEAR
    price = cents(commitment.upfront + commitment.hourly * hours)
    terms = (commitment.option, commitment.term_years, commitment.payment)
    stated = [
        commitment.offering in ("", quote.offering),
        terms == (order.option, order.term_years, order.payment),
        order.option.is_spend_based
        or (commitment.instance_type, commitment.count) == (order.instance_type, order.count),
        price == cents(committed(quote)),
        _is_of_its_time(intent, commitment),
    ]
    return all(stated)


def _is_of_its_time(intent: PurchaseIntent, commitment: Commitment) -> bool:
    """Whether it begins when it was ordered for: what begins at once is not queued."""
    if (starts := intent.quote.order.starts) is None:
        return commitment.state != "queued"
    return commitment.starts is not None and abs(commitment.starts - max(starts, intent.at)) <= CLOCK_SKEW


def _begun_since(commitment: Commitment, intent: PurchaseIntent) -> bool:
    """Begun at or after the intent; a queued one begins later anyway."""
    return commitment.starts is not None and commitment.starts >= intent.at - CLOCK_SKEW


def may_resend(intent: PurchaseIntent, at: datetime) -> bool:
    """Whether the cloud takes a key and surely still knows this one: sending the order again cannot buy twice."""
    return takes_key(intent.quote.order.option) and timedelta(0) <= at - intent.at <= RESEND_WITHIN
