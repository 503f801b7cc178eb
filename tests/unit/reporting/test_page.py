"""A page is one file that fetches nothing, holds what it was given, and escapes all of it."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import hcloud.views.page
from hcloud.views.page.parts import Figure, KeyFigure, Page, PageSection
from hcloud.views.page.render import FOLDED_FROM, render
from hcloud.views.tables import Figures

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "](javascript:alert(1))",
    "{{ 7 * 7 }}{% raw %}",
    "</style><svg onload=alert(1)>",
    "&lt;script&gt;",
    "--><script>",
    "evil\u202etxt\x1b[2J\x00",
)
VOID = {"meta", "link", "img", "br"}


class Seen(HTMLParser):
    """What a browser would make of a page: its elements, their attributes and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page_of(said: str) -> Page:
    """A page with the same text in every place that takes text."""
    table = Figures((said, "dollars", ""), [[said, "1.00", said], ["", "2.00", ""]], frozenset({1}), said)
    figure = Figure("<svg viewBox='0 0 1 1'></svg>", said, said)
    section = PageSection(said, (said,), (figure,), (table,), (said,), (said,))
    return Page(said, (said,), (section, section), (KeyFigure(said, said, said),), (said,))


@pytest.mark.parametrize("said", HOSTILE)
def test_L2_text_from_outside_makes_no_element_and_no_attribute(said: str) -> None:
    plain, hostile = Seen(render(page_of("p" * len(said)))), Seen(render(page_of(said)))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    for (_, ours), (_, theirs) in zip(plain.elements, hostile.elements, strict=True):
        assert ours.keys() == theirs.keys()


@pytest.mark.parametrize("said", HOSTILE[:-1])
def test_L2_text_from_outside_is_shown_as_it_is(said: str) -> None:
    seen = Seen(render(page_of(said)))
    assert seen.text.count(said) >= 12
    assert [attributes["aria-label"] for attributes in seen.all("div") if "aria-label" in attributes] == [said, said]


def test_L2_control_characters_are_spelled_out() -> None:
    made = render(page_of(HOSTILE[-1]))
    assert "evil\\u202etxt\\x1b[2J\\x00" in made
    assert not {"\x1b", "\x00", "\u202e"} & set(made)


def test_a_page_names_nothing_that_a_browser_would_fetch_and_has_no_script() -> None:
    seen = Seen(render(page_of("plain")))
    assert not seen.all("script")
    for _, attributes in seen.elements:
        for name in ("src", "href", "srcset", "data", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,"))
    policy = next(m["content"] for m in seen.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_every_fragment_a_page_points_to_is_there_once() -> None:
    seen = Seen(render(page_of("plain")))
    named = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]
    assert len(named) == len(set(named))
    wanted = [attributes["href"] for attributes in seen.all("a")]
    assert {"#content"} < set(wanted)
    assert {str(href).removeprefix("#") for href in wanted} <= set(named)
    assert {a["aria-labelledby"] for _, a in seen.elements if "aria-labelledby" in a} <= set(named)


def test_a_table_has_a_caption_and_headers_with_their_scope() -> None:
    seen = Seen(render(page_of("plain")))
    assert len(seen.all("caption")) == len(seen.all("table")) == 2
    scopes = [attributes["scope"] for attributes in seen.all("th")]
    assert scopes.count("col") == 4  # the third column has no name
    assert scopes.count("row") == 2  # the second row neither
    assert seen.open == []


@pytest.mark.parametrize(("rows", "folded"), [(FOLDED_FROM - 1, 0), (FOLDED_FROM, 1)])
def test_a_long_table_is_folded_and_says_how_long_it_is(rows: int, folded: int) -> None:
    table = Figures(("name",), [[str(n)] for n in range(rows)], title="names")
    seen = Seen(render(Page("a page", (), (PageSection("one", tables=(table,)),))))
    assert len(seen.all("details")) == folded
    assert (f"names: {rows} rows" in seen.text) == bool(folded)


def test_a_page_with_one_section_has_no_table_of_contents() -> None:
    assert not Seen(render(Page("a page", ("said",), (PageSection("one", ("two",)),)))).all("nav")


def test_figures_and_short_text_stay_whole_where_names_break() -> None:
    """At 700 pixels a card had "$10,886." above "43", and the last columns of reports lay beyond the edge."""
    table = Figures(("name", "day", "told", "dollars"), [["a" * 20, "2027-11-20", "b" * 40, "1.00"]], frozenset({3}))
    seen = Seen(render(Page("a page", (), (PageSection("one", tables=(table,)),), (KeyFigure("billed", "$1"),))))
    assert [attributes.get("class") for attributes in seen.all("td")] == ["short", "long", "number"]
    style = (Path(hcloud.views.page.__file__).parent / "page.css").read_text("utf-8")
    assert ".number, .short { white-space: nowrap; }" in style
    assert "white-space: nowrap" in next(line for line in style.splitlines() if line.startswith(".key strong"))
