"""Why a verb ended without its result: sentences for people, one line of JSON where JSON was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hcloud.errors import Problem
from hcloud.units import harmless


def refusal_text(lines: Sequence[str], hint: str) -> str:
    """What went wrong, and what to do next; whatever is in a line, it stays on it."""
    said = (f"error: {lines[0]}", *lines[1:], *([f"hint: {hint}"] if hint else []))
    return "".join(f"{harmless(line)}\n" for line in said)


def refusal_document(
    said: tuple[str, str], exit_code: int, problems: Sequence[Problem], at: datetime
) -> dict[str, object]:
    """The same as JSON; ``said`` is what went wrong and what to do next."""
    from hcloud.views.document import RefusalDocument

    what, hint = said
    refusal = {"what": what, "hint": hint, "exit_code": exit_code, "problems": problems}
    return RefusalDocument.of({"error": refusal}, at)
