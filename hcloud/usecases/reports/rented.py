"""From a journal to what was rented: the reserved pool all the time, each launched machine until its release.

A commitment is paid even while its machine is lost; a machine that could not be launched is not paid."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from hcloud.control.operating.costs import rental_of
from hcloud.model.catalog import PurchaseOption
from hcloud.model.report import MachineRental, Period
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Event, Pool, Ready
from hcloud.model.workload import DATES_FROM
from hcloud.planning.changes.slots import RESERVED
from hcloud.policy.facts import Setup
from hcloud.store.journals.journal import JournalContents
from hcloud.units import counted
from hcloud.usecases.live.operating.operate import fold_of

_EXACT = 1e-6  # what is left of the differences of two times
_RESERVED, _LAUNCH_FAILED = "reserved server", "launch-failed"


@dataclass(frozen=True, slots=True)
class JournalRentals:
    """What a journal says was rented, when it began and ended, and so many of each type in its ``pool``."""

    rented: tuple[MachineRental, ...]
    period: Period
    pool: dict[str, int]


def ends_not_told(rented: Iterable[MachineRental], period: Period) -> Iterator[str]:
    """Of how many machines a period charges more than the bill may, since their cloud does not tell when they ended."""
    unsure = sum(1 for u in rented if not u.end_is_told and u.end is not None and u.end > period.start)
    if unsure:
        yield (
            f"of {counted(unsure, 'machine')} the cloud reported no end: charged until hcloud saw it missing, "
            "which may exceed the bill"
        )


def is_dated(setup: Setup, entries: Iterable[Event | Decision]) -> bool:
    """Whether the times of a journal are dates."""
    first = setup.start if setup.start is not None else next((e.at for e in entries), 0.0)
    return first >= DATES_FROM


def rented_in(setup: Setup, entries: tuple[Event | Decision, ...], origin: int) -> JournalRentals:
    """What was rented; times count from ``origin`` (0 where they are dates). Machines are charged from launch to
    release in whole seconds rounded outwards, as the simulator does; what still runs does so at the end."""
    begins = setup.start if setup.start is not None else (entries[0].at if entries else 0.0)
    ends = max((e.at for e in entries), default=begins)
    period = Period(origin + math.floor(begins), origin + max(math.ceil(ends), math.floor(begins) + 1))
    pool = _pool(setup, entries, origin, period)
    return JournalRentals((*pool, *_launched(entries, origin)), period, _committed(setup, entries))


def rented_live(journal: JournalContents) -> JournalRentals:
    """The same of live work: each machine from when its cloud says that it began to when it ended."""
    fold = fold_of(journal)
    standing = (rental_of(machine) for machine in fold.standing.values())
    rented = (*fold.rented, *(rental for rental in standing if rental is not None))
    begins = min((r.start for r in rented), default=math.floor(fold.began))
    ends = max((r.end for r in rented if r.end is not None), default=begins)
    period = Period(min(begins, math.floor(fold.began)), max(ends, math.ceil(fold.last), begins + 1))
    return JournalRentals(rented, period, _committed(journal.setup, journal.entries))


def _committed(setup: Setup, entries: Iterable[Event | Decision]) -> dict[str, int]:
    """The most reserved servers at a time, by type."""
    now = Counter(setup.types[kind].name for kind in setup.reserve)
    most = now.copy()
    for entry, name in _about_reserve(setup, entries):
        now[name] += 1 if entry.action is DecisionAction.LAUNCH else -1
        most[name] = max(most[name], now[name])
    return dict(most)


def _about_reserve(setup: Setup, entries: Iterable[Event | Decision]) -> Iterator[tuple[Decision, str]]:
    """The decisions by which a server joined the reserve or left it, and its type."""
    names, grown = {n: setup.types[kind].name for n, kind in enumerate(setup.reserve)}, setup.large.name
    for entry in entries:
        if isinstance(entry, Pool):
            grown = entry.type or setup.large.name
        if not isinstance(entry, Decision) or entry.instance is None or not entry.place.startswith(_RESERVED):
            continue
        if entry.action is DecisionAction.LAUNCH:
            names[entry.instance] = grown
        if entry.action in (DecisionAction.LAUNCH, DecisionAction.RELEASE):
            yield entry, names[entry.instance]


def _pool(setup: Setup, entries: Iterable[Event | Decision], origin: int, period: Period) -> Iterator[MachineRental]:
    begun = {number: (setup.types[kind].name, period.start) for number, kind in enumerate(setup.reserve)}
    ended: dict[int, int] = {}
    for entry, name in _about_reserve(setup, entries):
        assert entry.instance is not None
        if entry.action is DecisionAction.LAUNCH:
            begun[entry.instance] = name, origin + math.floor(entry.at)
        else:
            ended[entry.instance] = origin + math.ceil(entry.at)
    for number, (name, start) in begun.items():
        end = ended.get(number, period.end)
        yield MachineRental(f"{RESERVED}-{number}", RESERVED, name, "", PurchaseOption.ON_DEMAND, start, end)


def _launched(entries: Iterable[Event | Decision], origin: int) -> Iterator[MachineRental]:
    running: dict[int, MachineRental] = {}
    for entry in entries:
        if isinstance(entry, Ready) and entry.spin_up is not None and entry.instance in running:
            begun = math.floor(entry.at - entry.spin_up + _EXACT)
            running[entry.instance] = replace(running[entry.instance], start=origin + begun)
        if not isinstance(entry, Decision) or entry.instance is None:
            continue
        if entry.action is DecisionAction.LAUNCH and not entry.place.startswith(_RESERVED):
            running[entry.instance] = _usage(entry, origin)
        elif entry.action is DecisionAction.RELEASE and entry.instance in running:
            done = running.pop(entry.instance)
            if entry.reason != _LAUNCH_FAILED:
                yield replace(done, end=origin + math.ceil(entry.at))
    yield from running.values()


def _usage(launch: Decision, origin: int) -> MachineRental:
    paid, _, name = launch.place.partition(" ")
    option = PurchaseOption.SPOT if paid == PurchaseOption.SPOT else PurchaseOption.ON_DEMAND
    address = app_of(launch.job or "") or paid
    return MachineRental(f"{paid}-{launch.instance}", address, name, "", option, origin + math.floor(launch.at))


def app_of(job: str) -> str:
    """The application a job's name says it is of: what stands before the last slash; empty where there is none."""
    return job.rpartition("/")[0]
