"""A server is found as by a look at all of them, whatever stood where before; that look shares no code with ours."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hcloud.control.controller import open_pool
from hcloud.control.opening import new_control
from hcloud.control.searching.search import find, find_idle, reserved_for
from hcloud.control.servers.tenancy import close_server, open_server, reshelve, seat, unseat
from hcloud.control.state import OWN, RENTED, UP, Control, Job, RentableKind
from hcloud.policy.codes import BEST_FIT, FIRST_FIT, LEAST_LOADED
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.quality import complement, encode
from hcloud.policy.records import table
from hcloud.policy.registry import compose
from hcloud.policy.rules import Rules
from hcloud.readers.strategies import load_strategy

SMALL, MIDDLE, LARGE = 0, 1, 2
SIZES = {SMALL: (2_000, 60_000), MIDDLE: (8_000, 90_000), LARGE: (16_000, 60_000)}
HM = compose(load_strategy("HM"), LARGE)


@dataclass
class Stand:
    """A server as a list of who is on it, and since when it has had so many sixteenths free."""

    kind: int = LARGE
    guests: dict[int, tuple[int, int, list[int]]] = field(default_factory=dict)
    free: int = 16
    since: int = 0
    vector: list[int] | None = None

    def left(self) -> tuple[int, int]:
        cores, memory = SIZES[self.kind]
        return cores - sum(g[0] for g in self.guests.values()), memory - sum(g[1] for g in self.guests.values())

    def harm(self, rules: Rules, guest: tuple[int, int, list[int]]) -> int:
        """By how much the others press too hard on whoever suffers most, if the guest comes."""
        together, worst, cores = [*self.guests.values(), guest], 0, SIZES[self.kind][0]
        for me, (_, _, mine) in enumerate(together):
            for i in range(RESOURCES):
                others = (g for j, g in enumerate(together) if j != me)
                pressure = sum(g[2][i] * (cores if rules.full_pressure else g[0]) for g in others)
                worst = max(worst, pressure - (mine[RESOURCES + i] + rules.tolerance) * cores)
        return worst


class Yard:
    """Servers of both pools and idle ones, here and in the controller's tables, changed together."""

    def __init__(self, rules: Rules, servers: int, chance: random.Random) -> None:
        kinds = table(RentableKind, len(SIZES))
        for kind, size in SIZES.items():
            kinds[kind].cores, kinds[kind].memory = size
        self.chance, self.jobs, self.steps = chance, table(Job, 4000), 0
        self.control: Control = new_control(rules, kinds, self.jobs, servers)
        self.shelves: dict[int, Stand] = {}
        middle = servers // 4 if chance.random() < 0.7 else 0
        self.pools = {OWN: self.reserved(servers // 2 - middle, LARGE) + self.reserved(middle, MIDDLE)}
        self.pools[RENTED] = self.opened(servers // 4, RENTED, LARGE)
        self.idle = self.opened(servers - servers // 2 - servers // 4, RENTED, SMALL)

    def reserved(self, count: int, kind: int) -> list[int]:
        first = self.control.desk.own
        open_pool(self.control, kind, count)
        numbers = list(range(first, first + count))
        for number in numbers:
            self.steps += 1
            self.shelves[number] = Stand(kind, free=SIZES[kind][0] * 16 // SIZES[LARGE][0], since=self.steps)
        return numbers

    def opened(self, count: int, paid: int, kind: int) -> list[int]:
        made = []
        for _ in range(count):
            number = open_server(self.control, kind, paid, 0.0)
            self.control.servers[number].status = UP
            reshelve(self.control, number)
            self.steps += 1
            self.shelves[number] = Stand(kind, since=self.steps)
            made.append(number)
        return made

    def drawn(self, number: int) -> tuple[int, int, list[int]]:
        """A job's size, what it causes and what it tolerates: mostly tolerant, some sensitive to one thing."""
        chance, job = self.chance, self.jobs[number]
        vector = [chance.randint(0, 12) for _ in range(RESOURCES)]
        if chance.random() < 0.5:
            vector[chance.randrange(RESOURCES)] = chance.randint(40, 99)
        cores = chance.choice([400, 1000, 1000, 2000, 4000, 7900])
        job.ask, job.cores, job.memory, job.vector[:] = cores, cores, chance.choice([500, 4000, 9000, 30_000]), vector
        tolerated = [99 - v if chance.random() < 0.8 else chance.randint(0, 99) for v in vector]
        job.tolerates[:] = tolerated
        job.high, job.low = encode(np.array([99 - t for t in tolerated]))
        return cores, int(job.memory), vector + tolerated

    def put(self, number: int, place: int) -> None:
        job = self.jobs[number]
        seat(self.control, number, place)
        nature = [int(v) for v in (*job.vector, *job.tolerates)]
        self.shelves[place].guests[number] = (int(job.cores), int(job.memory), nature)
        self.note(place)

    def take(self, number: int) -> None:
        place = unseat(self.control, number)
        del self.shelves[place].guests[number]
        self.note(place)

    def note(self, place: int) -> None:
        shelf = self.shelves[place]
        free = shelf.left()[0] * 16 // SIZES[LARGE][0]
        self.steps += 1
        if free != shelf.free:
            shelf.free, shelf.since = free, self.steps

    def look(self, number: int) -> None:
        """An idle instance is measured, or ended and another one idle in its place."""
        if self.chance.random() < 0.2:
            self.idle.remove(number)
            close_server(self.control, number)
            del self.shelves[number]
            self.idle += self.opened(1, RENTED, SMALL)
            return
        vector = [self.chance.randint(0, 99) for _ in range(RESOURCES)]
        server = self.control.servers[number]
        server.high, server.low = complement(*encode(np.array(vector)))
        self.shelves[number].vector = vector
        reshelve(self.control, number)

    def in_order(self, paid: int) -> list[int]:
        order, shelves = self.control.rules.order, self.shelves
        if order == FIRST_FIT and paid == OWN:
            return sorted(self.pools[paid])
        sign = -1 if order == LEAST_LOADED else 1
        return sorted(self.pools[paid], key=lambda n: (sign * shelves[n].free, shelves[n].since))

    def best(self, paid: int, guest: tuple[int, int, list[int]], avoid: int) -> tuple[int, int]:
        """The server that a look at every one finds, and the harm there; -1 where nothing has room."""
        rules, found = self.control.rules, (-1, 0)
        for number in self.in_order(paid):
            cores, memory = self.shelves[number].left()
            if number == avoid or cores < guest[0] or memory < guest[1]:
                continue
            harm = self.shelves[number].harm(rules, guest) if rules.informed else 0
            if found[0] < 0 or harm < found[1]:
                found = number, harm
        return found


def quality_of(vector: list[int]) -> int:
    return int("".join(f"{v:02d}" for v in sorted(vector, reverse=True)))


def suits(shelf: Stand, wanted: list[int], needs: bool) -> bool:
    return not needs or shelf.vector is None or 10**20 - 1 - quality_of(shelf.vector) >= quality_of(wanted)


RULES = st.fixed_dictionaries(
    {
        "order": st.sampled_from([BEST_FIT, BEST_FIT, LEAST_LOADED, FIRST_FIT]),
        "interference_is_full": st.integers(0, 1),
        "informed": st.sampled_from([1, 1, 1, 0]),
        "full_pressure": st.sampled_from([0, 0, 1]),
        "tolerance": st.sampled_from([0, 5]),
        "needs_quality": st.integers(0, 1),
        "shared": st.just(1),
    }
)


PLAIN = {"interference_is_full": 0, "informed": 1, "tolerance": 5, "needs_quality": 1, "shared": 1}
"""With these, a slip in an order is met at once; of rules that are drawn three in ten draws miss it."""


@settings(deadline=None, max_examples=1)
@example({**PLAIN, "order": LEAST_LOADED, "full_pressure": 1}, 40, 4)
@example({**PLAIN, "order": FIRST_FIT, "full_pressure": 0}, 40, 4)
@given(RULES, st.sampled_from([8, 40, 160]), st.integers(0, 2**32))
def test_the_search_finds_what_a_look_at_every_server_finds(changes: dict[str, int], servers: int, seed: int) -> None:
    chance = random.Random(seed)
    yard = Yard(HM._replace(**changes), servers, chance)
    control, running = yard.control, list[int]()
    for number in range(150):
        guest, paid, avoid = yard.drawn(number), chance.choice([OWN, RENTED]), chance.randrange(-1, servers)
        job = yard.jobs[number]
        least, harm = yard.best(paid, guest, avoid)
        found = find(control, paid, job, job.ask, avoid)
        assert found == (least if harm == 0 else -1)
        strict = bool(changes["interference_is_full"])
        if paid == OWN:
            assert reserved_for(control, job, avoid) == (-1 if strict and harm > 0 else least)
        place = found if found >= 0 or strict else least
        if place >= 0:
            yard.put(number, place)
            running.append(number)
        idle = sorted(yard.idle, key=lambda n: -yard.shelves[n].since)
        needs = bool(changes["needs_quality"])
        expected = next((n for n in idle if suits(yard.shelves[n], [99 - t for t in guest[2][RESOURCES:]], needs)), -1)
        assert find_idle(control, SMALL, job) == expected
        yard.look(chance.choice(yard.idle))
        if running and chance.random() < 0.45:
            yard.take(running.pop(chance.randrange(len(running))))


@pytest.mark.parametrize("emptied", ["first", "last", "any"])
def test_blocks_of_a_shelf_stay_few_and_whole(emptied: str) -> None:
    chance = random.Random(1)
    yard = Yard(HM, 1400, chance)
    control, order = yard.control, [n for n in yard.pools[OWN] if yard.shelves[n].kind == LARGE]
    shelf = control.shelves[16]
    while len(order) > 1:
        number = order.pop({"first": 0, "last": -1, "any": chance.randrange(len(order))}[emptied])
        control.servers[number].paid = -1  # belongs on no shelf any more
        reshelve(control, number)
        if len(order) % 53 == 0:
            sizes, seen, block = list[int](), list[int](), int(shelf.head)
            while block >= 0:
                sizes.append(int(control.blocks[block].length))
                server = int(control.blocks[block].first)
                while server >= 0:
                    seen.append(server)
                    server = int(control.servers[server].after)
                block = int(control.blocks[block].after)
            assert seen == order
            assert sum(sizes) == shelf.length == len(order)
            assert len(sizes) <= 4 * len(order) / max(16, int(len(order) ** 0.5)) + 1
