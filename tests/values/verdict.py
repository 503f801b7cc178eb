"""Judging real processes: the oracle's invariants on the files that hcloud left and on the ledger behind the socket."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import oracle
from memory_store import MemoryDisk

from benchmarks.children import Child
from benchmarks.processes import Stage
from hcloud.model.holdings.live import TAG_ADDRESS
from hcloud.planning.changes.recall import unresolved

FAULT_FREE_CALLS = 14
"""Requests of an apply of two addresses where nothing goes wrong, of the cloud that needs most."""


def disk_of(stage: Stage) -> MemoryDisk:
    """What the files say; V6 is that they can be read at all."""
    return MemoryDisk(stage.state(), list(stage.entries()))


def judge(stage: Stage, most: Mapping[str, int]) -> None:
    """What holds at any moment, after any kill."""
    disk = disk_of(stage)
    oracle.v6_disk_is_readable(disk)
    lineage = disk.state.lineage if disk.state else ""
    if not lineage:
        assert not stage.live(), "V1: machines, and no state at all"
        return
    oracle.v1_nothing_is_orphaned(stage.front, disk, lineage)
    oracle.v2_nothing_is_doubled(stage.front, lineage, most)
    oracle.nothing_asked_before_it_was_noted(stage.front, disk, lineage)
    assert len(stage.live()) == len(oracle.ours(stage.front, lineage)), "V1: machines of ours under another lineage"
    assert not oracle.untagged_of_ours(stage.front)


def exact(stage: Stage, fleet: Mapping[str, int]) -> None:
    """V1, V2 and V4 after a run that says it converged: exactly the fleet lives, once recorded, nothing open."""
    judge(stage, fleet)
    disk = disk_of(stage)
    recorded = sorted(r.id for r in disk.state.records if not r.ending) if disk.state else []
    assert recorded == sorted(m.id for m in stage.live()), "V1: records and machines differ"
    assert by_address(stage) == {a: n for a, n in fleet.items() if n}
    assert not unresolved(disk.entries), "V5: exit 0 with an open intent"


def converges(stage: Stage, fleet: Mapping[str, int]) -> None:
    """V4 and V8: one run without faults reaches the plan in few requests."""
    before = len(stage.requests())
    done = stage.run("apply", "-y")
    assert done.code == 0, done.said
    oracle.v8_calls_are_bounded(len(stage.requests()) - before, FAULT_FREE_CALLS)
    exact(stage, fleet)


def settled(stage: Stage) -> None:
    """The next plan is empty."""
    looked = stage.run("plan", "--detailed-exitcode")
    assert looked.code == 0, looked.said


def destroy(stage: Stage) -> Child:
    """End everything, with the number typed that hcloud says it is."""
    refused = stage.run("destroy", "-y")
    named = re.search(r"state their number: (\d+)", refused.stderr)
    return stage.run("destroy", "-y", "--ends", named[1]) if named else refused


def by_address(stage: Stage) -> dict[str, int]:
    """Live machines, counted."""
    found: dict[str, int] = {}
    for machine in stage.live():
        address = machine.tags[TAG_ADDRESS]
        found[address] = found.get(address, 0) + 1
    return found


def planned(stage: Stage) -> dict[str, int]:
    """What the next plan would launch by address; V3 and V5: a plan changes nothing."""
    before = len(stage.requests(mutating=True))
    child = stage.run("plan", "--json")
    assert child.code == 0, child.said
    assert len(stage.requests(mutating=True)) == before
    return launches(child)


def launches(child: Child) -> dict[str, int]:
    """The machines that a plan printed as JSON would launch."""
    document: Any = json.loads(child.stdout)
    found: dict[str, int] = {}
    for change in document["changes"]:
        if change["count"]:
            found[change["address"]] = found.get(change["address"], 0) + change["count"]
    return found
