"""google-cloud-compute as others use it, waiting with ``.result()``, against the fake Google."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from hcloud.fake.gcp.cloud import FakeGoogle
from hcloud.fake.server import FakeServer

ZONE = "us-central1-a"
IMAGE = "projects/debian-cloud/global/images/family/debian-12"
FROM_IMAGE = {"boot": True, "auto_delete": True, "initialize_params": {"source_image": IMAGE}}


@pytest.fixture(scope="module")
def running() -> Iterator[FakeServer]:
    with FakeServer(FakeGoogle()) as found:
        yield found


@dataclass
class Google:
    """The SDK's clients on one endpoint, with what is in every request."""

    fake: FakeGoogle
    instances: Any

    @property
    def where(self) -> dict[str, str]:
        return {"project": self.fake.place.project, "zone": ZONE}

    def one(self, **changes: object) -> dict[str, object]:
        """A machine to insert."""
        usual = {
            "name": "web",
            "machine_type": f"zones/{ZONE}/machineTypes/n2-standard-2",
            "disks": [FROM_IMAGE],
            "network_interfaces": [{"network": "global/networks/default"}],
        }
        return usual | changes

    def live(self) -> list[str]:
        return [str(m.detail["name"]) for m in self.fake.ledger.live(self.fake.clock.now())]


@pytest.fixture
def google(running: FakeServer) -> Google:
    """On an empty fake. What ``.result()`` asks goes to Google itself, whatever the endpoint: a client of its own is
    made for it, so that it has to be put in its place."""
    from google.api_core.client_options import ClientOptions
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import compute_v1

    fake = FakeGoogle()
    running.exchange(fake)
    options = ClientOptions(api_endpoint=running.url)
    kinds = (compute_v1.InstancesClient, compute_v1.ZoneOperationsClient)
    instances, operations = (kind(credentials=AnonymousCredentials(), client_options=options) for kind in kinds)
    instances._transport._extended_operations_services["zone_operations"] = operations
    return Google(fake, instances)


def test_a_machine_is_inserted_stopped_started_labelled_and_deleted(google: Google) -> None:
    client, where = google.instances, google.where
    client.insert(**where, instance_resource=google.one()).result(timeout=60)
    found = client.get(**where, instance="web")
    assert (found.status, found.name) == ("RUNNING", "web")
    client.stop(**where, instance="web").result(timeout=60)
    assert client.get(**where, instance="web").status == "TERMINATED"
    client.start(**where, instance="web").result(timeout=60)
    body = {"labels": {"team": "shop"}, "label_fingerprint": client.get(**where, instance="web").label_fingerprint}
    client.set_labels(**where, instance="web", instances_set_labels_request_resource=body).result(timeout=60)
    assert dict(client.get(**where, instance="web").labels) == {"team": "shop"}
    client.delete(**where, instance="web").result(timeout=60)
    assert not google.live()


def test_many_are_inserted_at_once(google: Google) -> None:
    properties = {k: v for k, v in google.one(machine_type="n2-standard-2").items() if k != "name"}
    body = {"count": 3, "name_pattern": "web-##", "instance_properties": properties}
    google.instances.bulk_insert(**google.where, bulk_insert_instance_resource_resource=body).result(timeout=60)
    assert sorted(google.live()) == ["web-01", "web-02", "web-03"]


def test_what_an_operation_ends_in_is_raised_by_its_result(google: Google) -> None:
    from google.api_core.exceptions import GoogleAPICallError

    google.fake.faults = type(google.fake.faults)(
        google.fake.faults.plan.model_copy(update={"stock": {"*": 0}}), google.fake.clock.now()
    )
    with pytest.raises(GoogleAPICallError, match="ZONE_RESOURCE_POOL_EXHAUSTED"):
        google.instances.insert(**google.where, instance_resource=google.one()).result(timeout=60)
    assert not google.live()


IMAGE_OF_NOBODY = "projects/nobody/global/images/web"
UNKNOWN = [
    ({"network_interfaces": [{"network": "global/networks/none"}]}, "network resource cannot be found"),
    ({"network_interfaces": [{"subnetwork": "regions/us-central1/subnetworks/none"}]}, "subnetwork resource cannot be"),
    (
        {"disks": [{"boot": True, "initialize_params": {"source_image": IMAGE_OF_NOBODY}}]},
        "image resource cannot be found",
    ),
    ({"service_accounts": [{"email": "nobody@shop.iam.gserviceaccount.com"}]}, "service account 'nobody@shop"),
    ({"machine_type": f"zones/{ZONE}/machineTypes/n9-none-1"}, "machine type does not exist"),
]


@pytest.mark.parametrize(("changes", "said"), UNKNOWN)
def test_a_machine_that_refers_to_nothing_is_refused(changes: dict[str, object], said: str, google: Google) -> None:
    from google.api_core.exceptions import BadRequest

    with pytest.raises(BadRequest, match=said):
        google.instances.insert(**google.where, instance_resource=google.one(**changes))
    assert not google.live()


def test_what_was_put_up_by_hand_can_be_referred_to(google: Google) -> None:
    own = f"projects/{google.fake.place.project}"
    account, subnetwork = "web@shop.iam.gserviceaccount.com", "regions/us-central1/subnetworks/inner"
    for name in (account, subnetwork, f"{own}/global/images/web"):
        google.fake.edit({"create": name})
    machine = google.one(
        disks=[{"boot": True, "initialize_params": {"source_image": f"{own}/global/images/web"}}],
        network_interfaces=[{"subnetwork": f"{own}/{subnetwork}"}],
        service_accounts=[{"email": account}],
    )
    google.instances.insert(**google.where, instance_resource=machine).result(timeout=60)
    assert google.live() == ["web"]
