"""Orders, names and handles for Google: the same for the same order, and always what Google takes."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hcloud.errors import (
    Call,
    CloudError,
    MismatchError,
    NoCapacityError,
    QuotaError,
    UnknownOutcomeError,
    UsageError,
)
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import Launch, Machine, MachineState, Owner
from hcloud.providers.gcp import translate
from hcloud.providers.gcp.outcome import judge
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.providers.gcp.translate import OperationEnd

KEY = "c3" * 16
ZONE = "us-central1-a"
SETTINGS = GoogleSettings("shop", "us-central1")
CALL = Call("gcp", "us-central1", "instances.bulkInsert")
KEYS = st.text("0123456789abcdef", min_size=32, max_size=32)


def order(count: int = 3, **changes: object) -> Launch:
    owner = Owner("5e1f" * 8, "shop", "0123456789ab")
    return replace(Launch(KEY, "web", "n2-standard-4", ZONE, count, owner), **changes)  # type: ignore[arg-type]


def shown(number: int, **changes: object) -> Machine:
    made = translate.unseen(order(), translate.names(KEY, number)[-1])
    return replace(made, **changes)  # type: ignore[arg-type]


# names and handles


@given(KEYS, st.integers(1, 12))
@example(KEY, 1001)
def test_names_are_what_google_takes_and_all_different(key: str, count: int) -> None:
    found = translate.names(key, count)
    assert len(set(found)) == count
    assert all(re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name) for name in found)
    assert all(name.startswith(f"hc-{key}-") for name in found)


@pytest.mark.parametrize("count", [9, 10, 100, 12000])
def test_a_longer_order_begins_with_the_names_of_a_shorter(count: int) -> None:
    assert translate.names(KEY, count)[:7] == translate.names(KEY, 7)


@pytest.mark.slow
@given(st.lists(st.text(max_size=40), min_size=1, max_size=3))
def test_a_handle_is_a_uuid_that_follows_from_its_words(words: list[str]) -> None:
    found = translate.request_id(*words)
    assert found == translate.request_id(*words)
    assert UUID(found).int != 0


def test_handles_of_different_purposes_differ() -> None:
    assert len({translate.request_id(purpose, KEY) for purpose in ("launch", "delete", "buy")}) == 3


@pytest.mark.parametrize("text", ["", "name", "/name", "zone/", "a/b/c"])
def test_what_is_no_id_has_no_place(text: str) -> None:
    assert translate.place(text) is None


def test_ids_are_looked_at_in_bundles_without_repetition() -> None:
    ids = [translate.identity(ZONE, name) for name in translate.names(KEY, 100)]
    bundles = list(translate.bundles([*ids, *ids, "no id"]))
    assert sorted(i for b in bundles for i in b) == ids
    assert max(len(translate.filter_of_names(b)) for b in bundles) < 3000


# bodies


def test_an_order_is_one_body_with_every_name_and_the_tags() -> None:
    body = translate.bulk_insert(order(), SETTINGS)
    properties = body["instance_properties"]
    assert isinstance(properties, dict)
    assert (body["count"], body["min_count"]) == (3, 1)
    assert list(body["per_instance_properties"]) == list(translate.names(KEY, 3))  # type: ignore[call-overload]
    assert properties["labels"] == order().tags()
    assert "scheduling" not in properties
    assert properties["disks"][0]["auto_delete"] is True


def test_a_spot_order_is_deleted_rather_than_stopped() -> None:
    body = translate.bulk_insert(order(option=PurchaseOption.SPOT), SETTINGS)
    scheduling = body["instance_properties"]["scheduling"]  # type: ignore[index]
    assert scheduling["provisioning_model"] == "SPOT"
    assert scheduling["instance_termination_action"] == "DELETE"


def test_a_subnetwork_stands_for_its_network_and_a_service_account_is_named() -> None:
    settings = replace(SETTINGS, subnetwork="regions/r/subnetworks/s", service_account="me@shop", external_address=True)
    properties = translate.bulk_insert(order(), settings)["instance_properties"]
    assert isinstance(properties, dict)
    [interface] = properties["network_interfaces"]
    assert "network" not in interface
    assert interface["access_configs"]
    assert properties["service_accounts"][0]["email"] == "me@shop"


# answers


def instance(**changes: object) -> dict[str, object]:
    usual: dict[str, object] = {
        "zone": f"https://www.googleapis.com/compute/v1/projects/shop/zones/{ZONE}",
        "name": "hc-x",
        "machineType": f"https://www.googleapis.com/compute/v1/projects/shop/zones/{ZONE}/machineTypes/e2-small",
        "scheduling": {"provisioningModel": "STANDARD", "preemptible": False},
        "status": "RUNNING",
        "creationTimestamp": "2026-11-21T01:00:00.500-08:00",
        "labels": {"a": "b"},
    }
    return {**usual, **changes}


def test_a_machine_is_read() -> None:
    found = translate.machine(instance())
    assert found.id == f"{ZONE}/hc-x"
    assert found.instance_type == "e2-small"
    assert found.launched is not None
    assert found.launched.astimezone(UTC) == datetime(2026, 11, 21, 9, 0, 0, 500_000, tzinfo=UTC)
    assert found.tags == {"a": "b"}


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("STAGING", MachineState.PENDING),
        ("TERMINATED", MachineState.STOPPED),
        ("SUSPENDED", MachineState.STOPPED),
        ("STOPPING", MachineState.STOPPING),
        ("HIBERNATING_DEEPLY", MachineState.UNKNOWN),
        ("", MachineState.UNKNOWN),
    ],
)
def test_N7_no_word_of_google_is_an_end(word: str, state: MachineState) -> None:
    assert translate.machine(instance(status=word)).state is state


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-21T01:00:00"])
def test_a_time_that_cannot_be_read_is_none(text: str) -> None:
    assert translate.moment(text) is None


# what an order came to


ALL = tuple(shown(n) for n in (1, 2, 3))
MADE = OperationEnd(wanted=3, made=3)
SOLD_OUT = OperationEnd(errors=(("ZONE_RESOURCE_POOL_EXHAUSTED", "none left"),), wanted=3, made=0)
EXISTED = OperationEnd(errors=(("RESOURCE_ALREADY_EXISTS", "it is there"),))


@pytest.mark.parametrize("ended", [None, MADE, OperationEnd(), SOLD_OUT, EXISTED])
def test_whatever_is_said_all_that_are_shown_are_all(ended: OperationEnd | None) -> None:
    found = judge(order(), ended, ALL, CALL)
    assert (found.machines, found.missing) == (ALL, 0)


@pytest.mark.parametrize("ended", [None, EXISTED])
def test_N1_an_operation_that_is_forgotten_leaves_it_to_the_machines(ended: OperationEnd | None) -> None:
    found = judge(order(), ended, ALL[:2], CALL)
    assert (len(found.machines), found.missing, bool(found.why)) == (2, 1, True)
    with pytest.raises(UnknownOutcomeError):
        judge(order(), ended, (), CALL)


def test_C1_machines_that_were_made_and_are_not_shown_are_known_by_their_names() -> None:
    found = judge(order(), MADE, ALL[:1], CALL)
    assert (found.machines, found.missing) == (ALL, 0)


def test_C1_some_that_were_made_and_are_not_shown_are_not_guessed() -> None:
    with pytest.raises(UnknownOutcomeError):
        judge(order(), OperationEnd(wanted=3, made=2), ALL[:1], CALL)
    with pytest.raises(UnknownOutcomeError):
        judge(order(), OperationEnd(), ALL[:1], CALL)


def test_E4_as_many_as_were_made_is_what_there_is() -> None:
    found = judge(order(), OperationEnd(wanted=3, made=2), ALL[:2], CALL)
    assert (found.machines, found.missing) == (ALL[:2], 1)
    assert "2 of 3" in found.why


@pytest.mark.parametrize(
    ("ended", "error"),
    [
        (SOLD_OUT, NoCapacityError),
        (OperationEnd(wanted=3, made=0), NoCapacityError),
        (OperationEnd(errors=(("QUOTA_EXCEEDED", "Quota 'CPUS' exceeded. Limit: 24.0."),)), QuotaError),
        (OperationEnd(errors=(("SOMETHING_NEW", ""),)), UnknownOutcomeError),
        (OperationEnd(errors=(("INTERNAL_ERROR", ""),), wanted=3, made=0), NoCapacityError),  # it was asked for ever
        (OperationEnd(errors=(("INTERNAL_ERROR", ""),), wanted=3, made=2), UnknownOutcomeError),
    ],
)
def test_E5_none_is_never_a_success(ended: OperationEnd, error: type[CloudError]) -> None:
    with pytest.raises(error):
        judge(order(), ended, (), CALL)


def test_E3_a_quota_says_what_was_asked_for() -> None:
    with pytest.raises(QuotaError, match=r"CPUS.*24.*3 x n2-standard-4"):
        judge(order(), OperationEnd(errors=(("QUOTA_EXCEEDED", "Quota 'CPUS' exceeded. Limit: 24.0."),)), (), CALL)


@pytest.mark.parametrize(
    ("ended", "found"),
    [
        (MADE, (shown(1, instance_type="n2-standard-8"),)),
        (MADE, (shown(1, zone="us-central1-b"),)),
        (None, (shown(1, tags={"hcloud-key": "d4" * 16}),)),
        (OperationEnd(wanted=5, made=5), ALL),
        (None, (*ALL, shown(4))),
    ],
)
def test_R8_another_order_under_the_key_is_told(ended: OperationEnd | None, found: tuple[Machine, ...]) -> None:
    with pytest.raises(MismatchError):
        judge(order(), ended, found, CALL)


# settings


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:5100", "http://localhost:1", "http://[::1]:80"])
def test_an_endpoint_on_this_machine_is_local(endpoint: str) -> None:
    assert replace(SETTINGS, endpoint=endpoint).is_local


@pytest.mark.parametrize("endpoint", ["", "https://compute.example"])
def test_other_endpoints_are_not(endpoint: str) -> None:
    assert not replace(SETTINGS, endpoint=endpoint).is_local


@pytest.mark.parametrize("endpoint", ["http://compute.example", "http://127.0.0.1.example", "compute.example"])
def test_L8_credentials_do_not_travel_unencrypted(endpoint: str) -> None:
    with pytest.raises(UsageError):
        _ = replace(SETTINGS, endpoint=endpoint).is_local


def test_a_time_that_google_writes_as_in_california_is_shown_as_utc() -> None:
    """A notice said that maintenance begins at 05:32 UTC, eight hours before it did."""
    assert str(translate.moment("2026-11-28T05:32:10.000-08:00")) == "2026-11-28 13:32:10+00:00"
