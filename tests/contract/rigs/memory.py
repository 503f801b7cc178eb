"""The cloud in memory, which is provider and fake in one; it behaves like AWS here."""

from __future__ import annotations

from decimal import Decimal

from contract.rig import EVERYTHING, Ability, Rig, Words
from hcloud.control.ports import Cloud
from hcloud.fake.faults import fault_plan
from hcloud.fake.memory import MemoryCloud
from hcloud.fake.server import FakeCloud
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.live import CommitmentOrder


class MemoryRig(Rig):
    name = "memory"
    abilities = EVERYTHING - {Ability.PAGES, Ability.LONG_OPERATIONS}
    words = Words(
        launch="launch",
        terminate="terminate",
        list="machines",
        reads=("scope", "machines", "look", "zones", "quotas", "quote", "commitments"),
        buy="buy",
        commitments="commitments",
    )
    type_name = "m5.large"
    zones = ("eu-central-1a", "eu-central-1b", "eu-central-1c")
    unknown_id = "i-0123456789abcdef0"
    quota_name = "instances"
    most_calls_for_100 = 1
    most_calls_to_list_1000 = 1

    _cloud: MemoryCloud

    @property
    def fake(self) -> FakeCloud:
        return self._cloud  # type: ignore[return-value]  # it answers to no wire

    def open(self) -> None:
        self.reset()

    def close(self) -> None:
        """Nothing was opened."""

    def reset(self) -> None:
        self._cloud = MemoryCloud("aws")

    def faults(self, document: object) -> None:
        self._cloud.plan_faults(fault_plan(document, "test"))

    def cloud(self, principal: str = "") -> Cloud:
        return self._cloud.as_principal(principal)

    def commitment(self, key: str) -> CommitmentOrder:
        return CommitmentOrder(key, PurchaseOption.RESERVED, self.type_name, 1, Payment.PARTIAL, count=2)

    def commitment_by_key(self, key: str) -> CommitmentOrder:
        return self.cancellable(key)

    def cancellable(self, key: str) -> CommitmentOrder:
        option = PurchaseOption.COMPUTE_SAVINGS_PLAN
        return CommitmentOrder(key, option, self.type_name, 1, Payment.NONE, dollars_per_hour=Decimal("1.25"))


RIG = MemoryRig
