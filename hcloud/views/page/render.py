"""A page as one HTML file that fetches nothing and runs no script; everything said on it is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.units import harmless
from hcloud.views.escaped import Written, in_xml
from hcloud.views.page.parts import Page, PageSection
from hcloud.views.tables import Figures

if TYPE_CHECKING:
    from jinja2 import Template

HERE = Path(__file__).parent
FOLDED_FROM = 16  # ours: rows from which a table is shown folded
LONG, SHORT = 34, 12  # ours: characters from which a cell's text breaks over lines, and to which it never does
HEIGHT = 640  # ours: pixels of a page's frame; its corner can be dragged


@dataclass(frozen=True, slots=True)
class _HeatCell:
    """A cell of a table: its text, the element it is in, its role (told, since a phone shows rows as blocks), its
    classes and the name of its column, which stands before it there."""

    text: str
    tag: str
    role: str
    classes: str
    column: str = ""


def render(page: Page) -> Written:
    """The whole file."""
    sections = list(zip(page.sections, _anchors(page.sections), strict=True))
    styles = [(HERE / name).read_text(encoding="utf-8") for name in ("page.css", "picture.css")]
    plain = re.sub(r"/\*.*?\*/", "", "\n".join(styles), flags=re.DOTALL)
    style = re.sub(r"\s*\n\s*", "\n", plain).strip()
    return Written(_template().render(page=page, sections=sections, styles=style, rows=_rows, head=_head))


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    environment.globals["folded_from"] = FOLDED_FROM
    return environment.get_template("page.html.jinja")


def _shown(value: object) -> object:
    """Plain text without control characters; what is markup already stays as it is."""
    return harmless(value) if type(value) is str else value


def _anchors(sections: Sequence[PageSection]) -> list[str]:
    """A fragment for each heading, told apart where two are alike."""
    made: list[str] = []
    for section in sections:
        plain = re.sub(r"[^a-z0-9]+", "-", section.heading.lower()).strip("-") or "section"
        made.append(plain if plain not in made else f"{plain}-{len(made)}")
    return made


def _head(table: Figures) -> Iterator[_HeatCell]:
    """The cells of a table's head; one without a name is no header."""
    for column, name in enumerate(table.names):
        kind = "number" if column in table.numbers else ""
        yield _HeatCell(name, "th", "columnheader", kind) if name else _HeatCell(name, "td", "cell", kind)


def _rows(table: Figures) -> Iterator[list[_HeatCell]]:
    """The cells of a table's rows: the first text of each names its row."""
    columns = range(len(table.names))
    first = next((c for c in columns if c not in table.numbers), None)
    longest = [max(map(len, table.cells(c))) for c in columns]
    sizes = ["long" if most > LONG else "short" if most <= SHORT else "" for most in longest]
    kinds = ["number" if c in table.numbers else size for c, size in enumerate(sizes)]
    for row in table.rows:
        yield [
            _HeatCell(text, "th", "rowheader", kind)
            if column == first and text
            else _HeatCell(text, "td", "cell", kind, table.names[column] if text else "")
            for column, (text, kind) in enumerate(zip(row, kinds, strict=True))
        ]


def embedded(page: Page) -> str:
    """The page as an element of HTML. It runs no script, and its frame would not let it."""
    size = f"box-sizing: border-box; width: 100%; height: {HEIGHT}px; resize: vertical; overflow: auto"
    style = f"{size}; border: 1px solid #8888"
    return f'<iframe title="{in_xml(page.title)}" sandbox="" style="{style}" srcdoc="{in_xml(render(page))}"></iframe>'
