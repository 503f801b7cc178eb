"""R8. A key that is held: machines of another kind, or of somebody else, stand where an order would make its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest
from contract.rig import Rig
from contract.rigs.gcp import GoogleRig
from oracle import ours
from rehearsal import LINEAGE, Crasher, Rehearsal, crashing, rule
from stands import MEMORY, WIRED, Stand
from test_lists_that_lead_astray import altered

from hcloud.fake.azure.cloud import FIRST_SUBSCRIPTION
from hcloud.fake.faults import FaultKind
from hcloud.fake.server import Received
from hcloud.live.site import order_key
from hcloud.model.holdings.change import Slot
from hcloud.model.holdings.live import Launch, Owner

GROUP = f"/subscriptions/{FIRST_SUBSCRIPTION}/resourceGroups/hcloud"


@pytest.fixture(scope="module", params=[MEMORY, *WIRED])
def stand(request: pytest.FixtureRequest) -> Iterator[Stand]:
    found = Stand(request.param)
    yield found
    if found.is_wired:
        found.rig.close()


def first_key(slot: Slot) -> str:
    """The key of the first order that a new state makes for a slot."""
    return order_key(LINEAGE, 1, slot.address, (slot.instance_type, slot.zones[0]), 1)


def put_strangers(stand: Stand, r: Rehearsal, slot: Slot) -> None:
    """Somebody else's machines under the key that our first order will have."""
    key, zone, kind = first_key(slot), slot.zones[0], slot.instance_type
    if stand.rig.name == "azure" and stand.is_wired:
        _put_set(stand.rig, f"hc-{key}", kind)
    elif stand.rig.name != "aws":
        names = [f"hc-{key}-{n:04d}" if stand.is_wired else f"hc-{key[:16]}-{n}" for n in range(1, slot.count)]
        for name in names:
            r.cloud.edit({"launch": kind, "zone": zone, "name": name, "tags": {"team": "other"}})
    elif stand.is_wired:
        image = {"ImageId": "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"}
        counts = {"MinCount": 1, "MaxCount": 2, "ClientToken": key}
        place = {"AvailabilityZone": zone}
        stand.rig.client("ec2").run_instances(InstanceType=kind, Placement=place, **image, **counts)  # type: ignore[attr-defined]
    else:
        r.cloud.launch(Launch(key, "web", kind, zone, 2, Owner("f" * 32, "else", "0")))


def _put_set(rig: Rig, name: str, kind: str) -> None:
    subnet = {"id": f"{GROUP}/providers/Microsoft.Network/virtualNetworks/hcloud/subnets/default"}
    address = {"name": "internal", "properties": {"primary": True, "subnet": subnet}}
    nic = {"name": "theirs", "properties": {"primary": True, "ipConfigurations": [address]}}
    network = {"networkApiVersion": "2022-11-01", "networkInterfaceConfigurations": [nic]}
    image = {"imageReference": {"publisher": "Canonical", "offer": "o", "sku": "s", "version": "latest"}}
    profile = {"osProfile": {"computerNamePrefix": "theirs"}, "networkProfile": network, "storageProfile": image}
    flexible = {"orchestrationMode": "Flexible", "platformFaultDomainCount": 1, "virtualMachineProfile": profile}
    body = {"location": "eastus", "zones": ["1"], "sku": {"name": kind, "capacity": 2}, "properties": flexible}
    path = f"{GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets/{name}"
    answer = rig.fake.answer(Received("PUT", path, {"api-version": "1"}, {}, json.dumps(body).encode()))
    assert answer.status == 201, answer.body


def test_R8_machines_of_somebody_else_under_our_key_are_named_and_left_as_they_are(stand: Stand) -> None:
    r = stand.rehearsal()
    slot = r.slot(3)
    put_strangers(stand, r, slot)
    strangers = {i: asdict(m) for i, m in r.cloud.ledger.machines.items()}
    assert len(strangers) == 2
    outcome = r.apply(slot)
    assert outcome.exit_code == 6
    assert all(any(i in problem for problem in outcome.problems) for i in strangers), outcome.problems
    assert set(r.cloud.ledger.machines) == set(strangers), "nothing is ordered where the key is held"
    r.converges(slot)
    assert {i: asdict(m) for i, m in r.cloud.ledger.machines.items() if i in strangers} == strangers


def change_kind(stand: Stand, r: Rehearsal) -> None:
    """What stands under the key is not what its order makes any more."""
    one = sorted(r.cloud.ledger.machines)[0]
    if stand.is_wired and stand.rig.name == "aws":  # EC2 compares what was sent, and not what became of it
        for told in stand.rig.fake.tokens.values():  # type: ignore[attr-defined]
            told.asked = "of another kind"
    elif stand.is_wired and stand.rig.name == "azure":
        for resource in stand.rig.fake.resources.values():  # type: ignore[attr-defined]
            if resource.kind.endswith("/virtualMachineScaleSets"):
                resource.document["sku"] = {**resource.document["sku"], "name": "Standard_D8s_v5"}
    else:
        kind = r.types[1] if len(r.types) > 1 else "n2-standard-8"
        r.cloud.edit({"resize": one, "type": kind})


def test_R8_an_open_order_whose_machines_are_of_another_kind_is_not_ordered_anew(stand: Stand) -> None:
    for seconds in (0, 120):
        r = stand.rehearsal()
        slot = r.slot(3)
        with crashing():
            r.apply(slot, crash=Crasher(4))
        assert len(ours(r.cloud, LINEAGE)) == 3
        change_kind(stand, r)
        r.allow(replace(slot, count=4))
        stand.behind(r, seconds=seconds)
        outcome = r.apply(slot)
        assert outcome.exit_code in (0, 6)
        most = 3 if seconds else 4  # a list that is up to date shows what has to be replaced, and that was planned
        assert len(r.cloud.ledger.machines) <= most, "ordered before each machine was looked at"
        r.heal()
        r.cloud.clock.advance(600)
        r.apply(slot)
        r.converges(slot)
        assert len(r.cloud.ledger.machines) <= 4, "what is of another kind is replaced, once"


@pytest.fixture
def google() -> Iterator[GoogleRig]:
    rig = GoogleRig()
    rig.open()
    yield rig
    rig.close()


def test_R8_machines_that_google_tells_as_another_type_are_not_ordered_in_every_zone(google: GoogleRig) -> None:
    from stands import OverTheWire

    r = OverTheWire(google)

    def other(received: Received, said: Any) -> object:
        return json.loads(json.dumps(said).replace("machineTypes/n2-standard-4", "machineTypes/n2-standard-8"))

    altered(google, "/instances", other)
    slot = replace(r.slot(10), zones=r.zones)
    r.allow(slot)
    assert r.apply(slot).exit_code == 6
    assert len(r.cloud.ledger.machines) == 10
    assert r.disk.state is not None
    assert len(r.disk.state.records) == 10, "each is remembered"


def test_R8_a_refusal_of_an_order_that_lists_show_in_part_leaves_it_open() -> None:
    r = Rehearsal("aws")
    slot = r.slot(3)
    r.heal(tokens=False)
    with crashing():
        r.apply(slot, crash=Crasher(4))
    r.cloud.world.hidden.add(sorted(r.cloud.ledger.machines)[0])
    r.faults(rule("launch", FaultKind.QUOTA), tokens=False)
    assert r.apply(slot).exit_code == 6
    assert len(r.cloud.ledger.machines) == 3
    r.cloud.world.hidden.clear()
    r.heal()
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 3
