"""Bars with their names above them and their values beside them, with intervals and a level to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hcloud.views.page.drawn import Drawn
from hcloud.views.page.svg import LINE, Canvas, text_width

ROW, THICK, TOP = 42.0, 14.0, 6.0


@dataclass(frozen=True, slots=True)
class BarRow:
    """A row: its name, its value in words and as a number, half of its interval (or its ends), and its colour."""

    name: str
    said: str
    value: float
    low: float | None = None
    high: float | None = None
    kind: str = "p-other"


@dataclass(frozen=True, slots=True)
class Bars:
    """Rows from above, on a common scale from zero, and a level with its name that all of them are compared with."""

    rows: Sequence[BarRow]
    level: float | None = None
    level_name: str = ""


def bar_picture(title: str, drawn: Bars, caption: str) -> Drawn:
    """The same with its title, and with what it shows in words."""
    told = ", ".join(f"{row.name} {row.said}" for row in drawn.rows)
    return Drawn(title, lambda width: bars(drawn, width), f"{title}: {told}.", caption)


def bars(drawn: Bars, width: int) -> Canvas:
    """The picture."""
    below = LINE + 6 if drawn.level is not None else 0.0
    canvas = Canvas(width, TOP + ROW * len(drawn.rows) + below)
    room = width - max((text_width(row.said) for row in drawn.rows), default=0.0) - 16
    ends = [max(row.value, row.high or 0.0) for row in drawn.rows]
    most = max([*ends, drawn.level or 0.0]) or 1.0

    def scale(value: float) -> float:
        return value / most * room

    for place, row in enumerate(drawn.rows):
        canvas.box((0, _bar_top(place)), (max(scale(row.value), 1.0), THICK), row.kind)
    if drawn.level is not None:
        x, bottom = scale(drawn.level), TOP + ROW * len(drawn.rows)
        canvas.line((x, TOP + LINE), (x, bottom - 4), "p-limit")
        half = text_width(drawn.level_name) / 2
        canvas.text((min(max(x, half), width - half), bottom + LINE - 4), drawn.level_name, "p-n", "middle")
    for place, row in enumerate(drawn.rows):
        _said(canvas, row, _bar_top(place), scale)
    return canvas


def _bar_top(place: int) -> float:
    return TOP + place * ROW + LINE + 2


def _said(canvas: Canvas, row: BarRow, top: float, scale: Callable[[float], float]) -> None:
    """What is written of a row: its name above the bar, the whisker on it, and its value to the right of both."""
    kind = ("p-b" if row.kind == "p-best" else "p-t") + " p-halo"
    canvas.text((0, top - 6), row.name, kind)
    end = scale(row.value)
    if row.low is not None and row.high is not None and row.high > row.low:
        low, high, middle = scale(row.low), scale(row.high), top + THICK / 2
        canvas.line((low, middle), (high, middle), "p-whisker")
        for x in (low, high):
            canvas.line((x, middle - 4), (x, middle + 4), "p-whisker")
        end = max(end, high)
    canvas.text((end + 7, top + 12), row.said, kind)
