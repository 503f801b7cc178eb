"""What the fake cloud in memory consists of: a place with its types and zones, its ledger, and what it tells when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from hcloud.errors import Call
from hcloud.fake.clock import FakeClock
from hcloud.fake.faults import FaultPlan, Lag
from hcloud.fake.ledger import Rented
from hcloud.fake.world import SPOT_NOTICE_SECONDS, FakeWorld
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import Launch, LaunchTemplate, Machine, MachineState

START = 1_796_000_000.0
"""When a world begins where nothing is said: a fixed moment, so that runs are the same to the byte."""
OPERATIONS_KEPT = 14 * 86_400.0
"""How long Google tells of an end by its operations: two weeks at least."""
USUAL_HOURLY = Decimal("0.10")
SPOT_SHARE = Decimal("0.35")  # ours: of the on-demand price, where no spot price is told


@dataclass(frozen=True, slots=True)
class Semantics:
    """What sets a cloud apart: ``by_name`` means that a machine's name is derived from its order and is unique (what
    is there is kept, what is missing is made), ``lingers`` that ended machines are told of for a while."""

    cloud: str
    account: str
    region: str
    zones: tuple[str, ...]
    types: tuple[str, ...]
    by_name: bool
    replays: bool
    lingers: bool
    codes: Mapping[str, str]
    sold: tuple[PurchaseOption, ...] = ()


_RESERVED = (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE)
_AWS_PLANS = (PurchaseOption.INSTANCE_SAVINGS_PLAN, PurchaseOption.COMPUTE_SAVINGS_PLAN)
_AWS_CODES = {
    "throttled": "RequestLimitExceeded",
    "no-capacity": "InsufficientInstanceCapacity",
    "quota": "VcpuLimitExceeded",
    "denied": "UnauthorizedOperation",
    "expired-credentials": "ExpiredToken",
    "clock-skew": "SignatureDoesNotMatch",
    "mismatch": "IdempotentParameterMismatch",
}
_GCP_CODES = {
    "throttled": "rateLimitExceeded",
    "no-capacity": "ZONE_RESOURCE_POOL_EXHAUSTED",
    "quota": "quotaExceeded",
    "denied": "forbidden",
    "expired-credentials": "authError",
    "clock-skew": "invalid_grant",
    "mismatch": "alreadyExists",
}
_AZURE_CODES = {
    "throttled": "TooManyRequests",
    "no-capacity": "AllocationFailed",
    "quota": "QuotaExceeded",
    "denied": "AuthorizationFailed",
    "expired-credentials": "ExpiredAuthenticationToken",
    "clock-skew": "InvalidAuthenticationToken",
    "mismatch": "PropertyChangeNotAllowed",
}
SEMANTICS: Mapping[str, Semantics] = {
    "aws": Semantics(
        cloud="aws",
        account="111122223333",
        region="eu-central-1",
        zones=("eu-central-1a", "eu-central-1b", "eu-central-1c"),
        types=("m5.large", "m5.xlarge", "m6i.large"),
        by_name=False,
        replays=True,
        lingers=True,
        codes=_AWS_CODES,
        sold=_RESERVED + _AWS_PLANS,
    ),
    "gcp": Semantics(
        cloud="gcp",
        account="rehearsal-project",
        region="europe-west3",
        zones=("europe-west3-a", "europe-west3-b", "europe-west3-c"),
        types=("n2-standard-2", "n2-standard-4", "e2-standard-2"),
        by_name=True,
        replays=True,
        lingers=False,
        codes=_GCP_CODES,
        sold=(PurchaseOption.COMMITTED_USE, PurchaseOption.FLEXIBLE_COMMITTED_USE),
    ),
    "azure": Semantics(
        cloud="azure",
        account="00000000-0000-4000-8000-000000000001",
        region="germanywestcentral",
        zones=("1", "2", "3"),
        types=("Standard_D2s_v5", "Standard_D4s_v5", "Standard_B2s"),
        by_name=True,
        replays=False,
        lingers=False,
        codes=_AZURE_CODES,
        sold=(PurchaseOption.RESERVATION, PurchaseOption.SAVINGS_PLAN),
    ),
    "local": Semantics(
        cloud="local",
        account="local",
        region="local",
        zones=("local",),
        types=("small", "medium", "large"),
        by_name=True,
        replays=False,
        lingers=False,
        codes={},
    ),
}


@dataclass(frozen=True, slots=True)
class RememberedOrder:
    """An order that the cloud knows by its key: what was asked for, and what was made of it."""

    order: Launch
    ids: tuple[str, ...]
    missing: int
    why: str


class MemoryWorld(FakeWorld):
    """One cloud and all that happened in it, for all who ask it; its clock stands still until it is put forward or
    slept on, unless another is given.

    ``hidden`` are ids that lists leave out by hand; ``keep`` is called after each change, before it is answered.
    ``templating`` says what machines of some types are launched with, ``images`` which images names stand for that are
    not images themselves.
    """

    def __init__(self, semantics: str = "aws", plan: FaultPlan | None = None, clock: FakeClock | None = None) -> None:
        plan = plan or FaultPlan()
        begin = plan.clock.start.timestamp() if plan.clock.start else START
        super().__init__(plan, clock or FakeClock(begin, speed=0.0))
        self.semantics = SEMANTICS[semantics]
        self.orders: dict[str, RememberedOrder] = {}
        self.hourly: Mapping[str, Decimal] = {}
        self.spot_hourly: Mapping[str, Decimal] = {}
        self.hidden: set[str] = set()
        self.endpoint = ""
        self.keep: Callable[[], None] = lambda: None
        self.templating: Callable[[Sequence[str]], LaunchTemplate] = lambda instance_types: LaunchTemplate()
        self.images: dict[str, str] = {}

    def call(self, operation: str, what: str = "") -> Call:
        """A request for messages, with the cloud's own code for what went wrong."""
        return Call(self.semantics.cloud, self.semantics.region, operation, self.semantics.codes.get(what, what))

    def on_demand(self, instance_type: str) -> Decimal:
        """Dollars an hour on demand, now."""
        return self.price(self.hourly.get(instance_type, USUAL_HOURLY))

    def spot(self, instance_type: str) -> Decimal:
        """Dollars an hour of a spot machine, now."""
        told = self.spot_hourly.get(instance_type)
        return self.on_demand(instance_type) * SPOT_SHARE if told is None else self.price(told)

    def settle(self) -> None:
        """End the spot machines whose notice has run out."""
        for rented, noticed in self.notices():
            if self.now >= noticed + SPOT_NOTICE_SECONDS:
                rented.asked_to_end = rented.ended_at = noticed + SPOT_NOTICE_SECONDS
                self.keep()

    def end(self, rented: Rented) -> None:
        """Begin the end of a machine; one that is ending already is left as it is."""
        if rented.asked_to_end is None:
            rented.asked_to_end = self.now
            rented.ended_at = rented.asked_to_end + self.faults.plan.end_delay

    def told(self, rented: Rented, behind: Lag | None = None) -> Machine | None:
        """A machine as look-ups show it now, or a list that is behind; None while they do not yet, or no more."""
        behind, now, plan = behind or Lag(), self.now, self.faults.plan
        renamed = "#" in rented.id  # another bears its name now
        if now - behind.made < rented.visible_at or rented.id in self.hidden or renamed:
            return None
        then = now - (rented.visible_at - rented.made_at) - behind.ended
        keeps = plan.linger if self.semantics.lingers else 0.0
        if rented.ended_at is not None and then >= rented.ended_at + keeps:
            return None
        tags = dict(rented.tags) if now - behind.made >= rented.tagged_at else {}
        return self.machine(rented, tags, then)

    def ends(self, ids: Set[str]) -> dict[str, datetime | None]:
        """When machines that are not told of any more have ended, where this cloud tells it otherwise than by lists:
        Google by its operations, Azure by what is left of the order, without a time."""
        if self.semantics.cloud not in ("gcp", "azure"):
            return {}
        known = [m for i in sorted(ids) if (m := self.ledger.machines.get(i)) is not None and i not in self.hidden]
        by_operation, now = self.semantics.cloud == "gcp", self.now
        return {
            m.id: datetime.fromtimestamp(m.asked_to_end, UTC) if by_operation else None
            for m in known
            if m.ended_at is not None and m.asked_to_end is not None and now >= m.ended_at
            if not by_operation or now < m.ended_at + OPERATIONS_KEPT
        }

    def machine(self, rented: Rented, tags: dict[str, str], at: float) -> Machine:
        """A machine as it is at a moment."""
        option = PurchaseOption.SPOT if rented.spot else PurchaseOption.ON_DEMAND
        made, state = datetime.fromtimestamp(rented.made_at, UTC), self._state(rented, at)
        asked = rented.asked_to_end if not state.is_live else None
        ended = None if asked is None else datetime.fromtimestamp(asked, UTC)
        return Machine(rented.id, rented.instance_type, rented.zone, state, option, made, tags, ended)

    def _state(self, rented: Rented, at: float) -> MachineState:
        if rented.ended_at is not None and at >= rented.ended_at:
            return MachineState.ENDED
        if rented.asked_to_end is not None and at >= rented.asked_to_end:
            return MachineState.STOPPING
        stopped = rented.detail.get("stopped") is True
        if stopped:
            return MachineState.STOPPED
        now = self.now  # the start is told of at once, only an end is told of late
        started = rented.running_at is not None and now >= rented.running_at
        return MachineState.RUNNING if started else MachineState.PENDING
