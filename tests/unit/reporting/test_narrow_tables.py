"""Tables that are wider than the screen: text above its figures, each part told apart."""

from __future__ import annotations

import io

from rich.console import Console

from hcloud.views.lines import wrapped
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
    shown = printed(Figures(names, rows, frozenset(range(1, 6)), "What became of them"), 46)
    assert [line.startswith("What became") for line in shown].count(True) == 1
    for name, figure in zip(names[1:], rows[0][1:], strict=True):
        line, head = next((at, row) for at, row in enumerate(shown) if name in row)
        end = head.index(name) + len(name)
        assert shown[line + 2].startswith("all jobs")
        assert shown[line + 2][:end].endswith(figure)


def test_a_header_takes_no_more_lines_than_the_figures_below_it_ask_for() -> None:
    names, rows = ("alternatives", "$/month", "$ over 1 y"), [("reserved for the peak", "3,321", "39,852")]
    shown = printed(Figures(names, rows, frozenset({1, 2})), 39)
    assert [line.split("  ")[-1].strip() for line in shown[:2]] == ["$ over", "1 y"]
    assert shown[2].startswith("─")


def test_strategies_that_do_not_fit_are_tables_of_equal_width_with_each_name_beside_its_figures() -> None:
    names = ("", "SR", "OdF", "OdM", "HF", "HM", "HC")
    shown = printed(Figures(names, [("$ an hour", *(f"{n}7.03 ±0.00" for n in range(6)))], frozenset(range(1, 7))), 80)
    heads = [line.split() for line in shown if "SR" in line or "HC" in line]
    assert heads == [["SR", "OdF", "OdM"], ["HF", "HM", "HC"]]
    assert [line.startswith("$ an hour  ") for line in shown if "7.03" in line] == [True, True]


def test_numbers_too_wide_for_a_line_stand_beside_their_names() -> None:
    names = ("commitment", "ends", "used", "amortised")
    rows = [("ri-of-a-long-name", "2027-11-20", "1,234,567.89", "2,345,678.90")]
    shown = printed(Figures(names, rows, frozenset({2, 3})), 22)
    assert "used 1,234,567.89, amortised 2,345,678.90" in " ".join(" ".join(shown).split())


def test_the_part_of_an_id_behind_its_last_slash_stays_whole() -> None:
    """At 60 columns ids broke in the middle, so that nobody could copy them."""
    known = "3f9a1b2c-7d44-4c1e-9a55-0f1e2d3c4b5a"
    shown = wrapped(f"m6i.large · arn:aws:savingsplans::123456789012:savingsplan/{known} · active", 60, 2)
    assert shown == ["m6i.large · arn:aws:savingsplans::123456789012:savingsplan/", f"  {known} · active"]
    assert wrapped("  " + "a" * 17 + "/bbbbbb", 10, 2) == ["  aaaaaaaa", "  aaaaaaaa", "  a/bbbbbb"]
    assert "".join(line.strip() for line in wrapped(f"/{known}" * 9, 20, 2)) == f"/{known}" * 9
