"""Why a commitment is bought in its number: the last instance beside the next, and what it costs if demand falls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from hcloud.model.holdings.purchase import PurchaseItem, PurchasePlan
from hcloud.model.plans.held import HOURS_PER_DAY, begun_later, held_now, most_held, said_days
from hcloud.model.plans.plan import MixLine, Plan, Sizing
from hcloud.units import counted, format_money, percent, plain
from hcloud.views.deciding.plan import horizon
from hcloud.views.deciding.plan_tables import option_name
from hcloud.views.explanations.explanation import Explanation, ExplanationLine, listed
from hcloud.views.explanations.operation import beside
from hcloud.views.explanations.plan import (
    said_of_flip,
    said_of_regret,
    said_of_sizes,
    said_of_use,
    short_history,
)


def explain_commitment(plan: Plan, line: MixLine) -> Explanation:
    """Why so many of it, by break-even, regret and turning points."""
    size = plan.sizing_of(line)
    same = [m for m in plan.purchases if m.address == line.address]
    bound, monthly = (sum((getattr(m, name) for m in same), Decimal(0)) for name in ("total", "monthly"))
    answer = (
        f"{_lots(same, line)}: {format_money(monthly)} a month, {format_money(bound)} committed over {horizon(plan)}"
    )
    answer += "".join(f"; {said}" for said in short_history(plan))
    lines = (
        ExplanationLine("why", listed(_why(plan, line, size)), 2),
        ExplanationLine("gains", listed(_gains(size))),
        ExplanationLine("chosen", listed(_by_simulation(plan))),
        ExplanationLine("regret", listed(_regret(plan))),
        ExplanationLine("unless", listed(_flips(plan, size)), 3),
    )
    return Explanation(f"why {line.address}", answer, lines)


def _lots(same: Sequence[MixLine], line: MixLine) -> str:
    """How many are bought when, and how many of them are held at one time."""
    now, later, name = held_now(same), begun_later(same), f"{line.instance_type} as {option_name(line)}"
    most = plain(most_held(same, _count))
    if not later:
        return f"{most} {name}"
    if not now:
        return f"{most} {name}, on {said_days(later)}"
    return f"{plain(most_held(now, _count))} {name}, again on {said_days(later)} (at most {most} at once)"


def _count(line: MixLine) -> Decimal:
    return line.count


def _vcpus(line: MixLine) -> Decimal:
    return line.vcpus


def _why(plan: Plan, line: MixLine, size: Sizing | None) -> Iterator[str]:
    if size is None:
        yield from _why_unsized(plan, line)
        return
    if size.bought_as:
        yield f"counted in {size.address.split('/')[2]}, of which {size.count} are bought in larger sizes"
    yield f"its break-even is {percent(size.pays_above)}; {said_of_use(size)}"


def _why_unsized(plan: Plan, line: MixLine) -> Iterator[str]:
    """A reserve that changes has no one number that would be in use for one share of the time."""
    if line.break_even is not None:
        yield f"its break-even is {percent(line.break_even)}"
    if begun_later(plan.purchases):
        now, most = (plain(most_held(lines, _vcpus)) for lines in (held_now(plan.purchases), plan.purchases))
        yield f"what is bought follows the demand planned for: {now} vCPUs now, at most {most} at once"
    elif line.ends_hour is not None and line.ends_hour < plan.horizon_hours:
        day, days = (hours // HOURS_PER_DAY for hours in (line.ends_hour, plan.horizon_hours))
        yield f"its term ends on day {day:,} of {days:,}, and for the rest another one would not pay"


def _flips(plan: Plan, size: Sizing | None) -> Iterator[str]:
    if size is not None:
        yield from said_of_sizes([size])
    yield from map(said_of_flip, plan.flips)


def _gains(size: Sizing | None) -> Iterator[str]:
    if size is not None:
        last, following = _gain(size.last_gain), _gain(size.next_gain)
        yield f"against renting, instance {size.count} {last}, number {size.count + 1} {following}"


def _gain(dollars: Decimal) -> str:
    verb = "saves" if dollars >= 0 else "loses"
    return f"{verb} {format_money(abs(dollars))}"


def _by_simulation(plan: Plan) -> Iterator[str]:
    """Where strategies were simulated: the reserves next to the chosen one, and what they would do."""
    operation = plan.operation
    if operation is None:
        return
    chosen = operation.chosen
    kept, asked = percent(chosen.kept_qos.mean), percent(operation.qos_target)
    yield f"by simulation as {chosen.strategy}: {kept} of jobs kept, {asked} asked for"
    mine = sorted((p for p in operation.points if p.strategy == chosen.strategy), key=lambda p: p.reserve)
    at = mine.index(chosen)
    for point in (*mine[max(at - 1, 0) : at], *mine[at + 1 : at + 2]):
        yield f"{point.reserve} reserved: {beside(point, chosen)} kept"


def _regret(plan: Plan) -> Iterator[str]:
    yield from said_of_regret(plan)
    if plan.what_if:
        worst = min(plan.what_if, key=lambda w: w.change)
        yield f"{format_money(worst.unused_commitment)} of commitment unused at {float(worst.change):+.0%}"


def explain_purchases(purchases: PurchasePlan) -> Explanation:
    """What a purchase plan would buy once, and where the reasons are."""
    items = sorted(purchases.items, key=lambda i: -i.amount)
    answer = f"{counted(len(items), 'purchase')}: {format_money(purchases.amount, 2)} committed over the terms"
    lines = (
        *(ExplanationLine(f"buy {at}", (_item(item),)) for at, item in enumerate(items[:3], 1)),
        ExplanationLine("more", (f"{len(items) - 3} smaller ones",) if len(items) > 3 else ()),
        ExplanationLine(
            "due",
            (_due(purchases), f"valid until {purchases.expires:%Y-%m-%d %H:%M} UTC"),
        ),
        ExplanationLine("why", ("the plan explains it: hcloud explain PLAN --commitment ADDRESS",)),
    )
    return Explanation("why these purchases", answer, lines)


def _due(purchases: PurchasePlan) -> str:
    """The cash of what begins now, and of what is queued for a later day."""
    later = sum((i.quote.upfront for i in purchases.items if i.quote.order.starts is not None), Decimal(0))
    queued = f", {format_money(later, 2)} when what is queued begins" if later else ""
    return f"{format_money(purchases.upfront - later, 2)} at once{queued}"


def _item(item: PurchaseItem) -> str:
    order = item.quote.order
    wanted = f"{order.count}" if order.dollars_per_hour is None else f"${order.dollars_per_hour:f}/h"
    return f"{wanted} of {item.address}: {format_money(item.amount, 2)}"
