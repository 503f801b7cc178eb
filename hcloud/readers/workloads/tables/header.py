"""The header of a table of text, and its first rows."""

from __future__ import annotations

import csv
import re
import shlex
from contextlib import suppress
from typing import NamedTuple

from hcloud.errors import InputError
from hcloud.readers.workloads.source import HEAD_BYTES, TraceFile

LOOK = 1000  # ours: rows by which it is told what the columns of a table hold
_SEPARATOR = re.compile(r"sep=(.)\s*", re.ASCII)
"""The line that tells Excel how columns are separated."""
_QUOTED = re.compile(r'"[^"]*"')


class Header(NamedTuple):
    """The names in a header line, what separates them, and how many lines stand before it."""

    names: list[str]
    delimiter: str
    skip: int = 0


def header_names(source: TraceFile) -> Header:
    """The header of a file; InputError for one that is none."""
    first, newline, rest = source.head.partition(b"\n")
    told = _SEPARATOR.fullmatch(first.decode("utf-8", "replace"))
    if told is not None:
        first, newline, _ = rest.partition(b"\n")
    if not newline and len(first) >= HEAD_BYTES:
        raise InputError(f"{source.name}: the header line is longer than {HEAD_BYTES:,} bytes")
    try:
        text = first.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{source.name}: line 1: the header is not UTF-8", hint="save it as UTF-8") from error
    if "\r" in text:
        raise InputError(
            f"{source.name}: line 1: a carriage return without a line feed; end lines with LF or CRLF",
            hint=f"write line feeds: tr '\\r' '\\n' < {shlex.quote(source.name)} > mended.csv",
        )
    delimiter = told[1] if told is not None else separator(text)
    if not newline:
        raise InputError(f"{source.name}: no rows; the file has only a header")
    try:
        cells = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error as error:
        raise InputError(f"{source.name}: line 1: {error}") from error
    return Header([name.strip() for name in cells], delimiter, int(told is not None))


def separator(text: str) -> str:
    """What separates the columns of a line: the commonest of comma, semicolon and tab outside quotes; else a bar, which
    names may hold."""
    bare = _QUOTED.sub("", text)
    found = max(",;\t", key=bare.count)
    return found if found in bare or "|" not in bare else "|"


def first_rows(source: TraceFile) -> list[list[str]]:
    """The first rows of a table, up to one that is none."""
    _, delimiter, skip = header_names(source)
    lines = source.head.decode("utf-8", "replace").split("\n")[1 + skip :]
    whole, rows = (lines[:-1] if len(source.head) >= HEAD_BYTES else lines) or lines, list[list[str]]()
    with suppress(csv.Error):  # the full pass says where and what
        for row in csv.reader(whole[:LOOK], delimiter=delimiter):
            rows.append(row)
    return rows
