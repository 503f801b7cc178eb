"""A picture of compared strategies: quality, cost, the front, instances over time, and how busy the reserve was; and
performance over how long jobs are, or over the load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from hcloud.sim.outcomes.comparison import RESERVED, ComparedStrategy, StrategyComparison, dollars_per_hour, kept_qos
from hcloud.sim.outcomes.measure import WEEKS_A_TERM, Distribution, Measures
from hcloud.sim.outcomes.placed import DURATIONS
from hcloud.units import counted, rate_places
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.panels import WIDTH, Panel, PanelGroup, PanelKind, SeriesMark, panels

_MOST_SERVERS = 100
_WEEKS = (1, 2, 4, 8, 13, 20, 26, 30, 35, 40, 45, 52, 53, 60, 70, 80, 90, 104, 105, 130, 156)
_LEVELS = ("p5", "p25", "p50", "p75", "p95", "mean")
_PAID = {"reserved": "p-c1", "rented": "p-c2"}
_HIGH = 300.0
_APART, _ALL_APART = 0.12, 0.6
"""Between lines at one place of an axis of names, so that whiskers do not cover each other, and the most of all."""
_MOST_LINES = 8
"""What a legend of lines has place for; of more strategies the Pareto-optimal ones are drawn."""
_LOW = 150.0
"""The height of panels of which there is one a strategy."""


def picture_of(comparison: StrategyComparison) -> Drawn:
    """Its panels in one picture."""
    groups = list(_groups(comparison))
    name = comparison.workload_name
    seeds = counted(len(comparison.seeds), "seed")
    said = f"{counted(comparison.jobs, 'job')} · cloud {comparison.cloud} · {seeds}"
    told = "; ".join(_told(compared) for compared in comparison.strategies)
    return Drawn(name, lambda width: panels(groups, width, said), f"{name}, {said}. {told}.", "", WIDTH)


def _told(compared: ComparedStrategy) -> str:
    cost, kept = compared.interval(dollars_per_hour).mean, compared.interval(kept_qos).mean
    dollars = f"${cost:,.{rate_places(cost)}f}"
    return f"{compared.name}: {dollars} an hour of work, {kept:.1%} of jobs keep 95% of their performance"


def lines_of(comparison: StrategyComparison) -> PanelGroup | None:
    """Performance over the loads, or over how long jobs are; None where there is one load and one class of jobs."""
    every = comparison.strategies
    lines = _over_duration(_few(every)) if every[0].load is None else _over_load(every)
    return PanelGroup(lines, own_scales=True, columns=2, height=_HIGH) if lines else None


def _groups(comparison: StrategyComparison) -> Iterator[PanelGroup]:
    every = comparison.strategies
    if (lines := lines_of(comparison)) is not None:
        yield lines
    if every[0].load is not None:
        return  # the others would have a place for each strategy at each load
    colours = PanelGroup([_kept(every)]).classes()
    quality = [
        _boxes(every, "batch jobs: performance", "% of isolation", lambda m: m.service.batch, 100.0),
        _boxes(every, "services: tail latency", "times isolation", lambda m: m.service.tail, 1.0),
        _front(every),
    ]
    known = [panel for panel in quality if not all(math.isnan(mark.values[0]) for mark in panel.marks)]
    yield PanelGroup(known, shared=False, kinds=colours)
    yield PanelGroup([_costs(every), _durations(every), _kept(every)], shared=False, kinds={**colours, **_PAID})
    many = max(len(every), 2)
    yield PanelGroup([_allocation(c) for c in every], columns=many, height=_LOW)
    yield PanelGroup([_heat(c) for c in every if c.first.timeline.reserved], columns=many, height=_LOW)


def _few(strategies: Sequence[ComparedStrategy]) -> Sequence[ComparedStrategy]:
    """Those that are drawn as lines."""
    return strategies if len(strategies) <= _MOST_LINES else [c for c in strategies if c.on_front][:_MOST_LINES]


def _over_duration(strategies: Sequence[ComparedStrategy]) -> list[Panel]:
    """Mean performance, and the jobs that kept it, over how long jobs are; nothing where all are of one class."""
    found = (d.name for c in strategies for run in c.runs if run.placed for d in run.placed.classes)
    names = tuple(dict.fromkeys(sorted(found, key=DURATIONS.index)))
    if len(names) < 2:
        return []
    apart = min(_APART, _ALL_APART / len(strategies))
    beside = [apart * (at - (len(strategies) - 1) / 2) for at in range(len(strategies))]
    told = list(zip(strategies, beside, strict=True))
    places = [(c.name, x + apart, c, _of_class(name)) for c, apart in told for x, name in enumerate(names)]
    return _both(places, "how long a job takes in isolation", names)


def _of_class(name: str) -> Callable[[Measures], tuple[float, float]]:
    def figures(run: Measures) -> tuple[float, float]:
        found = (d for d in (run.placed.classes if run.placed else ()) if d.name == name)
        return next(((d.mean, d.kept) for d in found), (math.nan, math.nan))

    return figures


def _over_load(strategies: Sequence[ComparedStrategy]) -> list[Panel]:
    """The same over the load."""
    places = [
        (c.name.removesuffix(f" at {c.load:g}"), c.load, c, lambda m: (m.service.batch.mean, kept_qos(m)))
        for c in strategies
        if c.load is not None
    ]
    return _both(places, "load: vCPUs needed / vCPUs available", ())


_Place = tuple[str, float, ComparedStrategy, Callable[[Measures], tuple[float, float]]]
"""The series, where it has a mark, of which runs, and the two figures of a run."""


def _both(places: Sequence[_Place], across: str, names: tuple[str, ...]) -> list[Panel]:
    panels = []
    for at, (title, unit) in enumerate((("mean performance", "% of isolation"), ("jobs that kept 95%", "% of jobs"))):
        marks = []
        for series, x, compared, figures in places:
            found = compared.interval(lambda m, of=figures, n=at: 100 * of(m)[n])  # type: ignore[misc]
            marks.append(SeriesMark(series, x, (found.mean, *found.ends(100.0))))
        about = "whiskers: 95% interval over the seeds" if len(places[0][2].runs) > 1 else "one seed"
        panels.append(Panel(title, "lines", across, unit, marks, about, names=names, from_zero=False))
    return panels


def _boxes(
    strategies: Iterable[ComparedStrategy],
    title: str,
    unit: str,
    spread: Callable[[Measures], Distribution],
    factor: float,
) -> Panel:
    marks = []
    for c in strategies:
        found = spread(c.first.measures)
        values = tuple(getattr(found, level) * factor for level in _LEVELS) if found.count else (math.nan,) * 6
        marks.append(SeriesMark(c.name, 0.0, values))
    about = "box 25-75%, whiskers 5-95%, diamond: mean; first seed"
    return Panel(title, "boxes", "", unit, marks, about, log="" if factor > 1 else "y")


def _front(strategies: Iterable[ComparedStrategy]) -> Panel:
    marks = [
        SeriesMark(c.name, c.interval(dollars_per_hour).mean, (100 * c.interval(kept_qos).mean, float(c.on_front)))
        for c in strategies
    ]
    about = "dashed: no other is better in both"
    return Panel("cost and quality", "dots", "$ an hour of work", "% of jobs that kept 95%", marks, about)


def _costs(strategies: Iterable[ComparedStrategy]) -> Panel:
    marks, names = [], []
    for at, c in enumerate(strategies):
        cost = c.first.measures.cost
        names.append(c.name)
        for part, amount in (("reserved", cost.reserved), ("rented", cost.rented)):
            marks.append(SeriesMark(part, float(at), (float(amount) / (cost.ideal_hours or 1.0),)))
    about = "reserve amortised over its term"
    return Panel("cost", "stacked", "", "$ an hour of work", marks, about, names=tuple(names))


def _durations(every: Sequence[ComparedStrategy]) -> Panel:
    drawn = _few(every)
    marks = [
        SeriesMark(c.name, float(weeks), (float(c.first.measures.cost.over_weeks(weeks)),))
        for c in drawn
        for weeks in _WEEKS
    ]
    which = "; Pareto-optimal" if len(drawn) < len(every) else ""
    about = f"prepaid terms, renewed every {WEEKS_A_TERM} weeks{which}"
    title, across = "cost against duration", "weeks of the same load"
    return Panel(title, "steps", across, "$ in all", marks, about, log="xy", limit=float(WEEKS_A_TERM))


def _kept(strategies: Iterable[ComparedStrategy]) -> Panel:
    marks = []
    for c in strategies:
        kept = c.interval(lambda m: 100 * kept_qos(m))
        marks.append(SeriesMark(c.name, 0.0, (kept.mean, *kept.ends(100.0))))
    return Panel("jobs that kept 95%", "bars", "", "% of jobs", marks, "95% interval over the seeds")


def _over_time(compared: ComparedStrategy, what: str, kind: PanelKind, unit: str, marks: list[SeriesMark]) -> Panel:
    return Panel(f"{compared.name}: {what}", kind, "hours", unit, marks)


def _allocation(compared: ComparedStrategy) -> Panel:
    line = compared.first.timeline
    hours = [float(seconds) / 3600 for seconds in line.times]
    marks = [SeriesMark(RESERVED, at, (line.reserved * line.vcpus[RESERVED],)) for at in hours]
    for name, counts in line.rented.items():
        amounts = zip(hours, counts, strict=False)
        marks += [SeriesMark(name, at, (float(count) * line.vcpus[name],)) for at, count in amounts]
    return _over_time(compared, "capacity", "areas", "vCPUs", marks)


def _heat(compared: ComparedStrategy) -> Panel:
    line = compared.first.timeline
    servers = line.heat.shape[1]
    step = -(-servers // _MOST_SERVERS)
    marks = [
        SeriesMark("", float(seconds) / 3600, (float(server), float(use)))
        for at, seconds in list(enumerate(line.times))[::2]
        for server, use in zip(range(0, servers, step), line.heat[at, ::step], strict=True)
    ]
    return _over_time(compared, "use of the reserve", "heat", "reserved server", marks)
