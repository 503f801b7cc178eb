"""Pools of reserved servers with jobs on them, as the controller's tables and as plain lists."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from hcloud.control.controller import open_pool
from hcloud.control.opening import new_control
from hcloud.control.searching.search import find
from hcloud.control.servers.tenancy import seat
from hcloud.control.state import OWN, Control, Job, RentableKind
from hcloud.policy.quality import encode
from hcloud.policy.records import table
from hcloud.policy.rules import Rules

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
