"""Whatever a string holds: in Markdown, XML, CSV, JSON and HTML it is text, and nothing in a document steers."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hostile import FORGED, HOSTILE, STEERS, STRINGS
from hypothesis import example, given
from markdown_it import MarkdownIt

from hcloud.model.json_text import parsed, written
from hcloud.views.escaped import csv_document, item, json_document, markdown_document, markdown_row, md, xml
from hcloud.views.page.parts import Page, PageSection
from hcloud.views.page.render import render
from hcloud.views.tables import Figures


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(sorted(name for name, _ in attrs))))


def elements(page: str) -> list[tuple[str, tuple[str, ...]]]:
    found = Elements()
    found.feed(page)
    return found.elements


@given(STRINGS)
def test_markdown_keeps_its_structure(text: str) -> None:
    head = [markdown_row(("a", "b")), md("|---|---|"), markdown_row((text, text))]
    lines = [md("**{}**: {}", text, text), md(""), *head, md(""), md("- {}", item(text)), md("- end")]
    made = markdown_document(lines)
    assert made.count("\n") == len(lines)
    assert not STEERS.search(made.replace("\u2060", ""))
    plain = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    seen = [tag for tag, _ in elements(plain.render(made))]
    assert set(seen) <= {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
    assert (seen.count("td"), seen.count("li"), seen.count("tr")) == (2, 2, 2)


@given(STRINGS)
def test_xml_keeps_its_structure(text: str) -> None:
    made = xml('<a b="{}">{}</a>', text, text)
    assert not STEERS.search(made)
    root = ElementTree.fromstring(made)
    assert (len(root), set(root.attrib)) == (0, {"b"})
    assert root.text == root.get("b") or not text


@given(STRINGS)
def test_a_row_of_csv_is_a_line_of_cells_that_are_no_formulas(text: str) -> None:
    made = csv_document(("a", "b"), [(text, "x"), ("y", text)])
    assert made.count("\n") == 3
    assert not STEERS.search(made)
    cells = [cell for row in csv.reader(io.StringIO(made, newline="")) for cell in row]
    assert len(cells) == 6
    assert not any(len(cell) > 1 and cell[0] in "=+@\t\r\n\uff1d\uff0b\uff0d\uff20" for cell in cells)
    assert not any(cell.startswith("-") and not cell[1:].replace(".", "").isdigit() for cell in cells if len(cell) > 1)


@given(STRINGS)
@example("\ud800\udc00")
def test_json_says_the_same_again_and_steers_nothing(text: str) -> None:
    made = json_document({"a": [text, {text: 1}]})
    assert not STEERS.search(made)
    assert made.encode() == made.encode("utf-8")  # lone halves of a pair included
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # two halves are their pair
    assert json.loads(made) == {"a": [whole, {whole: 1}]} == parsed(written({"a": [text, {text: 1}]}))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_keeps_its_structure(text: str) -> None:
    def page(said: str) -> str:
        table = Figures((said, "n"), [(said, "1")], frozenset({1}), said)
        section = PageSection(said, (said,), tables=(table,), points=(said,), notes=(said,))
        return render(Page(said, (said,), (section,), foot=(said,), warnings=(said,)))

    made = page(f"x{text}")
    assert not STEERS.search(made)
    assert elements(made) == elements(page("x" * len(f"x{text}")))
    assert not any(line.startswith(FORGED) for line in made.split("\n"))
