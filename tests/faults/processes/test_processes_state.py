"""G, H, J. Two at once, a state that is gone or damaged, plans that are stale or altered; real processes."""

from __future__ import annotations

import shutil
import time
from itertools import cycle
from pathlib import Path
from random import Random

import pytest
from staging import FLEET, Staging
from test_processes_identity import moved
from verdict import converges, exact, judge

from benchmarks.processes import CLOUDS, LAUNCH, Stage

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
ALL = sum(FLEET.values())


@pytest.mark.parametrize(("cloud", "offset"), list(zip(cycle(CLOUDS), (0.0, 0.1, 0.3, 0.6), strict=False)))
def test_G1_of_two_applies_at_once_exactly_one_works(cloud: str, offset: float, staged: Staging) -> None:
    stage = staged(cloud, rules=[{"on": LAUNCH[cloud], "answer": "slow", "seconds": 0.5}])
    plan = stage.run("plan", "--out", "plan.json")
    assert plan.code == 0, plan.said
    first = stage.start("apply", "plan.json", "-y")
    time.sleep(offset)
    second = stage.start("apply", "plan.json", "-y")
    codes = {first.wait(), second.wait()}
    assert 0 in codes, first.said + second.said
    assert codes in ({0, 5}, {0, 4}), first.said + second.said
    for child in (first, second):
        if child.code == 5:
            assert "locked" in child.stderr
            assert f"pid {first.pid if child is second else second.pid}" in child.stderr
    assert len(stage.ledger.machines) == ALL
    stage.faults()
    converges(stage, FLEET)


def removed(stage: Stage) -> None:
    shutil.rmtree(stage.directory / ".hcloud")


def emptied(stage: Stage) -> None:
    (stage.directory / ".hcloud" / "state.json").write_bytes(b"")


def without_state(stage: Stage) -> None:
    (stage.directory / ".hcloud" / "state.json").unlink()


def cut_off(stage: Stage) -> None:
    file = stage.directory / ".hcloud" / "state.json"
    file.write_bytes(file.read_bytes()[:-40])


@pytest.mark.parametrize(
    ("cloud", "damage"),
    list(zip(cycle(CLOUDS), (removed, emptied, without_state, cut_off), strict=False)),
    ids=lambda value: getattr(value, "__name__", value),
)
def test_H1_a_state_that_is_gone_while_machines_live_is_never_a_new_beginning(
    cloud: str, damage: object, staged: Staging
) -> None:
    stage = staged(cloud)
    assert stage.run("apply", "-y").code == 0
    before = len(stage.requests(mutating=True))
    assert callable(damage)
    damage(stage)
    plan = stage.run("plan", "--detailed-exitcode")
    assert plan.code not in (0, 2) or "to launch" not in plan.stdout, plan.said
    assert "recover" in plan.said
    apply = stage.run("apply", "-y")
    assert apply.code not in (0, None), apply.said
    destroy = stage.run("destroy", "-y", "--ends", "5")
    assert destroy.code not in (0, None) or damage is removed, destroy.said
    assert len(stage.requests(mutating=True)) == before
    assert len(stage.live()) == ALL
    recover = stage.run("recover", "-y")
    assert recover.code == 0, recover.said
    converges(stage, FLEET)
    assert len(stage.ledger.machines) == ALL


def test_J1_a_plan_is_stale_when_the_cloud_or_the_state_has_moved(staged: Staging) -> None:
    stage = staged("gcp", {"web": 3, "batch": 1})
    assert stage.run("apply", "-y").code == 0
    stage.want(FLEET)
    assert stage.run("plan", "--out", "plan.json").code == 0
    stage.front.edit({"terminate": stage.live()[0].id})
    before = len(stage.requests(mutating=True))
    stale = stage.run("apply", "plan.json", "-y")
    assert stale.code == 4, stale.said
    assert "stale" in stale.stderr
    assert len(stage.requests(mutating=True)) == before


def test_J1_I3_a_plan_that_was_applied_is_stale_and_does_nothing_more(staged: Staging) -> None:
    stage = staged("azure")
    assert stage.run("plan", "--out", "plan.json").code == 0
    assert stage.run("apply", "plan.json", "-y").code == 0
    before = len(stage.requests(mutating=True))
    again = stage.run("apply", "plan.json", "-y")
    assert again.code == 4, again.said
    assert len(stage.requests(mutating=True)) == before
    exact(stage, FLEET)


def test_J2_a_plan_of_which_one_byte_was_altered_is_refused(staged: Staging) -> None:
    stage = staged("aws")
    assert stage.run("plan", "--out", "plan.json").code == 0
    whole = (stage.directory / "plan.json").read_bytes()
    chance = Random("aws")
    places = [i for i, byte in enumerate(whole) if chr(byte).isalnum()]
    for place in chance.sample(places, 3):
        old = chr(whole[place])
        new = chance.choice([c for c in ("0123456789" if old.isdigit() else "abcdefxyz") if c != old])
        (stage.directory / "altered.json").write_bytes(whole[:place] + new.encode() + whole[place + 1 :])
        child = stage.run("apply", "altered.json", "-y")
        assert child.code in (1, 4), f"byte {place} {old} -> {new}: {child.said}"
        assert "Traceback" not in child.said
    assert not stage.requests(mutating=True)
    judge(stage, FLEET)


@every_cloud
def test_J2_a_plan_for_another_account_is_refused(cloud: str, staged: Staging) -> None:
    stage = staged(cloud)
    assert stage.run("plan", "--out", "plan.json").code == 0
    other = moved(stage)
    child = stage.run("apply", "plan.json", "-y")
    assert child.code == 4, child.said
    assert not [r for r in other.ledger.requests if r.mutating]
    assert not Path(stage.directory / ".hcloud" / "state.json").exists()
