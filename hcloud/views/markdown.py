"""Tables, sentences and sections as Markdown for a pull request or a ticket, and the same sections on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hcloud.views.comment import LONGEST_LINE
from hcloud.views.console import Terminal
from hcloud.views.escaped import (
    BLANK,
    LONGEST,
    Markdown,
    Written,
    code_block,
    item,
    markdown_document,
    markdown_row,
    md,
    rule_of,
)
from hcloud.views.lines import point
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import Figures

PER_HOUR, PER_MONTH = md("$/h"), md("$/month")
"""Headers of ours that are told as they are where Markdown is read as text."""


def table(figures: Figures, longest: int = LONGEST) -> list[Markdown]:
    """A table, with a rule below its head."""
    rows = (markdown_row(row, longest) for row in figures.rows)
    return [markdown_row(figures.names), rule_of(figures.names, figures.numbers), *rows]


def points(lines: Iterable[str]) -> list[Markdown]:
    """Sentences as a list."""
    return [md("- {}", item(line, LONGEST_LINE)) for line in lines]


def warned(warnings: Sequence[str]) -> list[Markdown]:
    """What stands before all else, with a blank line after it."""
    told = [md("- **warning:** {}", warning, longest=LONGEST_LINE) for warning in warnings]
    return [*told, BLANK] if told else []


def markdown(sections: Sequence[PageSection], first: Iterable[Markdown] = ()) -> Written:
    """Sections, one below the other, and ``first`` what stands before all else."""
    lines = list(first)
    for section in sections:
        lines += [md("## {}", item(section.heading)), BLANK]
        for words in section.words:
            lines += [item(words, LONGEST_LINE), BLANK]
        for figures in section.tables:
            lines += [*table(figures), BLANK]
        if told := points((*section.points, *section.notes)):
            lines += [*told, BLANK]
        for command in section.commands:
            lines += [*code_block(command), BLANK]
    while lines and not lines[-1]:
        lines.pop()
    return markdown_document(lines)


def show_sections(sections: Sequence[PageSection], terminal: Terminal) -> None:
    """Print sections as one: the first sentence, the tables, the other sentences, and the notes as a list."""
    first, *others = [words for section in sections for words in section.words]
    terminal.show(first, *(part for section in sections for table in section.tables for part in ("", table)))
    notes = [point(note) for section in sections for note in section.notes]
    for lines in (others, notes):
        if lines:
            terminal.show("", *lines)
