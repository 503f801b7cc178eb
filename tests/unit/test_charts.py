"""Drawings keep their figures, fit any width, and pictures need nothing from the network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.errors import UsageError
from hcloud.views.charts import Layer, Level, SeriesChart, axis_number, in_columns, save_chart, terminal_series


def chart(values: list[float], start: float = 0.0, title: str = "Demand of x") -> SeriesChart:
    half = [v / 2 for v in values]
    layers = (Layer("batch", half), Layer("services", half))
    return SeriesChart(title, "a subtitle", "vCPUs in use", start, 300, layers, (Level("mean", 2.0),))


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
    lines = terminal_series(chart(values, start), max(width, 24)).split("\n")
    assert len(lines) == 11
    assert max(map(len, lines)) <= max(width, 24)


def test_the_drawing() -> None:
    drawn = terminal_series(chart([0.0, 1.0, 2.0, 4.0, 4.0, 2.0, 1.0, 0.0]), 24, 4).split("\n")
    assert drawn[0] == "vCPUs in use"
    assert drawn[1].startswith("4 ┤")
    assert "█" in drawn[1]
    assert drawn[5].startswith("0 └")
    assert drawn[6].split() == ["0", "min", "20", "min", "40", "min"]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.424, "0.42"), (9.96, "10"), (1226, "1,226"), (38447, "38k"), (2.5e6, "2.5M")]
)
def test_axis_numbers(value: float, text: str) -> None:
    assert axis_number(value) == text


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
