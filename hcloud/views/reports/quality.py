"""Quality and accuracy as sections of words and tables, which every form of a report shows alike."""

from __future__ import annotations

from decimal import Decimal

from hcloud.model.plans.operation import Band, OperatingPoint
from hcloud.planning.reports.accuracy import DIME, Accuracy, ComparedFigure, CostEffects
from hcloud.planning.reports.quality import GroupQuality, QualityReport
from hcloud.planning.strategies.operation import BASELINE
from hcloud.units import counted, format_span, percent
from hcloud.views.page.parts import Page, PageSection
from hcloud.views.tables import Figures

NONE = "-"
_ENDS = "failed", "cancelled", "lost", "refused", "unfinished"
UNITS = {"$/h": "$/h", "$/month": "$/month", "share": "%", "s": "s", "vCPU": "vCPU"}


def quality_sections(report: QualityReport) -> tuple[PageSection, ...]:
    """What jobs got, or are predicted to get."""
    if report.points:
        return (_predicted(report),)
    whole = report.groups[0]
    words = (
        f"journal {report.name}, strategy {report.strategy}: {_kept(whole)},"
        f" wait p95 {_seconds(whole.wait_p95)}, {whole.below:,} violations"
    )
    return (PageSection("Quality", (words,), tables=(_got(report.groups), _done(report.groups)), notes=report.notes),)


def _kept(whole: GroupQuality) -> str:
    if whole.kept is None:
        return "quality of no job known"
    return f"{percent(whole.kept)} of {counted(whole.judged, 'job')} kept 95% of their performance, waits counted"


def _got(groups: tuple[GroupQuality, ...]) -> Figures:
    names = ("jobs of", "jobs", "kept %", "p5 %", "median %", "wait p50 s", "wait p95 s", "wait max s", "queued %")
    rows = [
        (
            g.group,
            f"{g.jobs:,}",
            _hundred(g.kept),
            _hundred(g.p5),
            _hundred(g.median),
            _figure(g.wait_p50),
            _figure(g.wait_p95),
            _figure(g.wait_max),
            _hundred(g.queued),
        )
        for g in groups
    ]
    return Figures(names, rows, frozenset(range(1, len(names))))


def _done(groups: tuple[GroupQuality, ...]) -> Figures:
    names = ("jobs of", "violations", "moves", "enlarged", "interrupted", *_ENDS)
    rows = [
        (g.group, *(f"{n:,}" for n in (g.below, g.moves, g.enlarged, g.interrupted, *(getattr(g, e) for e in _ENDS))))
        for g in groups
    ]
    return Figures(names, rows, frozenset(range(1, len(names))))


def _predicted(report: QualityReport) -> PageSection:
    chosen = report.points[0]
    asked = "" if report.asked is None else f", {percent(report.asked)} are asked for"
    words = (
        f"plan {report.name}, {chosen.strategy} with {chosen.reserve} reserved: {percent(chosen.kept_qos.mean)} of jobs"
        f" keep 95% of their performance{asked}"
    )
    names = ("predicted", "kept %", "batch p5 %", "tail p95 x", "wait p95 s", "reserve in use %")
    rows = [_point(p) for p in report.points]
    return PageSection(
        "Quality", (words,), tables=(Figures(names, rows, frozenset(range(1, len(names)))),), notes=report.notes
    )


def _point(point: OperatingPoint) -> tuple[str, ...]:
    name = f"{point.strategy} with {point.reserve}" + (" (baseline)" if point.reserve_rule == BASELINE else "")
    return (
        name,
        _band(point.kept_qos, 100),
        _band(point.batch_p5, 100),
        _band(point.tail_p95, 1),
        _band(point.wait_p95, 1),
        _band(point.utilisation, 100),
    )


def _band(band: Band | None, factor: float) -> str:
    if band is None:
        return NONE
    half = "" if band.half is None else f" ±{band.half * factor:.1f}"
    return f"{band.mean * factor:,.1f}{half}"


