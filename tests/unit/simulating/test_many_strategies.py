"""A comparison of many strategies is read in tables that fit the screen."""

from __future__ import annotations

import pytest

from hcloud.views.studies.many import same_for_all, strategies_in_lines
from hcloud.views.tables import NARROW_GAP

NAMES = ("", *(f"SR+placement-{n}+multi-class+adjust-to-target" for n in range(16)))
ROWS = [
    ["reserved", *["12"] * 16],
    ["kept 95%, %", *(f"{n}.0 ±1.0" for n in range(16))],
    *([f"figure {k} of jobs, s", *(f"{n * k:,}.000 ±{n}.000" for n in range(16))] for k in range(1, 21)),
    ["Pareto-optimal", *["yes"] * 16],
    ["nobody waited", *["-"] * 16],
]


@pytest.mark.parametrize("width", [80, 120, 240])
def test_each_table_fits_and_no_figure_is_lost(width: int) -> None:
    tables = strategies_in_lines(NAMES, ROWS, list(range(16)), width)
    for table in tables:
        widths = [
            max(max(map(len, n.split()), default=0), *(len(r[c]) for r in table.rows))
            for c, n in enumerate(table.names)
        ]
        assert sum(widths) + NARROW_GAP * (len(widths) - 1) <= width
        assert [row[0] for row in table.rows] == list(NAMES[1:])
    shown = [name for table in tables for name in table.names[1:]]
    assert shown[:2] == ["kept 95%, %", "Pareto-optimal"]  # by these one chooses
    assert sorted(shown) == sorted(row[0] for row in ROWS if row[0] not in ("reserved", "nobody waited"))
    assert len(tables) == {80: 11, 120: 6, 240: 2}[width]


def test_what_is_the_same_for_all_is_said_once() -> None:
    assert same_for_all(ROWS) == "reserved 12"
