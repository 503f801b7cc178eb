"""The choice among simulated strategies: target, budget, the front, and the sentences that carry it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcloud.model.plans.operation import Band, OperatingPoint
from hcloud.planning.strategies.choice import OperatingTarget, choose, is_affordable, meets, with_front
from hcloud.planning.strategies.choice_reasons import judged, why
from hcloud.planning.strategies.operation import PLANNED


def point(name: str, monthly: int, kept: float, half: float | None = 0.0) -> OperatingPoint:
    """A point of so many dollars a month."""
    dollars = Decimal(monthly)
    return OperatingPoint(
        name, 1, "its own rule", dollars / 730, None, dollars, Band(kept, half), None, None, None, None
    )


CHEAP, GOOD, BEST = point("cheap", 100, 0.5), point("good", 200, 0.92), point("best", 300, 0.99)
POINTS = [CHEAP, GOOD, BEST]


def test_the_cheapest_that_meets_the_target_is_chosen() -> None:
    assert choose(POINTS, OperatingTarget(0.9, None)) is GOOD
    assert choose(POINTS, OperatingTarget(0.4, None)) is CHEAP
    assert choose(POINTS, OperatingTarget(0.95, Decimal(300))) is BEST


def test_where_none_meets_it_the_best_within_the_budget_is() -> None:
    assert choose(POINTS, OperatingTarget(0.999, None)) is BEST
    assert choose(POINTS, OperatingTarget(0.95, Decimal(250))) is GOOD


def test_where_none_is_within_the_budget_the_cheapest_is() -> None:
    assert choose(POINTS, OperatingTarget(0.9, Decimal(50))) is CHEAP
    said = " ".join(why(POINTS, CHEAP, OperatingTarget(0.9, Decimal(50))))
    assert "$50/month over the budget" in said


def test_a_budget_too_small_for_the_target_is_not_taken_for_a_target_too_high() -> None:
    said = " ".join(why(POINTS, GOOD, OperatingTarget(0.985, Decimal(250))))
    assert "none of 3 within the budget keeps the target of 98.5%; good with 1 reserved comes closest: 92.0%" in said


def test_a_reserve_other_than_the_one_by_use_alone_is_told_with_what_that_would_do() -> None:
    by_use = replace(point("good", 240, 0.91), reserve=8, reserve_rule=PLANNED)
    chosen = replace(GOOD, reserve=11)
    said = " ".join(why([CHEAP, by_use, chosen], chosen, OperatingTarget(0.9, None)))
    assert "by use alone 8 cost least; simulated, good with 8 is $40/month dearer, 91.0% kept" in said
    cheaper = replace(by_use, monthly=Decimal(150), hourly=Decimal(150) / 730, kept_qos=Band(0.7, 0.0))
    said = " ".join(why([cheaper, chosen], chosen, OperatingTarget(0.9, None)))
    assert "good with 8 is $50/month cheaper, 70.0% kept" in said
    assert "by use alone" not in " ".join(why([CHEAP, by_use], by_use, OperatingTarget(0.9, None)))


def test_every_other_point_is_refused_with_its_margin() -> None:
    verdicts = [p.verdict for p in judged(POINTS, GOOD, OperatingTarget(0.9, Decimal(250)))]
    assert verdicts == [
        "50.0% of jobs keep their performance, 90.0% are asked for",
        "",
        "$50/month above the budget",
    ]
    assert [p.verdict for p in judged(POINTS, GOOD, OperatingTarget(0.9, None))][2] == "$100/month dearer"


def test_the_sentences_name_what_would_flip_the_choice() -> None:
    said = " ".join(why(with_front(POINTS), with_front(POINTS)[1], OperatingTarget(0.9, None)))
    assert "cheapest of the 2 of 3 that keep the target" in said
    assert "cheap with 1 would save $100/month and keep 50.0%: --qos 0.500 takes it or a cheaper one" in said
    assert "best with 1 would keep 99.0% for $100/month more" in said


def test_an_interval_that_reaches_below_the_target_is_said() -> None:
    unsure = replace(GOOD, kept_qos=Band(0.92, 0.05))
    assert any(
        "its interval reaches down to 87.0%" in line for line in why([unsure], unsure, OperatingTarget(0.9, None))
    )


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 20)), min_size=1, max_size=12), st.integers(0, 20))
def test_the_choice_is_on_the_front_or_nothing_meets_the_target(made: list[tuple[int, int]], asked: int) -> None:
    points = with_front([point(f"p{i}", m, k / 20) for i, (m, k) in enumerate(made)])
    target = OperatingTarget(asked / 20, None)
    chosen = choose(points, target)
    good = [p for p in points if meets(p, target)]
    assert (chosen in good) == bool(good)
    assert all(chosen.monthly <= p.monthly for p in good) or not good
    if not good:
        assert chosen.kept_qos.mean == max(p.kept_qos.mean for p in points)
    for p in points:
        beaten = [
            q
            for q in points
            if q.hourly <= p.hourly
            and q.kept_qos.mean >= p.kept_qos.mean
            and (q.hourly, q.kept_qos.mean) != (p.hourly, p.kept_qos.mean)
        ]
        assert p.on_front == (not beaten)
    assert all(is_affordable(p, target) for p in points)
