"""A report as a page: its key figures, dollars by day and option as a picture, and its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import cycle

from hcloud.model.catalog import PurchaseOption
from hcloud.model.report import Charge
from hcloud.planning.reports.report import Dimension, Report, grouped, key_of
from hcloud.planning.reports.savings import coverage, savings
from hcloud.units import format_money, percent
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.panels import Panel, PanelGroup, SeriesMark, panels
from hcloud.views.page.parts import KeyFigure, Page, PageSection
from hcloud.views.reports.report import SOURCES, money, span_text

OWN = {str(PurchaseOption.ON_DEMAND): "p-rent", str(PurchaseOption.SPOT): "p-best"}
COMMITTED = ("p-reserve", "p-idle", "p-other")
MOST_NAMES = 4  # ours: more options than these are drawn together
OTHERS = "others"


def report_page(report: Report, sections: Sequence[PageSection]) -> Page:
    """The page of a report."""
    drawn = [_drawn(report).figure()] if len(_days(report.charges)) > 1 else []
    picture = [PageSection("Effective cost by day", figures=tuple(drawn))] if drawn else []
    title = f"{SOURCES[report.source]} {report.name}"
    rest = [PageSection(s.heading, s.words[1:], s.figures, s.tables, s.notes, s.points) for s in sections]
    found = savings(report.charges)
    less = "" if found.rate is None else f", {percent(found.rate)} below list price"
    lead = (f"{money(report.costs.effective)}{less}",)
    foot = () if report.price_day is None else (f"oldest price of {report.price_day}",)
    return Page(title[:1].upper() + title[1:], lead, (*picture, *rest), _key_figures(report), foot)


def _key_figures(report: Report) -> tuple[KeyFigure, ...]:
    costs, saved, held = report.costs, savings(report.charges), coverage(report.charges)
    return (
        KeyFigure("effective cost", money(costs.effective), span_text(report)),
        KeyFigure("at list price", money(costs.list), f"savings rate {percent(saved.rate)}"),
        KeyFigure("billed", money(costs.billed), "with the payments for commitments"),
        KeyFigure("unused commitment", money(saved.unused), f"utilisation {percent(held.utilisation)}"),
    )


def _days(charges: Sequence[Charge]) -> list[str]:
    return sorted({key_of(c, Dimension.DAY) for c in charges})


def _drawn(report: Report) -> Drawn:
    days = _days(report.charges)
    options = [g.keys[0] for g in grouped(report.charges, [Dimension.OPTION]) if g.costs.effective]
    names = options if len(options) <= MOST_NAMES else [*options[: MOST_NAMES - 1], OTHERS]
    amounts: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for group in grouped(report.charges, [Dimension.DAY, Dimension.OPTION]):
        day, option = group.keys
        amounts[day, option if option in names else OTHERS] += group.costs.effective
    most = max(sum((amounts[d, n] for n in names), Decimal(0)) for d in days)
    whole = {n: sum((amounts[d, n] for d in days), Decimal(0)) for n in names}
    said = ", ".join(f"{name} {format_money(dollars, 2)}" for name, dollars in whole.items())

    marks = [SeriesMark(n, float(at), (float(amounts[d, n]),)) for at, d in enumerate(days) for n in names]
    panel = Panel("", "stacked", "day (UTC)", "dollars a day", marks, names=tuple(map(_day, days)))
    committed = cycle(COMMITTED)
    groups = [PanelGroup([panel], kinds={name: OWN.get(name) or next(committed) for name in names})]
    return Drawn(
        "Effective cost by day and purchase option",
        lambda width: panels(groups, width),
        f"Stacked bars, one a day from {days[0]} to {days[-1]}, up to {format_money(most, 2)} a day; in all {said}.",
        "Commitments are spread over what they cover; days are in UTC.",
    )


def _day(day: str) -> str:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).strftime("%d %b").lstrip("0")
