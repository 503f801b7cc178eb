"""The cloud in memory as AWS: no wire, the same contract."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar, cast

from contract.rig import EVERYTHING, Ability, Rig, Words
from hcloud.control.ports import Cloud
from hcloud.fake.faults import ClockPlan, FaultPlan, fault_plan
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.fake.server import FakeCloud
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder


class MemoryRig(Rig):
    name = "aws"
    abilities = EVERYTHING - {Ability.PAGES}
    words = Words(
        launch="launch",
        terminate="terminate",
        list="machines",
        reads=("scope", "machines", "look", "examine", "zones", "quotas", "quote", "commitments"),
        buy="buy",
        commitments="commitments",
    )
    type_name = "m5.large"
    zones = ("eu-central-1a", "eu-central-1b", "eu-central-1c")
    unknown_id = "i-0123456789abcdef0"
    quota_name = "instances"
    most_calls_for_100 = 1
    most_calls_to_list_1000 = 1
    sold: ClassVar[PurchaseOption] = PurchaseOption.RESERVED
    by_key: ClassVar[PurchaseOption] = PurchaseOption.COMPUTE_SAVINGS_PLAN

    _cloud: MemoryCloud

    @property
    def fake(self) -> FakeCloud:
        return cast("FakeCloud", self._cloud)

    def open(self) -> None:
        self.reset()

    def close(self) -> None:
        """Nothing is open."""

    def reset(self) -> None:
        self._cloud = MemoryCloud(self.name, FaultPlan(clock=ClockPlan(speed=0)))

    def cloud(self, principal: str = "") -> Cloud:
        return self._cloud.as_principal(principal)

    def faults(self, document: Mapping[str, object]) -> None:
        self._cloud.plan_faults(fault_plan(document, "test"))

    def commitment(self, key: str) -> CommitmentOrder:
        return self._order(key, self.sold)

    def commitment_by_key(self, key: str) -> CommitmentOrder:
        return self._order(key, self.by_key)

    def cancellable(self, key: str) -> CommitmentOrder:
        return self._order(key, self.by_key)

    def _order(self, key: str, option: PurchaseOption) -> CommitmentOrder:
        dollars = Decimal("1.25") if option.is_spend_based else None
        count = 0 if option.is_spend_based else 2
        return CommitmentOrder(key, option, self.type_name, 1, Payment.NONE, count, dollars)


RIG = MemoryRig
