"""A difference of plans as the comment on a pull request: found again by its marker, never longer than is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hcloud.errors import UsageError
from hcloud.model.plans.difference import PlanDifference
from hcloud.units import counted
from hcloud.views.comment import DIFFERENCE, LONGEST_CELL, LONGEST_LINE, fitting, size_of
from hcloud.views.deciding import diff_rows
from hcloud.views.escaped import BLANK, Markdown, Written, item, markdown_document, markdown_row, md, rule_of
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
    yield md("### hcloud: {}", diff_rows.headline(found))
    yield BLANK
    for note in found.notes:
        yield md("- {}", item(note, LONGEST_LINE))
    if found.is_empty:
        return
    if found.notes:
        yield BLANK
    yield from _table(diff_rows.totals(found))
    if found.base is not None:
        yield BLANK
        yield md("**Why**: {}", diff_rows.why(found))


def _blocks(found: PlanDifference) -> Iterator[_Block]:
    for index, table in enumerate(diff_rows.tables(found)):
        yield _table_block(table, is_open=index == 0 and bool(found.parts))
    said_new, said_gone, new, gone = diff_rows.warnings(found)
    if new:
        yield _Block("new warnings", [BLANK, md("**{}**", said_new), BLANK], _items(new))
    if gone:
        before = [BLANK, md("<details><summary>{}</summary>", said_gone), BLANK]
        yield _Block("gone warnings", before, _items(gone), [BLANK, md("</details>")])


def _items(lines: Sequence[str]) -> list[Markdown]:
    return [md("- {}", item(line, LONGEST_LINE)) for line in lines]


def _table_block(table: Figures, *, is_open: bool) -> _Block:
    head, *rows = _table(table)
    rule, *rows = rows
    count = counted(len(table.rows), "line")
    opened = md(" open") if is_open else md("")
    title = md("<details{}><summary>{} ({})</summary>", opened, table.title, count)
    return _Block(f"“{table.title}”", [BLANK, title, BLANK, head, rule], rows, [BLANK, md("</details>")])


def _table(table: Figures) -> Iterator[Markdown]:
    yield markdown_row(table.names)
    yield rule_of(table.names, table.numbers)
    yield from (markdown_row(row, LONGEST_CELL) for row in table.rows)
