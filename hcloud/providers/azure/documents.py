"""Reading Azure's JSON without trusting its shape: what is missing or of another kind reads as empty."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime

Document = Mapping[str, object]

_SECONDS_FRACTION = re.compile(r"(\.\d{6})\d+")


def branch(document: object, *path: str) -> Document:
    """The object at a path."""
    for name in path:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document if isinstance(document, Mapping) else {}


def items(document: object, *path: str) -> tuple[Document, ...]:
    """The objects of the list at a path."""
    found = branch(document, *path[:-1]).get(path[-1])
    if not isinstance(found, Sequence) or isinstance(found, str):
        return ()
    return tuple(item for item in found if isinstance(item, Mapping))


def words(document: object, *path: str) -> tuple[str, ...]:
    """The texts of the list at a path."""
    found = branch(document, *path[:-1]).get(path[-1])
    if not isinstance(found, Sequence) or isinstance(found, str):
        return ()
    return tuple(item for item in found if isinstance(item, str))


def text(document: object, *path: str) -> str:
    """The text at a path."""
    found = branch(document, *path[:-1]).get(path[-1])
    return found if isinstance(found, str) else ""


def whole(document: object, *path: str) -> int:
    """The whole number at a path, 0 where there is none."""
    found = branch(document, *path[:-1]).get(path[-1])
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def exact(document: object, *path: str) -> Decimal | None:
    """The number at a path; None where there is none that is finite."""
    found = branch(document, *path[:-1]).get(path[-1])
    if isinstance(found, bool) or not isinstance(found, int | float | str | Decimal):
        return None
    try:
        number = Decimal(str(found))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def moment(document: object, *path: str) -> datetime | None:
    """The time at a path; Azure writes seven digits of a second, which Python does not read."""
    found = text(document, *path)
    try:
        read = datetime.fromisoformat(_SECONDS_FRACTION.sub(r"\1", found))
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def date_of(header: str) -> datetime | None:
    """The time that an answer's Date header tells; None where it is none."""
    try:
        found = parsedate_to_datetime(header)
    except ValueError:
        return None
    return found if found.tzinfo else None


def tags_of(document: object) -> dict[str, str]:
    """The tags of a resource."""
    return {k: v for k, v in branch(document, "tags").items() if isinstance(v, str)}
