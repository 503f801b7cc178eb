"""``workload fetch`` of Google: Compute Engine's lists and Cloud Monitoring, on the session of google-auth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fetching import DAY, NOW, PastCloud, demand_in, listening, ran, ruled, standing_still

from hcloud.errors import CredentialsError, DeniedError, EvidenceError, UsageError
from hcloud.fake.faults import FaultKind, FaultRule
from hcloud.fake.gcp.cloud import FakeGoogle
from hcloud.fake.ledger import Rented
from hcloud.fake.world import MachineLoad, NewMachine
from hcloud.readers.permissions import load_permissions

STEADY, DAILY = MachineLoad(30.0, 30.0), MachineLoad(10.0, 60.0, 8, 18)
TYPES = (("n2-standard-2", 2), ("n2-standard-4", 4))
PAGES_OF = 1000


class PastGoogle(PastCloud):
    def launched(self, number: int, kind: str, zone: str) -> Rented:
        detail: dict[str, object] = {"name": f"vm-{number}", "number": 7000 + number}
        new = NewMachine(f"{zone}/vm-{number}", kind, zone, False, {}, at_once=True, detail=detail)
        machine: Rented = self.fake.rent(new)
        return machine


@pytest.fixture
def past() -> Iterator[PastCloud]:
    fake = FakeGoogle(standing_still())
    cloud = PastGoogle("gcp", fake, "us-central1", TYPES, account=fake.place.project, letter="-a")
    with listening(cloud) as found:
        yield found


def test_the_demand_is_what_the_fake_was_given_with_what_ended(past: PastCloud, tmp_path: Path) -> None:
    past.fake.largest_points = PAGES_OF
    past.fake.largest_page = 2
    for number in range(5):
        past.rent(number, DAILY if number % 2 else STEADY, kind=number % 2)
    past.rent(8, DAILY, kind=1, ended=2 + 10 / 24, zone="europe-west1-b")
    ruled(past, FaultRule(answer=FaultKind.THROTTLED, calls=(2, 5), retry_after=0))
    found = past.fetch(tmp_path / "machines.csv")

    assert found.regions == ("europe-west1", "us-central1")
    assert past.fake.ledger.calls(["timeSeries.list"]) > 5 * 3 * 288 / PAGES_OF
    np.testing.assert_allclose(demand_in(found.out).cores, past.wanted(found, ran))
    np.testing.assert_allclose(demand_in(found.out, "used").cores, past.wanted(found, past.in_use))
    assert found.rows.typeless == 0


def test_one_region_alone(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    past.rent(2, DAILY, kind=1, zone="europe-west1-b")
    found = past.fetch(tmp_path / "machines.csv", regions=("us-central1",))
    np.testing.assert_allclose(demand_in(found.out).cores, 2.0)


def test_a_missing_permission_is_named(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    ruled(past, FaultRule(on="timeSeries.list", answer=FaultKind.DENIED))
    with pytest.raises(DeniedError) as refused:
        past.fetch(tmp_path / "machines.csv")
    assert "monitoring.timeSeries.list" in refused.value.hint


def test_the_printed_permissions_are_those_that_it_takes(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, STEADY)
    past.fetch(tmp_path / "machines.csv")
    granted = {p.name for p in load_permissions("gcp").permissions if p.is_needed(["fetch"], ())}
    asked = {r.operation for r in past.fake.ledger.requests}
    assert granted == {"compute.instances.list", "monitoring.timeSeries.list"}
    assert asked == {"instances.aggregatedList", "timeSeries.list"}


def test_longer_than_fine_samples_are_kept(past: PastCloud, tmp_path: Path) -> None:
    past.rent(1, DAILY, days=60)
    found = past.fetch(tmp_path / "machines.csv", days=50)
    assert found.window.seconds == 600
    assert found.window.start >= NOW.timestamp() - 50 * DAY
    np.testing.assert_allclose(demand_in(found.out, "used").cores, past.wanted(found, past.in_use))


def test_no_machines_no_project_and_bad_credentials(
    past: PastCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EvidenceError):
        past.fetch(tmp_path / "machines.csv")
    ruled(past, FaultRule(answer=FaultKind.EXPIRED))
    with pytest.raises(CredentialsError):
        past.fetch(tmp_path / "machines.csv")
    past.account = ""
    for name in ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GCLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="no project is configured"):
        past.fetch(tmp_path / "machines.csv")
