"""Drawings keep their figures, fit any width, and pictures need nothing from the network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.errors import UsageError
from hcloud.views.charts import (
    Layer,
    ReferenceLine,
    SeriesChart,
    altair_chart,
    amount_ticks,
    axis_number,
    in_columns,
    resampled,
    save_chart,
    terminal_legend,
    terminal_series,
)


def chart(values: list[float], start: float = 0.0, title: str = "Demand of x") -> SeriesChart:
    half = [v / 2 for v in values]
    layers = (Layer("batch", half), Layer("services", half))
    return SeriesChart(title, "a subtitle", "vCPUs in use", start, 300, layers, (ReferenceLine("mean", 2.0),))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.integers(1, 150))
@settings(deadline=None)
def test_columns_keep_the_mean_and_the_peak(values: list[float], columns: int) -> None:
    means, peaks = in_columns(values, columns)
    assert len(means) == len(peaks) == columns
    assert sum(means) / columns == pytest.approx(sum(values) / len(values), rel=1e-9, abs=1e-6)
    assert max(peaks) == max(values)


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=80), st.integers(10, 220), st.sampled_from([0.0, 1.5e9]))
@settings(deadline=None)
def test_no_line_is_wider_than_asked(values: list[float], width: int, start: float) -> None:
    lines = terminal_series(chart(values, start), max(width, 24))
    assert len(lines) == 11
    assert max(map(len, lines)) <= max(width, 24)


def test_the_drawing() -> None:
    drawn = terminal_series(chart([0.0, 1.0, 2.0, 4.0, 4.0, 2.0, 1.0, 0.0]), 24, 4)
    assert drawn[0] == "vCPUs in use"
    assert drawn[1].startswith("4 ┤")
    assert "█" in drawn[1]
    assert drawn[5].startswith("0 └")
    assert drawn[6].split() == ["0min", "20min", "40min"]


@given(st.floats(0, 1e9).map(lambda top: top if top > 1e-6 else 0.0))
def test_ticks_are_even_and_no_two_read_the_same(top: float) -> None:
    ticks, written = amount_ticks(top)
    assert ticks[0] == 0
    assert 3 <= len(ticks) <= 8
    assert ticks[-1] <= max(top, 1e-9) * 1.09 or top == 0
    assert len({format(tick, written) for tick in ticks}) == len(ticks)
    for tick in ticks:
        assert float(format(tick, written).replace(",", "")) == pytest.approx(tick)


def test_a_picture_says_the_step_it_is_drawn_in_and_the_highest_value_drawn() -> None:
    drawn = resampled(chart([0.0] * 3000 + [10.0] + [2.0] * 999))
    assert drawn.subtitle == "a subtitle · drawn in 20min steps, the highest 4"
    assert len(drawn.layers[0].values) == 1000
    assert max(drawn.total()) == 4.0
    assert resampled(chart([1.0, 3.0])).subtitle == "a subtitle · drawn in 5min steps, the highest 3"


def test_the_legend_says_what_a_column_is() -> None:
    assert terminal_legend(chart([1.0, 2.0]), 80) == "demand in steps of 5min"
    assert terminal_legend(chart([1.0] * 4032), 80) == (
        "demand in steps of 5min; a column is 4.4h: █ the mean, ░ the highest step in it"
    )


def test_bars_and_labels_stay_inside(tmp_path: Path) -> None:
    """The axis ends above the tallest bar, and the name of a level stands right of the bars."""
    spec = altair_chart(chart([1.0, 4.0, 3.0] * 40, 1.5e9)).to_dict()
    areas, _, text = spec["layer"]
    assert areas["encoding"]["y"]["scale"]["domain"] == [0.0, pytest.approx(4.32)]
    assert text["encoding"]["x"]["value"] == spec["width"]
    assert (text["mark"]["align"], text["mark"]["dx"]) == ("left", 6)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.424, "0.42"), (9.96, "10"), (1226, "1,226"), (38447, "38k"), (2.5e6, "2.5M")]
)
def test_axis_numbers(value: float, text: str) -> None:
    assert axis_number(value) == text


@pytest.mark.slow
def test_pictures_are_complete_and_local(tmp_path: Path) -> None:
    bad = chart([1.0, 2.0, 3.0], 1.5e9, title="</script><script>alert(1)</script>")
    save_chart(bad, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    save_chart(bad, tmp_path / "a.svg")
    svg = (tmp_path / "a.svg").read_text()
    assert "vCPUs in use" in svg
    assert "time (UTC)" in svg
    assert "<script>" not in svg
    save_chart(bad, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "alert(1)</script>" not in page
    assert not re.search(r"<(script|link)[^>]+(src|href)=", page)


def test_where_pictures_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.html"):
        save_chart(chart([1.0]), tmp_path / "a.pdf")
    link = tmp_path / "b.png"
    link.symlink_to(tmp_path / "elsewhere.png")
    with pytest.raises(UsageError, match="symbolic link"):
        save_chart(chart([1.0]), link)
    assert not (tmp_path / "elsewhere.png").exists()
