"""A rehearsal: one cloud in memory, one disk, and processes on it that may crash anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal

import oracle
from memory_store import MemoryDisk, MemoryStore

from hcloud.fake.clock import FakeClock
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.live.applying.apply import apply, destroy, ends_of_all
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.applying.outcome import ApplyOutcome
from hcloud.live.observe import observe
from hcloud.live.site import Site, WaitLimits
from hcloud.model.holdings.change import ChangeSet, Observed, Shape, Slot
from hcloud.model.holdings.state import State
from hcloud.planning.changes.diff import DiffInputs, changes

CLOUDS = ("aws", "gcp", "azure")
LINEAGE = "0123456789abcdef" * 2


class Crashed(BaseException):
    """The process ended here, without a word."""


@dataclass(slots=True)
class Crasher:
    """Ends the process at the nth point that is passed (0: never), and writes down all names."""

    at: int = 0
    names: list[str] = field(default_factory=list)

    def __call__(self, name: str) -> None:
        self.names.append(name)
        if len(self.names) == self.at:
            raise Crashed(name)

    @property
    def struck(self) -> bool:
        return 0 < self.at <= len(self.names)


@dataclass(slots=True)
class SkewedClock:
    """The clock of a machine that is wrong about what time it is, and right about how time passes."""

    right: FakeClock
    skew: float = 0.0

    def now(self) -> float:
        return self.right.now() + self.skew

    def passed(self) -> float:
        return self.right.passed()

    def sleep(self, seconds: float) -> None:
        self.right.sleep(seconds)


class Rehearsal:
    """A cloud and a disk; every method is a process of its own."""

    def __init__(self, semantics: str, plan: FaultPlan | None = None) -> None:
        self.cloud = MemoryCloud(semantics, plan)
        self.disk = MemoryDisk()
        self.most: dict[str, int] = {}
        self.principal = ""
        self.waits = WaitLimits()
        self.terms = DiffInputs()
        self.workers = 1
        self.skew = 0.0

    @property
    def lineage(self) -> str:
        return LINEAGE

    @property
    def types(self) -> tuple[str, ...]:
        return self.cloud.world.semantics.types

    @property
    def zones(self) -> tuple[str, ...]:
        return self.cloud.world.semantics.zones

    def slot(self, count: int = 3, address: str = "web", fallbacks: Sequence[str] = ()) -> Slot:
        shapes = tuple(Shape(name, Decimal("0.12")) for name in fallbacks)
        return Slot(address, self.types[0], self.zones[:2], count, Decimal("0.10"), fallbacks=shapes)

    def site(self, crash: Callable[[str], None] | None = None, **more: object) -> Site:
        found = Site(
            self.cloud.as_principal(self.principal),
            MemoryStore(self.disk, self.cloud.clock),
            SkewedClock(self.cloud.clock, self.skew),
            crash=crash or (lambda name: None),
            waits=self.waits,
            beginning=State(LINEAGE, project="rehearsal"),
            workers=self.workers,
        )
        return replace(found, **more)  # type: ignore[arg-type]

    def look(self) -> Observed:
        return observe(self.site())

    def plan(self, *slots: Slot) -> ChangeSet:
        return changes(slots, self.look(), self.terms)

    def apply(
        self, *slots: Slot, crash: Callable[[str], None] | None = None, approval: ChangeApproval | None = None
    ) -> ApplyOutcome:
        """Plan and apply; however many machines end, their number has been typed."""
        self.allow(*slots)
        found = self.plan(*slots)
        return self.carry_out(found, crash=crash, approval=approval)

    def carry_out(
        self, found: ChangeSet, *, crash: Callable[[str], None] | None = None, approval: ChangeApproval | None = None
    ) -> ApplyOutcome:
        approval = approval or ChangeApproval(ends=len(found.going))
        return self.judged(found.slots, apply(self.site(crash), found, approval, self.terms))

    def destroy(self, crash: Callable[[str], None] | None = None, ends: int | None = None) -> ApplyOutcome:
        found = ends_of_all(self.site(), self.terms)
        approval = ChangeApproval(ends=len(found.going) if ends is None else ends)
        return self.judged((), destroy(self.site(crash), found, approval, self.terms))

    def judged(self, slots: Sequence[Slot], outcome: ApplyOutcome) -> ApplyOutcome:
        self.judge()
        oracle.v5_exit_is_true(self.cloud, self.disk, slots, outcome)
        return outcome

    def judge(self) -> None:
        """What holds at any moment."""
        oracle.v1_nothing_is_orphaned(self.cloud, self.disk, LINEAGE)
        oracle.v2_nothing_is_doubled(self.cloud, LINEAGE, self.most)
        oracle.v6_disk_is_readable(self.disk)
        oracle.nothing_asked_before_it_was_noted(self.cloud, self.disk, LINEAGE)

    def allow(self, *slots: Slot) -> None:
        for slot in slots:
            self.most[slot.address] = max(self.most.get(slot.address, 0), slot.count)

    def faults(self, *rules: FaultRule, **more: object) -> None:
        """From now on these go wrong; delays, stock and quotas as told, else none."""
        self.cloud.plan_faults(FaultPlan.model_validate({"rules": rules, **more}))

    def heal(self, **more: object) -> None:
        """Nothing goes wrong from now on."""
        self.faults(**more)

    def live(self, address: str = "") -> int:
        """How many machines of ours live, told by the ledger."""
        found = oracle.ours(self.cloud, LINEAGE)
        return len([m for m in found if not address or m.tags["hcloud-address"] == address])

    def calls(self, *operations: str) -> int:
        return self.cloud.ledger.calls(operations)

    def converges(self, *slots: Slot) -> None:
        """V4: a run without faults reaches the plan, exactly, and the next plan is empty."""
        outcome = self.apply(*slots)
        assert outcome.exit_code == 0, f"V4: {outcome}"
        for slot in slots:
            assert self.live(slot.address) == slot.count, "V4: not what was planned"
        assert self.live() == sum(s.count for s in slots)
        shown = self.plan(*slots)
        assert not shown.to_do, "V4: the next plan is not empty"
        young = {m.id for m in self.cloud.ledger.machines.values() if self.cloud.clock.now() - m.made_at < 300}
        assert all(set(refusal.ids) <= young for refusal in shown.refusals), "V4: something is not as it should be"


@contextmanager
def crashing() -> Iterator[None]:
    """A process that may crash inside."""
    try:
        yield
    except Crashed:
        return


def rule(on: str, answer: FaultKind, **more: object) -> FaultRule:
    return FaultRule.model_validate({"on": on, "answer": answer, **more})
