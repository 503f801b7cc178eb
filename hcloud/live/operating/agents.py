"""Agents: processes that each keep a copy of the controller and propose servers for the jobs they are asked about.

One controller holds the journal and commits. What an agent that dies was asked about is void, for nothing was
committed, and another agent is asked after a while (Tarcil, thesis §7.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.event import Arrival, Event

SILENT_SECONDS = 10.0
"""Ours: an agent that has not answered for so long is ended, and counts as dead."""
MOST_DEATHS = 2
"""Ours: after so many agents died of one job the controller decides on it alone."""


class Agent(Protocol):
    """A process that keeps a copy, and reads what it is told in order."""

    def tell(self, event: Event) -> None:
        """What happened."""

    def ask(self, arrival: Arrival) -> None:
        """Have servers proposed for a job."""

    def answers(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Jobs and the instances that were proposed for them since the last call, the best first."""

    @property
    def lives(self) -> bool:
        """Whether it may still answer."""

    def end(self) -> None:
        """End it."""


@dataclass(slots=True)
class _Open:
    """A job that is to be decided on: which agent was asked (-1: none yet), when, or from when on one may be, and how
    many agents died of it."""

    arrival: Arrival
    agent: int = -1
    at: float = 0.0
    deaths: int = 0


@dataclass
class Agents:
    """So many agents, each with a copy of the ``session``; ``start`` begins one, ``takeover`` is seconds until another
    agent is asked in place of a dead one. Jobs go to them in turn."""

    session: ControlSession
    start: Callable[[ControlSession], Agent]
    count: int
    takeover: float
    _agents: list[Agent] = field(default_factory=list)
    _open: dict[str, _Open] = field(default_factory=dict)
    _asked: int = 0

    def __post_init__(self) -> None:
        self._agents = [self.start(self.session) for _ in range(self.count)]

    def tell(self, event: Event) -> None:
        """Tell all agents what happened."""
        for agent in self._agents:
            agent.tell(event)

    def ask(self, arrival: Arrival) -> None:
        """Have the next agent decide on a job."""
        self._open[arrival.job] = _Open(arrival, at=arrival.at)
        self._send(self._open[arrival.job], arrival.at)

    def answers(self, now: float) -> Iterator[Arrival]:
        """Jobs that were decided on, with who proposed what; those that no agent can decide on with nothing."""
        proposed: dict[str, tuple[int, ...]] = {}
        for number, agent in enumerate(self._agents):
            mine = [
                (job, ranked)
                for job, ranked in agent.answers()
                if job in self._open and self._open[job].agent == number
            ]
            proposed.update(mine)
        for job, known in list(self._open.items()):  # in the order in which they came
            if job in proposed:
                del self._open[job]
                age = now - known.at
                yield replace(known.arrival, at=now, agent=known.agent, copy_age=age, ranked=proposed[job])
        for number in range(self.count):
            self._bury(number, now)
        for job, known in list(self._open.items()):
            if known.deaths >= MOST_DEATHS:
                del self._open[job]
                yield replace(known.arrival, at=now)
            elif known.agent < 0 and known.at <= now:
                self._send(known, now)

    def _send(self, known: _Open, now: float) -> None:
        known.agent, known.at = self._asked % self.count, now
        self._asked += 1
        self._agents[known.agent].ask(known.arrival)

    def _bury(self, number: int, now: float) -> None:
        """Begin a new process in place of one that is dead or silent; what was open there is void."""
        mine = [known for known in self._open.values() if known.agent == number]
        silent = any(now - known.at > SILENT_SECONDS for known in mine)
        if self._agents[number].lives and not silent:
            return
        self._agents[number].end()
        for known in mine:
            known.agent, known.at, known.deaths = -1, now + self.takeover, known.deaths + 1
        self._agents[number] = self.start(self.session)

    def close(self) -> None:
        for agent in self._agents:
            agent.end()
