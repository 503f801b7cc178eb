"""Performance that does not fall as an allocation grows."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from hcloud.classify.matrix import Floats, Ints


def rising_along(columns: Sequence[str], row: Floats, known: Ints) -> Floats:
    """A row on its scale whose predictions are not below any smaller allocation's nor above a larger measured one's.

    A column is at most another if each number in its name is (``2c4g`` and ``2c8g``, ``4`` and ``16``); columns with
    other letters are not compared. Measured entries stay as they are, even where they fall: that is the truth.
    """
    sizes = [_size(column) for column in columns]
    clamped, measured = row.copy(), set(known.tolist())
    for at in sorted(range(len(columns)), key=lambda i: sizes[i][1]):
        if at in measured:
            continue
        ceiling = min((row[i] for i in measured if _at_most(sizes[at], sizes[i])), default=np.inf)
        smaller = (clamped[i] for i in range(len(columns)) if i != at and _at_most(sizes[i], sizes[at]))
        clamped[at] = max(min(clamped[at], ceiling), max(smaller, default=-np.inf))
    return clamped


def _size(name: str) -> tuple[str, tuple[float, ...]]:
    """The letters of a name and its numbers."""
    return re.sub(r"[\d.]+", "#", name), tuple(float(n) for n in re.findall(r"\d+(?:\.\d+)?", name))


def _at_most(one: tuple[str, tuple[float, ...]], other: tuple[str, tuple[float, ...]]) -> bool:
    return one[0] == other[0] and all(a <= b for a, b in zip(one[1], other[1], strict=True))
