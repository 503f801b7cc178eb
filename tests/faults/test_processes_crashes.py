"""A. Crashes and signals of real processes, on the real SDKs, judged by the ledger behind the socket."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import oracle
import pytest
from staging import FLEET, Staging
from verdict import by_address, converges, destroy, exact, judge, planned

from benchmarks.children import ROOT
from benchmarks.processes import CLOUDS, LAUNCH, TYPES
from hcloud.live.crash_points import POINTS, RUN_BEGUN
from hcloud.model.state import Deed
from hcloud.planning.recall import unresolved
from hcloud.store.crash import KILLED_EXIT

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
SLOW_SECONDS = 0.8


def points_of(deed: Deed) -> list[str]:
    p = POINTS[deed]
    return [RUN_BEGUN, p.begun, p.noted, p.answered, p.concluded, p.saved, p.trimmed]


@every_cloud
def test_A1_a_process_that_ends_at_any_point_of_apply_loses_and_doubles_nothing(cloud: str, staged: Staging) -> None:
    for point in points_of(Deed.LAUNCH):
        stage = staged(cloud)
        assert stage.run("apply", "-y", HYC_CRASH_AT=point).code == KILLED_EXIT, point
        judge(stage, FLEET)
        converges(stage, FLEET)
        assert len(stage.ledger.machines) == sum(FLEET.values()), f"{point}: more were made than planned"


@every_cloud
def test_A2_a_process_that_ends_at_any_point_of_destroy_leaves_nothing(cloud: str, staged: Staging) -> None:
    for point in points_of(Deed.TERMINATE):
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
        stage.want({"web": 0})
        converges(stage, {"web": 0})


@every_cloud
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_A4_one_signal_ends_cleanly_and_the_next_plan_asks_for_the_rest(
    cloud: str, number: int, code: int, staged: Staging
) -> None:
    fleet = dict.fromkeys("abcdef", 1)
    stage = staged(cloud, fleet, rules=[{"on": LAUNCH[cloud], "answer": "slow", "seconds": SLOW_SECONDS}])
    child = stage.start("apply", "-y")
    assert stage.front.ordered.wait(30)
    child.send(number)
    assert child.wait() == code, child.said
    stage.faults()
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
def test_A5_the_second_signal_stops_within_two_seconds_and_says_what_is_open(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, rules=[{"on": LAUNCH[cloud], "answer": "slow", "seconds": 4}])
    child = stage.start("apply", "-y")
    assert stage.front.ordered.wait(30)
    child.send(signal.SIGINT)
    time.sleep(0.3)
    child.send(signal.SIGINT)
    started = time.monotonic()
    assert child.wait(10) == 130
    assert time.monotonic() - started < 2
    assert "journal" in child.stderr
    assert unresolved(stage.entries()), "what was asked for is in the journal"
    stage.faults()
    converges(stage, FLEET)
    time.sleep(4.5)  # the first order, still on its way, arrives now
    exact(stage, FLEET)
    assert len(stage.ledger.machines) == sum(FLEET.values())


LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["hcloud", "apply", "-y"]
runpy.run_module("hcloud", run_name="__main__")
"""


@pytest.mark.parametrize(
    ("cloud", "most_bytes"), [*(("aws", n) for n in (0, 60, 200, 450, 700, 1000, 1400)), ("gcp", 700), ("azure", 700)]
)
def test_A6_nothing_is_asked_of_a_cloud_when_the_intent_cannot_be_made_to_last(
    cloud: str, most_bytes: int, staged: Staging
) -> None:
    stage = staged(cloud)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(most_bytes)],
        cwd=stage.directory,
        env=stage.environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode not in (0, None), done.stdout
    assert b"Traceback" not in done.stderr
    judge(stage, FLEET)
    if not stage.entries():
        assert not stage.requests(mutating=True)
    converges(stage, FLEET)
    assert len(stage.ledger.machines) == sum(FLEET.values())


@every_cloud
def test_G2_after_a_killed_holder_of_the_lock_the_next_run_takes_over(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, rules=[{"on": LAUNCH[cloud], "answer": "slow", "seconds": SLOW_SECONDS}])
    child = stage.start("apply", "-y")
    assert stage.front.ordered.wait(30)
    child.send(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    judge(stage, FLEET)
    stage.faults()
    converges(stage, FLEET)
    assert len(stage.ledger.machines) == sum(FLEET.values())
