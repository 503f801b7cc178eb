"""The rule about evidence: how long a trace has to be before a commitment is bought on it."""

from __future__ import annotations

from decimal import Decimal

from hcloud.model.plans.figures import NOTHING, PlanFigures
from hcloud.model.plans.gate import Finding, GateRule, Status
from hcloud.planning.gates.amounts import unknown
from hcloud.units import SECONDS_PER_HOUR, counted, format_span, rate

HOURS_PER_DAY = Decimal(24)


def history(rule: GateRule, plan: PlanFigures) -> Finding:
    """Days of trace behind what would be bought for the rule's term or longer; a plan that buys no such term passes."""
    least = rule.bound or NOTHING
    allowed = f"at least {_span(least)}"
    bought = [p for p in plan.parts if p.bought and p.term_years >= rule.term_years]
    if not bought:
        term = f" for {counted(rule.term_years, 'year')} or longer" if rule.term_years else ""
        return Finding(rule, Status.PASSED, f"buys no commitment{term}", allowed)
    if plan.history_hours is None:
        return unknown(rule, "the plan does not say how long its trace is", allowed)
    days = rate(plan.history_hours / HOURS_PER_DAY)
    actual = f"{format_span(float(plan.history_hours) * SECONDS_PER_HOUR)} of trace"
    if days >= least:
        return Finding(rule, Status.PASSED, actual, allowed, days, "days")
    where = tuple(dict.fromkeys(p.address for p in sorted(bought, key=lambda p: (-p.term_total, p.address))))
    advice = "plan from a longer trace, or on demand until there is one: markets.terms: []"
    return Finding(rule, Status.FAILED, actual, allowed, days, "days", where, advice)


def _span(days: Decimal) -> str:
    return format_span(float(days * HOURS_PER_DAY) * SECONDS_PER_HOUR)
