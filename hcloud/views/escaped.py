"""The one escape: text from outside stays text in Markdown, XML, CSV and JSON, whatever it holds.

What a terminal is shown is cleaned by views/lines.py, an HTML page by its template (views/page/render.py). A document
can be made by these writers only, and only a document can be written (a test looks after both).
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from hcloud.model.json_text import spelled, written
from hcloud.units import harmless

LONGEST = 200  # ours: characters of a name that are shown where space is short
BREAK = "\u2060"
"""A word joiner: it is not seen, and what it stands in is no mention, reference or address any more."""

_OBEYED = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
"""How a cell begins that a spreadsheet takes for a formula or splits."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_SPLITTING = re.compile(r"[\",\r\n]")
_ACTIVE = frozenset("\\`*_{}[]<>#|~&\"'!^$@=")
_MONEY = re.compile(r"(?<![\w$])\$(?=\d{1,3}(?:,\d{3})+\b|\d+\.\d\d)")
"""An amount of dollars is neither formula nor reference, and shall stay readable where Markdown is read as it is."""
_STANDS_FOR_MONEY = "\ue000"  # of the private use area: it is in no text that is shown
_TICKS = re.compile("`+")
_REFERENCE = re.compile(r"(?<=[@#!&$%~^])(?=[\w\"\[{*])|(?<=/)(?=/)|(?<=www)(?=\.)", re.IGNORECASE)


class Written(str):
    """A whole document for other programs, in which every text was escaped."""

    __slots__ = ()


class Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


class Xml(str):
    """Text that is XML already."""

    __slots__ = ()


BLANK = Markdown()
Kind = TypeVar("Kind", Markdown, Xml)


def one_line(text: str, longest: int = LONGEST) -> str:
    """Text on one line without what would steer a terminal, cut where it is longer than can be read."""
    whole = harmless(" ".join(text.split()))
    return whole if len(whole) <= longest else f"{whole[: longest - 1]}…"


def md(template: str, *texts: str, longest: int = LONGEST) -> Markdown:
    """Markdown of ours with texts in its gaps (``{}``), escaped where they are not Markdown already."""
    return _filled(Markdown, template, texts, lambda text: in_markdown(text, longest))


def xml(template: str, *texts: str) -> Xml:
    """The same of XML."""
    return _filled(Xml, template, texts, in_xml)


def _filled(kind: type[Kind], template: str, texts: Iterable[str], escape: Callable[[str], str]) -> Kind:
    return kind(template.format(*(text if isinstance(text, kind) else escape(text) for text in texts)))


def markdown_document(lines: Iterable[Markdown]) -> Written:
    """A document of lines of Markdown."""
    return Written("".join(f"{line}\n" for line in lines))


def xml_document(lines: Iterable[Xml]) -> Written:
    """A document of lines of XML, with its declaration."""
    return Written('<?xml version="1.0" encoding="UTF-8"?>\n' + "".join(f"{line}\n" for line in lines))


def json_document(document: Mapping[str, object]) -> Written:
    """A document of JSON in the order it was built."""
    return Written(f"{written(document, indent=2)}\n")


def json_as_stored(text: str) -> Written:
    """JSON as it was written elsewhere."""
    return Written(spelled(text))


def settings_document(text: str) -> Written:
    """Lines of settings for another program's configuration."""
    return Written("".join(f"{harmless(line)}\n" for line in text.splitlines()))


def yaml_documents(documents: Iterable[Mapping[str, object]]) -> Written:
    """Documents of YAML in the order they were built; a text that would be read as anything else is in quotes."""
    import yaml

    return Written(yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=False, explicit_start=True))


def csv_document(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Written:
    """A CSV file with a header, its cells on a line each and neutral."""
    lines = (names, *([neutral(harmless(cell)) for cell in row] for row in rows))
    return Written("".join(f"{','.join(map(_quoted, line))}\n" for line in lines))


def neutral(text: str) -> str:
    """A cell's text that a spreadsheet shows and does not run: with a quote before what it would obey. What is a
    number stays one."""
    return f"'{text}" if len(text) > 1 and text.startswith(_OBEYED) and not _NUMBER.fullmatch(text) else text


def _quoted(cell: str) -> str:
    """A cell in quotes where it needs them; Python's own writer leaves a carriage return bare, which ends a row."""
    return '"' + cell.replace('"', '""') + '"' if _SPLITTING.search(cell) else cell


def in_markdown(text: str, longest: int = LONGEST) -> Markdown:
    """Markdown inside a line that shows the text and does nothing: no markup, link, cell, mention or reference.

    Mentions and references are found by GitHub and GitLab in what a reader sees, so that escaping alone does not stop
    them: an invisible character is put in between.
    """
    plain = _MONEY.sub(_STANDS_FOR_MONEY, one_line(text, longest).replace(_STANDS_FOR_MONEY, ""))
    apart = _REFERENCE.sub(BREAK, plain)
    return Markdown("".join(_spelled(c) if c in _ACTIVE else c for c in apart).replace(_STANDS_FOR_MONEY, "$"))


def item(text: str, longest: int = LONGEST) -> Markdown:
    """The same as an item of a list, where its first character can begin no list, heading or quote of its own."""
    shown = in_markdown(text, longest)
    return shown if not shown or shown[0].isalpha() or shown[0] == "&" else Markdown(_spelled(shown[0]) + shown[1:])


def code_block(text: str) -> list[Markdown]:
    """Text that is copied as it stands, in a block of its own whose fence nothing in it ends."""
    line = harmless(text)
    fence = "`" * max(3, *(len(run) + 1 for run in ("", *_TICKS.findall(line))))
    return [Markdown(fence), Markdown(line), Markdown(fence)]


def markdown_row(cells: Iterable[str], longest: int = LONGEST) -> Markdown:
    """A row of a table of Markdown, each cell a text or Markdown already."""
    shown = (cell if isinstance(cell, Markdown) else in_markdown(cell, longest) for cell in cells)
    return Markdown(f"| {' | '.join(shown)} |")


def rule_of(names: Sequence[str], numbers: Collection[int]) -> Markdown:
    """The rule below the head of a table of Markdown; numbers stand to the right."""
    return Markdown(f"|{'|'.join('---:' if c in numbers else '---' for c in range(len(names)))}|")


def _spelled(character: str) -> str:
    return f"&#{ord(character)};"


def in_xml(text: str) -> Xml:
    """Text for XML 1.0 and HTML, in an element or an attribute; only a newline stays what it is."""
    lines = (html.escape(harmless(line), quote=True) for line in text.split("\n"))  # noqa: TID251 - the one place
    return Xml("&#10;".join(lines))
