"""The column ``after`` of a table of jobs: the jobs whose end each waits for, by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hcloud.errors import did_you_mean
from hcloud.harvest.tasks.dags import in_order

ALLOWED = "ids of jobs of this file, apart by spaces"
NO_IDS = "a column id, by which jobs are named"
_NAMED = 1000
"""Ours: of so many ids a likely one is looked for beside an unknown one."""
_SHOWN = 5


class WrongWait(NamedTuple):
    """What is wrong with a cell of ``after``: the row, what stands there, what is allowed."""

    row: int
    value: str
    allowed: str


def read_waits(ids: Sequence[str], cells: Sequence[str]) -> tuple[list[tuple[int, int]], list[WrongWait]]:
    """The rows of each job that waits and of one that it waits for, each pair once; and what is wrong, in the order of
    rows: ids that no row has, jobs that wait for themselves, alone or in a circle."""
    rows = {name: row for row, name in enumerate(ids) if name}
    before: list[list[int]] = [[] for _ in ids]
    wrong = []
    for row, cell in enumerate(cells):
        for name in dict.fromkeys(cell.split()):
            if name not in rows:
                close = did_you_mean(name, list(rows)) if len(rows) <= _NAMED else ""
                wrong.append(WrongWait(row, name, f"{ALLOWED}{close}"))
            elif rows[name] == row:
                wrong.append(WrongWait(row, name, "other jobs: this one would wait for itself"))
            else:
                before[row].append(rows[name])
    wrong += _circles(ids, before)
    return [(row, one) for row, others in enumerate(before) for one in others], sorted(wrong)


def _circles(ids: Sequence[str], before: Sequence[Sequence[int]]) -> list[WrongWait]:
    """Jobs that wait for each other: a circle once, at its first row."""
    stuck, seen, found = set(in_order(before)[1]), set[int](), []
    for begin in sorted(stuck):
        path = dict[int, int]()
        row = begin
        while row not in seen and row not in path:
            path[row] = len(path)
            row = next(one for one in before[row] if one in stuck)
        if row in path:
            circle = list(path)[path[row] :]
            first = circle.index(min(circle))
            names = [ids[one] for one in (*circle[first:], *circle[: first + 1])]
            told = " for ".join(names[: _SHOWN + 1]) + (" ..." if len(names) > _SHOWN + 1 else "")
            allowed = f"jobs that do not wait for this one: {told.replace(' for ', ' waits for ', 1)}"
            found.append(WrongWait(circle[first], names[1], allowed))
        seen.update(path)
    return found
