"""How much history a term deserves before it is bought, and what a plan that rests on less says first."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from hcloud.model.plans.held import is_soon
from hcloud.model.plans.plan import History
from hcloud.planning.fleets.fleet import Holding
from hcloud.planning.settings import HistorySettings
from hcloud.units import HOURS_PER_YEAR, SECONDS_PER_HOUR, cents, counted, format_duration, format_money, format_span

TOLD_HOURS = 1
"""Ours: of less demand no saving is told; as much is the least that is planned from again."""
MISSING, PART_MISSING = 24, 1 / 28
"""Ours: the hours that may be missing to what a term deserves, as a trace of jobs begins with its first and ends with
its last, and the part of it that they may be at most."""


def history_of(hours: float, holdings: Sequence[Holding], rule: HistorySettings) -> History | None:
    """The hours of the trace beside what the longest term among the holdings deserves; None where nothing is bought.

    The dollars are those of the terms that deserve more than there is: of those bought now, where there are any.
    """
    if not holdings:
        return None
    years = max(h.offer.term_hours for h in holdings) // HOURS_PER_YEAR
    short = [h for h in holdings if _is_less(hours, rule.least_hours(h.offer.term_hours // HOURS_PER_YEAR))]
    bought = [h for h in short if is_soon(h.start_hour)] or short
    upfront = sum((h.offer.upfront * h.count for h in bought), Decimal(0))
    total = sum((h.cost for h in bought), Decimal(0))
    return History(round(hours, 3), years, rule.least_hours(years), not short, cents(upfront), cents(total))


def _is_less(hours: float, least: int) -> bool:
    return hours < least - min(MISSING, PART_MISSING * least)


def glimpsed(history: History | None) -> str | None:
    """How long the demand was seen, in words, where no saving can be told of it; None where one can, or nothing is
    bought."""
    if history is None or history.hours >= TOLD_HOURS:
        return None
    return format_span(history.hours * SECONDS_PER_HOUR)


def said_of_history(history: History | None) -> tuple[str, ...]:
    """The warning about too short a history, or nothing."""
    if history is None or history.is_enough:
        return ()
    years = counted(history.term_years, "year")
    key = "planning.history_1y" if history.term_years == 1 else "planning.history_3y"
    return (
        f"{format_span(history.hours * SECONDS_PER_HOUR)} of history is too short for a commitment of "
        f"{format_money(history.committed)} over {years} ({_due(history)}): measure at least "
        f"{format_duration(history.least_hours * SECONDS_PER_HOUR)} before you buy ({key})",
    )


def _due(history: History) -> str:
    """What of it is due upfront."""
    if history.upfront == history.committed:
        return "all upfront"
    return f"{format_money(history.upfront)} upfront" if history.upfront else "nothing upfront"
