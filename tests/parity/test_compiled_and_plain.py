"""The compiled kernels and the same functions as plain Python write the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from simulating import changed, excerpt, setting_of, tasks_in, with_spot, world_of

from hcloud.control.session import Session
from hcloud.model.decision import Decision
from hcloud.readers.strategies import load_strategy
from hcloud.sim.compiled import ENTRIES, compiled, plain
from hcloud.sim.run import run
from hcloud.sim.world import World
from hcloud.usecases.journal import Reading, setup_of_run

STRATEGIES = {
    "SR": (load_strategy("SR"), 15),
    "OdF": (load_strategy("OdF"), 0),
    "OdM": (load_strategy("OdM"), 0),
    "HF": (load_strategy("HF"), 6),
    "HM": (load_strategy("HM"), 6),
    "HM with spot": (with_spot(load_strategy("HM"), 0.6), 3),
    "SR first fit, short of servers": (changed(load_strategy("SR"), "placement", order="first-fit"), 4),
}


def contents(world: World) -> dict[str, bytes]:
    control = world.control
    tables = {
        "tasks": world.tasks, "rentals": world.rentals, "lines": world.lines, "hosts": world.hosts,
        "servers": control.servers, "jobs": control.jobs, "windows": control.windows, "waits": control.waits,
    }  # fmt: skip
    arrays = {name: np.asarray(rows).tobytes() for name, rows in tables.items()}
    return {
        **arrays,
        "series": world.series.tobytes(),
        "heat": world.heat.tobytes(),
        "tally": str(world.tally).encode(),
    }


@pytest.mark.parametrize("name", STRATEGIES)
def test_M1_both_write_the_same_bytes(name: str) -> None:
    strategy, pool = STRATEGIES[name]
    setting = setting_of(strategy, pool)
    tasks = tasks_in(setting, excerpt(240))
    worlds = []
    for kernels in (plain(), compiled()):
        world = world_of(setting, tasks)
        assert kernels["sim.engine.simulate"](world, len(tasks) + 1)
        worlds.append(contents(world))
    assert worlds[0].keys() == worlds[1].keys()
    for table in worlds[0]:
        assert worlds[0][table] == worlds[1][table], table


def test_compiled_kernels_go_on_where_plain_python_stopped() -> None:
    """The engine is compiled while plain Python begins: who did which part does not show."""
    strategy, pool = STRATEGIES["HM"]
    setting = setting_of(strategy, pool)
    tasks = tasks_in(setting, excerpt(240))
    whole, parts = world_of(setting, tasks), world_of(setting, tasks)
    engine = compiled()["sim.engine.simulate"]
    assert engine(whole, len(tasks) + 1)
    assert not plain()["sim.engine.simulate"](parts, 90)
    assert engine(parts, len(tasks) + 1)
    assert contents(whole) == contents(parts)


def test_entries_are_loaded_with_all_that_they_call() -> None:
    """What another process compiled for the annotated types is what a run asks for: nothing is compiled here."""
    setting = setting_of(*STRATEGIES["HM with spot"])
    tasks = tasks_in(setting, excerpt(60))
    outcome = run(setting, tasks, journal=True)
    setup, kernels = setup_of_run(outcome), compiled()
    assert kernels["sim.engine.simulate"](world_of(setting, tasks), len(tasks) + 1)
    session = Session(setup, kernels)
    for event in Reading(outcome, setup).entries():
        if not isinstance(event, Decision):
            session.handle(event)
    missed = {name: dict(kernels[name].stats.cache_misses) for names in ENTRIES.values() for name in names}
    assert not any(missed.values()), missed
    used = {name for name, kernel in kernels.items() if kernel.signatures}
    assert used <= {name for names in ENTRIES.values() for name in names}
