"""A1, A2 and A8 with the real store: crash at every point of the run and of every file it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracle import ours
from rehearsal import CLOUDS, LINEAGE, Crasher, crashing

from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.live.applying.apply import apply, destroy, ends_of_all
from hcloud.live.applying.crash_points import NAMES
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.applying.outcome import ApplyOutcome
from hcloud.live.observe import observe
from hcloud.live.site import Site
from hcloud.model.holdings.change import Slot
from hcloud.model.holdings.state import State
from hcloud.planning.changes.diff import changes
from hcloud.store.states.remembered import FileStateStore

MOST_POINTS = 400


def process(cloud: MemoryCloud, place: Path, crasher: Crasher) -> Site:
    """A process of its own: nothing is shared with the one before but the cloud and the directory."""
    store = FileStateStore(place, crasher)
    beginning = State(LINEAGE, project="rehearsal")
    return Site(cloud, store, cloud.clock, crash=crasher, beginning=beginning, workers=1)


def applied(cloud: MemoryCloud, place: Path, slot: Slot, crasher: Crasher) -> ApplyOutcome:
    site = process(cloud, place, crasher)
    return apply(site, changes([slot], observe(site)))


def destroyed(cloud: MemoryCloud, place: Path, crasher: Crasher) -> ApplyOutcome:
    site = process(cloud, place, crasher)
    found = ends_of_all(site)
    return destroy(site, found, ChangeApproval(ends=len(found.going)))


@pytest.mark.parametrize("name", CLOUDS)
def test_A1_A2_a_crash_at_any_point_of_any_file_loses_and_doubles_nothing(name: str, tmp_path: Path) -> None:
    """At every third point, on each cloud at others: what a file goes through does not depend on the cloud."""
    hit: set[str] = set()
    for at in range(1 + CLOUDS.index(name), MOST_POINTS, len(CLOUDS)):
        cloud, place = MemoryCloud(name), tmp_path / f"run-{at}"
        there = cloud.world.semantics
        slot = Slot("web", there.types[0], there.zones, 3, MemoryCloud(name).world.on_demand(there.types[0]))
        first = Crasher(at)
        with crashing():
            applied(cloud, place, slot, first)
        again = applied(cloud, place, slot, Crasher())
        assert again.exit_code == 0, again
        assert len(cloud.ledger.machines) == len(ours(cloud, LINEAGE)) == 3
        second = Crasher(at)
        with crashing():
            destroyed(cloud, place, second)
        assert destroyed(cloud, place, Crasher()).exit_code == 0
        assert not ours(cloud, LINEAGE)
        hit |= {*first.names, *second.names}
        if not first.struck and not second.struck:
            assert hit >= NAMES
            return
    raise AssertionError("the sweep never ran through")
