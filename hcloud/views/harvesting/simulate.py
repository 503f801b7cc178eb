"""Batch on idle capacity, on a terminal and as Markdown: systems side by side, and where what is paid for went."""

from __future__ import annotations

from collections.abc import Iterator

from hcloud.harvest.jobs import LENGTHS
from hcloud.harvest.tasks.outcomes import TaskStudy, TaskSystem, gain
from hcloud.harvest.typing import PATTERNS
from hcloud.units import counted, format_duration, format_span
from hcloud.views.harvesting.types import notes_of_use
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import Figures

HISTORY, AWARE = "history", "aware"
_HOUR = 3600
_ALIKE = 0.0005
_LOW_LABELS = 0.5


def task_sections(found: TaskStudy) -> tuple[PageSection, ...]:
    """What was run, the jobs by system, the servers by system, the sentence, and what stands behind the figures."""
    return (
        PageSection("Batch on idle capacity", (headline(found), sentence(found)), tables=(jobs_table(found),)),
        PageSection("The servers", tables=(servers_table(found),), notes=tuple(notes(found))),
    )


def headline(found: TaskStudy) -> str:
    """How many jobs on what."""
    jobs = sum(run.jobs for run in found.systems[0].runs)
    seeds = len(found.systems[0].runs)
    kinds = ", ".join(f"{count} {p}" for count, p in zip(found.patterns, PATTERNS, strict=True))
    return (
        f"{counted(jobs, 'job')} of {counted(found.dags, 'kind')} in {counted(seeds, 'run')} of"
        f" {format_span(found.hours * _HOUR)} on {counted(found.servers, 'server')} with {found.vcpus:,.0f} vCPUs, of"
        f" which services use {found.mean_use:.0%}. Tenants by the {counted(found.days_before, 'day')} before: {kinds},"
        f" in {counted(found.classes, 'class', 'classes')}."
    )


def jobs_table(found: TaskStudy) -> Figures:
    """A line a system: how long jobs take, what is killed and lost, what moves on demand, and how many got classes."""
    names = ("system", "mean", "median", "p95", "not done", "kills", "lost", "moved", "one/several/no class")
    rows = [[*_of_jobs(one)] for one in found.systems]
    title = "Time from the arrival of a job to its end; kills, jobs not done and moved on demand in a run"
    return Figures(names, rows, frozenset(range(1, 8)), title)


def _of_jobs(one: TaskSystem) -> Iterator[str]:
    runs = len(one.runs)
    yield one.system
    yield from (f"{seconds:,.0f}s" for seconds in (one.mean, one.quantile(0.5), one.quantile(0.95)))
    yield f"{one.unfinished / runs:,.1f}"
    yield f"{one.each('kills'):,.1f}"
    yield f"{one.lost_share:.2%}"
    yield f"{one.each('moved'):,.1f}"
    yield _labels(one) if one.has_classes else "-"


def _labels(one: TaskSystem) -> str:
    none, single, several = one.labels
    return f"{single:.0%} / {several:.0%} / {none:.0%}"


def servers_table(found: TaskStudy) -> Figures:
    """A line a system: shares of what is paid for, and what became of the reserve."""
    names = ("system", "services", "batch", "wasted", "reserve", "idle", "broken", "longest", "broken anywhere", "tail")
    rows = [[*_of_servers(one)] for one in found.systems]
    title = "Shares of the vCPU-hours that are paid for; for how long containers broke a reserve; proxy of the tail"
    return Figures(names, rows, frozenset(range(1, 10)), title)


def _of_servers(one: TaskSystem) -> Iterator[str]:
    paid = one.hours("paid")
    yield one.system
    batch = one.hours("useful") + one.hours("unfinished")
    shares = (one.hours("services"), batch, one.hours("wasted"), one.hours("reserve"), one.hours("idle"))
    yield from (f"{hours / paid:.2%}" for hours in shares)
    yield f"{one.each('broken'):.4%}"
    yield f"{max(run.longest for run in one.runs):,.0f}s"
    yield f"{one.each('anywhere'):.2%}"
    yield f"{one.each('tail'):.2f}x"


