"""Servers chosen by rank: as a look at all of them would, by formulas that share no code with ours; and as chance says
where only a sample is looked at."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.control.controller import open_pool
from hcloud.control.search import find
from hcloud.control.servers import close_server, open_server, reshelve, seat, unseat
from hcloud.control.state import OWN, RENTED, UP, Control, Job, RentableKind, new_control
from hcloud.policy import codes
from hcloud.policy.quality import encode
from hcloud.policy.records import table
from hcloud.policy.rules import Rules
from hcloud.sim.kernels.objects import as_objects

SIZES = ((4_000, 16_000), (16_000, 64_000))
"""Thousandths of a vCPU and MiB of the two types."""
LARGE = 1
N = 10


def rules_of(ranking: int, **values: float) -> Rules:
    return Rules(informed=1, large=LARGE, join_starting=1, shared=1, **({"ranking": ranking} | values))  # type: ignore[arg-type]


class Pool:
    """Reserved servers with jobs on them, in the controller's tables and as plain lists."""

    def __init__(self, rules: Rules, counts: tuple[int, int], chance: random.Random) -> None:
        kinds = table(RentableKind, len(SIZES))
        for at, (cores, memory) in enumerate(SIZES):
            kinds[at].cores, kinds[at].memory = cores, memory
        self.chance, self.jobs, self.count = chance, table(Job, 4000), 0
        self.control: Control = new_control(rules, kinds, self.jobs, sum(counts) + 50)
        self.speeds = [[chance.randint(7_000, 10_000) for _ in SIZES] for _ in range(3)]
        for row in self.speeds:
            row[chance.randrange(2)] = 10_000
        self.control = self.control._replace(speeds=np.array(self.speeds))
        self.kind = [0] * counts[0] + [1] * counts[1]
        for kind, count in enumerate(counts):
            open_pool(self.control, kind, count)
        self.guests: list[list[int]] = [[] for _ in self.kind]

    def job(self, cores: int, vector: list[int]) -> int:
        number, self.count = self.count, self.count + 1
        one = self.jobs[number]
        one.ask = one.cores = cores
        one.memory, one.coin, one.platform = cores // 2, self.chance.random(), self.chance.randrange(3)
        one.server = -1
        apart = self.chance.random() < 0.5
        tolerated = [self.chance.randint(40, 99) if apart else 99 - v for v in vector]
        one.vector[:], one.tolerates[:] = vector, tolerated
        one.high, one.low = encode(np.array([99 - t for t in tolerated]))
        return number

    def fill(self, share: float) -> None:
        for place in range(len(self.kind)):
            while self.chance.random() < share and self.left(place) >= 1_000:
                job = self.job(1_000, [self.chance.randint(0, 60) for _ in range(N)])
                seat(self.control, job, place)
                self.guests[place].append(job)

    def left(self, place: int) -> int:
        return SIZES[self.kind[place]][0] - sum(int(self.jobs[j].cores) for j in self.guests[place])

    def with_room(self, job: int) -> list[int]:
        return [p for p in range(len(self.kind)) if self.left(p) >= self.jobs[job].ask]

    def pressed(self, place: int) -> list[Fraction]:
        """Points by which the tenants press, each by the share of the server that it has."""
        size = SIZES[self.kind[place]][0]
        own = [(self.jobs[j].vector, int(self.jobs[j].cores)) for j in self.guests[place]]
        return [sum((Fraction(int(v[i]) * cores, size) for v, cores in own), Fraction(0)) for i in range(N)]

    def spare(self, place: int, job: int) -> tuple[list[Fraction], list[Fraction]]:
        """Paragon's D1 and D2 in points: what the tenants bear less the job, what the job bears less the tenants."""
        size, mine, pressed = SIZES[self.kind[place]][0], self.jobs[job], self.pressed(place)
        weight = Fraction(int(mine.ask), size)
        first, second = [], []
        for i in range(N):
            bears = [Fraction(100)]
            for guest in self.guests[place]:
                own = Fraction(int(self.jobs[guest].vector[i]) * int(self.jobs[guest].cores), size)
                bears.append(int(self.jobs[guest].tolerates[i]) + own - pressed[i])
            first.append((min(bears[1:]) if len(bears) > 1 else bears[0]) - int(mine.vector[i]) * weight)
            second.append(int(mine.tolerates[i]) - pressed[i])
        return first, second

    def speed(self, place: int, job: int) -> int:
        return self.speeds[self.jobs[job].platform][self.kind[place]]


def pool(ranking: int, seed: int, **values: float) -> tuple[Pool, int]:
    chance = random.Random(seed)
    made = Pool(rules_of(ranking, **values), (chance.randint(1, 12), chance.randint(1, 12)), chance)
    made.fill(chance.choice([0.3, 0.8, 0.95]))
    worst = chance.choice([40, 99])
    return made, made.job(chance.choice([1_000, 2_000, 4_000]), [chance.randint(0, worst) for _ in range(N)])


def found(made: Pool, job: int) -> int:
    return find(made.control, OWN, made.jobs[job], int(made.jobs[job].ask), -1)


@settings(max_examples=30)
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


@settings(max_examples=30)
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


@settings(max_examples=30)
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
    draws, candidates = 10_000, 4
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
    assert apart < 0.02 + none, (apart, none)  # after a miss of all draws any server with room is taken


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


def test_a_job_that_leaves_restores_every_rank() -> None:
    made, job = pool(codes.BY_MATCH, 11, candidates=4, most_candidates=64)
    rows: Any = made.control.servers
    kept = [name for name in rows.dtype.names if name not in {"shelf", "block", "before", "after"}]
    before = {name: rows[name].copy() for name in kept}
    seat(made.control, job, found(made, job))
    unseat(made.control, job)
    assert all(np.array_equal(before[name], rows[name]) for name in kept)
