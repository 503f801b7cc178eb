"""Drawing in SVG: shapes and real text with classes, so that one style sheet colours them in light, dark and print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hcloud.views.escaped import in_xml

LETTER = 7.6  # ours: generous mean width of a letter at the size of labels, in the picture's units
LINE = 16.0  # ours: height of a line of labels
WIDE, NARROW = 680, 360
"""Widths in the picture's units: for a screen, and for a phone or half a screen."""

Point = tuple[float, float]


def text_width(text: str) -> float:
    """About how wide a label is."""
    return len(text) * LETTER


@dataclass(slots=True)
class Canvas:
    """A picture under way; from above to below, from left to right."""

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def line(self, start: Point, end: Point, kind: str) -> None:
        """A straight line."""
        (x1, y1), (x2, y2) = start, end
        self.parts.append(f'<path class="{kind}" d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}"/>')

    def path(self, points: Sequence[Point], kind: str, *, closed: bool = False) -> None:
        """Straight lines from point to point."""
        if points:
            drawn = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
            self.parts.append(f'<path class="{kind}" d="M{drawn}{"Z" if closed else ""}"/>')

    def box(self, corner: Point, size: Point, kind: str) -> None:
        """A rectangle from its upper left corner."""
        place = f'x="{_n(corner[0])}" y="{_n(corner[1])}"'
        self.parts.append(f'<rect class="{kind}" {place} width="{_n(max(size[0], 0))}" height="{_n(size[1])}"/>')

    def dot(self, centre: Point, radius: float, kind: str) -> None:
        """A filled circle."""
        self.parts.append(f'<circle class="{kind}" cx="{_n(centre[0])}" cy="{_n(centre[1])}" r="{_n(radius)}"/>')

    def text(self, at: Point, said: str, kind: str = "p-t", anchor: str = "start") -> None:
        """A label whose base line begins (or ends, or has its middle) at a point."""
        placed = f'x="{_n(at[0])}" y="{_n(at[1])}"' + ("" if anchor == "start" else f' text-anchor="{anchor}"')
        self.parts.append(f'<text class="{kind}" {placed}>{in_xml(said)}</text>')

    def put(self, other: Canvas, corner: Point) -> None:
        """Another picture as a part of this one."""
        if other.parts:
            self.parts.append(f'<g transform="translate({_n(corner[0])} {_n(corner[1])})">{"".join(other.parts)}</g>')

    def svg(self, kind: str = "") -> str:
        """The picture as an element; its colours come from the style of what it stands in."""
        named = f' class="{kind}" aria-hidden="true"' if kind else ""  # what it stands in speaks for it
        box = f'viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        size = f'width="{_n(self.width)}" height="{_n(self.height)}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg"{named} {box} {size}>{"".join(self.parts)}</svg>'


def _n(value: float) -> str:
    """A coordinate to a tenth."""
    return f"{round(value, 1):g}" if abs(value) < 1e5 else f"{value:.0f}"