def accuracy_sections(accuracy: Accuracy) -> tuple[PageSection, ...]:
    """What was predicted beside what happened, and why the dollars differ."""
    span = format_span(float(accuracy.hours) * 3600)
    first, effects = accuracy.figures[0], accuracy.effects
    if effects is None:
        words = f"journal {accuracy.source}, {span}: mean expected at the decision, and mean measured"
        return (PageSection("Accuracy", (words,), tables=(_compared(accuracy.figures),), notes=accuracy.notes),)
    words = (
        f"plan {accuracy.plan} against {accuracy.source},"
        f" {span}: {amount(first.predicted, first.unit)} predicted,"
        f" {amount(first.actual, first.unit)} actual ({percent(first.error, sign='+')})"
    )
    return (
        PageSection("Accuracy", (words,), tables=(_compared(accuracy.figures),), notes=accuracy.notes),
        PageSection("Why the dollars differ", (_said(effects),), tables=(_effects(effects),)),
    )


def _compared(figures: tuple[ComparedFigure, ...]) -> Figures:
    """With intervals where there are any."""
    names = ("figure", "predicted", "interval", "actual", "error", "in interval")
    rows = [
        (
            f"{f.name}, {UNITS[f.unit]}",
            _bare(f.predicted, f.unit),
            _interval(f),
            _bare(f.actual, f.unit),
            percent(f.error, sign="+"),
            NONE if f.inside is None else "yes" if f.inside else "no",
        )
        for f in figures
    ]
    if all(f.inside is None for f in figures):
        return Figures((*names[:2], *names[3:5]), [(*r[:2], *r[3:5]) for r in rows], frozenset((1, 2, 3)))
    return Figures(names, rows, frozenset((1, 2, 3, 4)))


def _interval(figure: ComparedFigure) -> str:
    if figure.low is None or figure.high is None:
        return NONE
    return f"{_bare(figure.low, figure.unit)} to {_bare(figure.high, figure.unit)}"


def _bare(value: Decimal | None, unit: str) -> str:
    """A figure in the unit that its row names."""
    if value is None:
        return NONE
    if unit == "share":
        return f"{value * 100:.1f}"
    places = 0 if unit == "$/month" else 1 if unit == "vCPU" else 4 if unit == "$/h" and abs(value) < DIME else 2
    return f"{value:,.{places}f}"


def amount(value: Decimal | None, unit: str) -> str:
    """A figure with its unit."""
    if value is None:
        return NONE
    return f"${_bare(value, unit)}{unit[1:]}" if unit.startswith("$") else f"{_bare(value, unit)} {UNITS[unit]}"


def _effects(found: CostEffects) -> Figures:
    rows = [
        ("predicted, of the mix", f"{found.predicted:,}"),
        *((name, f"{dollars:+z,}") for name, dollars in _parts(found)),
        ("actual", f"{found.actual:,}"),
    ]
    return Figures(("dollars an hour", "$/h"), rows, frozenset((1,)))


def _parts(found: CostEffects) -> list[tuple[str, Decimal]]:
    """The effects with their names; they add up to the difference."""
    volume = [("more or fewer vCPUs rented", found.volume)]
    if found.demand is not None:
        beside = found.volume - found.demand
        volume = [("more or less demand", found.demand), ("vCPUs rented beyond demand", beside)]
    return [("different prices", found.price), *volume, ("a different mix", found.mix)]


def _said(found: CostEffects) -> str:
    if not found.difference:
        return "no difference: the cost an hour is as planned"
    name, most = max(_parts(found), key=lambda part: abs(part[1]))
    verb = "more" if found.difference > 0 else "less"
    return f"${abs(found.difference):,}/h {verb} than planned for the mix; main cause: {name} ({most:+,})"


def report_page(title: str, sections: tuple[PageSection, ...]) -> Page:
    """The sections as a page: what stands first is its lead."""
    lead = sections[0].words[:1]
    first = PageSection(sections[0].heading, sections[0].words[1:], tables=sections[0].tables, notes=sections[0].notes)
    return Page(title, lead, (first, *sections[1:]))


def _hundred(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f}"


def _figure(value: float | None) -> str:
    return NONE if value is None else f"{value:,.1f}"


def _seconds(value: float | None) -> str:
    return NONE if value is None else format_span(value)
