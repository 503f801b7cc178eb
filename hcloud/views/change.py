"""What a plan changes in a cloud, and what an apply came to: one line a change, dollars before and after."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from rich.text import Text

from hcloud.model.change import Action, Change, ChangeSet, How
from hcloud.units import counted
from hcloud.views.console import Terminal

COLOURS = {Action.LAUNCH: "green", Action.TERMINATE: "red", Action.REPLACE: "yellow", Action.COMMIT: "cyan"}
NAMED = 3
"""Ids of machines that are named in a line; of the others only the number is."""


def show_changes(changes: ChangeSet, terminal: Terminal) -> None:
    """The changes, what is refused, and what it costs."""
    base = changes.base
    terminal.out.print(Text.assemble(("changes", "bold"), f" in {base.scope}, state {base.lineage[:8]} #{base.serial}"))
    for change in changes.changes:
        terminal.out.print(_line(change), soft_wrap=True)
    for refusal in changes.refusals:
        where = f"{refusal.address}: " if refusal.address else ""
        terminal.out.print(Text.assemble(("! ", "red"), f"{where}{refusal.why}{_named(refusal.ids)}"), soft_wrap=True)
    for note in changes.notes:
        terminal.out.print(Text(f"  {note}", style="dim"), soft_wrap=True)
    for line in totals(changes):
        terminal.out.print(Text(line), soft_wrap=True)


def totals(changes: ChangeSet) -> Iterator[str]:
    """How many come and go, and dollars an hour before and after."""
    if changes.is_empty:
        yield f"nothing to change: {counted(changes.standing, 'machine')} as wanted, {dollars(changes.hourly_before)}/h"
        return
    come, go = changes.coming, len(changes.going)
    more = changes.hourly_after - changes.hourly_before
    yield (
        f"{counted(come, 'machine')} to launch, {go} to end, {changes.standing} standing; "
        f"{dollars(changes.hourly_before)}/h -> {dollars(changes.hourly_after)}/h ({more:+,.4f})"
    )
    if changes.unpriced:
        yield f"without the price of {', '.join(changes.unpriced)}, which is not known"


def _line(change: Change) -> Text:
    what = f"{change.count} x {change.instance_type}" if change.count else f"{len(change.ids)} x {change.instance_type}"
    money = f"{change.hourly:+,.4f} $/h"
    how = "" if change.how in (How.LAUNCH, How.TERMINATE) else f"{change.how}: "
    return Text.assemble(
        (f"{change.action.value} ", COLOURS[change.action]),
        f"{change.address:<24} {what:<26} {money:>16}  {how}{change.reason}{_named(change.ids)}",
    )


def _named(ids: tuple[str, ...]) -> str:
    if not ids:
        return ""
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    return f" ({', '.join(ids[:NAMED])}{more})"


def dollars(amount: Decimal) -> str:
    """An amount as people read it."""
    return f"${amount:,.4f}"
