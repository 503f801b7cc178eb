"""What a plan changes in a cloud, on a terminal, as Markdown and as a page, and what an apply came to: one line a
change, dollars before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from rich.text import Text

from hcloud import __version__
from hcloud.model.holdings.change import Action, Base, Change, ChangeSet, How
from hcloud.units import counted, harmless, some_of
from hcloud.views.comment import LONGEST_LINE, LONGEST_TEXT
from hcloud.views.console import Terminal
from hcloud.views.escaped import BLANK, Markdown, md
from hcloud.views.lines import hanging
from hcloud.views.live.launched_with import as_lines, as_table
from hcloud.views.markdown import points, table, warned
from hcloud.views.page.parts import Page, PageSection
from hcloud.views.tables import Figures

if TYPE_CHECKING:
    from hcloud.live.applying.outcome import ApplyOutcome
    from hcloud.model.holdings.state import State

COLOURS = {Action.LAUNCH: "green", Action.TERMINATE: "red", Action.REPLACE: "yellow", Action.COMMIT: "cyan"}
VERBS = {Action.LAUNCH: "+ launch", Action.TERMINATE: "- end", Action.REPLACE: "~ replace", Action.COMMIT: "$ commit"}
BELOW = "    "
LISTED = "at list prices"
"""What dollars of machines are: reserved machines cost less, and the plan's own dollars spread its price."""
NAMED = 3
"""Ids of machines that are named in a line; of the others only the number is."""


def show_changes(changes: ChangeSet, terminal: Terminal) -> None:
    """The changes, what machines are launched with, what is refused, and what it costs."""
    base, width = changes.base, terminal.out.width
    for warning in changes.warnings:
        terminal.warn(warning)
    terminal.show(Text.assemble(("changes", "bold"), f" in {base.scope}, {state_name(base)}"))
    rows = [_cells(change) for change in changes.changes]
    widths = [max((len(row[c]) for row in rows), default=0) for c in range(3)]
    for change, row in zip(changes.changes, rows, strict=True):
        terminal.show(*_lines(change, row, widths, width))
    if changes.template is not None:
        terminal.show(*as_lines(changes.template, width))
    for refusal in changes.refusals:
        where = f"{refusal.address}: " if refusal.address else ""
        said = hanging(terminal.pasteable(f"{where}{refusal.why}{named(refusal.ids)}"), width, "! ")
        said.stylize("red", 0, 1)
        terminal.show(said)
    for note in changes.notes:
        terminal.show(hanging(terminal.pasteable(note), width, "  ", "dim"))
    terminal.show(*totals(changes))


def state_name(of: Base | State) -> str:
    """How a state is named on a screen: by its id and how often it was written, once it was."""
    return f"state {of.lineage[:8]} #{of.serial}" if of.serial else "no state yet"


def totals(changes: ChangeSet) -> Iterator[str]:
    """How many come and go, and dollars an hour before and after."""
    if changes.blocking:
        yield "hcloud changes nothing until you resolve this"
        return
    if changes.is_settled:
        standing = f"{counted(changes.standing, 'machine')} as planned" if changes.slots else "no machine is running"
        yield f"nothing to change: {standing}, {dollars(changes.hourly_before)}/h {LISTED}"
        return
    come, go = changes.coming, len(changes.going)
    more = changes.hourly_after - changes.hourly_before
    yield (
        f"{counted(come, 'machine')} to launch, {go} to terminate, {changes.standing} running; "
        f"{dollars(changes.hourly_before)}/h -> {dollars(changes.hourly_after)}/h ({more:+,.4f}), {LISTED}"
    )
    if changes.unpriced:
        yield f"not included: {', '.join(changes.unpriced)}, whose price is unknown"


def _cells(change: Change) -> tuple[str, str, str]:
    """Where, what, and dollars an hour more or less."""
    count = change.count or len(change.ids)
    times = f"{count} x " if count else ""  # savings plans are dollars, not machines
    return harmless(change.address), harmless(f"{times}{change.instance_type}"), f"{change.hourly:+,.4f} $/h"


def _lines(change: Change, row: Sequence[str], widths: Sequence[int], width: int) -> Iterator[Text]:
    """A change in one line where it fits, else what and how much above why."""
    address, what, money = row
    head = f"{change.action.value} {address:<{widths[0]}}  {what:<{widths[1]}}  {money:>{widths[2]}}"
    how = "" if change.how in (How.LAUNCH, How.TERMINATE, How.SHOW) else f"{change.how}: "
    why = harmless(f"{how}{change.reason}{named(change.ids)}")
    if len(head) > width:
        head = f"{change.action.value} {address}  {what}  {money}"
    together = f"{head}  {why}"
    lines = [Text(together)] if len(together) <= width else [hanging(head[2:], width, head[:2])]
    lines[0].stylize(COLOURS[change.action], 0, 1)
    yield from lines
    if len(together) > width:
        yield hanging(why, width, BELOW)


