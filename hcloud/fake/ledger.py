"""What really happened in a fake cloud: every machine, purchase and request. It judges tests; hcloud never does."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal


@dataclass(slots=True)
class Rented:
    """A machine from when it was made to when it was gone, in the fake's seconds. ``visible_at`` is when lists begin to
    show it, ``tagged_at`` when they begin to show its tags, ``running_at`` when it leaves pending, ``asked_to_end``
    when its end began, and ``ended_at`` when it was over; None for what has not happened (yet)."""

    id: str
    instance_type: str
    zone: str
    spot: bool
    tags: dict[str, str]
    token: str
    principal: str
    made_at: float
    visible_at: float
    tagged_at: float
    running_at: float | None
    asked_to_end: float | None = None
    ended_at: float | None = None
    detail: dict[str, object] = field(default_factory=dict)

    def is_live(self, now: float) -> bool:
        """Whether nobody has asked for its end."""
        return self.asked_to_end is None

    def is_there(self, now: float) -> bool:
        """Whether it is not over yet."""
        return self.ended_at is None or now < self.ended_at


@dataclass(slots=True)
class BoughtCommitment:
    """A commitment that was bought; ``key`` is the client's handle, empty where the provider takes none."""

    id: str
    option: str
    offering: str
    instance_type: str
    count: int
    hourly: Decimal
    upfront: Decimal
    term_seconds: int
    bought_at: float
    starts_at: float
    key: str = ""
    principal: str = ""
    cancelled_at: float | None = None
    detail: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that reached the fake: when, which operation, whether it changes something, by whom, and what came of
    it (``ok``, or the kind of fault or error it was answered with). ``acted`` says whether it changed something."""

    at: float
    operation: str
    mutating: bool
    principal: str
    outcome: str
    acted: bool = False


class Ledger:
    """Everything that happened, guarded by one lock that a server holds while it acts."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.machines: dict[str, Rented] = {}
        self.purchases: dict[str, BoughtCommitment] = {}
        self.requests: list[RecordedRequest] = []
        self.extras: dict[str, dict[str, object]] = {}
        self._number = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing else happens meanwhile."""
        with self.lock:
            yield

    def next_number(self) -> int:
        """A number that was not given before, for ids."""
        with self.lock:
            self._number += 1
            return self._number

    def live(self, now: float) -> tuple[Rented, ...]:
        """Machines nobody has asked to end, by id."""
        with self.lock:
            return tuple(sorted((m for m in self.machines.values() if m.is_live(now)), key=lambda m: m.id))

    def calls(self, operations: Iterable[str] = ()) -> int:
        """How many requests arrived, of these operations or of all."""
        wanted = set(operations)
        with self.lock:
            return sum(1 for r in self.requests if not wanted or r.operation in wanted)
