"""Replicas on a terminal and as Markdown: systems side by side, the grid, and what an audit found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hcloud.harvest.outcomes import PlacementAudit, ReplicaStudy, SystemOutcome
from hcloud.units import counted, format_span
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import Figures

_UNKNOWN = "unknown"
_DAY = 86_400
_UNKNOWN_OF_GRID = {
    "row": "Rows of the grid are unknown: --util names the use of the servers, whose peaks they are.",
    "column": "Columns of the grid are unknown: --reimages names a log, which says how often each server is reimaged.",
}


def replica_sections(found: ReplicaStudy) -> tuple[PageSection, ...]:
    """What was placed, the systems, the grid, and what stands behind the figures."""
    return (
        PageSection("Replicas", (headline(found),), tables=(systems_table(found),)),
        PageSection("The grid", tables=(grid_table(found),), notes=tuple(notes(found))),
    )


def headline(found: ReplicaStudy) -> str:
    """How many blocks on what."""
    return (
        f"{counted(found.blocks, 'block')} in {counted(found.copies, 'copy', 'copies')} on"
        f" {counted(found.servers, 'server')} of {counted(found.tenants, 'tenant')} in"
        f" {counted(found.environments, 'environment')},"
        f" {counted(found.seeds, 'seed')} each."
    )


def systems_table(found: ReplicaStudy) -> Figures:
    """A line a system."""
    names = ("system", "placed", "refused", "lost a year", "from-to", "failed of 1M", "copies made", "full: S / M / L")
    rows = [[*_figures(one, found)] for one in found.systems]
    title = "Expected blocks lost in a year, and accesses that fail because every server of the block is busy"
    return Figures(names, rows, frozenset(range(1, 7)), title)


def _figures(one: SystemOutcome, found: ReplicaStudy) -> Iterator[str]:
    every = found.seeds
    yield one.system
    yield f"{one.placed / every:,.0f}"
    yield f"{sum(one.refused.values()) / every:,.0f}"
    yield _mean(one.lost)
    yield f"{min(one.lost):,}-{max(one.lost):,}" if one.lost else "-"
    yield _mean(one.failed)
    yield f"{one.copied / every:,.0f}" if one.lost else _UNKNOWN
    yield " / ".join(f"{share:.0%}" for share in one.fill)


def _mean(counts: Sequence[int]) -> str:
    return f"{sum(counts) / len(counts):,.1f}" if counts else _UNKNOWN


def grid_table(found: ReplicaStudy) -> Figures:
    """A line a cell of the grid: its tenants, its share of the space, and of this what each of several markets has."""
    side = 1 + max(cell.column for cell in found.grid)
    on = sorted({name for cell in found.grid for name, share in cell.by_market.items() if share > 0})
    markets = on if len(on) > 1 else []
    columns = column_names(side)
    rows = [
        [
            row_name(cell.row, side),
            columns[cell.column],
            str(cell.tenants),
            f"{cell.space:.1%}",
            *(f"{cell.by_market[name]:.1%}" for name in markets),
        ]
        for cell in sorted(found.grid, key=lambda cell: (cell.row, cell.column))
    ]
    names = ("row", "column", "tenants", "space", *markets)
    return Figures(names, rows, frozenset(range(2, len(names))), "The grid: tenants and their share of the space")


def column_names(side: int) -> tuple[str, ...]:
    """What the columns of a grid are called."""
    return ("least reimaged", *(f"column {at + 1}" for at in range(1, side - 1)), "most reimaged")


def row_name(row: int, side: int) -> str:
    """What a row of a grid is called."""
    return {0: "lowest peak", side - 1: "highest peak"}.get(row, f"row {row + 1}")


def notes(found: ReplicaStudy) -> Iterator[str]:
    """Refusals, what was relaxed, and what the figures rest on."""
    for one in found.systems:
        for why, count in one.refused.items():
            yield f"{one.system}: {counted(round(count / found.seeds), 'block')} refused a seed: {why}."
        for what, count in one.relaxed.items():
            yield f"{one.system}: {counted(round(count / found.seeds), 'set')} a seed with two copies in one {what}."
        if one.stuck:
            stuck = counted(round(one.stuck / found.seeds), "lost copy", "lost copies")
            yield f"{one.system}: for {stuck} a seed there was no server."
        if one.put_off:
            yield (
                f"{one.system}: {counted(round(one.put_off / found.seeds), 'time')} a seed a block waited to be"
                " copied, since all servers that have it or may take it were busy."
            )
    if found.copies == found.environments:
        yield (
            f"{counted(found.copies, 'copy', 'copies')} in {counted(found.environments, 'environment')}: a copy"
            " that is lost can be made in its environment only, and waits as long as that is out of reach."
        )
    if found.log_days:
        yield (
            f"Years are drawn from {format_span(found.log_days * _DAY)} of reimages; a server copies"
            f" {found.copies_an_hour:.2g} blocks an hour. Expected, not guaranteed."
        )
    else:
        yield "Blocks lost are unknown: --reimages names a log of reimages."
    if not found.accesses:
        yield (
            "Failed accesses are unknown without the use of the servers (--util), and so are peaks: rows of the grid"
            " divide its space, no more."
        )


def audit_sections(found: PlacementAudit) -> tuple[PageSection, ...]:
    """What copies share, and what that is expected to cost."""
    words = f"{found.name}: {counted(found.blocks, 'block')} in {counted(found.copies, 'copy', 'copies')}."
    rows = [[one.key, f"{one.blocks:,}", f"{one.blocks / found.blocks:.1%}"] for one in found.shared]
    title = "Blocks with two copies or more in one group"
    table = Figures(("key", "blocks", "share"), rows, frozenset((1, 2)), title)
    return (PageSection("Audit of a placement", (words,), notes=tuple(audit_notes(found)), tables=(table,)),)


def audit_notes(found: PlacementAudit) -> Iterator[str]:
    """Losses that are expected, and copies on reserved servers."""
    if found.lost:
        mean = sum(found.lost) / len(found.lost)
        yield (
            f"Expected losses: {mean:,.1f} blocks a year ({min(found.lost):,} to {max(found.lost):,} over"
            f" {counted(len(found.lost), 'seed')}), if lost copies are made again by history."
        )
    else:
        yield "Expected losses are unknown: --reimages names a log of reimages."
    yield from (_UNKNOWN_OF_GRID[key] for key in found.unknown)
    if found.unreserved is not None:
        yield f"{counted(found.unreserved, 'block')} without a copy on a reserved server."
    if found.least_diverse is not None:
        yield (
            f"{found.diverse:,} of {counted(found.guarded, 'guarded block')} have every copy in an environment of its"
            f" own; --least-diverse asks for {found.least_diverse:.4g} of them."
            + (" Take no more blocks before copies are spread again." if found.is_too_alike else "")
        )
