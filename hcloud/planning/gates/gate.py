"""A plan checked against rules: a pure function of the plan's figures, the rules and what is known around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase

from hcloud.model.plans.figures import NOTHING, PlanFigures, PlanPart
from hcloud.model.plans.gate import Check, Finding, GateRule, Status
from hcloud.planning.gates import amounts
from hcloud.planning.gates.amounts import unknown
from hcloud.units import SECONDS_PER_HOUR, counted, format_span, rate


def providers(rule: GateRule, plan: PlanFigures) -> Finding:
    """Only these clouds."""
    return _within(rule, plan, lambda p: [p.provider], "name the clouds that are allowed: markets.provider")


def regions(rule: GateRule, plan: PlanFigures) -> Finding:
    """Only these regions."""
    return _within(rule, plan, lambda p: [p.region], "name the regions that are allowed: markets.regions")


def types(rule: GateRule, plan: PlanFigures) -> Finding:
    """Only types of these patterns, those that may take their place included."""
    return _within(rule, plan, _types, "name the families that are allowed: markets.families")


def options(rule: GateRule, plan: PlanFigures) -> Finding:
    """Only these ways to pay."""
    return _within(rule, plan, lambda p: [str(p.option)], "name the options that are allowed: markets.options")


def denied_types(rule: GateRule, plan: PlanFigures) -> Finding:
    """No types of these patterns, nor any that may take their place."""
    bad = [(name, p.address) for p in _open(plan) for name in _types(p) if _matches(name, rule.allowed)]
    return _finding(rule, bad, [name for p in _open(plan) for name in _types(p)], "name others: markets.families")


def tags(rule: GateRule, plan: PlanFigures) -> Finding:
    """Every machine that is launched bears these tags; only a plan for a cloud says which they bear."""
    allowed = f"each with {', '.join(rule.allowed)}"
    told = [p for p in plan.parts if p.tags is not None]
    if not told:
        advice = "plan for a cloud: hcloud plan --cloud aws --out FILE"
        return Finding(rule, Status.UNKNOWN, "the plan does not say which tags there are", allowed, advice=advice)
    missing = sorted({tag for p in told for tag in rule.allowed if tag not in (p.tags or ())})
    bare = tuple(p.address for p in told if any(tag not in (p.tags or ()) for tag in rule.allowed))
    if not missing:
        return Finding(rule, Status.PASSED, f"all {len(told)} with them", allowed)
    advice = "hcloud launches machines with tags of its own only: ask for these, or tag them by a policy of the account"
    return Finding(rule, Status.FAILED, f"without {', '.join(missing)}", allowed, where=bare, advice=advice)


def _within(rule: GateRule, plan: PlanFigures, names: Callable[[PlanPart], Sequence[str]], advice: str) -> Finding:
    """Whether every name of what the plan decides is allowed; what is owned already is as it is."""
    bad = [(name, p.address) for p in _open(plan) for name in names(p) if not _matches(name, rule.allowed)]
    return _finding(rule, bad, [name for p in _open(plan) for name in names(p)], advice)


def _finding(rule: GateRule, bad: Sequence[tuple[str, str]], all_names: Sequence[str], advice: str) -> Finding:
    how = "none of" if rule.check is Check.DENIED_TYPES else "only"
    allowed = f"{how} {', '.join(rule.allowed)}"
    if not bad:
        return Finding(rule, Status.PASSED, ", ".join(sorted(set(all_names))) or "nothing", allowed)
    actual = ", ".join(dict.fromkeys(name for name, _ in bad))
    where = tuple(dict.fromkeys(address for _, address in bad))
    return Finding(rule, Status.FAILED, actual, allowed, where=where, advice=advice)


def _open(plan: PlanFigures) -> list[PlanPart]:
    """What the plan decides about, what its strategy would rent included."""
    return [p for p in (*plan.parts, *plan.operated) if not p.is_owned]


def _types(part: PlanPart) -> tuple[str, ...]:
    return (part.instance_type, *part.others)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a name is of one of the shell patterns; upper and lower case are told apart, as the clouds do."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


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
    Check.HOURLY: amounts.cost,
    Check.MONTHLY: amounts.cost,
    Check.COMMITMENT: amounts.commitment,
    Check.COMMITTED_SHARE: amounts.committed_share,
    Check.LONGEST_TERM: amounts.longest_term,
    Check.UPFRONT: amounts.upfront,
    Check.INSTANCES: amounts.instances,
    Check.KEPT_QOS: amounts.kept_qos,
    Check.REGRET: amounts.regret,
    Check.HISTORY: history,
    Check.PROVIDERS: providers,
    Check.REGIONS: regions,
    Check.TYPES: types,
    Check.DENIED_TYPES: denied_types,
    Check.OPTIONS: options,
    Check.TAGS: tags,
}
_INCREASES = (Check.INCREASE_HOURLY, Check.INCREASE_MONTHLY, Check.INCREASE_SHARE)


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
        return amounts.increase(rule, plan, around.base)
    return _BY_PLAN[rule.check](rule, plan)
