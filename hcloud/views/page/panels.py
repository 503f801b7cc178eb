"""Panels side by side in one picture: lines, steps, bars, boxes, areas, heat and dots of several series."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite
from typing import Literal

from hcloud.views.lines import wrapped
from hcloud.views.page.axes import Axis, Frame, area, axis, framed, key, log_axis, short_number, stepped
from hcloud.views.page.svg import LETTER, LINE, Canvas, text_width

PanelKind = Literal["lines", "steps", "bars", "stacked", "boxes", "areas", "heat", "dots"]
Ends = tuple[float, float]
WIDTH = 1000
"""How wide a picture of panels is, in its units."""
COLOURS = 7  # of series, in the style sheet
LEAST_WIDTH, HEIGHT, GAP = 180.0, 250.0, 24.0
KEYED = 3 * LINE  # ours: more height than this that a key takes is added to its panel
HEADROOM, ROOM = 1.06, 0.15  # ours: above what begins at zero, and around points
DOTTED, MARKED = 12, 60  # ours: a line of at most so many points has whiskers, or dots
MANY = 12  # ours: of more names than these, only some are written below an axis
NAME_GAP = 6.5  # half of the height of a point, and of its name
SHADES = 16
"""Shares that a heat map tells apart: the sizes of jobs are whole sixteenths of a server."""
NAMED = frozenset(("bars", "boxes"))
"""Kinds with a place for each series instead of an axis of numbers."""


@dataclass(frozen=True, slots=True)
class SeriesMark:
    """Something drawn of a series at ``x``. ``values`` of lines and bars: (y, low, high); of boxes: (p5, p25, p50, p75,
    p95, mean); of heat: (row, value); of dots: (y, 1 on the front, else 0); of the others: (y,)."""

    series: str
    x: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """A field with its axes: ``log`` names those that are logarithmic, ``names`` what stands at 0, 1, 2 ... of the
    horizontal one, ``limit`` a value of it that is marked, and ``over`` is drawn on areas as a line of steps. ``whole``
    says that its values are whole numbers: no tick lies between."""

    title: str
    kind: PanelKind
    x: str
    y: str
    marks: Sequence[SeriesMark]
    about: str = ""
    log: str = ""
    names: tuple[str, ...] = ()
    limit: float | None = None
    from_zero: bool = True
    over: Sequence[SeriesMark] = ()
    whole: bool = False

    @property
    def series(self) -> list[str]:
        """The names of what is drawn, each once."""
        return list(dict.fromkeys(mark.series for mark in self.marks))

    def of(self, series: str) -> list[SeriesMark]:
        """The marks of a series from left to right."""
        return sorted((m for m in self.marks if m.series == series), key=lambda m: m.x)

    def drawable(self) -> Panel:
        """The panel without marks that have no value, or no place on a logarithmic axis; what they are called keeps its
        place on an axis of names."""
        known = [m for m in self.marks if all(map(isfinite, m.values)) and (m.x > 0 or "x" not in self.log)]
        if "y" in self.log:
            known = [m for m in known if (max(m.values) if self.kind == "boxes" else m.values[0]) > 0]
        names = self.names or (tuple(self.series) if self.kind in NAMED else ())
        return replace(self, marks=known, names=names)


def _again(at: int) -> str:
    """What tells a series apart from the one whose colour it has again: short dashes, paler areas and dots."""
    return " p-again" if at >= COLOURS else ""


@dataclass(frozen=True, slots=True)
class PanelGroup:
    """Panels that stand side by side; where they are ``shared``, with one key, and one upright scale unless they have
    ``own_scales``. ``kinds`` are classes of series whose colours mean something."""

    panels: Sequence[Panel]
    shared: bool = True
    own_scales: bool = False
    kinds: Mapping[str, str] | None = None
    columns: int = 3
    height: float = HEIGHT

    def drawable(self) -> PanelGroup:
        """The same of what can be drawn, with the colours that all of it has."""
        return replace(self, panels=[panel.drawable() for panel in self.panels], kinds=self.classes())

    def classes(self) -> dict[str, str]:
        """The class of each series."""
        known = self.kinds or {}
        rest = [s for s in dict.fromkeys(chain.from_iterable(p.series for p in self.panels)) if s not in known]
        return {**known, **{name: f"p-c{at % COLOURS + 1}{_again(at)}" for at, name in enumerate(rest)}}


def panels(groups: Sequence[PanelGroup], width: int, about: str = "") -> Canvas:
    """The picture, one group below the other, with what is said ``about`` it above them."""
    lines = wrapped(about, int(width / LETTER), 0) if about else []
    said = Canvas(width, LINE * len(lines))
    for at, line in enumerate(lines):
        said.text((0, at * LINE + 12), line, "p-s")
    parts = [_group(group.drawable(), width) for group in groups if group.panels]
    return _stacked([said, *parts] if lines else parts, float(width))


def _stacked(parts: Sequence[Canvas], width: float) -> Canvas:
    whole = Canvas(width, sum(part.height + GAP / 2 for part in parts))
    top = 0.0
    for part in parts:
        whole.put(part, (0.0, top))
        top += part.height + GAP / 2
    return whole


def _group(group: PanelGroup, width: float) -> Canvas:
    classes, entries = group.classes(), Canvas(width, 0.0)
    if group.shared:
        entries.height = key(entries, _entries(group.panels, classes)) if _is_keyed(group.panels) else 0.0
    most = max(min(group.columns, len(group.panels), int((width + GAP) // (LEAST_WIDTH + GAP))), 1)
    columns = math.ceil(
        len(group.panels) / math.ceil(len(group.panels) / most)
    )  # six beside five are two rows of three
    each = (width - GAP * (columns - 1)) / columns
    every = [_ends(panel) for panel in group.panels]
    one = group.shared and not group.own_scales and group.panels[0].kind != "heat"
    ends = (min(low for low, _ in every), max(high for _, high in every)) if one else None
    parts = [entries] if group.shared else []
    for first in range(0, len(group.panels), columns):
        row = group.panels[first : first + columns]
        above = max(len(_words(panel, each)) for panel in row) * LINE + 4
        drawn = [_panel(panel, (each, above, group), classes, ends) for panel in row]
        line = Canvas(width, max(canvas.height for canvas in drawn))
        for at, canvas in enumerate(drawn):
            line.put(canvas, (at * (each + GAP), 0.0))
        parts.append(line)
    return _stacked(parts, width)


def _is_keyed(shown: Sequence[Panel]) -> bool:
    """Whether colours have to be told: not where each series has its place, or there is only one."""
    several = len(set(chain.from_iterable(p.series for p in shown))) > 1 or any(p.over for p in shown)
    return shown[0].kind == "heat" or (shown[0].kind not in NAMED | {"dots"} and several)


def _entries(shown: Sequence[Panel], classes: Mapping[str, str]) -> list[tuple[str, str]]:
    if shown[0].kind == "heat":
        return [(f"p-reserve p-h{at}", f"{at / SHADES:.0%} in use") for at in range(0, SHADES + 1, SHADES // 4)]
    form = "p-stroke" if shown[0].kind in ("lines", "steps") else "p-fill"
    names = dict.fromkeys(chain.from_iterable(p.series for p in shown))
    over = dict.fromkeys(mark.series for panel in shown for mark in panel.over)
    told = [(f"{classes[name]} {form}", name) for name in sorted(names, key=list(classes).index)]
    return told + [(classes[name], name) for name in over]


def _words(panel: Panel, width: float) -> list[str]:
    """The lines above a panel: its title, and what is said about it."""
    room = int(width / LETTER)
    return [line for text in (panel.title, panel.about) if text for line in wrapped(text, room, 0)]


def _panel(
    panel: Panel, place: tuple[float, float, PanelGroup], classes: Mapping[str, str], ends: Ends | None
) -> Canvas:
    width, above, group = place
    canvas = Canvas(width, group.height + above)
    titles = len(wrapped(panel.title, int(width / LETTER), 0)) if panel.title else 0
    for at, line in enumerate(_words(panel, width)):
        canvas.text((0, at * LINE + 12), line, "p-b" if at < titles else "p-s")
    if not group.shared and _is_keyed([panel]):
        entries = Canvas(width, 0.0)
        entries.height = key(entries, _entries([panel], classes))
        canvas.put(entries, (0.0, above))
        canvas.height += max(entries.height - KEYED, 0.0)
        above += entries.height
    frame = framed(canvas, _across(panel, width), _upright(panel, ends or _ends(panel)), above=above)
    _DRAW[panel.kind](frame, panel, classes)
    if panel.limit is not None:
        canvas.line(frame.at(panel.limit, frame.y.low), frame.at(panel.limit, frame.y.high), "p-front")
    return canvas


def _ends(panel: Panel) -> Ends:
    """From where to where the upright axis goes."""
    marks = panel.marks
    if panel.kind == "heat":
        rows = sorted({mark.values[0] for mark in marks}) or [0.0]
        return 0.0, max(rows[-1], 0.0) + _step(rows)
    if panel.kind in ("areas", "stacked"):
        sums: dict[float, float] = {}
        for mark in marks:
            sums[mark.x] = sums.get(mark.x, 0.0) + mark.values[0]
        return 0.0, (max([0.0, *sums.values(), *(m.values[0] for m in panel.over)]) or 1.0) * HEADROOM
    values = [v for m in marks for v in (m.values[:1] if panel.kind == "dots" else m.values)]
    if "y" in panel.log:
        known = [v for v in values if v > 0] or [1.0]
        tops = [m.values[0] for m in marks if m.values[0] > 0] or known  # an interval may reach down to nothing
        low = max(min(known), min(tops) / 10)
        return low / HEADROOM, max(known) * HEADROOM
    low, high = min(values, default=0.0), max(values, default=1.0)
    if panel.kind == "dots" or not panel.from_zero:
        low, high = (v + sign * (high - low or abs(high) or 1.0) * ROOM for v, sign in ((low, -1), (high, 1)))
        return low, min(high, 100 + (100 - low) * ROOM) if panel.y.startswith("%") else high
    return min([0.0, *(m.values[0] for m in marks)]), (max(high, 0.0) or 1.0) * HEADROOM


def _upright(panel: Panel, ends: Ends) -> Axis:
    if "y" in panel.log:
        return log_axis(panel.y, ends)
    made = axis(panel.y, ends, 7, short_number)
    if panel.y.startswith("%"):  # there is room above all, for names
        return replace(made, ticks=[t for t in made.ticks if 0 <= t <= 100])
    is_whole = panel.kind == "stacked" and all(m.values[0].is_integer() for m in panel.marks)
    return _at_whole(made) if panel.kind == "heat" or is_whole else made


def _at_whole(made: Axis) -> Axis:
    return replace(made, ticks=[t for t in made.ticks if t == int(t)])


def _across(panel: Panel, width: float) -> Axis:
    names = panel.names
    if names:
        if len(names) > MANY:
            step = -(-len(names) * (max(map(len, names)) + 2) * LETTER // (width * 0.85))
            return Axis(panel.x, -0.5, len(names) - 0.5, range(0, len(names), int(step)), lambda v: names[int(v)])
        room = max(int(width * 0.85 / len(names) / LETTER), 2)
        cut = [name if len(name) <= room else f"{name[: room - 1]}…" for name in names]
        return Axis(panel.x, -0.5, len(names) - 0.5, range(len(names)), lambda v: cut[int(v)])
    places = sorted({mark.x for mark in panel.marks}) or [0.0, 1.0]
    low, high = places[0], places[-1] + (_step(places) if panel.kind in ("areas", "heat") else 0.0)
    if panel.kind == "dots":
        low, high = low - (high - low or high) * ROOM, high + (high - low or high) * ROOM
    most = max(int(width // 45), 2)
    made = log_axis(panel.x, (low, high), most) if "x" in panel.log else axis(panel.x, (low, high), most, short_number)
    return _at_whole(made) if panel.whole else made


def _step(places: Sequence[float]) -> float:
    return places[1] - places[0] if len(places) > 1 else 1.0


def _lines(frame: Frame, panel: Panel, classes: Mapping[str, str]) -> None:
    """Lines with their intervals: whiskers through few points, a band along many."""
    for name in panel.series:
        marks, kind = panel.of(name), classes[name]
        spans = [(m.x, *(max(v, frame.y.low) for v in m.values[1:3])) for m in marks if len(m.values) > 2]
        if len(marks) <= DOTTED:
            for x, low, high in spans:
                if high > low:
                    frame.canvas.line(frame.at(x, low), frame.at(x, high), f"{kind} p-stroke")
        elif any(high > low for _, low, high in spans):
            band = [frame.at(x, high) for x, _, high in spans] + [frame.at(x, low) for x, low, _ in reversed(spans)]
            frame.canvas.path(band, f"{kind} p-band", closed=True)
    for name in panel.series:
        points = [frame.at(m.x, m.values[0]) for m in panel.of(name)]
        frame.canvas.path(points, f"{classes[name]} p-stroke")
        for point in points if len(points) <= MARKED else ():
            frame.canvas.dot(point, 2.6, f"{classes[name]} p-fill")


def _steps(frame: Frame, panel: Panel, classes: Mapping[str, str]) -> None:
    """Lines that stay level until the next value."""
    for name in panel.series:
        marks = panel.of(name)
        corners = [(m.x, level) for before, m in zip([marks[0], *marks], marks, strict=False)
                   for level in dict.fromkeys((before.values[0], m.values[0]))] if marks else []  # fmt: skip
        frame.canvas.path([frame.at(*corner) for corner in corners], f"{classes[name]} p-stroke")


def _slot(frame: Frame, at: float) -> tuple[float, float]:
    """The left end of what stands at a place, and its width."""
    wide = min((frame.across(1) - frame.across(0)) * 0.66, 44.0)
    return frame.across(at) - wide / 2, wide


def _bars(frame: Frame, panel: Panel, classes: Mapping[str, str]) -> None:
    for at, name in enumerate(panel.names):
        for mark in panel.of(name):
            left, wide = _slot(frame, at)
            top, low, high = (frame.up(v) for v in mark.values)
            frame.canvas.box((left, top), (wide, frame.bottom - top), f"{classes[name]} p-fill")
            if high < low:
                frame.canvas.line((left + wide / 2, low), (left + wide / 2, high), "p-whisker")


def _stack(frame: Frame, panel: Panel, classes: Mapping[str, str]) -> None:
    """Bars one on the other, at the names of the axis."""
    for at in range(len(panel.names)):
        below, (left, wide) = 0.0, _slot(frame, at)
        for name in panel.series:
            for mark in (m for m in panel.of(name) if m.x == at and m.values[0] > 0):
                top = frame.up(below + mark.values[0])
                frame.canvas.box((left, top), (wide, frame.up(below) - top), f"{classes[name]} p-fill")
                below += mark.values[0]


def _boxes(frame: Frame, panel: Panel, classes: Mapping[str, str]) -> None:
    """Boxes from the quarter to three quarters, their middle, whiskers and a diamond at the mean."""
    for at, name in enumerate(panel.names):
        for mark in panel.of(name):
            left, wide = _slot(frame, at)
            middle = left + wide / 2
            p5, p25, p50, p75, p95, mean = (frame.up(max(v, frame.y.low)) for v in mark.values)
            frame.canvas.line((middle, p5), (middle, p95), "p-axis")
            frame.canvas.box((left, p75), (wide, p25 - p75), f"{classes[name]} p-fill")
            frame.canvas.line((left, p50), (left + wide, p50), "p-level")
            diamond = [(middle - 4, mean), (middle, mean - 4), (middle + 4, mean), (middle, mean + 4)]
            frame.canvas.path(diamond, "p-ink", closed=True)


def _areas(frame: Frame, panel: Panel, classes: Mapping[str, str]) -> None:
    """Areas of equal steps one on the other."""
    places = sorted({mark.x for mark in panel.marks})
    below = [0.0] * len(places)
    for name in sorted(panel.series, key=list(classes).index):
        amounts = {mark.x: mark.values[0] for mark in panel.of(name)}
        above = [low + amounts.get(x, 0.0) for low, x in zip(below, places, strict=True)]
        if above != below:
            area(frame, below, above, (_step(places), f"{classes[name]} p-fill"), places[0])
        below = above
    for name in dict.fromkeys(mark.series for mark in panel.over):
        levels = [mark.values[0] for mark in panel.over if mark.series == name]
        corners = stepped(levels, _step(places))
        frame.canvas.path([frame.at(places[0] + x, y) for x, y in corners], classes[name])


def _heat(frame: Frame, panel: Panel, _: Mapping[str, str]) -> None:
    """Rows of cells; cells of a row that follow each other in one shade are one."""
    places = sorted({mark.x for mark in panel.marks}) or [0.0]
    following = dict(zip(places, [*places[1:], places[-1] + _step(places)], strict=True))
    height = _step(sorted({mark.values[0] for mark in panel.marks}))
    bands: list[list[float]] = []
    for mark in sorted(panel.marks, key=lambda m: (m.values[0], m.x)):
        row, shade = mark.values[0], round(min(max(mark.values[1], 0.0), 1.0) * SHADES)
        if bands and bands[-1][:2] == [row, shade]:
            bands[-1][3] = following[mark.x]
        else:
            bands.append([row, shade, mark.x, following[mark.x]])
    for base, share, begins, ends in bands:
        if share:
            left, top = frame.at(begins, min(base + height, frame.y.high))
            size = (frame.across(ends) - left, frame.up(base) - top)
            frame.canvas.box((left, top), size, f"p-reserve p-h{share:.0f}")


def _dots(frame: Frame, panel: Panel, classes: Mapping[str, str]) -> None:
    """Points with their names, above or below, where neither a point nor another name is (of many only there, those on
    the front first); a dashed line joins those on the front."""
    marks = sorted((m for name in panel.series for m in panel.of(name)), key=lambda m: m.x)
    frame.canvas.path([frame.at(m.x, m.values[0]) for m in marks if m.values[1]], "p-front")
    points = [frame.at(m.x, m.values[0]) for m in marks]
    taken = [(x, y, NAME_GAP) for x, y in points]
    are_many = len(marks) > MANY
    told = zip(points, marks, strict=True)
    for (x, y), mark in sorted(told, key=lambda one: are_many and not one[1].values[1]):
        frame.canvas.dot((x, y), 6, f"{classes[mark.series]} p-fill")
        half = text_width(mark.series) / 2
        middle = min(max(x, half), frame.canvas.width - half)
        near = [up for far, up, wide in taken if abs(middle - far) < half + wide]
        free = (y + off for off in (-15, 18, 31, 44) if all(abs(y + off - up) >= 2 * NAME_GAP for up in near))
        if (level := next(free, None if are_many else y - 15)) is None:
            continue
        taken.append((middle, level, half))
        frame.canvas.text((middle, level + 4), mark.series, "p-t p-halo", "middle")


_DRAW: dict[PanelKind, Callable[[Frame, Panel, Mapping[str, str]], None]] = {
    "lines": _lines,
    "steps": _steps,
    "bars": _bars,
    "stacked": _stack,
    "boxes": _boxes,
    "areas": _areas,
    "heat": _heat,
    "dots": _dots,
}
