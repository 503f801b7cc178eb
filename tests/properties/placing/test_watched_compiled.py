"""Compiled kernels and plain Python write the same bytes where jobs are watched, have phases or wait in several queues:
those of a group of their own, which knows what all others leave out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from following import waiting
from from_the_front import refusing
from simulating import changed, excerpt, tasks_in, was_roomy, world_of
from test_measured_apart import apart
from test_stragglers import pressed
from test_watching import PHASED, ground, with_phases
from test_written_back import off, stream_of_jobs, taught

from hcloud.sim.kernels.world import SimulatedWorld
from hcloud.sim.machine_code.compiled import SIMULATE, compiled, plain
from hcloud.sim.machine_code.objects import as_objects, write_back
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.prepare import Tasks

Ground = tuple[Setting, Tasks]
FAULTS = ("cloud.faults.lost_per_hour=0.5", "cloud.faults.cancelled=0.1")


@pytest.fixture(scope="module", autouse=True)
def _made() -> None:
    compiled()


def mixed(name: str, pool: int, *changes: str, count: int = 70, **keys: bool) -> Ground:
    """Jobs of which every fourth is best effort, in a cloud where half of them change."""
    setting = ground(name, pool, PHASED, *changes, **({"sampling_period": 60.0} | keys))
    tasks = tasks_in(setting, excerpt(count))
    return setting, replace(tasks, spare=(np.arange(len(tasks)) % 4 == 0).astype(np.int64))


def on_empty_servers() -> Ground:
    setting, tasks = mixed("SR+requested+sampled", 24)
    return replace(setting, strategy=apart(setting.strategy)), tasks


def written_back(name: str) -> Ground:
    setting = off(taught(name, 8, "cloud.phases.share=0.3"), 0.4)
    return setting, tasks_in(setting, stream_of_jobs(1))


def services(name: str, pool: int) -> Ground:
    """Services that outgrow their servers, of an application that scales out badly, where machines are lost."""
    setting = ground(name, pool, *FAULTS)
    tasks = tasks_in(setting, excerpt(30))
    tasks = replace(tasks, service=np.ones_like(tasks.service), out=np.arange(len(tasks)) % 2)
    phased = with_phases(tasks, *((at, 0.2, 2.0 + at % 7, 1.2) for at in range(len(tasks))))
    return setting, replace(phased, together=np.vstack([np.ones(100), np.linspace(1.0, 0.5, 100)]))


def lagging(way: str) -> Ground:
    outcome = pressed(way)
    return outcome.setting, outcome.tasks


def queued(name: str, **keys: str | float) -> Ground:
    setting, tasks = mixed(name, 4, count=90)
    keys = {"classes": 3, "least_jobs": 20, "refit_jobs": 8, "promise": 0.8, **keys}
    return replace(setting, strategy=changed(setting.strategy, "queueing", **keys)), tasks


def fitted(name: str) -> Ground:
    """Jobs that come one after the other, so that distributions (here gamma and Weibull) are fitted to how long they
    keep a server."""
    setting, tasks = queued(name, classes=2)
    comes = np.arange(len(tasks), dtype=np.float64) * 4
    work = np.random.default_rng(1).gamma(3.0, 60.0, len(tasks))
    return setting, replace(tasks, submit=comes, decide=comes + 0.07, work=work)


def following(name: str, *changes: str) -> Ground:
    """Jobs that wait for each other, in a cloud where half of them change."""
    setting = ground(name, 8, PHASED, *changes)
    return setting, tasks_in(setting, waiting(excerpt(90)))


WAYS: dict[str, tuple[str, Callable[[], Ground]]] = {
    "reactive": ("isolated", lambda: mixed("SR+requested+reactive", 8)),
    "on empty servers": ("apart", on_empty_servers),
    "adjusted, faults": ("enlarged", lambda: mixed("HM+requested+adjust-to-target", 6, *FAULTS)),
    "adjusted, several queues": ("shrunk", lambda: mixed("SR+paragon+multi-class+adjust-to-target", 8)),
    "waiting, faults": ("enlarged", lambda: following("SR+paragon+multi-class+adjust-to-target", *FAULTS)),
    "closed": ("shut", lambda: mixed("SR+tarcil+reactive", 6, closes_server=True)),
    "offered": ("enlarged", lambda: mixed("SR+requested+two-level", 8)),
    "enlarged": ("moved", lambda: mixed("SR+requested", 8)),
    "written back": ("resized", lambda: written_back("SR+target+adjust-to-target")),
    "written back, rented": ("resized", lambda: written_back("HM+target+adjust-to-target")),
    "servers of services": ("added", lambda: services("SR+adjust-to-target", 10)),
    "autoscaled": ("added", lambda: services("SR+paragon+autoscale", 10)),
    "autoscaled, rented": ("dropped", lambda: services("OdM+autoscale", 0)),
    **{f"lagging, {way}": ("overtook", partial(lagging, way)) for way in ("reclassified", "hadoop", "late")},
    "queues": ("moved", lambda: queued("SR+least-loaded+multi-class")),
    "queues, fitted": ("moved", lambda: fitted("SR+least-loaded+multi-class")),
    "queues, printed": ("moved", lambda: queued("SR+paragon+multi-class", objective="printed", edges="equal")),
    "queues, shortest first": ("moved", lambda: queued("SR+least-loaded+multi-class", order="shortest-first")),
}


def contents(world: SimulatedWorld) -> dict[str, bytes]:
    tables = {**world._asdict(), **{f"control.{name}": rows for name, rows in world.control._asdict().items()}}
    return {name: np.asarray(rows).tobytes() for name, rows in tables.items() if name != "control"}


@pytest.mark.parametrize("way", WAYS)
def test_both_write_the_same_bytes(way: str) -> None:
    step, ground_of = WAYS[way]
    setting, tasks = ground_of()
    one, other = (world_of(setting, tasks, 256) for _ in range(2))
    assert compiled()[SIMULATE](one, len(tasks) + 1)
    assert getattr(one.tally, step) > 0
    objects = refusing(as_objects(other))
    assert plain()[SIMULATE](objects, len(tasks) + 1)
    write_back(objects, other)
    first, second = contents(one), contents(other)
    assert was_roomy(one)
    assert [name for name in first if first[name] != second[name]] == []
