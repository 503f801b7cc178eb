"""Reading Google's JSON as strictly as its SDK does: what is missing is empty, what is of another kind is no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from hcloud.model.json_text import check_characters, parsed

Document = Mapping[str, Any]
Kind = TypeVar("Kind")

_HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def document_of(body: bytes) -> Document:
    """The object that an answer is; ValueError where it is none, or holds characters that are none."""
    text = body.decode()
    found = of_kind(parsed(text), dict)
    if _HALF_A_CHARACTER.search(text):
        check_characters(found)
    return found


def of_kind(found: object, kind: type[Kind]) -> Kind:
    """A value that is a bool, str, list or dict; ValueError for one of another kind."""
    if type(found) is kind:
        return found
    raise ValueError(f"the answer holds {type(found).__name__} where {kind.__name__} belongs")


def member(document: Document, name: str, kind: type[Kind]) -> Kind:
    """A member of an object, the empty one of its kind where it is missing; ValueError where it is of another kind."""
    found = document.get(name)
    return kind() if found is None else of_kind(found, kind)
