"""Times that are no ISO-8601: with the day or the month first, which only the one who wrote them can tell apart, with
the month in letters, or with letters behind them: of a zone, or LSF's of how a finish is limited."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_DATE = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)"
    r"(?:[ T,]+(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(?:\s*([AaPp])\.?[Mm]\.?)?)?",
    re.ASCII,
)
_CENTURY = 2000
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES = {"CET": "+01", "CEST": "+02", "EST": "-05", "EDT": "-04", "PST": "-08", "PDT": "-07"}
"""Zones of which the letters have one meaning for most."""
_WRITTEN = re.compile(
    r"(?:[a-z]{3,9}\.?,?\s+)?"
    r"(?:(?P<y1>\d{4})(?P<m1>)[-/.](?P<m0>\d\d?)[-/.](?P<d1>\d\d?)"
    r"|(?P<d2>\d\d?)[ -](?P<m2>[a-z]{3,9})\.?,?[ -](?P<y2>\d{4})"
    r"|(?P<m3>[a-z]{3,9})\.?\s+(?P<d3>\d\d?)(?:,?\s+(?P<y3>\d{4}))?)"
    r"(?:[T,\s@]+(?P<h>\d\d?):(?P<min>\d\d)(?::(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?)?(?:\s*(?P<half>[ap])\.?m\.?)?)?"
    rf"(?:\s*(?P<zone>Z|(?:UTC|GMT)?[+-]\d\d(?::?\d\d)?|UTC|GMT|{'|'.join(_ZONES)})(?: (?:\(.*\)|[A-Z]{{3,4}}))?)?"
    r"(?:\s+(?P<y4>\d{4}))?(?:\s+[ELX])?",
    re.ASCII | re.IGNORECASE,
)
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
ZONED, BARE = "zoned", "bare"
"""How times are written of which nobody must say the order: with their zone, or without one."""
ALLOWED = {
    DAY_FIRST: "a date with the day first, as 31.10.2026 14:30 (dates=day-first), like the first of the column",
    MONTH_FIRST: "a date with the month first, as 10/31/2026 2:30 PM (dates=month-first), like the first of the column",
}


def unix_of_date(text: str, order: str) -> float | None:
    """Seconds of a date (one that names no zone as if it were UTC); None for what is no date in this order."""
    if order in (ZONED, BARE):
        told = written(text)
        return told[0] if told and told[1] == order else None
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


def written_as(text: str) -> str:
    """Whether a cell is such a time, ``zoned`` or ``bare``; nothing where it is none."""
    found = written(text)
    return found[1] if found else ""


def has_zone(cell: str) -> bool:
    """Whether a time says its zone."""
    if how := written_as(cell):
        return how == ZONED
    clock = cell.strip()[10:]
    return clock.endswith(("Z", "z")) or "+" in clock or "-" in clock


def written(text: str) -> tuple[float, str] | None:
    """Seconds of such a time, as if it were UTC where it is ``bare``, and how it is written; None for what is none."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        return None
    part = found.groupdict(default="")
    year, day, letters = ("".join(part[f"{name}{at}"] for at in range(1, 4)) for name in "ydm")
    try:
        month = _MONTHS.index(letters[:3].lower()) + 1 if letters else int(part["m0"])
        clock = _hour(int(part["h"] or 0), part["half"] or None), int(part["min"] or 0), int(part["s"] or 0)
        at = datetime(int(year + part["y4"]), month, int(day), *clock, tzinfo=UTC)
    except ValueError:
        return None
    zone = part["zone"].upper()
    zone = _ZONES.get(zone, zone).removeprefix("UTC").removeprefix("GMT").replace(":", "")
    east = timedelta(hours=int(zone[:3]), minutes=int(zone[0] + (zone[3:] or "0"))) if zone[1:] else timedelta()
    seconds = (at - east).timestamp() + float(f"0.{part['f'] or 0}")
    return (seconds, ZONED if part["zone"] else BARE) if 1970 <= at.year <= 2261 else None


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
