"""Simulated strategies of a plan: dollars beside quality as a table, as sentences and as a picture of the front."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcloud.model.operation import Band, OperatingPoint, Operation
from hcloud.units import HOURS_PER_MONTH, format_duration, format_money
from hcloud.views.tables import Figures, fitted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hcloud.model.plan import Plan

_NONE = "-"


def points_table(operation: Operation, width: int, *, every: bool = False) -> RenderableType:
    """The chosen point and the best one of each other strategy, or ``every`` one, by falling cost."""
    shown = operation.points if every else _telling(operation)
    rows = [_row(p) for p in sorted(shown, key=lambda p: (-p.hourly, p.strategy))]
    names = ("simulated", "reserved", "$/month", "kept %", "batch p5 %", "tail p95", "wait p95 s", "")
    return fitted(Figures(names, rows, frozenset(range(1, len(names) - 1))), width)


def _telling(operation: Operation) -> list[OperatingPoint]:
    """The chosen point, and of every other strategy the cheapest that meets the target, else the best."""
    best: dict[str, OperatingPoint] = {operation.chosen.strategy: operation.chosen}
    for point in sorted(operation.points, key=lambda p: _rank(p, operation.qos_target)):
        best.setdefault(point.strategy, point)
    return list(best.values())


def _rank(point: OperatingPoint, target: float) -> tuple[bool, float]:
    good = point.kept_qos.mean >= target
    return not good, float(point.hourly) if good else -point.kept_qos.mean


def _row(point: OperatingPoint) -> list[str]:
    half = "" if point.hourly_half is None else f" ±{point.hourly_half * HOURS_PER_MONTH:,.0f}"
    mark = "chosen" if not point.verdict else "front" if point.on_front else ""
    return [
        point.strategy,
        f"{point.reserve:,}",
        f"{point.monthly:,.0f}{half}",
        _band(point.kept_qos, 100, 1),
        _mean(point.batch_p5, 100, 0),
        _mean(point.tail_p95, 1, 1),
        _mean(point.wait_p95, 1, 0),
        mark,
    ]


def _mean(band: Band | None, factor: float, digits: int) -> str:
    return _NONE if band is None else f"{band.mean * factor:,.{digits}f}"


def _band(band: Band, factor: float, digits: int) -> str:
    half = "" if band.half is None else f" ±{band.half * factor:.{digits}f}"
    return f"{band.mean * factor:,.{digits}f}{half}"


def said_of(operation: Operation) -> Iterator[str]:
    """Why the point was chosen, and the numbers it is to be run with."""
    yield from operation.reasons
    yield f"operate it as {operation.strategy}: {', '.join(_numbers(operation))}"
    seeds = len(operation.seeds)
    about = f"{seeds} seeds, ± half of the 95% interval" if seeds > 1 else "one seed, so no interval"
    yield f"cloud {operation.cloud}, {about}; kept: jobs with 95% of their performance in isolation"
    yield (
        f"simulated, that costs {format_money(operation.chosen.monthly)}/month; the mix above and the points below are"
        " arithmetic, which packs demand without gaps, starts or idle instances"
    )


def _numbers(operation: Operation) -> Iterator[str]:
    if operation.soft_limit is not None and operation.hard_limit is not None:
        yield f"limits {operation.soft_limit:.0%} and {operation.hard_limit:.0%} of the reserve"
    if operation.on_demand_types:
        first, last = operation.on_demand_types[0], operation.on_demand_types[-1]
        yield f"on demand {first}" + (f" to {last}" if last != first else "")
    else:
        yield "nothing on demand"
    if operation.retention_factor is not None and operation.retention_seconds is not None:
        kept = format_duration(round(operation.retention_seconds))
        times = (
            "as long as they start"
            if operation.retention_factor == 1
            else f"{operation.retention_factor:g} times their start"
        )
        yield f"idle instances kept {times}, {kept} for the largest"


def verdicts(operation: Operation) -> Iterator[str]:
    """Why each other point was not chosen, with the margin."""
    for point in operation.points:
        if point.verdict:
            yield f"{point.strategy} with {point.reserve} ({point.reserve_rule}): {point.verdict}"


def markdown_points(operation: Operation) -> Iterator[str]:
    """Every simulated point as a Markdown table."""
    yield "| simulated | reserved | $/month | jobs that keep 95 % | tail p95 | not chosen because |"
    yield "|---|---:|---:|---:|---:|---|"
    for p in sorted(operation.points, key=lambda p: (-p.hourly, p.strategy)):
        name = f"**{p.strategy}**" if p is operation.chosen else p.strategy
        kept, tail = _band(p.kept_qos, 100, 1), _mean(p.tail_p95, 1, 1)
        yield f"| {name} | {p.reserve} | {p.monthly} | {kept} | {tail} | {p.verdict} |"


def save_front(plan: Plan, path: Path) -> None:
    """Dollars against quality of every simulated point, the front, the target and the budget, as PNG, SVG or HTML.

    Raises UsageError for a name that no picture can be saved under; ValueError for a plan without simulation.
    """
    from hcloud.views.pictures import save_picture, styled

    if plan.operation is None:
        raise ValueError("this plan holds no simulated strategies")
    name = plan.workload.name.replace("<", "‹").replace(">", "›")
    save_picture(styled(_front(plan.operation, name)), path, f"{name}: dollars and quality")


def _front(operation: Operation, name: str) -> Any:
    import altair as alt

    telling = _telling(operation)
    values = [{**_spot(p), "told": p in telling} for p in operation.points]
    base = alt.Chart(alt.InlineData(values=values))
    cost = alt.X("cost:Q", title="dollars an hour", scale=alt.Scale(zero=False, padding=20))
    kept = alt.Y(
        "kept:Q", title="jobs that keep 95 % of their performance, %", scale=alt.Scale(zero=False, domainMax=101)
    )
    line = base.transform_filter("datum.front").mark_line(color="#bbb", strokeDash=[4, 3])
    spread = base.mark_rule(color="#999").encode(x=alt.X("low:Q"), x2="high:Q", y=kept)
    upright = base.mark_rule(color="#999").encode(x=cost, y=alt.Y("worst:Q"), y2="best:Q")
    dots = base.mark_point(filled=True, opacity=1).encode(
        x=cost,
        y=kept,
        color=alt.Color("strategy:N", title=None),
        size=alt.condition("datum.chosen", alt.value(260), alt.value(80)),
        tooltip=["label:N", "cost:Q", "kept:Q", "verdict:N"],
    )
    words = [
        base.transform_filter(f"datum.told && {chosen}datum.chosen")
        .mark_text(align="left", dx=9, dy=below, fontSize=11)
        .encode(x=cost, y=kept, text="label:N")
        for chosen, below in (("", 18), ("!", -9))
    ]
    layers = [line.encode(x=cost, y=kept, order="cost:Q"), spread, upright, dots, *words]
    layers.append(_level(100 * operation.qos_target, upright=False))
    if operation.budget is not None:
        monthly = operation.chosen.monthly
        layers.append(_level(float(operation.budget * operation.chosen.hourly / monthly), upright=True))
    chosen = operation.chosen
    subtitle = f"chosen: {chosen.strategy} with {chosen.reserve} reserved, {format_money(chosen.monthly)} a month"
    return alt.layer(*layers).properties(
        width=620, height=360, title=alt.TitleParams(f"{name}: dollars and quality", subtitle=subtitle)
    )


def _spot(point: OperatingPoint) -> dict[str, Any]:
    cost, half = float(point.hourly), float(point.hourly_half or 0)
    kept, band = 100 * point.kept_qos.mean, 100 * (point.kept_qos.half or 0.0)
    return {
        "strategy": point.strategy,
        "label": f"{point.strategy} {point.reserve}",
        "cost": cost,
        "low": cost - half,
        "high": cost + half,
        "kept": kept,
        "worst": max(kept - band, 0.0),
        "best": min(kept + band, 100.0),
        "front": point.on_front,
        "chosen": not point.verdict,
        "verdict": point.verdict,
    }


def _level(value: float, *, upright: bool) -> Any:
    """The target or the budget as a dashed line."""
    import altair as alt

    base = alt.Chart(alt.InlineData(values=[{"level": value}])).mark_rule(color="#b0302f", strokeDash=[6, 4])
    return base.encode(x="level:Q") if upright else base.encode(y="level:Q")
