"""A comparison of so many strategies that each has a line: as many figures beside each other as the screen is wide."""

from __future__ import annotations

from collections.abc import Sequence

from hcloud.views.tables import Figures, blocks

_DECIDING = ("$ an hour", "kept 95%, %", "Pareto-optimal")
"""What stays in the first table, whether or not strategies differ by it."""
Lines = Sequence[Sequence[str]]


def strategies_in_lines(names: Sequence[str], rows: Lines, order: Sequence[int], width: int) -> list[Figures]:
    """Tables of a line a strategy, those figures first by which strategies are chosen; ``rows`` hold a figure each,
    its name first. Figures that are the same for all are in none of them."""
    deciding = [row for name in _DECIDING for row in rows if row[0] == name]
    told = [*deciding, *(row for row in rows if row not in deciding and not _is_same(row))]
    lines = [[names[at + 1], *(row[at + 1] for row in told)] for at in order]
    return blocks(Figures(("", *(row[0] for row in told)), lines, frozenset(range(1, len(told) + 1))), width)


def same_for_all(rows: Lines) -> str:
    """The figures that are the same for all strategies, in words; empty where there are none."""
    return ", ".join(
        f"{row[0]} {row[1]}" for row in rows if row[0] not in _DECIDING and _is_same(row) and row[1] != "-"
    )


def _is_same(row: Sequence[str]) -> bool:
    return len(set(row[1:])) == 1
