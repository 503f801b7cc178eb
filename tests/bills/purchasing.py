"""What tests of purchases share: a plan that wants commitments, a ledger in a directory, a cloud in memory, crashes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from hcloud.control.ports import Cloud
from hcloud.fake.faults import FaultPlan, fault_plan
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.live.buying.purchase import Gates, PurchaseContext, execute
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder
from hcloud.model.holdings.purchase import CommitmentNeed, Purchased, PurchasePlan, WantedCommitment
from hcloud.planning.purchases.gates import PurchaseApproval
from hcloud.planning.purchases.history import PurchaseHistory, history
from hcloud.planning.purchases.purchase import PurchaseBasis, key_of, purchase_plan
from hcloud.store.purchase_file import sealed
from hcloud.store.records.purchases import PurchaseLedger
from hcloud.units import cents, plain

OPTIONS = {
    "aws": PurchaseOption.RESERVED,
    "aws-plan": PurchaseOption.COMPUTE_SAVINGS_PLAN,
    "gcp": PurchaseOption.COMMITTED_USE,
    "azure": PurchaseOption.RESERVATION,
}
"""The commitments that are tried: the one without a key first, then one of each provider's that takes one."""
KEYED = ("aws-plan", "gcp", "azure")
OPEN = Gates(enabled=True, allowed=True, ceiling=Decimal(10_000_000))


class Died(BaseException):
    """The process ended here."""


@dataclass
class CrashAt:
    """Dies at the nth crash point; remembers which it came to."""

    number: int = 0
    name: str = ""
    met: list[str] = field(default_factory=list)

    def __call__(self, name: str) -> None:
        self.met.append(name)
        if len(self.met) == self.number or (self.name and name == self.name):
            raise Died(name)


def go_on(name: str) -> None:
    """No crash."""


def wanted(kind: str, count: int = 5, address: str = "") -> WantedCommitment:
    """What a plan might ask for under one of OPTIONS, in its rehearsal region."""
    option = OPTIONS[kind]
    cloud = kind.partition("-")[0]
    there = MemoryCloud(cloud).world.semantics
    spends = option.is_spend_based
    return WantedCommitment(
        address=address or f"{cloud}/{there.region}/{there.types[0]}/{option}-1y-no-upfront",
        cloud=cloud,
        region=there.region,
        instance_type=there.types[0],
        option=option,
        term_years=1,
        payment=Payment.NONE,
        count=0 if spends else count,
        dollars_per_hour=Decimal(count) / 10 if spends else None,
        total=Decimal("0.1") * count * 8760,
        upfront=Decimal(0),
        break_even=Decimal("0.6"),
    )


@dataclass
class Shop:
    """A cloud in memory with a ledger of purchases beside it."""

    kind: str
    directory: Path
    cloud: MemoryCloud

    @classmethod
    def open(cls, kind: str, directory: Path, faults: object = None) -> Shop:
        """A new one, under a fault plan."""
        plan = fault_plan(faults, "test") if faults else FaultPlan()
        return cls(kind, directory / ".hcloud", MemoryCloud(kind.partition("-")[0], plan))

    @property
    def ledger(self) -> PurchaseLedger:
        """The ledger as a new process would open it."""
        return PurchaseLedger(self.directory)

    @property
    def history(self) -> PurchaseHistory:
        """What the ledger tells."""
        return history(self.ledger.entries())

    @property
    def bought(self) -> int:
        """How many purchases there really are: the cloud's own ledger judges."""
        return len(self.cloud.ledger.purchases)

    @property
    def asked(self) -> int:
        """How many times the cloud was asked to sell."""
        return self.cloud.ledger.calls(["buy"])

    def now(self) -> datetime:
        """The cloud's time."""
        return datetime.fromtimestamp(self.cloud.clock.now(), UTC)

    def faults(self, *rules: dict[str, object], **more: object) -> None:
        """From now on these rules hold."""
        self.cloud.plan_faults(fault_plan({"rules": list(rules), **more}, "test"))

    def plan(self, *needs: WantedCommitment, valid_for: timedelta = timedelta(days=1)) -> PurchasePlan:
        """A purchase plan at the cloud's quotes; five of the shop's kind where nothing is said."""
        found = self.ledger.begin()
        basis = PurchaseBasis(
            found, self.cloud.scope(), "d" * 64, self.now(), valid_for, self.history.recorded_beside("")
        )
        quoted = []
        for one in needs or (wanted(self.kind),):
            order = CommitmentOrder(
                key=key_of(basis, one), option=one.option, instance_type=one.instance_type, term_years=one.term_years,
                payment=one.payment, count=one.count, dollars_per_hour=one.dollars_per_hour, starts=one.starts,
            )  # fmt: skip
            quoted.append((CommitmentNeed(one, Decimal(0)), self.cloud.quote(order)))
        return sealed(purchase_plan(quoted, self.cloud.commitments(), basis))

    def ground(self, crash: Callable[[str], None] = go_on, cloud: Cloud | None = None) -> PurchaseContext:
        """What the executor stands on."""
        return PurchaseContext(cloud or self.cloud, self.ledger, self.cloud.clock, crash)

    def apply(
        self, plan: PurchasePlan, gates: Gates = OPEN, crash: Callable[[str], None] = go_on
    ) -> tuple[Purchased, ...]:
        """Buy a plan as a new process would, approved as it stands."""
        return execute(plan, gates, approved, self.ground(crash))


def approved(plan: PurchasePlan) -> PurchaseApproval:
    """A person who read the plan and typed what it says."""
    return PurchaseApproval(plan.digest, plain(cents(plan.amount)))


def later(when: datetime | date, **span: int) -> datetime:
    """Some time after."""
    begin = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day, tzinfo=UTC)
    return begin + timedelta(**span)


def changed(plan: PurchasePlan, **fields: object) -> PurchasePlan:
    """The plan with other fields, sealed again, as a forger who knows the format would."""
    return sealed(replace(plan, **fields))  # type: ignore[arg-type]
