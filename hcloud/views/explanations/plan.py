"""Why a plan, and why not another one: the answer first, then the numbers it rests on and what would turn it round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from hcloud.model.plans.held import begun_later, held_now
from hcloud.model.plans.plan import OWNED, Alternative, Flip, Lever, MixLine, Plan, Refusal, Sizing
from hcloud.planning.explanations.asked import SubjectMatch
from hcloud.units import (
    SECONDS_PER_HOUR,
    counted,
    format_age,
    format_duration,
    format_money,
    format_span,
    percent,
    plain,
)
from hcloud.views.deciding.plan import horizon
from hcloud.views.deciding.plan_tables import option_name
from hcloud.views.explanations.explanation import Explanation, ExplanationLine, listed, share
from hcloud.views.explanations.operation import explain_operation, explain_point

OLD_DAYS = 30  # ours: as apply and commit refuse by default


def explain_plan(plan: Plan) -> Explanation:
    """The whole plan: what was decided, what it saves, what speaks against it, and what would turn it round."""
    if plan.operation is not None:
        return explain_operation(plan, plan.operation, _against(plan))
    saved = plan.now.monthly - plan.after.monthly
    lines = (
        ExplanationLine("why", tuple(_uses(plan))[:1] or plan.reasons[1:2] or plan.reasons, 2),
        ExplanationLine("cost", listed(_beside(plan, saved)), 2),
        ExplanationLine("risks", listed(_against(plan))),
        ExplanationLine("unless", listed(_flips(plan)), 3),
    )
    return Explanation("why this plan", _decision(plan), lines)


def _decision(plan: Plan) -> str:
    bought, after = held_now(plan.purchases), begun_later(plan.purchases)
    cost = f"{format_money(plan.after.monthly)} a month"
    later = f", {counted(len(after), 'purchase')} later" if after else ""
    if not bought:
        return f"nothing reserved, {_types(plan)} rented{later}: {cost}"
    named = " + ".join(f"{plain(m.count)} {m.instance_type} as {option_name(m)}" for m in bought[:2])
    more = f" and {counted(len(bought) - 2, 'more kind')}" if len(bought) > 2 else ""
    return f"{named}{more}, the rest rented{later}: {cost}"


def _types(plan: Plan) -> str:
    return " + ".join(dict.fromkeys(m.instance_type for m in plan.mix))


def _beside(plan: Plan, saved: Decimal) -> Iterator[str]:
    verb = "less" if saved >= 0 else "more"
    yield f"{format_money(abs(saved))} a month {verb} than {plan.unbought} ({share(saved, plan.now.monthly)})"
    types = [r for r in plan.refusals if r.margin is not None and r.address.count("/") == 2]
    if types:
        yield f"next type {_type(types[0].address)}: {more_of(plan, types[0].margin)}"
    offers = [r for r in plan.refusals if r.margin and r.address.count("/") > 2]
    if offers:
        yield f"next offer {offers[0].address.split('/')[-1]}: {more_of(plan, offers[0].margin)}"
    if plan.certificate.optimum:
        gap = plan.certificate.gap
        yield "proven cheapest for its types" if not gap else f"within {format_money(gap)} of the cheapest"


def more_of(plan: Plan, margin: Decimal | None) -> str:
    """A margin over the horizon as dollars and share of the plan."""
    if margin is None:
        return "not counted"
    return f"+{format_money(margin)} over {horizon(plan)} ({share(margin, plan.after.total)})"


def _type(address: str) -> str:
    return address.removeprefix(OWNED).split("/")[2]


def _against(plan: Plan) -> Iterator[str]:
    """The strongest reason first: too short a history, a fall of demand that makes it regret, old evidence."""
    yield from short_history(plan)
    yield from said_of_regret(plan)
    yield from weak_prices(plan)
    if plan.risk is not None and plan.risk.regret_p90 > 0:
        yield f"p90 regret {format_money(plan.risk.regret_p90)}"


def said_of_regret(plan: Plan) -> Iterator[str]:
    """What the plan costs above the best in hindsight if demand falls."""
    falls = [w for w in plan.what_if if w.change < 0]
    lost = [w.planned - w.best_in_hindsight for w in falls]
    if any(lost):
        by = " / ".join(f"{100 * float(w.change):.0f}" for w in falls)
        yield f"demand {by}%: {' / '.join(map(format_money, lost))} of regret"


def short_history(plan: Plan) -> Iterator[str]:
    """The trace, where it is shorter than what is bought on it deserves."""
    if plan.history is not None and not plan.history.is_enough:
        least = format_duration(plan.history.least_hours * SECONDS_PER_HOUR)
        told = format_span(plan.history.hours * SECONDS_PER_HOUR)
        yield f"only {told} of trace, where a {plan.history.term_years}-year term needs {least}"


def weak_prices(plan: Plan) -> Iterator[str]:
    """The prices, where they are old or derived."""
    if plan.price_age_days > OLD_DAYS:
        yield f"prices of {plan.price_day}, {format_age(plan.price_age_days)}"
    if any(m.derived for m in plan.mix):
        yield "derived prices"


def _flips(plan: Plan) -> Iterator[str]:
    """The nearest turning point of each kind: another type, another number reserved, nothing reserved."""
    types = [r for r in plan.refusals if r.flip is not None and r.flip.lever is Lever.TYPE]
    yield from (f"{_type(r.address)} {_by_price(r)}" for r in _nearest(types))
    if not types:
        told = [r for r in plan.refusals if r.flips_if and r.address.count("/") == 2]
        yield from (f"{_type(r.address)} if {r.flips_if}" for r in told[:1])
    yield from said_of_sizes(plan.sizing[:1])
    yield from (f"demand {change(f)} ({f.then})" for f in plan.flips if f.lever is Lever.DEMAND)
    if not plan.purchases:
        offers = [r for r in plan.refusals if r.flip is not None and r.flip.lever is Lever.OFFER]
        yield from (f"{r.address.split('/')[-1]} {_by_price(r)}" for r in _nearest(offers))


def said_of_sizes(sizes: Sequence[Sizing]) -> Iterator[str]:
    """Beyond which prices and which demand another number is reserved."""
    found = [f for size in sizes for f in size.flips]
    for lever, name in ((Lever.COMMITMENTS, "commitments"), (Lever.DEMAND, "demand")):
        mine = [f for f in found if f.lever is lever]
        if mine:
            sooner = ", at the latest" if any(not f.exact for f in mine) else ""
            yield f"{name} {' or '.join(f'{_where(f)} ({_shortly(f)})' for f in mine)}{sooner}"


def _nearest(refusals: Sequence[Refusal]) -> list[Refusal]:
    """The refusal that the least fall of its price turns round, if there is one."""
    return sorted((r for r in refusals if r.flip), key=lambda r: abs(r.flip.change) if r.flip else Decimal(0))[:1]


def _where(flip: Flip) -> str:
    by = change(flip)
    return by if flip.lever is Lever.DEMAND or by.startswith("any") else f"at ${price(flip.at)}/h {by}"


def _shortly(flip: Flip) -> str:
    then = flip.then.removesuffix(" are reserved").removesuffix(" is chosen")
    return _type(then) if "/" in then else then


def _by_price(refusal: Refusal) -> str:
    flip = refusal.flip
    assert flip is not None
    sooner = "" if flip.exact else " at the latest"
    return f"at ${price(flip.at)}/h, not ${price(flip.now)} ({change(flip)}){sooner}"


def price(value: Decimal) -> str:
    """Dollars an hour with as many digits as tell."""
    return f"{value:.4f}"


def change(flip: Flip) -> str:
    """By how much it has to change, in tenths or hundredths of a per cent; what is less is any change at all."""
    by = float(flip.change)
    for digits in (1, 2):
        if round(by, digits + 2):
            return f"{by:+.{digits}%}"
    return "any rise" if by >= 0 else "any fall"


def said_of_flip(flip: Flip) -> str:
    """A turning point in a clause."""
    sooner = "" if flip.exact else ", at the latest"
    then = _type(flip.then.removesuffix(" is chosen")) if "/" in flip.then else flip.then
    if flip.lever is Lever.DEMAND:
        return f"demand {change(flip)}{sooner}: {then}"
    names = {
        Lever.COMMITMENTS: "commitments",
        Lever.ON_DEMAND: "on demand",
        Lever.TYPE: "its prices, on demand",
        Lever.OFFER: "its price",
    }
    side = "above" if flip.at > flip.now else "below"
    return f"{names[flip.lever]} {side} ${price(flip.at)}/h ({change(flip)}){sooner}: {then}"


def explain_why_not(plan: Plan, found: SubjectMatch, words: str) -> Explanation:
    """Why something is not in the plan: by how many dollars, and what would bring it in."""
    subject, question = found.subject, f"why not {words}"
    if isinstance(subject, MixLine):
        lines: tuple[ExplanationLine, ...] = (
            ExplanationLine("it is", (_in_plan(subject),)),
            ExplanationLine("why", plan.reasons),
        )
        return Explanation(question, f"{subject.address} is in the plan", lines)
    if isinstance(subject, Refusal):
        answer, lines = _refused(plan, subject)
    elif isinstance(subject, Alternative):
        answer, lines = _other_plan(plan, subject)
    else:
        assert plan.operation is not None
        answer, lines = explain_point(plan.operation, subject)
    more = (ExplanationLine("also", (f"{found.others} more fit: --full lists them",)),) if found.others else ()
    return Explanation(question, answer, (*lines, *more))


def _in_plan(line: MixLine) -> str:
    count = plain(line.count) if line.option.is_commitment else f"{line.count:,.1f} on average, {line.peak} at most,"
    return f"{count} as {option_name(line)} at ${price(line.hourly)}/h together, {format_money(line.monthly)} a month"


def _refused(plan: Plan, refusal: Refusal) -> tuple[str, tuple[ExplanationLine, ...]]:
    parts = refusal.address.split("/")
    name = f"{parts[2]} in {parts[1]}" if len(parts) == 3 else f"{parts[2]} as {parts[-1]}"
    if refusal.margin is None:
        again = "you allow it and plan again: its cost was not computed"
        return f"not {name}: excluded by a rule", (
            ExplanationLine("rule", (refusal.reason,)),
            ExplanationLine("unless", (again,)),
        )
    answer = f"not {name}: {more_of(plan, refusal.margin)} for the same demand"
    if not refusal.margin and refusal.flip is not None and refusal.flip.at < refusal.flip.now:
        answer = f"not {name}: nothing of it is worth buying here"
    elif not refusal.margin:
        answer = f"not {name}: it costs the same, and the other was listed first"
    elif _buys_none(plan, refusal):
        more = f"{format_money(refusal.margin)} more over {horizon(plan)} ({share(refusal.margin, plan.after.total)})"
        answer = f"not {name}: none of it is worth buying, and {plan.unbought} costs {more}"
    lines = (
        ExplanationLine("why", listed(_why_refused(plan, refusal))),
        ExplanationLine("use", listed(_use_for(plan, refusal))),
        ExplanationLine("unless", listed(_flips_of(refusal)), 2),
    )
    return answer, lines


def _buys_none(plan: Plan, refusal: Refusal) -> bool:
    """Whether the best plan with a commitment buys none of it, so that its cost is that without any purchase."""
    return refusal.pays_above is not None and bool(plan.purchases) and refusal.total == plan.now.total


def _why_refused(plan: Plan, refusal: Refusal) -> Iterator[str]:
    yield refusal.reason
    if refusal.total is None or refusal.margin is None or _buys_none(plan, refusal):
        return
    least = refusal.total - refusal.margin
    if least == plan.after.total:
        yield f"{format_money(refusal.total)} in all against {format_money(least)}"
    else:
        yield (
            f"{format_money(refusal.total)} in all against {format_money(least)} for what the forecast alone asks for"
            f" (this plan, {format_money(plan.after.total)}, was not sized by that alone)"
        )


def _use_for(plan: Plan, refusal: Refusal) -> Iterator[str]:
    """The use above which a commitment pays beside the use that the instances have."""
    if refusal.pays_above is None:
        return
    pays = percent(refusal.pays_above)
    never = f": never within {horizon(plan)}" if refusal.pays_above > 1 else ""
    yield f"its break-even against on demand is {pays}{never}"
    mine = [s for s in plan.sizing if s.address.split("/")[2] == refusal.address.split("/")[2]]
    if mine:
        size = mine[0]
        yield said_of_use(size)
        if refusal.flip is not None and refusal.flip.exact and refusal.pays_above > size.pays_above:
            yield f"at any use {mine[0].address.split('/')[-1]} is cheaper"


def _flips_of(refusal: Refusal) -> Iterator[str]:
    flip = refusal.flip
    if flip is None:
        yield refusal.flips_if or "no lower price changes this: it saves nothing here"
        return
    what = "its prices fall" if flip.lever is Lever.TYPE else "its price falls"
    at = f"${price(flip.at)}/h" + (" on demand" if flip.lever is Lever.TYPE else " effective")
    latest = "" if flip.exact else ", at the latest"
    if flip.at == flip.now:
        yield f"any lower price than {at} takes it"
    else:
        yield f"{what} by {-float(flip.change):.1%}, to {at} from ${price(flip.now)}{latest}"


def _other_plan(plan: Plan, other: Alternative) -> tuple[str, tuple[ExplanationLine, ...]]:
    if other.name == plan.after.name:
        return "this is the plan", (ExplanationLine("why", plan.reasons),)
    versus = other.versus_plan
    answer = f"{other.name}: {more_of(plan, versus)}"
    if versus < 0:
        answer = f"{other.name}: {format_money(-versus)} less over {horizon(plan)}, which whole instances cannot reach"
    elif not versus:
        answer = f"{other.name} costs the same: it is this plan"
    on_demand = other.name == plan.unbought
    flips = (
        [said_of_flip(f) for f in plan.flips] if on_demand else [said_of_flip(f) for s in plan.sizing for f in s.flips]
    )
    by_use = ", by use alone" * (plan.operation is not None)
    lines = (
        ExplanationLine("what", (other.description,)),
        ExplanationLine(
            "costs", (f"{format_money(other.monthly)} a month against {format_money(plan.after.monthly)}{by_use}",)
        ),
        ExplanationLine("why", listed(_uses(plan))),
        ExplanationLine("unless", tuple(flips), 2),
    )
    return answer, lines


def _uses(plan: Plan) -> Iterator[str]:
    for size in plan.sizing:
        counting = "counted in " if size.bought_as else ""
        pays = percent(size.pays_above)
        yield f"{counting}{_type(size.address)}: {said_of_use(size)}; break-even {pays}"


def said_of_use(size: Sizing) -> str:
    """How much of the time the last instance of a commitment is needed, and the one after it would be."""
    last, following = (percent(share) for share in (size.last_use, size.next_use))
    return f"instance {size.count} is in use {last} of the time, the next {following}"
