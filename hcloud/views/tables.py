"""Tables of figures that fit any width: text folds between words and leaves its row before a digit is lost."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from hcloud.units import harmless
from hcloud.views.lines import INDENT, Shown, wrapped

WIDE_GAP, NARROW_GAP = 3, 2
SHORT_NAMES = 3  # ours: names are short where they take at most one part in so many of the width
FOLDED_LINES = 2
"""Text of a row may take so many lines; where that is too little, it stands above its figures instead."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Rows of text and numbers (``numbers`` holds the columns of the latter) before they are laid out; rows that are
    ``bold`` stand out, such as a total."""

    names: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    title: str = ""
    bold: frozenset[int] = frozenset()

    def cells(self, column: int) -> list[str]:
        """The header and the cells of a column."""
        return [self.names[column], *(row[column] for row in self.rows)]


def fitted(figures: Figures, width: int) -> Shown:
    """The widest layout that fits: as it is, closer together, with text folded, or text and figures in turn."""
    figures = _printable(figures)
    columns = range(len(figures.names))
    natural = [max(map(_longest_line, figures.cells(c))) for c in columns]
    if _total(natural, WIDE_GAP) <= width:
        return _table(figures, natural, WIDE_GAP)
    wide, figures = figures, replace(figures, names=tuple(map(_folded, figures.names, map(figures.cells, columns))))
    spread, natural = natural, [max(map(_longest_line, figures.cells(c))) for c in columns]
    least = [w if c in figures.numbers else max(map(_least, figures.cells(c))) for c, w in enumerate(natural)]
    spare = width - _total(least, NARROW_GAP)
    if spare < 0:
        return _narrow(wide, spread, width)
    for column in columns:
        more = min(natural[column] - least[column], spare)
        least[column] += more
        spare -= more
    return _table(figures, least, NARROW_GAP)


def _folded(name: str, cells: Sequence[str]) -> str:
    """A header in lines that are no wider than the cells below it, or than its longest word."""
    room = max(map(len, (*name.split(), *cells[1:])), default=1)
    return textwrap.fill(name, max(room, 1), break_long_words=False, break_on_hyphens=False)


def blocks(figures: Figures, width: int) -> list[Figures]:
    """Tables of the same rows, each with the first column and as many of the others as fit beside it, one at least; as
    few as possible, and of those the last with as many columns as the first where they fit."""
    room = width - max(map(_longest_line, figures.cells(0)))
    columns = range(1, len(figures.names))
    widths = {c: NARROW_GAP + max(map(len, (*figures.names[c].split(), *figures.cells(c)[1:]))) for c in columns}
    parts = _parts(widths, room, len(columns))
    even = _parts(widths, room, math.ceil(len(columns) / max(len(parts), 1)))
    return [_of_columns(figures, (0, *part)) for part in (even if len(even) == len(parts) else parts)]


def _parts(widths: Mapping[int, int], room: int, most: int) -> list[list[int]]:
    """Columns in turn, each part with as many as fit and no more than ``most``."""
    parts, left = list[list[int]](), 0
    for column, width in widths.items():
        if not parts or width > left or len(parts[-1]) == most:
            parts, left = [*parts, []], room
        parts[-1].append(column)
        left -= width
    return parts


def _of_columns(figures: Figures, columns: Sequence[int]) -> Figures:
    names, rows = (tuple(figures.names[c] for c in columns), [[row[c] for c in columns] for row in figures.rows])
    numbers = frozenset(at for at, column in enumerate(columns) if column in figures.numbers)
    return replace(figures, names=names, rows=rows, numbers=numbers)


def _printable(figures: Figures) -> Figures:
    """The same with text that can be measured: each cell a line."""
    rows = [[harmless(cell) for cell in row] for row in figures.rows]
    return replace(figures, names=tuple(map(harmless, figures.names)), rows=rows, title=harmless(figures.title))


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _longest_line(text: str) -> int:
    return max(map(len, text.split("\n")))


def _least(text: str) -> int:
    """The smallest width at which no word of a text breaks and it takes no more lines than a row may have."""
    width = max(map(len, text.split()), default=0)
    while _lines(text, width) > FOLDED_LINES:
        width += 1
    return width


def _lines(text: str, width: int) -> int:
    count, used = 0, width + 1
    for word in text.split():
        used += 1 + len(word)
        if used > width:
            count, used = count + 1, len(word)
    return count


def _table(figures: Figures, widths: Sequence[int], gap: int) -> Table:
    table = Table(
        title=figures.title or None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, gap - NARROW_GAP),
    )
    for column, (name, width) in enumerate(zip(figures.names, widths, strict=True)):
        justify: Literal["left", "right"] = "right" if column in figures.numbers else "left"
        table.add_column(Group(*map(Text, name.split("\n"))), justify=justify, width=width, overflow="fold")
    for place, row in enumerate(figures.rows):
        table.add_row(*row, style="bold" if place in figures.bold else None)
    return table


def _narrow(figures: Figures, widths: Sequence[int], width: int) -> Shown:
    """Text above its figures; several tables with the same names where the figures of a row alone are too wide, or the
    names short."""
    if not figures.numbers:
        return _grouped(figures, width)
    parts = blocks(figures, width) if figures.numbers == frozenset(range(1, len(figures.names))) else []
    is_wide = sum(widths[c] + NARROW_GAP for c in figures.numbers) - NARROW_GAP > width
    if len(parts) > 1 and (is_wide or widths[0] * SHORT_NAMES <= width):
        title = [Text(figures.title)] if figures.title else []
        first, *others = (fitted(replace(table, title=""), width) for table in parts)
        return Group(*title, first, *(part for table in others for part in (Text(), table)))
    return _in_turn(figures, widths, width)


def _in_turn(figures: Figures, widths: Sequence[int], width: int) -> Group:
    """A line of text, then its numbers below, each under its header; beside its name where they are too wide."""
    numbers = [(c, widths[c]) for c in sorted(figures.numbers)]

    def named(row: Sequence[str]) -> Iterator[str]:
        told = ", ".join(f"{figures.names[c]} {row[c]}" for c, _ in numbers if row[c])
        yield from [] if row is figures.names else wrapped(told, width, INDENT)

    def lines(row: Sequence[str]) -> Iterator[str]:
        texts = (cell for c, cell in enumerate(row) if c not in figures.numbers and cell)
        told = "".join(text + (" " if len(text) == 1 else " · ") for text in texts)  # a mark belongs to what follows
        yield from wrapped(told.removesuffix(" · ").rstrip(), width, INDENT)
        if numbers and any(row):
            below = (" " * NARROW_GAP).join(f"{row[c]:>{w}}" for c, w in numbers)
            yield from [f"{below:>{width}}"] if len(below) <= width else named(row)

    head = lines(figures.names)
    return Group(
        *([Text(figures.title)] if figures.title else []),
        *(Text(line, style="bold") for line in head),
        Text("─" * width),
        *(Text(line) for row in figures.rows for line in lines(row)),
    )


def _grouped(figures: Figures, width: int) -> Group:
    """Text alone that does not fit: its first columns stand above the others, once for all rows that share them."""
    columns = len(figures.names)
    natural = [max(map(_longest_line, figures.cells(c))) for c in range(columns)]
    above = next((n for n in range(1, columns) if NARROW_GAP + _total(natural[n:], NARROW_GAP) <= width), columns - 1)

    def below(row: Sequence[str]) -> str:
        cells = (f"{cell:<{natural[c]}}" for c, cell in enumerate(row[above:], above))
        return (" " * NARROW_GAP + (" " * NARROW_GAP).join(cells)).rstrip()

    def head(row: Sequence[str]) -> str:
        return (" " * NARROW_GAP).join(cell for cell in row[:above] if cell)

    found = [Text(figures.title)] if figures.title else []
    for line in (head(figures.names), below(figures.names)):
        found += [Text(part, style="bold") for part in wrapped(line, width, NARROW_GAP)]
    found.append(Text("─" * width))
    before = ""
    for row in figures.rows:
        if (now := head(row)) != before:
            found += map(Text, wrapped(now, width, NARROW_GAP))
            before = now
        if below(row):
            found += map(Text, wrapped(below(row), width, 2 * NARROW_GAP))
    return Group(*found)
