"""What the options of several verbs mean: how a result is printed, and the time a verb works at."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

from hcloud.errors import UsageError


class Output(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


def moment(text: str | None) -> datetime:
    """The time a verb works at: what ``--now`` says (UTC where it names no zone), else the clock."""
    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--now {text}: not an ISO 8601 time, for example 2026-11-20T12:00:00Z") from None
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
