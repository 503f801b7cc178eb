"""Why a strategy with its reserve was chosen by simulation, and why not another: dollars, jobs kept, other wishes."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hcloud.model.plans.operation import OperatingPoint, Operation
from hcloud.model.plans.plan import Plan
from hcloud.planning.strategies.choice import late, meets
from hcloud.planning.strategies.choice_reasons import LATE_ONES, named, told_late
from hcloud.planning.strategies.flips_of_target import (
    higher_target,
    lower_budget,
    lower_target,
    next_best,
    target_of,
)
from hcloud.units import format_money, format_span, percent, signed_money
from hcloud.views.explanations.explanation import Explanation, ExplanationLine, listed, share


def explain_operation(plan: Plan, operation: Operation, against: Iterator[str]) -> Explanation:
    """Why it is run like that; ``against`` is what speaks against the plan besides."""
    chosen = operation.chosen
    saved = operation.baseline.monthly - chosen.monthly
    who = f"{named(chosen)} {operation.reserved_type}" if chosen.reserve else f"{chosen.strategy} with nothing"
    answer = (
        f"run {who} reserved: {format_money(chosen.monthly)} a month,"
        f" {percent(chosen.kept_qos.mean)} of jobs keep their performance"
    )
    lines = (
        ExplanationLine("why", operation.reasons[:1] + plan.reasons[:1], 2),
        ExplanationLine("cost", listed(_beside_points(operation, saved)), 2),
        ExplanationLine("risks", (*_against(operation), *against)),
        ExplanationLine("unless", listed(_wishes(operation)), 3),
    )
    return Explanation("why this plan", answer, lines)


def _beside_points(operation: Operation, saved: Decimal) -> Iterator[str]:
    base, rival = operation.baseline, next_best(operation)
    verb = "less" if saved >= 0 else "more"
    if not operation.is_baseline:
        yield f"{format_money(abs(saved))} a month {verb} than {named(base)} ({share(saved, base.monthly)})"
    if rival is not None:
        yield f"next best {named(rival)}: {beside(rival, operation.chosen)} kept"


def beside(point: OperatingPoint, chosen: OperatingPoint) -> str:
    """A simulated point beside another one: dollars more or less, and the share of jobs."""
    return f"{signed_money(point.monthly - chosen.monthly)} a month, {percent(point.kept_qos.mean)}"


def _against(operation: Operation) -> Iterator[str]:
    chosen = operation.chosen
    if chosen.kept_qos.mean < operation.qos_target and not operation.meets_target:
        yield f"misses the target of {percent(operation.qos_target)} of jobs"
    if waits := told_late(chosen, target_of(operation)):
        yield waits
    if not operation.within_budget:
        yield "over the budget"
    if chosen.kept_qos.half is None:
        yield "one seed, so no interval"
    elif chosen.kept_qos.low < operation.qos_target:
        yield f"its interval reaches down to {percent(chosen.kept_qos.low)}"
    if chosen.wait_p95 is not None and chosen.wait_p95.mean > 0:
        yield f"one job of 20 waits {format_span(chosen.wait_p95.mean)} or longer"


def _wishes(operation: Operation) -> Iterator[str]:
    cheaper, better, poorer = lower_target(operation), higher_target(operation), lower_budget(operation)
    if cheaper is not None:
        saved = operation.chosen.monthly - cheaper.chosen.monthly
        yield f"--qos {cheaper.qos:.3f}: {named(cheaper.chosen)}, {format_money(saved)} a month less"
    if better is not None:
        more = better.chosen.monthly - operation.chosen.monthly
        yield f"--qos above {percent(better.qos)}: {named(better.chosen)}, {signed_money(more)} a month"
    rival = next_best(operation)
    if rival is not None and meets(rival, target_of(operation)) and rival.hourly > operation.chosen.hourly:
        dearer = rival.monthly - operation.chosen.monthly
        yield f"{named(rival)} if it cost {format_money(dearer)} a month less ({share(dearer, rival.monthly)})"
    if poorer is not None and poorer.budget is not None:
        yield f"--budget below {format_money(poorer.budget, 2)}: {named(poorer.chosen)}"


def explain_point(operation: Operation, point: OperatingPoint) -> tuple[str, tuple[ExplanationLine, ...]]:
    """Why a simulated point was not chosen."""
    chosen = operation.chosen
    if point is chosen:
        return f"{named(point)} is the choice", (ExplanationLine("why", operation.reasons),)
    answer = f"not {named(point)}: {beside(point, chosen)} of jobs kept"
    lines = (
        ExplanationLine("why", (point.verdict,)),
        ExplanationLine(
            "chosen",
            (f"{named(chosen)}: {percent(chosen.kept_qos.mean)} kept, {percent(operation.qos_target)} asked for",),
        ),
        ExplanationLine("unless", listed(_brings_in(operation, point))),
    )
    return answer, lines


def _brings_in(operation: Operation, point: OperatingPoint) -> Iterator[str]:
    """What would make a point the chosen one, as far as wishes go; else by how much it would have to be cheaper."""
    dearer = point.monthly - operation.chosen.monthly
    for key, wait, _ in late(point, target_of(operation)):
        yield f"operation.{key}: {format_span(wait)} or more, as {LATE_ONES[key]} begin late"
    if point.kept_qos.mean < operation.qos_target:
        cheapest = all(
            p.hourly >= point.hourly or p.kept_qos.mean < point.kept_qos.mean
            for p in operation.points
            if p is not point
        )
        wish = f"--qos {int(point.kept_qos.mean * 1000) / 1000:.3f} or less"  # cut off, so that what is typed is met
        yield f"{wish} takes it" if cheapest else f"{wish} allows it, but a cheaper one would then be chosen"
    elif dearer > 0:
        yield f"{format_money(dearer)} a month less ({share(dearer, point.monthly)})"
    elif operation.budget is not None and point.monthly > operation.budget:
        yield f"--budget {format_money(point.monthly, 2)} allows it"
