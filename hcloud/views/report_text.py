"""Reports as text for other programs: names that a spreadsheet or Markdown would obey are made harmless."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hcloud.views.comment import LONGEST_LINE
from hcloud.views.escaped import as_markdown_item, markdown_row
from hcloud.views.page.parts import Section
from hcloud.views.tables import Figures

_OBEYED = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a cell begins that a spreadsheet takes for a formula or splits."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_SPLITTING = re.compile(r"[\",\r\n]")


def neutral(text: str) -> str:
    """A cell's text that a spreadsheet shows and does not run: with a quote before what it would obey. What is a
    number stays one."""
    return f"'{text}" if text.startswith(_OBEYED) and not _NUMBER.fullmatch(text) else text


def csv_text(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A CSV file with a header, its cells neutralised."""
    lines = (names, *([neutral(cell) for cell in row] for row in rows))
    return "".join(f"{','.join(map(_quoted, line))}\n" for line in lines)


def _quoted(cell: str) -> str:
    """A cell in quotes where it needs them; Python's own writer leaves a carriage return bare, which ends a row."""
    return '"' + cell.replace('"', '""') + '"' if _SPLITTING.search(cell) else cell


def markdown(sections: Sequence[Section]) -> str:
    """Sections as Markdown for a pull request or a ticket."""
    lines: list[str] = []
    for section in sections:
        lines += [f"## {as_markdown_item(section.heading)}", ""]
        for words in section.words:
            lines += [as_markdown_item(words, LONGEST_LINE), ""]
        for table in section.tables:
            lines += [*_table(table), ""]
        lines += [f"- {as_markdown_item(note, LONGEST_LINE)}" for note in (*section.points, *section.notes)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(table: Figures) -> list[str]:
    rule = ("---:" if column in table.numbers else "---" for column in range(len(table.names)))
    return [markdown_row(table.names), f"| {' | '.join(rule)} |", *map(markdown_row, table.rows)]
