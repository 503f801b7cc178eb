"""Demand over time, drawn in the terminal with block characters or saved as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.units import format_duration, format_span
from hcloud.views.pictures import save_picture

if TYPE_CHECKING:
    import altair as alt

DATES_FROM = 1e8
"""Times from here on count from 1970 and are shown as dates, earlier ones as time since the start."""
_BLOCKS = " ▁▂▃▄▅▆▇█"
_PEAK = "░"
_NARROWEST = 8
_MOST_POINTS = 1200
_WIDTH, _HEIGHT = 860, 300
_DATE_LABEL = 80
"""A date on the time axis takes at most so many pixels."""
_TICKS, _HEADROOM = 6, 1.08
_ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_COLOURS = ("#2f6f9f", "#e08a2e", "#5a9e5a", "#9a6fb0", "#8c8c8c")
_LEVEL_COLOUR = "#b0302f"


@dataclass(frozen=True, slots=True)
class Layer:
    """One kind of demand; layers are stacked in their order."""

    label: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A horizontal line with its name, for example what is reserved."""

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class SeriesChart:
    """Stacked demand in equal steps from ``start`` (Unix time, or seconds since a trace's own origin)."""

    title: str
    subtitle: str
    unit: str
    start: float
    step_seconds: float
    layers: tuple[Layer, ...]
    levels: tuple[ReferenceLine, ...] = ()

    @property
    def dated(self) -> bool:
        """Whether times are dates."""
        return self.start >= DATES_FROM

    @property
    def end(self) -> float:
        """When the last step ends."""
        return self.start + self.step_seconds * len(self.layers[0].values)

    def total(self) -> list[float]:
        """The sum of the layers in each step."""
        return [sum(step) for step in zip(*(layer.values for layer in self.layers), strict=True)]


