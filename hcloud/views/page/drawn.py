"""A picture drawn for a page and for a file of its own: the same shapes, the same colours."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hcloud.views.escaped import in_xml
from hcloud.views.page.parts import Figure
from hcloud.views.page.svg import NARROW, WIDE, Canvas

HERE = Path(__file__).parent
MARGIN, TITLE = 16, 28
WIDTHS = {"wide": WIDE, "narrow": NARROW}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture in both widths, on a screen ``wide``: its title, what it shows in words for who cannot see it, and a
    caption."""

    title: str
    draw: Callable[[int], Canvas]
    alternative: str
    caption: str
    wide: int = WIDE

    def figure(self) -> Figure:
        """For a page, which shows the width that fits."""
        sizes = {"widest": self.wide, "wide": WIDE, "narrow": NARROW} if self.wide > WIDE else WIDTHS
        every = "".join(self.draw(width).svg(name) for name, width in sizes.items())
        return Figure(every, self.alternative, self.caption, self.title)


def standalone(drawn: Drawn, title: str) -> str:
    """A picture as a file of its own: with its title, what it shows for who cannot see it, and its colours, light and
    dark."""
    canvas, said = drawn.draw(drawn.wide), drawn.alternative
    light, dark = palettes()
    rules = "\n".join(_rules("".join(canvas.parts)))
    style = f"{_filled(rules, light)}\n@media (prefers-color-scheme: dark) {{\n{_filled(rules, dark)}\n}}"
    whole = Canvas(canvas.width + 2 * MARGIN, canvas.height + 2 * MARGIN + TITLE)
    described = f"<title>{in_xml(title)}</title><desc>{in_xml(said)}</desc>"
    whole.parts.append(f"{described}<style>{style}</style>")
    whole.box((0, 0), (whole.width, whole.height), "p-paper")
    whole.text((MARGIN, MARGIN + 12), title, "p-b")
    whole.parts.append(f'<g transform="translate({MARGIN} {MARGIN + TITLE})">{"".join(canvas.parts)}</g>')
    return whole.svg()


def palettes() -> tuple[dict[str, str], dict[str, str]]:
    """The colours of the page by name, light and dark."""
    page = (HERE / "page.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", part)) for part in page.split("@media")[:2])
    return light, dark


def _rules(drawn: str) -> list[str]:
    """The rules of the shapes and labels that are drawn, one a line."""
    used = {name for kinds in re.findall(r'class="([^"]+)"', drawn) for name in kinds.split()} | {"p-paper", "p-b"}
    lines = (HERE / "picture.css").read_text(encoding="utf-8").split("\n")
    return [x for x in lines if x.startswith(".p-") and used.intersection(re.findall(r"p-[a-z0-9]+", x.split("{")[0]))]


def _filled(rules: str, colours: dict[str, str]) -> str:
    return re.sub(r"var\(--([a-z]+)\)", lambda found: colours[found[1]], rules)
