"""What a machine's tags can do to a screen: nothing. No line of any verb begins with what a tag says."""

from __future__ import annotations

import pytest
from hostile import FORGED, begins_no_line
from staging import Staging

from benchmarks.processes import CLOUDS, TYPES

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
HOSTILE = f"web\n{FORGED}\u2028{FORGED} [red]\u202e[/red] \x9b31m[/]{' ' * 100}{FORGED}"
NAMED = ("hcloud-address", "hcloud-key", "hcloud-plan")


@every_cloud
def test_L2_a_tag_prints_no_line_of_its_own_where_machines_are_shown_and_changes_approved(
    cloud: str, staged: Staging
) -> None:
    stage = staged(cloud, {"web": 3})
    assert stage.run("apply", "-y").code == 0
    first, second, third = sorted(stage.ledger.machines)
    tags = dict(stage.ledger.machines[first].tags)
    stage.front.edit({"retag": first, "tags": {**tags, "hcloud-address": HOSTILE, HOSTILE: HOSTILE}})
    stage.front.edit({"retag": second, "tags": {**tags, **dict.fromkeys(NAMED, HOSTILE)}})
    stage.front.edit({"resize": third, "type": HOSTILE})
    stage.front.edit({"launch": TYPES[cloud], "tags": {**tags, "hcloud-address": HOSTILE, "hcloud-key": "0" * 32}})
    stage.front.edit({"launch": TYPES[cloud], "tags": {**tags, "hcloud-lineage": HOSTILE, "hcloud-expires": HOSTILE}})
    verbs = ["status", "plan", "apply", "drift", "gc", "recover", "state list", "destroy", "doctor"]
    said = {verb: stage.run(*verb.split()).said for verb in verbs}
    assert sum(FORGED in text for text in said.values()) >= 3, said
    assert [verb for verb, text in said.items() if not begins_no_line(text)] == []
    assert "hcloud: bug" not in " ".join(said.values())
    stage.run("apply", "-y", "--ends", "9")
    assert begins_no_line(stage.run("status", "-v").said)
