"""Types of use on a terminal and as Markdown: a table of classes with the day of each, and how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np

from hcloud.harvest.classes import UseClass
from hcloud.harvest.results import OpenedUse, TypedUse
from hcloud.harvest.typing import PATTERNS
from hcloud.model.workload import DATES_FROM
from hcloud.units import counted, format_duration, some_of
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import Figures

_NAMED = 5
_BLOCKS = "▁▂▃▄▅▆▇█"


def types_sections(found: TypedUse) -> tuple[PageSection, ...]:
    """What was looked at, the classes, the line on trust, and what was left out or assumed."""
    words = (headline(found), trust(found))
    return (PageSection("Types of use", words, tables=(table_of(found),), notes=tuple(notes(found))),)


def headline(found: TypedUse) -> str:
    """How many of what, over which time."""
    types, histories = found.types, found.types.histories
    patterns = [types.pattern_of(at) for at in range(len(histories.tenants))]
    told = ", ".join(f"{patterns.count(p):,} {p}" for p in PATTERNS)
    return (
        f"{counted(len(patterns), 'tenant')} on {counted(int(histories.servers.sum()), 'server')} over the last"
        f" {counted(types.days, 'day')} in steps of {format_duration(histories.step)}: {told}."
    )


def table_of(found: TypedUse) -> Figures:
    """A line a class: who is in it, its use, its headroom in vCPUs, and its day."""
    names = ("class", "tenants", "servers", "vCPUs", "mean", "peak", "short", "medium", "long", "day")
    rows = [[*_figures(c), strip(c.hourly)] for c in found.types.classes]
    whole = [sum(getattr(c, name) for c in found.types.classes) for name in ("cores", "short", "medium", "long")]
    tenants, servers = len(found.types.histories.tenants), int(found.types.histories.servers.sum())
    cores, *room = (f"{number:,.0f}" for number in whole)
    total = ["all", f"{tenants:,}", f"{servers:,}", cores, "", "", *room, ""]
    title = "Classes of use, whole vCPUs that are free for jobs beside the reserve, and the hours of the day (UTC)"
    return Figures(names, [*rows, total], frozenset(range(1, 9)), title, frozenset({len(rows)}))


def _figures(c: UseClass) -> list[str]:
    counts = (len(c.members), c.servers)
    room = (c.short, c.medium, c.long)
    return [
        c.name,
        *(f"{n:,}" for n in counts),
        f"{c.cores:,.0f}",
        *(f"{n:.0%}" for n in (c.mean, c.peak)),
        *(f"{n:,.0f}" for n in room),
    ]


def strip(hourly: Sequence[float]) -> str:
    """The hours of a day as blocks: empty is no use, full is all of a server."""
    return "".join(_BLOCKS[min(int(use * len(_BLOCKS)), len(_BLOCKS) - 1)] for use in hourly)


def trust(found: TypedUse) -> str:
    """How far one window predicted the next."""
    known, policy = found.types.trust, found.opened.policy
    if known is None:
        return (
            f"Trust: unknown; {2 * policy.periodic_days} days of history are needed to compare two weeks, and there are"
            f" {found.types.histories.days}."
        )
    weak = "" if known.alike >= policy.agreement else f" Below {policy.agreement:.0%}: the classes are weak evidence."
    return (
        f"Trust: {known.alike:.0%} of the tenants have the type that they had in the {known.days} days before the last"
        f" {known.days}.{weak}"
    )


def notes(found: TypedUse) -> Iterator[str]:
    """What is missing, what was done about it, and what was assumed."""
    yield from notes_of_use(found.opened, found.types.histories.days)
    if mixed := _tenants_of_several_sizes(found.opened):
        yield (
            f"{counted(mixed, 'tenant')} with servers of several sizes: whole vCPUs are counted on servers of their"
            " mean size ('harvest simulate' takes each server as it is)."
        )


def notes_of_use(opened: OpenedUse, days: int) -> Iterator[str]:
    """The same of histories, of which so many days told the types."""
    histories = opened.histories
    if days < opened.policy.periodic_days:
        needed = opened.policy.periodic_days
        yield f"{counted(days, 'day')} of history: no tenant can be periodic, which takes {counted(needed, 'day')}."
    if opened.unsized:
        yield (
            f"The vCPUs of {counted(len(opened.unsized), 'machine')} are unknown, so that each counts as one and"
            " what is free of it is a share: --servers servers.csv, with the columns server, tenant and cores."
        )
    yield from _missing(opened)
    if histories.held or histories.filled:
        yield (
            f"Gaps: {counted(histories.held, 'step')} of short gaps hold the value before,"
            f" {counted(histories.filled, 'step')} of longer ones the mean of their time of day."
        )
    for begin in histories.hours_missing[:_NAMED]:
        when = datetime.fromtimestamp(begin, UTC).isoformat() if begin >= DATES_FROM else f"{begin:.0f} s"
        yield f"No history has the hour from {when}: if clocks were put forward there, export the times in UTC."
    for what, count in (*opened.repaired.items(), *opened.left_out.items()):
        yield f"{count:,}: {what}."
    for rule in opened.modelled:
        yield f"{rule.column}: {rule.rule} ({rule.key})."


def _missing(opened: OpenedUse) -> Iterator[str]:
    """Tenants that are not typed, and servers that their tenants' means lack."""
    histories, file = opened.histories, "the servers" if opened.servers is None else opened.servers.file
    if histories.left_out:
        told = [f"{t.name} ({t.missing:.0%} missing)" for t in histories.left_out]
        yield f"Left out, too many gaps: {some_of(told, _NAMED)}."
    if opened.without_history:
        several = counted(len(opened.without_history), "tenant")
        yield f"{several} of {file} without a history, not typed: {some_of(opened.without_history, _NAMED)}."
    if alone := _servers_alone(opened):
        yield (
            f"{counted(alone, 'server')} of {file} without a history beside others of their tenants with"
            " one: not counted here. A history with the name of the tenant stands for all of its servers."
        )
    if histories.with_gaps:
        told = [f"{one.name} ({one.tenant}, {one.missing:.1%} missing)" for one in histories.with_gaps]
        yield (
            f"{counted(len(told), 'server')} with gaps: the use of the tenant is the mean of its other servers there:"
            f" {some_of(told, _NAMED)}."
        )


def _tenants_of_several_sizes(opened: OpenedUse) -> int:
    """How many typed tenants have servers that differ in vCPUs."""
    servers = opened.servers
    if servers is None:
        return 0
    owned = (servers.cores[servers.tenants.of == servers.tenants.names.index(t)] for t in opened.histories.tenants)
    return sum(len(np.unique(cores)) > 1 for cores in owned)


def _servers_alone(opened: OpenedUse) -> int:
    """How many servers have no history although their tenant is typed."""
    servers, histories = opened.servers, opened.histories
    if servers is None:
        return 0
    typed = [servers.tenants.names.index(name) for name in histories.tenants]
    return int(np.isin(servers.tenants.of, typed).sum()) - int(histories.servers.sum())
