"""A pool that is asked for more than it has, by agents in any order."""

from __future__ import annotations

import random
from collections import Counter
from heapq import heappop, heappush

from from_the_front import refusing
from pieces import with_keys

from hcloud.control.admission import overdue
from hcloud.control.controller import arrive, leave, open_pool
from hcloud.control.losses import cancel, lose
from hcloud.control.opening import new_control
from hcloud.control.pieces import are_linked
from hcloud.control.servers.buckets import recount
from hcloud.control.state import Control, Job, RentableKind
from hcloud.policy.codes import HELD_BACK, LOST, MOVE, PLACE, WAIT, YIELDS
from hcloud.policy.records import Table, table
from hcloud.policy.registry import compose
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.objects import as_objects

CORES, JOBS = 4_000, 400
STARTED, QUEUED, GONE = range(3)
SPARE = 0.4
"""The share of jobs that are best effort, where jobs are watched: they yield to others."""


class Crowd:
    """A pool that is asked for more than it has, by agents in any order; who is where, as the commands say."""

    def __init__(self, placement: str, servers: int, seed: int, changes: tuple[str, ...] = (), most: int = 1) -> None:
        """With jobs of up to ``most`` servers."""
        self.chance, self.now, self.next = random.Random(seed), 0.0, 0
        kinds = table(RentableKind, 1)
        kinds[0].cores, kinds[0].memory, kinds[0].spin_up = CORES, 16_000, 10.0
        jobs = table(Job, JOBS)
        for at in range(JOBS):
            jobs[at].ask, jobs[at].memory = self.chance.choice([1_000, 1_000, 2_000, 4_000]), 1_000
            jobs[at].coin, jobs[at].again, jobs[at].server = self.chance.random(), 1, -1
            for i in range(10):
                jobs[at].vector[i] = self.chance.randint(0, 30)
                jobs[at].tolerates[i] = 99 - jobs[at].vector[i]
        rules = compose(with_keys(load_strategy(f"SR+{placement}"), *changes), 0, (5_000,))
        self.yielded = 0
        self.pieces = [1] * JOBS
        self._link(jobs, most if are_linked(rules) else 1)
        made = new_control(rules, kinds, jobs, servers + 10)
        open_pool(made, 0, servers)
        self.control: Control = refusing(as_objects(made))
        for at in range(len(self.control.watched)):
            self.control.watched[at].spare = int(self.control.jobs[at].coin < SPARE)
        self.servers = set(range(servers))
        self.state: dict[int, int] = {}
        self.starts = [0] * JOBS
        self.bounds: list[tuple[float, int]] = []

    def _link(self, jobs: Table[Job], most: int) -> None:
        """Give jobs several pieces, of rows that follow each other."""
        at = 0
        while at < JOBS:
            count = min(self.chance.randint(1, most), JOBS - at) if most > 1 else 1
            for row in range(at, at + count):
                self.pieces[row], jobs[row].chosen = count, -1
                jobs[row].ask, jobs[row].kind = jobs[at].ask, jobs[at].kind
                if count > 1:
                    jobs[row].piece_after = row + 2 if row + 1 < at + count else at + 1
                    jobs[row].piece_before = row if row > at else at + count
            at += count

    def obey(self) -> None:
        desk = self.control.desk
        for at in range(desk.commands):
            order = self.control.commands[at]
            if order.what == PLACE:
                assert self.state.get(order.job) != STARTED, "begun twice"
                self.state[order.job] = STARTED
                self.starts[order.job] += 1
            elif order.what == MOVE:  # another piece was lost, or it yields: it begins anew, or waits
                self.state[order.job] = QUEUED
                self.yielded += order.reason == YIELDS
            elif order.what == WAIT:
                self.state[order.job] = QUEUED
                if order.reason == HELD_BACK:
                    heappush(self.bounds, (order.margin, order.job))
        desk.commands = 0

    def pass_time(self, seconds: float) -> None:
        """Whoever was held back long enough by then is told so."""
        until = self.now + seconds
        while self.bounds and self.bounds[0][0] <= until:
            at, job = heappop(self.bounds)
            self.now = max(self.now, at)
            overdue(self.control, job, at)
            self.obey()
        self.now = until

    def of(self, state: int) -> list[int]:
        return [job for job, at in self.state.items() if at == state]

    def step(self) -> None:
        self.pass_time(self.chance.expovariate(20.0))
        what, control = self.chance.random(), self.control
        running, waiting = self.of(STARTED), self.of(QUEUED)
        if what < 0.55 and self.next < JOBS:
            if control.rules.agents:
                control.desk.agent, control.desk.copy_age = self.next % 3, self.chance.choice([0.005, 0.1, 2.0])
            self.next += self.pieces[self.next]
            arrive(control, self.next - 1, self.now)
        elif what < 0.9 and running:
            self.state[job := self.chance.choice(running)] = GONE
            leave(control, job, 1.0, self.now)
        elif what < 0.97 and waiting:
            self.state[job := self.chance.choice(waiting)] = GONE
            cancel(control, job, self.now)
        elif len(self.servers) > 2:
            place = self.chance.choice(sorted(self.servers))
            self.servers.remove(place)
            for job in running:
                if control.jobs[job].server == place:
                    self.state[job] = QUEUED  # it begins anew, or waits
            lose(control, place, LOST, 0.0, self.now)
        self.obey()

    def check(self) -> None:
        control, used = self.control, Counter[int]()
        for job in self.of(STARTED):
            used[control.jobs[job].server] += control.jobs[job].cores
        for place in self.servers:
            assert used[place] == control.servers[place].used <= CORES
        waiting = self.of(QUEUED)
        assert control.desk.used == sum(used[place] for place in self.servers)
        assert control.desk.queued == len(waiting)
        for job in waiting:
            assert control.jobs[job].held == 0 or control.jobs[job].until > self.now, "held back beyond the bound"
        if control.rules.buckets:
            counted = [bucket.free for bucket in (control.buckets[at] for at in range(len(control.buckets)))]
            for place in self.servers:
                recount(control, place, False)
            assert counted == [control.buckets[at].free for at in range(len(control.buckets))]
            assert sum(counted) == sum((CORES - control.servers[p].used) // 1_000 for p in self.servers)
