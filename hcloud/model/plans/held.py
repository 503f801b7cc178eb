"""What a plan holds at which hour: each purchase from its first hour until its term ends, so that what renews another
is not held beside it. Every sum over purchases of several dates is taken here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Protocol, TypeVar

from hcloud.units import HOURS_PER_YEAR, and_last

HOURS_PER_DAY = 24
FIRST_WEEKS = 4
"""Ours: the first weeks of a plan, whole weeks within the first month, in which demand has not grown yet."""
NAMED_DAYS = 3  # ours: more are counted


class Lasting(Protocol):
    """What is held from one hour of a plan until another; None: until its end, and beyond."""

    @property
    def starts_hour(self) -> int:
        """The hour it is held from."""

    @property
    def ends_hour(self) -> int | None:
        """The hour it is held no more."""


Held = TypeVar("Held", bound=Lasting)


def ends_of(starts_hour: int, term_years: int) -> int | None:
    """When a purchase of such a term ends; without a term it does not."""
    return starts_hour + term_years * HOURS_PER_YEAR if term_years else None


def is_soon(starts_hour: int) -> bool:
    """Whether what is wanted from such an hour on is bought now: within the first day."""
    return starts_hour < HOURS_PER_DAY


def held_now(found: Iterable[Held]) -> tuple[Held, ...]:
    """What is owned, rented, or bought within the first day."""
    return tuple(one for one in found if is_soon(one.starts_hour))


def begun_later(found: Iterable[Held]) -> tuple[Held, ...]:
    """What is bought on a later day."""
    return tuple(one for one in found if not is_soon(one.starts_hour))


def by_day(found: Iterable[Held]) -> dict[int, list[Held]]:
    """What is bought on each day, the first being now."""
    days: dict[int, list[Held]] = {}
    for one in found:
        days.setdefault(one.starts_hour // HOURS_PER_DAY, []).append(one)
    return dict(sorted(days.items()))


def held_at(found: Iterable[Held], hour: int) -> tuple[Held, ...]:
    """What is held in an hour."""
    return tuple(one for one in found if one.starts_hour <= hour and (one.ends_hour is None or hour < one.ends_hour))


def most_held(found: Iterable[Held], of: Callable[[Held], Decimal]) -> Decimal:
    """The most of a figure at any moment."""
    return _sum(fullest(found, of), of)


def fullest(found: Iterable[Held], of: Callable[[Held], Decimal]) -> tuple[Held, ...]:
    """What is held in the first hour in which a figure is at its most: it only rises where something begins."""
    known = tuple(found)
    hours = sorted({one.starts_hour for one in known})
    return max((held_at(known, hour) for hour in hours), key=lambda held: _sum(held, of), default=())


def mean_held(found: Iterable[Held], of: Callable[[Held], Decimal], horizon_hours: int) -> Decimal:
    """The mean of a figure over the horizon; without one, what there is."""
    known = tuple(found)
    if not horizon_hours:
        return _sum(known, of)
    return sum((of(one) * hours_held(one, horizon_hours) for one in known), Decimal(0)) / horizon_hours


def hours_held(one: Lasting, horizon_hours: int) -> int:
    """How long it is held within the horizon."""
    end = horizon_hours if one.ends_hour is None else min(one.ends_hour, horizon_hours)
    return max(end - one.starts_hour, 0)


def _sum(found: Iterable[Held], of: Callable[[Held], Decimal]) -> Decimal:
    return sum((of(one) for one in found), Decimal(0))


def said_days(found: Iterable[Lasting]) -> str:
    """The days on which something begins: ``day 365 and 730``, ``6 days from day 21 to 182``."""
    days = sorted({one.starts_hour // HOURS_PER_DAY for one in found})
    if len(days) > NAMED_DAYS:
        return f"{len(days):,} days from day {days[0]:,} to {days[-1]:,}"
    return f"day {and_last(f'{day:,}' for day in days)}"
