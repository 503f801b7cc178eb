"""Rows of tables take the bits that their numbers need, and nobody's arithmetic overflows for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.policy.placing.colocation import colocation_loss, distance
from hcloud.policy.placing.placement import RESOURCES, bears_least, least_pressed, violation, violation_in
from hcloud.policy.records import Bytes, Reals, Small, Tiny, column, numpy_type, table
from hcloud.policy.waiting.classes import level_of_job


class Mixed:
    switch: Tiny
    at: float
    points: Annotated[Bytes, 3]
    row: Small
    number: int
    times: Annotated[Reals, 2]


def test_a_row_has_no_gaps_and_its_fields_keep_their_order() -> None:
    kind = numpy_type(Mixed)
    assert kind.names == ("switch", "at", "points", "row", "number", "times")
    assert kind.itemsize == 40  # 4 x 8 + 4 + 3 + 1
    places = {name: kind.fields[name][1] for name in kind.names} if kind.fields else {}
    assert sorted(places, key=places.__getitem__) == ["times", "number", "at", "switch", "points", "row"]
    rows = table(Mixed, 2)
    column(rows, "row")[:] = -7
    rows[1].number, rows[1].points[2] = 1 << 40, 99
    assert column(rows, "number").tolist() == [0, 1 << 40]
    assert column(rows, "points").tolist() == [[0, 0, 0], [0, 0, 99]]
    assert [rows[0].row, rows[1].row] == [-7, -7]


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 99), min_size=20, max_size=20),
    st.integers(1, 400_000),
    st.integers(1, 400_000),
    st.integers(0, 20),
)
@settings(max_examples=40, deadline=None)
def test_M10_rows_of_few_bits_are_reckoned_with_in_full(points: list[int], weight: int, cores: int, more: int) -> None:
    """NumPy's numbers of eight bits overflow; what is made of a job's vectors does not, whoever brings the weight."""
    load = (np.array([p * cores for p in points[:10]]), np.array([p * weight for p in points[10:]]), cores)
    exact: Any = (points[:10], points[10:])
    narrow = (np.array(points[:10], np.int8), np.array(points[10:], np.int8))
    asked: tuple[Callable[[Any], object], ...] = (
        lambda nature: violation(load, nature, weight, more),
        lambda nature: [violation_in(load, nature, i, (weight, more)) for i in range(RESOURCES)],
        lambda nature: bears_least(nature, load[1], weight, (cores, more)),
        lambda nature: distance(load, nature, (weight, more)),
        lambda nature: colocation_loss(load, nature, (weight, more), 0),
        lambda nature: least_pressed(nature[0], weight),
        lambda nature: level_of_job(nature[0]),
    )
    assert [one(narrow) for one in asked] == [one(exact) for one in asked]
