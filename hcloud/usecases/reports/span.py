"""The time that a report is about, as flags say it."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

from hcloud.errors import UsageError

if TYPE_CHECKING:
    from hcloud.usecases.reports.report import RequestedPeriod


FIRST_YEAR, LAST_YEAR = 1970, 9900  # ours


def span_of_flags(time: tuple[str | None, str | None, str | None]) -> RequestedPeriod:
    """The time that a month, or a first day and the day after the last, mean; UsageError for what is none."""
    from hcloud.usecases.reports.report import RequestedPeriod

    month, start, end = time
    if month is None:
        return RequestedPeriod(_day("--from", start), _day("--to", end))
    if start or end:
        raise UsageError("--month sets both ends: use it alone, or use --from and --to")
    try:
        first = datetime.strptime(month, "%Y-%m").date()
    except ValueError:
        raise UsageError(f"--month {month}: write for example 2026-11") from None
    return RequestedPeriod(_in_years("--month", month, first), None, is_month=True)


def _day(flag: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{flag} {text}: not a day, write for example 2026-11-01") from None
    return _in_years(flag, text, found)


def _in_years(flag: str, text: str, day: date) -> date:
    """The day, where times count from 1970 and a term that begins then ends within what a calendar can say."""
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise UsageError(f"{flag} {text}: must lie in the years {FIRST_YEAR} to {LAST_YEAR}")
    return day
