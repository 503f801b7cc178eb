"""A state and its journal in memory that outlast a rehearsed crash exactly as far as they were made to last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from hcloud.errors import HcloudError, LockedError, StaleError
from hcloud.fake.clock import FakeClock
from hcloud.model.holdings.state import Conclusion, Intent, IntentResult, LockInfo, State
from hcloud.model.report import MachineRental
from hcloud.planning.changes.rentals import RentalRecord, folded, fresh, running, usages


@dataclass(slots=True)
class MemoryDisk:
    """What outlasts a process. ``full`` lets nothing more be made to last, and where it is ``far`` nothing be read;
    ``writes`` counts what was made to last."""

    state: State | None = None
    entries: list[Intent | Conclusion] = field(default_factory=list)
    rentals: dict[tuple[str, int], RentalRecord] = field(default_factory=dict)
    holder: LockInfo | None = None
    full: bool = False
    far: bool = False
    writes: int = 0
    locks: int = 0

    def write(self) -> None:
        """One more thing lasts, or HcloudError."""
        if self.full:
            raise HcloudError("no space left: it cannot be made to last, so nothing is asked of the cloud")
        self.writes += 1

    def read(self) -> None:
        """HcloudError where it is out of reach."""
        if self.far and self.full:
            raise HcloudError("the store does not answer")


class MemoryJournal:
    """The journal on a disk in memory."""

    def __init__(self, disk: MemoryDisk) -> None:
        self._disk = disk

    def intend(self, intent: Intent) -> None:
        """Note an intent; it lasts when this returns."""
        if any(e.number == intent.number for e in self._disk.entries if isinstance(e, Intent)):
            raise HcloudError(f"intent {intent.number} is noted already")
        self._disk.write()
        self._disk.entries.append(intent)

    def conclude(self, conclusion: Conclusion) -> None:
        """Note a conclusion; it lasts when this returns."""
        self._disk.write()
        self._disk.entries.append(conclusion)

    def entries(self) -> tuple[Intent | Conclusion, ...]:
        """All of it in order."""
        self._disk.read()
        return tuple(self._disk.entries)

    def next_number(self) -> int:
        """One more than the highest."""
        return max((e.number for e in self._disk.entries), default=0) + 1

    def trim(self, upto: int) -> None:
        """Forget what is concluded up to a number."""
        self._disk.write()
        last = {e.number: e.result for e in self._disk.entries if isinstance(e, Conclusion)}
        over = {n for n, result in last.items() if n <= upto and result is not IntentResult.UNKNOWN}
        self._disk.entries = [e for e in self._disk.entries if e.number not in over]


class MemoryRentals:
    """The log of rentals on a disk in memory."""

    def __init__(self, disk: MemoryDisk) -> None:
        self._disk = disk

    def usages(self) -> tuple[MachineRental, ...]:
        """All rentals, by id and start."""
        return usages(self._disk.rentals)

    def running(self, lineage: str) -> tuple[MachineRental, ...]:
        """Those of a state that have no end yet."""
        return running(self._disk.rentals, lineage)


class MemoryStore:
    """A state store on a disk in memory; every process has one of its own on the same disk."""

    def __init__(self, disk: MemoryDisk, clock: FakeClock, user: str = "tester") -> None:
        self.disk, self._clock, self._user = disk, clock, user

    def load(self) -> State | None:
        """The state; None where there never was one."""
        self.disk.read()
        return self.disk.state

    def save(self, state: State) -> State:
        """Write it as the successor of the stored one."""
        stored = self.disk.state.serial if self.disk.state is not None else 0
        if state.serial != stored:
            raise StaleError(f"the state was written meanwhile: serial {stored}, not {state.serial}")
        self.disk.write()
        self.disk.rentals = folded([*self.disk.rentals.values(), *fresh(self.disk.rentals, state)])
        self.disk.state = replace(state, serial=stored + 1, departed=())
        return self.disk.state

    @contextmanager
    def locked(self, purpose: str) -> Iterator[LockInfo]:
        """Hold it until the end of the block, which a crash is, too: the dead hold nothing."""
        if self.disk.holder is not None:
            raise LockedError(f"locked: {self.disk.holder}")
        self.disk.locks += 1
        since = datetime.fromtimestamp(self._clock.now(), UTC)
        self.disk.holder = LockInfo(f"lock-{self.disk.locks}", self._user, "here", 1, since, purpose)
        try:
            yield self.disk.holder
        finally:
            self.disk.holder = None

    def journal(self) -> MemoryJournal:
        """The journal beside it."""
        return MemoryJournal(self.disk)

    def rentals(self) -> MemoryRentals:
        """The log of rentals beside it."""
        return MemoryRentals(self.disk)
