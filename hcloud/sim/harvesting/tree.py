"""Weights of servers in a tree of sums: one is drawn as likely as its weight, in steps that grow with its depth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def plant(tree: Ints, weight: Ints) -> None:
    """Make the tree (one longer) of all weights."""
    count = len(weight)
    tree[0] = 0
    for at in range(count):
        tree[at + 1] = weight[at]
    for at in range(1, count + 1):
        above = at + (at & -at)
        if above <= count:
            tree[above] += tree[at]


def change(tree: Ints, weight: Ints, one: int, to: int) -> None:
    """Give one another weight."""
    by = to - weight[one]
    weight[one] = to
    at = one + 1
    while at < len(tree):
        tree[at] += by
        at += at & -at


def before(tree: Ints, one: int) -> int:
    """The weights of all before one, added up."""
    total, at = 0, one
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


def found_at(tree: Ints, height: int, total: int) -> int:
    """The one at which the weights, added up, first exceed a total; ``height`` is the largest power of two in it."""
    at, step = 0, height
    while step > 0:
        if at + step < len(tree) and tree[at + step] <= total:
            at += step
            total -= tree[at]
        step //= 2
    return at
