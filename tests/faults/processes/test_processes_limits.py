"""I, E. Verbs that only look, limits of what may end, and what happens when a cloud has no machines; real processes."""

from __future__ import annotations

import json

import pytest
from staging import FLEET, Staging
from verdict import converges, exact, judge, launches, planned

from benchmarks.processes import CLOUDS, LAUNCH, TYPES

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
ZONE = {"aws": "us-east-1a", "gcp": "us-central1-a", "azure": "eastus-1"}
LOOKING = (
    ("plan",),
    ("status",),
    ("drift",),
    ("gc",),
    ("state", "list"),
    ("doctor",),
    ("validate",),
    ("commit", "list"),
)


@every_cloud
def test_I6_verbs_that_look_make_no_call_that_changes_anything(cloud: str, staged: Staging) -> None:
    stage = staged(cloud)
    assert stage.run("apply", "-y").code == 0
    stage.want({"web": 5, "batch": 0})
    stage.front.edit({"terminate": stage.live()[0].id})
    before = len(stage.requests(mutating=True))
    for verb in LOOKING:
        child = stage.run(*verb)
        assert child.code is not None
        assert child.code >= 0
        assert child.code == 0 or verb not in LOOKING[:1], child.said
        assert "Traceback" not in child.said
        assert "a bug in hcloud" not in child.said
    assert [r.operation for r in stage.requests(mutating=True)[before:]] == []


def test_I7_the_end_of_everything_needs_its_number(staged: Staging) -> None:
    stage = staged("azure")
    assert stage.run("apply", "-y").code == 0
    before = len(stage.requests(mutating=True))
    for typed in ((), ("--ends", "4"), ("--ends", "6"), ("--ends", "0")):
        stage.want(FLEET)
        child = stage.run("destroy", "-y", *typed)
        assert child.code == 3, child.said
        assert "5" in child.stderr
        stage.want({"web": 0, "batch": 0})
        emptied = stage.run("apply", "-y", *typed)
        assert emptied.code == 3, emptied.said
        assert len(stage.requests(mutating=True)) == before
    stage.want(FLEET)
    exact(stage, FLEET)


def test_I7_nobody_to_ask_means_no(staged: Staging) -> None:
    stage = staged("aws")
    child = stage.run("apply")
    assert child.code == 7, child.said
    assert not stage.requests(mutating=True)


@every_cloud
def test_E2_sold_out_everywhere_ends_in_thirty_seconds_with_what_was_tried(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, rules=[{"on": LAUNCH[cloud], "answer": "no-capacity"}])
    child = stage.run("apply", "-y", seconds=30)
    assert child.code == 8, child.said
    tried = [r for r in stage.requests(mutating=True) if r.operation == LAUNCH[cloud]]
    assert len(tried) <= 2 * 8, "each zone is asked once for each address"
    for address in FLEET:
        assert f"{address}: " in child.stderr
    assert child.stderr.count(ZONE[cloud]) >= len(FLEET)
    assert TYPES[cloud] in child.stderr
    judge(stage, FLEET)
    assert not stage.live()
    stage.faults()
    converges(stage, FLEET)


@every_cloud
def test_E4_what_came_in_part_is_recorded_and_the_next_run_asks_for_the_rest(cloud: str, staged: Staging) -> None:
    fleet = {"web": 10}
    stage = staged(cloud, fleet, stock={"*": 0, f"{TYPES[cloud]}@{ZONE[cloud]}": 6})
    child = stage.run("apply", "-y", "--json")
    assert child.code == 6, child.said
    document = json.loads(child.stdout)
    assert document["result"] == "partial"
    assert len(document["launched"]) == 6
    assert [(m["address"], m["missing"]) for m in document["missing"]] == [("web", 4)]
    judge(stage, fleet)
    assert len(stage.live()) == 6
    stage.faults()
    assert planned(stage) == {"web": 4}
    converges(stage, fleet)
    assert len(stage.ledger.machines) == 10


@every_cloud
def test_a_plan_of_nothing_launches_nothing(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, {"web": 0})
    assert launches(stage.run("plan", "--json")) == {}
    assert stage.run("apply", "-y").code == 0
    assert not stage.ledger.machines
