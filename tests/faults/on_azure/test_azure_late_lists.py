"""C1, C5. Ends on Azure while its lists are behind: what is new ends, what has ended takes nothing along."""

from __future__ import annotations

import pytest
from contract.rig import order
from contract.rigs.azure import AzureRig

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
    assert rig.fake.unattached() == ()
