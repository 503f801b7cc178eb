"""For tests with real processes: one parent that has the SDKs loaded, and fakes that listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.children import Forker, Job
from benchmarks.processes import CLOUDS, Stage, fresh
from hcloud.fake.faults import FaultPlan, Faults
from hcloud.fake.server import FakeServer

FLEET = {"web": 3, "batch": 2}
Staging = Callable[..., Stage]

_warm: set[str] = set()


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    """The process that every child is forked from."""
    with Forker(CLOUDS) as found:
        yield found
    _warm.clear()


@pytest.fixture
def staged(forker: Forker, tmp_path: Path) -> Iterator[Staging]:
    """Makes a stage on a fake cloud under a fault plan."""
    with ExitStack() as stack:

        def stage(cloud: str, fleet: Mapping[str, int] = FLEET, **plan: object) -> Stage:
            faults = FaultPlan.model_validate(plan)
            running = stack.enter_context(FakeServer(fresh(cloud, faults)))
            number = len(list(tmp_path.glob("stage-*")))
            made = Stage(running, tmp_path / f"stage-{number}", forker, fleet)
            if cloud not in _warm:
                _warm.add(cloud)
                forker.warm(Job(["plan"], made.environment(), made.directory))
                with made.ledger.held():
                    made.ledger.requests.clear()
                # faults count none of the requests that warmed
                made.front.faults = Faults(faults, made.front.clock.now())
            return made

        yield stage
