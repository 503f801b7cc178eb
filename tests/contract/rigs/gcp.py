"""Google Cloud: google-cloud-compute against the fake project."""

from __future__ import annotations

from typing import Any

from contract.rig import EVERYTHING, Ability, Rig, Words
from hcloud.control.ports import Cloud
from hcloud.fake.faults import ClockPlan, FaultPlan
from hcloud.fake.gcp.cloud import FakeGoogle
from hcloud.fake.server import FakeServer
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder
from hcloud.providers.gcp.commitments import CommitmentPrice
from hcloud.providers.gcp.provider import GoogleCloud
from hcloud.providers.gcp.settings import GoogleSettings

REGION = "us-central1"


class GoogleRig(Rig):
    name = "gcp"
    abilities = EVERYTHING - {Ability.CANCEL}
    words = Words(
        launch="instances.bulkInsert",
        terminate="instances.delete",
        list="instances.aggregatedList",
        reads=("*.get", "*.list", "*.aggregatedList", "*.wait"),
        buy="regionCommitments.insert",
        commitments="regionCommitments.list",
    )
    type_name = "n2-standard-4"
    zones = tuple(f"{REGION}-{letter}" for letter in "abcf")
    unknown_id = f"{REGION}-a/hc-nobody-0001"
    quota_name = "N2_CPUS"
    most_calls_for_100 = 3
    most_calls_to_list_1000 = 2

    _fake: FakeGoogle
    _running: FakeServer

    @property
    def fake(self) -> FakeGoogle:
        return self._fake

    def open(self) -> None:
        self._fake = FakeGoogle()
        self._clients: dict[str, dict[str, Any]] = {}
        self._running = FakeServer(self._fake)
        self._running.__enter__()

    def close(self) -> None:
        self._running.__exit__()

    def reset(self) -> None:
        self._fake = FakeGoogle(FaultPlan(clock=ClockPlan(speed=0)))
        self._running.exchange(self._fake)

    @property
    def url(self) -> str:
        """Where the fake listens."""
        return self._running.url

    def cloud(self, principal: str = "") -> Cloud:
        """With clients of the SDK that others of the principal have used, as on AWS."""
        settings = GoogleSettings(self._fake.place.project, REGION, endpoint=self.url, principal=principal)
        made = GoogleCloud(settings, self.price, self._fake.clock.sleep)
        made._wire._clients = self._clients.setdefault(principal, {})
        return made

    def price(self, order: CommitmentOrder) -> CommitmentPrice | None:
        """What the fake asks now: Google itself does not say."""
        if order.instance_type not in self._fake.place.shapes:
            return None
        hourly = self._fake.price(self._fake.place.hourly(order.instance_type, order.option, order.term_years))
        return CommitmentPrice(hourly, "the fake's own table")

    def page(self, size: int) -> None:
        self._fake.largest_page = size

    def commitment(self, key: str) -> CommitmentOrder:
        return CommitmentOrder(key, PurchaseOption.COMMITTED_USE, self.type_name, 1, Payment.NONE, count=2)

    commitment_by_key = commitment


RIG = GoogleRig
