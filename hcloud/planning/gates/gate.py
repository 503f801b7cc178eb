"""A plan checked against rules: a pure function of the plan's figures, the rules and what is known around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from hcloud.model.plans.figures import PlanFigures
from hcloud.model.plans.gate import Check, Finding, GateRule
from hcloud.planning.gates import amounts, names
from hcloud.planning.gates.evidence import history

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
