"""A bill on the screen: what was read, what ran, what commitments cover of it, and what ends when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise, takewhile

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from hcloud.model.bill import NO_NAME, Bill, BilledCommitment, BilledUsage, Service, rows_in_words
from hcloud.model.bill_figures import BillFigures, UsageFigures
from hcloud.planning.billed.spread import HOURS_PER_DAY, in_use, missing_hours
from hcloud.units import counted, exact_money
from hcloud.views.charts import Layer, SeriesChart, figure, terminal_legend, terminal_series
from hcloud.views.console import Terminal, plain_of
from hcloud.views.tables import Figures

SHOWN = 5
"""Rows of each table of usage; the rest is one more."""
COMMITMENTS_SHOWN = 20
_POINTS = 400
_COLUMNS = ("hours", "list cost", "paid", "covered", "spot paid")
_SHORT_ID = 8
"""Characters of a commitment's id that are shown at least."""


def show_bill(figures: BillFigures, terminal: Terminal) -> None:
    """Every table of a bill, then the machines that ran over time."""
    bill = figures.bill
    terminal.show(Text(bill.name, style="bold"), "")
    terminal.show(plain_of(bill_figures(figures), ("value",)), "")
    for table in bill_tables(figures):
        terminal.show(table, "")
    for table in treatment(bill):
        terminal.show(plain_of(table, ("what",)), "")
    if bill.usage:
        chart, width = chart_of(bill), terminal.out.width
        terminal.show(Text(terminal_legend(chart, width)))
        terminal.show(*(Text(line, style="cyan", no_wrap=True) for line in terminal_series(chart, width)))


def bill_tables(figures: BillFigures) -> Iterator[Figures]:
    """Its lines by kind, its usage by what differs in it, and the commitments."""
    yield _lines(figures.bill)
    yield from (_usage(name, slices) for name, slices in figures.by.items() if len(slices) > 1 or name == "size")
    if figures.commitments:
        yield _commitments(figures.commitments, lacking=bool(figures.bill.lacking))


def treatment(bill: Bill) -> Iterator[Figures]:
    """What was repaired in it, and what should be known of it."""
    told = [("repaired", f"{n:,}", what) for what, n in bill.repaired.items()]
    told += [("said", f"{n:,}", what) for what, n in bill.said.items()]
    if told:
        yield Figures(("rows", "count", "what"), told, frozenset({1}))


