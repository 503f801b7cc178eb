"""Simulated strategies of a plan: dollars beside quality as a table and as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hcloud.model.operation import Band, OperatingPoint, Operation
from hcloud.units import HOURS_PER_MONTH, format_duration, format_money
from hcloud.views.tables import Figures, fitted

if TYPE_CHECKING:
    from rich.console import RenderableType

_NONE = "-"


def points_table(operation: Operation, width: int, *, every: bool = False) -> RenderableType:
    """The chosen point and the best one of each other strategy, or ``every`` one, by falling cost."""
    shown = operation.points if every else telling(operation)
    rows = [_row(p) for p in sorted(shown, key=lambda p: (-p.hourly, p.strategy))]
    names = ("simulated", "reserved", "$/month", "kept %", "batch p5 %", "tail p95", "wait p95 s", "")
    return fitted(Figures(names, rows, frozenset(range(1, len(names) - 1))), width)


def telling(operation: Operation) -> list[OperatingPoint]:
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
