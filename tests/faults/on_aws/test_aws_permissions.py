"""F3. The permissions that are printed for AWS are what its requests need, and none of them is idle."""

from __future__ import annotations

from contextlib import suppress

from contract.rig import KEY, LINEAGE, order
from contract.rigs.aws import AwsRig

from hcloud.errors import CloudError
from hcloud.providers.aws.translate import LATEST_IMAGE
from hcloud.readers.permissions import PURPOSES, load_permissions

LIVE = [purpose for purpose in PURPOSES if purpose != "fetch"]
IMPLIED = {"CreateTags"}
"""By the tags that RunInstances names."""
PROMPTED = {"DeleteQueuedSavingsPlan", "DeleteQueuedReservedInstances"}
"""What takes back a purchase that has not begun."""


def test_the_printed_permissions_are_enough_for_a_life_and_a_purchase(rig: AwsRig) -> None:
    cloud = rig.cloud()
    cloud.scope()
    cloud.zones(rig.type_name)
    cloud.image(cloud.template([rig.type_name]).images[0].name)
    made = [m.id for m in cloud.launch(order(rig)).machines]
    cloud.quotas(rig.type_name)
    cloud.machines(LINEAGE)
    cloud.notices(LINEAGE)
    cloud.look(made)
    cloud.examine(made)
    with suppress(CloudError):
        cloud.console(made[0])  # type: ignore[attr-defined]
    cloud.terminate(made)
    for number, commitment in enumerate((rig.commitment(KEY), rig.cancellable("c" * 32))):
        held = cloud.buy(cloud.quote(commitment))
        if number:
            cloud.cancel(held.id)
    cloud.commitments()
    asked = {r.operation for r in rig.requests()}
    granted = [p.name for p in load_permissions("aws").permissions if p.is_needed(LIVE, settings=())]
    table = {name.partition(":")[2] for name in granted}
    assert asked - table == set(), "asked, and not granted"
    assert table - asked - IMPLIED - PROMPTED == set(), "granted, and never asked for"
    assert LATEST_IMAGE.startswith("resolve:ssm:/aws/service/ami-amazon-linux-latest/")


def test_only_looking_never_grants_a_change() -> None:
    reading = [p.name for p in load_permissions("aws").permissions if "read" in p.purposes]
    assert all(n.partition(":")[2].startswith(("Describe", "Get", "List")) for n in reading)
