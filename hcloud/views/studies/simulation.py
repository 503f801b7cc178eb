"""Screens and documents of simulated strategies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from hcloud import __version__
from hcloud.sim.outcomes.comparison import (
    WEEKS,
    ComparedStrategy,
    Simulated,
    StrategyComparison,
    dollars_per_hour,
    kept_qos,
)
from hcloud.sim.outcomes.interval import Interval
from hcloud.units import counted
from hcloud.views.lines import hanging
from hcloud.views.tables import Figures, fitted
from hcloud.views.workloads.window import window_document, window_line

if TYPE_CHECKING:
    from hcloud.sim.outcomes.measure import Distribution, Measures
    from hcloud.views.console import Terminal

_BARS = " ▁▂▃▄▅▆▇█"
_NONE = "-"
_NOT_PACKED = "these figures include starts and idle instances; those of 'hcloud plan' without a strategy do not"
_CENT = Decimal("0.01")
_HOURLY = Decimal("0.0001")
Row = tuple[str, Callable[["Measures"], str]]


def show_simulation(comparison: StrategyComparison, terminal: Terminal) -> None:
    """Every figure of one run of each strategy, strategies side by side."""
    terminal.show(_headline(comparison), "")
    runs = [c.runs[0] for c in comparison.strategies]
    for title, rows in _sections():
        names = (title, *(c.name for c in comparison.strategies))
        cells = [[label, *(cell(run) for run in runs)] for label, cell in rows]
        figures = Figures(names, cells, frozenset(range(1, len(names))))
        terminal.show(fitted(figures, terminal.out.width), "")
    for compared in comparison.strategies:
        terminal.show(_sparkline(compared.first, compared.name, terminal.out.width))
    _show_checks(comparison, terminal)
    _notes(comparison, terminal)


def show_comparison(comparison: StrategyComparison, terminal: Terminal) -> None:
    """The figures that decide between strategies, with intervals over the seeds."""
    terminal.show(_headline(comparison), "")
    lines: list[tuple[str, Callable[[Measures], float], int]] = [
        ("$ an hour", dollars_per_hour, 2),
        ("kept 95%, %", lambda m: 100 * kept_qos(m), 1),
        ("batch mean, %", lambda m: 100 * m.service.batch.mean, 1),
        ("batch p5, %", lambda m: 100 * m.service.batch.p5, 1),
        ("tail mean, x", lambda m: m.service.tail.mean, 2),
        ("tail p95, x", lambda m: m.service.tail.p95, 2),
        ("pool use, %", lambda m: 100 * m.use.utilisation, 1),
    ]
    names = ("", *(c.name for c in comparison.strategies))
    rows = [[label, *(_with_half(c.interval(f), d) for c in comparison.strategies)] for label, f, d in lines]
    rows.insert(0, ["reserved", *(f"{c.runs[0].pool}" for c in comparison.strategies)])
    if any(c.refused_work for c in comparison.strategies):
        rows.append(["work left out, %", *(f"{100 * c.refused_work:.1f}" for c in comparison.strategies)])
    told = [("yes" if c.on_front else "") if c.is_compared else "not compared" for c in comparison.strategies]
    rows.append(["Pareto-optimal", *told])
    terminal.show(fitted(Figures(names, rows, frozenset(range(1, len(names)))), terminal.out.width), "")
    several = len(comparison.seeds) > 1
    about = (
        f"mean ± half of the 95% interval over {len(comparison.seeds)} seeds" if several else "one seed: no interval"
    )
    said = f"{about}; Pareto-optimal: no other strategy is both cheaper and better"
    terminal.show(hanging(said, terminal.out.width, "· "))
    best = [c for c in comparison.strategies if c.on_front]
    cheapest = min(best, key=lambda c: c.interval(dollars_per_hour).mean, default=None)
    terminal.show(
        "· no strategy is compared: each left out more than 1% of the work"
        if cheapest is None
        else f"· cheapest Pareto-optimal strategy: {cheapest.name}"
    )
    _show_checks(comparison, terminal)
    _notes(comparison, terminal)


def simulation_document(comparison: StrategyComparison, at: datetime) -> dict[str, object]:
    """The comparison as JSON: every figure of every run; money as text, figures that do not apply as null."""
    return {
        "format_version": "1.0",
        "tool_version": __version__,
        "generated_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "currency": "USD",
        "workload": comparison.workload,
        "jobs": comparison.jobs,
        "cloud": comparison.cloud,
        "seeds": list(comparison.seeds),
        "profiled": comparison.profiled,
        "window": None if comparison.window is None else window_document(comparison.window),
        "strategies": [
            {
                "name": c.name,
                "on_front": c.on_front,
                "compared": c.is_compared,
                "dropped": c.dropped.jobs,
                "dropped_work": c.dropped.work,
            }
            | {"runs": [_run_document(m) for m in c.runs]}
            for c in comparison.strategies
        ],
    }


def _run_document(m: Measures) -> dict[str, object]:
    spreads = {
        "batch_performance": m.service.batch,
        "service_tail": m.service.tail,
        "completion_seconds": m.service.completion,
        "waiting_seconds": m.service.waiting,
        "queued_seconds": m.service.queued,
    }
    cost = m.cost
    return {
        "seed": m.seed,
        "reserved_servers": m.pool,
        **{name: _spread_document(spread) for name, spread in spreads.items()},
        "kept_qos": m.service.kept_qos,
        "utilisation": _number(m.use.utilisation),
        "spin_ups": m.use.spin_ups,
        "reuses": m.use.reuses,
        "released_at_once_per_use": m.use.at_once_per_use,
        "released_at_once_per_instance": m.use.at_once_per_instance,
        "reschedules": m.use.reschedules,
        "enlargements": m.use.enlargements,
        "interrupted": m.use.interrupted,
        "refused": m.use.refused,
        "refused_work": m.use.refused_work,
        "unfinished": m.use.unfinished,
        "hours": cost.hours,
        "reserved_cost": _text(cost.reserved, _CENT),
        "unused_reservation_cost": _text(cost.unused, _CENT),
        "rented_cost": _text(cost.rented, _CENT),
        "cost_per_ideal_hour": _text(cost.per_ideal_hour, _HOURLY),
        "cost_per_hour": _text(cost.per_hour, _HOURLY),
        "cumulative_cost": {f"{weeks}": _text(cost.over_weeks(weeks), _CENT) for weeks in WEEKS},
        "charges": [
            {"offer": str(c.offer.key), "instances": c.instances, "seconds": c.seconds, "cost": _text(c.dollars, _CENT)}
            for c in cost.charges
        ],
    }


def _spread_document(spread: Distribution) -> dict[str, object]:
    levels = ("mean", "p5", "p25", "p50", "p75", "p95", "p99")
    return {"count": spread.count, **{level: _number(getattr(spread, level)) for level in levels}}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _text(value: Decimal, step: Decimal) -> str:
    return f"{value.quantize(step)}"


def _headline(comparison: StrategyComparison) -> str:
    key = comparison.shop.reserved.key
    reserved = " + ".join((comparison.shop.types[comparison.shop.large].shape.name, *comparison.beside))
    informed = "profiled" if comparison.profiled else "without profiling: users' own requests"
    return (
        f"{comparison.workload}: {comparison.jobs:,} jobs · cloud {comparison.cloud} ·"
        f" {key.provider} {key.region}, {reserved} reserved · {informed}"
    )


def _sections() -> Iterator[tuple[str, list[Row]]]:
    yield "batch jobs, % of isolation", _levels(lambda m: m.service.batch, 100, 1)
    yield "services, tail x isolation", _levels(lambda m: m.service.tail, 1, 2)
    waiting: list[Row] = [
        ("mean wait", lambda m: _plain(m.service.waiting.mean, 1)),
        ("p95 wait", lambda m: _plain(m.service.waiting.p95, 1)),
        ("jobs queued on the reserve", lambda m: f"{m.service.queued.count:,}"),
        ("p95 in that queue", lambda m: _plain(m.service.queued.p95, 1)),
        ("batch completion mean", lambda m: _plain(m.service.completion.mean, 0)),
        ("batch completion p95", lambda m: _plain(m.service.completion.p95, 0)),
    ]
    yield "seconds", waiting
    use: list[Row] = [
        ("servers reserved", lambda m: f"{m.pool}"),
        ("their utilisation", lambda m: _share(m.use.utilisation)),
        ("jobs that kept 95%", lambda m: _share(m.service.kept_qos)),
        ("instances launched", lambda m: f"{m.use.spin_ups:,}"),
        ("jobs on a used instance", lambda m: f"{m.use.reuses:,}"),
        ("released at once, per use", lambda m: _share(m.use.at_once_per_use)),
        ("released at once, per instance", lambda m: _share(m.use.at_once_per_instance)),
        ("jobs moved", lambda m: f"{m.use.reschedules:,}"),
        ("jobs enlarged", lambda m: f"{m.use.enlargements:,}"),
    ]
    yield "capacity", use
    money: list[Row] = [
        ("reserved", lambda m: f"{m.cost.reserved:,.2f}"),
        ("of it unused", lambda m: f"{m.cost.unused:,.2f}"),
        ("rented", lambda m: f"{m.cost.rented:,.2f}"),
        ("an hour of work", lambda m: f"{m.cost.per_ideal_hour:,.2f}"),
        ("an hour of its own run", lambda m: f"{m.cost.per_hour:,.2f}"),
        *((counted(weeks, "week") + ", prepaid terms", _after(weeks)) for weeks in WEEKS),
    ]
    yield "dollars", money


def _levels(spread: Callable[[Measures], Distribution], factor: float, digits: int) -> list[Row]:
    def row(level: str) -> Row:
        return level, lambda m: _plain(getattr(spread(m), level) * factor, digits)

    return [row(level) for level in ("mean", "p5", "p25", "p50", "p75", "p95", "p99")]


def _after(weeks: int) -> Callable[[Measures], str]:
    return lambda m: f"{m.cost.over_weeks(weeks):,.0f}"


def _plain(value: float, digits: int) -> str:
    return _NONE if math.isnan(value) else f"{value:,.{digits}f}"


def _share(value: float) -> str:
    return _NONE if math.isnan(value) else f"{100 * value:.1f}%"


def _with_half(interval: Interval, digits: int) -> str:
    if math.isnan(interval.mean):
        return _NONE
    half = "" if math.isnan(interval.half) else f" ±{interval.half:.{digits}f}"
    return f"{interval.mean:,.{digits}f}{half}"


def _sparkline(run: Simulated, name: str, width: int) -> str:
    """Instances over time: reserved and rented together."""
    counts = [run.timeline.reserved + sum(float(c[i]) for c in run.timeline.rented.values()) for i in _indices(run)]
    top = max(counts, default=0.0)
    label, tail = f"{name:<4}", f" {top:,.0f} instances at most"
    room = max(width - len(label) - len(tail), 10)
    picked = [max(_slice(counts, i, room), default=0.0) for i in range(min(room, len(counts)))]
    bars = "".join(_BARS[math.ceil(c / top * 8)] if top else " " for c in picked)
    return f"{label}{bars}{tail}"


def _indices(run: Simulated) -> range:
    return range(len(run.timeline.times))


def _slice(values: Sequence[float], at: int, parts: int) -> Sequence[float]:
    parts = min(parts, len(values))
    return values[at * len(values) // parts : (at + 1) * len(values) // parts]


def _show_checks(comparison: StrategyComparison, terminal: Terminal) -> None:
    """What the scenario states about itself beside what was generated."""
    if not comparison.checks:
        return
    rows = [
        [c.figure, f"{c.stated:,.2f}", f"{c.got:,.2f}", "yes" if c.holds else f"no (±{100 * c.tolerance:.0f}%)"]
        for c in comparison.checks
    ]
    figures = Figures(("scenario", "stated", "generated", "holds"), rows, frozenset({1, 2}))
    terminal.show("", fitted(figures, terminal.out.width))


def _notes(comparison: StrategyComparison, terminal: Terminal) -> None:
    if comparison.window is not None:
        said = f"dollars and use are of the window: {window_line(comparison.window)}"
        terminal.show(hanging(said, terminal.out.width, "· "))
    terminal.show(hanging(_NOT_PACKED, terminal.out.width, "· "))
    first: ComparedStrategy = comparison.strategies[0]
    for reason, count in first.first.left_out.items():
        terminal.warn(f"{counted(count, 'job')} left out: {reason}")
    pieces = first.runs[0].jobs - (comparison.jobs - sum(first.first.left_out.values()))
    if pieces > 0:
        terminal.note(f"jobs that fit no type and may be split are split up: {counted(pieces, 'piece')} more")
    for compared in comparison.strategies:
        run = compared.runs[0]
        if lost := run.use.refused + compared.dropped.jobs:
            out = "" if compared.is_compared else "; it is not compared"
            said = f"{counted(lost, 'job')} left out ({compared.refused_work:.1%} of the work)"
            terminal.warn(f"{compared.name}: {said}: no type holds them{out}")
        if run.use.unfinished:
            terminal.warn(f"{compared.name}: {counted(run.use.unfinished, 'job')} still queued")
