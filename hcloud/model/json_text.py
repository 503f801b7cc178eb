"""JSON that others wrote: what is too deep or too long for Python's reader is refused like any other broken text."""

from __future__ import annotations

import json
from typing import Any

TOO_DEEP = "its lists and objects are nested too deeply"
TOO_LONG = "it holds a number with thousands of digits"
_OF_DIGITS = "Exceeds the limit"


class NotJsonError(ValueError):
    """Text that no program of ours could have written: nested without end, or a number of thousands of digits."""


def parsed(text: str | bytes, **hooks: Any) -> Any:
    """What JSON text holds; ``hooks`` are those of json.loads. ValueError for all that cannot be read, whatever is
    wrong with it: json.JSONDecodeError with the place of what is no JSON, NotJsonError for the rest."""
    try:
        return json.loads(text, **hooks)  # noqa: TID251 - the one place
    except RecursionError:
        raise NotJsonError(TOO_DEEP) from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise NotJsonError(said(error)) from None


def said(error: Exception) -> str:
    """Why text could not be read, in our words where Python's speak of its own limits."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    words = " ".join(str(error).split())
    return TOO_LONG if words.startswith(_OF_DIGITS) else words
