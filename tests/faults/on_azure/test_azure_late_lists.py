"""C1, C5, V3. Ends on Azure: what late lists leave out ends, and what they still show, or a stranger, is left alone."""

from __future__ import annotations

import pytest
from contract.rig import LINEAGE, order
from contract.rigs.azure import AzureRig, unattached

from hcloud.model.holdings.live import MachineState

LISTS = "VirtualMachine*_List*"
SECONDS = 120


def made(rig: AzureRig, count: int) -> list[str]:
    return sorted(m.id for m in rig.cloud().launch(order(rig, count=count)).machines)


def live(rig: AzureRig) -> list[str]:
    return sorted(m.id for m in rig.live())


def behind(rig: AzureRig, answer: str, on: str = LISTS) -> None:
    rig.fault(answer, on, seconds=SECONDS)


def test_C1_what_no_list_shows_yet_is_ended_all_the_same(rig: AzureRig) -> None:
    ids = made(rig, 3)
    behind(rig, "stale")
    done = rig.cloud().terminate(ids)
    assert (sorted(done.ending), done.gone) == (ids, ())
    assert live(rig) == []


@pytest.mark.parametrize("on", [LISTS, "VirtualMachines_List*"])
def test_C5_a_list_that_counts_what_has_ended_does_not_end_the_whole_set(rig: AzureRig, on: str) -> None:
    first, second, third, fourth = made(rig, 4)
    rig.later(600)
    rig.cloud().terminate([fourth])
    rig.later(1)
    behind(rig, "shows-ended", on)
    done = rig.cloud().terminate([first, second, fourth])
    assert live(rig) == [third]
    assert sorted(done.ending) == [first, second]
    assert done.gone == (fourth,)


def test_C5_what_ended_with_its_set_is_gone_though_a_list_shows_both(rig: AzureRig) -> None:
    ids = made(rig, 2)
    rig.later(600)
    rig.cloud().terminate(ids)
    rig.later(1)
    behind(rig, "shows-ended")
    done = rig.cloud().terminate(ids)
    assert (done.ending, sorted(done.gone)) == ((), ids)
    assert unattached(rig.fake) == ()


def test_V3_a_machine_that_somebody_put_into_our_set_is_not_ours(rig: AzureRig) -> None:
    ids = made(rig, 2)
    rig.fake.edit({"launch": rig.type_name, "tags": {"team": "other"}})
    [theirs] = set(live(rig)) - set(ids)
    [joined] = [r for r in rig.fake.resources.values() if r.short_id == theirs]
    [home] = [r for r in rig.fake.resources.values() if r.kind.endswith("/virtualMachineScaleSets")]
    joined.home, joined.properties["virtualMachineScaleSet"] = home.id, {"id": home.id}
    cloud = rig.cloud()
    assert sorted(m.id for m in cloud.machines(LINEAGE)) == ids
    assert [m.lineage for m in cloud.examine([theirs])] == [""]
    assert sorted(m.id for m in cloud.launch(order(rig, count=2)).machines) == ids
    cloud.terminate(ids)
    assert live(rig) == [theirs]


def test_C1_what_lists_do_not_show_yet_has_not_ended_because_others_of_its_set_are_ending(rig: AzureRig) -> None:
    ids = made(rig, 20)
    rig.faults({"end_delay": 60})
    rig.cloud().terminate(ids[6:12])
    hidden = ids[:6]
    for resource in rig.fake.resources.values():
        if resource.short_id in hidden:
            resource.visible_at = rig.fake.clock.now() + SECONDS
    looked = {m.id: m.state for m in rig.cloud().look(ids)}
    assert [i for i in hidden if looked.get(i) is MachineState.ENDED] == []
    assert set(hidden) <= set(live(rig))
