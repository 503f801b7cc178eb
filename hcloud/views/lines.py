"""What a terminal may be given: lines, and tables of them, in which text from outside stays text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from rich._wrap import divide_line
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType  # noqa: TID251 - a type
from rich.containers import Lines
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hcloud.units import format_money, harmless

Shown = str | Text | Table | Padding | Group
"""Each text is one line: a newline in it is from outside, and is spelled out. Several lines are several texts."""

_TRIFLE = Decimal("0.01")
"""Ours: less of a bill is not told."""
INDENT = 2
"""Where the second line of a folded text begins at least: what begins at the left edge was begun by hcloud."""


class Line(Text):
    """A line that folds between words, its later lines ``hang`` columns from the left."""

    hang = 0

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """The lines it takes at a width."""
        if options.get("no_wrap") or cell_len(self.plain) <= width:
            return super().wrap(console, width, **options)
        blank = " " * indent_of(self.plain, width, self.hang)
        found = Lines(Text(blank, style=self.style).append_text(part) if n else part for n, part in self._parts(width))
        if options.get("justify") == "right":
            found.justify(console, width, justify="right", overflow="fold")
        return found

    def _parts(self, width: int) -> Iterator[tuple[int, Text]]:
        """The pieces of the text that stand on a line each, without the blanks between them."""
        plain, at = self.plain, 0
        if cell_len(plain) != len(plain):  # characters that are two columns wide, or none
            ends = divide_line(plain, width - indent_of(plain, width, self.hang), fold=True)
            yield from enumerate(self.divide(ends))
            return
        for number, line in enumerate(wrapped(plain, width, self.hang)):
            words = line.lstrip(" ") if number else line
            begins = plain.index(words, at)
            at = begins + len(words)
            yield number, self[begins:at]


def line_of(text: str | Text, hang: int = INDENT) -> Line:
    """One line with the style of a text, whatever the text holds."""
    given = text if isinstance(text, Text) else Text(harmless(text))
    made = Line(style=given.style, justify=given.justify, overflow=given.overflow, no_wrap=given.no_wrap)
    made.hang = hang
    plain = given.plain
    if plain.isprintable():
        made.append_text(Text(plain, spans=given.spans))
        return made
    turns = [at for at in range(1, len(plain)) if plain[at].isprintable() != plain[at - 1].isprintable()]
    for part in given.divide(turns):
        made.append_text(part if part.plain.isprintable() else Text(harmless(part.plain), style=part.style))
    return made


def point(text: str) -> Line:
    """A sentence with a bullet, its further lines indented below its first."""
    return line_of(f"· {text}")


def hanging(text: str, width: int, first: str = "", style: str = "") -> Line:
    """A sentence whose later lines stand below the beginning of the first one's words, behind ``first``."""
    hang = len(first) if len(first) <= width // 2 else INDENT
    return line_of(Text(f"{first}{text}", style=style), max(hang, INDENT))


def printable(shown: Shown, hang: int = INDENT) -> RenderableType:
    """What may be printed of it. TypeError for what is neither a line nor made of lines."""
    match shown:
        case Line():
            made: RenderableType = line_of(shown, max(shown.hang, hang))
        case str() | Text():
            made = line_of(shown, hang)
        case Table():
            made = _table(shown)
        case Padding():
            made = Padding(_inner(shown.renderable, hang), (shown.top, shown.right, shown.bottom, shown.left))
        case Group():
            made = Group(*(_inner(part, hang) for part in shown.renderables))
        case _:
            raise TypeError(f"a terminal is shown lines and tables, not a {type(shown).__name__}")
    return made


def _inner(part: Any, hang: int) -> RenderableType:
    return printable(part, hang)


def _table(table: Table) -> Table:
    """The same table with cells that are lines; those at the left edge hang."""
    if table.title is not None:
        table.title = _inner(table.title, INDENT)  # type: ignore[assignment]
    for number, column in enumerate(table.columns):
        hang = INDENT if number == 0 else 0
        column.header = _inner(column.header, hang)
        column._cells = [_inner(cell, hang) for cell in column._cells]
    return table


def wrapped(text: str, width: int, hang: int) -> list[str]:
    """Lines of at most ``width`` characters; only a word that is longer than that breaks, behind a slash if it can."""
    if len(text) <= width:
        return [text]
    indent = " " * indent_of(text, width, hang)
    folding = _Folding(
        width, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True, replace_whitespace=False
    )
    return folding.wrap(text)


class _Folding(textwrap.TextWrapper):
    """Of an id longer than a line each part between slashes stays whole, so that it can be copied."""

    def _handle_long_word(self, reversed_chunks: list[str], cur_line: list[str], cur_len: int, width: int) -> None:
        word, room = reversed_chunks[-1], width - cur_len
        at = word.rfind("/", 0, max(room, 0)) + 1
        if at:
            cur_line.append(word[:at])
            reversed_chunks[-1] = word[at:]
        elif "/" not in word or not "".join(cur_line).strip():
            super()._handle_long_word(reversed_chunks, cur_line, cur_len, width)


def indent_of(text: str, width: int, hang: int) -> int:
    """How far from the left the later lines of a text begin."""
    blanks = len(text) - len(text.lstrip(" "))
    return min(max(hang, blanks), max(width - 8, 0))


def less_on_a_bill(covered: Decimal, monthly: Decimal) -> str:
    """What of a simulated bill is covered by commitments whose own machines are idle; empty where it is a trifle."""
    if covered <= monthly * _TRIFLE:
        return ""
    return f"about {format_money(covered)} less on a bill: the commitment covers other sizes"
