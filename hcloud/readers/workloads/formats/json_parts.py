"""What JSON that others wrote holds by a key, where it is of the sort that is looked for; else nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def object_in(item: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object."""
    found = item.get(key)
    return found if isinstance(found, dict) else {}


def objects_in(item: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The objects of the list."""
    found = item.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
