"""What fits into a comment on a pull request: a difference of plans and the verdict on the plan stand in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Line = TypeVar("Line", bound=str)

LONGEST = 65_536
"""Characters that GitHub takes in a comment. Bytes are counted here, of which there are never fewer."""
DIFFERENCE, VERDICT = LONGEST * 3 // 4, LONGEST // 4  # ours
LONGEST_CELL, LONGEST_LINE = 120, 400  # ours: characters of outside text in a cell and in a line
LONGEST_TEXT = 10_000  # ours: where a reader asked for all of it


def size_of(lines: Sequence[str]) -> int:
    """Bytes of lines with their ends."""
    return sum(len(line.encode()) + 1 for line in lines)


def fitting(lines: Sequence[Line], room: int) -> list[Line]:
    """The first lines that fit."""
    kept: list[Line] = []
    for line in lines:
        room -= size_of([line])
        if room < 0:
            break
        kept.append(line)
    return kept
