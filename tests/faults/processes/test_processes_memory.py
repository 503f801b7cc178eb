"""A9. Memory that runs out in the middle of an apply: real processes whose address space may not grow any more."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from staging import FLEET, Staging
from verdict import converges, exact, judge

from benchmarks.children import Child
from benchmarks.processes import CLOUDS, LAUNCH
from hcloud.model.holdings.state import Intent

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
MIB = 1 << 20
SLOW_SECONDS = 0.3


def bounded(child: Child, more_bytes: int) -> None:
    """From now on the process may have so much more address space than it has; the soft limit, as ``ulimit`` sets."""
    pages = int(Path(f"/proc/{child.pid}/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + more_bytes
    resource.prlimit(child.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


@pytest.mark.parametrize(("cloud", "more"), [("aws", 0), ("aws", 72), ("gcp", 16), ("azure", 16)])
def test_A9_an_apply_without_memory_is_refused_or_ended_and_loses_nothing(
    cloud: str, more: int, staged: Staging
) -> None:
    stage = staged(cloud)
    child = stage.start("apply", "-y")
    bounded(child, more * MIB)
    code = child.wait()
    if code == 0:
        assert more > 16, "it was to lack memory"
        exact(stage, FLEET)
    else:
        assert "memory that hcloud may use ran out" in child.stderr, child.said
        judge(stage, FLEET)
    converges(stage, FLEET)
    assert len(stage.ledger.machines) == sum(FLEET.values())


@every_cloud
def test_A9_memory_that_runs_out_while_an_order_is_under_way_loses_nothing(cloud: str, staged: Staging) -> None:
    stage = staged(cloud, rules=[{"on": LAUNCH[cloud], "answer": "slow", "seconds": SLOW_SECONDS}])
    child = stage.start("apply", "-y")
    assert stage.front.ordered.wait(60)
    bounded(child, -64 * MIB)
    code = child.wait()
    stage.front.settle()
    if code == 0:  # what it had was enough
        exact(stage, FLEET)
    else:
        assert code in (1, 6), child.said
        assert "memory that hcloud may use ran out" in child.said, child.said
    judge(stage, FLEET)
    assert any(isinstance(e, Intent) for e in stage.entries()), "what was asked for is in the journal"
    stage.faults()
    converges(stage, FLEET)
    assert len(stage.ledger.machines) == sum(FLEET.values())
