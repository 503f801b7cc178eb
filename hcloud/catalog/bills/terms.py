"""Commitments as a cloud tells them, made ready to be matched with usage and charged by the second of their term."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from hcloud.catalog.bills.days import exact_dollars, within
from hcloud.catalog.book import PriceBook
from hcloud.catalog.quote import amortised_cost, commitment_cost
from hcloud.errors import EvidenceError
from hcloud.model.catalog import BillingRule, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.model.holdings.live import Commitment
from hcloud.model.report import Period
from hcloud.model.usage import CommitmentTerm
from hcloud.units import HOURS_PER_YEAR, SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True)
class Tariff:
    """Where things are rented, and the prices and billing rules of the place; ``listed`` are the prices before
    negotiation, where some were negotiated."""

    book: PriceBook
    provider: Provider
    region: str
    account: str = ""
    listed: PriceBook | None = None

    @property
    def rule(self) -> BillingRule:
        """Step and minimum; EvidenceError where the book has none of this provider."""
        found = self.book.billing.get(self.provider)
        if found is None:
            raise EvidenceError(f"{self.provider}: the price book does not say to which step rentals are billed")
        return found

    def offer(self, instance_type: str, option: PurchaseOption, zone: str = "") -> Offer:
        """The offer of the zone where it has one of its own, else of the region; EvidenceError without a price."""
        key = OfferKey(self.provider, self.region, instance_type, option, zone=zone)
        own = self.book.offers.get(key)
        return own or self.book.offer(OfferKey(self.provider, self.region, instance_type, option))

    def list_offer(self, instance_type: str) -> Offer:
        """What everybody is asked for on demand; EvidenceError without a price."""
        book = self.book if self.listed is None else self.listed
        return book.offer(OfferKey(self.provider, self.region, instance_type, PurchaseOption.ON_DEMAND))


_IN_FORCE = ("pending", "queued", "active", "unknown")


@dataclass(frozen=True, slots=True)
class Term:
    """A commitment from ``start`` to before ``end``: as it was told, as it is matched, and all of it as one offer."""

    told: Commitment
    bought: CommitmentTerm
    whole: Offer
    start: int
    end: int

    def seconds(self, period: Period) -> int:
        """Seconds of the term within a period."""
        return within(period, self.start, self.end)

    def amortised(self, period: Period) -> Decimal:
        """Dollars of its whole cost that fall on a period."""
        return self._amortised(period.end) - self._amortised(period.start)

    def recurring(self, period: Period) -> Decimal:
        """Dollars that are charged again and again, of a period."""
        return self._paid(period.end) - self._paid(period.start)

    def upfront(self, period: Period) -> Decimal:
        """Dollars that are paid once, where that falls on a period."""
        return self.whole.upfront if period.start <= self.start < period.end else Decimal(0)

    def _hours(self, at: int) -> Decimal:
        return Decimal(max(min(at, self.end) - self.start, 0)) / SECONDS_PER_HOUR

    def _amortised(self, at: int) -> Decimal:
        return exact_dollars(amortised_cost(self.whole, self._hours(at)))

    def _paid(self, at: int) -> Decimal:
        return exact_dollars(commitment_cost(self.whole, self._hours(at)) - self.whole.upfront)


def terms_of(held: Iterable[Commitment], tariff: Tariff, period: Period) -> tuple[Term, ...]:
    """The terms that run in a period, the first to end first.

    Raises EvidenceError for one whose price or kind is not known: what it costs is never taken for nothing.
    """
    found = [_term(c, tariff) for c in held if not why_not(c) and _runs_in(c, period)]
    return tuple(sorted(found, key=lambda t: (t.end, t.told.id)))


def why_not(commitment: Commitment) -> str:
    """Why a commitment is charged for nothing and covers nothing; empty where it counts."""
    if commitment.starts is None:
        return "the cloud does not say when it begins"
    if commitment.state not in _IN_FORCE and not _ended_by_itself(commitment):
        return "it was ended before its time, and the cloud does not say when"
    return ""


def _ended_by_itself(commitment: Commitment) -> bool:
    """Whether a commitment that is over came to the end of its term."""
    starts, ends = commitment.starts, commitment.ends
    if starts is None or ends is None:
        return False
    return (ends - starts).total_seconds() >= commitment.term_years * 364 * 86_400  # ours: a day of slack a year


def _runs_in(commitment: Commitment, period: Period) -> bool:
    start, end = _span(commitment)
    return within(period, start, end) > 0


def _span(commitment: Commitment) -> tuple[int, int]:
    start = int((commitment.starts or datetime.min).timestamp())
    if commitment.ends is not None:
        return start, int(commitment.ends.timestamp())
    return start, start + commitment.term_years * HOURS_PER_YEAR * SECONDS_PER_HOUR


def _term(told: Commitment, tariff: Tariff) -> Term:
    _check(told)
    start, end = _span(told)
    name = _type_of(told, tariff)
    key = OfferKey(tariff.provider, tariff.region, name, told.option, told.term_years, told.payment)
    origin = Origin(f"commitment {told.id}", (told.starts or datetime.min).date())
    whole = Offer(key, told.hourly, told.upfront, origin)
    count = whole.effective_hourly if told.option.is_spend_based else Decimal(told.count)
    if told.option is PurchaseOption.FLEXIBLE_COMMITTED_USE:
        return Term(told, _flexible(whole, tariff), whole, start, end)
    try:
        bought = CommitmentTerm(replace(whole, hourly=told.hourly / count, upfront=told.upfront / count), count, 0)
    except ValueError as error:
        raise EvidenceError(f"commitment {told.id}: {error}") from None
    return Term(told, bought, whole, start, end)


def _flexible(whole: Offer, tariff: Tariff) -> CommitmentTerm:
    """A flexible commitment as it is matched: in dollars at on-demand prices, while what is told is dollars paid."""
    rate = tariff.book.offer(whole.key)
    listed = tariff.book.offer(replace(whole.key, option=PurchaseOption.ON_DEMAND, term_years=0, payment=Payment.NONE))
    return CommitmentTerm(rate, whole.effective_hourly * listed.hourly / rate.effective_hourly, 0)


def _check(told: Commitment) -> None:
    """EvidenceError for what cannot be charged or matched truthfully."""
    if told.currency != "USD":
        raise EvidenceError(f"commitment {told.id} is charged in {told.currency}; reports are in USD")
    if not told.hourly and not told.upfront:
        hint = "say it in section owned of hcloud.yaml: it is then reported on at the price book's price"
        raise EvidenceError(f"commitment {told.id} ({told.option}): the cloud returned no price for it", hint=hint)
    if not told.option.is_spend_based and told.count < 1:
        raise EvidenceError(f"commitment {told.id} ({told.option}): the cloud returned no count for it")
    if told.option is PurchaseOption.FLEXIBLE_COMMITTED_USE and not told.instance_type:
        raise EvidenceError(f"commitment {told.id} ({told.option}): the cloud does not report what it covers")


def _type_of(told: Commitment, tariff: Tariff) -> str:
    """The type it is matched by; of a plan that is bound to a family any type of the family."""
    named = told.instance_type
    if told.option is not PurchaseOption.INSTANCE_SAVINGS_PLAN or (tariff.provider, named) in tariff.book.types:
        return named
    types = tariff.book.types.items()
    found = min((n for (p, n), t in types if p == tariff.provider and t.family == named), default=None)
    if found is None:
        raise EvidenceError(
            f"commitment {told.id} is for family {named!r}, and the price book has no type of that family"
        )
    return found
