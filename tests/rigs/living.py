"""A live controller for tests: small sessions, what must hold of their tables, and streams of events that can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hcloud.control.sessions.session import ControlSession
from hcloud.control.state import CLOSED, INTERRUPTIBLE, OWN, STARTING, UP
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import (
    Arrival,
    BelowQos,
    Cancelled,
    ClockTick,
    Closing,
    Completion,
    Event,
    Failed,
    Interruption,
    LaunchFailed,
    Lost,
    Pool,
    Progress,
    Quality,
    Ready,
    Reclassified,
)
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.registry import compose, rents_whole_servers
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import plain

TYPES = (
    TypeFacts("small", 2_000, 8_192, 20.0, 9_900),
    TypeFacts("medium", 4_000, 16_384, 20.0, 9_900),
    TypeFacts("large", 16_000, 65_536, 10.0, 9_900),
)
CALM = (0,) * 10


def setup_of(name: str, pool: int = 0, **rules: object) -> Setup:
    """What a controller of a bundled strategy is told, with other values for some rules."""
    strategy = load_strategy(name)
    made = compose(strategy, 2)._replace(**rules)  # type: ignore[arg-type]
    return Setup(strategy.name, strategy.digest(), made, rents_whole_servers(strategy), pool, 0.0, TYPES)


def session(name: str, pool: int = 0, **rules: object) -> ControlSession:
    """A fresh controller in plain Python."""
    return ControlSession(setup_of(name, pool, **rules), plain())


def spot() -> ControlSession:
    """Jobs that may be interrupted go to spot capacity, the others on demand."""
    return session("OdM", spot=1, spot_quality=10_000)


def came(job: str, at: float = 0.0, cores: int = 2, *, restartable: bool = False, movable: bool = True) -> Arrival:
    return Arrival(at, job, cores * 1000, cores * 4096, CALM, restartable, 0.5, movable=movable)


def told(made: list[Decision]) -> list[tuple[str, str | None, str, str]]:
    return [(d.action.value, d.job, d.place, d.reason) for d in made]


def feed(live: ControlSession, *events: Event) -> list[Decision]:
    return [d for event in events for d in live.handle(event)]


def sound(live: ControlSession) -> None:
    """The tables agree with each other: nobody is on a server that is gone, sums are those of the tenants."""
    control = live.tables.control
    used = dict.fromkeys(live.instances, 0)
    slots = {i.slot: number for number, i in live.instances.items()}
    for job, row in live.tables.rows.items():
        slot = int(live.tables.server[row])
        if slot >= 0:
            assert slot in slots, job
            used[slots[slot]] += int(live.tables.cores[row])
    for number, instance in live.instances.items():
        assert control.servers[instance.slot].used == used[number], number
        assert control.servers[instance.slot].status != 0, number
    own = [n for n, i in live.instances.items() if i.paid == 0]
    assert control.desk.own == len(own)
    assert control.desk.used == sum(used[n] for n in own)
    assert control.desk.pool == sum(TYPES[live.instances[n].kind].cores for n in own)


Draw = tuple[int, int, int, int]
"""What an event is made of by chance: its kind, whom it is about, how much of something, seconds since the last."""


def events_of(live: ControlSession, draws: Iterable[Draw]) -> Iterator[Event]:
    """Events that can be, each made when the one before it has been handled; what a draw cannot mean is left out."""
    at, jobs = 0.0, 0
    for kind, whom, much, gap in draws:
        if gap:
            at = max(at, live.now) + gap / 4
            yield ClockTick(at)  # what is due happens before anybody is chosen
        if kind < 4:
            jobs += 1
            vector = tuple((much * 7 + i * whom) % 100 for i in range(10))
            ask = (500, 1000, 2000, 3000, 4000, 8000, 16_000, 17_000)[much % 8]
            yield Arrival(at, f"j{jobs}", ask, ask * 3, vector, whom % 2 == 0, whom / 1000, movable=much % 3 > 0)
            continue
        made = _of_jobs(live, kind, whom, much, at) if kind < 8 else _of_instances(live, kind, whom, much, at)
        if made is not None:
            yield made


def _of_jobs(live: ControlSession, kind: int, whom: int, much: int, at: float) -> Event | None:
    names = list(live.tables.rows)
    if not names:
        return None
    job = names[whom % len(names)]
    slot = int(live.tables.server[live.tables.rows[job]])
    if kind == 7 and much % 2:
        return Cancelled(at, job)
    if slot < 0 or live.tables.status[slot] not in (UP, CLOSED):
        return None
    ends: tuple[Event, ...] = (
        Completion(at, job, 0.5 + much / 200), Failed(at, job, 1 + much % 127), BelowQos(at, job, much / 100),
        Progress(at, job, much / 100),
        Reclassified(at, job, tuple((much * 3 + i * whom) % 100 for i in range(10)), much / 100),
    )  # fmt: skip
    return ends[(0, 0, 2, much // 2 % (5 if live.setup.rules.informed else 4))[kind - 4]]


def _of_instances(live: ControlSession, kind: int, whom: int, much: int, at: float) -> Event | None:
    numbers = list(live.instances)
    if kind == 15:
        return ClockTick(at)
    if kind == 14:
        return _pool(live, much % 5, at)
    if not numbers:
        return None
    number = numbers[whom % len(numbers)]
    instance = live.instances[number]
    starts = live.tables.status[instance.slot] == STARTING
    if kind == 13:
        here = [job for job, row in live.tables.rows.items() if live.tables.server[row] == instance.slot]
        return Lost(at, number, tuple(here[: much % 3]))
    if starts:
        return LaunchFailed(at, number, "none left", at + much) if kind == 12 else Ready(at, number)
    if kind == 10:
        return Closing(at, number, over=live.is_closed(number))
    if kind == 12 and instance.paid == INTERRUPTIBLE:
        return Interruption(at, number)
    return Quality(at, number, much / 100) if kind == 11 else None


def _pool(live: ControlSession, size: int, at: float) -> Event | None:
    mine = [i for i in live.instances.values() if i.paid == OWN]
    busy = sum(live.tables.tenants[i.slot] > 0 for i in mine)
    return Pool(at, size) if live.setup.pool and size >= busy else None
