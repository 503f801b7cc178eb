"""What verbs of harvesting found, with what was read for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from hcloud.harvest.classes import UseTypes
from hcloud.harvest.histories import TenantHistories
from hcloud.harvest.jobs import Thresholds
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.room import JobSizes
from hcloud.harvest.servers import Servers
from hcloud.model.workload import Modelled, Provenance

if TYPE_CHECKING:
    from hcloud.model.workload import Floats


@dataclass(frozen=True, slots=True)
class ServicesBeside:
    """Services of a run with idle hours and of the same without: those that ran on rented machines, and those that
    waited in the queue of the reserve."""

    rented: int
    queued: int
    rented_without: int
    queued_without: int

    @property
    def harms(self) -> bool:
        """Whether more of them wait, or run on demand."""
        return self.queued > self.queued_without or self.rented > self.rented_without


@dataclass(frozen=True, slots=True)
class PlayedBatch:
    """Of the jobs of batch in one run: those that ended in idle hours (with the vCPU-hours of these), those that no
    class had room for, those that moved to machines, those that need more quality than idle hours have. Of those that
    ended there how many times as long as alone they took; tasks killed, the share of the work in idle hours that was
    lost by that (``quality`` is what is left), the seconds that those that moved had lost in the mean, and for how
    many seconds at most a reserve was broken. ``tick`` is how often servers are looked at, in seconds."""

    jobs: int
    ended: int
    vcpu_hours: float
    no_class: int
    moved: int
    too_sensitive: int
    times_alone: float
    kills: int
    lost: float
    slipped: float
    longest_broken: float
    tick: int
    rounds: int = 0
    settled: bool = True
    spread: float = 0.0
    beside: ServicesBeside | None = None
    withheld: str = ""

    @property
    def quality(self) -> float:
        """What kills leave of the work in idle hours: no job that needs more stays there."""
        return 1.0 - self.lost


@dataclass(frozen=True, slots=True)
class OpenedUse:
    """Histories on one grid; what was repaired, left out and assumed while they were read; tenants of the servers
    that have no history; and machines of which nobody says how many vCPUs they have."""

    name: str
    histories: TenantHistories
    policy: HarvestPolicy
    servers: Servers | None = None
    repaired: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    modelled: tuple[Modelled, ...] = ()
    without_history: tuple[str, ...] = ()
    unsized: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TypedUse:
    """The types of all tenants, and what was read."""

    opened: OpenedUse
    types: UseTypes


@dataclass(frozen=True, slots=True)
class BatchWork:
    """Jobs of batch by the hour: ``demand`` is vCPUs [length, hour] from ``start`` (s) on, of ``jobs`` of each length,
    with the GiB in use in each hour; ``left_out`` counts jobs that cannot be harvested by the reason;
    ``seen`` is how many hours of it there really were, ``sizes`` what of the work has how many vCPUs at once (None: it
    can be split)."""

    provenance: Provenance
    start: float
    demand: Floats
    memory: Floats
    jobs: tuple[int, ...]
    lengths: Thresholds
    left_out: dict[str, int]
    seen: int
    sizes: JobSizes | None = None

    @property
    def name(self) -> str:
        """What the workload is called, without the folder it lies in."""
        return self.provenance.name.rpartition("/")[2]

    @property
    def hours(self) -> int:
        """How many hours there are."""
        return int(self.demand.shape[1])


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean with what one future of ten falls short of and what one of ten exceeds."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class HarvestMoney:
    """Dollars a month where batch has machines of its own, all on demand and as the best plan has it, and both for what
    idle capacity does not carry; ``per_vcpu_hour`` is what one that it carries would cost on demand, ``pays_from`` the
    share of the time from which a commitment is cheaper than on demand (None: nothing is to be had)."""

    on_demand: Decimal
    on_demand_left: Decimal
    planned: Decimal
    planned_left: Decimal
    per_vcpu_hour: Decimal
    pays_from: Decimal | None
    where: str

    @property
    def not_rented(self) -> Decimal:
        """What is not spent on demand."""
        return self.on_demand - self.on_demand_left

    @property
    def saved(self) -> Decimal:
        """What is not spent where batch would be planned as well as it can."""
        return self.planned - self.planned_left


@dataclass(frozen=True, slots=True)
class PoolWeek:
    """The last days of a pool by the hour, at most a week, vCPUs: of what is paid for, what the services use, what
    batch would have had and what would still have been idle; the rest is the reserve. ``hour`` is that of the day
    (UTC) at which it begins."""

    hour: int
    paid: float
    services: Floats
    carried: Floats
    idle: Floats


@dataclass(frozen=True, slots=True)
class HarvestPlan:
    """What idle capacity carries of a workload of batch. ``room`` is vCPUs [length, class, hour of the day], ``used``
    the vCPUs of batch carried alike; ``there``, ``wanted`` by batch and ``carried`` are vCPU-hours a month, ``dollars``
    what at least and at most is not spent on demand in eight futures of ten; ``reserve`` is the share of each server
    that the history asks for. Only jobs count that ended in idle hours when they were ``played`` (None: a series has no
    jobs, or too many were there); ``arithmetic`` alone would have carried as many vCPU-hours a month."""

    typed: TypedUse
    batch: BatchWork
    room: Floats
    used: Floats
    there: float
    wanted: float
    carried: Spread
    dollars: tuple[Decimal, Decimal]
    money: HarvestMoney
    reserve: float
    week: PoolWeek
    arithmetic: float = 0.0
    played: PlayedBatch | None = None
