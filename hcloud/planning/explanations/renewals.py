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
from hcloud.units import and_last, counted, counted_vcpus, format_money, plain


def renewal(decision: FleetDecision, book: PriceBook, demand: Demand, given: Given, why_not: str = "") -> Iterator[str]:
    """What less is to be bought now where all that ends is bought again then, if the two together cost less. Of what is
    bought again only the part of its term inside the horizon is counted, at today's price. Where that is not compared,
    for the reason ``why_not`` or as the reserve is sized by regret, that is said."""
    hours = decision.horizon_hours
    ending = [o for o in decision.owned if o.is_used and o.hours_left < hours]
    if not ending or not (bought := _vcpus_now(decision)):
        return
    if why_not or decision.fleet.cost != decision.optimum_cost:
        yield (
            f"you own {_said_ends(ending)}: the {counted_vcpus(bought)} that are reserved now also serve the demand"
            f" after that; reserving fewer and renewing those may cost less and was not compared"
            f" ({why_not or 'the reserve is sized by regret'})"
        )
        return
    lasting = [replace(o, hours_left=max(o.hours_left, hours)) if o.is_used else o for o in decision.owned]
    settings = replace(decision.settings, risk=RiskSettings(futures=0, falls=()))
    again = decide(book, demand, settings, lasting, replace(given, compared=None))
    cost, total = decision.cost, again.cost
    fewer = _vcpus_now(again)
    if cost - total >= cost * Decimal(str(WORTH_A_WORD)) and fewer < bought:
        yield (
            f"you own {_said_ends(ending)}: reserving {counted_vcpus(fewer)} now and renewing those then"
            f" costs {format_money(total)} over the horizon, {format_money(cost - total)} less than reserving"
            f" {counted_vcpus(bought)} now, if the demand lasts (of a renewed term only the part inside the horizon is"
            " counted); to plan for that, set owned.expires to the renewed end, and renew in time"
        )


def _vcpus_now(decision: FleetDecision) -> float:
    """vCPUs of what is bought at the beginning, in whatever sizes."""
    vcpus = {candidate.shape.name: candidate.shape.vcpus for candidate in decision.types}
    bought = (h for h in decision.fleet.holdings if is_soon(h.start_hour))
    return sum((float(vcpus[h.offer.key.instance_type] * h.count) for h in bought), 0.0)


def _said_ends(ending: Sequence[Owned]) -> str:
    """``4 x m5.large until 2027-05-01``, each type and each day once."""
    found: dict[tuple[str, str], Decimal] = {}
    for owned in sorted(ending, key=lambda o: o.hours_left):
        day = f"until {owned.expires:%Y-%m-%d}" if owned.expires else f"for {counted(owned.hours_left // 24, 'day')}"
        found[owned.shape.name, day] = found.get((owned.shape.name, day), Decimal(0)) + owned.count
    return and_last(f"{plain(round(count, 2))} x {name} {day}" for (name, day), count in found.items())
