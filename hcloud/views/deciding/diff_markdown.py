"""A difference of plans as the comment on a pull request: found again by its marker, never longer than is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hcloud.errors import UsageError
from hcloud.model.plans.difference import PlanDifference
from hcloud.units import counted
from hcloud.views.comment import DIFFERENCE, LONGEST_CELL, fitting, size_of
from hcloud.views.deciding import diff
from hcloud.views.escaped import BLANK, Markdown, Written, markdown_document, md
from hcloud.views.markdown import points, table
from hcloud.views.tables import Figures

KEPT_FREE = 600  # ours: for what is said of what is left out, a line for each block
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/ ]|-(?!-)){0,79}")


@dataclass(frozen=True, slots=True)
class _Block:
    """A part of the comment that may be cut: what it is called, what stands before and after its lines."""

    name: str
    before: Sequence[Markdown]
    lines: Sequence[Markdown]
    after: Sequence[Markdown] = field(default=())


def marker(name: str) -> Markdown:
    """The invisible line by which a comment is found again; UsageError for a name that would not stay in it."""
    if _NAME.fullmatch(name) is None or name.endswith("-"):
        raise UsageError(f"--name {name!r}: must be up to 80 letters, digits, blanks and . _ / - (no two in a row)")
    return md("<!-- hcloud-diff: {} -->", Markdown(name))


def markdown_difference(found: PlanDifference, name: str) -> Written:
    """The comment. Where it would be too long, lines of tables are left out and counted."""
    lines = [marker(name), *_head(found)]
    room = DIFFERENCE - KEPT_FREE - size_of(lines)
    for block in _blocks(found):
        frame = size_of([*block.before, *block.after])
        kept = fitting(block.lines, room // 2 - frame)  # half of what is left, so that none starves those after it
        if kept:
            lines += [*block.before, *kept, *block.after]
            room -= frame + size_of(kept)
        if left_out := len(block.lines) - len(kept):
            said = (counted(left_out, "line"), block.name)
            lines += [BLANK, md("*{} of {} left out: hcloud diff -o json has all*", *said)]
    return markdown_document(lines)


def _head(found: PlanDifference) -> Iterator[Markdown]:
    yield md("### hcloud: {}", diff.headline(found))
    yield BLANK
    yield from points(found.notes)
    if found.is_empty:
        return
    if found.notes:
        yield BLANK
    yield from table(diff.totals(found), LONGEST_CELL)
    if found.base is not None:
        yield BLANK
        yield md("**Why**: {}", diff.why(found))


def _blocks(found: PlanDifference) -> Iterator[_Block]:
    for index, figures in enumerate(diff.tables(found)):
        yield _table_block(figures, is_open=index == 0 and bool(found.parts))
    said_new, said_gone, new, gone = diff.warnings(found)
    if new:
        yield _Block("new warnings", [BLANK, md("**{}**", said_new), BLANK], points(new))
    if gone:
        before = [BLANK, md("<details><summary>{}</summary>", said_gone), BLANK]
        yield _Block("gone warnings", before, points(gone), [BLANK, md("</details>")])


def _table_block(figures: Figures, *, is_open: bool) -> _Block:
    head, rule, *rows = table(figures, LONGEST_CELL)
    count = counted(len(figures.rows), "line")
    opened = md(" open") if is_open else md("")
    title = md("<details{}><summary>{} ({})</summary>", opened, figures.title, count)
    return _Block(f"“{figures.title}”", [BLANK, title, BLANK, head, rule], rows, [BLANK, md("</details>")])
