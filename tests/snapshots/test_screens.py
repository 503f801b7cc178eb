"""Every screen of every verb as it was, at 80 and 120 columns, and none wider than its terminal."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len
from screens import BY_LINE, ELSEWHERE, KEPT, SCREENS, WIDTHS, at_width
from showing import Said
from syrupy.assertion import SnapshotAssertion
from verbs import every_leaf

SPARING = frozenset({"workload-show", "report-cost", "explain", "explain-address", "explain-job"})
"""Screens whose chart has as many marks as there is room for, that spare whole columns, or that keep to ten lines."""
NO_LINEAGE = "0" * 32
"""What stands for a lineage, which is another every time; one that folds is no longer known as one."""
Shown = dict[int, dict[str, Said]]


@pytest.mark.parametrize(("name", "columns"), [(s.name, columns) for columns in KEPT for s in at_width(columns)])
def test_screen(name: str, columns: int, shown: Shown, snapshot: SnapshotAssertion) -> None:
    assert shown[columns][name].shown == snapshot


@pytest.mark.parametrize("columns", WIDTHS)
def test_no_line_is_wider_than_the_terminal(columns: int, shown: Shown) -> None:
    told = ((s.name, line) for s in at_width(columns) for line in shown[columns][s.name].out.splitlines())
    assert [(name, line) for name, line in told if cell_len(line) > columns and name not in BY_LINE] == []


@pytest.mark.parametrize("columns", WIDTHS)
def test_no_cell_is_cut_off(columns: int, shown: Shown) -> None:
    assert [name for name, said in shown[columns].items() if "…" in said.out] == []


@pytest.mark.parametrize("columns", WIDTHS)
def test_no_figure_is_lost_where_it_is_narrow(columns: int, shown: Shown) -> None:
    """Every number of the widest screen stands on the narrow one, where it may fold but not be cut."""
    wide, lost = shown[max(WIDTHS)], {}
    for name, said in shown[columns].items():
        whole = "".join(said.out.split())
        figures = re.findall(r"\d[\d.,]*\d", wide[name].out) if name in wide.keys() - SPARING else []
        if gone := [figure for figure in figures if figure not in whole and figure != NO_LINEAGE]:
            lost[name] = gone
    assert lost == {}


def test_every_verb_has_a_screen_or_a_reason_why_not() -> None:
    words = [s.words for s in SCREENS if not callable(s.words)]
    named = {" ".join(w[:2]) for w in words} | {w[0] for w in words} | {"commit apply", "commit cancel"}
    missing = [" ".join(path) for path in every_leaf() if " ".join(path) not in named | ELSEWHERE.keys()]
    assert missing == []
