"""For tests with real processes: one parent that has the SDKs loaded, and fakes that listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from quick_starts import by_way_of

from benchmarks.children import Forker, Job
from benchmarks.processes import CLOUDS, Stage, fresh
from hcloud.fake.faults import FaultPlan
from hcloud.fake.server import FakeServer

FLEET = {"web": 3, "batch": 2}
Staging = Callable[..., Stage]

_warm: set[str] = set()


@pytest.fixture(scope="session")
def forker(loaded: Path | None) -> Iterator[Forker]:
    """The process that every child is forked from, a fork of the loaded one."""
    with Forker(CLOUDS, by_way_of(loaded)) as found:
        yield found
    _warm.clear()


def warm(forker: Forker, cloud: str, folder: Path) -> None:
    """Once in the parent, so that no child begins with empty caches."""
    with FakeServer(fresh(cloud, FaultPlan())) as running:
        made = Stage(running, folder / f"warm-{cloud}", forker, FLEET)
        done = forker.warm(Job(["apply", "-y"], made.environment(), made.directory))
        assert done.code == 0, done.said


@pytest.fixture
def staged(forker: Forker, tmp_path: Path) -> Iterator[Staging]:
    """Makes a stage on a fake cloud under a fault plan."""
    with ExitStack() as stack:

        def stage(cloud: str, fleet: Mapping[str, int] = FLEET, **plan: object) -> Stage:
            if cloud not in _warm:
                _warm.add(cloud)
                warm(forker, cloud, tmp_path)
            running = stack.enter_context(FakeServer(fresh(cloud, FaultPlan.model_validate(plan))))
            number = len(list(tmp_path.glob("stage-*")))
            return Stage(running, tmp_path / f"stage-{number}", forker, fleet)

        yield stage
