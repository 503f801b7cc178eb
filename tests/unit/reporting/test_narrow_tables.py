"""Tables that are wider than the screen: text above its figures, each part told apart."""

from __future__ import annotations

import io

from rich.console import Console

from hcloud.views.tables import Figures, fitted


def printed(figures: Figures, width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width).print(fitted(figures, width))
    return file.getvalue().splitlines()


def test_texts_that_share_a_line_are_told_apart_and_a_gap_is_one_line() -> None:
    rows = [("m5a.4xlarge on-demand", "2026-07-20", "1,234,567"), ("", "", ""), ("total", "", "1,234,567")]
    shown = [line.strip() for line in printed(Figures(("mix", "price of", "$/month"), rows, frozenset({2})), 24)]
    assert shown[0] == "mix · price of"
    assert "m5a.4xlarge on-demand ·" in shown
    assert shown[shown.index("total") - 2 : shown.index("total")] == ["1,234,567", ""]


def test_more_figures_than_fit_are_several_tables_with_each_figure_below_its_name() -> None:
    names = ("jobs of", "violations", "enlarged", "interrupted", "cancelled", "unfinished")
    rows = [("all jobs", "11", "22", "33", "44", "55"), ("batch", "1", "2", "3", "4", "5")]
    shown = printed(Figures(names, rows, frozenset(range(1, 6))), 46)
    for name, figure in zip(names[1:], rows[0][1:], strict=True):
        line, head = next((at, row) for at, row in enumerate(shown) if name in row)
        end = head.index(name) + len(name)
        assert shown[line + 2].startswith("all jobs")
        assert shown[line + 2][:end].endswith(figure)
