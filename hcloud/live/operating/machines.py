"""Machines of live work: ordered, ended and looked at, each call once, with what it means for the loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hcloud.control.operating.records import WORK, MachineRecord
from hcloud.control.ports import Clock, Compute, Stop, never
from hcloud.errors import DeniedByGuardError, DeniedError, HcloudError, NotFoundError, RefusedError, UnknownOutcomeError
from hcloud.live.polling import GROWTH, slept
from hcloud.live.site import WaitLimits
from hcloud.model.holdings.live import PROTECTED_TAG, Launch, Machine, MachineState, Notice, Owner


class NotCertainError(HcloudError):
    """Whether a machine is gone cannot be said yet; the same is asked again."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What the cloud told of all machines of a lineage, by id; ``asked`` is when it was asked, in the loop's seconds.
    ``notices`` are those it takes away, ``unheard`` why it cannot be asked for them."""

    machines: dict[str, Machine]
    asked: float
    notices: dict[str, Notice] = field(default_factory=dict)
    unheard: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """That a machine has ended, and when by its cloud (None: it tells nothing, or there never was one)."""

    at: datetime | None = None


Ending = End | Machine | HcloudError | None
"""What came of the end of a machine: where only its order was known the machine itself, to be asked about again as
with None, that it goes on, and with an error; NotCertainError where it still stands when time is up, or may yet come.
"""


class Machines:
    """The calls of the loop to a cloud. Each is made by one thread at a time for a machine; ``now`` is the loop's
    time, which does not fall where a clock is set back. ``stop`` ends what they wait for."""

    def __init__(self, cloud: Compute, clock: Clock, waits: WaitLimits, settled: float, stop: Stop = never) -> None:
        self._cloud, self._clock, self._waits, self._settled, self._stop = cloud, clock, waits, settled, stop
        self._asked: dict[str, datetime] = {}
        self._agreed: dict[str, float] = {}
        self._ordered: dict[str, float] = {}
        self._began = clock.passed()

    def launch(self, order: Launch) -> Machine:
        """The machine of an order, made now or before. Raises what the cloud says where there is none. An order that
        was throttled for long may be made now, and not be listed yet."""
        self._ordered.setdefault(order.key, self._clock.passed())
        try:
            found = self._cloud.launch(order).machines[0]
        except UnknownOutcomeError:
            self._ordered[order.key] = self._clock.passed()
            raise
        self._ordered[order.key] = self._clock.passed()
        return found

    def made_before(self, machine: MachineRecord, order: Launch, now: float) -> Machine | None:
        """What an earlier call with the key of this order made. Raises NotCertainError where that cannot be said."""
        try:
            return self._by_key(machine, order, now)
        except HcloudError as error:
            raise NotCertainError(f"machine {machine.instance}: it may have been launched: {error}") from error

    def _by_key(self, machine: MachineRecord, order: Launch, now: float) -> Machine | None:
        found = [m for m in self._cloud.under_key(order) if m.state is not MachineState.ENDED]
        if not found and self._new_for(machine) > 0:
            raise self._unlisted(machine, now)
        if more := [m.id for m in found[1:] if PROTECTED_TAG not in m.tags]:
            with suppress(HcloudError):  # or what was found is not known
                self.end_strays(more)
        return found[0] if found else None

    def sought(self, machine: MachineRecord, order: Launch, now: float) -> dict[int, Ending]:
        """What came of a machine whose launch was not answered, by its number: the machine, by the key of its order. It
        is ended when it is known by its id."""
        return {machine.instance: self._by_key(machine, order, now) or End()}

    def end(self, going: Sequence[MachineRecord], now: float) -> dict[int, Ending]:
        """End machines, all in one request, and wait while nothing comes of any: what came of each, by its number."""
        try:
            told, delay = self._asked_to_end(going, now), self._waits.first_poll
            while self._may_wait(going, told) and not self._stop():
                slept(self._clock, delay, self._stop)
                delay = min(delay * GROWTH, self._waits.longest_poll)
                told = self._seen(going, now)
        except HcloudError as error:
            return {machine.instance: error for machine in going}
        return told

    def _may_wait(self, going: Sequence[MachineRecord], told: Mapping[int, Ending]) -> bool:
        """Whether nothing is told of any yet, and none is to be asked to end now: all that are listed leave."""
        open_ones = all(one is None or isinstance(one, NotCertainError) for one in told.values())
        leaving = [machine.id in self._agreed for machine in going if told[machine.instance] is None]
        return open_ones and bool(leaving) and all(leaving)

    def _asked_to_end(self, going: Sequence[MachineRecord], now: float) -> dict[int, Ending]:
        """Ask for the end of machines. What the cloud agreed to end may be missing from then on, however new it is."""
        seen = dict[str, Machine]()
        refused = self._in_halves(lambda ids: seen.update(self._known(ids)), [machine.id for machine in going])
        told = {m.instance: refused.get(m.id) or self._came(m, seen, now) for m in going}
        leaving = {i for i, m in seen.items() if m.state is MachineState.STOPPING} & self._agreed.keys()
        left = [m for m in going if told[m.instance] is None or isinstance(told[m.instance], NotCertainError)]
        asked = [machine.id for machine in left if machine.id not in leaving]
        refused = self._in_halves(self._terminate, asked)
        if asked and not refused:
            told |= self._seen(left, now)
        return told | {machine.instance: refused[machine.id] for machine in left if machine.id in refused}

    def _terminate(self, ids: Sequence[str]) -> None:
        answer = self._cloud.terminate(ids)
        self._asked.update(answer.ended)
        for ending in answer.ending:
            self._agreed.setdefault(ending, self._clock.passed())

    def _in_halves(self, ask: Callable[[Sequence[str]], None], ids: Sequence[str]) -> dict[str, HcloudError]:
        """Ask for all at once; what is refused may be about one of them, and is asked for in halves. Why those are
        refused that are refused alone."""
        try:
            if ids:
                ask(ids)
        except (DeniedError, NotFoundError, RefusedError) as error:
            if len(ids) == 1:
                return {ids[0]: error}
            half = len(ids) // 2
            return self._in_halves(ask, ids[:half]) | self._in_halves(ask, ids[half:])
        return {}

    def _seen(self, going: Sequence[MachineRecord], now: float) -> dict[int, Ending]:
        seen = {m.id: m for m in self._cloud.examine([machine.id for machine in going])}
        return {machine.instance: self._came(machine, seen, now) for machine in going}

    def _came(self, machine: MachineRecord, seen: Mapping[str, Machine], now: float) -> Ending:
        """What came of the end of a machine, as the cloud shows it. When it ended is what the cloud says now, else as
        it said when it was asked to end it (by us: of machines that are on their way out Azure says it once). Nothing
        is charged from then on, though it may take minutes until the machine is gone."""
        there = seen.get(machine.id)
        if there is None and self._new_for(machine) > 0 and machine.id not in self._agreed:
            return self._unlisted(machine, now)
        if there is None or there.state is MachineState.ENDED:
            return End((there and there.ended) or self._asked.get(machine.id))
        if PROTECTED_TAG in there.tags:
            hint = "remove the tag, and hcloud terminates it"
            return DeniedByGuardError(f"{there.id} is not terminated: it has the tag {PROTECTED_TAG}; {hint}")
        if self._clock.passed() - self._agreed.get(machine.id, math.inf) >= self._waits.ended:
            return NotCertainError(f"{machine.id}: asked to terminate, but still listed")
        return None

    def _unlisted(self, machine: MachineRecord, now: float) -> NotCertainError:
        left = f"{datetime.fromtimestamp(now + self._new_for(machine), UTC):%H:%M:%S} UTC"
        why = f"machine {machine.instance} is not listed by the cloud, which may be late: hcloud looks until {left}"
        return NotCertainError(f"{why}; after that it counts as terminated")

    def is_gone(self, machine: MachineRecord) -> bool:
        """Whether the cloud, asked for this machine alone, says that it ended; or that it knows none, of one that it
        has had the time to know: EC2 answers so in the first seconds after a launch."""
        there = self._known([machine.id]).get(machine.id)
        return self._new_for(machine) <= 0 if there is None else there.state is MachineState.ENDED

    def _known(self, ids: Sequence[str]) -> dict[str, Machine]:
        """Machines by their ids; those that are not shown any more, where their cloud tells that they ended."""
        found = {m.id: m for m in self._cloud.examine(ids)}
        missing = [i for i in ids if i not in found]
        return found | ({m.id: m for m in self._cloud.look(missing)} if missing else {})

    def _new_for(self, machine: MachineRecord) -> float:
        """For how many seconds more its cloud may be late to list it: by the time that has passed since this process
        ordered it, or began. Clocks of the day tell no age: one may be set forward, also before this process began."""
        return 0.0 if machine.settled else self._settled - self.waited_for(machine)

    def waited_for(self, machine: MachineRecord) -> float:
        """For how many seconds this process has known that it was ordered."""
        return self._clock.passed() - self._ordered.get(machine.key, self._began)

    def settles(self, machine: MachineRecord) -> bool:
        """Whether it is new no more, which is to be noted: where lists are never late that means nothing."""
        return bool(self._settled) and not machine.settled and self._new_for(machine) <= 0

    def forget_others(self, machines: Iterable[MachineRecord]) -> None:
        """Remember no more than these."""
        names = {name for machine in machines for name in (machine.key, machine.id)}
        for known in (self._asked, self._agreed, self._ordered):
            keep_only(known, names)

    def end_strays(self, ids: Sequence[str]) -> None:
        """Ask for the end of machines that bear our lineage and that nothing in the journal wants."""
        self._cloud.terminate(ids)

    def look(self, lineage: str, at: float) -> Sight:
        """All machines of a lineage that are there."""
        try:
            told = self._cloud.machines(lineage)
        except NotFoundError:
            told = ()
        leaving = {m.id: Notice(m.id, "it is being terminated") for m in told if m.state is MachineState.STOPPING}
        live, unheard = {m.id: m for m in told if m.state.is_live}, ""
        try:
            said = self._cloud.notices(lineage) if live else ()
            leaving |= {notice.machine: notice for notice in said if notice.machine in live}
        except HcloudError as error:  # what stands is known all the same
            unheard = f"whether the cloud takes machines away cannot be seen: {error}"
        return Sight(live, at, leaving, unheard)


def keep_only(known: dict[Any, Any], there: Container[Any]) -> None:
    """Forget the others; what workers bring meanwhile stays."""
    for name in [name for name in list(known) if name not in there]:
        del known[name]


def order_of(machine: MachineRecord, owner: Owner, start_up: str) -> Launch:
    """The order that a machine's record stands for; the same at every call, or its key would mean two things."""
    address = f"{WORK}{machine.instance}"
    return Launch(machine.key, address, machine.type_name, machine.zone, 1, owner, machine.option, start_up)
