"""What ``--window`` and ``workload.window`` mean: START..END in the trace's seconds or as times, or how much of it."""

from __future__ import annotations

from datetime import UTC, datetime

from hcloud.errors import UsageError
from hcloud.model.workload import DATES_FROM
from hcloud.planning.forecasting.window import AskedWindow
from hcloud.units import parse_decimal, parse_duration

HINT = "write START..END in the trace's seconds or as ISO 8601 times (UTC without a zone), or a duration, as 14d"


def parse_window(text: str) -> AskedWindow:
    """``0..86400``, ``2026-01-05..2026-01-19``, ``..3600``, ``86400..`` or ``14d``; UsageError for anything else."""
    first, dots, last = (part.strip() for part in text.partition(".."))
    try:
        if not dots:
            return AskedWindow(text, last=float(parse_duration(first)))
        return AskedWindow(text, _moment(first), _moment(last))
    except ValueError as error:
        raise UsageError(f"window: {error}", hint=HINT) from None


def check_clock(asked: AskedWindow, first: float) -> None:
    """UsageError where a window has dates and the trace, which begins at ``first`` seconds, has none."""
    if first < DATES_FROM and any(at is not None and at >= DATES_FROM for at in (asked.start, asked.end)):
        raise UsageError(
            f"the window {asked.text} has dates, and the trace counts seconds from its own origin", hint=HINT
        )


def _moment(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(parse_decimal(text))
    except ValueError:
        given = datetime.fromisoformat(text)
    return (given.replace(tzinfo=UTC) if given.tzinfo is None else given).timestamp()
