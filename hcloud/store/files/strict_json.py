"""One JSON document read defensively: what an editor, a merge or a crash leaves behind is told by its own name."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from hcloud.errors import InputError
from hcloud.model.json_text import parsed

HINT = (
    "hcloud recover rebuilds it from the machines' tags and the journal; state.json.previous is the version before it"
)
_MARKS = (
    (b"\xef\xbb\xbf", "begins with a byte order mark, as some editors add one"),
    (b"\xff\xfe", "is UTF-16, not UTF-8"),
    (b"\xfe\xff", "is UTF-16, not UTF-8"),
)
_CONFLICT = re.compile(rb"^(<{7}|={7}|>{7}|\|{7})(?: |$)", re.MULTILINE)


def load_strict(data: bytes, where: str, hint: str = HINT) -> dict[str, object]:
    """The JSON object that ``data`` is. Raises InputError, with file and line, for everything that is not exactly one,
    for keys that occur twice, and for numbers that are not whole."""
    _check_bytes(data, where, hint)
    try:
        text = data.decode("utf-8")
        document = parsed(text, object_pairs_hook=_without_twins, parse_float=_no_fraction, parse_constant=_no_fraction)
    except json.JSONDecodeError as error:
        second = "a second document begins" if error.msg == "Extra data" else f"is not JSON: {error.msg}"
        raise InputError(f"{where}: line {error.lineno}: {second}", hint=hint) from None
    except ValueError as error:
        raise InputError(f"{where}: cannot be read: {' '.join(str(error).split())[:200]}", hint=hint) from None
    if not isinstance(document, dict):
        raise InputError(f"{where}: holds no JSON object", hint=hint)
    return document


def _check_bytes(data: bytes, where: str, hint: str) -> None:
    """Refuse what JSON could be misread from, by its own name."""
    if not data.strip():
        raise InputError(f"{where}: is empty", hint=hint)
    for mark, said in _MARKS:
        if data.startswith(mark):
            raise InputError(f"{where}: {said}", hint=hint)
    for byte, name in ((b"\0", "a NUL byte, as a crash of the machine leaves them"), (b"\r", "line ends of Windows")):
        if (at := data.find(byte)) >= 0:
            raise InputError(f"{where}: line {_line(data, at)}: holds {name}", hint=hint)
    if found := _CONFLICT.search(data):
        line = _line(data, found.start())
        raise InputError(f"{where}: line {line}: holds the marks of a merge that was not finished", hint=hint)


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} occurs twice")
    return found


def _no_fraction(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a whole number")
