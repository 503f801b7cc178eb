"""The changes of a plan as Markdown, and as a page of their own where there is no plan around them."""

from __future__ import annotations

from collections.abc import Iterator

from hcloud import __version__
from hcloud.model.holdings.change import Action, Change, ChangeSet, How
from hcloud.views.comment import LONGEST_LINE, LONGEST_TEXT
from hcloud.views.escaped import BLANK, Markdown, md
from hcloud.views.live.change import named, totals
from hcloud.views.live.launched_with import as_table
from hcloud.views.markdown import points, table, warned
from hcloud.views.page.parts import Page, PageSection
from hcloud.views.tables import Figures

VERBS = {Action.LAUNCH: "+ launch", Action.TERMINATE: "- end", Action.REPLACE: "~ replace", Action.COMMIT: "$ commit"}


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
    points = (*totals(changes), *changes.notes)
    return PageSection("Changes", words, tables=(changes_table(changes), *template), points=points)


def changes_page(changes: ChangeSet) -> Page:
    """The changes of a fleet that is written down, as a page."""
    made = changes.made.strftime("%Y-%m-%d %H:%M UTC")
    foot = (f"Made by hcloud {__version__} from a look at the cloud on {made}, digest {changes.digest[:12]}.",)
    title = f"Changes in {changes.base.scope}"
    return Page(title, tuple(totals(changes)), (changes_section(changes),), foot=foot, warnings=changes.warnings)
