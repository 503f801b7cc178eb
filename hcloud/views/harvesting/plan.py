"""A plan for idle capacity on a terminal and as Markdown: what is there by class, what carries batch, three numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hcloud.harvest.classes import HOURS
from hcloud.harvest.jobs import LENGTHS, Length
from hcloud.harvest.results import HarvestPlan
from hcloud.model.workload import DATES_FROM
from hcloud.units import HOURS_PER_MONTH, counted, format_duration, format_money, format_span
from hcloud.views.console import Terminal
from hcloud.views.escaped import Written
from hcloud.views.harvesting.types import notes as notes_of_types
from hcloud.views.harvesting.types import strip, trust
from hcloud.views.lines import point
from hcloud.views.markdown import markdown
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import Figures

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

_SHORT, _LONG = LENGTHS.index(Length.SHORT), LENGTHS.index(Length.LONG)


def show_harvest_plan(found: HarvestPlan, terminal: Terminal) -> None:
    """What was matched with what, the classes, the three numbers, and what they rest on."""
    terminal.show(headline(found), "", table_of(found), "", *map(point, numbers(found)), "", trust(found.typed))
    if told := tuple(notes(found)):
        terminal.show("", *map(point, told))


def harvest_plan_markdown(found: HarvestPlan) -> Written:
    """The same for a ticket."""
    texts = (headline(found), *numbers(found), trust(found.typed))
    return markdown([PageSection("Idle capacity", texts, notes=tuple(notes(found)), tables=(table_of(found),))])


def headline(found: HarvestPlan) -> str:
    """What was matched with what."""
    batch, types = found.batch, found.typed.types
    jobs = f"{counted(sum(batch.jobs), 'job')} of batch" if sum(batch.jobs) else "batch"
    return (
        f"{jobs} over {format_duration(batch.seen * 3600)} ({batch.name}) against the idle hours of"
        f" {counted(int(types.histories.servers.sum()), 'server')} over {counted(types.days, 'day')}"
        f" ({found.typed.opened.name})."
    )


def table_of(found: HarvestPlan) -> Figures:
    """A line a class: what is idle a day for short and for long jobs, what carries jobs of each length, and by hour."""
    names = ("class", "vCPUs", "idle", "for long", *LENGTHS, "idle by day", "carried")
    rows = [_line(found, at) for at in range(len(found.typed.types.classes))]
    figures = (sum(c.cores for c in found.typed.types.classes), found.room[_SHORT].sum(), found.room[_LONG].sum())
    carried = (found.used[at].sum() for at in range(len(LENGTHS)))
    total = ["all", *(f"{n:,.0f}" for n in (*figures, *carried)), "", ""]
    title = "vCPU-hours a day: idle beside the reserve, and carried of short, medium and long jobs (hours are UTC)"
    return Figures(names, [*rows, total], frozenset(range(1, 7)), title, frozenset({len(rows)}))


def _line(found: HarvestPlan, at: int) -> list[str]:
    one = found.typed.types.classes[at]
    idle, carried = found.room[_SHORT, at], found.used[:, at]
    figures = (one.cores, idle.sum(), found.room[_LONG, at].sum(), *(row.sum() for row in carried))
    days = (strip((row / one.cores).reshape(-1, 2).mean(axis=1).tolist()) for row in (idle, carried.sum(axis=0)))
    return [one.name, *(f"{n:,.0f}" for n in figures), *days]


def numbers(found: HarvestPlan) -> Iterator[str]:
    """The three numbers: the hours that are there, those that batch can use, the dollars not spent on demand."""
    share = found.there / (sum(c.cores for c in found.typed.types.classes) * HOURS_PER_MONTH)
    yield (
        f"There are {found.there:,.0f} idle vCPU-hours a month beside the reserve, {share:.0%} of what is paid for: the"
        " reserve and the use of services take whole vCPUs of each server."
    )
    wanted = found.wanted
    of_batch = f"{found.carried.mean / wanted:.0%} of the {wanted:,.0f} vCPU-hours it needs" if wanted > 0 else "none"
    yield (
        f"Batch can use {found.carried.mean:,.0f} of them ({found.carried.low:,.0f} to {found.carried.high:,.0f} in"
        f" 80% of futures): {of_batch}."
    )
    if (told := found.played) is not None:
        yield (
            f"Without simulation it would be {found.arithmetic:,.0f}. Simulated in time steps: jobs that end in idle"
            f" hours: {told.ended:,}; that find no class with room: {told.no_class:,}; that are killed or delayed too"
            f" much: {told.moved:,}; kills: {told.kills:,}, with {told.lost:.1%} of the work there lost."
        )
    money, (low, high) = found.money, found.dollars
    if not money.per_vcpu_hour:
        yield f"That saves nothing: the best plan of batch's own machines costs {format_money(money.planned)} a month."
        return
    yield (
        f"That saves {format_money(money.not_rented)} a month ({format_money(low)} to {format_money(high)}) against"
        f" on-demand machines at {format_money(money.per_vcpu_hour, 4)} a vCPU-hour, and {format_money(money.saved)}"
        f" against the best plan of batch's own machines, which costs {format_money(money.planned)} a month."
    )


def _range(sizes: Floats) -> str:
    low, high = float(sizes.min()), float(sizes.max())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def notes(found: HarvestPlan) -> Iterator[str]:
    """The reserve, what pays, what was left out, and what was assumed."""
    policy, batch = found.typed.opened.policy, found.batch
    enough = found.reserve <= policy.reserve_cores
    said = "is enough" if enough else "is too small: services would lack capacity"
    yield (
        f"The reserve of {policy.reserve_cores:.0%} of each server {said}: use rose by more than {found.reserve:.0%}"
        f" from one step to the next in at most {policy.rise_exceeded:.1%} of the steps"
        f" ({format_duration(found.typed.types.histories.step)} each; faster rises are not in the history)."
    )
    if found.money.pays_from is not None:
        yield (
            f"Commitments of that plan break even from {found.money.pays_from:.0%} utilisation on: idle hours that run"
            " batch count as use."
        )
    if sum(batch.jobs):
        short, long = (format_span(s) for s in batch.lengths)
        counts = ", ".join(f"{count:,} {name}" for name, count in zip(LENGTHS, batch.jobs, strict=True))
        yield f"By the last run of its application a job is short up to {short} and long above {long}: {counts}."
    if batch.sizes is not None and batch.sizes.vcpus.max() > 0:
        whole = batch.sizes.vcpus[batch.sizes.vcpus > 0]
        yield (
            f"Whole jobs of {_range(whole)} vCPUs need a server with room for all of them: --divisible all, where jobs"
            " can be split."
        )
    for why, count in batch.left_out.items():
        yield f"{counted(count, 'job')} not counted: {why}."
    if batch.start < DATES_FROM:
        yield "The jobs have no dates: their first second is taken as midnight UTC."
    if (days := found.typed.types.days) < 2 * policy.periodic_days:
        yield (
            f"The month and its dollars rest on {counted(days, 'day')} of the servers' use: what differs by the week is"
            f" not in them; {2 * policy.periodic_days} days let two weeks be compared."
        )
    if batch.seen < 7 * HOURS:
        yield (
            f"{format_duration(batch.seen * 3600)} of batch stand for the month: weekends, and what differs by the"
            " week, are not in it."
        )
    yield "Rented machines are billed whole and by the hour: a job of one minute costs a machine-hour."
    kills = "" if found.played is not None else ", and the work that killed jobs lose: less will come"
    yield f"Not counted: memory (histories do not contain it){kills}."
    yield from notes_of_types(found.typed)
