"""``workload fetch`` of Azure: the Resource Manager's list and Azure Monitor, over azure-core's pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fetching import DAY, NOW, PastCloud, demand_in, listening, ran, ruled, standing_still

from hcloud.errors import CredentialsError, DeniedError, EvidenceError
from hcloud.fake.azure.cloud import FIRST_SUBSCRIPTION, FakeAzure
from hcloud.fake.azure.estate import MACHINES
from hcloud.fake.faults import FaultKind, FaultRule
from hcloud.fake.ledger import Rented
from hcloud.fake.world import MachineLoad
from hcloud.readers.permissions import load_permissions

STEADY, DAILY = MachineLoad(30.0, 30.0), MachineLoad(10.0, 60.0, 8, 18)
TYPES = (("Standard_D2s_v5", 2), ("Standard_D4s_v5", 4))


class PastAzure(PastCloud):
    def launched(self, number: int, kind: str, zone: str) -> Rented:
        name = str(self.fake.edit({"launch": kind})["launched"])
        [made] = [m for m in self.fake.of_kind(MACHINES) if m.short_id == name]
        made.document["location"] = zone
        rented: Rented = made.rented
        return rented

    def terminate(self, machine: Rented) -> None:
        self.fake.edit({"terminate": machine.id})


@pytest.fixture
def past() -> Iterator[PastCloud]:
    cloud = PastAzure("azure", FakeAzure(standing_still()), "eastus", TYPES, account=FIRST_SUBSCRIPTION, letter="")
    with listening(cloud) as found:
        yield found


def test_the_demand_is_what_the_fake_was_given(past: PastCloud, tmp_path: Path) -> None:
    past.fake.page_size = 2
    for number in range(5):
        zone = "westeurope" if number > 2 else "eastus"
        past.rent(number, DAILY if number % 2 else STEADY, kind=number % 2, zone=zone)
    ruled(past, FaultRule(answer=FaultKind.THROTTLED, calls=(2, 5), retry_after=0))
    found = past.fetch(tmp_path / "machines.csv")

    assert found.regions == ("eastus", "westeurope")
    assert past.fake.ledger.calls(["VirtualMachines_ListAll"]) == 4
    np.testing.assert_allclose(demand_in(found.out).cores, past.wanted(found, ran))
    np.testing.assert_allclose(demand_in(found.out, "used").cores, past.wanted(found, past.in_use))


def test_a_machine_that_was_deleted_is_said_not_to_be_told(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    past.rent(2, DAILY, kind=1, ended=1)
    found = past.fetch(tmp_path / "machines.csv")
    np.testing.assert_allclose(demand_in(found.out).cores, 2.0)
    assert any("deleted" in said for said in found.unknown)


def test_more_than_a_month_comes_in_parts(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, DAILY, days=70)
    found = past.fetch(tmp_path / "machines.csv", days=65)
    assert past.fake.ledger.calls(["Metrics_List"]) == 3
    np.testing.assert_allclose(demand_in(found.out, "used").cores, past.wanted(found, past.in_use))


def test_longer_than_anything_is_kept_is_shortened(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY, days=1)
    found = past.fetch(tmp_path / "machines.csv", days=200)
    assert found.window.start >= NOW.timestamp() - 93 * DAY
    assert "93d" in found.unknown[0]


def test_permissions_are_named_and_those_that_it_takes(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    granted = {p.name for p in load_permissions("azure").permissions if p.is_needed(["fetch"], ())}
    roles: dict[str, Any] = {"reader": tuple(granted)}
    past.options = {}
    ruled(past, roles=roles | {"": tuple(granted)})
    past.fetch(tmp_path / "machines.csv")
    ruled(past, roles={"": tuple(granted - {"Microsoft.Insights/metrics/read"})})
    with pytest.raises(DeniedError) as refused:
        past.fetch(tmp_path / "more.csv")
    assert "Microsoft.Insights/metrics/read" in refused.value.hint
    assert {r.operation for r in past.fake.ledger.requests} == {"VirtualMachines_ListAll", "Metrics_List"}


def test_no_machines_and_bad_credentials(past: PastCloud, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError):
        past.fetch(tmp_path / "machines.csv")
    ruled(past, FaultRule(answer=FaultKind.EXPIRED))
    with pytest.raises(CredentialsError):
        past.fetch(tmp_path / "machines.csv")
