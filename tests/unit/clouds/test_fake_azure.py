"""The fake Azure as the SDK's own clients see it, with their own polling, and as its ledger judges."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from contract.rigs.azure import unattached

from hcloud.fake.azure.cloud import FIRST_SUBSCRIPTION, FakeAzure
from hcloud.fake.azure.shapes import shape, shapes
from hcloud.fake.bill import bill
from hcloud.fake.faults import FaultKind, FaultPlan, Faults, fault_plan
from hcloud.fake.server import FakeServer
from hcloud.fake.tariffs import tariff_of
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.settings import AzureSettings

GROUP = "hcloud"
TYPE = "Standard_D4s_v5"
ORDER_ID = "0f0f0f0f-0000-4000-8000-000000000001"
PURCHASE = {
    "sku": {"name": TYPE},
    "location": "eastus",
    "properties": {
        "reservedResourceType": "VirtualMachines",
        "term": "P1Y",
        "billingPlan": "Upfront",
        "quantity": 2,
        "displayName": "two",
    },
}


class World:
    """A fake that listens, and clients for it."""

    def __init__(self, fake: FakeAzure, url: str) -> None:
        self.fake, self.url = fake, url
        self.arm = Arm(AzureSettings(FIRST_SUBSCRIPTION, "eastus", endpoint=url))

    def faults(self, document: dict[str, object]) -> None:
        self.fake.faults = Faults(fault_plan(document, "test"), self.fake.clock.now())

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        return answer.status, json.loads(said) if said.startswith(b"{") else {}


@pytest.fixture
def world() -> Iterator[World]:
    fake = FakeAzure(FaultPlan.model_validate({"clock": {"speed": 0}}))
    with FakeServer(fake) as running:
        found = World(fake, running.url)
        yield found
        found.arm.close()


def done(poller: Any) -> Any:
    return poller.result(timeout=60)


IMAGE = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"}


def interface(world: World, name: str = "nic-1") -> str:
    subnet = {"id": world.arm.settings.subnet_id}
    body = {"location": "eastus", "properties": {"ipConfigurations": [{"name": "a", "properties": {"subnet": subnet}}]}}
    nics = world.arm.network.network_interfaces
    return str(done(nics.begin_create_or_update(GROUP, name, body, polling_interval=0)).id)


def machine_body(nic_id: str, **options: str) -> dict[str, object]:
    disk = {"createOption": "FromImage", **({"deleteOption": options["disk"]} if "disk" in options else {})}
    attached = {"id": nic_id, **({"properties": {"deleteOption": options["nic"]}} if "nic" in options else {})}
    return {
        "location": "eastus",
        "zones": ["1"],
        "tags": {"made": "by-sdk"},
        "properties": {
            "hardwareProfile": {"vmSize": TYPE},
            "storageProfile": {"imageReference": IMAGE, "osDisk": disk},
            "networkProfile": {"networkInterfaces": [attached]},
            **({"priority": "Spot"} if "spot" in options else {}),
        },
    }


def make(world: World, name: str = "vm-1", **options: str) -> Any:
    machines = world.arm.compute.virtual_machines
    body = machine_body(interface(world, f"nic-of-{name}"), **options)
    begun = machines.begin_create_or_update(
        GROUP, name, body, match_condition=MatchConditions.IfMissing, polling_interval=0
    )
    return done(begun)


def power(world: World, name: str = "vm-1") -> str:
    view = world.arm.compute.virtual_machines.instance_view(GROUP, name)
    return str(view.statuses[-1].code)


@pytest.mark.slow
def test_a_machine_is_made_stopped_started_and_ended(world: World) -> None:
    machines = world.arm.compute.virtual_machines
    assert make(world).provisioning_state == "Succeeded"
    assert power(world) == "PowerState/running"
    done(machines.begin_deallocate(GROUP, "vm-1", polling_interval=0))
    assert power(world) == "PowerState/deallocated"
    done(machines.begin_start(GROUP, "vm-1", polling_interval=0))
    assert done(machines.begin_update(GROUP, "vm-1", {"tags": {"a": "b"}}, polling_interval=0)).tags == {"a": "b"}
    assert [vm.name for vm in machines.list(GROUP)] == [vm.name for vm in machines.list_all()] == ["vm-1"]
    done(machines.begin_delete(GROUP, "vm-1", polling_interval=0))
    with pytest.raises(ResourceNotFoundError):
        machines.get(GROUP, "vm-1")


def test_a_name_that_is_taken_is_refused_where_only_a_new_one_will_do(world: World) -> None:
    make(world)
    with pytest.raises(ResourceExistsError) as caught:
        make(world)
    assert caught.value.status_code == 412
    assert len(world.fake.ledger.machines) == 1


def test_a_change_of_what_was_changed_meanwhile_is_refused(world: World) -> None:
    machines = world.arm.compute.virtual_machines
    etag = make(world).etag
    done(machines.begin_update(GROUP, "vm-1", {"tags": {"a": "b"}}, polling_interval=0))
    with pytest.raises(HttpResponseError) as caught:
        machines.begin_update(
            GROUP, "vm-1", {"tags": {}}, etag=etag, match_condition=MatchConditions.IfNotModified, polling_interval=0
        )
    assert caught.value.status_code == 412


def test_N6_interface_and_disk_stay_behind_unless_they_were_to_go_along(world: World) -> None:
    machines, nics = world.arm.compute.virtual_machines, world.arm.network.network_interfaces
    make(world)
    with pytest.raises(ResourceExistsError):
        done(nics.begin_delete(GROUP, "nic-of-vm-1", polling_interval=0))
    done(machines.begin_delete(GROUP, "vm-1", polling_interval=0))
    assert len(unattached(world.fake)) == 2
    done(nics.begin_delete(GROUP, "nic-of-vm-1", polling_interval=0))
    assert len(unattached(world.fake)) == 1
    make(world, "vm-2", nic="Delete", disk="Delete")
    done(machines.begin_delete(GROUP, "vm-2", polling_interval=0))
    assert len(unattached(world.fake)) == 1


def test_E8_a_machine_without_capacity_fails_with_HTTP_200_and_stays_as_failed(world: World) -> None:
    world.faults({"stock": {TYPE: 0}})
    with pytest.raises(HttpResponseError) as caught:
        make(world)
    assert caught.value.error.code == "ZonalAllocationFailed"
    assert world.arm.compute.virtual_machines.get(GROUP, "vm-1").provisioning_state == "Failed"
    assert not world.fake.ledger.machines


def test_E3_a_limit_is_a_conflict(world: World) -> None:
    world.faults({"quotas": {"cores": 3}})
    with pytest.raises(ResourceExistsError) as caught:
        make(world)
    assert (caught.value.status_code, caught.value.error.code) == (409, "OperationNotAllowed")


def uniform(world: World, capacity: int) -> dict[str, object]:
    subnet = {"subnet": {"id": world.arm.settings.subnet_id}}
    addresses = [{"name": "a", "properties": subnet}]
    nic = {"name": "nic", "properties": {"primary": True, "ipConfigurations": addresses}}
    profile = {
        "storageProfile": {"imageReference": IMAGE, "osDisk": {"createOption": "FromImage"}},
        "networkProfile": {"networkInterfaceConfigurations": [nic]},
    }
    return {
        "location": "eastus",
        "sku": {"name": TYPE, "tier": "Standard", "capacity": capacity},
        "properties": {"orchestrationMode": "Uniform", "virtualMachineProfile": profile},
    }


def test_a_uniform_set_keeps_its_machines_to_itself(world: World) -> None:
    sets, members = world.arm.compute.virtual_machine_scale_sets, world.arm.compute.virtual_machine_scale_set_vms
    done(sets.begin_create_or_update(GROUP, "set", uniform(world, 3), polling_interval=0))
    assert list(world.arm.compute.virtual_machines.list(GROUP)) == []
    assert len(list(members.list(GROUP, "set"))) == 3
    done(sets.begin_update(GROUP, "set", {"sku": {"name": TYPE, "capacity": 5}}, polling_interval=0))
    assert sets.get(GROUP, "set").sku.capacity == 5
    done(sets.begin_update(GROUP, "set", {"sku": {"name": TYPE, "capacity": 2}}, polling_interval=0))
    ids = [vm.instance_id for vm in members.list(GROUP, "set")]
    assert len(ids) == 2
    done(sets.begin_delete_instances(GROUP, "set", {"instanceIds": ids[:1]}, polling_interval=0))
    assert sets.get(GROUP, "set").sku.capacity == 1
    done(sets.begin_delete(GROUP, "set", polling_interval=0))
    assert list(sets.list(GROUP)) == []
    assert not world.fake.ledger.live(world.fake.clock.now())


def test_groups_networks_and_capacity_reservations_are_kept(world: World) -> None:
    compute = world.arm.compute
    compute.capacity_reservation_groups.create_or_update(GROUP, "crg", {"location": "eastus", "zones": ["1"]})
    body = {"location": "eastus", "sku": {"name": TYPE, "capacity": 2}, "zones": ["1"]}
    reservations = compute.capacity_reservations
    done(reservations.begin_create_or_update(GROUP, "crg", "cr", body, polling_interval=0))
    found = list(reservations.list_by_capacity_reservation_group(GROUP, "crg"))
    assert [(r.name, r.sku.capacity) for r in found] == [("cr", 2)]
    space = {"addressSpace": {"addressPrefixes": ["10.0.0.0/8"]}, "subnets": [{"name": "s", "properties": {}}]}
    networks = world.arm.network.virtual_networks
    done(networks.begin_create_or_update(GROUP, "net", {"location": "eastus", "properties": space}, polling_interval=0))
    assert world.arm.network.subnets.get(GROUP, "net", "s").name == "s"
    assert world.ask("GET", f"/subscriptions/{FIRST_SUBSCRIPTION}/resourceGroups/{GROUP}?api-version=1")[0] == 200


def test_sizes_and_limits_are_told(world: World) -> None:
    compute = world.arm.compute
    skus = {sku.name: sku for sku in compute.resource_skus.list(filter="location eq 'eastus'")}
    assert set(skus) == {s.name for s in shapes()}
    assert skus[TYPE].family == "standardDSv5Family"
    make(world)
    used = {usage.name.value: usage.current_value for usage in compute.usage.list("eastus")}
    assert (used["cores"], used["standardDSv5Family"]) == (4, 4)


def test_lists_come_in_pages(world: World) -> None:
    for number in range(5):
        make(world, f"vm-{number}")
    world.fake.page_size = 3
    pages = [list(page) for page in world.arm.compute.virtual_machines.list(GROUP).by_page()]
    assert [len(page) for page in pages] == [3, 2]


def test_I2_a_reservation_is_bought_once_under_an_id_of_the_clients(world: World) -> None:
    client = world.arm.reservations
    price = client.reservation_order.calculate(PURCHASE).properties
    assert price.pricing_currency_total.amount > 0
    for _ in range(2):
        done(client.reservation_order.begin_purchase(ORDER_ID, PURCHASE, polling_interval=0))
    assert list(world.fake.ledger.purchases) == [ORDER_ID]
    other = {**PURCHASE, "sku": {"name": "Standard_D8s_v5"}}
    with pytest.raises(ResourceExistsError):
        client.reservation_order.begin_purchase(ORDER_ID, other, polling_interval=0)
    [held] = client.reservation.list_all()
    assert (held.sku.name, held.properties.quantity, held.properties.provisioning_state) == (TYPE, 2, "Succeeded")
    assert [order.name for order in client.reservation_order.list()] == [ORDER_ID]


def test_a_reservation_is_given_back_after_its_refund_was_calculated(world: World) -> None:
    client = world.arm.reservations
    done(client.reservation_order.begin_purchase(ORDER_ID, PURCHASE, polling_interval=0))
    with pytest.raises(HttpResponseError):
        client.return_operations.begin_post(ORDER_ID, {"properties": {}}, polling_interval=0)
    refund = client.calculate_refund.post(ORDER_ID, {"properties": {"scope": "Reservation"}})
    session = {"properties": {"sessionId": refund.properties.session_id}}
    done(client.return_operations.begin_post(ORDER_ID, session, polling_interval=0))
    assert client.reservation_order.get(ORDER_ID).properties.provisioning_state == "Cancelled"


def test_spot_machines_get_notice_and_end_two_minutes_later(world: World) -> None:
    world.faults({"spot_notices": [60]})
    make(world, "spot", spot="yes", nic="Delete", disk="Delete")
    make(world, "usual")
    world.fake.clock.advance(61)
    names = [vm.name for vm in world.arm.compute.virtual_machines.list(GROUP)]
    assert names == ["spot", "usual"]
    assert "notice_at" in world.fake.ledger.machines["hcloud/spot"].detail
    world.fake.clock.advance(120)
    assert [vm.name for vm in world.arm.compute.virtual_machines.list(GROUP)] == ["usual"]
    assert [m.id for m in world.fake.ledger.live(world.fake.clock.now())] == ["hcloud/usual"]


def test_machines_are_billed_by_the_second(world: World) -> None:
    make(world)
    begun = world.fake.clock.now()
    world.fake.clock.advance(1800)
    found = shape(TYPE)
    assert found is not None
    billed = bill(world.fake.ledger, tariff_of(world.fake), int(begun) - 60, int(begun) + 1800)
    assert abs(billed.total - found.hourly / 2) < Decimal("0.001")


def test_a_person_can_end_retag_resize_and_launch(world: World) -> None:
    make(world)
    world.fake.edit({"retag": "hcloud/vm-1", "tags": {"a": "b"}})
    world.fake.edit({"resize": "hcloud/vm-1", "type": "Standard_D8s_v5"})
    found = world.arm.compute.virtual_machines.get(GROUP, "vm-1")
    assert (found.tags, found.hardware_profile.vm_size) == ({"a": "b"}, "Standard_D8s_v5")
    world.fake.edit({"terminate": "hcloud/vm-1"})
    world.fake.edit({"launch": TYPE, "tags": {}})
    assert len(list(world.arm.compute.virtual_machines.list(GROUP))) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/subscriptions/{}/resourceGroups/hcloud", 400),  # no version
        ("GET", "/subscriptions/nobody?api-version=1", 400),
        ("GET", "/subscriptions/{}/resourceGroups/nosuch?api-version=1", 404),
        ("GET", "/subscriptions/{}/providers/Microsoft.Nothing/things?api-version=1", 404),
        ("POST", "/providers/Microsoft.Capacity/calculatePrice?api-version=1", 400),
        ("GET", "/providers/Microsoft.Capacity/reservationOrders/one?api-version=1", 400),
    ],
)
def test_requests_that_are_wrong_are_refused_in_the_form_of_the_resource_manager(
    world: World, method: str, path: str, status: int
) -> None:
    answered, document = world.ask(method, path.format(FIRST_SUBSCRIPTION), {})
    assert answered == status
    assert set(document) == {"error"}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("sku", "capacity"), 1001),
        (("sku", "capacity"), -1),
        (("sku", "name"), "Standard_Z1"),
        (("zones",), ["9"]),
        (("location",), ""),
        (("properties", "orchestrationMode"), "Flexible"),
        (("properties", "virtualMachineProfile", "networkProfile"), {}),
        (("properties", "virtualMachineProfile", "storageProfile"), {}),
        (("properties", "virtualMachineProfile", "osProfile"), {"customData": "#!/bin/sh"}),
    ],
)
def test_sets_that_are_wrong_are_refused(world: World, place: tuple[str, ...], value: object) -> None:
    body: Any = uniform(world, 1)
    inner = body
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(HttpResponseError) as caught:
        world.arm.compute.virtual_machine_scale_sets.begin_create_or_update(GROUP, "set", body, polling_interval=0)
    assert caught.value.status_code == 400
    assert not world.fake.ledger.machines


@pytest.mark.parametrize("kind", list(FaultKind))
def test_every_fault_has_a_form_on_the_wire(world: World, kind: FaultKind) -> None:
    expected = {
        FaultKind.THROTTLED: (429, "TooManyRequests"),
        FaultKind.NO_CAPACITY: (409, "SkuNotAvailable"),
        FaultKind.QUOTA: (409, "QuotaExceeded"),
        FaultKind.DENIED: (403, "AuthorizationFailed"),
        FaultKind.EXPIRED: (401, "ExpiredAuthenticationToken"),
        FaultKind.SKEWED: (401, "InvalidAuthenticationToken"),
        FaultKind.SERVER_ERROR: (500, "InternalServerError"),
        FaultKind.UNAVAILABLE: (503, "ServiceUnavailable"),
        FaultKind.NOT_FOUND: (404, "ResourceNotFound"),
        FaultKind.REDIRECT: (307, ""),
        FaultKind.NONSENSE: (200, ""),
        FaultKind.NONSENSE_BEFORE: (200, ""),
    }
    acted = {
        FaultKind.DROPPED_AFTER: 2,
        FaultKind.NONSENSE: 2,
        FaultKind.SLOW: 2,
        FaultKind.TWICE: 2,
        FaultKind.UNTAGGED: 2,
        FaultKind.PARTIAL: 1,
        FaultKind.UNKNOWN_WORDS: 2,
        FaultKind.STALE: 2,
        FaultKind.MISSES_NEW: 2,
        FaultKind.SHOWS_ENDED: 2,
    }
    world.faults({"rules": [{"answer": kind.value, "on": "VirtualMachineScaleSets_CreateOrUpdate", "seconds": 1}]})
    home = f"/subscriptions/{FIRST_SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Compute"
    try:
        status, document = world.ask("PUT", f"{home}/virtualMachineScaleSets/set?api-version=1", uniform(world, 2))
    except (http.client.RemoteDisconnected, ConnectionResetError):
        assert kind in (FaultKind.DROPPED_BEFORE, FaultKind.DROPPED_AFTER)
    else:
        error = document.get("error", {})
        assert isinstance(error, dict)
        assert (status, error.get("code", "")) == expected.get(kind, (status, error.get("code", "")))
    assert len(world.fake.ledger.machines) == acted.get(kind, 0)
    assert [r.outcome for r in world.fake.ledger.requests] == [kind.value]
