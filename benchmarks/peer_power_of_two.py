"""Power of two in SimPy as its user would write it: a process a task, agents that decide one task at a time and see
what the others did only after a while, tenants that press on each other and go on at another rate as these come and go.

The same tasks, servers and terms as our engine's; chance is its own. Processor seconds include SimPy's alone.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from hcloud.policy.placing.promise import LOOKS_A_CANDIDATE

UNITS = 16
_DONE = 1e-12


@dataclass(frozen=True)
class Terms:
    """What the runs share: agents, seconds of a decision, of the wire and of a notice, and how a task slows down by so
    many points of pressure beyond what it bears; 0: nobody presses on anybody."""

    agents: int
    decision: float
    wire: float
    notice: float
    sensitivity: float
    worst: float
    candidates: int = 2


@dataclass(slots=True)
class Machine:
    """A server: units in use, the pressure of its tenants, their wake-up call, and what changed when by whom."""

    slowness: float
    changed: Any
    used: int = 0
    pressure: list[int] = field(default_factory=lambda: [0] * 10)
    changes: deque[tuple[float, int, int]] = field(default_factory=lambda: deque(maxlen=64))


class PowerOfTwo:
    """A run; ``responses`` are seconds from its coming to its end, by task."""

    def __init__(self, terms: Terms, slowness: list[float], tasks: list[tuple[float, float, list[int]]]) -> None:
        import simpy

        self.terms, self.tasks, self.chance = terms, tasks, random.Random(1)
        self.env = simpy.Environment()
        self.machines = [Machine(own, self.env.event()) for own in slowness]
        self.agents = [simpy.Resource(self.env, 1) for _ in range(terms.agents)]
        self.waiting: deque[tuple[int, Any]] = deque()
        self.responses = [0.0] * len(tasks)

    def run(self) -> list[float]:
        """Simulate to the end of the last task."""
        self.env.process(self._source())
        self.env.run()
        return self.responses

    def _source(self) -> Iterator[Any]:
        for number, (submit, _, _) in enumerate(self.tasks):
            yield self.env.timeout(submit - self.env.now)
            self.env.process(self._task(number))

    def _task(self, number: int) -> Generator[Any, Any, None]:
        agent = number % self.terms.agents
        with self.agents[agent].request() as turn:
            yield turn
            begun = self.env.now
            yield self.env.timeout(self.terms.decision)
        yield self.env.timeout(self.terms.wire)
        place = -1 if self.waiting else self._choose(agent, self.env.now - begun + self.terms.notice)
        if place < 0:
            called = self.env.event()
            self.waiting.append((number, called))
            place = yield called
        else:
            self._change(place, agent, 1, self.tasks[number][2])
        yield from self._work(number, self.machines[place])
        self._leave(place, self.tasks[number][2])
        self.responses[number] = self.env.now - self.tasks[number][0]

    def _work(self, number: int, machine: Machine) -> Iterator[Any]:
        _, left, vector = self.tasks[number]
        if self.terms.sensitivity == 0.0:
            yield self.env.timeout(left * machine.slowness)
            return
        while left > _DONE:
            rate, since = self._rate(machine, vector), self.env.now
            yield self.env.timeout(left / rate) | machine.changed
            left -= (self.env.now - since) * rate

    def _rate(self, machine: Machine, vector: list[int]) -> float:
        others = zip(machine.pressure, vector, strict=True)
        excess = sum(max(0.0, (all_ - mine) / UNITS - (99 - mine)) for all_, mine in others)
        return 1.0 / (min(1.0 + self.terms.sensitivity * excess / 100.0, self.terms.worst) * machine.slowness)

    def _choose(self, agent: int, age: float) -> int:
        """The less loaded of two free units, by a copy of an age; where others took both, of two more by the truth;
        then the first with room from one on that chance draws; -1."""
        for known in (age, 0.0):
            ranked = sorted(self._sample(agent, known))
            for _, place in ranked:
                if self.machines[place].used < UNITS:
                    return place
            if not ranked:
                break
        begin = self.chance.randrange(len(self.machines))
        for step in range(len(self.machines)):
            place = (begin + step) % len(self.machines)
            if self.machines[place].used < UNITS:
                return place
        return -1

    def _sample(self, agent: int, age: float) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        looks = 0
        while len(found) < self.terms.candidates and looks < LOOKS_A_CANDIDATE * self.terms.candidates:
            looks += 1
            place = self.chance.randrange(len(self.machines))
            if self.chance.randrange(UNITS) >= self._seen(self.machines[place], agent, age):
                found.append((self.machines[place].used, place))
        return found

    def _seen(self, machine: Machine, agent: int, age: float) -> int:
        used = machine.used
        if age > 0.0:
            for at, by, more in reversed(machine.changes):
                if at <= self.env.now - age:
                    break
                used -= more if by != agent else 0
        return used

    def _leave(self, place: int, vector: list[int]) -> None:
        self._change(place, -1, -1, vector)
        if self.waiting:
            number, called = self.waiting.popleft()
            self._change(place, -1, 1, self.tasks[number][2])
            called.succeed(place)

    def _change(self, place: int, agent: int, more: int, vector: list[int]) -> None:
        machine = self.machines[place]
        machine.used += more
        machine.changes.append((self.env.now, agent, more))
        if self.terms.sensitivity > 0.0:
            machine.pressure = [all_ + more * mine for all_, mine in zip(machine.pressure, vector, strict=True)]
            machine.changed.succeed()
            machine.changed = self.env.event()
