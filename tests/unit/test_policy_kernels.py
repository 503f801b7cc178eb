"""The policies' closed forms: encoding, quality windows, mapping, limits, waits, retention and sizing."""

from __future__ import annotations

import math
import random
from collections import deque
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.policy import codes
from hcloud.policy.compose import compose
from hcloud.policy.limits import next_soft_limit
from hcloud.policy.mapping import Situation, choose
from hcloud.policy.quality import HALF, Window, complement, encode, leading, observe, quantile, reaches
from hcloud.policy.queueing import Waits, expected_wait, record_opening, record_wait, wait_quantile
from hcloud.policy.records import table
from hcloud.policy.repair import enlarged, may_move
from hcloud.policy.retention import behaved, keep_seconds
from hcloud.policy.rules import Rules
from hcloud.policy.sizing import load_quantile, reserved_servers
from hcloud.readers.strategies import load_strategy

VECTORS = st.lists(st.integers(0, 99), min_size=10, max_size=10)
HM = compose(load_strategy("HM"), 4)


def encoded(entries: list[int]) -> int:
    high, low = encode(np.array(entries, np.int64))
    return int(high) * HALF + int(low)


def test_the_published_example_of_the_encoding() -> None:
    assert leading(encode(np.array([31, 84] + [0] * 8, np.int64))[0]) == 8431


@given(VECTORS)
def test_the_encoding_is_the_base_100_number_of_the_sorted_entries(entries: list[int]) -> None:
    number = 0
    for entry in sorted(entries, reverse=True):
        number = number * 100 + entry
    assert encoded(entries) == number


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
    window, inside, now = table(Window, 1)[0], deque[tuple[float, int]](), 0.0
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


@given(st.floats(0.6, 0.7999), st.integers(0, 9999), st.integers(0, 9999))
def test_between_the_limits_quality_decides(used: float, offered: int, needed: int) -> None:
    expected = codes.ON_DEMAND if offered > needed else codes.RESERVED
    assert action(HM, utilisation=used, offered=offered, needed=needed) == expected


@given(st.floats(0.8, 1), st.integers(0, 9999), st.integers(0, 9999), st.floats(0, 100))
def test_at_the_hard_limit_a_sensitive_job_leaves_only_for_a_long_wait(
    used: float, offered: int, needed: int, wait: float
) -> None:
    got = action(HM, utilisation=used, offered=offered, needed=needed, wait=wait)
    if offered > needed:
        assert got == codes.ON_DEMAND
    else:
        assert got == (codes.LARGE if wait > 14.7 else codes.QUEUE)


def test_a_pool_without_room_counts_as_full() -> None:
    assert action(HM, utilisation=0.1, room=0, offered=0) == codes.QUEUE
    assert action(HM, utilisation=0.1, room=0, offered=9999) == codes.ON_DEMAND


@pytest.mark.parametrize(
    ("rules", "changes", "expected"),
    [
        (HM._replace(mapping=codes.MAP_RESERVED), {}, codes.RESERVED),
        (HM._replace(mapping=codes.MAP_RESERVED), {"room": 0}, codes.QUEUE),
        (HM._replace(mapping=codes.MAP_ON_DEMAND), {}, codes.ON_DEMAND),
        (HM._replace(mapping=codes.MAP_RANDOM, reserved_share=0.5), {"coin": 0.49}, codes.RESERVED),
        (HM._replace(mapping=codes.MAP_RANDOM, reserved_share=0.5), {"coin": 0.51}, codes.ON_DEMAND),
        (HM._replace(mapping=codes.MAP_QUALITY, threshold=8000), {"needed": 8001}, codes.RESERVED),
        (HM._replace(mapping=codes.MAP_QUALITY, threshold=8000), {"needed": 8000}, codes.ON_DEMAND),
        (HM._replace(mapping=codes.MAP_STATIC, static_limit=0.9), {"utilisation": 0.89}, codes.RESERVED),
        (HM._replace(mapping=codes.MAP_STATIC, static_limit=0.9), {"utilisation": 0.9}, codes.ON_DEMAND),
        (HM._replace(spot=1, spot_quality=5000), {"restartable": 1, "offered": 9000}, codes.SPOT),
        (HM._replace(spot=1, spot_quality=3000), {"restartable": 1, "offered": 9000}, codes.ON_DEMAND),
        (HM._replace(spot=1, spot_quality=5000), {"restartable": 0, "offered": 9000}, codes.ON_DEMAND),
    ],
)
def test_the_other_mapping_rules(rules: Rules, changes: dict[str, float], expected: int) -> None:
    assert action(rules, **changes) == expected


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


