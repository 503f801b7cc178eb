"""Sections of a report as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from hcloud.views.comment import LONGEST_LINE
from hcloud.views.escaped import BLANK, Markdown, Written, item, markdown_document, markdown_row, md, rule_of
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import Figures


def markdown(sections: Sequence[PageSection]) -> Written:
    """Sections as Markdown for a pull request or a ticket."""
    lines: list[Markdown] = []
    for section in sections:
        lines += [md("## {}", item(section.heading)), BLANK]
        for words in section.words:
            lines += [item(words, LONGEST_LINE), BLANK]
        for table in section.tables:
            lines += [*_table(table), BLANK]
        lines += [md("- {}", item(note, LONGEST_LINE)) for note in (*section.points, *section.notes)]
    while lines and not lines[-1]:
        lines.pop()
    return markdown_document(lines)


def _table(table: Figures) -> list[Markdown]:
    return [markdown_row(table.names), rule_of(table.names, table.numbers), *map(markdown_row, table.rows)]