def named(ids: tuple[str, ...]) -> str:
    """The first ids of some machines in brackets, and how many more there are."""
    return f" ({some_of(ids, NAMED)})" if ids else ""


def dollars(amount: Decimal) -> str:
    """An amount as people read it."""
    return f"${amount:,.4f}"


def show_outcome(outcome: ApplyOutcome, terminal: Terminal) -> None:
    """What came of it: never better than it is."""
    colour = {"converged": "green", "partial": "yellow", "unknown": "red"}[outcome.result]
    said = f"{len(outcome.launched)} launched, {len(outcome.ended)} terminated, {counted(outcome.calls, 'request')}"
    terminal.show(Text.assemble((str(outcome.result), colour), f": {said}"))
    for shortfall in outcome.shortfalls:
        is_open = any(asked.startswith(f"{shortfall.address}: ") for asked in outcome.open)
        before = "asked for, with an unknown outcome" if is_open else "not asked for: the run ended before"
        tried = f"tried {', '.join(shortfall.tried)}" if shortfall.tried else before
        terminal.warn(f"{shortfall.address}: {shortfall.missing} missing; {tried}")
    for problem in outcome.problems:
        terminal.warn(problem)
    if outcome.error is not None:
        terminal.warn(*outcome.error.lines())
        if outcome.error.hint:
            terminal.note(f"hint: {outcome.error.hint}")
    for asked in outcome.open:
        terminal.warn(f"request without a noted answer: {asked}")
    if outcome.exit_code and (outcome.left is None or outcome.open):
        there = (
            f"the {counted(len(outcome.launched), 'machine')} launched"
            if outcome.launched
            else "the machines from before"
        )
        more = " and those of requests without a noted answer" if outcome.open else ""
        terminal.note(
            f"{there}{more} may be running and cost money; the journal lists them: 'hcloud apply' continues, "
            "'hcloud recover' rebuilds a lost state"
        )


def changes_table(changes: ChangeSet) -> Figures:
    """What apply would do, a line a change, and what it refuses to do."""
    names = ("change", "address", "machines", "type", "$/hour", "why")
    rows = [*map(_change, changes.changes)]
    rows += [["! refused", r.address, str(len(r.ids) or ""), "", "", r.why] for r in changes.refusals]
    return Figures(names, rows, frozenset({2, 4}))


def _change(change: Change) -> list[str]:
    how = "" if change.how in (How.LAUNCH, How.TERMINATE, How.SHOW) else f"{change.how}: "
    count = change.count or len(change.ids)
    money = f"{change.hourly:+,.4f}"
    return [
        VERBS[change.action],
        change.address,
        f"{count:,}",
        change.instance_type,
        money,
        f"{how}{change.reason}{named(change.ids)}",
    ]


def changes_markdown(changes: ChangeSet) -> Iterator[Markdown]:
    """What apply would do, and with what it launches machines."""
    yield from warned(changes.warnings)
    yield md("**Changes** in {}", str(changes.base.scope), longest=LONGEST_LINE)
    yield from (BLANK, *table(changes_table(changes), LONGEST_TEXT), BLANK)
    if changes.template is not None:
        yield from (*table(as_table(changes.template), LONGEST_TEXT), BLANK)
    yield from points((*totals(changes), *changes.notes))


def changes_section(changes: ChangeSet) -> PageSection:
    """What apply would do, as a section of a page."""
    words = (f"What 'hcloud apply' would do in {changes.base.scope}. It buys no commitment: 'hcloud commit' does.",)
    template = () if changes.template is None else (as_table(changes.template),)
    said = (*totals(changes), *changes.notes)
    return PageSection("Changes", words, tables=(changes_table(changes), *template), points=said)


def changes_page(changes: ChangeSet) -> Page:
    """The changes of a fleet that is written down, as a page."""
    made = changes.made.strftime("%Y-%m-%d %H:%M UTC")
    foot = (f"Made by hcloud {__version__} from a look at the cloud on {made}, digest {changes.digest[:12]}.",)
    title = f"Changes in {changes.base.scope}"
    return Page(title, tuple(totals(changes)), (changes_section(changes),), foot=foot, warnings=changes.warnings)
