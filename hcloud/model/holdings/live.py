"""What stands in a cloud and what is ordered there: scopes, machines, launches and commitments."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.usage import CommittedResources


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """Where something stands: ``account`` is the AWS account, Google project or Azure subscription; ``endpoint`` is
    empty for the cloud's own."""

    cloud: str
    account: str
    region: str
    endpoint: str = ""

    def __str__(self) -> str:
        at = f" at {self.endpoint}" if self.endpoint else ""
        return f"{self.cloud} {self.account} {self.region}{at}"


class MachineState(StrEnum):
    """How a machine is; UNKNOWN stands for every word of a provider that is not known here, and is not ended."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    ENDED = "ended"
    UNKNOWN = "unknown"

    @property
    def is_live(self) -> bool:
        """Whether it is there to stay; what is on its way out, or gone, is not."""
        return self not in (MachineState.STOPPING, MachineState.ENDED)


@dataclass(frozen=True, slots=True)
class Owner:
    """The tags (labels) that every machine gets in the call that creates it.

    ``lineage`` is the state's, ``plan`` the digest of the plan (first 12 hex digits), ``expires`` an hour in UTC as
    ``20261121t10z`` or empty. All values consist of lower-case letters, digits, ``-`` and ``_`` (63 at most), which
    every cloud takes as they are.
    """

    lineage: str
    project: str
    plan: str
    expires: str = ""


TAG_LINEAGE = "hcloud-lineage"
TAG_PROJECT = "hcloud-project"
TAG_PLAN = "hcloud-plan"
TAG_EXPIRES = "hcloud-expires"
TAG_ADDRESS = "hcloud-address"
TAG_KEY = "hcloud-key"
PROTECTED_TAG = "hcloud-protected"


Setting = str | bool | tuple[str, ...] | dict[str, str]
"""The value of one of ``live.settings``."""


@dataclass(frozen=True, slots=True)
class LaunchImage:
    """The image of machines of some types: its name as the settings write it, and the id that the name stood for when
    it was looked up (empty before)."""

    name: str
    id: str
    instance_types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaunchTemplate:
    """What machines are launched with, apart from their type, zone and option.

    ``settings`` are those of ``live.settings`` that reach the request, by their names there and with their defaults.
    ``disk`` says which disk the request asks for. ``user_data`` is the SHA-256 of the user data, empty without any: the
    data itself may hold secrets. ``tags`` are those that all machines share and that are known before a digest is.
    """

    images: tuple[LaunchImage, ...] = ()
    settings: dict[str, Setting] = field(default_factory=dict)
    disk: str = ""
    user_data: str = ""
    tags: dict[str, str] = field(default_factory=dict)

    def image_of(self, instance_type: str) -> str:
        """The image that a type is launched from; empty where the cloud has none."""
        return next((i.id or i.name for i in self.images if instance_type in i.instance_types), "")


@dataclass(frozen=True, slots=True)
class Launch:
    """An order of ``count`` machines of one type in one zone, made once however often it is sent.

    ``key`` (32 lower-case hex digits) is derived from lineage, generation and address: it is what the cloud's own
    idempotency handle is made of, and is a tag of each machine. ``option`` is on-demand or spot. ``address`` is the
    place in the plan (lower-case letters, digits, ``-``). ``start_up`` is a script the machine runs when it starts.
    ``template`` is what the plan says it is launched with; None where the provider's own settings say it.
    """

    key: str
    address: str
    instance_type: str
    zone: str
    count: int
    owner: Owner
    option: PurchaseOption = PurchaseOption.ON_DEMAND
    start_up: str = ""
    template: LaunchTemplate | None = field(default=None, repr=False)

    def tags(self) -> dict[str, str]:
        """The tags of its machines, in a fixed order."""
        found = {
            TAG_LINEAGE: self.owner.lineage,
            TAG_PROJECT: self.owner.project,
            TAG_PLAN: self.owner.plan,
            TAG_ADDRESS: self.address,
            TAG_KEY: self.key,
        }
        return {**found, TAG_EXPIRES: self.owner.expires} if self.owner.expires else found


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as the cloud tells it. ``id`` is what it is ended by; ``launched`` is the cloud's own time, and so is
    ``ended``: when its end was asked for or began, None where the cloud says nothing of it."""

    id: str
    instance_type: str
    zone: str
    state: MachineState
    option: PurchaseOption
    launched: datetime | None
    tags: dict[str, str] = field(default_factory=dict)
    ended: datetime | None = None

    @property
    def lineage(self) -> str:
        """Whose it is; empty where not tagged by hcloud."""
        return self.tags.get(TAG_LINEAGE, "")

    @property
    def key(self) -> str:
        """The order it came from; empty where it bears no such tag."""
        return self.tags.get(TAG_KEY, "")

    @property
    def address(self) -> str:
        """Its place in the plan; empty where it bears no such tag."""
        return self.tags.get(TAG_ADDRESS, "")

    @property
    def is_of_live_work(self) -> bool:
        """Whether it is of 'hcloud operate', whose journal holds it, and of no plan."""
        return self.address.startswith("operate-")

    @property
    def is_of_measurement(self) -> bool:
        """Whether it is of 'hcloud profile run --cloud', which ends it, and of no plan."""
        return TAG_EXPIRES in self.tags

    @property
    def is_of_plan(self) -> bool:
        """Whether it was launched for a plan."""
        return not (self.is_of_live_work or self.is_of_measurement)


