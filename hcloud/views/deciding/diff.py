"""A difference of plans on a terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.text import Text

from hcloud.model.plans.difference import PlanDifference
from hcloud.views.console import Terminal
from hcloud.views.deciding import diff_rows
from hcloud.views.lines import point
from hcloud.views.page.parts import KeyFigure, Page, PageSection


def show_difference(found: PlanDifference, terminal: Terminal) -> None:
    """The headline, why dollars moved, and every table that has something to say; new warnings go to stderr."""
    terminal.show(Text(diff_rows.headline(found), style="bold"))
    for note in found.notes:
        terminal.show(point(note))
    if not found.is_empty:
        terminal.show("", diff_rows.totals(found))
    if not found.is_empty and found.base is not None:
        terminal.show("", Text(diff_rows.why(found)))
    for table in diff_rows.tables(found):
        terminal.show("", table)
    _, said, new, gone = diff_rows.warnings(found)
    for warning in new:
        terminal.warn(f"new: {warning}")
    if gone:
        terminal.note(said)


def difference_page(found: PlanDifference) -> Page:
    """The difference as a page: the headline, why dollars moved, and every table that has something to say."""
    lead = (_sentence(diff_rows.headline(found)), *map(_sentence, found.notes))
    return Page("What changes from one plan to the next", lead, tuple(_sections(found)), tuple(_key(found)))


def _sections(found: PlanDifference) -> Iterator[PageSection]:
    if not found.is_empty:
        words = (_sentence(diff_rows.why(found)),) if found.base is not None else ()
        yield PageSection("Before and after", words, tables=(diff_rows.totals(found),))
    for table in diff_rows.tables(found):
        yield PageSection(table.title, tables=(replace(table, title=""),))
    said_new, said_gone, new, gone = diff_rows.warnings(found)
    for said, told in ((said_new, new), (said_gone, gone)):
        if told:
            yield PageSection(_sentence(said).removesuffix("."), points=told)


def _key(found: PlanDifference) -> Iterator[KeyFigure]:
    if found.base is not None and not found.is_empty:
        effects = found.effects
        for name, effect in (("prices", effects.prices), ("demand", effects.demand), ("decisions", effects.decisions)):
            yield KeyFigure(name, diff_rows.signed(effect, 4), "dollars an hour of the difference")


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
