"""What a plan holds when, against counting it hour by hour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
from builders import reserved
from hypothesis import given
from hypothesis import strategies as st

from hcloud.model.plans.held import begun_later, ends_of, held_at, held_now, mean_held, most_held, said_days
from hcloud.planning.fleets.fleet import Holding
from hcloud.planning.strategies.operation import main_commitment, planned_reserve

HORIZON = 60


class Lot(NamedTuple):
    """So many instances from one hour until another."""

    starts_hour: int
    ends_hour: int | None
    machines: int


@dataclass
class Counted:
    """What is held in each hour of the horizon, added up one by one."""

    lots: list[Lot]

    def at(self, hour: int) -> int:
        total = 0
        for start, end, count in self.lots:
            total += count if hour in range(start, 10**6 if end is None else end) else 0
        return total


hours = st.integers(0, HORIZON - 1)
lots = st.lists(
    st.builds(
        lambda start, length, count: Lot(start, None if length is None else start + length, count),
        hours, st.none() | st.integers(1, 2 * HORIZON), st.integers(0, 9),
    ),
    max_size=8,
)  # fmt: skip


def count(lot: Lot) -> Decimal:
    return Decimal(lot.machines)


@given(lots)
def test_the_most_and_the_mean_are_those_of_every_hour(found: list[Lot]) -> None:
    by_hour = [Counted(found).at(hour) for hour in range(HORIZON)]
    assert most_held(found, count) == max(by_hour)
    assert abs(Fraction(mean_held(found, count, HORIZON)) - Fraction(sum(by_hour), HORIZON)) < Fraction(1, 10**20)
    assert [sum(lot.machines for lot in held_at(found, hour)) for hour in range(HORIZON)] == by_hour


@given(lots)
def test_the_first_day_is_now_and_all_else_later(found: list[Lot]) -> None:
    assert [*held_now(found)] == [lot for lot in found if lot.starts_hour < 24]
    assert [*begun_later(found)] == [lot for lot in found if lot.starts_hour >= 24]


def test_without_a_horizon_there_is_what_there_is() -> None:
    assert mean_held([Lot(0, None, 3), Lot(0, None, 2)], count, 0) == 5
    assert most_held([], count) == 0


def test_a_term_ends_and_what_has_none_does_not() -> None:
    assert (ends_of(100, 3), ends_of(0, 0)) == (100 + 3 * 365 * 24, None)


@pytest.mark.parametrize(
    ("days", "said"),
    [
        ([365], "day 365"),
        ([730, 365, 365], "day 365 and 730"),
        ([1, 2, 1095], "day 1, 2 and 1,095"),
        ([21, 29, 37, 182], "4 days from day 21 to 182"),
    ],
)
def test_days_are_named_or_counted(days: list[int], said: str) -> None:
    assert said_days([Lot(day * 24 + 5, None, 1) for day in days]) == said


def test_what_is_simulated_holds_what_is_bought_on_the_first_day_whatever_its_hour() -> None:
    first = Holding(reserved("m9.4xlarge", "0.60", 1), 7, start_hour=5)
    holdings = (first, replace(first, count=9, start_hour=8765))
    decision = cast("Any", SimpleNamespace(fleet=SimpleNamespace(holdings=holdings)))
    assert (planned_reserve(decision), main_commitment(decision)) == (7, first.offer)
