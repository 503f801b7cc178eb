"""The plan of a bill: one screen for the whole, a line for each kind of machine; as Markdown, a page and CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from hcloud.model.bill import rows_in_words
from hcloud.model.plans.bill_plan import BillPlan, KindPlan, told_of_daily_rows
from hcloud.model.plans.held import said_days
from hcloud.units import cents, counted, format_figure, format_hourly, format_money, format_span, plain
from hcloud.views.charts import figure
from hcloud.views.comment import LONGEST_LINE
from hcloud.views.console import Terminal
from hcloud.views.deciding.plan_tables import SHORT, in_resources
from hcloud.views.escaped import BLANK, Written, csv_document, md
from hcloud.views.lines import point
from hcloud.views.markdown import markdown, warned
from hcloud.views.page.bars import BarRow, Bars, bar_picture
from hcloud.views.page.parts import KeyFigure, Page, PageSection
from hcloud.views.tables import Figures

SHOWN_KINDS = 25  # ours: what one screen holds; the rest is summed up in its last line
SHOWN_REASONS = SHOWN_ENDS = 4
PICTURED_KINDS = 12
COLUMNS = (
    "name", "provider", "region", "mean_vcpus", "held_vcpus", "bought_vcpus", "paid", "at_list", "at_book", "now",
    "after", "upfront", "more_at_worst", "why_not",
)  # fmt: skip


def show_bill_plan(made: BillPlan, terminal: Terminal) -> None:
    """Print it on one screen; warnings go to stderr, that of a bill too short to buy from before all."""
    first = 1 if made.is_short else 0
    for warning in made.warnings[:first]:
        terminal.warn(warning)
    terminal.show(headline(made), "", *_about(made), "")
    if made.planned:
        terminal.show(_kinds(made, SHOWN_KINDS), "")
    if made.purchases:
        terminal.show(_purchases(made), "")
    terminal.show(*map(point, (*_notes(made), *(f"the whole plan of one kind: {c}" for c in _of_one_kind(made)))))
    for warning in made.warnings[first:]:
        terminal.warn(warning)


def headline(made: BillPlan) -> str:
    """Dollars a month as things are, and with what the plans buy; no dollars where nothing is planned."""
    if not made.planned:
        return "no kind of machine in the bill can be planned; why is below"
    saved = made.now - made.after
    share = f" ({float(saved / made.now):.1%})" if made.now else ""
    verb = f"saves {format_money(saved)}/month{share}" if saved > 0 else "nothing is worth buying"
    held = any(kind.held_vcpus for kind in made.planned)
    return (
        f"{'with what is held' if held else 'all on demand'} {format_money(made.now)}/month  →  "
        f"this plan {format_money(made.after)}/month   {verb}"
    )


def _about(made: BillPlan) -> Iterator[str]:
    files = f" in {counted(made.files, 'file')}" if made.files > 1 else ""
    step = rows_in_words(daily=made.daily, longest_days=made.longest_days)
    yield (
        f"{made.name} ({made.format}): {counted(made.rows, 'row')}{files}, from {made.start:%Y-%m-%d} on "
        f"{format_span(made.hours * 3600)}, {step} · {format_money(made.total, 2)} in all"
    )
    if made.planned:
        apart = f" and {format_money(made.licences)} for licences of all machines, planned or not"
        beside = apart if made.licences else ""
        yield (
            f"planned: {counted(len(made.planned), 'kind of machine', 'kinds of machines')}, {format_money(made.paid)}"
            f"/month by the bill{beside}; below: dollars a month at today's prices, upfront due now"
        )


def _kinds(made: BillPlan, most: int) -> Figures:
    names = ("kind", "mean vCPUs", "held", "buy", "no purchase", "plan", "saves", "upfront")
    shown, rest = made.planned[:most], made.planned[most:]
    rows = [_row(kind) for kind in shown]
    if rest:
        rows.append(_sums(f"{counted(len(rest), 'more kind')}", rest))
    rows += [[""] * len(names), _sums("total", made.planned)]
    return Figures(names, rows, frozenset(range(1, len(names))), bold=frozenset({len(rows) - 1}))


def _row(kind: KindPlan) -> list[str]:
    return [
        kind.name + (" (fell)" if kind.said else ""),
        *_vcpus(kind),
        _some(kind.bought_vcpus),
        format_figure(kind.now),
        format_figure(kind.after),
        _some(kind.now - kind.after),
        _some(kind.upfront),
    ]


def _vcpus(kind: KindPlan) -> list[str]:
    return [figure(kind.mean_vcpus), _some(kind.held_vcpus)]


def _some(amount: Decimal) -> str:
    return format_figure(amount) if round(amount) else ""


def _sums(name: str, kinds: tuple[KindPlan, ...]) -> list[str]:
    def total(of: str) -> Decimal:
        return sum((getattr(kind, of) for kind in kinds), Decimal(0))

    now, after = total("now"), total("after")
    mean = figure(sum(kind.mean_vcpus for kind in kinds))
    bought = [_some(total("held_vcpus")), _some(total("bought_vcpus"))]
    return [name, mean, *bought, format_figure(now), format_figure(after), _some(now - after), _some(total("upfront"))]


def _purchases(made: BillPlan) -> Figures:
    names = ("to buy", "kinds", "$/h", "upfront")
    rows = [
        (
            f"{p.provider} {SHORT[p.option]} {p.term_years}y {p.payment.replace('-', ' ')}",
            f"{p.kinds:,}",
            format_hourly(p.hourly),
            _some(p.upfront),
        )
        for p in made.purchases
    ]
    return Figures(names, rows, frozenset({1, 2, 3}))


def _notes(made: BillPlan) -> Iterator[str]:
    fell = [kind for kind in made.kinds if kind.said and kind.plan is not None]
    for kind in fell[:SHOWN_REASONS]:
        yield f"{kind.name}: {'; '.join(kind.said)}"
    yield from made.not_proposed
    yield from in_resources(line for kind in made.kinds for line in kind.purchases)
    if (longer := made.longer) is not None:
        paid = f", {format_money(longer.upfront)} upfront," if longer.upfront else ""
        yield (
            f"the same purchases for {longer.years} years{paid} would save {format_money(longer.saved)}/month more, if "
            f"the machines run that long: plan with --horizon {longer.years}y"
        )
    if made.accounts > 1:
        yield (
            f"what is bought is for {made.accounts:,} accounts together: where accounts, projects or subscriptions do "
            "not share commitments, plan an export of each alone"
        )
    yield from _ends(made)
    if made.later:
        more = sum((line.upfront for line in made.later), Decimal(0))
        paid = f", {format_money(more)} upfront then" if more else ""
        yield f"{counted(len(made.later), 'purchase')} later, on {said_days(made.later)}{paid}"
    if made.spot:
        yield f"spot machines are unchanged: {format_money(made.spot)}/month"
    kinds = {f"{k.name}: {k.why_not}": k.paid for k in made.kinds if k.plan is None}
    left = sorted({**made.unplanned, **kinds}.items(), key=lambda x: (-x[1], x[0]))
    for why, monthly in left[:SHOWN_REASONS]:
        rented = made.unplanned_rented.get(why)
        part = "" if rented is None else f" ({format_money(rented)} of it on demand)"
        yield f"not planned, {format_money(monthly)}/month{part}: {why}"
    if len(left) > SHOWN_REASONS:
        rest = sum((monthly for _, monthly in left[SHOWN_REASONS:]), Decimal(0))
        yield f"not planned, {format_money(rest)}/month: {counted(len(left) - SHOWN_REASONS, 'more kind')}"
    worst = sum((kind.more_at_worst or Decimal(0) for kind in made.kinds), Decimal(0))
    if made.daily and made.planned and made.longest_days == 1:  # of longer ones that is not known, as a warning says
        yield told_of_daily_rows(worst)


def _of_one_kind(made: BillPlan) -> Iterator[str]:
    """The command that plans the largest kind whole."""
    if made.planned:
        yield f"hcloud plan {made.source} --set kind={made.planned[0].name}"


def _ends(made: BillPlan) -> Iterator[str]:
    """The days on which what is held ends, the first first."""
    days: dict[date, Counter[str]] = {}
    for day, what in made.held_ends:
        days.setdefault(day, Counter())[what] += 1
    for day, ending in list(days.items())[:SHOWN_ENDS]:
        named = [what if count == 1 else f"{count:,} of {what}" for what, count in ending.items()]
        more = f" and {counted(len(named) - SHOWN_ENDS, 'other')}" if len(named) > SHOWN_ENDS else ""
        yield f"held until {day}: {', '.join(named[:SHOWN_ENDS])}{more}"
    if len(days) > SHOWN_ENDS:
        rest = sum(sum(ending.values()) for ending in list(days.values())[SHOWN_ENDS:])
        yield f"held until {max(days)} at the latest: {counted(rest, 'more commitment')}"


def bill_markdown(made: BillPlan) -> Written:
    """The same for a pull request or a ticket."""
    return markdown(
        _sections(made), (md("**{}**", headline(made), longest=LONGEST_LINE), BLANK, *warned(made.warnings))
    )


def bill_page(made: BillPlan) -> Page:
    """The same as a page that loads nothing, with a picture of the largest kinds."""
    key = (
        KeyFigure("now", f"{format_money(made.now)}/month", "machines on demand and under existing commitments"),
        KeyFigure("this plan", f"{format_money(made.after)}/month", f"saves {format_money(made.now - made.after)}"),
        KeyFigure(
            "due upfront now" if made.later else "due upfront",
            format_money(made.upfront),
            f"{counted(len(made.purchases), 'kind')} of purchase",
        ),
    )
    foot = (f"hcloud {made.tool_version} · {made.generated_at:%Y-%m-%d %H:%M} UTC · bill {made.digest[:12]}",)
    return Page(f"Plan of {made.name}", (headline(made),), tuple(_sections(made)), key, foot, made.warnings)


def _sections(made: BillPlan) -> list[PageSection]:
    rows = [BarRow(k.name, f"{format_money(k.now)} → {format_money(k.after)}", float(k.now)) for k in made.planned][
        :PICTURED_KINDS
    ]
    drawn = bar_picture("Dollars a month by kind of machine", Bars(rows), "as things are, and with the plan")
    kinds = PageSection("Kinds of machines", tuple(_about(made)), (drawn.figure(),), (_kinds(made, len(made.kinds)),))
    bought = PageSection("To buy", tables=(_purchases(made),)) if made.purchases else None
    about = PageSection("Notes", points=tuple(_notes(made)))
    one = PageSection("The whole plan of one kind", commands=tuple(_of_one_kind(made))) if made.planned else None
    return [section for section in (kinds, bought, about, one) if section is not None]


def bill_csv(made: BillPlan) -> Written:
    """One row a kind; dollars a month as decimals, empty where there is none."""
    return csv_document(COLUMNS, [[_cell(getattr(kind, name)) for name in COLUMNS] for kind in made.kinds])


def _cell(value: object) -> str:
    """Dollars to the cent, vCPUs and text as they are."""
    if isinstance(value, Decimal):
        return plain(cents(value))
    return "" if value is None else str(value)
