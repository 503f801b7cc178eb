"""azure-mgmt-compute as others use it, with its own pollers, against the fake Azure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from hcloud.fake.azure.cloud import FIRST_SUBSCRIPTION, FakeAzure
from hcloud.fake.faults import FaultPlan
from hcloud.fake.server import FakeServer

GROUP = "hcloud"
HOME = f"/subscriptions/{FIRST_SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Network"
SUBNET = f"{HOME}/virtualNetworks/hcloud/subnets/default"
IMAGE = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"}


class Nobody:
    """Credentials that are never asked for."""

    def get_token(self, *scopes: str, **more: object) -> object:
        raise AssertionError("no token is needed here")

    get_token_info = get_token


@pytest.fixture(scope="module")
def running() -> Iterator[FakeServer]:
    with FakeServer(FakeAzure()) as found:
        yield found


@dataclass
class Azure:
    """The SDK's clients on one endpoint."""

    fake: FakeAzure
    compute: Any
    network: Any

    def live(self) -> list[str]:
        return [m.id for m in self.fake.ledger.live(self.fake.clock.now())]


@pytest.fixture
def azure(running: FakeServer) -> Iterator[Azure]:
    from azure.core.pipeline.policies import SansIOHTTPPolicy
    from azure.mgmt.compute import ComputeManagementClient
    from azure.mgmt.network import NetworkManagementClient

    fake = FakeAzure(FaultPlan(operation_delay=0.2))
    running.exchange(fake)
    more = {"base_url": running.url, "authentication_policy": SansIOHTTPPolicy(), "polling_interval": 0.05}
    compute = ComputeManagementClient(Nobody(), FIRST_SUBSCRIPTION, **more)
    network = NetworkManagementClient(Nobody(), FIRST_SUBSCRIPTION, **more)
    yield Azure(fake, compute, network)
    compute.close()
    network.close()


def machine(nic: str, **changes: object) -> dict[str, object]:
    """A machine to put up."""
    properties = {
        "hardwareProfile": {"vmSize": "Standard_D2s_v5"},
        "storageProfile": {"imageReference": IMAGE, "osDisk": {"createOption": "FromImage", "deleteOption": "Delete"}},
        "osProfile": {"computerName": "web", "adminUsername": "tester", "adminPassword": "Not-a-secret-1"},
        "networkProfile": {"networkInterfaces": [{"id": nic, "properties": {"deleteOption": "Delete"}}]},
    }
    return {"location": "eastus", "zones": ["1"], "tags": {"team": "shop"}, "properties": properties | changes}


def interface(azure: Azure, subnet: str = SUBNET) -> str:
    """A network interface that was made for a machine."""
    part = {"name": "ip", "properties": {"subnet": {"id": subnet}}}
    body = {"location": "eastus", "properties": {"ipConfigurations": [part]}}
    made = azure.network.network_interfaces.begin_create_or_update(GROUP, "web-nic", body).result(60)
    return str(made.id)


def test_a_machine_is_put_up_stopped_started_and_deleted(azure: Azure) -> None:
    machines = azure.compute.virtual_machines
    made = machines.begin_create_or_update(GROUP, "web", machine(interface(azure))).result(60)
    assert (made.name, made.provisioning_state, made.tags["team"]) == ("web", "Succeeded", "shop")
    assert len(azure.live()) == 1
    machines.begin_deallocate(GROUP, "web").result(60)
    states = {s.code for s in machines.instance_view(GROUP, "web").statuses}
    assert "PowerState/deallocated" in states
    machines.begin_start(GROUP, "web").result(60)
    assert "PowerState/running" in {s.code for s in machines.instance_view(GROUP, "web").statuses}
    machines.begin_delete(GROUP, "web").result(60)
    assert not azure.live()
    assert [m.name for m in machines.list_all()] == []


def test_what_an_operation_ends_in_is_raised_by_its_poller(azure: Azure) -> None:
    from azure.core.exceptions import HttpResponseError

    nic = interface(azure)
    plan = FaultPlan(operation_delay=0.2, stock={"*": 0})
    azure.fake.faults = type(azure.fake.faults)(plan, azure.fake.clock.now())
    with pytest.raises(HttpResponseError) as caught:
        azure.compute.virtual_machines.begin_create_or_update(GROUP, "web", machine(nic)).result(60)
    assert caught.value.error is not None
    assert caught.value.error.code == "ZonalAllocationFailed"


def test_a_flexible_scale_set_is_made_and_deleted(azure: Azure) -> None:
    properties = machine("")["properties"]
    assert isinstance(properties, dict)
    address = {"name": "ip", "properties": {"primary": True, "subnet": {"id": SUBNET}}}
    card = {"name": "nic", "properties": {"primary": True, "ipConfigurations": [address]}}
    profile = {
        "storageProfile": properties["storageProfile"],
        "osProfile": {"computerNamePrefix": "web", "adminUsername": "tester", "adminPassword": "Not-a-secret-1"},
        "networkProfile": {"networkApiVersion": "2022-11-01", "networkInterfaceConfigurations": [card]},
    }
    body = {
        "location": "eastus",
        "zones": ["1"],
        "sku": {"name": "Standard_D2s_v5", "capacity": 2},
        "properties": {
            "orchestrationMode": "Flexible",
            "platformFaultDomainCount": 1,
            "virtualMachineProfile": profile,
        },
    }
    sets = azure.compute.virtual_machine_scale_sets
    assert sets.begin_create_or_update(GROUP, "web", body).result(60).provisioning_state == "Succeeded"
    assert len(azure.live()) == 2
    sets.begin_delete(GROUP, "web").result(60)
    assert not azure.live()


NO_IMAGE = {"publisher": "nobody", "offer": "none", "sku": "none", "version": "latest"}
GALLERY = f"/subscriptions/{FIRST_SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Compute/galleries/g/images/i"
NO_NIC = f"{HOME}/networkInterfaces/none"


@pytest.mark.parametrize(
    ("nic", "changes", "code"),
    [
        ("", {"storageProfile": {"imageReference": NO_IMAGE}}, "PlatformImageNotFound"),
        ("", {"storageProfile": {"imageReference": {"id": GALLERY}}}, "GalleryImageNotFound"),
        ("", {"hardwareProfile": {"vmSize": "Standard_None"}}, "InvalidParameter"),
        (NO_NIC, {}, "InvalidResourceReference"),
    ],
)
def test_a_machine_that_refers_to_nothing_is_refused(
    nic: str, changes: dict[str, object], code: str, azure: Azure
) -> None:
    from azure.core.exceptions import HttpResponseError

    body = machine(nic or interface(azure), **changes)
    with pytest.raises(HttpResponseError) as caught:
        azure.compute.virtual_machines.begin_create_or_update(GROUP, "web", body)
    assert caught.value.error is not None
    assert (caught.value.error.code, azure.live()) == (code, [])


def test_an_interface_in_a_subnet_there_is_not_is_refused(azure: Azure) -> None:
    from azure.core.exceptions import HttpResponseError

    with pytest.raises(HttpResponseError, match="InvalidResourceReference"):
        interface(azure, f"{HOME}/virtualNetworks/none/subnets/default")
