"""Screens and documents of simulated strategies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from decimal import Decimal

from hcloud.model.running.strategy import ALL_RENTED
from hcloud.sim.outcomes.comparison import (
    WEEKS,
    ComparedStrategy,
    Simulated,
    SizedReserve,
    StrategyComparison,
    dollars_per_hour,
    kept_qos,
)
from hcloud.sim.outcomes.interval import ENDS_THERE, Interval
from hcloud.sim.outcomes.measure import Distribution, Measures, RunFaults
from hcloud.sim.setup.clustered.clusters import OWN
from hcloud.sim.setup.shop import cloud_words
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, counted, format_figure, percent, rate_places
from hcloud.views.console import Terminal
from hcloud.views.lines import point
from hcloud.views.studies.cheapest import as_cheap_by_chance, cheapest_of, keeps_too_few, told_of_bills, told_of_idle
from hcloud.views.studies.many import same_for_all, strategies_in_lines
from hcloud.views.studies.own_lines import Line, admission_notes, own_lines, workflow_lines, workflow_warnings
from hcloud.views.tables import Figures
from hcloud.views.workloads.window import window_line

_BARS = " ▁▂▃▄▅▆▇█"
_NONE = "-"
_NAMED_TYPES = 4
_SIDE_BY_SIDE = 7
"""Strategies have a line each where there are as many, so that a table is no wider than a screen."""
NEARLY = "within ±"
"""Not Pareto-optimal by the means, but the seeds do not tell it from one that is."""
_TOO_SHORT = "a window under one hour says nothing about weeks: most of its dollars are starts and idle instances"
_NOT_PACKED = "these figures include starts and idle instances; those of 'hcloud plan' without a strategy do not"
Row = tuple[str, Callable[["Measures"], str]]


def show_simulation(comparison: StrategyComparison, terminal: Terminal) -> None:
    """Every figure of one run of each strategy, strategies side by side."""
    terminal.show(_headline(comparison), "")
    runs = [c.runs[0] for c in comparison.strategies]
    together: list[Row] = [(label, _cell(of, d)) for label, of, d in workflow_lines(comparison)]
    for title, rows in _sections(together, short=_is_short(comparison)):
        names = (title, *(c.name for c in comparison.strategies))
        cells = [[label, *(cell(run) for run in runs)] for label, cell in rows]
        if told := _with_figures(cells):
            terminal.show(_side_by_side(names, told), "")
    for compared in comparison.strategies:
        terminal.show(_sparkline(compared.first, compared.name, terminal.out.width))
    if comparison.sized_for is not None:
        strategies = ("reserve", *(c.name for c in comparison.strategies))
        terminal.show("", _side_by_side(strategies, list(_sized_rows(comparison))))
    _show_checks(comparison, terminal)
    _notes(comparison, terminal)
    if (said := _sized_sentence(comparison)) is not None:
        terminal.show("", said)


def show_comparison(comparison: StrategyComparison, terminal: Terminal, loads: Sequence[float] = ()) -> None:
    """The figures that decide between strategies, with intervals over the seeds. At several ``loads`` no strategy is
    the best of all: they did different work."""
    terminal.show(_headline(comparison), "")
    runs = [run for c in comparison.strategies for run in c.runs]
    lines: list[Line] = [
        ("$ an hour", dollars_per_hour, rate_places(*map(dollars_per_hour, runs))),
        ("kept 95%, %", lambda m: 100 * kept_qos(m), 1),
        ("batch mean, %", lambda m: 100 * m.service.batch.mean, 1),
        ("batch p5, %", lambda m: 100 * m.service.batch.p5, 1),
        ("tail mean, x", lambda m: m.service.tail.mean, 2),
        ("tail p95, x", lambda m: m.service.tail.p95, 2),
        ("pool use, %", lambda m: 100 * m.use.utilisation, 1),
    ]
    if any(c.name.endswith(ALL_RENTED) for c in comparison.strategies):
        lines.insert(1, ("$ a month", lambda m: dollars_per_hour(m) * float(HOURS_PER_MONTH), 2))
    lines += own_lines(comparison)
    names = ("", *(c.name for c in comparison.strategies))
    found = [(label, [c.interval(f) for c in comparison.strategies], d) for label, f, d in lines]
    cut = any(i.is_cut(_most(label), digits) for label, intervals, digits in found for i in intervals)
    rows = _with_figures([[label, *(_with_half(i, d) for i in intervals)] for label, intervals, d in found])
    rows.insert(0, ["reserved", *(f"{c.runs[0].pool}" for c in comparison.strategies)])
    if any(c.refused_work for c in comparison.strategies):
        rows.append(["work left out, %", *(f"{100 * c.refused_work:.1f}" for c in comparison.strategies)])
    front = [_front_told(c, comparison.strategies) for c in comparison.strategies]
    rows.append(["Pareto-optimal", *front])
    rows += _sized_rows(comparison)
    many = len(names) > _SIDE_BY_SIDE
    order = sorted(range(len(front)), key=lambda at: -_judged(comparison.strategies[at], loads)) if many else []
    shown = strategies_in_lines(names, rows, order, terminal.out.width) if many else [_side_by_side(names, rows)]
    for table in shown:
        terminal.show(table, "")
    if many and (same := same_for_all(rows)):
        terminal.show(point(f"the same for all: {same}"))
    several = len(comparison.seeds) > 1
    about = (
        f"mean ± half of the 95% interval over {len(comparison.seeds)} seeds" if several else "one seed: no interval"
    )
    about += f"; {ENDS_THERE}" if cut else ""
    among = " at the same load" if len(loads) > 1 else ""
    terminal.show(point(f"{about}; Pareto-optimal: no other strategy{among} is both cheaper and better"))
    if NEARLY in front:
        terminal.show(
            point(
                f"{NEARLY}: as cheap as a Pareto-optimal strategy, and {len(comparison.seeds)} seeds do not separate"
                " their shares of jobs that kept 95%"
            )
        )
    if many and not among:
        terminal.show(point("sorted by the share of jobs that kept 95%"))
    if not among:
        _show_best(comparison, terminal)
    _show_checks(comparison, terminal)
    _notes(comparison, terminal)
    if (said := _sized_sentence(comparison)) is not None:
        terminal.show("", said)


def _most(label: str) -> float:
    """The most that a figure can be."""
    return 100.0 if label.endswith("%") else math.inf


def _with_figures(rows: Sequence[list[str]]) -> list[list[str]]:
    """The rows that have a figure of any strategy."""
    return [row for row in rows if set(row[1:]) != {_NONE}]


def _side_by_side(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Figures:
    return Figures(tuple(names), [list(row) for row in rows], frozenset(range(1, len(names))))


def _judged(one: ComparedStrategy, loads: Sequence[float]) -> float:
    """The share that strategies are sorted by; at several loads they stay as they are."""
    return one.interval(kept_qos).mean if one.is_compared and len(loads) < 2 else 0.0


def _front_told(one: ComparedStrategy, among: Sequence[ComparedStrategy]) -> str:
    """Whether a strategy is Pareto-optimal, by the means of its seeds, or cannot be told from one that is as cheap."""
    if not one.is_compared or one.on_front:
        return "yes" if one.on_front else "not compared"
    dollars = one.interval(dollars_per_hour).mean
    alike = (c for c in among if c.on_front and math.isclose(c.interval(dollars_per_hour).mean, dollars))
    apart = [Interval.of([kept_qos(f) - kept_qos(r) for f, r in zip(c.runs, one.runs, strict=True)]) for c in alike]
    return NEARLY if any(gap.mean <= gap.half for gap in apart) else ""


def _sized_rows(comparison: StrategyComparison) -> Iterator[list[str]]:
    """The least reserve that keeps the share of jobs asked for, and its dollars."""
    if comparison.sized_for is None:
        return
    label, sizes = f"for {100 * comparison.sized_for:g}% kept", [c.sized for c in comparison.strategies]
    yield [f"servers {label}", *(_NONE if s is None else f"{s.servers:,}" for s in sizes)]
    yield [f"vCPUs {label}", *(_NONE if s is None else f"{s.vcpus:,g}" for s in sizes)]
    yield [f"$ an hour {label}", *(_NONE if s is None else f"{s.dollars:,.2f}" for s in sizes)]


def _sized_sentence(comparison: StrategyComparison) -> str | None:
    """What the cheapest reserve for the same quality saves against the dearest."""
    found = [(c.sized, c.name) for c in comparison.strategies if c.sized is not None]
    if comparison.sized_for is None:
        return None
    share = f"{100 * comparison.sized_for:g}% of jobs within 5% of their performance"
    if not found:
        return f"No strategy keeps {share}, even with eight times its reserve."
    (best, name), (worst, other) = min(found, key=_dollars), max(found, key=_dollars)
    without = [c.name for c in comparison.strategies if c.sized is None]
    lacking = f" {' and '.join(without)} cannot, even with eight times the reserve." if without else ""
    if len(found) == 1:
        return f"To keep {share}, {name} needs {_capacity(best)}.{lacking}"
    if best.dollars == worst.dollars:
        return f"To keep {share}, {counted(len(found), 'strategy', 'strategies')} need {_capacity(best)}.{lacking}"
    saved = 100 * (1 - best.dollars / worst.dollars)
    return (
        f"To keep {share}, {name} needs {_capacity(best)} and {other} {_capacity(worst)}: {saved:.0f}% less for the"
        f" same quality.{lacking}"
    )


def _capacity(size: SizedReserve) -> str:
    return f"{counted(size.servers, 'server')} with {size.vcpus:,g} vCPUs (${size.dollars:,.2f} an hour)"


def _dollars(one: tuple[SizedReserve, str]) -> Decimal:
    return one[0].dollars


def _show_best(comparison: StrategyComparison, terminal: Terminal) -> None:
    cheapest = cheapest_of(comparison)
    if cheapest is None:
        terminal.show("· no strategy is compared: each left out more than 1% of the work")
        return
    alike = as_cheap_by_chance(comparison, cheapest)
    terminal.show(point(f"cheapest Pareto-optimal strategy: {cheapest.name}{f'; {alike}' if alike else ''}"))
    if lost := keeps_too_few(comparison, cheapest):
        terminal.show(point(lost))


def _headline(comparison: StrategyComparison) -> str:
    key = comparison.shop.reserved.key
    names = (comparison.shop.types[comparison.shop.large].shape.name, *comparison.beside)
    reserved = " + ".join(names) if len(names) <= _NAMED_TYPES else f"{names[0]} and {len(names) - 1} other types"
    reserved += " reserved" if any(c.runs[0].pool for c in comparison.strategies) else ", nothing reserved"
    place = key.region if key.region == OWN else f"{key.provider} {key.region}"
    oldest = min(offer.origin.day for offer in comparison.shop.offers)
    priced = "" if key.region == OWN or comparison.shop.is_of_study else f" · prices of {oldest}"
    informed = "profiled" if comparison.profiled else "without profiling: users' own requests"
    cloud = cloud_words(comparison.cloud, comparison.shop)
    jobs = f"{comparison.workload_name}: {counted(comparison.jobs, 'job')}"
    return f"{jobs} · cloud {cloud} · {place}, {reserved}{priced} · {informed}"


def _is_short(comparison: StrategyComparison) -> bool:
    """Whether most of the cost is starts and what is kept idle, so that it says nothing about weeks."""
    return comparison.window is not None and comparison.window.seconds < SECONDS_PER_HOUR


def _cell(figure: Callable[[Measures], float], digits: int) -> Callable[[Measures], str]:
    return lambda run: _plain(figure(run), digits)


def _sections(together: list[Row], *, short: bool) -> Iterator[tuple[str, list[Row]]]:
    yield "batch jobs, % of isolation", _levels(lambda m: m.service.batch, 100, 1)
    yield "services, tail x isolation", _levels(lambda m: m.service.tail, 1, 2)
    waiting: list[Row] = [
        ("mean wait", lambda m: _plain(m.service.waiting.mean, 1)),
        ("p95 wait", lambda m: _plain(m.service.waiting.p95, 1)),
        ("p95 wait in the reserve's queue", lambda m: _plain(m.service.queued.p95, 1)),
        ("batch completion mean", lambda m: _plain(m.service.completion.mean, 0)),
        ("batch completion p95", lambda m: _plain(m.service.completion.p95, 0)),
    ]
    yield "seconds", waiting
    if together:
        yield "jobs that wait for each other", together
    use: list[Row] = [
        ("servers reserved", lambda m: f"{m.pool}"),
        ("reserve utilisation", lambda m: percent(m.use.utilisation)),
        ("jobs that kept 95%", lambda m: percent(m.service.kept_qos)),
        ("jobs queued on the reserve", lambda m: f"{m.service.queued.count:,}"),
        ("instances launched", lambda m: f"{m.use.spin_ups:,}"),
        ("jobs on a used instance", lambda m: f"{m.use.reuses:,}"),
        ("released at once, per use", lambda m: percent(m.use.at_once_per_use)),
        ("released at once, per instance", lambda m: percent(m.use.at_once_per_instance)),
        ("jobs moved", lambda m: f"{m.use.reschedules:,}"),
        ("jobs enlarged", lambda m: f"{m.use.enlargements:,}"),
    ]
    yield "capacity", use
    money: list[Row] = [
        ("reserved", lambda m: _cents(m.cost.reserved)),
        ("reserved, unused", lambda m: _cents(m.cost.unused)),
        ("rented", lambda m: _cents(m.cost.rented)),
        ("per hour of work", lambda m: _hourly(m.cost.per_ideal_hour)),
        ("per hour of the run", lambda m: _hourly(m.cost.per_hour)),
        *((f"{counted(weeks, 'week')}, prepaid", _after(weeks)) for weeks in (() if short else WEEKS)),
    ]
    yield "dollars", money


def _levels(spread: Callable[[Measures], Distribution], factor: float, digits: int) -> list[Row]:
    def row(level: str) -> Row:
        return level, lambda m: _plain(getattr(spread(m), level) * factor, digits)

    return [row(level) for level in ("mean", "p5", "p25", "p50", "p75", "p95", "p99")]


def _after(weeks: int) -> Callable[[Measures], str]:
    return lambda m: f"{m.cost.over_weeks(weeks):,.0f}"


def _cents(dollars: Decimal) -> str:
    return format_figure(dollars, 2)


def _hourly(dollars: Decimal) -> str:
    return format_figure(dollars, rate_places(dollars))


def _plain(value: float, digits: int) -> str:
    return _NONE if math.isnan(value) else f"{value:,.{digits}f}"


def _with_half(interval: Interval, digits: int) -> str:
    if math.isnan(interval.mean):
        return _NONE
    half = "" if math.isnan(interval.half) else f" ±{interval.half:.{digits}f}"
    return f"{interval.mean:,.{digits}f}{half}"


def _sparkline(run: Simulated, name: str, width: int) -> str:
    """Instances over time: reserved and rented together."""
    counts = [run.timeline.reserved + sum(float(c[i]) for c in run.timeline.rented.values()) for i in _indices(run)]
    top = max(counts, default=0.0)
    label, tail = f"{name:<3} ", f" {counted(round(top), 'instance')} at most"
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
    terminal.show("", figures)


def _faults(faults: RunFaults) -> str:
    """What went wrong in a run, in words."""
    told = (
        (faults.failed_launches, f"{counted(faults.failed_launches, 'launch', 'launches')} failed"),
        (faults.lost_machines, f"{counted(faults.lost_machines, 'machine')} lost"),
        (faults.lost_jobs, f"{counted(faults.lost_jobs, 'job')} ended with a lost machine"),
        (faults.cancelled_jobs, f"{counted(faults.cancelled_jobs, 'job')} cancelled"),
    )
    return ", ".join(words for count, words in told if count)


def _of_window(comparison: StrategyComparison) -> Iterator[str]:
    if comparison.window is not None:
        yield f"dollars and use are of the window: {window_line(comparison.window)}"
        if any(c.runs[0].workflows for c in comparison.strategies):
            yield "workflows are those submitted in the window"
        yield from [_TOO_SHORT] * _is_short(comparison)


def _notes(comparison: StrategyComparison, terminal: Terminal) -> None:
    told = *told_of_idle(comparison), *told_of_bills(comparison)
    terminal.show(*map(point, (*_of_window(comparison), _NOT_PACKED, *told, *comparison.assumed)))
    first: ComparedStrategy = comparison.strategies[0]
    for reason, count in first.first.left_out.items():
        terminal.warn(f"{counted(count, 'job')} left out: {reason}")
    pieces = first.runs[0].jobs - (comparison.jobs - sum(first.first.left_out.values()))
    if pieces > 0:
        why = "some jobs run on several servers (as stated or for their target), or fit no type and are divisible"
        terminal.note(f"{counted(pieces, 'piece')} more than jobs: {why}")
    for compared in comparison.strategies:
        run = compared.runs[0]
        if lost := run.use.refused + compared.dropped.jobs:
            out = "" if compared.is_compared else "; it is not compared"
            said = f"{counted(lost, 'job')} left out ({compared.refused_work:.1%} of the work)"
            terminal.warn(f"{compared.name}: {said}: no type holds them{out}")
        if any(astuple(run.faults)):
            terminal.show(point(f"{compared.name}: {_faults(run.faults)}"))
        for said in (*_of_placement(run), *admission_notes(run)):
            terminal.note(f"{compared.name}: {said}")
        for said in workflow_warnings(run):
            terminal.warn(f"{compared.name}: {said}")
        if run.still_queued:
            terminal.warn(f"{compared.name}: {counted(run.still_queued, 'job')} still queued")


def _of_placement(run: Measures) -> Iterator[str]:
    """What is to be known of a sample and of its audit."""
    if run.placed is None:
        return
    if run.placed.draws_all:
        yield "it looks at every server, because it draws as many candidates as there are reserved vCPUs"
    if run.placed.audit is not None and run.placed.audit.reading == "value":
        yield "ranks are qualities, scaled from the worst to the best server (placement.reading: value)"
