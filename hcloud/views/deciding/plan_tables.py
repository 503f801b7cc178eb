"""The tables of a plan's page: the mix, alternatives, simulated points, changes, refusals and assumptions."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hcloud.model.plans.operation import Band, OperatingPoint, Operation
from hcloud.model.plans.plan import Plan, Refusal
from hcloud.units import HOURS_PER_MONTH, format_figure, format_money
from hcloud.views.deciding.plan import grouped, instances, price_of
from hcloud.views.tables import Figures

NONE = "–"


def mix_table(plan: Plan) -> Figures:
    """What is bought and rented, and what each part costs."""
    names = ("part of the mix", "region", "price of", "instances", "peak", "break-even", "$/hour", "$/month", "upfront")
    rows = [
        [
            f"{line.instance_type} {label}",
            line.region,
            price_of(line),
            instances(line.count),
            "" if line.option.is_commitment else f"{line.peak:,}",
            "" if line.break_even is None else f"{float(line.break_even):.1%}",
            format_figure(line.hourly, 2),
            format_figure(line.monthly),
            format_figure(line.upfront) if line.upfront else "",
        ]
        for label, line in grouped(plan.mix)
    ]
    upfront = sum((line.upfront for line in plan.mix), Decimal(0))
    total = [
        "total",
        "",
        "",
        "",
        "",
        "",
        format_figure(plan.after.hourly, 2),
        format_figure(plan.after.monthly),
        format_figure(upfront) if upfront else "",
    ]
    return Figures(names, [*rows, total], frozenset(range(3, len(names))))


def alternatives_table(plan: Plan) -> Figures:
    """Other ways to serve the same demand."""
    names = ("alternative", "what it is", "$/month", "$ in all", "against this plan")
    rows = [
        [a.name, a.description, format_figure(a.monthly), format_figure(a.total), _against(plan, a.versus_plan)]
        for a in sorted(plan.alternatives, key=lambda a: (-a.total, a.name))
    ]
    return Figures(names, rows, frozenset({2, 3, 4}), "Alternatives by arithmetic")


def _against(plan: Plan, more: Decimal) -> str:
    if not more or not plan.after.total:
        return ""
    return f"{'+' if more > 0 else '-'}{format_money(abs(more))} ({float(more / plan.after.total):+.1%})"


def points_table(operation: Operation) -> Figures:
    """Every simulated point, and why it was not chosen."""
    names = (
        "strategy", "reserved", "$/month", "jobs that keep 95%, %", "batch p5, %", "tail p95, ×", "wait p95, s",
        "reserve in use, %", "not chosen because",
    )  # fmt: skip
    rows = [_point(p) for p in sorted(operation.points, key=lambda p: (-p.hourly, p.strategy))]
    return Figures(names, rows, frozenset(range(1, len(names) - 1)), "Every simulated point")


def _point(point: OperatingPoint) -> list[str]:
    half = "" if not point.hourly_half else f" ± {point.hourly_half * HOURS_PER_MONTH:,.0f}"
    return [
        point.strategy,
        f"{point.reserve:,}",
        f"{format_figure(point.monthly)}{half}",
        _band(point.kept_qos, 100, 1),
        _band(point.batch_p5, 100, 0),
        _band(point.tail_p95, 1, 1),
        _band(point.wait_p95, 1, 0),
        _band(point.utilisation, 100, 0),
        point.verdict or ("chosen; Pareto-optimal" if point.on_front else "chosen"),
    ]


def _band(band: Band | None, factor: float, digits: int) -> str:
    if band is None:
        return NONE
    half = "" if not band.half else f" ± {band.half * factor:.{digits}f}"
    return f"{band.mean * factor:,.{digits}f}{half}"


def refusals_table(plan: Plan) -> Figures:
    """What was not taken, the nearest first, with its reason and what would flip it."""
    names = ("option", "dearer by", "why not", "would be taken if")
    ranked = sorted(plan.refusals, key=lambda r: (r.margin is None, r.margin or Decimal(0)))
    return Figures(names, [_refused(r) for r in ranked], frozenset({1}), "Every option that was refused")


def _refused(refusal: Refusal) -> list[str]:
    margin = "by rule" if refusal.margin is None else f"+{format_money(refusal.margin)}"
    return [refusal.address, margin, refusal.reason, refusal.flips_if]


def assumptions_table(plan: Plan) -> Figures:
    """The rules and defaults the plan rests on."""
    rows = [[a.key, a.value, a.why] for a in plan.assumptions]
    return Figures(("setting", "value", "why"), rows, title="Assumptions")


def prices_table(plan: Plan) -> Figures:
    """How old the price of each part of the mix is, and where it comes from."""
    rows = [*_prices(plan)]
    return Figures(("price", "from", "days old", "origin"), rows, frozenset({2}), "Prices")


def _prices(plan: Plan) -> Iterator[list[str]]:
    today = plan.generated_at.date()
    seen: set[str] = set()
    for line in plan.mix:
        if line.address not in seen:
            seen.add(line.address)
            origin = f"derived: {line.derived}" if line.derived else "published"
            yield [line.address, str(line.price_day), f"{(today - line.price_day).days:,}", origin]
