"""Scales and axes of a picture: round ticks, a light grid, and titles that carry the units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hcloud.views.page.svg import LINE, Canvas, Point, text_width

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_GAP = 6.0
SWATCH = 24.0
STROKES = ("p-level", "p-limit", "p-peak", "p-line", "p-line2", "p-line3")


@dataclass(frozen=True, slots=True)
class Axis:
    """From ``low`` to ``high`` with labelled ticks, and what it measures in which unit."""

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    label: Callable[[float], str]
    is_log: bool = False

    @property
    def widest(self) -> float:
        """How wide the widest label of a tick is."""
        return max((text_width(self.label(tick)) for tick in self.ticks), default=0.0)


@dataclass(frozen=True, slots=True)
class Frame:
    """The field of a picture between two axes: where a pair of values lies on it."""

    canvas: Canvas
    x: Axis
    y: Axis
    corner: Point
    size: Point

    def across(self, value: float) -> float:
        """How far from the left a value of the horizontal axis lies."""
        return self.corner[0] + _share(self.x, value) * self.size[0]

    def up(self, value: float) -> float:
        """How far from above a value of the vertical axis lies."""
        return self.corner[1] + (1 - _share(self.y, value)) * self.size[1]

    def at(self, across: float, up: float) -> Point:
        """The point of a pair of values."""
        return self.across(across), self.up(up)

    @property
    def right(self) -> float:
        """Where the field ends on the right."""
        return self.corner[0] + self.size[0]

    @property
    def bottom(self) -> float:
        """Where the field ends below."""
        return self.corner[1] + self.size[1]


def _share(axis: Axis, value: float) -> float:
    if axis.is_log:
        return (math.log(value) - math.log(axis.low)) / ((math.log(axis.high) - math.log(axis.low)) or 1.0)
    return (value - axis.low) / ((axis.high - axis.low) or 1.0)


def axis(title: str, ends: tuple[float, float], most: int, label: Callable[[float], str]) -> Axis:
    """An axis with at most so many round ticks between its ends."""
    return Axis(title, *ends, round_ticks(*ends, most), label)


def log_axis(title: str, ends: tuple[float, float], most: int = 6) -> Axis:
    """A logarithmic axis with ticks at 1, 10, 100 ..., at 2 and 5 times these too where that leaves few."""
    low, high = ends
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1.0,), (1.0, 2.0, 5.0)):
        ticks = [part * 10.0**power for power in powers for part in parts if low <= part * 10.0**power <= high]
        if len(ticks) > 2:
            break
    else:
        ticks = round_ticks(low, high, most)
    return Axis(title, low, high, ticks[:: -(-len(ticks) // most)], short_number, is_log=True)


def short_number(value: float) -> str:
    """A tick's number as it is, thousands and millions short."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:.4g}M"
    return f"{value / 1e3:.4g}k" if abs(value) >= 1e4 else f"{value + 0.0:,.4g}"


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round values from ``low`` to ``high``, at most so many."""
    rough = (high - low) / max(most - 1, 1) or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _ROUND if s * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def framed(canvas: Canvas, x: Axis, y: Axis, *, above: float = 0.0, right: float = 12.0) -> Frame:
    """Draw both axes and their grid; the field begins ``above`` below the upper edge, under the title of the upright
    axis, and ends ``right`` of the right edge."""
    left, top = 1.1 * y.widest + _GAP + 4, above + LINE + 10
    below = 2 * LINE + 10
    frame = Frame(canvas, x, y, (left, top), (canvas.width - left - right, canvas.height - top - below))
    canvas.text((0, above + LINE - 3), y.title, "p-s")
    for tick in y.ticks:
        canvas.line((left, frame.up(tick)), (frame.right, frame.up(tick)), "p-grid")
        canvas.text((left - _GAP, frame.up(tick) + 4), y.label(tick), "p-s", "end")
    canvas.line((left, frame.bottom), (frame.right, frame.bottom), "p-axis")
    _across(frame)
    return frame


def _across(frame: Frame) -> None:
    """The labels of the horizontal axis, none beyond an edge, and its title below them."""
    canvas, x = frame.canvas, frame.x
    for tick in x.ticks:
        place, said = frame.across(tick), x.label(tick)
        half = text_width(said) / 2
        canvas.line((place, frame.bottom), (place, frame.bottom + 4), "p-axis")
        middle = min(max(place, half), canvas.width - half)
        canvas.text((middle, frame.bottom + LINE + 2), said, "p-s", "middle")
    canvas.text((frame.right, frame.bottom + 2 * LINE + 4), x.title, "p-s", "end")


def key(canvas: Canvas, entries: Sequence[tuple[str, str]]) -> float:
    """What colours and lines stand for, in as many lines as it takes from the upper edge; how high these are together.

    An entry is a class and a name; classes of strokes are shown as a line, the others as a patch.
    """
    x, y = 0.0, 0.0
    for kind, said in entries:
        needed = SWATCH + 6 + text_width(said)
        if x and x + needed > canvas.width:
            x, y = 0.0, y + LINE + 3
        if kind in STROKES or kind.endswith("p-stroke"):
            canvas.line((x, y + 8), (x + SWATCH, y + 8), kind)
        else:
            canvas.box((x + SWATCH - 12, y + 2), (12, 12), kind)
        canvas.text((x + SWATCH + 6, y + 12), said)
        x += needed + 12
    return y + LINE + 8


def area(
    frame: Frame, low: Sequence[float], high: Sequence[float], drawn: tuple[float, str], begins: float = 0.0
) -> None:
    """The area between two series of equal steps; ``drawn`` is a step on the horizontal axis, and a class."""
    step, kind = drawn
    corners = (*stepped(high, step), *reversed(stepped(low, step)))
    frame.canvas.path([frame.at(begins + x, y) for x, y in corners], kind, closed=True)


def stepped(values: Sequence[float], step: float) -> list[Point]:
    """A series as corners of steps, without those on a straight line."""
    corners: list[Point] = []
    for place, value in enumerate(values):
        if corners and corners[-1][1] == value:
            corners.pop()
        else:
            corners.append((place * step, value))
        corners.append(((place + 1) * step, value))
    return corners
