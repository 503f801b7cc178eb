"""Dates with the day or the month first, which only the one who wrote them can tell apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

_DATE = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)"
    r"(?:[ T,]+(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(?:\s*([AaPp])\.?[Mm]\.?)?)?",
    re.ASCII,
)
_CENTURY = 2000
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
ALLOWED = {
    DAY_FIRST: "a date with the day first, as 31.10.2026 14:30 (dates=day-first), like the first of the column",
    MONTH_FIRST: "a date with the month first, as 10/31/2026 2:30 PM (dates=month-first), like the first of the column",
}


def unix_of_date(text: str, order: str) -> float | None:
    """Seconds of a date that names no zone, as if it were UTC; None for what is no date in this order."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return None
    first, _, second, year, hour, minute, seconds, fraction, half = found.groups()
    day, month = (first, second) if order == DAY_FIRST else (second, first)
    whole = int(year) + (_CENTURY if len(year) == 2 else 0)
    try:
        at = datetime(whole, int(month), int(day), _hour(int(hour or 0), half), int(minute or 0), int(seconds or 0))
    except ValueError:
        return None
    return at.replace(tzinfo=UTC).timestamp() + float(f"0.{fraction or 0}") if 1970 <= at.year <= 2261 else None


def _hour(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if half in "Pp" else 0)


def is_date(text: str) -> bool:
    """Whether a cell is a date in one of the orders."""
    return any(unix_of_date(text, order) is not None for order in ALLOWED)


def orders_of(cells: Iterable[str]) -> list[str]:
    """The orders in which all are dates."""
    told = [cell.strip(" '") for cell in cells]
    return [order for order in ALLOWED if all(unix_of_date(cell, order) is not None for cell in told)]
