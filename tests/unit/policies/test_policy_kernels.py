"""The policies' closed forms: encoding, quality windows, mapping, limits, waits, retention and sizing."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.policy import codes, mapping
from hcloud.policy.limits import next_soft_limit
from hcloud.policy.mapping import Situation, choose
from hcloud.policy.quality import HALF, QualityWindow, complement, encode, leading, observe, quantile, reaches
from hcloud.policy.records import table
from hcloud.policy.registry import compose, rule_of
from hcloud.policy.repair import enlarged, may_move
from hcloud.policy.retention import behaved, keep_seconds
from hcloud.policy.rules import Rules
from hcloud.policy.sizes.sizing import Reservation, reserved_servers
from hcloud.policy.waiting.queueing import (
    AT_LIMIT,
    BANDS,
    BEHIND,
    CAUSES,
    FIRST_BAND,
    GROWTH,
    SUFFERING,
    Drift,
    Waits,
    assumed_wait,
    belief_in,
    cause_of_wait,
    count_wait,
    end_wait,
    expected_stay,
    first_alike,
    judge_bound,
    judge_mean,
    mean_wait,
    pace_of_wait,
    wait_within,
)
from hcloud.readers.strategies import load_strategy

VECTORS = st.lists(st.integers(0, 99), min_size=10, max_size=10)
HM = compose(load_strategy("HM"), 4)
GUESS = belief_in(AT_LIMIT)


def encoded(entries: list[int]) -> int:
    high, low = encode(np.array(entries, np.int64))
    return int(high) * HALF + int(low)


def test_the_published_example_of_the_encoding() -> None:
    assert leading(encode(np.array([31, 84] + [0] * 8, np.int64))[0]) == 8431


@pytest.mark.slow
@given(VECTORS)
def test_the_encoding_is_the_base_100_number_of_the_sorted_entries(entries: list[int]) -> None:
    number = 0
    for entry in sorted(entries, reverse=True):
        number = number * 100 + entry
    assert encoded(entries) == number


@pytest.mark.slow
@given(VECTORS, VECTORS)
def test_the_encoding_keeps_the_order_of_sorted_vectors(one: list[int], other: list[int]) -> None:
    first, second = encode(np.array(one, np.int64)), encode(np.array(other, np.int64))
    assert reaches(*first, *second) == (sorted(one, reverse=True) >= sorted(other, reverse=True))


def test_scores_of_100_do_not_carry() -> None:
    assert encoded([100] + [0] * 9) == encoded([99] + [0] * 9)
    assert complement(*encode(np.array([100] * 10, np.int64))) == (0, 0)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.floats(0, 30), st.integers(0, 9999)), min_size=1, max_size=120), st.sampled_from([0.1, 0.9])
)
def test_the_window_gives_the_quantile_of_what_is_in_it(samples: list[tuple[float, int]], share: float) -> None:
    window, inside, now = table(QualityWindow, 1)[0], deque[tuple[float, int]](), 0.0
    for gap, quality in samples:
        now += gap
        observe(window, now, quality)
        inside.append((now, quality))
        while inside and inside[0][0] < now - 100:
            inside.popleft()
        ranked = sorted(q for _, q in inside)
        assert quantile(window, now - 100, share) == ranked[min(int(share * len(ranked)), len(ranked) - 1)]
    assert quantile(window, now + 1, share) == -1


def situation(**changes: float) -> Situation:
    usual = Situation(0.7, 0.6, 1, 5000, 4000, 0.0, 14.7, 0.5, 0)
    return usual._replace(**changes)  # type: ignore[arg-type]


def action(rules: Rules, **changes: float) -> int:
    return choose(rules, situation(**changes))[0]


@given(st.floats(0, 0.5999), st.integers(0, 9999), st.integers(0, 9999))
def test_below_the_soft_limit_everything_that_fits_is_reserved(used: float, offered: int, needed: int) -> None:
    assert action(HM, utilisation=used, offered=offered, needed=needed) == codes.RESERVED


@pytest.mark.slow
@given(st.floats(0.6, 0.7999), st.integers(0, 9999), st.integers(0, 9999))
def test_between_the_limits_quality_decides(used: float, offered: int, needed: int) -> None:
    expected = codes.ON_DEMAND if offered > needed else codes.RESERVED
    assert action(HM, utilisation=used, offered=offered, needed=needed) == expected


@pytest.mark.slow
@given(st.floats(0.8, 1), st.integers(0, 9999), st.integers(0, 9999), st.floats(0, 100))
def test_at_the_hard_limit_a_sensitive_job_leaves_only_for_a_long_wait(
    used: float, offered: int, needed: int, wait: float
) -> None:
    got = action(HM, utilisation=used, offered=offered, needed=needed, wait=wait)
    if offered > needed:
        assert got == codes.ON_DEMAND
    else:
        assert got == (codes.LARGE if wait > 14.7 else codes.QUEUE)


@pytest.mark.parametrize(
    ("rules", "changes", "expected"),
    [
        (HM, {"utilisation": 0.5}, (codes.RESERVED, codes.BELOW_SOFT, 0.1)),
        (HM, {"utilisation": 0.6}, (codes.ON_DEMAND, codes.TYPE_GOOD_ENOUGH, 0.1)),
        (HM, {"offered": 3000}, (codes.RESERVED, codes.TYPE_TOO_NOISY, -0.1)),
        (HM, {"offered": 4000}, (codes.RESERVED, codes.TYPE_TOO_NOISY, 0.0)),
        (HM, {"room": 0, "offered": 0, "wait": 20.7}, (codes.LARGE, codes.WAIT_TOO_LONG, 6.0)),
        (HM, {"room": 0, "offered": 0, "wait": 14.7}, (codes.QUEUE, codes.WAIT_SHORT, 0.0)),
        (HM, {"room": 0, "offered": 0, "wait": 4.7}, (codes.QUEUE, codes.WAIT_SHORT, -10.0)),
        (HM._replace(mapping=mapping.MAP_RANDOM, reserved_share=0.5), {"coin": 0.3}, (codes.RESERVED, codes.COIN, 0.2)),
        (
            HM._replace(mapping=mapping.MAP_RANDOM, reserved_share=0.5),
            {"coin": 0.5},
            (codes.ON_DEMAND, codes.COIN, 0.0),
        ),
        (
            HM._replace(mapping=mapping.MAP_RANDOM, reserved_share=0.5),
            {"coin": 0.7},
            (codes.ON_DEMAND, codes.COIN, -0.2),
        ),
        (
            HM._replace(mapping=mapping.MAP_QUALITY, threshold=8000),
            {"needed": 9000},
            (codes.RESERVED, codes.SENSITIVE, 0.1),
        ),
        (
            HM._replace(mapping=mapping.MAP_QUALITY, threshold=8000),
            {"needed": 7000},
            (codes.ON_DEMAND, codes.TOLERANT, -0.1),
        ),
        (
            HM._replace(mapping=mapping.MAP_STATIC, static_limit=0.9),
            {"utilisation": 0.8},
            (codes.RESERVED, codes.BELOW_LIMIT, 0.1),
        ),
        (
            HM._replace(mapping=mapping.MAP_STATIC, static_limit=0.9),
            {"utilisation": 1.0},
            (codes.ON_DEMAND, codes.ABOVE_LIMIT, -0.1),
        ),
    ],
)
def test_a_margin_is_above_zero_on_the_side_that_its_reason_names(
    rules: Rules, changes: dict[str, float], expected: tuple[int, int, float]
) -> None:
    action, reason, margin = choose(rules, situation(**changes))
    assert (action, reason) == expected[:2]
    assert margin == pytest.approx(expected[2], abs=1e-4)


def test_a_pool_without_room_counts_as_full() -> None:
    assert action(HM, utilisation=0.1, room=0, offered=0) == codes.QUEUE
    assert action(HM, utilisation=0.1, room=0, offered=9999) == codes.ON_DEMAND


@pytest.mark.parametrize(
    ("rules", "changes", "expected"),
    [
        (HM._replace(mapping=mapping.MAP_RESERVED), {}, codes.RESERVED),
        (HM._replace(mapping=mapping.MAP_RESERVED), {"room": 0}, codes.QUEUE),
        (HM._replace(mapping=mapping.MAP_ON_DEMAND), {}, codes.ON_DEMAND),
        (HM._replace(mapping=mapping.MAP_RANDOM, reserved_share=0.5), {"coin": 0.49}, codes.RESERVED),
        (HM._replace(mapping=mapping.MAP_RANDOM, reserved_share=0.5), {"coin": 0.51}, codes.ON_DEMAND),
        (HM._replace(mapping=mapping.MAP_QUALITY, threshold=8000), {"needed": 8001}, codes.RESERVED),
        (HM._replace(mapping=mapping.MAP_QUALITY, threshold=8000), {"needed": 8000}, codes.ON_DEMAND),
        (HM._replace(mapping=mapping.MAP_STATIC, static_limit=0.9), {"utilisation": 0.89}, codes.RESERVED),
        (HM._replace(mapping=mapping.MAP_STATIC, static_limit=0.9), {"utilisation": 0.9}, codes.ON_DEMAND),
        (HM._replace(spot=1, spot_quality=5000), {"restartable": 1, "offered": 9000}, codes.SPOT),
        (HM._replace(spot=1, spot_quality=3000), {"restartable": 1, "offered": 9000}, codes.ON_DEMAND),
        (HM._replace(spot=1, spot_quality=5000), {"restartable": 0, "offered": 9000}, codes.ON_DEMAND),
    ],
)
def test_the_other_mapping_rules(rules: Rules, changes: dict[str, float], expected: int) -> None:
    assert action(rules, **changes) == expected


@pytest.mark.slow
@given(st.floats(0.4, 0.75), st.integers(0, 50), st.integers(0, 50))
def test_the_soft_limit_falls_the_more_the_queue_grows(soft: float, growth: int, more: int) -> None:
    one, other = next_soft_limit(HM, soft, growth, 0.0), next_soft_limit(HM, soft, growth + more, 0.0)
    assert HM.soft_floor <= other <= one <= HM.hard - HM.gap


def test_the_soft_limit_returns_to_its_ceiling_when_nothing_queues() -> None:
    soft = HM.soft_floor
    for _ in range(2000):
        soft = next_soft_limit(HM, soft, 0, 100.0)
    assert soft == pytest.approx(HM.hard - HM.gap)
    assert next_soft_limit(HM, 0.5, 0, 1.0) == 0.5


def waits_of(seconds: list[float], unfinished: list[float] | None = None, history: int = 1_000_000) -> Waits:
    """A cause with waits that ended after so long, and others that have lasted so long."""
    waits = table(Waits, 1)[0]
    for second in seconds:
        band, _ = count_wait(waits, 0, FIRST_BAND, (0.0, second))
        end_wait(waits, band, history)
    for second in unfinished or []:
        count_wait(waits, 0, FIRST_BAND, (0.0, second))
    return waits


ENDS = [FIRST_BAND * GROWTH**i for i in range(BANDS - 1)]
SECONDS = st.lists(st.floats(0, 20_000), max_size=40)


@pytest.mark.slow
@given(SECONDS, SECONDS)
def test_each_second_of_a_wait_is_counted_in_the_band_it_lies_in(ended: list[float], unfinished: list[float]) -> None:
    waits = waits_of(ended, unfinished)
    begins, ends = [0.0, *ENDS], [*ENDS, math.inf]
    every = [*ended, *unfinished]
    inside = [sum(min(max(s - b, 0.0), e - b) for s in every) for b, e in zip(begins, ends, strict=True)]
    assert list(waits.waited) == pytest.approx(inside, rel=1e-9, abs=1e-6)
    assert waits.all_waited == pytest.approx(sum(every))
    assert list(waits.ended) == [
        sum(b < s <= e or s == b == 0 for s in ended) for b, e in zip(begins, ends, strict=True)
    ]


@pytest.mark.slow
@given(st.floats(0, 5000), st.lists(st.floats(0, 5000), max_size=6))
def test_a_wait_counts_the_same_in_one_piece_and_in_several(last: float, looks: list[float]) -> None:
    whole, parts = waits_of([], [last]), table(Waits, 1)[0]
    band, end, since = 0, FIRST_BAND, 0.0
    for age in [*sorted(a for a in looks if a < last), last]:
        band, end = count_wait(parts, band, end, (since, age))
        since = age
    assert list(parts.waited) == pytest.approx(list(whole.waited), rel=1e-9, abs=1e-6)


@pytest.mark.slow
@given(SECONDS, SECONDS, st.floats(0, 3000), st.floats(0.001, 1))
def test_a_higher_share_takes_longer_and_ages_shift_it_consistently(
    ended: list[float], unfinished: list[float], age: float, rate: float
) -> None:
    waits = waits_of(ended, unfinished)
    bounds = [wait_within(waits, share, rate, age, GUESS) for share in (0.1, 0.5, 0.9, 0.99, 1.0)]
    assert bounds == sorted(bounds)
    assert 0 < bounds[0] < math.inf
    assert bounds[-1] == math.inf


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(SECONDS, st.floats(1, 200))
def test_what_is_left_of_a_wait_is_what_the_whole_wait_leaves_after_its_age(ended: list[float], age: float) -> None:
    """Of those that wait 30 % longer than the age and of these half longer than a bound, 15 % wait longer than both."""
    waits = waits_of(ended)
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        low, high = (share, high) if wait_within(waits, share, 0.01, 0.0, GUESS) < age else (low, share)
    both = 1 - (1 - low) / 2
    assert age + wait_within(waits, 0.5, 0.01, age, GUESS) == pytest.approx(
        wait_within(waits, both, 0.01, 0.0, GUESS), rel=1e-3
    )


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.99])
def test_the_bound_of_many_waits_keeps_its_share_of_more_of_them(share: float) -> None:
    chance = np.random.default_rng(5)
    seen, coming = (chance.lognormal(2.0, 1.5, 4000) for _ in range(2))
    bound = wait_within(waits_of(list(seen)), share, 1.0, 0.0, GUESS)
    assert share - 0.01 <= float((coming <= bound).mean()) <= share + 0.035


@pytest.mark.parametrize(("ended", "times"), [(4000, 1.0), (64, 12 / 11)])
def test_the_tail_of_a_mean_is_lighter_the_more_waits_are_known(ended: int, times: float) -> None:
    """With n independent waits known, eight and one more for each sixteen seen, exponential ones give n / (n - 1)."""
    seen = np.random.default_rng(6).exponential(10.0, ended)
    assert mean_wait(waits_of(list(seen)), 0.1, GUESS) == pytest.approx(float(seen.mean()) * times, rel=0.03)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.sampled_from([0.5, 0.9, 0.95, 0.99]), st.floats(0.4, 2.5), st.integers(0, 99))
def test_bounds_that_were_too_short_or_long_end_up_kept_as_promised(share: float, times: float, seed: int) -> None:
    """Waits are so many times as long as what was counted says, whatever their spread."""
    drift, kept, count = table(Drift, 1)[0], 0, 2000
    for wait in np.random.default_rng(seed).weibull(0.7, count) * times:
        holds = int(wait <= (-math.log(1 - share)) ** (1 / 0.7) * math.exp(drift.longer))
        judge_bound(drift, holds, share)
        kept += holds
    assert kept / count == pytest.approx(share, abs=0.015)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.floats(0.6, 1.8), st.integers(0, 99))
def test_means_that_were_too_short_or_long_add_up_to_what_was_waited(times: float, seed: int) -> None:
    drift, promised = table(Drift, 1)[0], 0.0
    chance = np.random.default_rng(seed)
    counted = chance.choice([20.0, 100.0, 500.0], 1000)
    waits = chance.exponential(1.0, 1000) * counted * times
    for guess, wait in zip(counted, waits, strict=True):
        mean = guess * math.exp(drift.longer_mean)
        judge_mean(drift, guess, mean, wait)
        promised += mean
    # of a hundred seeds at 0.6 to 1.8 times, what is paid for learning and one's luck come to at most 0.109
    assert promised == pytest.approx(float(waits.sum()), rel=0.12)


def test_waits_that_have_not_ended_make_the_bound_longer() -> None:
    ended = [float(s) for s in range(1, 31)]
    assert wait_within(waits_of(ended, [300.0] * 10), 0.9, 0.1, 0.0, GUESS) > 3 * wait_within(
        waits_of(ended), 0.9, 0.1, 0.0, GUESS
    )


def test_without_waits_the_bound_follows_from_what_is_assumed() -> None:
    start = 14.7
    assert 0.5 * start < wait_within(waits_of([]), 0.5, 1 / assumed_wait(AT_LIMIT, start), 0.0, GUESS) < start
    points = wait_within(waits_of([]), 0.5, 1 / assumed_wait(SUFFERING, start), 0.0, belief_in(SUFFERING))
    assert points == pytest.approx(100 * math.log(2), rel=0.1)  # as many as the tenants make likely of the mean


def test_what_is_assumed_weighs_more_where_the_tenants_tell_it() -> None:
    waits, rate = waits_of([10.0] * 4), 1 / 100
    guessed, told = (wait_within(waits, 0.5, rate, 0.0, belief_in(cause)) for cause in (AT_LIMIT, SUFFERING))
    assert guessed < 30
    assert told > 50


def test_a_wait_for_tenants_is_shorter_the_more_of_them_make_a_place_and_the_sooner_they_leave() -> None:
    few, many = pace_of_wait(0.0, 300.0), pace_of_wait(6.0, 300.0)
    assert many == pytest.approx(5 * few)
    assert pace_of_wait(0.0, 600.0) == pytest.approx(few / 2)
    assert 0 < pace_of_wait(0.0, 0.0) < math.inf


def test_a_tenant_is_to_stay_as_long_as_tenants_have_stayed() -> None:
    assert expected_stay(400.0, (1000.0, 500_000.0), 12.0, 1e6) == pytest.approx(400.0)
    young = expected_stay(5.0, (0.0, 2500.0), 12.0, 5.0)
    assert 600 < young < 3000  # nobody has left yet: fifty starts, and what has been stayed without leaving
    assert expected_stay(5.0, (8.0, 2500.0), 12.0, 5.0) < young / 3


def test_beyond_the_history_what_was_seen_weighs_half() -> None:
    waits = waits_of([1.0] * 9, history=10)
    assert waits.all_ended == 9
    end_wait(waits, 0, 10)
    assert waits.all_ended == sum(waits.ended) == 5
    assert waits.all_waited == pytest.approx(4.5)


def test_waits_have_one_cause_each() -> None:
    assert [cause_of_wait(0, 1, over, 0.0) for over in (0, 999, 1000, 2000, 50_000)] == [0, 0, 1, 2, 2]
    assert [cause_of_wait(ahead, 0, 0, 0.0) for ahead in (1, 3, 9)] == [BEHIND, BEHIND + 1, BEHIND + 2]
    assert [cause_of_wait(0, 0, 0, leavers) for leavers in (0, 2, 3)] == list(range(SUFFERING, CAUSES))
    assert {first_alike(cause) for cause in range(CAUSES)} == {(0, BEHIND), (BEHIND, SUFFERING), (SUFFERING, CAUSES)}


def test_retention_is_ten_spin_ups_and_longer_where_jobs_are_rare() -> None:
    assert keep_seconds(HM, 15.0, 1.0) == keep_seconds(HM, 15.0, 0.2) == 150.0
    assert keep_seconds(HM, 15.0, 3.0) == 450.0
    assert keep_seconds(HM, 1500.0, 3.0) == HM.longest
    assert keep_seconds(HM._replace(retain=0), 15.0, 1.0) == 0.0
    assert behaved(HM, 0.95, True)
    assert not behaved(HM, 0.94, True)
    assert not behaved(HM, 1.0, False)


def test_repair_enlarges_where_there_is_room() -> None:
    assert enlarged(HM, 2000, 1000) == 3000
    assert enlarged(HM, 2000, 999) == 2000
    assert may_move(HM, 0)
    assert not may_move(HM, 1)


@pytest.mark.parametrize(("peak", "servers"), [(1226, 89), (895, 65), (900, 65)])
def test_sr_reserves_the_peak_and_15_percent(peak: float, servers: int) -> None:
    assert reserved_servers(rule_of(load_strategy("SR"), "reserved"), peak, 0.0, profiled=True) == servers


@pytest.mark.parametrize(("steady", "servers"), [(210, 14), (600, 38), (813, 51), (0, 0)])
def test_hybrids_reserve_the_steady_load(steady: float, servers: int) -> None:
    part = rule_of(load_strategy("HM"), "reserved")
    assert reserved_servers(part, 1226, steady, profiled=True) == servers
    assert isinstance(part, Reservation)
    assert part.load_quantile == 0
    assert reserved_servers(rule_of(load_strategy("OdM"), "reserved"), 900, 600, profiled=True) == 0
