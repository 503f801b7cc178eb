"""A machine is read from Google's JSON as the SDK's own reader takes it, also where it is odd."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest

from hcloud.providers.gcp import translate
from hcloud.providers.gcp.documents import Document, document_of
from hcloud.providers.gcp.sdk import messages

PLACE = "https://www.googleapis.com/compute/v1/projects/shop/zones/us-central1-a"
INSTANCE: Document = {
    "kind": "compute#instance",
    "name": "hc-x",
    "zone": PLACE,
    "machineType": f"{PLACE}/machineTypes/e2-small",
    "scheduling": {"provisioningModel": "SPOT", "preemptible": True, "onHostMaintenance": "TERMINATE"},
    "status": "RUNNING",
    "creationTimestamp": "2026-11-21T01:00:00.500-08:00",
    "labels": {"a": "b"},
}


CHANGED: tuple[object, ...] = (None, "", "x", 7, 0, True, False, [], {}, ["x"], {"x": "y"}, {"x": None}, {"x": 7}, 1.5)
READ = ("name", "zone", "machineType", "status", "creationTimestamp", "labels")


def taken(instance: Document, parse: Callable[[bytes], Document]) -> object:
    try:
        return translate.machine(parse(json.dumps(instance).encode()))
    except Exception:
        return "no answer"


def as_the_sdk_reads(body: bytes) -> Document:
    from google.protobuf import json_format

    instance = messages().Instance
    found = instance()
    json_format.Parse(body, instance.pb(found), ignore_unknown_fields=True)
    read: Document = json.loads(instance.to_json(found, always_print_fields_with_no_presence=False))
    return read


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_a_member_that_is_missing_or_odd_is_taken_as_by_the_sdk(name: str) -> None:
    without = {k: v for k, v in INSTANCE.items() if k != name}
    for instance in (without, *({**INSTANCE, name: value} for value in CHANGED)):
        assert taken(instance, document_of) == taken(instance, as_the_sdk_reads), instance


@pytest.mark.parametrize("value", [None, 7, 1.5, True, {}, {"x": "y"}])
def test_scheduling_that_is_missing_or_odd_is_taken_as_by_the_sdk(value: object) -> None:
    instance = {**INSTANCE, "scheduling": value}
    assert taken(instance, document_of) == taken(instance, as_the_sdk_reads)


@pytest.mark.parametrize("name", ["provisioningModel", "preemptible"])
def test_how_it_is_rented_is_taken_as_by_the_sdk(name: str) -> None:
    for value in CHANGED:
        instance = copy.deepcopy(dict(INSTANCE))
        instance["scheduling"] = {name: value}
        assert taken(instance, document_of) == taken(instance, as_the_sdk_reads), instance
