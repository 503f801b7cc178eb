"""AWS: boto3 against the fake account."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from contract.rig import EVERYTHING, Ability, Rig, Words
from hcloud.control.ports import Cloud
from hcloud.fake.aws.cloud import FakeAws
from hcloud.fake.faults import ClockPlan, FaultPlan
from hcloud.fake.server import FakeServer
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder
from hcloud.providers.aws.provider import AwsCloud
from hcloud.providers.aws.settings import AwsSettings

REGION = "eu-central-1"


class AwsRig(Rig):
    name = "aws"
    abilities = EVERYTHING - {Ability.LONG_OPERATIONS}
    words = Words(
        launch="RunInstances",
        terminate="TerminateInstances",
        list="DescribeInstances",
        reads=("Describe*", "Get*", "List*"),
        buy="PurchaseReservedInstancesOffering",
        buy_by_key="CreateSavingsPlan",
        commitments="DescribeReservedInstances",
    )
    type_name = "m5.large"
    zones = (f"{REGION}a", f"{REGION}b", f"{REGION}c")
    unknown_id = "i-0123456789abcdef0"
    quota_name = "L-1216C47A"
    most_calls_for_100 = 1
    most_calls_to_list_1000 = 1

    _fake: FakeAws
    _running: FakeServer

    @property
    def fake(self) -> FakeAws:
        return self._fake

    def open(self) -> None:
        self._fake = FakeAws()
        self._clients: dict[str, dict[str, Any]] = {}
        self._running = FakeServer(self._fake)
        self._running.__enter__()

    def close(self) -> None:
        self._running.__exit__()

    def reset(self) -> None:
        self._fake = FakeAws(FaultPlan(clock=ClockPlan(speed=0)))
        self._fake.home = REGION
        self._running.exchange(self._fake)

    def cloud(self, principal: str = "") -> Cloud:
        """With clients of the SDK that others of the principal have used: to make one takes as long as many calls."""
        settings = AwsSettings(REGION, self._running.url, access_key=(principal or "anybody", "secret"))
        made = AwsCloud(settings, self._fake.clock.sleep)
        made._caller._clients = self._clients.setdefault(principal, {})
        return made

    @property
    def fake_url(self) -> str:
        """Where the fake listens."""
        return self._running.url

    def client(self, service: str) -> Any:
        """A plain client of boto3, for what the provider never asks."""
        import boto3

        return boto3.client(
            service,
            region_name=REGION,
            endpoint_url=self._running.url,
            aws_access_key_id="tester",
            aws_secret_access_key="secret",
        )

    def page(self, size: int) -> None:
        self._fake.largest_page = size

    def commitment(self, key: str) -> CommitmentOrder:
        return CommitmentOrder(key, PurchaseOption.RESERVED, self.type_name, 1, Payment.PARTIAL, count=2)

    def commitment_by_key(self, key: str) -> CommitmentOrder:
        return self.cancellable(key)

    def cancellable(self, key: str) -> CommitmentOrder:
        option = PurchaseOption.COMPUTE_SAVINGS_PLAN
        return CommitmentOrder(key, option, self.type_name, 1, Payment.NONE, dollars_per_hour=Decimal("1.25"))


RIG = AwsRig
