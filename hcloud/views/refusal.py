"""Why a verb ended without its result: sentences for people, one line of JSON where JSON was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hcloud import __version__
from hcloud.errors import Problem

FORMAT_VERSION = "1.0"


def refusal_lines(what: str, hint: str) -> str:
    """What went wrong, and what to do next."""
    return f"error: {what}\n" + (f"hint: {hint}\n" if hint else "")


def refusal_document(
    said: tuple[str, str], exit_code: int, problems: Sequence[Problem], at: datetime
) -> dict[str, object]:
    """The same as JSON; ``said`` is what went wrong and what to do next."""
    what, hint = said
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "generated_at": at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "error": {
            "what": what,
            "hint": hint or None,
            "exit_code": exit_code,
            "problems": [{"file": p.file, "where": p.where, "value": p.value, "allowed": p.allowed} for p in problems],
        },
    }
