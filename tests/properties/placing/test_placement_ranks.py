"""Servers chosen by rank: as a look at all of them would, by formulas that share no code with ours; and as chance says
where only a sample is looked at."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placing import LARGE, SIZES, N, Pool, found, pool, rules_of

from hcloud.control.searching.search import find
from hcloud.control.servers.tenancy import close_server, open_server, reshelve
from hcloud.control.state import OWN, RENTED, UP
from hcloud.policy import codes
from hcloud.sim.machine_code.objects import as_objects


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6))
def test_the_simple_placements_take_what_their_name_says(seed: int) -> None:
    made, job = pool(codes.BY_NUMBER, seed)
    free = made.with_room(job)
    assert found(made, job) == min(free, default=-1)
    made, job = pool(codes.BY_LOAD, seed)
    used = {p: 1 - Fraction(made.left(p), SIZES[made.kind[p]][0]) for p in free}
    taken = found(made, job)
    assert taken == min(free, key=lambda p: (used[p], p), default=-1)
    made, job = pool(codes.BY_PLATFORM, seed)
    assert found(made, job) == min(free, key=lambda p: (-made.speed(p, job), p), default=-1)


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6))
def test_paragon_takes_the_closest_of_the_best_type_that_passes_its_filters(seed: int) -> None:
    made, job = pool(codes.FILTERED, seed, first_relaxation=1, most_looks=10**6)
    free = made.with_room(job)
    spare = {p: made.spare(p, job) for p in free}
    passing = [p for p in free if min(*spare[p][0], *spare[p][1]) >= 0]
    taken = found(made, job)
    if not passing:
        assert (taken in free) == bool(free)
        return
    best = max(made.speed(p, job) for p in passing)
    away = {p: sum(abs(a + b) for a, b in zip(*spare[p], strict=True)) for p in passing}
    nearest = min(away[p] for p in passing if made.speed(p, job) == best)
    assert taken in passing
    assert made.speed(taken, job) == best
    assert away[taken] - nearest < 1  # distances are compared in whole points


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6))
def test_a_sample_of_all_units_is_a_look_at_all_servers(seed: int) -> None:
    made, job = pool(codes.BY_MATCH, seed, candidates=1024, most_candidates=1024)
    free, need = made.with_room(job), encoded([99 - int(t) for t in made.jobs[job].tolerates])
    quality = {}
    for place in free:
        size = SIZES[made.kind[place]][0] // 1000
        felt = [p * size / (size - 1) for p in made.pressed(place)]
        quality[place] = 100**N - 1 - encoded([int(f + Fraction(1, 2)) for f in felt])
    best = max((made.speed(p, job) for p in free), default=0)
    kept = {p: quality[p] for p in free if made.speed(p, job) >= best}
    good = [p for p in kept if kept[p] >= need]
    aim = min((kept[p] for p in good), default=max(kept.values(), default=0))
    taken = found(made, job)
    assert taken == -1 if not free else kept[taken] == aim


def encoded(vector: list[int]) -> int:
    number = 0
    for entry in sorted(vector, reverse=True):
        number = number * 100 + min(entry, 99)
    return number


@pytest.mark.parametrize("over_all", [0, 1])
@pytest.mark.parametrize(("servers", "share"), [(40, 0.5), (200, 0.9)])
def test_the_best_of_a_sample_follows_the_exact_law(servers: int, share: float, over_all: int) -> None:
    """Rank the free units by server: the best of R lies at or below i with 1 - (units above i / units)^R. Over all
    units a busy one misses, so fewer draws count."""
    draws, candidates = 5_000, 4
    made = Pool(rules_of(codes.BY_NUMBER, candidates=candidates, most_candidates=64, over_all=over_all),
                (0, servers), random.Random(servers))  # fmt: skip
    made.fill(share)
    free = [made.left(p) // 1000 for p in range(servers)]
    counts, job = [0] * (servers + 1), made.job(1_000, [0] * N)
    quick = as_objects(made.control)
    for _ in range(draws):
        quick.jobs[job].coin = made.chance.random()
        counts[find(quick, OWN, quick.jobs[job], 1_000, -1)] += 1
    units, total = (16 * servers if over_all else sum(free)), sum(free)
    none = (1 - total / units) ** candidates
    seen, above, apart = 0, total, 0.0
    for place in range(servers):
        seen, above = seen + counts[place], above - free[place]
        expected = 1 - ((units - total + above) / units) ** candidates if total else 0.0
        apart = max(apart, abs(seen / draws - expected))
    assert apart < 0.03 + none, (apart, none)  # after a miss of all draws any server with room is taken


def test_a_roster_lists_what_is_open_and_nothing_else() -> None:
    chance = random.Random(4)
    made = Pool(rules_of(codes.BY_LOAD), (3, 5), chance)
    control, rented = made.control, list[int]()
    for _ in range(400):
        if rented and chance.random() < 0.5:
            close_server(control, rented.pop(chance.randrange(len(rented))))
        elif len(rented) < 40:
            number = open_server(control, LARGE, RENTED, 0.0)
            control.servers[number].status = UP
            reshelve(control, number)
            rented.append(number)
        listed = [int(control.rosters[at].server[RENTED]) for at in range(int(control.desk.listed[RENTED]))]
        assert sorted(listed) == sorted(rented)
        assert all(control.servers[number].place == at for at, number in enumerate(listed))
    assert int(control.desk.listed[OWN]) == 8
