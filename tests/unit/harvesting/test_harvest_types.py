"""Types and classes of use: what a spectrum says of a tenant, and what may not change it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from harvesting import MONDAY, Floats, daily, histories
from simulating import jobs_of

from hcloud.errors import EvidenceError
from hcloud.harvest.classes import best_clustered, clustered, use_types
from hcloud.harvest.histories import DAY, ServerHistory, on_one_grid
from hcloud.harvest.kernels.holding import in_use, spare
from hcloud.harvest.policy import MECHANISMS, HarvestPolicy
from hcloud.harvest.room import free_by_hour, packed, room_by_hour, sizes_of
from hcloud.harvest.typing import CONSTANT, PERIODIC, UNPREDICTABLE, spectrum, typed
from hcloud.readers.harvest.policy import load_harvest

POLICY = load_harvest()


def pattern(use: Floats, step: int = 900) -> int:
    return int(typed(np.array([use], np.float32), DAY // step, POLICY).pattern[0])


def bursts(days: int, seed: int, step: int = 900) -> Floats:
    """Work that comes at any time of the day and stays for hours."""
    chance = np.random.default_rng(seed)
    use = np.full(days * DAY // step, 0.1)
    for begin in chance.integers(0, len(use), 2 * days):
        use[begin : begin + chance.integers(4, 60)] = chance.uniform(0.3, 0.9)
    return use


@pytest.mark.parametrize("step", [120, 300, 900])
@pytest.mark.parametrize("phase", [0.0, 0.1, 0.25, 0.61])
def test_a_sine_of_one_a_day_over_a_month_peaks_at_line_31(step: int, phase: float) -> None:
    noise = np.random.default_rng(int(phase * 100)).normal(0.0, 0.2 / np.sqrt(2), 31 * DAY // step)
    for use in (daily(31, step, phase=phase), daily(31, step, phase=phase) + noise):
        assert int(spectrum(use[None])[0].argmax()) == 31
        assert pattern(use, step) == PERIODIC


def test_scale_and_shift_change_a_type_only_through_sigma() -> None:
    for use in (daily(31), bursts(31, 3), daily(14) + bursts(14, 1)):
        kept = pattern(use)
        for scale, shift in ((0.5, 0.0), (0.9, 0.1), (1.0, -0.05)):
            moved = scale * use + shift
            assert moved.std() > POLICY.sigma
            assert pattern(moved) == kept
        assert pattern(use * 0.9 * POLICY.sigma / use.std()) == CONSTANT


def test_bursts_at_any_time_are_unpredictable_and_a_level_is_constant() -> None:
    assert sum(pattern(bursts(31, seed)) == UNPREDICTABLE for seed in range(20)) >= 18
    assert pattern(np.full(31 * 96, 0.7)) == CONSTANT


def test_weekends_do_not_make_a_daily_service_unpredictable() -> None:
    use = daily(28)
    days = np.arange(len(use)) // 96 % 7
    assert pattern(np.where(days >= 5, 0.15, use)) == PERIODIC


def test_less_than_a_week_has_no_periodic_type() -> None:
    assert pattern(daily(6)) == UNPREDICTABLE
    assert pattern(daily(7)) == PERIODIC


def mixed() -> dict[str, Floats]:
    chance = np.random.default_rng(7)
    use = {f"day{at}": daily(28, mean=0.2 + 0.03 * at, phase=at / 40) for at in range(8)}
    use |= {f"flat{at}": 0.1 * at + 0.05 + chance.normal(0, 0.01, 28 * 96) for at in range(7)}
    return use | {f"burst{at}": bursts(28, at) for at in range(5)} | {"both": daily(28) / 2 + bursts(28, 9) / 2}


@pytest.mark.slow
def test_permuted_tenants_and_a_copy_have_the_same_classes() -> None:
    use = mixed()
    found = use_types(histories(use), POLICY)
    names = [found.classes[label].name for label in found.label]
    again = use_types(histories(dict(use)), POLICY)
    assert again.classes == found.classes
    order = np.random.default_rng(2).permutation(len(use))
    keys = list(use)
    moved = use_types(histories({keys[at]: use[keys[at]] for at in order}), POLICY)
    assert [moved.classes[label].name for label in moved.label] == [names[at] for at in order]
    assert [c.peak for c in moved.classes] == pytest.approx([c.peak for c in found.classes])


def test_every_tenant_is_in_one_class_of_its_own_pattern_and_room_shrinks_with_length() -> None:
    found = use_types(histories(mixed()), POLICY)
    assert sorted(at for c in found.classes for at in c.members) == list(range(21))
    for c in found.classes:
        assert {found.pattern_of(at) for at in c.members} == {c.pattern}
        assert c.short >= c.medium >= c.long >= 0
        assert c.peak >= c.mean
        assert np.mean(c.hourly) == pytest.approx(c.mean, abs=1e-6)


def test_one_tenant_is_one_class_and_trust_needs_two_weeks() -> None:
    alone = use_types(histories({"web": daily(13)}), POLICY)
    assert [c.name for c in alone.classes] == ["periodic-1"]
    assert alone.trust is None
    month = use_types(histories({"web": daily(14)}), POLICY).trust
    assert month is not None
    assert (month.days, month.alike) == (7, 1.0)


def test_trust_falls_where_tenants_change() -> None:
    use = {f"t{at}": np.concatenate([daily(31), np.full(31 * 96, 0.3)]) for at in range(3)}
    use |= {f"s{at}": daily(62) for at in range(3)}
    trust = use_types(histories(use), POLICY).trust
    assert trust is not None
    assert (trust.days, trust.alike) == (31, 0.5)


def test_only_the_last_month_is_typed() -> None:
    found = use_types(histories({"web": np.concatenate([daily(31), np.full(31 * 96, 0.3)])}), POLICY)
    assert found.days == 31
    assert [c.name for c in found.classes] == ["constant-1"]


def samples(use: Floats, step: int = 900) -> tuple[Floats, Floats]:
    return MONDAY + step * np.arange(len(use), dtype=np.float64), use


def test_servers_become_the_mean_of_their_tenant_by_cores() -> None:
    times, use = samples(daily(8))
    found = on_one_grid([ServerHistory("web", times, use, 4), ServerHistory("web", times, 0 * use, 12)], POLICY)
    assert found.use[0] == pytest.approx(use / 4, abs=1e-6)
    assert (found.servers[0], found.cores[0], found.days, found.step) == (2, 16, 8, 900)


def test_fine_samples_are_averaged_and_whole_days_are_the_last() -> None:
    times, use = samples(daily(8, 10), 10)
    found = on_one_grid([ServerHistory("web", times[4000:], use[4000:])], POLICY)
    assert (found.step, found.days) == (120, 7)
    assert found.start == MONDAY + DAY
    assert found.use[0] == pytest.approx(use[DAY // 10 :].reshape(-1, 12).mean(axis=1), abs=1e-6)


def test_samples_off_the_grid_leave_no_gap_at_an_end() -> None:
    """A whole history whose samples are taken 13 minutes past each quarter of an hour was said to have a gap."""
    times, use = samples(daily(8))
    found = on_one_grid([ServerHistory("web", times + 800, use)], POLICY)
    assert (found.days, found.start, found.held, found.filled) == (8, MONDAY, 0, 0)
    assert found.use[0] == pytest.approx(use, abs=1e-6)


def test_gaps_are_held_filled_by_time_of_day_or_leave_the_tenant_out() -> None:
    times, use = samples(daily(8))
    short, day = np.ones(len(use), np.bool_), np.ones(len(use), np.bool_)
    short[[100, 101, 500]] = False
    day[200:250] = False
    few = np.zeros(len(use), np.bool_)
    few[: len(use) * 3 // 4] = True
    whole = ServerHistory("all", times, use)
    parts = [ServerHistory(n, times[k], use[k]) for n, k in (("short", short), ("day", day), ("few", few))]
    found = on_one_grid([whole, *parts], POLICY)
    assert found.tenants == ("all", "day", "short")
    assert [(t.name, round(t.missing, 2)) for t in found.left_out] == [("few", 0.25)]
    assert found.held == 3
    assert found.use[2][100:102] == pytest.approx([use[99]] * 2)
    assert found.filled == 50
    assert found.use[1] == pytest.approx(use, abs=1e-6)


def test_an_hour_that_nobody_has_is_where_clocks_were_put_forward() -> None:
    times, use = samples(daily(8))
    there = (times < times[300]) | (times >= times[304])
    found = on_one_grid([ServerHistory(n, times[there], use[there]) for n in "ab"], POLICY)
    assert found.hours_missing == (times[300],)


@pytest.mark.parametrize(
    ("days", "step", "said"), [(1, 900, "24h long"), (10, 3600, "every 1h|every 60min"), (3, 5, "every 5s")]
)
def test_too_little_or_too_coarse_is_refused(days: int, step: int, said: str) -> None:
    times, use = samples(daily(days, step), step)
    with pytest.raises(EvidenceError, match=said):
        on_one_grid([ServerHistory("a", times, use)], POLICY)


@pytest.mark.slow
def test_clusters_are_those_that_are_there() -> None:
    chance = np.random.default_rng(4)
    points = np.concatenate([chance.normal(at, 0.1, (30, 2)) for at in (0.0, 3.0, 9.0)])
    found = best_clustered(points, 15, 10, 0)
    assert [len(set(found.labels[at : at + 30])) for at in (0, 30, 60)] == [1, 1, 1]
    assert len(set(found.labels)) == 3
    assert found.inertia <= clustered(points, 2, 10, 0).inertia
    assert len(set(best_clustered(np.zeros((9, 2)), 15, 10, 0).labels)) == 1


OTHERS: dict[str, Any] = {
    "shortest_step": 900, "longest_step": 300, "average_over": 300, "hold_gaps": 0, "most_missing": 0.001,
    "least_days": 30, "periodic_days": 29, "month_days": 14, "sigma": 0.2, "daily_share": 0.99,
    "periodic_classes": 3, "constant_classes": 2, "unpredictable_classes": 1, "most_classes": 2, "level_weight": 0.0,
    "peak_quantile": 0.6, "reserve_cores": 0.1,
}  # fmt: skip
SAID_ONLY = {"agreement", "restarts", "rise_exceeded", "reserve_memory"}
"""One steers a sentence, one how sure the best is found, two plan (tests/cli/reporting/test_harvest_plan.py)."""
OF_TYPES = ("averaging", "typing", "classes", "reserve")


@pytest.mark.slow
@pytest.mark.parametrize("key", [k.name for m in OF_TYPES for k in MECHANISMS[m][1] if k.name not in SAID_ONLY])
def test_every_number_changes_what_is_found(key: str) -> None:
    finer = key in ("average_over", "shortest_step")
    assert found_by(replace(POLICY, **{key: OTHERS[key]}), finer) != usually_found(finer)


def found_by(policy: HarvestPolicy, finer: bool) -> str:
    """What is found of servers some of whose samples are missing, or why nothing is."""
    servers = []
    for name, course in mixed().items():
        times, use = samples(course)
        there = np.ones(len(use), np.bool_)
        there[700:702] = there[900:910] = name != "day1"
        servers.append(ServerHistory(name, times[there], use[there]))
    if finer:
        servers = [replace_step(s) for s in servers]
    try:
        found = on_one_grid(servers, policy)
        return repr((found.step, found.held, found.left_out, use_types(found, policy, sized=False).classes))
    except EvidenceError as error:
        return str(error)


@cache
def usually_found(finer: bool) -> str:
    """The same by the policy as it is."""
    return found_by(POLICY, finer)


def replace_step(server: ServerHistory) -> ServerHistory:
    """The same sampled thrice as often."""
    times = (server.times[:, None] + np.arange(7) * 120.0).reshape(-1)
    return server._replace(times=times, use=np.repeat(server.use, 7))


@pytest.mark.parametrize(("days", "most"), [(7, 3), (14, 1), (21, 1), (31, 1)])
def test_what_comes_by_chance_is_hardly_ever_taken_for_a_pattern_of_the_day(days: int, most: int) -> None:
    """Of 40 walks at most so many; a day with noise of a quarter of its size and quiet weekends always."""
    chance = np.random.default_rng(days)
    steps = np.arange(days * 96) / 96
    quiet = np.where(steps.astype(int) % 7 > 4, 0.8, 1.0)
    walks = np.zeros((40, len(steps)))
    for at in range(1, len(steps)):
        walks[:, at] = 0.995 * walks[:, at - 1] + chance.normal(0, 0.02, 40)
    phases = chance.random((40, 1))
    busy = quiet * (0.4 + 0.2 * np.sin(2 * np.pi * (steps + phases))) + chance.normal(0, 0.05, (40, len(steps)))
    found = [typed(use.astype(np.float32), 96, POLICY).pattern for use in (0.4 + walks, busy)]
    assert (found[0] == PERIODIC).sum() <= most
    assert (found[1] == PERIODIC).all()


@pytest.mark.parametrize(
    ("vcpus", "use", "free"), [(4, 0.3, 0), (8, 0.3, 2), (9, 1 / 3, 3), (16, 0.26, 5), (16, 0.9, 0), (100, 0.3, 36)]
)
def test_classes_count_whole_vcpus_of_each_server(vcpus: int, use: float, free: int) -> None:
    """Of 4 vCPUs the reserve and a use of 30 % take two each; 1.5 more were counted on every server. What is idle by
    the hour is the same, and so is what servers give when jobs run there."""
    flat = replace(
        histories({"web": np.full(8 * 96, use)}), servers=np.array([50], np.int64), cores=np.array([50.0 * vcpus])
    )
    types = use_types(flat, POLICY)
    (found,) = types.classes
    assert (found.short, found.medium, found.long) == pytest.approx((50 * free,) * 3)
    assert room_by_hour(types, POLICY) == pytest.approx(np.full((3, 1, 8, 24), 50.0 * free))
    assert max(spare(1000 * vcpus, in_use(1000 * vcpus, POLICY.reserve_cores), use, 0), 0) == 1000 * free
    twice = free_by_hour(types, 0, POLICY, 2.0 * vcpus)[1:] * 2 * vcpus
    assert twice.min() == twice.max() == max(2 * vcpus - math.ceil(2 * vcpus / 3) - math.ceil(2 * vcpus * use), 0)
    (shares,) = use_types(flat, POLICY, sized=False).classes
    assert shares.short == pytest.approx(50 * vcpus * max(2 / 3 - use, 0), rel=1e-4)


@pytest.mark.parametrize(("free", "server", "size", "part"), [(0.6, 8, 2, 0.5), (0.6, 8, 5, 0.0), (0.5, 8, 2, 0.5)])
def test_whole_jobs_have_of_a_server_what_holds_some_of_them(free: float, server: int, size: int, part: float) -> None:
    jobs, both = jobs_of([(0.0, 10.0, size, 1.0, 0)] * 2), np.ones(2, np.bool_)
    whole, mixed = (sizes_of(jobs, np.array(splits), both) for splits in ([False, False], [True, False]))
    assert packed(np.array([free]), server, whole).tolist() == pytest.approx([part])
    assert packed(np.array([free]), server, mixed).tolist() == pytest.approx([(part + free) / 2])