def bill_figures(figures: BillFigures) -> Figures:
    """What a bill is in figures."""
    bill, usage = figures.bill, figures.usage
    missing = int(missing_hours(in_use(bill), bill.gap_days).sum())
    rows = [
        ("format", f"{bill.format}, {counted(bill.files, 'file')}"),
        (
            "period",
            f"{bill.start:%Y-%m-%d %H:%M} UTC, {counted(bill.hours, 'hour')}"
            + (f", in {rows_in_words(daily=True, longest_days=bill.longest_days)}" * bill.daily),
        ),
        ("total", f"{exact_money(bill.total)} in {counted(bill.rows, 'row')}"),
        *_ran(bill, max(bill.hours - missing, 1)),
    ]
    if missing:
        days = counted(missing // HOURS_PER_DAY, "day")
        rows.append(("missing", f"{days} between the first and the last without any machine: they do not count"))
    if usage.list_cost is not None:
        paid = "" if bill.lacking else f", paid {exact_money(usage.cost)}"
        rows.append(("usage at list prices", f"{exact_money(usage.list_cost)}{paid}"))
    if usage.coverage is not None:
        part = "usage is" if usage.list_cost else "hours are"
        rows.append(("coverage", f"{usage.coverage:.1%} of the {part} covered by commitments"))
    if figures.utilisation is not None:
        unused = f"; {exact_money(figures.unused)} was not used" if figures.unused > 0 else ""
        rows.append(("utilisation", f"{figures.utilisation:.1%} of the commitments{unused}"))
    if (saved := figures.effective_savings_rate) is not None:
        rows.append(("effective savings rate", f"{abs(saved):.1%} {'more' if saved < 0 else 'less'} than list prices"))
    if bill.daily:
        rows.append(("hours", "each row's quantity is spread evenly over its hours"))
    return Figures(("figure", "value"), [*rows, ("digest", bill.digest)])


def _ran(bill: Bill, hours: int) -> Iterator[tuple[str, str]]:
    """What ran in so many hours, spot apart: instances, and the vCPUs of what is not sold by the instance."""
    instances, others = _by_instance(bill)
    if instances or not others:
        total = float(sum(used.hours.sum() for used in instances))
        yield "instance-hours", f"{figure(total)}, {figure(total / hours)} at a time"
    if total := float(sum(used.hours.sum() for used in others)):
        names = sorted({str(used.kind.service) for used in others if used.hours.any()})
        of = ", ".join(names).replace(Service.INSTANCES, "machines without a type")
        yield "vCPU-hours", f"{figure(total)}, {figure(total / hours)} at a time, of {of}"


def _by_instance(bill: Bill) -> tuple[list[BilledUsage], list[BilledUsage]]:
    """(usage that is counted in instances, usage that is counted in vCPUs)."""
    named = [used for used in bill.usage if used.kind.instance_type]
    return named, [used for used in bill.usage if not used.kind.instance_type]


def _lines(bill: Bill) -> Figures:
    ranked = sorted(bill.lines.items(), key=lambda item: -abs(item[1].cost))
    # credits of Google are no rows of their own
    rows = [(str(kind), f"{line.rows:,}" if line.rows else "", exact_money(line.cost)) for kind, line in ranked]
    rows.append(("total", f"{bill.rows:,}", exact_money(bill.total)))
    return Figures(("kind of line", "rows", "cost"), rows, frozenset({1, 2}), bold=frozenset({len(rows) - 1}))


def _usage(name: str, slices: Sequence[UsageFigures]) -> Figures:
    shown = [*slices[:SHOWN], *([_together(slices[SHOWN:])] if len(slices) > SHOWN else [])]
    columns = _COLUMNS if any(one.spot_cost for one in slices) else _COLUMNS[:-1]
    rows = [_row(one)[: 1 + len(columns)] for one in shown]
    return Figures((name, *columns), rows, frozenset(range(1, 1 + len(columns))))


def _together(slices: Sequence[UsageFigures]) -> UsageFigures:
    listed = [one.list_cost for one in slices if one.list_cost is not None]
    return UsageFigures(
        counted(len(slices), "other"),
        hours=sum(one.hours for one in slices),
        covered_hours=sum(one.covered_hours for one in slices),
        spot_hours=sum(one.spot_hours for one in slices),
        list_cost=sum(listed, Decimal(0)) if len(listed) == len(slices) else None,
        covered_list_cost=sum((one.covered_list_cost for one in slices), Decimal(0)),
        cost=sum((one.cost for one in slices), Decimal(0)),
        spot_cost=sum((one.spot_cost for one in slices), Decimal(0)),
    )


def _row(one: UsageFigures) -> tuple[str, ...]:
    listed = "" if one.list_cost is None else exact_money(one.list_cost)
    covered = "" if one.coverage is None else f"{one.coverage:.0%}"
    spot = exact_money(one.spot_cost) if one.spot_cost else ""
    return one.name, figure(one.hours), listed, exact_money(one.cost), covered, spot


def _commitments(commitments: Sequence[BilledCommitment], *, lacking: bool) -> Figures:
    shown = commitments[:COMMITMENTS_SHOWN]
    called = _short_names([one.id for one in commitments])
    rows = [_commitment(one, called[one.id], least=lacking and one.used is None) for one in shown]
    if len(commitments) > len(shown):
        rest = commitments[COMMITMENTS_SHOWN:]
        paid = exact_money(sum((one.paid for one in rest), Decimal(0)))
        rows.append((counted(len(rest), "other"), "", "", paid, ""))
    names = ("commitment", "ends", "count", "paid", "used")
    return Figures(names, rows, frozenset({2, 3, 4}))


def _short_names(ids: Sequence[str]) -> dict[str, str]:
    """The last part of each address (``.../savingsplan/1f0c...``), all of it where another ends alike; so much of its
    beginning as tells it from others."""
    last = {one: NO_NAME if one.endswith(NO_NAME) else one.rstrip("/").rpartition("/")[2] for one in ids}
    ends = Counter(last.values())
    last = {one: name if ends[name] == 1 or name == NO_NAME else one for one, name in last.items()}
    ranked = ["", *sorted(last.values()), ""]
    near = {name: (before, after) for before, name, after in zip(ranked, ranked[1:], ranked[2:], strict=False)}
    return {one: _begun(name, near[name]) for one, name in last.items()}


def _begun(name: str, neighbours: tuple[str, str]) -> str:
    """A name, cut after what it has in common with no other: with none more than with its neighbours by name."""
    alike = (takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)) for other in neighbours)
    shown = max(_SHORT_ID, *(sum(1 for _ in pairs) + 1 for pairs in alike))
    return name if len(name) <= max(shown + 1, len(NO_NAME)) else name[:shown]


def _commitment(one: BilledCommitment, called: str, *, least: bool) -> tuple[str, ...]:
    where = " ".join(word for word in (one.instance_type or one.family, one.region) if word)
    what = f"{one.option}{' ' + where if where else ''} ({called})"
    count = "" if not one.count else f"${one.count}/h" if one.option.is_spend_based else f"{one.count}"
    used = "" if one.utilisation is None else f"{one.utilisation:.0%}"
    paid = f"at least {exact_money(one.paid)}" if least else exact_money(one.paid)
    paid = "not said" if one.covered and not one.paid else paid
    return what, f"{one.end:%Y-%m-%d}" if one.end else "not said", count, paid, used


def chart_of(bill: Bill) -> SeriesChart:
    """The machines that ran at a time: covered below, on demand on top, spot above. Where a bill names no instance, the
    vCPUs."""
    instances, others = _by_instance(bill)
    hours, covered, spot = np.zeros(bill.hours), np.zeros(bill.hours), np.zeros(bill.hours)
    for usage in instances or others:
        hours += usage.hours
        if usage.hours.any():
            covered += sum(usage.covered.values(), np.zeros(bill.hours))
        spot += usage.spot if usage.spot is not None else 0.0
    step = max(1, -(-bill.hours // _POINTS))
    parts = (("covered", covered), ("on demand", (hours - covered).clip(min=0.0)), ("spot", spot))
    layers = [Layer(name, _means(values, step)) for name, values in parts if values.any()]
    ran = hours + spot
    mean, peak = float(ran[~missing_hours(ran, bill.gap_days)].mean()), float(ran.max())
    return SeriesChart(
        title=f"{'Machines' if instances or not others else 'vCPUs'} of {bill.name}",
        subtitle=f"mean {figure(mean)}, peak {figure(peak)} in an hour",
        unit="machines in use" if instances or not others else "vCPUs in use",
        start=bill.start.timestamp(),
        step_seconds=3600 * step,
        layers=tuple(layers) or (Layer("on demand", _means(hours, step)),),
    )


def _means(values: NDArray[np.float64], step: int) -> list[float]:
    bounds = [*range(0, len(values), step), len(values)]
    return [float(values[first:last].mean()) for first, last in pairwise(bounds)]
