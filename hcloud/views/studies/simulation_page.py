"""Compared strategies as a page: dollars, quality and waiting with intervals, and what was in use when."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hcloud import __version__
from hcloud.sim.outcomes.comparison import ComparedStrategy, StrategyComparison, dollars_per_hour, kept_qos
from hcloud.sim.outcomes.interval import Interval
from hcloud.sim.outcomes.measure import Measures
from hcloud.sim.setup.clustered.clusters import OWN as CLUSTER
from hcloud.units import counted, format_money, rate_places
from hcloud.views.deciding.plan_charts import time_unit
from hcloud.views.deciding.plan_charts_costs import titles
from hcloud.views.page.bars import BarRow, Bars, bar_picture
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.panels import Panel, PanelGroup, SeriesMark, panels
from hcloud.views.page.parts import Page, PageSection
from hcloud.views.studies.cheapest import as_cheap_by_chance, cheapest_of
from hcloud.views.tables import Figures
from hcloud.views.workloads.window import window_line

HEIGHT = 210.0
STUDY = "paper"
OWN, RENTED = "reserve in use", "rented"


@dataclass(frozen=True, slots=True)
class RunMeasure:
    """A figure of a run: its name, how it is written, and how to read it."""

    title: str
    of: Callable[[Measures], float]
    digits: int
    prefix: str
    unit: str
    meaning: str


MORE, LESS = "More is better.", "Less is better."
DOLLARS = RunMeasure("Dollars an hour of work", dollars_per_hour, 2, "$", "", LESS)
QUALITY = (
    RunMeasure("Jobs that keep 95% of their performance", lambda m: 100 * kept_qos(m), 1, "", "%", MORE),
    RunMeasure("Batch jobs: performance that 95% reach", lambda m: 100 * m.service.batch.p5, 0, "", "%", MORE),
    RunMeasure("Services: tail latency that 95% stay below", lambda m: m.service.tail.p95, 2, "", " ×", LESS),
    RunMeasure("Waiting time that 95% stay below", lambda m: m.service.waiting.p95, 0, "", " s", LESS),
    RunMeasure(
        "Use of the reserve", lambda m: 100 * m.use.utilisation, 0, "", "%", "Of its vCPUs, over the whole run."
    ),
)


def comparison_page(comparison: StrategyComparison, at: datetime, loads: Sequence[float] = ()) -> Page:
    """The page of a comparison; at several ``loads`` no strategy is the best of all."""
    lead = (*(_best(comparison) if len(loads) <= 1 else ()), *_lead(comparison))
    quality = tuple(made.figure() for measure in QUALITY if (made := _picture(comparison, measure)) is not None)
    cost_drawn = _picture(comparison, _dollars(comparison))
    named = "; ".join(f"{name}: {title}" for name, title in titles(c.name for c in comparison.strategies))
    sections = (
        PageSection(
            "What each strategy costs",
            figures=() if cost_drawn is None else (cost_drawn.figure(),),
            notes=(f"{named}.",) if named else (),
        ),
        PageSection("Quality, waiting and use", figures=quality, tables=(_table(comparison),)),
        PageSection(
            "Use over time",
            ("The first seed.",),
            tuple(drawn.figure() for drawn in _courses(comparison)),
        ),
    )
    foot = (f"Made by hcloud {__version__} on {at:%Y-%m-%d %H:%M} UTC. This file loads nothing and runs no script.",)
    return Page(f"Strategies for {comparison.workload_name}", lead, sections, foot=foot)


def _best(comparison: StrategyComparison) -> Iterator[str]:
    """The cheapest on the front, and whose dollars chance does not separate from its own."""
    best = cheapest_of(comparison)
    if best is None:
        return
    cost, kept = best.interval(dollars_per_hour).mean, best.interval(kept_qos).mean
    yield (
        f"{best.name} is the cheapest Pareto-optimal strategy: ${cost:,.{rate_places(cost)}f} an hour of work, and"
        f" {kept:.1%} of jobs keep 95% of their performance."
    )
    if alike := as_cheap_by_chance(comparison, best):
        yield f"{alike}."


def _lead(comparison: StrategyComparison) -> Iterator[str]:
    """What was simulated, the window that counts, and who left out too much of the work."""
    yield (
        f"{counted(comparison.jobs, 'job')} of {comparison.workload_name}, simulated in the cloud {comparison.cloud}"
        f" with {counted(len(comparison.seeds), 'seed')}."
    )
    yield from _market(comparison)
    for said in comparison.assumed:
        yield f"{said[0].upper()}{said[1:]}."
    if comparison.window is not None:
        yield f"Dollars and use are of the window: {window_line(comparison.window)}."
    for one in comparison.strategies:
        if one.refused_work:
            out = "" if one.is_compared else " and is not compared"
            yield f"{one.name} leaves out {one.refused_work:.1%} of the work (no type holds it){out}."


def _market(comparison: StrategyComparison) -> Iterator[str]:
    """Whose machines and prices the dollars are."""
    shop = comparison.shop
    key, rented = shop.reserved.key, shop.types[shop.large]
    if key.region == CLUSTER:
        return
    own = "" if comparison.cloud != STUDY else ": the machines of the HCloud study; name a provider for another cloud"
    yield (
        f"Dollars are of {rented.shape.name} in {key.provider} {key.region}, {format_money(rented.on_demand.hourly, 4)}"
        f" an hour on demand and {format_money(shop.reserved.effective_hourly, 4)} reserved (prices of"
        f" {shop.reserved.origin.day}){own}."
    )


def _dollars(comparison: StrategyComparison) -> RunMeasure:
    """In as many places as tell the strategies apart."""
    rates = (dollars_per_hour(run) for compared in comparison.strategies for run in compared.runs)
    return replace(DOLLARS, digits=rate_places(*rates))


def _standing(compared: ComparedStrategy) -> str:
    return ("yes" if compared.on_front else "") if compared.is_compared else "not compared"


def _shown(compared: ComparedStrategy, measure: RunMeasure) -> tuple[Interval, str]:
    """A figure over the seeds, also in words."""
    found = compared.interval(measure.of)
    spread = f" ± {found.half:,.{measure.digits}f}" if found.half > 0 else ""
    return found, f"{measure.prefix}{found.mean:,.{measure.digits}f}{spread}{measure.unit}"


def _picture(comparison: StrategyComparison, measure: RunMeasure) -> Drawn | None:
    rows = []
    for compared in sorted(comparison.strategies, key=lambda c: -c.interval(dollars_per_hour).mean):
        found, said = _shown(compared, measure)
        if not math.isnan(found.mean):
            name = f"{compared.name}, {compared.runs[0].pool:,} reserved" + (
                ": Pareto-optimal" if compared.on_front else ""
            )
            kind = "p-best" if compared.on_front else "p-other"
            rows.append(BarRow(name, said, found.mean, *found.ends(100.0 if measure.unit == "%" else math.inf), kind))
    if not rows:
        return None
    about = " ± and whiskers: 95% interval over the seeds." if len(comparison.seeds) > 1 else ""
    return bar_picture(measure.title, Bars(rows), measure.meaning + about)


def _table(comparison: StrategyComparison) -> Figures:
    """Every figure of the pictures, a row a strategy."""
    measures = [_dollars(comparison), *QUALITY]
    names = ("strategy", "reserved", *(m.title for m in measures), "Pareto-optimal")
    rows = [[*_row(compared, measures)] for compared in comparison.strategies]
    return Figures(names, rows, frozenset(range(1, len(names) - 1)), "All figures")


def _row(compared: ComparedStrategy, measures: list[RunMeasure]) -> Iterator[str]:
    yield from (compared.name, f"{compared.runs[0].pool:,}")
    for measure in measures:
        found, said = _shown(compared, measure)
        yield "–" if math.isnan(found.mean) else said
    yield _standing(compared)


def _courses(comparison: StrategyComparison) -> Iterator[Drawn]:
    """vCPUs in use over time, of the reserve and rented, on one scale."""
    shown = [_course(c) for c in comparison.strategies if len(c.first.timeline.times) > 1]
    if shown:
        groups = [PanelGroup(shown, kinds={OWN: "p-reserve", RENTED: "p-rent"}, columns=2, height=HEIGHT)]
        told = " ".join(f"{panel.title}: {panel.about}" for panel in shown)
        yield Drawn("vCPUs in use", lambda width: panels(groups, width), told, "")


def _course(compared: ComparedStrategy) -> Panel:
    line = compared.first.timeline
    own = [float(v) for v in line.pool_cores]
    rented = [sum(float(c[i]) * line.vcpus[n] for n, c in line.rented.items()) for i in range(len(line.times))]
    unit, each = time_unit(float(line.times[-1]) / 3600)
    hours = [float(seconds) / 3600 / each for seconds in line.times]
    marks = [
        SeriesMark(name, at, (v,))
        for name, vs in ((OWN, own), (RENTED, rented))
        for at, v in zip(hours, vs, strict=True)
    ]
    said = (
        f"At most {max(own):,.0f} vCPUs of the reserve are in use and {max(rented):,.0f} rented;"
        f" the queue holds {counted(round(max(map(float, line.queue))), 'job')} at most."
    )
    return Panel(compared.name, "areas", f"{unit} since the start", "vCPUs", marks, said)