def terminal_series(chart: SeriesChart, width: int, height: int = 8) -> list[str]:
    """The total as columns of blocks (mean) with light shade up to the most in each column, and both axes labelled."""
    total = chart.total()
    if not total:
        return ["no steps to draw"]
    top = _top(chart)
    labels = _row_labels(top, height)
    margin, columns = _layout(chart, width, height)
    means, peaks = in_columns(total, columns)
    lines = [chart.unit]
    for row in range(height - 1, -1, -1):
        shown = labels[row] if row in (height - 1, height // 2 - 1) else ""
        cells = "".join(_cell(m, p, top, (row, height)) for m, p in zip(means, peaks, strict=True))
        lines.append(f"{shown:>{margin - 1}} ┤{cells}" if shown else f"{'':>{margin}}│{cells}")
    lines.append(f"{'0':>{margin - 1}} └{'─' * columns}")
    lines.append(" " * (margin + 1) + _time_axis(chart, columns))
    return [line.rstrip() for line in lines]


def terminal_legend(chart: SeriesChart, width: int, height: int = 8) -> str:
    """What a column of :func:`terminal_series` and its two characters stand for."""
    legend = f"demand in steps of {format_duration(round(chart.step_seconds))}"
    _, columns = _layout(chart, width, height)
    if columns >= len(chart.layers[0].values):
        return legend
    span = format_span((chart.end - chart.start) / columns)
    return f"{legend}; a column is {span}: █ the mean, {_PEAK} the highest step in it"


def _top(chart: SeriesChart) -> float:
    return max([*chart.total(), *(level.value for level in chart.levels)])


def _row_labels(top: float, height: int) -> list[str]:
    return [axis_number(top * (row + 1) / height) for row in range(height)]


def _layout(chart: SeriesChart, width: int, height: int) -> tuple[int, int]:
    """How many characters stand left of the axis, and how many columns right of it."""
    labels = _row_labels(_top(chart), height)
    margin = max(len(labels[-1]), len(labels[height // 2 - 1]), 1) + 1
    steps = len(chart.layers[0].values)
    return margin, min(max(width - margin - 1, _NARROWEST), max(steps, _NARROWEST) * 8)


def _cell(mean: float, peak: float, top: float, place: tuple[int, int]) -> str:
    """The character of one column in one row from below."""
    row, height = place
    if top <= 0:
        return " "
    eighths = round((mean / top * height - row) * 8)
    if eighths >= 1:
        return _BLOCKS[min(eighths, 8)]
    return _PEAK if round((peak / top * height - row) * 8) >= 4 else " "


def in_columns(values: Sequence[float], columns: int) -> tuple[list[float], list[float]]:
    """Mean and most of the values that fall into each of so many columns; the mean weighs steps by their overlap."""
    means, peaks = [], []
    count = len(values)
    for column in range(columns):
        low, high = column * count / columns, (column + 1) * count / columns
        first, last = int(low), min(int(high), count - 1)
        if high == int(high):
            last = max(int(high) - 1, first)
        weights = [min(i + 1, high) - max(i, low) for i in range(first, last + 1)]
        inside = values[first : last + 1]
        means.append(sum(w * v for w, v in zip(weights, inside, strict=True)) / sum(weights))
        peaks.append(max(inside))
    return means, peaks


def figure(value: float) -> str:
    """A figure in a sentence: ``0.424``, ``38.4``, ``1,226``."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def axis_number(value: float) -> str:
    """A figure short enough for an axis: ``0.42``, ``12``, ``1,226``, ``38k``."""
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    if value >= 1e4:
        return f"{value / 1e3:.0f}k"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _time_axis(chart: SeriesChart, columns: int) -> str:
    """Begin, middle and end below the axis, as far as they fit."""
    begin, middle, end = (_moment(chart, part) for part in (0.0, 0.5, 1.0))
    if len(begin) + len(middle) + len(end) + 4 <= columns:
        left = f"{begin:<{columns // 2 - len(middle) // 2}}{middle}"
        return f"{left}{end:>{columns - len(left)}}"
    return f"{begin}{end:>{columns - len(begin)}}" if len(begin) + len(end) + 2 <= columns else begin[:columns]


def _moment(chart: SeriesChart, part: float) -> str:
    span = chart.end - chart.start
    seconds = part * span
    if chart.dated:
        moment = datetime.fromtimestamp(chart.start + seconds, UTC)
        return moment.strftime("%Y-%m-%d" if span > 5 * 86_400 else "%m-%d %H:%M")
    if span > 3 * 86_400:
        return f"{seconds / 86_400:.3g}d"
    return f"{seconds / 3600:.3g}h" if span > 3 * 3600 else f"{seconds / 60:.0f}min"


def save_chart(chart: SeriesChart, path: Path) -> None:
    """Save as PNG, SVG or self-contained HTML by the suffix; nothing is fetched from anywhere."""
    is_page = path.suffix.lower() == ".html"
    save_picture(altair_chart(_without_tags(chart) if is_page else chart), path, chart.title)


def _without_tags(chart: SeriesChart) -> SeriesChart:
    """Names that cannot close the script element which holds the picture's data."""
    layers = tuple(replace(layer, label=_angled(layer.label)) for layer in chart.layers)
    levels = tuple(replace(level, label=_angled(level.label)) for level in chart.levels)
    return replace(chart, title=_angled(chart.title), subtitle=_angled(chart.subtitle), layers=layers, levels=levels)


def _angled(text: str) -> str:
    return text.replace("<", "‹").replace(">", "›")


def altair_chart(chart: SeriesChart) -> alt.LayerChart:
    """The picture as an Altair chart: stacked areas, a line for each level, titles and units."""
    import altair as alt

    chart = resampled(chart)
    ticks, written = amount_ticks(_top(chart))
    axis = alt.Axis(values=ticks, format=written)
    order = [layer.label for layer in chart.layers]
    colours = alt.Scale(domain=order, range=list(_COLOURS[: len(order)]))
    legend = alt.Legend(title=None, orient="top", direction="horizontal") if len(order) > 1 else None
    areas = (
        alt.Chart(alt.InlineData(values=_points(chart)))
        .mark_area(interpolate="step-after", opacity=0.9, line=False)
        .encode(
            x=_time_encoding(chart),
            y=alt.Y("value:Q", stack="zero", title=chart.unit, axis=axis, scale=_amount_scale(chart)),
            color=alt.Color("kind:N", scale=colours, legend=legend),
            order=alt.Order("place:Q"),
        )
    )
    picture = alt.layer(areas, *_level_lines(chart)).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(chart.title, subtitle=chart.subtitle, anchor="start", offset=12),
    )
    styled: alt.LayerChart = (
        picture.configure_view(stroke=None)
        .configure_axis(grid=True, gridColor="#e6e6e6", domainColor="#888", labelFontSize=12, titleFontSize=12)
        .configure_title(fontSize=16, subtitleFontSize=12, subtitleColor="#555")
        .configure_legend(labelFontSize=12)
    )
    return styled


def resampled(chart: SeriesChart) -> SeriesChart:
    """The chart as a picture can show it: means over whole steps, so many that their number fits, and said so."""
    factor = math.ceil(len(chart.layers[0].values) / _MOST_POINTS)
    layers = tuple(replace(layer, values=_means(layer.values, factor)) for layer in chart.layers)
    step = chart.step_seconds * factor
    drawn = replace(chart, layers=layers, step_seconds=step)
    said = f"drawn in {format_duration(round(step))} steps, the highest {figure(max(drawn.total()))}"
    return replace(drawn, subtitle=f"{chart.subtitle} · {said}")


def _means(values: Sequence[float], factor: int) -> list[float]:
    parts = (values[low : low + factor] for low in range(0, len(values), factor))
    return [sum(part) / len(part) for part in parts]


def amount_ticks(top: float) -> tuple[list[float], str]:
    """Ticks at round amounts up to the top, and a format with as many decimals as tell them apart."""
    rough = (top or 1.0) / _TICKS
    power = math.floor(math.log10(rough))
    step = next(s for s in _ROUND_STEPS if s * 10.0**power >= rough * (1 - 1e-9)) * 10.0**power
    decimals = max(0, next(d for d in range(-power - 1, 2 - power) if math.isclose(round(step, d), step)))
    count = math.floor((top or 1.0) * _HEADROOM / step)
    return [round(step * n, decimals + 1) for n in range(count + 1)], f",.{decimals}f"


def _amount_scale(chart: SeriesChart) -> alt.Scale:
    """From zero to a little above the tallest bar and the highest line."""
    import altair as alt

    return alt.Scale(domain=[0.0, (_top(chart) or 1.0) * _HEADROOM], nice=False)


def _level_lines(chart: SeriesChart) -> list[alt.Chart]:
    import altair as alt

    lines: list[alt.Chart] = []
    for level in chart.levels:
        data = alt.InlineData(values=[{"level": level.value, "label": level.label}])
        rule = alt.Chart(data).mark_rule(color=_LEVEL_COLOUR, strokeDash=[6, 4], size=1.5).encode(y="level:Q")
        text = (
            alt.Chart(data)
            .mark_text(align="left", baseline="middle", dx=6, color=_LEVEL_COLOUR, fontSize=12)
            .encode(y="level:Q", x=alt.value(_WIDTH), text="label:N")
        )
        lines += [rule, text]
    return lines


def _time_encoding(chart: SeriesChart) -> alt.X:
    import altair as alt

    if chart.dated:
        scale = alt.Scale(type="utc")
        written = "%Y-%m-%d" if chart.end - chart.start > 5 * 86_400 else "%m-%d %H:%M"
        edge = (chart.end - chart.start) * 1000 * _DATE_LABEL / 2 / _WIDTH
        aligned = {
            "condition": [
                {"test": f"datum.value < {chart.start * 1000 + edge}", "value": "left"},
                {"test": f"datum.value > {chart.end * 1000 - edge}", "value": "right"},
            ],
            "value": "center",
        }
        axis = alt.Axis(labelOverlap=True, labelFlush=False, labelAlign=aligned, tickCount=8, format=written)
        return alt.X("time:T", title="time (UTC)", scale=scale, axis=axis)
    unit, _ = _elapsed(chart)
    axis = alt.Axis(labelFlush=True, labelBound=True, tickCount=10)
    return alt.X("time:Q", title=f"{unit} since the start", axis=axis, scale=alt.Scale(nice=False))


def _elapsed(chart: SeriesChart) -> tuple[str, int]:
    """The unit of time since the start that suits the span, and its seconds."""
    span = chart.end - chart.start
    if span > 3 * 86_400:
        return "days", 86_400
    return ("hours", 3600) if span > 3 * 3600 else ("minutes", 60)


def _points(chart: SeriesChart) -> list[dict[str, float | str]]:
    """Rows for the picture: each step's time and amount, and one closing point."""
    _, scale = _elapsed(chart)
    rows: list[dict[str, float | str]] = []
    for place, layer in enumerate(chart.layers):
        for column, amount in enumerate([*layer.values, layer.values[-1]]):
            seconds = column * chart.step_seconds
            time = (chart.start + seconds) * 1000 if chart.dated else seconds / scale
            rows.append({"time": time, "value": amount, "kind": layer.label, "place": place})
    return rows
