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
from hcloud.fake.semantics import semantics_of
from hcloud.fake.world import MAINTAINED, FakeWorld
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import TAG_LINEAGE, Launch, LaunchTemplate, Machine, MachineState, Notice

START = 1_796_000_000.0
"""When a world begins where nothing is said: a fixed moment, so that runs are the same to the byte."""
OPERATIONS_KEPT = 14 * 86_400.0
"""How long Google tells of an end by its operations: two weeks at least."""
USUAL_HOURLY = Decimal("0.10")
SPOT_SHARE = Decimal("0.35")  # ours: of the on-demand price, where no spot price is told


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

    def __init__(self, semantics: str, plan: FaultPlan | None = None, clock: FakeClock | None = None) -> None:
        plan = plan or FaultPlan()
        begin = plan.clock.start.timestamp() if plan.clock.start else START
        super().__init__(plan, clock or FakeClock(begin, speed=0.0))
        self.semantics = semantics_of(semantics)
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
        """End the machines whose notice has run out."""
        for rented, at in self.taken_away():
            rented.asked_to_end = rented.ended_at = at
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
        if not self.semantics.tells_ends:
            return {}
        known = [m for i in sorted(ids) if (m := self.ledger.machines.get(i)) is not None and i not in self.hidden]
        by_operation, now = self.semantics.tells_when, self.now
        return {
            m.id: datetime.fromtimestamp(m.asked_to_end, UTC) if by_operation else None
            for m in known
            if m.ended_at is not None and m.asked_to_end is not None and now >= m.ended_at
            if not by_operation or now < m.ended_at + OPERATIONS_KEPT
        }

    def noticed(self, lineage: str) -> tuple[Notice, ...]:
        """What is told of the end of machines; that it takes spot ones only some clouds tell before."""
        found = []
        for rented in self.ledger.machines.values():
            at = rented.detail.get(MAINTAINED)
            if rented.tags.get(TAG_LINEAGE) != lineage or rented.asked_to_end is not None:
                continue
            if isinstance(at, float):
                found.append(Notice(rented.id, "maintenance", datetime.fromtimestamp(at, UTC)))
            elif "notice_at" in rented.detail and self.semantics.warns:
                found.append(Notice(rented.id, "spot capacity is taken back"))
        return tuple(found)

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
