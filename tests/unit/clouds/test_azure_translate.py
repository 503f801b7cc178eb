"""Between hcloud's orders and Azure's documents, and what Azure's error codes mean."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from importlib import import_module
from types import ModuleType

import pytest
from pydantic import ConfigDict, TypeAdapter, ValidationError

from hcloud.errors import (
    Call,
    CloudError,
    CredentialsError,
    DeniedError,
    MismatchError,
    NoCapacityError,
    NotFoundError,
    QuotaError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
    UsageError,
)
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder, Launch, MachineState, Owner
from hcloud.providers.azure.documents import branch, exact, items, moment, text, whole
from hcloud.providers.azure.errors import Reply, failure, refusal, reply_from
from hcloud.providers.azure.reservations import body_of, commitment_from, order_id
from hcloud.providers.azure.settings import AzureSettings
from hcloud.providers.azure.translate import (
    ORDER_TAG,
    differences,
    machine_from,
    set_body,
    set_name,
    set_name_in,
    short_id,
    zone_name,
    zone_number,
    zones_of,
)

KEY = "a1" * 16
SUBSCRIPTION = "5c1f0000-0000-4000-8000-000000000001"
SETTINGS = AzureSettings(SUBSCRIPTION, "eastus", ssh_public_key="ssh-ed25519 AAAA somebody")
ORDER = Launch(KEY, "pool-reserved", "Standard_D4s_v5", "eastus-2", 3, Owner("5e1f" * 8, "shop", "0123456789ab"))
CALL = Call("azure", "eastus", "VirtualMachineScaleSets_CreateOrUpdate")
VM = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/HCLOUD/providers/Microsoft.Compute/virtualMachines/{set_name(KEY)}_1"
)


def faults_of(package: str, name: str, body: object) -> list[str]:
    """What the SDK's own description of a request body has against one; its generator marks inherited fields as
    required, so what is missing is not counted."""
    types = import_module(f"azure.mgmt.{package}.types")
    _open_enums(types, import_module(f"azure.mgmt.{package}.models"))
    typed = getattr(types, name)
    for found in vars(types).values():
        if isinstance(found, type) and hasattr(found, "__total__"):
            found.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[attr-defined]
    try:
        TypeAdapter(typed).validate_python(body)
    except ValidationError as error:
        return [f"{e['loc']}: {e['msg']}" for e in error.errors() if e["type"] != "missing"]
    return []


def _open_enums(types: ModuleType, models: ModuleType) -> None:
    for name, found in vars(models).items():
        if isinstance(found, type) and issubclass(found, Enum):
            setattr(types, name, found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [
        ORDER,
        replace(ORDER, option=PurchaseOption.SPOT, start_up="#!/bin/sh\ntrue\n"),
        replace(ORDER, zone="eastus"),
        replace(ORDER, count=1, owner=replace(ORDER.owner, expires="20261122t10z")),
    ],
)
def test_the_request_for_a_set_is_as_the_SDK_describes_it(order: Launch) -> None:
    assert faults_of("compute", "VirtualMachineScaleSet", set_body(order, SETTINGS)) == []


def test_the_request_for_a_reservation_is_as_the_SDK_describes_it() -> None:
    order = CommitmentOrder(KEY, PurchaseOption.RESERVATION, "Standard_D4s_v5", 3, Payment.NONE, count=2)
    body = body_of(order, SUBSCRIPTION, "eastus")
    assert faults_of("reservations", "PurchaseRequest", body) == []
    assert text(body, "properties", "reservedResourceProperties", "instanceFlexibility") == "On"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("sku", "capacity"), "three"),
        (("properties", "singlePlacementGroup"), "no"),
        (("properties", "orchestrationmode"), "Flexible"),
        (("properties", "virtualMachineProfile", "osProfile", "customdata"), "x"),
    ],
)
def test_the_description_notices_what_is_wrong(path: tuple[str, ...], value: object) -> None:
    body = set_body(ORDER, SETTINGS)
    place = branch(body, *path[:-1])
    assert isinstance(place, dict)
    place[path[-1]] = value
    assert len(faults_of("compute", "VirtualMachineScaleSet", body)) == 1


def test_a_set_is_named_by_its_key_and_carries_the_tags_of_its_machines() -> None:
    body = set_body(ORDER, SETTINGS)
    tags = branch(body, "tags")
    assert set_name(KEY) == f"hc-{KEY}"
    assert ORDER.tags().items() <= tags.items()
    network = branch(body, "properties", "virtualMachineProfile", "networkProfile")
    [nic] = items(network, "networkInterfaceConfigurations")
    assert branch(nic, "tags") == tags
    assert text(nic, "properties", "deleteOption") == "Delete"


def test_L7_the_start_up_script_travels_as_data() -> None:
    script = "#!/bin/sh\necho \"$HOME\" 'ü'\n"
    body = set_body(replace(ORDER, start_up=script), SETTINGS)
    sent = text(body, "properties", "virtualMachineProfile", "osProfile", "customData")
    assert base64.b64decode(sent).decode() == script


def test_spot_machines_are_deleted_when_they_are_taken_away() -> None:
    profile = branch(
        set_body(replace(ORDER, option=PurchaseOption.SPOT), SETTINGS), "properties", "virtualMachineProfile"
    )
    assert (profile["priority"], profile["evictionPolicy"]) == ("Spot", "Delete")


@pytest.mark.parametrize(("zone", "number"), [("eastus-2", "2"), ("eastus", "")])
def test_zones_go_there_and_back(zone: str, number: str) -> None:
    assert zone_number("eastus", zone) == number
    assert zone_name("eastus", number) == zone


def test_ids_are_the_same_whatever_the_case_of_the_group() -> None:
    assert short_id(VM) == short_id(VM.replace("HCLOUD", "hcloud")) == f"hcloud/{set_name(KEY)}_1"
    assert set_name_in(f"{set_name(KEY)}_1") == set_name(KEY)
    assert set_name_in("somebody-else") == ""


def standing(order: Launch) -> Mapping[str, object]:
    body = set_body(order, SETTINGS)
    return {**body, "properties": {**branch(body, "properties"), "provisioningState": "Succeeded"}}


def test_R8_the_same_order_is_the_same() -> None:
    assert differences(ORDER, standing(ORDER)) == ()


@pytest.mark.parametrize(
    "other",
    [
        replace(ORDER, count=4),
        replace(ORDER, instance_type="Standard_D8s_v5"),
        replace(ORDER, zone="eastus-1"),
        replace(ORDER, option=PurchaseOption.SPOT),
        replace(ORDER, start_up="#!/bin/sh\n"),
        replace(ORDER, owner=replace(ORDER.owner, lineage="0" * 32)),
    ],
)
def test_R8_another_order_is_told_from_it(other: Launch) -> None:
    assert differences(other, standing(ORDER))


def test_a_machine_is_read_from_a_list() -> None:
    document = {
        "id": VM,
        "location": "eastus",
        "zones": ["2"],
        "tags": {**ORDER.tags(), ORDER_TAG: "x"},
        "properties": {
            "hardwareProfile": {"vmSize": "Standard_D4s_v5"},
            "provisioningState": "Succeeded",
            "timeCreated": "2026-11-21T10:00:00.1234567+00:00",
        },
    }
    found = machine_from(document)
    assert (found.id, found.zone, found.state) == (f"hcloud/{set_name(KEY)}_1", "eastus-2", MachineState.RUNNING)
    assert found.launched == datetime(2026, 11, 21, 10, 0, 0, 123456, UTC)
    assert found.tags == ORDER.tags()


@pytest.mark.parametrize(
    ("provisioning", "power", "state"),
    [
        ("Creating", "", MachineState.PENDING),
        ("Succeeded", "PowerState/deallocated", MachineState.STOPPED),
        ("Deleting", "PowerState/running", MachineState.STOPPING),
        ("Failed", "", MachineState.UNKNOWN),
        ("Reticulating", "", MachineState.UNKNOWN),
        ("", "", MachineState.UNKNOWN),
    ],
)
def test_N7_states_that_are_not_known_are_unknown(provisioning: str, power: str, state: MachineState) -> None:
    view = {"instanceView": {"statuses": [{"code": power}]}} if power else {}
    found = machine_from({"id": VM, "properties": {"provisioningState": provisioning, **view}})
    assert found.state is state


def test_N7_an_empty_document_is_a_machine_of_which_nothing_is_known() -> None:
    found = machine_from({})
    assert (found.id, found.state, found.launched, found.tags) == ("", MachineState.UNKNOWN, None, {})


def test_the_tags_of_the_set_stand_in_where_a_machine_shows_none_of_ours() -> None:
    found = machine_from({"id": VM, "tags": {"mine": "yes"}}, ORDER.tags())
    assert found.tags == {"mine": "yes", **ORDER.tags()}


def test_zones_are_those_that_are_open() -> None:
    place = {"location": "eastus", "zones": ["3", "1", "2"]}
    sku = {"locationInfo": [place], "restrictions": [{"type": "Zone", "restrictionInfo": {"zones": ["2"]}}]}
    assert zones_of(sku, "eastus") == ("eastus-1", "eastus-3")
    assert zones_of({"locationInfo": [{"location": "eastus", "zones": []}]}, "eastus") == ("eastus",)
    assert zones_of({"locationInfo": [place], "restrictions": [{"type": "Location"}]}, "eastus") == ()


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (409, "SkuNotAvailable", NoCapacityError),
        (200, "AllocationFailed", NoCapacityError),
        (200, "SpotPriceGreaterThanProvidedMaxPrice", NoCapacityError),
        (200, "SubnetIsFull", NoCapacityError),
        (409, "QuotaExceeded", QuotaError),
        (409, "Conflict", RefusedError),
        (409, "RetryableError", ThrottledError),
        (429, "", ThrottledError),
        (401, "ExpiredAuthenticationToken", CredentialsError),
        (401, "", CredentialsError),
        (403, "AuthorizationFailed", DeniedError),
        (404, "ResourceNotFound", NotFoundError),
        (404, "SubscriptionNotFound", CredentialsError),
        (412, "PreconditionFailed", MismatchError),
        (400, "InvalidParameter", RefusedError),
    ],
)
def test_N2_the_code_says_what_it_is_before_the_status_does(status: int, code: str, kind: type[CloudError]) -> None:
    error = {"code": code, "message": "words"}
    found = failure(CALL, error, Reply(status))
    assert type(found) is kind
    if status >= 400:
        assert type(refusal(CALL, Reply(status, document={"error": error}), mutating=True)) is kind


def test_E3_cores_that_run_out_are_a_quota_though_they_are_told_as_not_allowed() -> None:
    said = "results in exceeding approved standardDSv5Family Cores quota. Current Limit: 10, Additional Required: 4"
    found = failure(CALL, {"code": "OperationNotAllowed", "message": said}, Reply(409))
    assert type(found) is QuotaError
    assert "standardDSv5Family" in str(found)
    assert type(failure(CALL, {"code": "OperationNotAllowed", "message": "stopped"}, Reply(409))) is RefusedError


def test_the_cause_inside_a_wrapping_error_is_what_counts() -> None:
    inner = {"code": "ZonalAllocationFailed", "message": "full"}
    found = failure(CALL, {"code": "DeploymentFailed", "message": "failed", "details": [inner]})
    assert type(found) is NoCapacityError
    assert "full" in str(found)


@pytest.mark.parametrize(("mutating", "kind"), [(True, UnknownOutcomeError), (False, UnavailableError)])
@pytest.mark.parametrize(
    "reply", [Reply(500), Reply(503), Reply(408), Reply(307), Reply(400, understood=False), Reply(404)]
)
def test_R5_what_does_not_say_what_happened_is_no_failure(reply: Reply, mutating: bool, kind: type[CloudError]) -> None:
    assert type(refusal(CALL, reply, mutating=mutating)) is kind


@pytest.mark.parametrize(
    ("body", "understood"), [(b"", True), (b'{"a": 1}', True), (b"<html>", False), (b'{"a"', False), (b"[]", False)]
)
def test_R5_a_body_is_JSON_or_not_understood(body: bytes, understood: bool) -> None:
    assert reply_from(200, {}, body).understood is understood


@pytest.mark.parametrize(
    ("value", "seconds"), [("30", 30.0), ("0.5", 0.5), ("-1", None), ("soon", None), ("inf", None)]
)
def test_D4_when_to_come_back(value: str, seconds: float | None) -> None:
    assert reply_from(429, {"Retry-After": value}, b"").retry_after == seconds


def test_documents_of_any_shape_can_be_read() -> None:
    assert branch([1], "a") == {}
    assert text({"a": 1}, "a") == ""
    assert whole({"a": True}, "a") == 0
    assert exact({"a": "NaN"}, "a") is None
    assert exact({"a": 1.1}, "a") == Decimal("1.1")
    assert moment({"a": "yesterday"}, "a") is None


def test_I2_an_order_of_a_reservation_has_the_id_that_its_key_makes() -> None:
    assert order_id(KEY) == order_id(KEY) != order_id("b2" * 16)


def test_a_reservation_is_read_with_the_amounts_of_its_order() -> None:
    number = order_id(KEY)
    properties = {"quantity": 2, "term": "P1Y", "billingPlan": "Monthly", "displayName": f"hcloud-{KEY}"}
    reservation = {
        "id": f"/providers/Microsoft.Capacity/reservationOrders/{number}/reservations/x",
        "sku": {"name": "Standard_D4s_v5"},
        "properties": {**properties, "provisioningState": "Succeeded"},
    }
    price = {"pricingCurrencyTotal": {"currencyCode": "USD", "amount": 8760.0}}
    found = commitment_from(reservation, {number: {"properties": {"planInformation": price}}})
    assert (found.id, found.key, found.state, found.count) == (number, KEY, "active", 2)
    assert (found.upfront, found.hourly, found.currency) == (Decimal(0), Decimal(1), "USD")
    assert commitment_from({}, {}).state == "unknown"
    inflexible = commitment_from({**reservation, "properties": {**properties, "instanceFlexibility": "Off"}}, {})
    assert (found.own_size, inflexible.own_size) == (False, True)


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": "http://management.azure.com"},
        {"endpoint": "ftp://127.0.0.1"},
        {"endpoint": "https://user:word@127.0.0.1"},
        {"subscription": ""},
        {"location": ""},
        {"location": "East US"},
    ],
)
def test_L8_settings_that_would_send_a_token_in_the_clear_are_refused(changes: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        replace(SETTINGS, **changes)


def test_an_image_is_named_in_four_parts_or_by_its_id() -> None:
    assert replace(SETTINGS, image="/subscriptions/x/images/y").image_reference() == {"id": "/subscriptions/x/images/y"}
    with pytest.raises(UsageError):
        replace(SETTINGS, image="ubuntu").image_reference()


def test_machines_get_the_identity_that_the_settings_name_and_none_otherwise() -> None:
    """With it a machine reads secrets that were never sent to it."""
    name = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes"
    made = set_body(ORDER, replace(SETTINGS, identity=name))
    assert made["identity"] == {"type": "UserAssigned", "userAssignedIdentities": {name: {}}}
    assert "identity" not in set_body(ORDER, SETTINGS)
