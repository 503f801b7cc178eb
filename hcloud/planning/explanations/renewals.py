"""What a plan would cost if commitments that end inside its horizon were bought again when they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.model.plans.held import is_soon
from hcloud.model.workload import Demand
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.explanations.reasons import WORTH_A_WORD
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.settings import RiskSettings
from hcloud.units import and_last, format_money


def renewal(decision: FleetDecision, book: PriceBook, demand: Demand, given: Given) -> Iterator[str]:
    """What less is to be bought now where all that ends is bought again then, if the two together cost less. Of what is
    bought again only the part of its term inside the horizon is counted, at today's price."""
    hours = decision.horizon_hours
    ending = [o for o in decision.owned if o.is_used and o.hours_left < hours]
    if not ending or _count(decision) == 0 or decision.fleet.cost != decision.optimum_cost:
        return
    lasting = [replace(o, hours_left=max(o.hours_left, hours)) if o.is_used else o for o in decision.owned]
    settings = replace(decision.settings, risk=RiskSettings(futures=0, falls=()))
    again = decide(book, demand, settings, lasting, replace(given, compared=None))
    cost, total = _total(decision), _total(again)
    if cost - total >= cost * Decimal(str(WORTH_A_WORD)) and _count(again) < _count(decision):
        yield (
            f"{_said_ends(ending)}: buying {_count(again):,} now and those again then costs {format_money(total)} over"
            f" the horizon, {format_money(cost - total)} less than {_count(decision):,} now, if the demand lasts"
            " (counted is the part of their new term inside the horizon); to plan so, state their new end in"
            " owned.expires, and buy them again when they end"
        )


def _count(decision: FleetDecision) -> int:
    return sum(h.count for h in decision.machines.holdings if is_soon(h.start_hour))


def _total(decision: FleetDecision) -> Decimal:
    """Dollars over the horizon, what is owned included, as the plan states them."""
    owned = (o.cost(decision.horizon_hours) for o in decision.owned)
    return sum(owned, decision.machines.cost + decision.spot.cost)


def _said_ends(ending: Sequence[Owned]) -> str:
    days: dict[str, Decimal] = {}
    for owned in sorted(ending, key=lambda o: o.hours_left):
        day = f"on {owned.expires:%Y-%m-%d}" if owned.expires else f"in {owned.hours_left // 24:,} days"
        days[day] = days.get(day, Decimal(0)) + owned.count
    (first, count), *others = days.items()
    return and_last([f"{count:,f} that you own end {first}", *(f"{n:,f} {day}" for day, n in others)])
