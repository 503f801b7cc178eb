"""A difference of plans on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from hcloud.model.plans.difference import PlanDifference
from hcloud.views.console import Terminal
from hcloud.views.deciding import diff_rows
from hcloud.views.tables import fitted

if TYPE_CHECKING:
    from rich.table import Table


def show_difference(found: PlanDifference, terminal: Terminal) -> None:
    """The headline, why dollars moved, and every table that has something to say; new warnings go to stderr."""
    width = terminal.out.width
    terminal.show(Text(diff_rows.headline(found), style="bold"))
    for note in found.notes:
        terminal.show(_point(note))
    if not found.is_empty:
        terminal.show("", fitted(diff_rows.totals(found), width))
    if not found.is_empty and found.base is not None:
        terminal.show("", Text(diff_rows.why(found)))
    for table in diff_rows.tables(found):
        terminal.show("", fitted(table, width))
    _, said, new, gone = diff_rows.warnings(found)
    for warning in new:
        terminal.warn(f"new: {warning}")
    if gone:
        terminal.note(said)


def _point(words: str) -> Table:
    """A sentence with a bullet, its further lines indented below its first."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 1))
    grid.add_row("·", words)
    return grid
