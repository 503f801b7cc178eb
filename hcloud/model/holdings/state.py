"""What hcloud remembers of a cloud: the machines that are its own, and what it was about to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import CommitmentQuote, Launch, Machine, Scope

FORMAT_VERSION = "1.0"


@dataclass(frozen=True, slots=True)
class OwnedMachine:
    """A machine of ours. ``intended`` is when its launch was noted, before the call; ``missed_since`` is since when the
    cloud no longer tells of it, None while it does: it is forgotten only when that has lasted. ``launched`` is the
    cloud's own time of its start, ``ended`` of its end, or where it tells none (``ended_is_told``) the latest moment at
    which it may have been there."""

    id: str
    address: str
    key: str
    instance_type: str
    zone: str
    option: PurchaseOption
    generation: int
    intended: datetime
    ending: bool = False
    protected: bool = False
    missed_since: datetime | None = None
    launched: datetime | None = None
    ended: datetime | None = None
    ended_is_told: bool = False


@dataclass(frozen=True, slots=True)
class Operating:
    """How what stands is to be run, as the plan that was applied last says: what ``hcloud decide`` works with.

    Limits are shares of a machine, retention is in times of its start and in seconds; None where there is none.
    """

    strategy: str
    soft_limit: Decimal | None
    hard_limit: Decimal | None
    retention_factor: Decimal | None
    retention_seconds: Decimal | None
    on_demand_types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """Everything that is remembered. ``lineage`` (32 hex digits) never changes; ``serial`` counts the writings;
    ``generation`` counts the plans that were begun, so that a later order is never taken for an earlier one. ``scope``
    is None until the first apply, and belongs to the state from then on. ``plan`` is the digest of what should
    stand by the plan that was begun last. ``departed`` are records that left since the last writing, with their ends:
    a store notes them in its log of rentals and keeps none of them. ``planned`` is the day of the last plan that rents
    machines for its first weeks. ``wanted`` is how many machines the plan that was applied last wants at each address;
    None until one was."""

    lineage: str
    serial: int = 0
    generation: int = 0
    project: str = ""
    scope: Scope | None = None
    records: tuple[OwnedMachine, ...] = ()
    operating: Operating | None = None
    plan: str = ""
    departed: tuple[OwnedMachine, ...] = ()
    planned: date | None = None
    wanted: Mapping[str, int] | None = None


class Deed(StrEnum):
    """What may be intended."""

    LAUNCH = "launch"
    TERMINATE = "terminate"
    BUY = "buy"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Intent:
    """What is about to be asked of a cloud, noted so that it lasts before it is asked. ``number`` counts within the
    journal; one of order, ids and quote says what it is about. ``plan`` is the digest of the plan it belongs to."""

    number: int
    deed: Deed
    at: datetime
    plan: str
    generation: int = 0
    order: Launch | None = None
    ids: tuple[str, ...] = ()
    quote: CommitmentQuote | None = None


class IntentResult(StrEnum):
    """How an intent came out; UNKNOWN ones stay open until the cloud was looked at."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What came of an intent: the machines of a launch, the ids that are ending (``ended`` is when, by id, of those of
    which the cloud said so), or the id of a commitment."""

    number: int
    result: IntentResult
    at: datetime
    machines: tuple[Machine, ...] = ()
    ids: tuple[str, ...] = ()
    missing: int = 0
    why: str = ""
    ended: dict[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LockInfo:
    """Who holds a state: ``id`` is drawn anew for each holding."""

    id: str
    user: str
    host: str
    pid: int
    since: datetime
    purpose: str

    def __str__(self) -> str:
        return f"{self.purpose} by {self.user} on {self.host}, pid {self.pid}, since {self.since:%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class Remains:
    """What can still be made out where a state is kept, however damaged: every lineage that is named there, the highest
    serial and generation, and the latest version that can be read (None where there is none); ``damaged`` says that
    the journal or a part of it cannot be read, so that there may be requests nobody knows of, ``is_latest`` that the
    version that was stored last can."""

    lineages: tuple[str, ...]
    serial: int
    generation: int
    latest: State | None
    damaged: bool = False
    is_latest: bool = False


@dataclass(frozen=True, slots=True)
class RememberedState:
    """What stands in one place: the state (None where there is none yet), what was begun and not ended, and who holds
    it."""

    where: str
    state: State | None
    open_intents: tuple[Intent, ...] = ()
    holder: LockInfo | None = None
