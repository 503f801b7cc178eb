"""Drawings keep their figures, fit any width, and pictures need nothing from the network."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.errors import UsageError
from hcloud.views.charts import (
    Layer,
    ReferenceLine,
    SeriesChart,
    axis_number,
    in_columns,
    resampled,
    series_picture,
    terminal_legend,
    terminal_series,
)
from hcloud.views.page.axes import axis, log_axis, short_number
from hcloud.views.page.svg import LETTER, NARROW, WIDE
from hcloud.views.pictures import save_drawn

SVG = "{http://www.w3.org/2000/svg}"


def chart(values: list[float], start: float = 0.0, title: str = "Demand of x") -> SeriesChart:
    half = [v / 2 for v in values]
    layers = (Layer("batch", half), Layer("services", half))
    return SeriesChart(title, "a subtitle", "vCPUs in use", start, 300, layers, (ReferenceLine("mean", 2.0),))


@pytest.mark.slow
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.integers(1, 150))
@settings(deadline=None)
def test_columns_keep_the_mean_and_the_peak(values: list[float], columns: int) -> None:
    means, peaks = in_columns(values, columns)
    assert len(means) == len(peaks) == columns
    assert sum(means) / columns == pytest.approx(sum(values) / len(values), rel=1e-9, abs=1e-6)
    assert max(peaks) == max(values)


@pytest.mark.slow
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


@given(st.floats(1e-6, 1e9), st.booleans())
def test_ticks_are_even_and_no_two_read_the_same(top: float, logarithmic: bool) -> None:
    drawn = log_axis("y", (top / 1e4, top)) if logarithmic else axis("y", (0.0, top), 7, short_number)
    assert 3 <= len(drawn.ticks) <= 8
    assert all(drawn.low <= tick <= drawn.high * (1 + 1e-9) for tick in drawn.ticks)
    assert len({drawn.label(tick) for tick in drawn.ticks}) == len(drawn.ticks)


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


@pytest.mark.parametrize("start", [0.0, 1.5e9])
@pytest.mark.parametrize("steps", [3, 40, 5000])
def test_bars_and_labels_stay_inside(start: float, steps: int) -> None:
    """The axis ends above the tallest bar; no label lies on the one before."""
    for width in (WIDE, NARROW):
        root = ET.fromstring(series_picture(chart([1.0, 4.0, 3.0] * steps, start)).draw(width).svg())
        shapes = [e.get("d", "") for e in root.iter(f"{SVG}path") if "p-fill" in e.get("class", "")]
        assert len(shapes) == 2
        assert min(float(y) for shape in shapes for y in re.findall(r" ([0-9.]+)", shape)) > 40
        labels = [e for e in root.iter(f"{SVG}text") if e.get("text-anchor") == "middle"]
        ends = [(float(e.get("x", "")), len(e.text or "") * LETTER * 0.85 / 2) for e in labels]
        assert len(ends) > 1
        assert all(x - half >= a + other for (a, other), (x, half) in pairwise(ends))


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.424, "0.42"), (9.96, "10"), (1226, "1,226"), (38447, "38k"), (2.5e6, "2.5M")]
)
def test_axis_numbers(value: float, text: str) -> None:
    assert axis_number(value) == text


@pytest.mark.slow
def test_pictures_are_complete_and_local(tmp_path: Path) -> None:
    bad = chart([1.0, 2.0, 3.0], 1.5e9, title="</script><script>alert(1)</script>")
    save_drawn(series_picture(bad), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    save_drawn(series_picture(bad), tmp_path / "a.svg")
    svg = (tmp_path / "a.svg").read_text()
    assert "vCPUs in use" in svg
    assert "time (UTC)" in svg
    assert "<script>" not in svg
    save_drawn(series_picture(bad), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "alert(1)</script>" not in page
    assert not re.search(r'<script|(src|href)="(?!data:|#)', page)


def test_where_pictures_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.html"):
        save_drawn(series_picture(chart([1.0])), tmp_path / "a.pdf")
    link = tmp_path / "b.png"
    link.symlink_to(tmp_path / "elsewhere.png")
    with pytest.raises(UsageError, match="symbolic link"):
        save_drawn(series_picture(chart([1.0])), link)
    assert not (tmp_path / "elsewhere.png").exists()
