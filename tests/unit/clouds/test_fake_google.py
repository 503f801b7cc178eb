"""The fake Google by itself: what it takes, refuses, delays and remembers, without an SDK."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from hcloud.fake.faults import ClockPlan, FaultKind, FaultPlan, FaultRule
from hcloud.fake.gcp.cloud import FakeGoogle
from hcloud.fake.gcp.operations import ZERO_UUID
from hcloud.fake.gcp.wire.filters import parse_filter
from hcloud.fake.gcp.wire.refusals import RefusalError
from hcloud.fake.server import HttpAnswer, Received
from hcloud.model.catalog import PurchaseOption
from hcloud.readers.prices.gcp_skus import component_of, unit_price

ZONE = "us-central1-a"
START = datetime(2026, 11, 21, 9, tzinfo=UTC)
HANDLE = "11111111-2222-4333-8444-555555555555"


def cloud(**plan: object) -> FakeGoogle:
    return FakeGoogle(FaultPlan.model_validate({"clock": ClockPlan(start=START, speed=0), **plan}))


def send(
    fake: FakeGoogle,
    method: str,
    path: str,
    body: object = None,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpAnswer:
    raw = json.dumps(body).encode() if body is not None else b""
    whole = f"/compute/v1/projects/{fake.place.project}{'/' + path if path else ''}"
    return fake.answer(Received(method, urlsplit(whole).path, query or {}, headers or {}, raw))


def ask(fake: FakeGoogle, method: str, path: str, body: object = None, **query: str) -> dict[str, Any]:
    answer = send(fake, method, path, body, query)
    found: dict[str, Any] = json.loads(answer.body)
    assert answer.status == 200, found
    return found


def refused(fake: FakeGoogle, method: str, path: str, body: object = None, **query: str) -> tuple[int, str]:
    answer = send(fake, method, path, body, query)
    error = json.loads(answer.body)["error"]
    assert error["code"] == answer.status
    return answer.status, error["errors"][0]["reason"]


IMAGE = "projects/debian-cloud/global/images/family/debian-12"
PROPERTIES: dict[str, Any] = {
    "machineType": "n2-standard-4",
    "labels": {"team": "shop"},
    "disks": [{"boot": True, "initializeParams": {"sourceImage": IMAGE}}],
    "networkInterfaces": [{"network": "global/networks/default"}],
}


def bulk(count: object = 2, **changes: object) -> dict[str, Any]:
    return {"count": count, "minCount": "1", "namePattern": "web-##", "instanceProperties": PROPERTIES, **changes}


def single(name: str = "one", **changes: object) -> dict[str, Any]:
    return {**PROPERTIES, "name": name, "machineType": f"zones/{ZONE}/machineTypes/n2-standard-4", **changes}


INSTANCES = f"zones/{ZONE}/instances"


def names(fake: FakeGoogle, **query: str) -> list[str]:
    return [i["name"] for i in ask(fake, "GET", INSTANCES, **query).get("items", [])]


# orders


def test_many_are_made_under_a_pattern_that_counts_on() -> None:
    fake = cloud()
    ask(fake, "POST", f"{INSTANCES}/bulkInsert", bulk())
    ask(fake, "POST", f"{INSTANCES}/bulkInsert", bulk("3"))
    assert names(fake) == ["web-01", "web-02", "web-03", "web-04", "web-05"]


def test_one_is_made_under_its_name_and_only_once() -> None:
    fake = cloud()
    ask(fake, "POST", INSTANCES, single())
    assert refused(fake, "POST", INSTANCES, single()) == (409, "alreadyExists")
    assert names(fake) == ["one"]


def test_a_name_may_be_used_again_when_its_machine_is_over_and_the_ledger_keeps_both() -> None:
    fake = cloud()
    ask(fake, "POST", INSTANCES, single())
    ask(fake, "DELETE", f"{INSTANCES}/one")
    ask(fake, "POST", INSTANCES, single())
    assert len(fake.ledger.machines) == 2
    assert len(fake.ledger.live(fake.now)) == 1


@pytest.mark.parametrize(
    "body",
    [
        bulk(countt=1),
        bulk(count="two"),
        bulk(count=2.5),
        bulk(count=True),
        bulk(count=0),
        bulk(count=10**6),
        bulk(minCount=3),
        bulk(namePattern=None),
        bulk(namePattern="no-number"),
        bulk(perInstanceProperties={"a": {}}),
        bulk(namePattern=None, perInstanceProperties={"Bad_Name": {}, "b": {}}),
        bulk(namePattern=None, perInstanceProperties={"a": {}}),
        bulk(instanceProperties={**PROPERTIES, "machineTyp": "x"}),
        bulk(instanceProperties={**PROPERTIES, "machineType": f"zones/{ZONE}/machineTypes/n2-standard-4"}),
        bulk(instanceProperties={**PROPERTIES, "machineType": "zz9-mega-1"}),
        bulk(instanceProperties={**PROPERTIES, "disks": []}),
        bulk(instanceProperties={**PROPERTIES, "networkInterfaces": []}),
        bulk(instanceProperties={**PROPERTIES, "labels": {"Team": "Shop"}}),
        bulk(instanceProperties={**PROPERTIES, "labels": {"team": 7}}),
        bulk(instanceProperties={**PROPERTIES, "disks": [{**PROPERTIES["disks"][0], "boot": "yes"}]}),
        bulk(instanceProperties={**PROPERTIES, "scheduling": {"provisioningModel": "SPOTTY"}}),
        bulk(instanceProperties={**PROPERTIES, "scheduling": {"provisioningModel": "SPOT"}}),
        ["a", "list"],
    ],
)
def test_a_wrong_body_is_refused_and_makes_nothing(body: object) -> None:
    fake = cloud()
    assert refused(fake, "POST", f"{INSTANCES}/bulkInsert", body)[0] == 400
    assert not fake.ledger.machines


def test_a_body_that_is_no_json_is_refused() -> None:
    fake = cloud()
    path = f"/compute/v1/projects/{fake.place.project}/{INSTANCES}"
    assert fake.answer(Received("POST", path, {}, {}, b"{")).status == 400


@pytest.mark.parametrize("handle", [ZERO_UUID, "x", "11111111-2222-4333-8444-55555555555g"])
def test_N1_a_handle_that_is_no_uuid_is_refused(handle: str) -> None:
    fake = cloud()
    assert refused(fake, "POST", INSTANCES, single(), requestId=handle) == (400, "invalid")
    assert not fake.ledger.machines


def test_N1_the_same_handle_gives_the_same_operation_until_it_is_forgotten() -> None:
    fake = cloud(operation_delay=10)
    first = ask(fake, "POST", INSTANCES, single(), requestId=HANDLE)
    fake.clock.advance(11)
    again = ask(fake, "POST", INSTANCES, single(), requestId=HANDLE)
    assert (first["name"], first["status"]) == (again["name"], "RUNNING")
    assert again["status"] == "DONE"
    fake.clock.advance(3601)
    assert refused(fake, "POST", INSTANCES, single(), requestId=HANDLE) == (409, "alreadyExists")


def test_R8_the_same_handle_for_something_else_is_refused() -> None:
    fake = cloud()
    ask(fake, "POST", INSTANCES, single(), requestId=HANDLE)
    assert refused(fake, "POST", INSTANCES, single("two"), requestId=HANDLE) == (400, "invalid")
    assert names(fake) == ["one"]


def test_R2_without_handles_a_name_still_keeps_a_machine_from_being_made_twice() -> None:
    fake = cloud(tokens=False)
    ask(fake, "POST", INSTANCES, single(), requestId=HANDLE)
    assert refused(fake, "POST", INSTANCES, single(), requestId=HANDLE) == (409, "alreadyExists")


# operations


def test_a_wait_lasts_until_the_operation_is_done_but_two_minutes_at_most() -> None:
    fake = cloud(operation_delay=150)
    operation = ask(fake, "POST", INSTANCES, single())
    path = f"zones/{ZONE}/operations/{operation['name']}"
    assert ask(fake, "GET", path)["status"] == "RUNNING"
    assert ask(fake, "POST", f"{path}/wait")["status"] == "RUNNING"
    assert ask(fake, "POST", f"{path}/wait")["status"] == "DONE"
    assert fake.now == START.timestamp() + 150


def test_N1_an_operation_is_forgotten_after_two_weeks() -> None:
    fake = cloud()
    operation = ask(fake, "POST", INSTANCES, single())
    path = f"zones/{ZONE}/operations/{operation['name']}"
    assert ask(fake, "GET", path)["status"] == "DONE"
    fake.clock.advance(15 * 86400)
    assert refused(fake, "GET", path) == (404, "notFound")


def test_E7_a_stock_out_is_found_in_the_operation() -> None:
    fake = cloud(stock={"*": 0})
    operation = ask(fake, "POST", INSTANCES, single())
    ended = ask(fake, "GET", f"zones/{ZONE}/operations/{operation['name']}")
    assert [e["code"] for e in ended["error"]["errors"]] == ["ZONE_RESOURCE_POOL_EXHAUSTED"]
    assert not fake.ledger.machines


def test_E4_a_bulk_that_does_not_reach_its_minimum_makes_nothing() -> None:
    fake = cloud(stock={"n2-standard-4": 2})
    ask(fake, "POST", f"{INSTANCES}/bulkInsert", bulk(5, minCount=3))
    assert not fake.ledger.machines
    operation = ask(fake, "POST", f"{INSTANCES}/bulkInsert", bulk(5))
    ended = ask(fake, "GET", f"zones/{ZONE}/operations/{operation['name']}")
    [status] = ended["instancesBulkInsertOperationMetadata"]["perLocationStatus"].values()
    assert (status["targetVmCount"], status["createdVmCount"]) == (5, 2)
    assert len(fake.ledger.machines) == 2


def test_E3_a_quota_is_counted_in_its_unit() -> None:
    fake = cloud(quotas={"N2_CPUS": 8})
    ask(fake, "POST", f"{INSTANCES}/bulkInsert", bulk(2))
    operation = ask(fake, "POST", INSTANCES, single())
    ended = ask(fake, "GET", f"zones/{ZONE}/operations/{operation['name']}")
    assert ended["error"]["errors"][0]["code"] == "QUOTA_EXCEEDED"
    [quota] = [q for q in ask(fake, "GET", "regions/us-central1")["quotas"] if q["metric"] == "N2_CPUS"]
    assert (quota["limit"], quota["usage"]) == (8, 8)


# machines over time


def test_a_machine_is_provisioned_staged_running_stopping_and_gone() -> None:
    fake = cloud(spin_up=40, end_delay=30)
    ask(fake, "POST", INSTANCES, single())
    seen = []
    for step in (0, 25, 20):
        fake.clock.advance(step)
        seen.append(ask(fake, "GET", f"{INSTANCES}/one")["status"])
    ask(fake, "DELETE", f"{INSTANCES}/one")
    seen.append(ask(fake, "GET", f"{INSTANCES}/one")["status"])
    assert seen == ["PROVISIONING", "STAGING", "RUNNING", "STOPPING"]
    fake.clock.advance(31)
    assert refused(fake, "GET", f"{INSTANCES}/one") == (404, "notFound")


def test_a_stopped_machine_is_terminated_in_googles_words_and_stays() -> None:
    fake = cloud()
    ask(fake, "POST", INSTANCES, single())
    ask(fake, "POST", f"{INSTANCES}/one/stop")
    assert ask(fake, "GET", f"{INSTANCES}/one")["status"] == "TERMINATED"
    ask(fake, "POST", f"{INSTANCES}/one/start")
    assert ask(fake, "GET", f"{INSTANCES}/one")["status"] == "RUNNING"


def test_C1_C4_a_machine_is_shown_late_and_its_labels_later() -> None:
    fake = cloud(visibility_delay=10, tag_delay=20)
    ask(fake, "POST", INSTANCES, single())
    assert names(fake) == []
    fake.clock.advance(11)
    assert names(fake) == ["one"]
    assert names(fake, filter='labels.team = "shop"') == []
    fake.clock.advance(10)
    assert names(fake, filter="labels.team=shop") == ["one"]


def test_spot_machines_get_notice_and_are_taken_two_minutes_later() -> None:
    fake = cloud(spot_notices=[60])
    spot = {"provisioningModel": "SPOT", "automaticRestart": False, "onHostMaintenance": "TERMINATE"}
    ask(fake, "POST", INSTANCES, single("kept", scheduling=spot))
    ask(fake, "POST", INSTANCES, single("spot", scheduling={**spot, "instanceTerminationAction": "DELETE"}))
    ask(fake, "POST", INSTANCES, single("firm"))
    fake.clock.advance(61)
    assert ask(fake, "GET", f"{INSTANCES}/spot")["status"] == "RUNNING"
    fake.clock.advance(120)
    assert names(fake) == ["firm", "kept"]
    assert ask(fake, "GET", f"{INSTANCES}/kept")["status"] == "TERMINATED"
    kinds = [o["operationType"] for o in ask(fake, "GET", f"zones/{ZONE}/operations")["items"]]
    assert "compute.instances.preempted" in kinds


def test_labels_are_changed_by_one_who_has_seen_them() -> None:
    fake = cloud()
    ask(fake, "POST", INSTANCES, single())
    print_before = ask(fake, "GET", f"{INSTANCES}/one")["labelFingerprint"]
    new = {"labels": {"team": "books"}, "labelFingerprint": print_before}
    ask(fake, "POST", f"{INSTANCES}/one/setLabels", new)
    assert refused(fake, "POST", f"{INSTANCES}/one/setLabels", new) == (412, "conditionNotMet")
    assert ask(fake, "GET", f"{INSTANCES}/one")["labels"] == {"team": "books"}


def test_the_console_is_read_from_a_byte_on() -> None:
    fake = cloud()
    metadata = {"items": [{"key": "startup-script", "value": "#!/bin/sh\necho hello\n"}]}
    ask(fake, "POST", INSTANCES, single(metadata=metadata))
    [machine] = fake.ledger.machines.values()
    assert machine.detail["start_up"] == metadata["items"][0]["value"]
    machine.detail["console"] = "hello\nworld\n"
    found = ask(fake, "GET", f"{INSTANCES}/one/serialPort", start="6")
    assert (found["contents"], found["next"]) == ("world\n", "12")


def test_G5_a_person_changes_things() -> None:
    fake = cloud()
    ask(fake, "POST", INSTANCES, single())
    fake.edit({"retag": f"{ZONE}/one", "tags": {"a": "b"}})
    fake.edit({"resize": f"{ZONE}/one", "type": "n2-standard-8"})
    found = ask(fake, "GET", f"{INSTANCES}/one")
    assert (found["labels"], found["machineType"].rsplit("/", 1)[-1]) == ({"a": "b"}, "n2-standard-8")
    fake.edit({"terminate": "one"})
    fake.edit({"launch": "e2-small", "tags": {"by": "hand"}})
    assert names(fake, filter="labels.by:*") == ["by-hand-" + names(fake)[0].rsplit("-", 1)[-1]]


# lists


def test_lists_come_in_pages_and_over_all_zones() -> None:
    fake = cloud()
    ask(fake, "POST", f"{INSTANCES}/bulkInsert", bulk(5))
    first = ask(fake, "GET", INSTANCES, maxResults="3")
    second = ask(fake, "GET", INSTANCES, maxResults="3", pageToken=first["nextPageToken"])
    assert (len(first["items"]), len(second["items"]), "nextPageToken" in second) == (3, 2, False)
    everywhere = ask(fake, "GET", "aggregated/instances", maxResults="4")
    assert len(everywhere["items"][f"zones/{ZONE}"]["instances"]) == 4
    assert everywhere["items"]["zones/us-east1-b"]["warning"]["code"] == "NO_RESULTS_ON_PAGE"
    assert refused(fake, "GET", INSTANCES, maxResults="501") == (400, "invalid")
    assert refused(fake, "GET", INSTANCES, pageToken="x") == (400, "invalid")


DOCUMENT = {"name": "web-01", "status": "RUNNING", "labels": {"team": "shop", "hcloud-key": "0012"}}


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("name = web-01", True),
        ('name="web-01"', True),
        ("name != web-01", False),
        ("name eq web-.*", True),
        ("labels.team=shop labels.hcloud-key=0012", True),
        ("labels.team=shop AND labels.hcloud-key=0013", False),
        ('(name = "x") OR (name = "web-01")', True),
        ("name = x OR name = y AND status = RUNNING", False),
        ("labels.team:*", True),
        ("labels.none:*", False),
        ("status = RUNNING AND (labels.team = a OR labels.team = shop)", True),
    ],
)
def test_filters_accept_what_they_say(text: str, accepted: bool) -> None:
    assert parse_filter(text)(DOCUMENT) is accepted


@pytest.mark.parametrize("text", ["name", "= x", "(name = x", "name = x)", "name = x OR", "name ? x"])
def test_a_filter_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(RefusalError):
        parse_filter(text)


# purchases


COMMITMENT = {
    "name": "yearly",
    "plan": "TWELVE_MONTH",
    "type": "GENERAL_PURPOSE_N2",
    "resources": [{"type": "VCPU", "amount": "8"}, {"type": "MEMORY", "amount": "32768"}],
}
COMMITMENTS = "regions/us-central1/commitments"


def test_a_commitment_begins_at_midnight_in_california_and_is_never_given_back() -> None:
    fake = cloud()
    ask(fake, "POST", COMMITMENTS, COMMITMENT)
    [held] = ask(fake, "GET", COMMITMENTS)["items"]
    assert (held["status"], held["startTimestamp"]) == ("NOT_YET_ACTIVE", "2026-11-22T00:00:00.000-08:00")
    fake.clock.advance(86_400)
    assert ask(fake, "GET", f"{COMMITMENTS}/yearly")["status"] == "ACTIVE"
    assert send(fake, "DELETE", f"{COMMITMENTS}/yearly").status == 404
    assert refused(fake, "POST", COMMITMENTS, COMMITMENT) == (409, "alreadyExists")


def test_a_commitment_costs_what_the_fake_asks_for_its_machines() -> None:
    fake = cloud(price_factor=1.5)
    ask(fake, "POST", COMMITMENTS, COMMITMENT)
    [bought] = fake.ledger.purchases.values()
    assert bought.hourly == 2 * fake.price(fake.place.hourly("n2-standard-4", PurchaseOption.COMMITTED_USE, 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"plan": "NINE_MONTH"},
        {"type": "NONSENSE"},
        {"resources": []},
        {"resources": [{"type": "VCPU", "amount": "8"}]},
        {"resources": [{"type": "VCPU", "amount": "8"}, {"type": "MEMORY", "amount": "100"}]},
        {"resources": [{"type": "VCPU", "amount": "-8"}, {"type": "MEMORY", "amount": "256"}]},
        {"extra": 1},
    ],
)
def test_I8_a_wrong_commitment_is_refused(changes: dict[str, object]) -> None:
    fake = cloud()
    assert refused(fake, "POST", COMMITMENTS, {**COMMITMENT, **changes})[0] == 400
    assert not fake.ledger.purchases


def test_reservations_are_held_and_given_up() -> None:
    fake = cloud()
    path = f"zones/{ZONE}/reservations"
    wanted = {"count": "3", "instanceProperties": {"machineType": "n2-standard-4"}}
    ask(fake, "POST", path, {"name": "ready", "specificReservation": wanted})
    assert [r["status"] for r in ask(fake, "GET", path)["items"]] == ["READY"]
    ask(fake, "DELETE", f"{path}/ready")
    assert refused(fake, "GET", f"{path}/ready") == (404, "notFound")


def price_list(fake: FakeGoogle, **query: str) -> dict[str, Any]:
    answer = fake.answer(Received("GET", "/v1/services/6F81-5844-456A/skus", query, {}, b""))
    found: dict[str, Any] = json.loads(answer.body)
    return found


def test_the_price_list_is_one_that_hcloud_reads_and_says_what_commitments_cost() -> None:
    fake = cloud(price_factor=1.25)
    prices = {}
    for sku in price_list(fake)["skus"]:
        found = component_of(sku)
        assert found is not None
        prices[found] = unit_price(sku, found[2])
    for option, usage, years in (
        (PurchaseOption.ON_DEMAND, "OnDemand", 0),
        (PurchaseOption.SPOT, "Preemptible", 0),
        (PurchaseOption.COMMITTED_USE, "Commit3Yr", 3),
    ):
        composed = 4 * prices["n2", usage, "cpu"] + 16 * prices["n2", usage, "ram"]
        assert composed == fake.price(fake.place.hourly("n2-standard-4", option, years))


def test_the_price_list_comes_in_pages() -> None:
    fake = cloud()
    whole = price_list(fake)
    first = price_list(fake, pageSize="100")
    second = price_list(fake, pageSize="100", pageToken=first["nextPageToken"])
    assert first["skus"] + second["skus"] == whole["skus"]
    assert (whole["nextPageToken"], second["nextPageToken"]) == ("", "")


# who asks, and what goes wrong


def test_the_token_says_who_asks_before_the_header_does() -> None:
    fake = cloud(roles={"watcher": ["*.get", "*.list"]})
    for headers, status in (
        ({"x-hcloud-principal": "watcher"}, 403),
        ({"authorization": "Bearer watcher"}, 403),
        ({"authorization": "Bearer boss", "x-hcloud-principal": "watcher"}, 200),
        ({}, 200),
    ):
        name = f"one-{len(fake.ledger.requests)}"
        assert send(fake, "POST", INSTANCES, single(name), headers=headers).status == status
    assert [r.principal for r in fake.ledger.requests] == ["watcher", "watcher", "boss", ""]


@pytest.mark.parametrize("kind", list(FaultKind))
def test_every_kind_of_fault_has_a_form_here(kind: FaultKind) -> None:
    fake = cloud(rules=[FaultRule(on="instances.bulkInsert", answer=kind, seconds=5)])
    answer = send(fake, "POST", f"{INSTANCES}/bulkInsert", bulk(4))
    refusing = {"throttled", "quota", "denied", "expired-credentials", "clock-skew", "server-error", "unavailable"}
    acting = {"dropped-after", "nonsense", "slow", "twice", "empty", "unknown-words", "untagged"}
    acting |= {"stale", "misses-new", "shows-ended"}
    made = len(fake.ledger.machines)
    assert (answer.status >= 400) is (kind in {*refusing, "not-found"})
    assert answer.dropped is (kind in ("dropped-before", "dropped-after"))
    assert made == (2 if kind == "partial" else 8 if kind == "twice" else 4 if kind in acting else 0)
    [request] = fake.ledger.requests
    assert request.outcome == kind


def test_a_list_may_be_empty_or_full_of_new_words() -> None:
    rules = [
        FaultRule(on="instances.list", answer=FaultKind.EMPTY, first=1),
        FaultRule(on="*.list", answer=FaultKind.UNKNOWN_WORDS),
    ]
    fake = cloud(rules=rules)
    ask(fake, "POST", INSTANCES, single())
    assert names(fake) == []
    [found] = ask(fake, "GET", INSTANCES)["items"]
    assert found["status"] == "HIBERNATING_DEEPLY"


def test_other_projects_zones_and_paths_are_not_there() -> None:
    fake = cloud()
    assert refused(fake, "GET", "zones/mars-1-a/instances") == (404, "notFound")
    assert refused(fake, "GET", "nothing/here") == (404, "notFound")
    path = f"/compute/v1/projects/other/{INSTANCES}"
    assert fake.answer(Received("GET", path, {}, {}, b"")).status == 404
