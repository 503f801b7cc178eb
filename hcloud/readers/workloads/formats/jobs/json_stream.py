"""JSON as a file is read: its values one by one, of which there may be more than memory holds."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from json import JSONDecodeError
from typing import Any

from hcloud.model.json_text import parsed_at
from hcloud.readers.workloads.source import BLOCK

LONGEST = 1 << 26
"""Ours: characters of one value at most."""
_BLANK = re.compile(r"[ \t\r\n]*")
_BLANKS = ("", " ", "\t", "\r", "\n")


class JsonStream:
    """A place in JSON text, of which only what is looked at is held. ValueError for what is no JSON, with its line and
    column in the file."""

    def __init__(self, read: Callable[[int], bytes], parse: Callable[[str, int], tuple[Any, int]] = parsed_at) -> None:
        self._read, self._parse = read, parse
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text, self._at = "", 0
        self._line, self._column = 1, 1

    def peek(self) -> str:
        """The next mark, past blanks; nothing at the end of the file."""
        while (mark := self._text[self._at : self._at + 1]) in _BLANKS:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at == len(self._text) and not self._more():
                return ""
        return mark

    def value(self) -> Any:
        """The whole value that begins here."""
        found = self.whole(LONGEST)
        if isinstance(found, JSONDecodeError):
            raise self._placed(found)
        return found

    def whole(self, longest: int) -> Any:
        """The same, or a JSONDecodeError where it is none in so many characters, at which the place stays."""
        self.peek()
        while True:
            try:
                found, end = self._parse(self._text, self._at)
            except JSONDecodeError as error:
                if len(self._text) - self._at >= longest or not self._more():
                    return error
                continue
            if end + 2 < len(self._text) or not self._more():  # of a number there may be more: 1 of 1e+5
                self._at = end
                return found

    def elements(self) -> Iterator[None]:
        """A turn for each element of the list that begins here, which is then taken."""
        self._expect("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield
            if self._expect(",", "]") == "]":
                return

    def members(self) -> Iterator[str]:
        """The name of each member of the object that begins here, whose value is then taken."""
        self._expect("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                raise self._wanted("a name in quotes")
            name = self.value()
            self._expect(":")
            yield name
            if self._expect(",", "}") == "}":
                return

    def _expect(self, *marks: str) -> str:
        found = self.peek()
        if found not in marks or not found:
            raise self._wanted(f"{' or '.join(map(repr, marks))}")
        self._at += 1
        return found

    def _wanted(self, what: str) -> ValueError:
        return self._placed(JSONDecodeError(f"Expecting {what}", self._text, self._at))

    def _placed(self, error: JSONDecodeError) -> ValueError:
        """The error with its place in the file."""
        line = self._line + error.lineno - 1
        column = error.colno + (self._column - 1 if error.lineno == 1 else 0)
        return ValueError(f"{error.msg}: line {line} column {column}")

    def _more(self) -> bool:
        """Read on, as much as is held of a value again; whether there was more."""
        rest, gone = self._text[self._at :], self._text[: self._at]
        blocks, size = list[str](), 0
        while size < max(BLOCK, len(rest)) and (block := self._read(BLOCK)):
            blocks.append(self._decoded(block, "".join(blocks)))
            size += len(block)
        if not size:
            self._decoder.decode(b"", final=True)
            return False
        self._line += gone.count("\n")
        self._column = len(gone) - gone.rfind("\n") if "\n" in gone else self._column + len(gone)
        self._text, self._at = rest + "".join(blocks), 0
        return True

    def _decoded(self, block: bytes, before: str) -> str:
        try:
            return self._decoder.decode(block)
        except UnicodeDecodeError as error:
            line = self._line + (self._text + before).count("\n") + error.object[: error.start].count(b"\n")
            raise ValueError(f"byte 0x{error.object[error.start]:02x} is not UTF-8: line {line}") from None
