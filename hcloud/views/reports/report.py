"""Reports in sections of sentences and tables, which a screen, Markdown and a page show alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from hcloud.model.report import Costs
from hcloud.planning.reports.report import ChargeGroup, Dimension, Report, ReportSource, grouped, shown, to_cents
from hcloud.planning.reports.savings import CommitmentUse, Savings, against, coverage, savings, uses
from hcloud.units import cents, format_money, percent
from hcloud.views.console import Terminal
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import NARROW_GAP, Figures

COSTS = ("list", "contracted", "effective", "billed")
NAMES = {Dimension.APP: "application"}
SOURCES = {ReportSource.PLAN: "a month of plan", ReportSource.JOURNAL: "journal", ReportSource.LIVE: "live in"}
TOTAL = "total"
SPARED = ("hours", "contracted")


def cost_sections(report: Report, by: Sequence[Dimension]) -> tuple[PageSection, ...]:
    """Costs four ways by some dimensions."""
    groups = grouped(report.charges, by, report.team_tag)
    return (PageSection("Cost", (_headline(report),), tables=(_cost_figures(groups, by),), notes=report.notes),)


def savings_sections(report: Report) -> tuple[PageSection, ...]:
    """Where the savings come from, and what the same use would have cost otherwise."""
    found = savings(report.charges)
    costs = shown([found.costs])[0]
    parts = _parts(found, costs.list - costs.effective)
    rows = [
        ("list price of usage", money(costs.list), ""),
        ("saved by commitments", money(parts[0]), _share(found.commitments, found.costs.list)),
        ("saved by spot", money(parts[1]), _share(found.spot, found.costs.list)),
        ("saved by other discounts", money(parts[2]), _share(found.sustained, found.costs.list)),
        ("effective cost", money(costs.effective), ""),
        ("of it unused commitment", money(cents(found.unused)), _share(found.unused, found.costs.effective)),
    ]
    where = Figures(("savings", "$", "share"), rows, frozenset((1, 2)))
    saved = money(costs.list - costs.effective)
    said = f"effective savings rate {percent(found.rate)}: {saved} less than at list price"
    return (
        PageSection(
            "Savings", (_headline(report), said), tables=(where, *_counterfactuals(report)), notes=report.notes
        ),
    )


def _parts(found: Savings, whole: Decimal) -> tuple[Decimal, ...]:
    """What commitments, spot and use saved, to the cent: with the largest taking up the cent by which rounded costs
    differ from the rounded difference."""
    exact = (found.commitments, found.spot, found.sustained)
    parts = list(to_cents(exact))
    parts[max(range(len(exact)), key=lambda at: abs(exact[at]))] += whole - sum(parts, Decimal(0))
    return tuple(parts)


def commitments_sections(report: Report, at: datetime) -> tuple[PageSection, ...]:
    """Coverage and utilisation, and each commitment with what was not used of it and when it ends."""
    whole, found = coverage(report.charges), uses(report)
    said = (
        f"coverage {percent(whole.coverage)} of {money(whole.coverable)} that commitments could cover, "
        f"utilisation {percent(whole.utilisation)}, unused {money(cents(whole.unused))}"
    )
    tables = (_commitment_figures(found, at),) if found else ()
    return (PageSection("Commitments", (_headline(report), said), tables=tables, notes=report.notes),)


def show_sections(sections: Sequence[PageSection], terminal: Terminal) -> None:
    """Print sections, a blank line between them; what needs attention goes to stderr."""
    for at, section in enumerate(sections):
        terminal.show(*([""] if at else []), *section.words)
        for table in section.tables:
            terminal.show("", narrowed(table, terminal.out.width))
        for note in section.notes:
            terminal.note(f"note: {note}")


def narrowed(table: Figures, width: int) -> Figures:
    """A table without the columns that can be spared where it is too wide: hours, and a price that says nothing new."""
    for name in SPARED:
        columns = [table.cells(c) for c in range(len(table.names))]
        if name not in table.names or sum(max(map(len, c)) + NARROW_GAP for c in columns) - NARROW_GAP <= width:
            continue
        at = table.names.index(name)
        if name == "contracted" and columns[at][1:] != columns[table.names.index("list")][1:]:
            continue
        numbers = frozenset(c - (c > at) for c in table.numbers if c != at)
        rows = [(*row[:at], *row[at + 1 :]) for row in table.rows]
        table = replace(table, names=(*table.names[:at], *table.names[at + 1 :]), rows=rows, numbers=numbers)
    return table


def _headline(report: Report) -> str:
    costs = shown([report.costs])[0]
    return (
        f"{SOURCES[report.source]} {report.name}, {span_text(report)}: {money(costs.effective)} effective, "
        f"{money(costs.list)} at list price, {money(costs.billed)} billed"
    )


def span_text(report: Report) -> str:
    """From when to when it is reported."""
    start, end = (_moment(at) for at in (report.period.start, report.period.end))
    return f"{start} to {end}"


def _moment(at: int) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    return moment.strftime("%Y-%m-%d" if at % 86_400 == 0 else "%Y-%m-%d %H:%M")


def _cost_figures(groups: Sequence[ChargeGroup], by: Sequence[Dimension]) -> Figures:
    names = tuple(NAMES.get(one, str(one)) for one in by)
    costs = shown([g.costs for g in groups])
    rows = [(*g.keys, hours_text(g.hours), *_four(c)) for g, c in zip(groups, costs, strict=True)]
    whole = Costs()
    for one in costs:
        whole = whole + one
    if by:
        last = (TOTAL, *[""] * (len(by) - 1), hours_text(sum((g.hours for g in groups), Decimal(0))), *_four(whole))
        rows = [*rows, last]
    first = len(by)
    return Figures((*names, "hours", *COSTS), rows, frozenset(range(first, first + 5)))


def _four(costs: Costs) -> tuple[str, ...]:
    return tuple(f"{getattr(costs, name):,.2f}" for name in COSTS)


def _counterfactuals(report: Report) -> Iterator[Figures]:
    effective = cents(report.costs.effective)
    rows = [("as reported", money(effective), "")]
    rows += [(one.name, money(cents(one.dollars)), _against(more, effective)) for one, more in against(report)]
    if report.counterfactuals:
        yield Figures(("for the same use", "$", "difference"), rows, frozenset((1, 2)))


def _commitment_figures(found: Sequence[CommitmentUse], at: datetime) -> Figures:
    amounts = zip(
        to_cents([u.covered for u in found]),
        to_cents([u.amortised for u in found]),
        to_cents([u.unused for u in found]),
        to_cents([u.upfront + u.recurring for u in found]),
        strict=True,
    )
    rows = []
    for use, four in zip(found, amounts, strict=True):
        held = use.holding
        quantity = f"{format_money(held.dollars_per_hour, 4)}/h" if held.dollars_per_hour else f"{held.count:,.0f}"
        ends = "" if held.ends is None else held.ends.date().isoformat()
        left = use.days_left(at)
        rows.append(
            (
                held.id,
                f"{held.option} {held.instance_type}".strip(),
                quantity,
                percent(use.utilisation),
                *(f"{amount:,.2f}" for amount in four),
                ends,
                "" if left is None else f"{left:,}",
            )
        )
    names = ("commitment", "kind", "count", "used", "covered", "amortised", "unused", "billed", "ends", "days left")
    if all(u.holding.option in u.holding.id and u.holding.instance_type in u.holding.id for u in found):
        # The names of planned ones say it
        return Figures((names[0], *names[2:]), [(row[0], *row[2:]) for row in rows], frozenset((1, 2, 3, 4, 5, 6, 8)))
    return Figures(names, rows, frozenset((2, 3, 4, 5, 6, 7, 9)))


def money(amount: Decimal) -> str:
    """Dollars to the cent."""
    return format_money(amount, 2)


def hours_text(hours: Decimal) -> str:
    """Machine-hours to a tenth."""
    return f"{hours:,.1f}"


def _against(more: Decimal, whole: Decimal) -> str:
    return percent(more / whole, sign="+") if whole else ""


def _share(part: Decimal, whole: Decimal) -> str:
    return percent(part / whole) if whole else ""
