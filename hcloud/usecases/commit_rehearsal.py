"""Prices at which a fake in memory sells commitments for what a plan expects of them, so that it can be rehearsed."""

from __future__ import annotations

from decimal import Decimal

from hcloud.fake.memory_purchases import SHARE_OF_PRICE, UPFRONT_SHARE
from hcloud.model.plan import Plan
from hcloud.model.purchase import PurchasePlan
from hcloud.units import HOURS_PER_YEAR

Prices = dict[str, Decimal]
"""On-demand dollars an hour by type."""


def expected_by(plan: Plan) -> Prices:
    """From what the plan expects its commitments to cost."""
    lines = [m for m in plan.purchases if m.count and m.term_years in SHARE_OF_PRICE]
    return {
        m.instance_type: m.total / m.count / (m.term_years * HOURS_PER_YEAR) / SHARE_OF_PRICE[m.term_years]
        for m in lines
    }


def quoted_in(plan: PurchasePlan) -> Prices:
    """From what its items were quoted at."""
    found = {}
    for item in plan.items:
        order, quote = item.quote.order, item.quote
        if order.count:
            share, hours = UPFRONT_SHARE[order.payment], order.term_years * HOURS_PER_YEAR
            hourly = quote.upfront / (share * hours) if share else quote.hourly
            found[order.instance_type] = hourly / order.count / SHARE_OF_PRICE[order.term_years]
    return found
