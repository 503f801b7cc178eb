"""Azure's SDK clients against the fake Azure."""

from __future__ import annotations

from contract.rig import EVERYTHING, Ability, Rig, Words
from hcloud.fake.azure.cloud import FIRST_SUBSCRIPTION, FakeAzure
from hcloud.fake.azure.estate import INTERFACES
from hcloud.fake.azure.wire import branch
from hcloud.fake.faults import FaultPlan
from hcloud.fake.server import FakeServer
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder
from hcloud.providers.azure.provider import AzureCloud
from hcloud.providers.azure.settings import AzureSettings


def unattached(fake: FakeAzure) -> tuple[str, ...]:
    """The ids of interfaces and disks that belong to no machine: what somebody forgot to remove."""
    with fake.ledger.held():
        fake.settle()
        interfaces = [r for r in fake.of_kind(INTERFACES) if not branch(r.properties, "virtualMachine")]
        disks = [r for r in fake.resources.values() if r.kind.endswith("/disks") and not r.document.get("managedBy")]
        return tuple(sorted(r.id for r in (*interfaces, *disks)))


class AzureRig(Rig):
    """Over HTTP, on a clock that stands still: waiting puts it forward."""

    name = "azure"
    # A reservation is given back by a person
    abilities = EVERYTHING - {Ability.CANCEL}
    words = Words(
        launch="VirtualMachineScaleSets_CreateOrUpdate",
        terminate="VirtualMachineScaleSets_Delete*",
        list="VirtualMachines_List*",
        reads=("*_Get", "*_List*", "*_InstanceView"),
        buy="ReservationOrder_Purchase",
        commitments="Reservation_ListAll",
    )
    type_name = "Standard_D4s_v5"
    zones = ("eastus-1", "eastus-2", "eastus-3")
    unknown_id = "hcloud/hc-" + "0" * 32 + "_00000000"
    quota_name = "standardDSv5Family"

    def open(self) -> None:
        self._clouds: list[AzureCloud] = []
        self._running: FakeServer | None = None

    def close(self) -> None:
        for cloud in self._clouds:
            cloud.close()
        self._clouds.clear()
        if self._running is not None:
            self._running.__exit__()
            self._running = None

    def reset(self) -> None:
        self.close()
        self._fake = FakeAzure(FaultPlan.model_validate({"clock": {"speed": 0}}))
        self._running = FakeServer(self._fake).__enter__()

    @property
    def fake(self) -> FakeAzure:
        return self._fake

    def cloud(self, principal: str = "") -> AzureCloud:
        assert self._running is not None
        settings = AzureSettings(FIRST_SUBSCRIPTION, "eastus", endpoint=self._running.url, principal=principal)
        self._clouds.append(AzureCloud(settings, self._fake.clock))
        return self._clouds[-1]

    def page(self, size: int) -> None:
        self._fake.page_size = size

    def commitment(self, key: str) -> CommitmentOrder:
        return CommitmentOrder(key, PurchaseOption.RESERVATION, self.type_name, 1, Payment.ALL, count=2)


RIG = AzureRig
