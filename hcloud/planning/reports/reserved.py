"""What the same machines would have cost all under commitments: bought for the most of each type that ran at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from hcloud.catalog.bills.tariff import Tariff
from hcloud.catalog.quote import amortised_cost
from hcloud.errors import EvidenceError
from hcloud.model.catalog import Offer, OfferKey, PurchaseOption
from hcloud.model.report import MachineRental, Period
from hcloud.planning.reports.report import Counterfactual
from hcloud.units import SECONDS_PER_HOUR

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
