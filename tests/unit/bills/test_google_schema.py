"""Bodies and paths against Google's own description of its interface, which comes with google-api-python-client."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import googleapiclient
import pytest
from contract.rig import KEY, OTHER_KEY, order
from contract.rigs.gcp import GoogleRig
from jsonschema import Draft202012Validator

from hcloud.fake.faults import ClockPlan, FaultPlan
from hcloud.fake.gcp.cloud import FakeGoogle
from hcloud.fake.gcp.wire.routes import find_route, templates
from hcloud.fake.server import FakeServer, HttpAnswer, Received
from hcloud.model.catalog import PurchaseOption
from hcloud.providers.gcp.provider import GoogleCloud
from hcloud.providers.gcp.settings import GoogleSettings

Schema = dict[str, Any]
ZONE = "us-central1-a"
PATHS = {
    "instances.bulkInsert": f"zones/{ZONE}/instances/bulkInsert",
    "regionCommitments.insert": "regions/us-central1/commitments",
}
BODIES = {
    "instances.bulkInsert": "BulkInsertInstanceResource",
    "regionCommitments.insert": "Commitment",
}


@cache
def discovery() -> Schema:
    documents = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    found: Schema = json.loads((documents / "compute.v1.json").read_text())
    return found


def methods() -> dict[str, tuple[str, str]]:
    """Google's operations with their method and path."""
    found = {}
    for resource in discovery()["resources"].values():
        for method in resource.get("methods", {}).values():
            found[method["id"].removeprefix("compute.")] = (method["httpMethod"], method["path"])
    return found


def validator(name: str) -> Draft202012Validator:
    """Google's description of a body as JSON Schema that knows every name there is."""
    definitions = {n: converted(s) for n, s in discovery()["schemas"].items()}
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})


def converted(schema: Schema) -> Schema:
    if "$ref" in schema:
        return {"$ref": f"#/$defs/{schema['$ref']}"}
    kind: str = schema.get("type", "any")
    kept: Schema = {}
    if kind == "any":
        return {}
    if schema.get("format") in ("int64", "uint64"):
        return {"type": ["string", "integer"], "pattern": "^-?[0-9]+$"}
    if kind == "object":
        kept["properties"] = {n: converted(s) for n, s in schema.get("properties", {}).items()}
        others = schema.get("additionalProperties")
        kept["additionalProperties"] = converted(others) if others else False
    if kind == "array":
        kept["items"] = converted(schema["items"])
    kept |= {key: schema[key] for key in ("enum", "pattern") if key in schema}
    return {"type": kind, **kept}


class Recording(FakeGoogle):
    """A fake that keeps the bodies it was sent."""

    def __init__(self) -> None:
        super().__init__(FaultPlan(clock=ClockPlan(speed=0)))
        self.bodies: list[tuple[str, Any]] = []

    def answer(self, received: Received) -> HttpAnswer:
        route = find_route(received.method, received.path)
        if route is not None and received.body:
            self.bodies.append((route.operation, json.loads(received.body)))
        return super().answer(received)


@pytest.fixture(scope="module")
def sent() -> Iterator[list[tuple[str, Any]]]:
    """Every body that the provider sends, with everything that can be set."""
    fake, rig = Recording(), GoogleRig()
    rig._fake = fake
    for name in ("regions/us-central1/subnetworks/inner", "worker@hcloud-fake.iam.gserviceaccount.com"):
        fake.edit({"create": name})
    with FakeServer(fake) as running:
        plain = GoogleSettings(fake.place.project, "us-central1", endpoint=running.url)
        rich = GoogleSettings(
            fake.place.project,
            "us-central1",
            endpoint=running.url,
            subnetwork="regions/us-central1/subnetworks/inner",
            service_account="worker@hcloud-fake.iam.gserviceaccount.com",
            external_address=True,
        )
        cloud = GoogleCloud(plain, rig.price, fake.clock.sleep)
        made = cloud.launch(order(rig)).machines
        spot = order(rig, OTHER_KEY, option=PurchaseOption.SPOT, start_up="#!/bin/sh\necho 'ü' \"$HOME\"\n")
        GoogleCloud(rich, rig.price, fake.clock.sleep).launch(spot)
        cloud.terminate([m.id for m in made])
        cloud.buy(cloud.quote(rig.commitment(KEY)))
        yield fake.bodies


@pytest.mark.slow
def test_every_body_that_is_sent_is_one_of_googles(sent: list[tuple[str, Any]]) -> None:
    assert {operation for operation, _ in sent} == set(BODIES)
    for operation, body in sent:
        assert list(validator(BODIES[operation]).iter_errors(body)) == []


PLANTED: dict[str, tuple[str, list[Any], Any]] = {
    "an unknown name": ("instances.bulkInsert", ["instanceProperties", "machineTyp"], "n2-standard-4"),
    "a misspelt model": ("instances.bulkInsert", ["instanceProperties", "scheduling"], {"provisioningModel": "SPOTTY"}),
    "a text for a truth": ("instances.bulkInsert", ["instanceProperties", "disks", 0, "boot"], "yes"),
    "a count in words": ("instances.bulkInsert", ["count"], "three"),
    "a broken count": ("instances.bulkInsert", ["count"], 2.5),
    "a label that is a number": ("instances.bulkInsert", ["instanceProperties", "labels", "team"], 7),
    "a list for a name": ("instances.bulkInsert", ["perInstanceProperties"], ["a", "b"]),
    "an unknown plan": ("regionCommitments.insert", ["plan"], "NINE_MONTH"),
    "an unknown resource": ("regionCommitments.insert", ["resources", 0, "type"], "VCPUS"),
    "a bad amount": ("regionCommitments.insert", ["resources", 0, "amount"], "eight"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_wrong_body_is_noticed_here_and_by_the_fake(planted: str, sent: list[tuple[str, Any]]) -> None:
    operation, path, value = PLANTED[planted]
    body = copy.deepcopy(next(b for o, b in sent if o == operation))
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert list(validator(BODIES[operation]).iter_errors(body))
    fake = FakeGoogle()
    where = PATHS[operation]
    received = Received("POST", f"/compute/v1/projects/hcloud-fake/{where}", {}, {}, json.dumps(body).encode())
    assert fake.answer(received).status == 400


def test_every_path_of_the_fake_is_one_of_googles() -> None:
    google = methods()
    for method, path, operation in templates():
        known_method, known_path = google[operation]
        assert method == known_method
        assert shape(f"projects/{path}") == shape(known_path)


def shape(path: str) -> str:
    return re.sub(r"{[^}]*}", "{}", path)
