"""The one price formula: what usage and commitments cost, for planner, simulator, report and apply alike."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from hcloud.model.catalog import BillingRule, Offer, SustainedUse
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR


def billed_seconds(seconds: int, rule: BillingRule) -> int:
    """Seconds charged for a rental of ``seconds``: rounded up to the billing step, at least the minimum.

    Zero seconds cost nothing; a negative duration raises ValueError.
    """
    if seconds < 0:
        raise ValueError(f"a rental cannot last {seconds} s")
    if seconds == 0:
        return 0
    stepped = -(-seconds // rule.step_seconds) * rule.step_seconds
    return max(stepped, rule.minimum_seconds)


def rental_cost(offer: Offer, seconds: int, rule: BillingRule) -> Decimal:
    """Dollars for one rental interval of an on-demand or spot offer."""
    return offer.hourly * billed_seconds(seconds, rule) / SECONDS_PER_HOUR


def usage_cost(offer: Offer, instance_hours: Decimal) -> Decimal:
    """Dollars for instance-hours already rounded to the billing step, at the offer's hourly price."""
    return offer.hourly * instance_hours


def commitment_cost(offer: Offer, hours: int | Decimal) -> Decimal:
    """Cash paid in the first ``hours`` of a term for one instance: the upfront payment, then the recurring charge.

    It never runs past the end of the term.
    """
    return offer.upfront + offer.hourly * min(hours, offer.term_hours)


def amortised_cost(offer: Offer, hours: int | Decimal) -> Decimal:
    """The share of the term's whole cost that falls on its first ``hours`` (effective cost in FOCUS terms)."""
    return offer.effective_hourly * min(hours, offer.term_hours)


@lru_cache(maxsize=1 << 14)
def sustained_factor(rule: SustainedUse, utilisation: Decimal) -> Decimal:
    """List-price hours charged per month-hour for a resource in use a fraction ``utilisation`` of the month.

    Successive equal parts of the month are charged at successive tiers (Google's published incremental rule), so half a
    month at tiers 1, 0.8, 0.6, 0.4 costs 0.25 + 0.25 x 0.8 = 0.45 of a month at list price.
    Raises ValueError outside [0, 1].
    """
    if not 0 <= utilisation <= 1:
        raise ValueError(f"a utilisation of {utilisation} is outside 0..1")
    part = Decimal(1) / len(rule.tiers)
    charged = Decimal(0)
    for index, tier in enumerate(rule.tiers):
        inside = min(max(utilisation - index * part, Decimal(0)), part)
        charged += inside * tier
    return charged


def monthly_sustained_cost(hourly: Decimal, rule: SustainedUse, utilisation: Decimal) -> Decimal:
    """Dollars a month (730 h) for one resource in use a fraction of the month, at a list price of ``hourly``."""
    return hourly * HOURS_PER_MONTH * sustained_factor(rule, utilisation)


def break_even(committed: Decimal, on_demand: Decimal, rule: SustainedUse | None = None) -> Decimal:
    """The share of a span an instance must be in use for a commitment of ``committed`` dollars over it to cost the same
    as ``on_demand`` dollars for using it throughout at list price; above 1 it never pays.

    Under sustained use the tiers are walked: the last hours of a month are the cheapest, so it takes more of them.
    Raises ValueError where on-demand is free.
    """
    if on_demand <= 0:
        raise ValueError("on-demand use costs nothing")
    wanted = committed / on_demand
    if rule is None:
        return wanted
    part, below = Decimal(1) / len(rule.tiers), Decimal(0)
    for index, tier in enumerate(rule.tiers):
        if wanted <= below + part * tier:
            return index * part + (wanted - below) / tier
        below += part * tier
    return wanted / below
