"""Text from outside written into Markdown and XML so that it stays text there, whatever it holds."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from hcloud.units import harmless

LONGEST = 200  # ours: characters of a name that are shown where space is short
BREAK = "\u2060"
"""A word joiner: it is not seen, and what it stands in is no mention, reference or address any more."""

_ACTIVE = frozenset("\\`*_{}[]<>#|~&\"'!^$@=")
_MONEY = re.compile(r"(?<![\w$])\$(?=\d{1,3}(?:,\d{3})+\b|\d+\.\d\d)")
"""An amount of dollars is neither formula nor reference, and shall stay readable where Markdown is read as it is."""
_STANDS_FOR_MONEY = "\ue000"  # of the private use area: it is in no text that is shown
_REFERENCE = re.compile(r"(?<=[@#!&$%~^])(?=[\w\"\[{*])|(?<=/)(?=/)|(?<=www)(?=\.)", re.IGNORECASE)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def one_line(text: str, longest: int = LONGEST) -> str:
    """Text on one line without what would steer a terminal, cut where it is longer than can be read."""
    whole = harmless(" ".join(text.split()))
    return whole if len(whole) <= longest else f"{whole[: longest - 1]}…"


def in_markdown(text: str, longest: int = LONGEST) -> str:
    """Markdown inside a line that shows the text and does nothing: no markup, link, cell, mention or reference.

    Mentions and references are found by GitHub and GitLab in what a reader sees, so that escaping alone does not stop
    them: an invisible character is put in between.
    """
    plain = _MONEY.sub(_STANDS_FOR_MONEY, one_line(text, longest).replace(_STANDS_FOR_MONEY, ""))
    apart = _REFERENCE.sub(BREAK, plain)
    return "".join(_spelled(c) if c in _ACTIVE else c for c in apart).replace(_STANDS_FOR_MONEY, "$")


def as_markdown_item(text: str, longest: int = LONGEST) -> str:
    """The same as an item of a list, where its first character can begin no list, heading or quote of its own."""
    shown = in_markdown(text, longest)
    return shown if not shown or shown[0].isalpha() or shown[0] == "&" else f"{_spelled(shown[0])}{shown[1:]}"


def markdown_row(cells: Iterable[str], longest: int = LONGEST) -> str:
    """A row of a table of Markdown, each cell a text."""
    return f"| {' | '.join(in_markdown(cell, longest) for cell in cells)} |"


def _spelled(character: str) -> str:
    return f"&#{ord(character)};"


def in_xml(text: str) -> str:
    """Text for XML 1.0, in an element or an attribute; characters that no XML may hold are written out."""
    spelled = _NOT_XML.sub(lambda found: repr(found[0])[1:-1], text)
    return html.escape(spelled, quote=True).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")
