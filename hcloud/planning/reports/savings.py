"""What commitments did: how much of the use they covered, how much of them was used, and what that saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from hcloud.catalog.bills.terms import Tariff
from hcloud.catalog.quote import amortised_cost
from hcloud.errors import EvidenceError
from hcloud.model.catalog import Offer, OfferKey, PurchaseOption
from hcloud.model.report import Charge, ChargeFrequency, CommitmentStatus, Costs, MachineRental, Period
from hcloud.planning.reports.report import Counterfactual, Report, ReportedCommitment, is_purchase, total
from hcloud.units import SECONDS_PER_HOUR

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class CommitmentUse:
    """What one commitment cost and did in a period, in dollars. ``covered`` is what it covered, at the price before
    commitments; ``used`` and ``unused`` are the two parts of its amortised cost."""

    holding: ReportedCommitment
    covered: Decimal
    used: Decimal
    unused: Decimal
    upfront: Decimal
    recurring: Decimal

    @property
    def amortised(self) -> Decimal:
        """Its cost for the period."""
        return self.used + self.unused

    @property
    def utilisation(self) -> Decimal | None:
        """The share of it that was used; None where none of its term lay in the period."""
        return self.used / self.amortised if self.amortised else None

    @property
    def saved(self) -> Decimal:
        """Dollars it saved; below 0 where it cost more than it covered."""
        return self.covered - self.amortised

    def days_left(self, at: datetime) -> int | None:
        """Whole days until it ends; None where that is not told, 0 where it is over."""
        return None if self.holding.ends is None else max((self.holding.ends - at).days, 0)


@dataclass(frozen=True, slots=True)
class Savings:
    """Where the difference between list price and effective cost comes from, in dollars of the period. ``sustained``
    is discounts by use and negotiation, ``spot`` what interruptible machines cost less, ``commitments`` what these
    saved, their unused part taken off."""

    costs: Costs
    sustained: Decimal
    spot: Decimal
    commitments: Decimal
    unused: Decimal

    @property
    def saved(self) -> Decimal:
        """All of it."""
        return self.costs.list - self.costs.effective

    @property
    def rate(self) -> Decimal | None:
        """The effective savings rate: what was saved of the list price; None without use."""
        return self.saved / self.costs.list if self.costs.list else None


@dataclass(frozen=True, slots=True)
class Coverage:
    """All commitments together: what could be covered and was, what they cost and how much of that was used."""

    coverable: Decimal
    covered: Decimal
    used: Decimal
    unused: Decimal

    @property
    def coverage(self) -> Decimal | None:
        """The share of the dollars that commitments could cover which they did; None without such use."""
        return self.covered / self.coverable if self.coverable else None

    @property
    def utilisation(self) -> Decimal | None:
        """The share of their dollars that was used; None without commitments."""
        whole = self.used + self.unused
        return self.used / whole if whole else None


def savings(charges: Sequence[Charge]) -> Savings:
    """Where the savings of some charges come from."""
    spot = total(c for c in charges if c.option is PurchaseOption.SPOT and not c.commitment)
    plain = total(c for c in charges if c.option is not PurchaseOption.SPOT and not c.commitment)
    bound = total(c for c in charges if c.commitment and not is_purchase(c))
    unused = sum((c.costs.effective for c in charges if c.status is CommitmentStatus.UNUSED), ZERO)
    return Savings(
        costs=total(charges),
        sustained=plain.list - plain.effective + bound.list - bound.contracted,
        spot=spot.list - spot.effective,
        commitments=bound.contracted - bound.effective,
        unused=unused,
    )


def coverage(charges: Iterable[Charge]) -> Coverage:
    """How much of what could be covered was: at list price, spot machines left out."""
    coverable, covered, used, unused = ZERO, ZERO, ZERO, ZERO
    for charge in charges:
        if charge.resource and charge.option is not PurchaseOption.SPOT:
            coverable += charge.costs.list
        if charge.status is CommitmentStatus.USED:
            covered += charge.costs.list
            used += charge.costs.effective
        elif charge.status is CommitmentStatus.UNUSED:
            unused += charge.costs.effective
    return Coverage(coverable, covered, used, unused)


def uses(report: Report) -> tuple[CommitmentUse, ...]:
    """Each commitment of a report, the first to end first."""
    by_id: dict[str, list[Charge]] = {}
    for charge in report.charges:
        if charge.commitment:
            by_id.setdefault(charge.commitment, []).append(charge)
    found = [_use(holding, by_id.get(holding.id, [])) for holding in report.holdings]
    far = datetime.max.replace(tzinfo=None)
    return tuple(sorted(found, key=lambda u: ((u.holding.ends or far).replace(tzinfo=None), u.holding.id)))


def _use(holding: ReportedCommitment, charges: Sequence[Charge]) -> CommitmentUse:
    used = total(c for c in charges if c.status is CommitmentStatus.USED)
    unused = total(c for c in charges if c.status is CommitmentStatus.UNUSED)
    paid = [c for c in charges if is_purchase(c)]
    once = total(c for c in paid if c.frequency is ChargeFrequency.ONE_TIME)
    again = total(c for c in paid if c.frequency is ChargeFrequency.RECURRING)
    return CommitmentUse(holding, used.contracted, used.effective, unused.effective, once.billed, again.billed)


def against(report: Report) -> tuple[tuple[Counterfactual, Decimal], ...]:
    """Each counterfactual with how much more (or, below 0, less) it would have cost than what is reported."""
    effective = report.costs.effective
    return tuple((one, one.dollars - effective) for one in report.counterfactuals)


INSTANCES = (
    PurchaseOption.RESERVED,
    PurchaseOption.COMMITTED_USE,
    PurchaseOption.RESERVATION,
)
NAME = "all reserved"


def all_reserved(rented: Sequence[MachineRental], tariff: Tariff, period: Period) -> Counterfactual | None:
    """The amortised cost for the period; None where the price book sells no one-year commitment of a type."""
    peaks = peak_counts(rented, period)
    hours = Decimal(period.end - period.start) / SECONDS_PER_HOUR
    dollars = Decimal(0)
    for name, count in sorted(peaks.items()):
        offer = cheapest(name, tariff)
        if offer is None:
            return None
        dollars += amortised_cost(offer, hours) * count
    said = "a one-year commitment, the cheapest of each type, for the most that ran at once"
    return Counterfactual(NAME, said, dollars)


def cheapest(name: str, tariff: Tariff) -> Offer | None:
    """The cheapest one-year commitment of instances of a type; EvidenceError where not even its price is known."""
    on_demand = OfferKey(tariff.provider, tariff.region, name, PurchaseOption.ON_DEMAND)
    if on_demand not in tariff.book.offers:
        raise EvidenceError(f"{on_demand}: the price book has no such price")
    sold = tariff.book.commitments(on_demand)
    fitting = [o for o in sold if o.key.option in INSTANCES and o.key.term_years == 1]
    return min(fitting, key=lambda o: (o.term_cost, str(o.key)), default=None)


def peak_counts(rented: Sequence[MachineRental], period: Period) -> dict[str, int]:
    """The most machines of each type that ran at once within a period."""
    found: dict[str, int] = {}
    for name in sorted({u.instance_type for u in rented}):
        running = most = 0
        for _, change in sorted(_changes([u for u in rented if u.instance_type == name], period)):
            running += change
            most = max(most, running)
        if most:
            found[name] = most
    return found


def _changes(rented: Sequence[MachineRental], period: Period) -> Iterator[tuple[int, int]]:
    for usage in rented:
        if usage.seconds_within(period.start, period.end):
            yield max(usage.start, period.start), 1
            if usage.end is not None:
                yield usage.end, -1
