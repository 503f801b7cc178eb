"""Why a verb ended without its result: sentences for people, one line of JSON where JSON was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hcloud import __version__
from hcloud.errors import Problem
from hcloud.units import harmless

FORMAT_VERSION = "1.0"


def refusal_text(lines: Sequence[str], hint: str) -> str:
    """What went wrong, and what to do next; whatever is in a line, it stays on it."""
    said = (f"error: {lines[0]}", *lines[1:], *([f"hint: {hint}"] if hint else []))
    return "".join(f"{harmless(line)}\n" for line in said)


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
