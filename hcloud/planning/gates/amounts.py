"""The rules about amounts: dollars, counts, terms, predicted quality, regret, the age of prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial

from hcloud.model.plans.figures import NOTHING, PlanFigures, PlanPart
from hcloud.model.plans.gate import Check, Finding, GateRule, Status
from hcloud.model.plans.held import by_day, fullest, mean_held
from hcloud.units import counted, exact_money, format_money, plain, rate, short_percent

NAMED = 5  # ours: addresses that are named with a finding, the dearest first


@dataclass(frozen=True, slots=True)
class _PlanAmounts:
    """What a rule looked at: the figure in the unit of its check, and the parts it comes from."""

    figure: Decimal
    parts: Sequence[PlanPart]
    advice: str
    remark: str = ""


def cost(rule: GateRule, plan: PlanFigures) -> Finding:
    """Dollars an hour or a month."""
    dollars, remark = _told(plan)
    figure = dollars[rule.check is Check.MONTHLY]
    return _priced(rule, plan, _PlanAmounts(figure, _dearest(plan.parts), _CHEAPER, remark))


def increase(rule: GateRule, plan: PlanFigures, base: PlanFigures | None) -> Finding:
    """Dollars an hour or a month more than before, or by which part."""
    before, after = _compared(plan, base)
    more = after[0] - before[0] if rule.check is not Check.INCREASE_MONTHLY else after[1] - before[1]
    if rule.check is Check.INCREASE_SHARE:
        if not before[0]:
            return unknown(rule, "the earlier plan costs nothing, so the increase has no percentage", _amount(rule))
        more = rate(after[0] / before[0] - 1)
    if base is not None and base.currency != plan.currency:
        return unknown(rule, f"the plan before is in {base.currency}, not in {plan.currency}", _amount(rule))
    if base is not None and base.unpriced:
        return _unpriced(rule, base)
    return _priced(rule, plan, _PlanAmounts(more, _grown(plan, base), _LESS))


_CHEAPER = "plan for less, or have the budget raised"
_LESS = "'hcloud diff' shows the causes; have the increase allowed, or split it"


def _told(plan: PlanFigures) -> tuple[tuple[Decimal, Decimal], str]:
    """Dollars an hour and a month: as simulated where that was done, which knows gaps, starts and idle instances."""
    if plan.quality is None:
        return (plan.hourly, plan.monthly), ""
    return (plan.quality.hourly, plan.quality.monthly), " as simulated"


def _compared(plan: PlanFigures, base: PlanFigures | None) -> tuple[tuple[Decimal, Decimal], tuple[Decimal, Decimal]]:
    """The same of both plans, of the same kind: as simulated only where both were. No plan before costs nothing."""
    if base is None:
        return (NOTHING, NOTHING), _told(plan)[0]
    if base.quality is None or plan.quality is None:
        return (base.hourly, base.monthly), (plan.hourly, plan.monthly)
    return _told(base)[0], _told(plan)[0]


def not_compared(rule: GateRule) -> Finding:
    """A rule about an increase, and no plan to compare with."""
    allowed, advice = _amount(rule), "name the plan before with --base"
    return Finding(rule, Status.UNKNOWN, "no plan to compare with", allowed, advice=advice)


def _priced(rule: GateRule, plan: PlanFigures, found: _PlanAmounts) -> Finding:
    """An amount of dollars; not known where something stands whose price is not."""
    return _unpriced(rule, plan) if plan.unpriced else _at_most(rule, found)


def _unpriced(rule: GateRule, plan: PlanFigures) -> Finding:
    text = f"no price for {', '.join(plan.unpriced)}"
    return Finding(rule, Status.UNKNOWN, text, _amount(rule), advice="bring their prices: hcloud pricing import")


def commitment(rule: GateRule, plan: PlanFigures) -> Finding:
    """Dollars over the whole terms of what would be bought."""
    bought = [p for p in plan.parts if p.bought]
    total = sum((p.term_total for p in bought), NOTHING)
    advice = "allow shorter terms or fewer options (markets.terms, markets.options), or have more approved"
    return _at_most(rule, _PlanAmounts(total, _dearest(bought), advice))


def committed_share(rule: GateRule, plan: PlanFigures) -> Finding:
    """Which part of the capacity is committed, owned included: of vCPUs in the mean over the horizon, to which a term
    adds what it is held of it."""
    if not plan.parts or any(p.vcpus is None for p in plan.parts):
        return unknown(rule, "the plan does not say how many vCPUs its parts have", _amount(rule))
    held = [p for p in plan.parts if p.option.is_commitment]
    committed, total = (mean_held(parts, _vcpus, plan.horizon_hours) for parts in (held, plan.parts))
    share = rate(committed / total) if total else NOTHING
    advice = "size the reserve by regret (planning.regret_quantile) or leave less to commitments"
    return _at_most(rule, _PlanAmounts(share, _dearest(held), advice, " in the mean"))


def _vcpus(part: PlanPart) -> Decimal:
    return part.vcpus or NOTHING


def longest_term(rule: GateRule, plan: PlanFigures) -> Finding:
    """The longest term of what would be bought, in years."""
    longest = plan.longest_term_years
    parts = [p for p in plan.parts if p.bought and p.term_years == longest]
    return _at_most(rule, _PlanAmounts(Decimal(longest), _dearest(parts), "allow only shorter terms: markets.terms"))


def upfront(rule: GateRule, plan: PlanFigures) -> Finding:
    """The most cash due on one day: now, or when something is bought later."""
    days = by_day(p for p in plan.parts if p.upfront)
    due = {day: sum((p.upfront for p in parts), NOTHING) for day, parts in days.items()}
    day = max(due, key=lambda day: due[day], default=0)
    advice = "allow payments with less upfront: markets.payments"
    dearest = _dearest(days.get(day, []))
    return _at_most(rule, _PlanAmounts(due.get(day, NOTHING), dearest, advice, _when(day) if due else ""))


def _when(day: int) -> str:
    return f" due on day {day:,}" if day else " due now"


def instances(rule: GateRule, plan: PlanFigures) -> Finding:
    """The most instances at one moment, if all that is rented had its peak then."""
    at_once = fullest(plan.parts, _peak)
    parts = sorted(at_once, key=lambda p: (-p.peak, p.address))
    advice = "take larger types (markets.vcpus), or raise the limit"
    count = sum(map(_peak, at_once), NOTHING)
    return _at_most(rule, _PlanAmounts(count, parts, advice, " at one moment"))


def _peak(part: PlanPart) -> Decimal:
    return Decimal(part.peak)


def kept_qos(rule: GateRule, plan: PlanFigures) -> Finding:
    """The share of jobs that is predicted to keep its performance, in the mean over the seeds, as plans choose by."""
    bound = rule.bound or NOTHING
    allowed = f"at least {_percent(bound)}"
    if (kept := plan.kept) is None:
        advice = "predict it: hcloud plan --strategy auto, or operation.strategy in hcloud.yaml"
        return Finding(rule, Status.UNKNOWN, "the plan predicts no quality", allowed, advice=advice)
    share = Decimal(repr(kept.mean))
    spread = "" if kept.half is None else f" ±{kept.half:.1%}"
    status = Status.PASSED if share >= bound else Status.FAILED
    advice = "" if status is Status.PASSED else f"plan for it: --qos {plain(bound)}, or allow more dollars"
    return Finding(rule, status, f"{_percent(share)}{spread}", allowed, share, "of the jobs", advice=advice)


def regret(rule: GateRule, plan: PlanFigures) -> Finding:
    """Dollars over the horizon that the plan costs more than the best one in hindsight, if demand falls."""
    fall = rule.fall or NOTHING
    case = next((w for w in plan.what_if if w.change == -fall), None)
    if case is None:
        text = f"the plan does not say what happens if demand falls by {_percent(fall)}"
        advice = f"ask it: planning.falls: [{plain(fall)}]"
        return Finding(rule, Status.UNKNOWN, text, _amount(rule), advice=advice)
    held = _dearest([p for p in plan.parts if p.option.is_commitment])
    advice = "commit to less: planning.regret_quantile, shorter terms, or less upfront"
    remark = f" if demand falls by {_percent(fall)}"
    return _at_most(rule, _PlanAmounts(case.planned - case.best_in_hindsight, held, advice, remark))


def price_age(rule: GateRule, plan: PlanFigures, today: date) -> Finding:
    """Days since the oldest price."""
    if plan.price_day is None:
        return unknown(rule, "the plan does not state the date of its prices", _amount(rule))
    oldest = [p for p in plan.parts if p.price_day == plan.price_day]
    age = Decimal((today - plan.price_day).days)
    if age < 0:
        return unknown(rule, f"the oldest price is of {plan.price_day}, after the day of this check", _amount(rule))
    advice = "fetch newer ones: hcloud pricing refresh, or hcloud pricing import"
    return _at_most(rule, _PlanAmounts(age, _dearest(oldest), advice))


def unknown(rule: GateRule, text: str, allowed: str) -> Finding:
    """A rule whose evidence is missing."""
    return Finding(rule, Status.UNKNOWN, text, allowed)


def _at_most(rule: GateRule, found: _PlanAmounts) -> Finding:
    unit, write = _WRITTEN[rule.check]
    kept = found.figure <= (rule.bound or NOTHING)
    actual = f"{write(found.figure)}{found.remark}"
    where = () if kept else tuple(dict.fromkeys(p.address for p in found.parts))[:NAMED]
    status, advice = (Status.PASSED, "") if kept else (Status.FAILED, found.advice)
    return Finding(rule, status, actual, _amount(rule), found.figure, unit, where, advice)


def _amount(rule: GateRule) -> str:
    """The bound of a rule in words."""
    return f"at most {_WRITTEN[rule.check][1](rule.bound or NOTHING)}"


def _dearest(parts: Sequence[PlanPart]) -> list[PlanPart]:
    return sorted(parts, key=lambda p: (-p.hourly, p.address))


def _grown(plan: PlanFigures, base: PlanFigures | None) -> list[PlanPart]:
    """The parts that cost more than before, the largest increase first."""
    before = {} if base is None else {(p.address, p.starts_hour): p.hourly for p in base.parts}
    more = {p: p.hourly - before.get((p.address, p.starts_hour), NOTHING) for p in plan.parts}
    return sorted((p for p, by in more.items() if by > 0), key=lambda p: (-more[p], p.address))


def _rate(amount: Decimal) -> str:
    return f"{format_money(amount, 4)}/h"


_percent = partial(short_percent, places=2)


def _years(count: Decimal) -> str:
    return counted(int(count), "year")


def _number(count: Decimal) -> str:
    return f"{count:,.0f}"


def _days(count: Decimal) -> str:
    return f"{count:,.1f} days" if count % 1 else counted(int(count), "day")


_WRITTEN: dict[Check, tuple[str, Callable[[Decimal], str]]] = {
    Check.HOURLY: ("$/h", _rate),
    Check.MONTHLY: ("$/month", exact_money),
    Check.INCREASE_HOURLY: ("$/h more", _rate),
    Check.INCREASE_MONTHLY: ("$/month more", exact_money),
    Check.INCREASE_SHARE: ("of what it was", _percent),
    Check.COMMITMENT: ("$ over the terms", exact_money),
    Check.COMMITTED_SHARE: ("of the vCPUs", _percent),
    Check.LONGEST_TERM: ("years", _years),
    Check.UPFRONT: ("$ upfront", exact_money),
    Check.INSTANCES: ("instances", _number),
    Check.REGRET: ("$", exact_money),
    Check.PRICE_AGE: ("days", _days),
}
"""The unit of what each check compares, and how an amount of it is written."""
