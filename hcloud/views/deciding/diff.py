"""A difference of plans on a terminal."""

from __future__ import annotations

from rich.text import Text

from hcloud.model.plans.difference import PlanDifference
from hcloud.views.console import Terminal
from hcloud.views.deciding import diff_rows
from hcloud.views.lines import point


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
