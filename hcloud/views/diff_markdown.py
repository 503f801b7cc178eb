"""A difference of plans as the comment on a pull request: found again by its marker, never longer than is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hcloud.errors import UsageError
from hcloud.model.plan_difference import PlanDifference
from hcloud.units import counted
from hcloud.views import diff_rows
from hcloud.views.comment import DIFFERENCE, LONGEST_CELL, LONGEST_LINE, fitting, size_of
from hcloud.views.escaped import as_markdown_item, in_markdown
from hcloud.views.tables import Figures

KEPT_FREE = 600  # ours: for what is said of what is left out, a line for each block
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/ ]|-(?!-)){0,79}")


@dataclass(frozen=True, slots=True)
class _Block:
    """A part of the comment that may be cut: what it is called, what stands before and after its lines."""

    name: str
    before: Sequence[str]
    lines: Sequence[str]
    after: Sequence[str] = field(default=())


def marker(name: str) -> str:
    """The invisible line by which a comment is found again; UsageError for a name that would not stay in it."""
    if _NAME.fullmatch(name) is None or name.endswith("-"):
        raise UsageError(f"--name {name!r}: must be up to 80 letters, digits, blanks and . _ / - (no two in a row)")
    return f"<!-- hcloud-diff: {name} -->"


def markdown_difference(found: PlanDifference, name: str) -> str:
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
            lines += ["", f"*{counted(left_out, 'line')} of {block.name} left out: hcloud diff -o json has all*"]
    return "\n".join(lines) + "\n"


def _head(found: PlanDifference) -> Iterator[str]:
    yield f"### hcloud: {diff_rows.headline(found)}"  # figures only
    yield ""
    for note in found.notes:
        yield f"- {as_markdown_item(note, LONGEST_LINE)}"
    if found.is_empty:
        return
    if found.notes:
        yield ""
    yield from _table(diff_rows.totals(found))
    if found.base is not None:
        yield ""
        yield f"**Why**: {diff_rows.why(found)}"


def _blocks(found: PlanDifference) -> Iterator[_Block]:
    for index, table in enumerate(diff_rows.tables(found)):
        yield _table_block(table, is_open=index == 0 and bool(found.parts))
    said_new, said_gone, new, gone = diff_rows.warnings(found)
    if new:
        yield _Block(
            "new warnings", ["", f"**{said_new}**", ""], [f"- {as_markdown_item(w, LONGEST_LINE)}" for w in new]
        )
    if gone:
        before = ["", f"<details><summary>{said_gone}</summary>", ""]
        yield _Block(
            "gone warnings", before, [f"- {as_markdown_item(w, LONGEST_LINE)}" for w in gone], ["", "</details>"]
        )


def _table_block(table: Figures, *, is_open: bool) -> _Block:
    head, *rows = _table(table)
    rule, *rows = rows
    count = counted(len(table.rows), "line")
    opened = " open" if is_open else ""
    before = ["", f"<details{opened}><summary>{table.title} ({count})</summary>", "", head, rule]
    return _Block(f"“{table.title}”", before, rows, ["", "</details>"])


def _table(table: Figures) -> Iterator[str]:
    columns = range(len(table.names))
    yield f"| {' | '.join(table.names)} |"
    yield f"|{'|'.join('---:' if c in table.numbers else '---' for c in columns)}|"
    for row in table.rows:
        cells = (row[c] if c in table.numbers else in_markdown(row[c], LONGEST_CELL) for c in columns)
        yield f"| {' | '.join(cells)} |"
