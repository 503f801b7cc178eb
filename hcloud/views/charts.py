"""Demand over time, drawn in the terminal with block characters or saved as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hcloud.model.workload import DATES_FROM
from hcloud.units import format_duration, format_span
from hcloud.views.lines import wrapped
from hcloud.views.page.axes import Axis, area, axis, framed, key, short_number
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.svg import LETTER, LINE, Canvas

_BLOCKS = " ▁▂▃▄▅▆▇█"
_PEAK = "░"
_NARROWEST = 8
_MOST_POINTS = 1200
_WIDTH, _HEIGHT, _HEADROOM = 900, 340.0, 1.08
_DATE_LABEL = 100
"""A date on the time axis takes at most so much of the picture's width, with the gap to the next."""
_DAY = 86_400
_TIME_STEPS = (
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    3 * 3600,
    6 * 3600,
    12 * 3600,
    _DAY,
    2 * _DAY,
    7 * _DAY,
    14 * _DAY,
)


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


def series_picture(chart: SeriesChart) -> Drawn:
    """The picture: stacked areas, a line for each level, titles and units."""
    chart = resampled(chart)
    said = f"{chart.title}: {chart.subtitle}; {', '.join(layer.label for layer in chart.layers)}."
    return Drawn(chart.title, lambda width: _areas(chart, width), said, "", _WIDTH)


def _areas(chart: SeriesChart, width: int) -> Canvas:
    canvas, entries = Canvas(width, _HEIGHT), Canvas(width, 0.0)
    lines = wrapped(chart.subtitle, int(width / LETTER), 0)
    for at, line in enumerate(lines):
        canvas.text((0, at * LINE + 12), line, "p-s")
    classes = [f"p-c{at} p-fill" for at in range(1, len(chart.layers) + 1)]
    several = zip(classes, [layer.label for layer in chart.layers], strict=True) if len(classes) > 1 else ()
    named = [*several, *(("p-limit", level.label) for level in chart.levels)]
    upright = axis(chart.unit, (0.0, (_top(chart) or 1.0) * _HEADROOM), 6, short_number)
    frame = framed(canvas, _time(chart, width), upright, above=len(lines) * LINE + key(entries, named))
    canvas.put(entries, (0.0, len(lines) * LINE + 4))
    below = [0.0] * len(chart.layers[0].values)
    for layer, kind in zip(chart.layers, classes, strict=True):
        above = [low + amount for low, amount in zip(below, layer.values, strict=True)]
        area(frame, below, above, (chart.step_seconds, kind))
        below = above
    for level in chart.levels:
        canvas.line(frame.at(0, level.value), frame.at(frame.x.high, level.value), "p-limit")
    return canvas


def _time(chart: SeriesChart, width: int) -> Axis:
    """Time from the start in steps that suit calendars, as dates where there are any."""
    span, begins = chart.end - chart.start, chart.start if chart.dated else 0.0
    most = max(width // _DATE_LABEL, 2)
    step = next((s for s in _TIME_STEPS if span / s <= most), math.ceil(span / most / _DAY) * _DAY)
    ticks = [n * step - begins for n in range(math.ceil(begins / step), math.floor((begins + span) / step) + 1)]
    if chart.dated:
        written = "%Y-%m-%d" if span > 5 * _DAY else "%m-%d %H:%M"
        return Axis("time (UTC)", 0.0, span, ticks, lambda v: f"{datetime.fromtimestamp(begins + v, UTC):{written}}")
    unit, each = _elapsed(chart)
    return Axis(f"{unit} since the start", 0.0, span, ticks, lambda v: short_number(v / each))


def _elapsed(chart: SeriesChart) -> tuple[str, int]:
    """The unit of time since the start that suits the span, and its seconds."""
    span = chart.end - chart.start
    if span > 3 * _DAY:
        return "days", _DAY
    return ("hours", 3600) if span > 3 * 3600 else ("minutes", 60)


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
