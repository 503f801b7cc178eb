"""Whether tenants of a grid differ enough for the copies of a block, against trying every set of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hcloud.harvest.grid import can_differ


@pytest.mark.parametrize("copies", [3, 4])
def test_copies_can_differ_where_any_of_all_sets_of_tenants_does(copies: int) -> None:
    chance, answers = np.random.default_rng(copies), set()
    for _ in range(150):
        cell, environment = chance.integers(0, 9, 6), chance.integers(0, copies + 1, 6)
        rows = [(int(c) // 3, int(c) % 3, int(e)) for c, e in zip(cell, environment, strict=True)]
        found = can_differ(cell, environment, 3, copies)
        assert found == any(
            len({of[2] for of in every}) == copies and any(_differ(three) for three in combinations(every, 3))
            for every in combinations(rows, copies)
        )
        answers.add(found)
    assert answers == {True, False}


def _differ(three: tuple[tuple[int, int, int], ...]) -> bool:
    """In row and in column."""
    return all(len({of[key] for of in three}) == 3 for key in (0, 1))
