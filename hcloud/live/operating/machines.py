"""Machines of live work: ordered, ended and looked at, each call once, with what it means for the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hcloud.control.operating.records import WORK, MachineRecord
from hcloud.control.ports import Clock, Compute
from hcloud.errors import DeniedByGuardError, HcloudError, NotFoundError
from hcloud.live.polling import GROWTH
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


class Machines:
    """The calls of the loop to a cloud. Each is made by one thread at a time for one machine; ``now`` is the loop's
    time, which does not fall where a clock is set back."""

    def __init__(self, cloud: Compute, clock: Clock, waits: WaitLimits, settled: float) -> None:
        self._cloud, self._clock, self._waits, self._settled = cloud, clock, waits, settled
        self._asked: dict[str, datetime] = {}
        self._agreed: set[int] = set()

    def launch(self, order: Launch) -> Machine:
        """The machine of an order, made now or before. Raises what the cloud says where there is none."""
        return self._cloud.launch(order).machines[0]

    def made_before(self, machine: MachineRecord, order: Launch, now: float) -> Machine | None:
        """What an earlier call with the key of this order made. Raises NotCertainError where that cannot be said."""
        try:
            return next(iter(self._found(machine, order, now)), None)
        except HcloudError as error:
            raise NotCertainError(f"machine {machine.instance}: it may have been launched: {error}") from error

    def end(self, machine: MachineRecord, order: Launch, now: float) -> End:
        """End a machine and wait until the cloud says that it is gone.

        What the cloud agreed to end may be missing from then on, however new it is. Where the answer of its launch was
        lost it is looked for by the key of its order. Raises NotCertainError where it still stands when the time is up,
        or may yet come: then the same is to be asked again.
        """
        found = self._found(machine, order, now)
        if all(m.state is MachineState.ENDED for m in found):
            return End(self._last(machine.id, found))
        if kept := [m.id for m in found if PROTECTED_TAG in m.tags and m.state is not MachineState.ENDED]:
            hint = "remove the tag, and hcloud terminates it"
            raise DeniedByGuardError(f"{kept[0]} is not terminated: it has the tag {PROTECTED_TAG}; {hint}")
        told = self._cloud.terminate([m.id for m in found])
        self._asked.update(told.ended)
        if told.ending:
            self._agreed.add(machine.instance)
        until, delay = self._clock.passed() + self._waits.ended, self._waits.first_poll
        while True:
            left = self._cloud.examine([m.id for m in found])
            self._check_known(machine, left, now)
            if all(m.state is MachineState.ENDED for m in left):
                return End(max(filter(None, (self._last(m.id, left) for m in found)), default=None))
            if self._clock.passed() >= until:
                raise NotCertainError(f"{found[0].id}: asked to terminate, but still listed")
            self._clock.sleep(delay)
            delay = min(delay * GROWTH, self._waits.longest_poll)

    def _last(self, identity: str, seen: Sequence[Machine]) -> datetime | None:
        """When a machine ended: as the cloud says where it is ``seen``, else as it said when it was asked to end it (by
        us: of machines that are on their way out Azure says it once). Nothing is charged from then on, though it may
        take minutes until the machine is gone."""
        return next((m.ended for m in seen if m.id == identity and m.ended), self._asked.get(identity))

    def _found(self, machine: MachineRecord, order: Launch, now: float) -> tuple[Machine, ...]:
        if machine.id:
            found = self._known(machine)
        else:
            found = tuple(m for m in self._cloud.under_key(order) if m.state is not MachineState.ENDED)
        self._check_known(machine, found, now)
        return found

    def _check_known(self, machine: MachineRecord, found: Sequence[Machine], now: float) -> None:
        """Raise NotCertainError where none is found of a new machine whose end was not agreed to."""
        if not found and self._is_new(machine, now) and machine.instance not in self._agreed:
            left = f"{datetime.fromtimestamp((machine.ordered_at or 0.0) + self._settled, UTC):%H:%M:%S} UTC"
            why = f"machine {machine.instance} is not listed by the cloud, which may be late: hcloud looks until {left}"
            raise NotCertainError(f"{why}; after that it counts as terminated")

    def is_gone(self, machine: MachineRecord, now: float) -> bool:
        """Whether the cloud, asked for this machine alone, says that it ended; or that it knows none, of one that it
        has had the time to know: EC2 answers so in the first seconds after a launch."""
        found = self._known(machine)
        return all(m.state is MachineState.ENDED for m in found) and (bool(found) or not self._is_new(machine, now))

    def _known(self, machine: MachineRecord) -> tuple[Machine, ...]:
        """A machine by its id; one that is not shown any more, where its cloud tells that it ended."""
        return self._cloud.examine([machine.id]) or self._cloud.look([machine.id])

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
