"""This machine as hcloud's live half sees it: a machine is a group of processes, noted before it is started."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal

from hcloud.control.ports import Clock, Host, Size
from hcloud.errors import (
    Call,
    HcloudError,
    MismatchError,
    NoCapacityError,
    NotFoundError,
    QuotaError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import (
    Commitment,
    CommitmentOrder,
    CommitmentQuote,
    Launch,
    LaunchOutcome,
    LaunchTemplate,
    Machine,
    MachineState,
    Notice,
    Quota,
    Scope,
    Terminated,
)
from hcloud.providers.local.registry import DamagedError, Note, Registry
from hcloud.providers.local.settings import REGION, TYPES, LocalSettings
from hcloud.units import counted

LINGER_SECONDS = 3600.0  # ours: as long as EC2 tells of what has ended


class LocalCloud:
    """Implements hcloud.control.ports.Cloud and Console; may be used from many threads and processes."""

    launch_seconds = 0.0

    def __init__(self, settings: LocalSettings, clock: Clock, host: Host) -> None:
        self._settings = settings
        self._clock, self._host = clock, host
        self._registry = Registry(settings.directory)

    def scope(self) -> Scope:
        """This machine and the directory where its machines are noted."""
        return Scope("local", self._settings.account, REGION, str(self._settings.directory))

    def template(self, instance_types: Sequence[str]) -> LaunchTemplate:
        """Processes of this machine have no image, and no network or disk of their own."""
        return LaunchTemplate(disk="this machine's own")

    def image(self, name: str) -> str:
        """There is none."""
        raise NotFoundError(f"this machine has no image {name}", _call("image"))

    def launch(self, order: Launch) -> LaunchOutcome:
        """Note as many machines as there is room for, then start them; the same order again completes itself."""
        call = _call("launch")
        size = self._checked(order, call)
        with self._registry.held(), _changing(call):
            self._tidy()
            there = self._of_order(order, call)
            free = [n for n in range(order.count) if _name(order, n) not in there]
            room = self._room(size, len(free), call) if free else 0
            if not there and not room:
                raise NoCapacityError(f"this machine has no room left for {order.instance_type}", call)
            fresh = {_name(order, n): self._note(order, n) for n in free[:room]}
            for note in fresh.values():
                self._registry.add(note)
            self._registry.sync()
            notes = {**there, **fresh}
            standing = [name for name in sorted(notes) if notes[name].ended is None]
            self._host.start(standing, order.start_up, size)
        machines = tuple(self._machine(notes[name], MachineState.RUNNING) for name in standing)
        return self._told(order, machines, call)

    def _checked(self, order: Launch, call: Call) -> Size:
        size = TYPES.get(order.instance_type)
        if size is None or order.zone not in self._settings.zones or order.count < 1:
            raise RefusedError(f"{order.count} of {order.instance_type} in {order.zone} cannot be ordered", call)
        if order.option is not PurchaseOption.ON_DEMAND:
            raise RefusedError(f"this machine has no {order.option}", call)
        there = self._capacity()
        if size.vcpus > there.vcpus or size.memory_gib > there.memory_gib:
            what = f"{order.instance_type} needs {counted(size.vcpus, 'core')} and {size.memory_gib:g} GiB"
            raise QuotaError(f"{what}; the limit here is {there.vcpus} and {there.memory_gib:.1f}", call)
        return size

    def _of_order(self, order: Launch, call: Call) -> dict[str, Note]:
        found = {n: note for i in range(order.count) if (note := self._registry.get(n := _name(order, i))) is not None}
        if any(note.order != _fingerprint(order) for note in found.values()):
            raise MismatchError(f"the key {order.key} was used for another order", call)
        return found

    def _room(self, size: Size, wanted: int, call: Call) -> int:
        there, used = self._capacity(), self._used()
        by_cores = (there.vcpus - used.vcpus) // size.vcpus
        by_memory = int((there.memory_gib - used.memory_gib) // size.memory_gib)
        return max(min(wanted, by_cores, by_memory), 0)

    def _note(self, order: Launch, number: int) -> Note:
        name, at = _name(order, number), self._clock.now()
        return Note(name, order.instance_type, order.zone, at, order.tags(), _fingerprint(order))

    def _told(self, order: Launch, machines: tuple[Machine, ...], call: Call) -> LaunchOutcome:
        if not machines:
            raise NoCapacityError("the machines of this order have ended", call)
        missing = order.count - len(machines)
        return LaunchOutcome(machines, missing, "this machine has no room for more" if missing else "")

    def under_key(self, order: Launch) -> tuple[Machine, ...]:
        """What has the names of the order's machines."""
        return self.look([_name(order, number) for number in range(order.count)])

    def terminate(self, ids: Sequence[str]) -> Terminated:
        """Kill every process of these machines; what has ended already is ending."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return Terminated(())
        with self._registry.held(), _changing(_call("terminate")):
            self._tidy()
            known = {i: note for i in wanted if (note := self._registry.get(i)) is not None}
            self._host.end(known)
            now = self._clock.now()
            for note in known.values():
                self._registry.end(note, now)
        at = {i: now if note.ended is None else note.ended for i, note in known.items()}
        ended = {i: datetime.fromtimestamp(seconds, UTC) for i, seconds in at.items()}
        return Terminated(tuple(known), tuple(i for i in wanted if i not in known), ended)

    def machines(self, lineage: str) -> tuple[Machine, ...]:
        """What is noted under a lineage, with what runs of it."""
        return tuple(m for m in self._all("machines") if (m.lineage == lineage if lineage else m.lineage))

    def look(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """These of them."""
        return tuple(m for m in self._all("look") if m.id in set(ids)) if ids else ()

    def examine(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """The same: nothing is late here."""
        return self.look(ids)

    def notices(self, lineage: str) -> tuple[Notice, ...]:
        """None: this machine takes nothing away."""
        return ()

    def zones(self, instance_type: str) -> tuple[str, ...]:
        """The one zone there is."""
        if instance_type not in TYPES:
            raise NotFoundError(f"there is no type {instance_type}: {', '.join(TYPES)}", _call("zones"))
        return self._settings.zones

    def quotas(self, instance_type: str) -> tuple[Quota, ...]:
        """The cores and the memory of this machine."""
        there, used = self._capacity(), self._used()
        memory = Quota("memory in GiB", Decimal(str(round(there.memory_gib, 1))), Decimal(str(used.memory_gib)))
        return Quota("cores", Decimal(there.vcpus), Decimal(used.vcpus)), memory

    def console(self, machine: str) -> str:
        """What its start-up script printed; empty where it has ended."""
        if self._registry.get(machine) is None:
            raise NotFoundError(f"there is no {machine}", _call("console"))
        return self._host.console(machine)

    def quote(self, order: CommitmentOrder) -> CommitmentQuote:
        """Nothing can be committed to here."""
        raise NotFoundError("this machine sells no commitments", _call("quote"))

    def buy(self, quote: CommitmentQuote) -> Commitment:
        """Nothing can be bought here."""
        raise RefusedError("this machine sells no commitments", _call("buy"))

    def commitments(self) -> tuple[Commitment, ...]:
        """None."""
        return ()

    def cancel(self, commitment: str) -> None:
        """There is nothing to cancel."""
        raise RefusedError(f"{commitment}: this machine sells no commitments", _call("cancel"))

    def _all(self, operation: str) -> tuple[Machine, ...]:
        """Every machine whose end is not long past. One of which anything runs is there, whatever is noted."""
        try:
            notes = self._registry.all()
            alive, started = self._host.alive(), self._host.started([n.id for n in notes if n.ended is None])
        except (DamagedError, OSError) as error:
            raise UnavailableError(str(error), _call(operation)) from error
        now = self._clock.now()
        shown = [n for n in notes if n.ended is None or n.id in alive or now < n.ended + LINGER_SECONDS]
        return tuple(self._machine(n, _state(n, alive, started)) for n in shown)

    def _machine(self, note: Note, state: MachineState) -> Machine:
        launched = datetime.fromtimestamp(note.launched, UTC)
        tags = dict(note.tags)
        ended = None if note.ended is None else datetime.fromtimestamp(note.ended, UTC)
        return Machine(note.id, note.instance_type, note.zone, state, PurchaseOption.ON_DEMAND, launched, tags, ended)

    def _capacity(self) -> Size:
        return self._settings.capacity or self._host.size()

    def _used(self) -> Size:
        live = [TYPES[m.instance_type] for m in self._all("used") if m.state.is_live and m.instance_type in TYPES]
        return Size(sum(s.vcpus for s in live), sum(s.memory_gib for s in live))

    def _tidy(self) -> None:
        """Note the end of what has ended by itself and clear it away, and forget what did long ago."""
        now, notes = self._clock.now(), self._registry.all()
        alive, started = self._host.alive(), self._host.started([n.id for n in notes])
        for note in notes:
            if note.ended is None and note.id in started and note.id not in alive:
                self._registry.end(note, now)
            elif note.ended is not None and note.id not in alive and now >= note.ended + LINGER_SECONDS:
                self._registry.forget(note)
        self._host.end(started - alive)


def _state(note: Note, alive: frozenset[str], started: frozenset[str]) -> MachineState:
    if note.id in alive:
        return MachineState.RUNNING if note.ended is None else MachineState.STOPPING
    return MachineState.ENDED if note.ended is not None or note.id in started else MachineState.PENDING


def _name(order: Launch, number: int) -> str:
    return f"hc-{order.key}-{number}"


def _fingerprint(order: Launch) -> str:
    return hashlib.sha256(repr(order).encode()).hexdigest()


def _call(operation: str) -> Call:
    return Call("local", REGION, operation)


@contextmanager
def _changing(call: Call) -> Iterator[None]:
    """What goes wrong inside may have happened in part: the same again settles it."""
    try:
        yield
    except (NoCapacityError, MismatchError, UnavailableError) as error:
        raise error
    except (HcloudError, DamagedError, OSError) as error:
        raise UnknownOutcomeError(str(error), call) from error
