"""Names that try to be markup stay text in Markdown and XML (row L2 of the faults)."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hcloud.units import harmless
from hcloud.views.escaped import BREAK, in_markdown, in_xml, item

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a](javascript:alert(1))", "[x](https://evil.example)",
    "![x](https://evil.example/x.png)", "a | b || c", "`code` ``more``", "@everyone @org/team", "a@evil.example",
    "#1 !2 &3 ~x %y $4 GH#5", "https://evil.example www.evil.example ftp://x", "**bold** __it__ ~~no~~ *x* _y_",
    "=cmd|' /C calc'!A0", "- item", "1. item", "+ item", "# heading", "> quote", "===", "---", "```", "    code",
    "[ ] task", "/close", "</details></table>", "<!-- x --> -->", '" onmouseover="x', "a\nb\r\n\n# c", "\x1b[31mred",
    "\u202eoverride", "&lt;b&gt;", "\\<b\\>", "&#60;b&#62;", ":smile:", "",
]  # fmt: skip
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OURS = {"p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}


class Seen(HTMLParser):
    """The tags and the text of a document."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert all(name == "style" for name, _ in attrs)

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")

    def handle_data(self, data: str) -> None:
        self.text += data


def seen(html: str) -> Seen:
    parser = Seen()
    parser.feed(html)
    parser.close()
    return parser


def flat(text: str) -> str:
    return harmless(" ".join(text.split()))


def is_inert(text: str) -> bool:
    """Nothing that GitHub or GitLab find in what a reader sees: mention, reference, address."""
    return not re.search(r"[@#!&$%~^][\w\"]|://|www\.|\w@\w", text, re.IGNORECASE)


@pytest.mark.parametrize("text", HOSTILE)
def test_L2_a_name_in_a_table_of_markdown_stays_one_cell_of_text(text: str) -> None:
    source = f"| a | b |\n|---|---|\n| {in_markdown(text, 10_000)} | x |\n"
    found = seen(MARKDOWN.render(source))
    assert set(found.tags) <= OURS
    assert found.tags.count("td") == 2
    shown = re.sub(r"\s+", " ", found.text)
    assert flat(text) in shown.replace(BREAK, "")
    assert is_inert(shown)


@pytest.mark.parametrize("text", HOSTILE)
def test_L2_a_line_of_a_list_stays_one_item_of_text(text: str) -> None:
    source = f"- {item(text, 10_000)}\n- end\n"
    found = seen(MARKDOWN.render(source))
    assert found.tags == ["ul", "li", "li"]
    assert is_inert(found.text)


@pytest.mark.slow
@given(st.text(max_size=60))
def test_L2_any_text_is_text_in_both(text: str) -> None:
    source = f"- {item(text, 10_000)}\n- end\n"
    assert seen(MARKDOWN.render(source)).tags == ["ul", "li", "li"]
    root = ElementTree.fromstring(f'<a b="{in_xml(text)}">{in_xml(text)}</a>')
    assert len(root) == 0
    assert (root.text or "") == root.get("b")


@pytest.mark.slow
@given(st.text())
def test_L2_xml_gives_back_what_was_put_in_with_odd_characters_spelled_out(text: str) -> None:
    root = ElementTree.fromstring(f"<a>{in_xml(text)}</a>")
    assert (root.text or "") == "\n".join(map(harmless, text.split("\n")))


def test_L2_long_names_are_cut_where_space_is_short() -> None:
    assert len(in_markdown("x" * 10_000, 50)) == 50
