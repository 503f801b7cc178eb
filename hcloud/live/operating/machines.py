"""Machines of live work: ordered, ended and looked at, each call once, with what it means for the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hcloud.control.operating.records import WORK, MachineRecord
from hcloud.control.ports import Clock, Compute, Stop, never
from hcloud.errors import DeniedByGuardError, DeniedError, HcloudError, NotFoundError, RefusedError
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
        self._agreed: set[str] = set()

    def launch(self, order: Launch) -> Machine:
        """The machine of an order, made now or before. Raises what the cloud says where there is none."""
        return self._cloud.launch(order).machines[0]

    def made_before(self, machine: MachineRecord, order: Launch, now: float) -> Machine | None:
        """What an earlier call with the key of this order made. Raises NotCertainError where that cannot be said."""
        try:
            return self._by_key(machine, order, now)
        except HcloudError as error:
            raise NotCertainError(f"machine {machine.instance}: it may have been launched: {error}") from error

    def _by_key(self, machine: MachineRecord, order: Launch, now: float) -> Machine | None:
        found = [m for m in self._cloud.under_key(order) if m.state is not MachineState.ENDED]
        if not found and self._is_new(machine, now):
            raise self._unlisted(machine)
        if more := [m.id for m in found[1:] if PROTECTED_TAG not in m.tags]:
            self.end_strays(more)
        return found[0] if found else None

    def end(self, going: Sequence[tuple[MachineRecord, Launch]], now: float) -> dict[int, Ending]:
        """End machines, all in one request: what came of each, by its number. Where the answer of its launch was lost a
        machine is looked for by the key of its order, and ended when it is known by its id."""
        told = {machine.instance: self._sought(machine, order, now) for machine, order in going if not machine.id}
        return told | self._ended([machine for machine, _ in going if machine.id], now)

    def _sought(self, machine: MachineRecord, order: Launch, now: float) -> Ending:
        try:
            return self._by_key(machine, order, now) or End()
        except HcloudError as error:
            return error

    def _ended(self, going: Sequence[MachineRecord], now: float) -> dict[int, Ending]:
        """What came of each; what a cloud refuses may be about one of them, and it is asked for the others without."""
        try:
            return self._ask_to_end(going, now) if going else {}
        except HcloudError as error:
            if len(going) == 1 or not isinstance(error, DeniedError | NotFoundError | RefusedError):
                return {machine.instance: error for machine in going}
            half = len(going) // 2
            return self._ended(going[:half], now) | self._ended(going[half:], now)

    def _ask_to_end(self, going: Sequence[MachineRecord], now: float) -> dict[int, Ending]:
        """Ask for the end of machines, and wait until the cloud says of one of them that it is gone. What the cloud
        agreed to end may be missing from then on, however new it is."""
        seen = self._known([machine.id for machine in going])
        told = {machine.instance: self._came(machine, seen, now) for machine in going}
        left = [m for m in going if told[m.instance] is None or isinstance(told[m.instance], NotCertainError)]
        leaving = {i for i, m in seen.items() if m.state is MachineState.STOPPING}
        if asked := [m.id for m in left if not (m.id in leaving and m.id in self._agreed)]:
            answer = self._cloud.terminate(asked)
            self._asked.update(answer.ended)
            self._agreed.update(answer.ending)
        until, delay = self._clock.passed() + self._waits.ended, self._waits.first_poll
        while left:
            seen = {m.id: m for m in self._cloud.examine([machine.id for machine in left])}
            told |= {machine.instance: self._came(machine, seen, now) for machine in left}
            one_ended = any(isinstance(told[machine.instance], End) for machine in left)
            if one_ended or None not in told.values() or self._stop():
                break
            if self._clock.passed() >= until:
                still = {m.instance: NotCertainError(f"{m.id}: asked to terminate, but still listed") for m in left}
                return told | {number: why for number, why in still.items() if told[number] is None}
            slept(self._clock, delay, self._stop)
            delay = min(delay * GROWTH, self._waits.longest_poll)
        return told

    def _came(self, machine: MachineRecord, seen: Mapping[str, Machine], now: float) -> Ending:
        """What came of the end of a machine, as the cloud shows it. When it ended is what the cloud says now, else as
        it said when it was asked to end it (by us: of machines that are on their way out Azure says it once). Nothing
        is charged from then on, though it may take minutes until the machine is gone."""
        there = seen.get(machine.id)
        if there is None and self._is_new(machine, now) and machine.id not in self._agreed:
            return self._unlisted(machine)
        if there is None or there.state is MachineState.ENDED:
            return End((there and there.ended) or self._asked.get(machine.id))
        if PROTECTED_TAG in there.tags:
            hint = "remove the tag, and hcloud terminates it"
            return DeniedByGuardError(f"{there.id} is not terminated: it has the tag {PROTECTED_TAG}; {hint}")
        return None

    def _unlisted(self, machine: MachineRecord) -> NotCertainError:
        left = f"{datetime.fromtimestamp((machine.ordered_at or 0.0) + self._settled, UTC):%H:%M:%S} UTC"
        why = f"machine {machine.instance} is not listed by the cloud, which may be late: hcloud looks until {left}"
        return NotCertainError(f"{why}; after that it counts as terminated")

    def is_gone(self, machine: MachineRecord, now: float) -> bool:
        """Whether the cloud, asked for this machine alone, says that it ended; or that it knows none, of one that it
        has had the time to know: EC2 answers so in the first seconds after a launch."""
        there = self._known([machine.id]).get(machine.id)
        return not self._is_new(machine, now) if there is None else there.state is MachineState.ENDED

    def _known(self, ids: Sequence[str]) -> dict[str, Machine]:
        """Machines by their ids; those that are not shown any more, where their cloud tells that they ended."""
        found = {m.id: m for m in self._cloud.examine(ids)}
        missing = [i for i in ids if i not in found]
        return found | ({m.id: m for m in self._cloud.look(missing)} if missing else {})

    def _is_new(self, machine: MachineRecord, now: float) -> bool:
        return now - (machine.ordered_at or 0.0) < self._settled

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


def order_of(machine: MachineRecord, owner: Owner, start_up: str) -> Launch:
    """The order that a machine's record stands for; the same at every call, or its key would mean two things."""
    address = f"{WORK}{machine.instance}"
    return Launch(machine.key, address, machine.type_name, machine.zone, 1, owner, machine.option, start_up)