def sentence(found: TaskStudy) -> str:
    """What the classes of history gain, with the share of jobs that got any."""
    ours, other = found.named(HISTORY), found.named(AWARE)
    if ours is None or other is None:
        return f"Run {AWARE} and {HISTORY} side by side to see what history gains."
    known = gain(ours, other)
    none, single, several = ours.labels
    classes = f"{single:.0%} of the jobs got one class, {several:.0%} several, {none:.0%} none"
    kills = f"{ours.each('kills'):,.1f} tasks a run are killed instead of {other.each('kills'):,.1f}"
    if known is None:
        return f"No job came: {classes}."
    span = f"{known.low:+.1%} to {known.high:+.1%} by run"
    if abs(known.mean) < _ALIKE:
        told = f"Jobs take as long with {HISTORY} as with {AWARE} (less time: {span})"
    elif known.mean > 0:
        told = f"Jobs take {known.mean:.1%} less time with {HISTORY} than with {AWARE} ({span})"
    else:
        told = f"Jobs take {-known.mean:.1%} more time with {HISTORY} than with {AWARE} (less time: {span})"
    unsure = " The runs do not agree on who is better." if known.low < 0 < known.high else ""
    return f"{told}, and {kills}; {classes}.{unsure}"


def notes(found: TaskStudy) -> Iterator[str]:
    """What the figures rest on."""
    low = [f"{one.system} {one.labels[0]:.0%}" for one in found.systems if one.has_classes]
    if any(one.labels[0] > _LOW_LABELS for one in found.systems if one.has_classes):
        yield (
            f"Jobs that need more containers at once than all classes have room for: {', '.join(low)}. They may have"
            " any server, as without classes."
        )
    short, medium, long = found.by_length
    said = "the file of last runs" if found.known_runs else "their last run (at first one of another seed)"
    yield (
        f"By {said} jobs are short up to {format_duration(round(found.lengths.short))} and long above"
        f" {format_duration(round(found.lengths.long))}: {short:,} {LENGTHS[0]}, {medium:,} {LENGTHS[1]},"
        f" {long:,} {LENGTHS[2]}; one that has never run is medium."
    )
    yield (
        "reserve: with what rounds the use of services up to whole vCPUs of each server, as no job may have it; idle:"
        " vCPUs that jobs might have had."
    )
    yield from _of_services(found)
    alone = found.systems[0].each("tail_alone")
    yield (
        "tail: the mean of 1 / (1 - use) of what containers leave a service, 100 where it wants all of it; a proxy of"
        f" queueing, no latency. Without containers it is {alone:.2f}x."
    )
    yield (
        f"Use holds for its whole step ({format_duration(found.opened.histories.step)}): rises within one are not in"
        " the history. Jobs not done count with their time until the end."
    )
    if not found.memory_known:
        yield "Memory is not counted: the servers' is not known."
    if found.without_use:
        yield f"{counted(found.without_use, 'server')} without a history: hcloud starts and kills nothing there."
    yield from notes_of_use(found.opened, found.days_before)


def _of_services(found: TaskStudy) -> Iterator[str]:
    """Where services had less than they wanted, and what ran on demand."""
    if any(one.each("slowed_seconds") > 0 for one in found.systems):
        told = ", ".join(f"{one.system} {one.each('slowed_seconds') / _HOUR:,.2f}" for one in found.systems)
        yield f"Server-hours a run in which a service had less than it wanted: {told}."
    if any(one.hours("rented") > 0 for one in found.systems):
        told = ", ".join(f"{one.system} {one.hours('rented'):,.1f}" for one in found.systems)
        yield f"vCPU-hours a run on demand: {told}."
