"""JSON that others wrote, and JSON that is shown or kept: neither deep nesting nor odd characters do any harm."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, overload

from hcloud import __version__

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FORMAT_VERSION = "1.0"
TOO_DEEP = "its lists and objects are nested too deeply"
TOO_LONG = "it holds a number with thousands of digits"
_OF_DIGITS = "Exceeds the limit"
_DECODER = json.JSONDecoder()
_ODD = re.compile("[^\x00-\x7e]")


class NotJsonError(ValueError):
    """Text that no program of ours could have written: nested without end, or a number of thousands of digits."""


def parsed(text: str | bytes, **hooks: Any) -> Any:
    """What JSON text holds; ``hooks`` are those of json.loads. ValueError for all that cannot be read, whatever is
    wrong with it: json.JSONDecodeError with the place of what is no JSON, NotJsonError for the rest."""
    try:
        return json.loads(text, **hooks)  # noqa: TID251 - the one place
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        raise NotJsonError(said(error)) from None


def parsed_at(text: str, at: int) -> tuple[Any, int]:
    """The first value of JSON text from a place on, and where it ends; ValueError as of :func:`parsed`."""
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        raise NotJsonError(said(error)) from None


def written(document: object, indent: int | None = None, **hooks: Any) -> str:
    """JSON for people and programs: characters that cannot be seen, or steer what shows them, are spelled out."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False, **hooks)
    return spelled(text)


def spelled(text: str) -> str:
    """The same JSON with odd characters, which can stand in its strings only, spelled out."""
    return _ODD.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def check_characters(document: object) -> None:
    """ValueError where a text in a document holds half a character, which JSON can spell and nothing can write."""
    json.dumps(document, ensure_ascii=False).encode()


def closed(properties: Mapping[str, object], required: Iterable[str]) -> dict[str, Any]:
    """The schema of an object with these properties and no other."""
    return {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False}


def said(error: Exception) -> str:
    """Why text could not be read, in our words where Python's speak of its own limits."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    words = " ".join(str(error).split())
    return TOO_LONG if words.startswith(_OF_DIGITS) else words


@overload
def stamp(at: datetime) -> str: ...
@overload
def stamp(at: None) -> None: ...
def stamp(at: datetime | None) -> str | None:
    """A time in UTC as files and documents tell it; None of none."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def head(at: datetime) -> dict[str, object]:
    """What every document begins with."""
    return {"format_version": FORMAT_VERSION, "tool_version": __version__, "generated_at": stamp(at)}
