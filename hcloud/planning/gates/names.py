"""The rules about names: providers, regions, types, purchase options and tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from hcloud.model.plans.figures import PlanFigures, PlanPart
from hcloud.model.plans.gate import Check, Finding, GateRule, Status


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