@dataclass(frozen=True, slots=True)
class Notice:
    """A cloud said that it takes a machine away or works on what it runs on: why in its words, and from when on (None:
    at any moment)."""

    machine: str
    why: str
    at: datetime | None = None


def over(identity: str, at: datetime | None = None) -> Machine:
    """A machine of which nothing is told any more but that it has ended, and when where that is known."""
    return Machine(identity, "", "", MachineState.ENDED, PurchaseOption.ON_DEMAND, None, ended=at)


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """What an order came to: the machines there are of it, how many are missing, and why in the cloud's words."""

    machines: tuple[Machine, ...]
    missing: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Terminated:
    """Which machines the cloud agreed to end, and which it did not know any more; ``ended`` is when, by id, of those
    of which the cloud said so."""

    ending: tuple[str, ...]
    gone: tuple[str, ...] = ()
    ended: dict[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit of the account that a launch counts against, in the unit of its name; None where it has none."""

    name: str
    limit: Decimal | None
    used: Decimal


@dataclass(frozen=True, slots=True)
class CommitmentOrder:
    """A commitment to buy: ``count`` instances, or ``dollars_per_hour`` for what is spend-based.

    ``key`` is the client's handle where the provider takes one, and is noted in the ledger of purchases in any case.
    """

    key: str
    option: PurchaseOption
    instance_type: str
    term_years: int
    payment: Payment
    count: int = 0
    dollars_per_hour: Decimal | None = None
    starts: datetime | None = None


@dataclass(frozen=True, slots=True)
class CommitmentQuote:
    """What a commitment costs now, for all of it; ``offering`` is the provider's id of what is bought."""

    order: CommitmentOrder
    offering: str
    upfront: Decimal
    hourly: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Commitment:
    """A commitment that the cloud says is held. ``state`` is pending, queued, active, ended or unknown; ``key`` is
    empty where the provider keeps none, ``special`` where it covers Linux on shared hardware, or any system.
    ``resources`` is all of it where the cloud counts it in vCPUs and GiB, ``own_size`` that it covers its own size
    alone though sizes share: zonal reserved instances of AWS, Azure's reservations without size flexibility."""

    id: str
    option: PurchaseOption
    offering: str
    instance_type: str
    count: int
    term_years: int
    payment: Payment
    state: str
    starts: datetime | None
    ends: datetime | None
    upfront: Decimal
    hourly: Decimal
    currency: str
    key: str = ""
    special: str = ""
    resources: CommittedResources | None = None
    own_size: bool = False
