"""A. Crashes and signals of real processes, on the real SDKs, judged by the ledger behind the socket."""

from __future__ import annotations

import resource
import signal

import oracle
import pytest
from staging import FLEET, Staging
from verdict import by_address, converges, destroy, exact, judge, planned, settled

from benchmarks.children import Child
from benchmarks.processes import CLOUDS, TYPES, Fate, Mark, Stage
from hcloud.live.applying.crash_points import POINTS, RUN_BEGUN
from hcloud.model.holdings.state import Deed
from hcloud.planning.changes.recall import unresolved
from hcloud.store.files.crash import KILLED_EXIT

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
POLL_SECONDS = 0.02


def started(stage: Stage, fate: Fate) -> tuple[Child, Mark]:
    """An apply whose first order is on its way."""
    mark = stage.front.mark(Mark(0, fate, of_order=True))
    child = stage.start("apply", "-y")
    assert mark.reached.wait(60), child.said
    return child, mark


def interrupted(child: Child, number: int) -> None:
    """Send it a signal, and wait until it has heard it."""
    child.send(number)
    while "finishing current requests" not in child.stderr and not child.over.wait(POLL_SECONDS):
        pass


def points_of(deed: Deed, cloud: str) -> list[str]:
    """Two a cloud: every one on every cloud is in ``answers/test_over_the_wire.py``."""
    p = POINTS[deed]
    return {"aws": [p.noted, p.trimmed], "gcp": [RUN_BEGUN, p.answered], "azure": [p.concluded, p.saved]}[cloud]


@every_cloud
def test_A1_a_process_that_ends_at_any_point_of_apply_loses_and_doubles_nothing(cloud: str, staged: Staging) -> None:
    for point in points_of(Deed.LAUNCH, cloud):
        stage = staged(cloud)
        assert stage.run("apply", "-y", HYC_CRASH_AT=point).code == KILLED_EXIT, point
        judge(stage, FLEET)
        converges(stage, FLEET)
        settled(stage)
        assert len(stage.ledger.machines) == sum(FLEET.values()), f"{point}: more were made than planned"


@every_cloud
def test_A2_a_process_that_ends_at_any_point_of_destroy_leaves_nothing(cloud: str, staged: Staging) -> None:
    for point in points_of(Deed.TERMINATE, cloud):
        stage = staged(cloud)
        stage.front.edit({"launch": TYPES[cloud], "tags": {"team": "other"}})
        strangers = oracle.foreign(stage.front, "")
        assert stage.run("apply", "-y").code == 0
        assert stage.run("destroy", "-y", "--ends", "5", HYC_CRASH_AT=point).code == KILLED_EXIT, point
        judge(stage, FLEET)
        left = destroy(stage)
        assert left.code == 0, f"{point}: {left.said}"
        assert not stage.live()
        oracle.v3_foreign_is_untouched(stage.front, "", strangers)
        exact(stage, {})


@pytest.mark.parametrize(
    ("cloud", "number", "code"), [*((cloud, signal.SIGINT, 130) for cloud in CLOUDS), ("aws", signal.SIGTERM, 143)]
)
def test_A4_one_signal_ends_cleanly_and_the_next_plan_asks_for_the_rest(
    cloud: str, number: int, code: int, staged: Staging
) -> None:
    fleet = dict.fromkeys("abcdef", 1)
    stage = staged(cloud, fleet)
    child, mark = started(stage, Fate.HELD)
    interrupted(child, number)
    mark.let_go.set()
    assert child.wait() == code, child.said
    judge(stage, fleet)
    there = by_address(stage)
    assert there, "what was under way was waited for"
    assert planned(stage) == {a: 1 for a in fleet if a not in there}
    state = stage.state()
    assert state is not None
    assert {r.id for r in state.records} == {m.id for m in stage.live()}, "everything under way was noted"
    converges(stage, fleet)
    assert len(stage.ledger.machines) == len(fleet)


@every_cloud
def test_A5_the_second_signal_stops_before_the_answer_and_says_what_is_open(cloud: str, staged: Staging) -> None:
    stage = staged(cloud)
    child, mark = started(stage, Fate.LATE)
    interrupted(child, signal.SIGINT)
    child.send(signal.SIGINT)
    assert child.wait(20) == 130, "it does not wait for the answer"
    assert "journal" in child.stderr
    assert unresolved(stage.entries()), "what was asked for is in the journal"
    converges(stage, FLEET)
    mark.let_go.set()  # the first order, still on its way, arrives now
    stage.front.settle()
    exact(stage, FLEET)
    assert len(stage.ledger.machines) == sum(FLEET.values())


@pytest.mark.parametrize(
    ("cloud", "most_bytes"), [*(("aws", n) for n in (0, 60, 200, 450, 700, 1000, 1400)), ("gcp", 700), ("azure", 700)]
)
def test_A6_nothing_is_asked_of_a_cloud_when_the_intent_cannot_be_made_to_last(
    cloud: str, most_bytes: int, staged: Staging
) -> None:
    """Its files may get that long, from its first request on."""
    stage = staged(cloud)
    mark = stage.front.mark(Mark(0, Fate.LATE))
    child = stage.start("apply", "-y")
    assert mark.reached.wait(60), child.said
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    mark.let_go.set()
    assert child.wait() > 0, child.said
    assert "Traceback" not in child.stderr
    judge(stage, FLEET)
    if not stage.entries():
        assert not stage.requests(mutating=True)
    converges(stage, FLEET)
    assert len(stage.ledger.machines) == sum(FLEET.values())
