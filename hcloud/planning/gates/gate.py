"""A plan checked against rules: a pure function of the plan's figures, the rules and what is known around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from hcloud.model.plans.figures import NOTHING, PlanFigures
from hcloud.model.plans.gate import Check, Finding, GateRule, Status
from hcloud.planning.gates import amounts, names
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


Judge = Callable[[GateRule, PlanFigures], Finding]

_BY_PLAN: Mapping[Check, Judge] = {
    Check.HOURLY: amounts.hourly,
    Check.MONTHLY: amounts.monthly,
    Check.COMMITMENT: amounts.commitment,
    Check.COMMITTED_SHARE: amounts.committed_share,
    Check.LONGEST_TERM: amounts.longest_term,
    Check.UPFRONT: amounts.upfront,
    Check.INSTANCES: amounts.instances,
    Check.KEPT_QOS: amounts.kept_qos,
    Check.REGRET: amounts.regret,
    Check.HISTORY: history,
    Check.PROVIDERS: names.providers,
    Check.REGIONS: names.regions,
    Check.TYPES: names.types,
    Check.DENIED_TYPES: names.denied_types,
    Check.OPTIONS: names.options,
    Check.TAGS: names.tags,
}
_INCREASES = {
    Check.INCREASE_HOURLY: amounts.increase_hourly,
    Check.INCREASE_MONTHLY: amounts.increase_monthly,
    Check.INCREASE_SHARE: amounts.increase_share,
}


@dataclass(frozen=True, slots=True)
class Around:
    """What is known beside the plan: the day it is checked on, and the plan it is compared with, None without one.

    ``first`` says that there is none because this is the first plan: it is then compared with nothing at all.
    """

    today: date
    base: PlanFigures | None = None
    first: bool = False


def check_plan(plan: PlanFigures, rules: Sequence[GateRule], around: Around) -> tuple[Finding, ...]:
    """What came of each rule, in the order of the rules."""
    return tuple(_judged(rule, plan, around) for rule in rules)


def _judged(rule: GateRule, plan: PlanFigures, around: Around) -> Finding:
    if rule.check is Check.PRICE_AGE:
        return amounts.price_age(rule, plan, around.today)
    if rule.check in _INCREASES:
        if around.base is None and not around.first:
            return amounts.not_compared(rule)
        return _INCREASES[rule.check](rule, plan, around.base)
    return _BY_PLAN[rule.check](rule, plan)