def waits_of(seconds: list[float], history: int = 100) -> Waits:
    waits = table(Waits, 1)[0]
    for second in seconds:
        record_wait(waits, history, second, 0)
    return waits


def test_99_of_100_waits_below_1_4_seconds() -> None:
    waits = waits_of([0.5] * 98 + [1.4, 60.0])
    assert wait_quantile(waits, 0.99, np.zeros(1), 0) == 1.4


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60), st.integers(1, 20), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_wait_quantile_is_that_of_the_last_waits(seconds: list[float], history: int, share: float) -> None:
    waits = waits_of(seconds, history)
    ranked = sorted(seconds[-history:])
    assert wait_quantile(waits, share, np.zeros(1), 0) == ranked[math.ceil(share * len(ranked) - 1e-9) - 1]


def staying(ended: list[tuple[float, bool]], seconds: float) -> Fraction:
    """Kaplan and Meier's share of jobs that wait longer: of (seconds, whether it was taken then), in fractions."""
    share = Fraction(1)
    for time in sorted({t for t, taken in ended if taken and t <= seconds}):
        at_risk = sum(t >= time for t, _ in ended)
        share *= 1 - Fraction(sum(taken and t == time for t, taken in ended), at_risk)
    return share


@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=25),
    st.lists(st.integers(0, 30), max_size=10),
    st.integers(1, 20),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_of_jobs_that_gave_up_or_still_wait_only_a_lower_bound_is_known(
    ended: list[tuple[int, bool]], ages: list[int], history: int, share: float
) -> None:
    waits = table(Waits, 1)[0]
    for seconds, taken in ended:
        record_wait(waits, history, float(seconds), 0 if taken else 1)
    known = [(float(t), taken) for t, taken in ended[-history:]] + [(float(age), False) for age in ages]
    aged = np.array(sorted(map(float, ages), reverse=True))
    limit = 1 - Fraction(str(share))
    times = sorted({t for t, taken in known if taken})
    expected = next((t for t in times if staying(known, t) <= limit), math.inf)
    assert wait_quantile(waits, share, aged, len(ages)) == expected


def test_without_history_the_wait_follows_from_openings() -> None:
    waits = table(Waits, 1)[0]
    assert expected_wait(HM, waits, 0, -1.0) == math.inf
    for _ in range(2):
        record_opening(waits, 4.0)
    assert expected_wait(HM, waits, 2, -1.0) == 12.0
    assert expected_wait(HM, waits, 2, 5.0) == 12.0  # three openings take longer than the usual wait
    assert expected_wait(HM, waits, 0, 5.0) == 5.0
    assert expected_wait(HM._replace(by_releases=0), waits, 0, -1.0) == math.inf


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
    assert reserved_servers(load_strategy("SR").mechanism("reserved"), peak, 0.0, profiled=True) == servers


@pytest.mark.parametrize(("steady", "servers"), [(210, 14), (600, 38), (813, 51), (0, 0)])
def test_hybrids_reserve_the_steady_load(steady: float, servers: int) -> None:
    part = load_strategy("HM").mechanism("reserved")
    assert reserved_servers(part, 1226, steady, profiled=True) == servers
    assert load_quantile(part) == 0
    assert reserved_servers(load_strategy("OdM").mechanism("reserved"), 900, 600, profiled=True) == 0


def test_random_streams_of_waits_stay_ranked() -> None:
    chance = random.Random(3)
    waits, kept = table(Waits, 1)[0], deque[float](maxlen=7)
    for _ in range(500):
        wait = round(chance.random(), 1)
        record_wait(waits, 7, wait, 0)
        kept.append(wait)
        assert list(waits.ranked[: waits.kept]) == sorted(kept)
