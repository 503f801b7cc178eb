"""The filter expressions of Google's lists, as far as they are about names, labels, states and types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from hcloud.fake.gcp.wire.refusals import RefusalError


class FilteredObject(Protocol):
    """What filters look at: something that knows its members by name."""

    def get(self, name: str, /) -> object:
        """A member; None where there is none."""


Test = Callable[[FilteredObject], bool]
_TOKEN = re.compile(
    r"""\s*(?:(?P<open>\()|(?P<close>\))|(?P<word>AND|OR)(?![\w.-])|"""
    r"""(?P<field>[A-Za-z_][\w.-]*)\s*(?P<sign>!=|=|:|\beq\b|\bne\b)\s*(?P<value>"[^"]*"|'[^']*'|[^\s()]+))"""
)


def parse_filter(text: str) -> Test:
    """What a filter accepts; raises RefusalError where it cannot be read. AND binds tighter; none between is AND."""
    parser = _Parser(text)
    found = parser.either()
    if parser.at < len(parser.tokens):
        raise _bad(text)
    return found


def _bad(text: str) -> RefusalError:
    return RefusalError(400, "invalid", f"Invalid value for field 'filter': '{text}'. Invalid list filter expression.")


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[re.Match[str]] = []
        self.at = place = 0
        while place < len(text.rstrip()):
            token = _TOKEN.match(text, place)
            if token is None:
                raise _bad(text)
            self.tokens.append(token)
            place = token.end()

    def either(self) -> Test:
        found = [self.both()]
        while self._word("OR"):
            found.append(self.both())
        return found[0] if len(found) == 1 else lambda document: any(t(document) for t in found)

    def both(self) -> Test:
        found = [self.one()]
        while self._word("AND") or self._begins():
            found.append(self.one())
        return found[0] if len(found) == 1 else lambda document: all(t(document) for t in found)

    def one(self) -> Test:
        token = self._take()
        if token["open"]:
            found = self.either()
            if not self._take()["close"]:
                raise _bad(self.text)
            return found
        if not token["field"]:
            raise _bad(self.text)
        return _comparison(token["field"], token["sign"], token["value"].strip("\"'"))

    def _take(self) -> re.Match[str]:
        if self.at >= len(self.tokens):
            raise _bad(self.text)
        self.at += 1
        return self.tokens[self.at - 1]

    def _word(self, word: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at]["word"] == word
        self.at += found
        return found

    def _begins(self) -> bool:
        return self.at < len(self.tokens) and bool(self.tokens[self.at]["open"] or self.tokens[self.at]["field"])


def _comparison(name: str, sign: str, value: str) -> Test:
    first, *path = name.split(".")

    def test(document: FilteredObject) -> bool:
        found = _value(document.get(first), path)
        if sign == ":":
            return found is not None and (value == "*" or value in found)
        if sign in ("eq", "ne"):
            return (found is not None and re.fullmatch(value, found) is not None) == (sign == "eq")
        return (found == value) == (sign == "=")

    return test


def _value(found: object, path: Sequence[str]) -> str | None:
    for name in path:
        found = found.get(name) if isinstance(found, (dict, Mapping)) else None
    return None if found is None else str(found)
