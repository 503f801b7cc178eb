"""What every fake cloud is behind its face: a clock, faults and a ledger, what is rented, what is left, and the spot
machines that are taken away. A face says it in the words of its cloud."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from hcloud.fake.clock import FakeClock
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule, Faults, InterceptedRequest
from hcloud.fake.ledger import Ledger, RecordedRequest, Rented


@dataclass(slots=True)
class Images:
    """``renewed`` counts by name how often a newer image took its place; ``withdrawn`` are ids that cannot be launched
    any more."""

    renewed: dict[str, int] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)

    def renew(self, name: str) -> None:
        """A newer image takes the place behind a name."""
        self.renewed[name] = self.renewed.get(name, 0) + 1

    def number(self, name: str) -> int:
        """How many images were behind a name before the one that is now."""
        return self.renewed.get(name, 0)

    def digits(self, name: str) -> str:
        """Hex digits of the image that is behind a name now."""
        return hashlib.sha256(f"{name}\n{self.number(name)}".encode()).hexdigest()


DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class MachineLoad:
    """Utilisation in percent of the machine: ``usual``, and ``busy`` from one hour of each day (UTC) to another."""

    usual: float = 50.0
    busy: float = 50.0
    from_hour: int = 0
    to_hour: int = 0

    def at(self, seconds: float) -> float:
        """The utilisation at a time."""
        hour = seconds % DAY_SECONDS / 3600
        return self.busy if self.from_hour <= hour < self.to_hour else self.usual


USUAL_LOAD = MachineLoad()


@dataclass(frozen=True, slots=True)
class LoadSamples:
    """The samples of one machine: times at the beginning of each, and the load then."""

    machine: Rented
    load: MachineLoad
    start: int
    end: int
    seconds: int

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Those in which the machine ran, the earliest first."""
        until = self.end if self.machine.asked_to_end is None else min(self.end, self.machine.asked_to_end)
        first = max(self.start, int(self.machine.made_at))
        for at in range(first - (first - self.start) % self.seconds, int(-(-until // 1)), self.seconds):
            yield at, self.load.at(at)


def billed_in(machine: Rented, start: float, end: float, now: float) -> float:
    """The hours that a machine ran between two moments."""
    until = min(end, now, now if machine.asked_to_end is None else machine.asked_to_end)
    return max(until - max(start, machine.made_at), 0.0) / 3600


def tags_in(change: Mapping[str, object]) -> dict[str, str]:
    """The tags that a person's change names."""
    given = change.get("tags")
    return {str(k): str(v) for k, v in given.items()} if isinstance(given, Mapping) else {}


SPOT_NOTICE_SECONDS = 120.0
"""From a spot machine's notice to its end."""
MAINTENANCE_NOTICE_SECONDS = 600.0
"""From the notice of maintenance to its begin, which ends a machine here."""
MAINTAINED = "maintenance_at"
"""Under this name the ledger has when what a machine runs on is maintained, once that is told."""
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class NewMachine:
    """A machine about to stand; ``detail`` goes into the ledger as it is. ``at_once``: lists show it from the first, as
    those that a person made by hand."""

    id: str
    instance_type: str
    zone: str
    spot: bool
    tags: Mapping[str, str]
    token: str = ""
    principal: str = ""
    detail: dict[str, object] = field(default_factory=dict)
    at_once: bool = False


class FakeWorld:
    """One fake cloud; but for ``serve`` all of it is touched with the ledger's lock held."""

    name = ""

    def __init__(self, plan: FaultPlan | None = None, clock: FakeClock | None = None) -> None:
        plan = plan or FaultPlan()
        start = plan.clock.start.timestamp() if plan.clock.start else time.time()
        self.clock = clock or FakeClock(start, plan.clock.speed)
        self.faults, self.ledger = Faults(plan, self.clock.now()), Ledger()
        self.loads: dict[str, MachineLoad] = {}

    @property
    def now(self) -> float:
        return self.clock.now()

    def load_of(self, machine: Rented) -> MachineLoad:
        """How busy a machine is."""
        return self.loads.get(machine.id, USUAL_LOAD)

    def price(self, amount: Decimal) -> Decimal:
        """A price as it is told now."""
        return amount * Decimal(str(self.faults.plan.price_factor))

    def settle(self) -> None:
        """Let happen what was due until now."""

    def serve(
        self,
        asked: InterceptedRequest,
        act: Callable[[FaultRule | None], tuple[Answer, str, bool]],
        wait: Callable[[FaultRule | None], None] = lambda rule: None,
    ) -> Answer:
        """One request: the rule it falls under, the delay of a slow one, what was due before it, the deed, and its
        line in the ledger. ``act`` says what came of it in a word, and whether it changed something; ``wait`` is called
        before it with nothing held."""
        rule = self.faults.strike(asked, self.now)
        if rule is not None and rule.answer is FaultKind.SLOW:
            self.clock.sleep(rule.seconds)
        wait(rule)
        with self.ledger.held():
            self.settle()
            now = self.now
            answer, outcome, acted = act(rule)
            self.ledger.requests.append(
                RecordedRequest(now, asked.operation, asked.mutating, asked.principal, outcome, acted)
            )
        return answer

    def rent(self, new: NewMachine) -> Rented:
        """Let a machine stand. One before it of its id stays in the ledger, under another."""
        plan, now = self.faults.plan, self.now
        if (before := self.ledger.machines.pop(new.id, None)) is not None:
            before.id = f"{new.id}#{self.ledger.next_number()}"
            self.ledger.machines[before.id] = before
        late = FaultPlan() if new.at_once else plan
        made = self.ledger.machines[new.id] = Rented(
            id=new.id,
            instance_type=new.instance_type,
            zone=new.zone,
            spot=new.spot,
            tags=dict(new.tags),
            token=new.token,
            principal=new.principal,
            made_at=now,
            visible_at=now + late.visibility_delay,
            tagged_at=now + max(late.visibility_delay, late.tag_delay),
            running_at=now + late.spin_up,
            detail=dict(new.detail),
        )
        return made

    def room(self, instance_type: str, zone: str, wanted: int, rule: FaultRule | None = None) -> int:
        """How many of those wanted a zone has, by its stock and by a rule that grants a share."""
        stock = self.faults.stock(instance_type, zone)
        if rule is not None and rule.answer is FaultKind.PARTIAL:
            wanted = int(wanted * rule.share)
        if stock is None:
            return wanted
        there = (m for m in self.ledger.machines.values() if m.is_there(self.now))
        used = sum((m.instance_type, m.zone) == (instance_type, zone) for m in there)
        return max(min(wanted, stock - used), 0)

    def notices(self) -> Iterator[tuple[Rented, float]]:
        """The spot machines nobody has ended that have had notice, and when."""
        for machine, at in self._told(self.faults.plan.spot_notices):
            if machine.spot and machine.detail.setdefault("notice_at", at) == at:
                yield machine, at

    def taken_away(self) -> Iterator[tuple[Rented, float]]:
        """The machines that are taken away by now, and since when: spot ones after their notice, and those that were to
        be maintained."""
        ends = [(machine, at + SPOT_NOTICE_SECONDS) for machine, at in self.notices()]
        for machine, at in self._told(self.faults.plan.maintenance):
            begins = at + MAINTENANCE_NOTICE_SECONDS
            if machine.detail.setdefault(MAINTAINED, begins) == begins:
                ends.append((machine, begins))
        yield from ((machine, at) for machine, at in ends if self.now >= at)

    def _told(self, times: tuple[float, ...]) -> Iterator[tuple[Rented, float]]:
        """The machines that stood at times that have come, and that nobody has ended."""
        for after in sorted(times):
            at = self.faults.started + after
            for machine in list(self.ledger.machines.values()) if self.now >= at else ():
                if machine.made_at <= at and (machine.asked_to_end is None or machine.asked_to_end > self.now):
                    yield machine, at
