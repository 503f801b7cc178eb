"""The compiled kernels and the same functions as plain Python write the same bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from following import waiting
from from_the_front import refusing
from pieces import several, with_keys
from simulating import changed, crashing, excerpt, hasty, setting_of, tasks_in, was_roomy, with_spot, world_of

from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import Failed
from hcloud.model.running.strategy import Value
from hcloud.model.workload import Jobs
from hcloud.policy.codes import AS_BEFORE
from hcloud.readers.strategies import load_strategy, part_names
from hcloud.sim.kernels.world import SimulatedWorld
from hcloud.sim.machine_code.compiled import SIMULATE, compiled, is_first_use, plain
from hcloud.sim.machine_code.objects import as_objects, write_back
from hcloud.sim.run import run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.resumed import some_tasks
from hcloud.sim.setup.variation import parse_axis, varied_strategy
from hcloud.usecases.harvesting.played import as_before
from hcloud.usecases.studies.journal import JournalReader, journal_entries, setup_of_run

KEYS: tuple[tuple[str, dict[str, Value]], ...] = (
    ("paragon-sampled", {"draw": "hash", "candidates": 2}),
    ("paragon-sampled", {"profile_above": 10_000.0}),
    ("paragon", {"profile_above": 10_000.0}),
    ("tarcil", {"quality": 0.6, "miss": 0.05, "over": "all"}),
    ("least-loaded", {"overcommit_memory": True}),
)
"""Keys that are off by default, by placement."""
OFFERED = "two-level"
"""Compiled with watched runs: test_watched_compiled has it."""
STRATEGIES = {
    "SR": (load_strategy("SR"), 8),
    "OdF": (load_strategy("OdF"), 0),
    "OdM": (load_strategy("OdM"), 0),
    "HF": (load_strategy("HF"), 3),
    "HM": (load_strategy("HM"), 6),
    "HM with spot": (with_spot(load_strategy("HM"), 0.6), 2),
    "SR first fit, short of servers": (changed(load_strategy("SR"), "placement", order="first-fit"), 2),
    **{f"SR+{name}": (load_strategy(f"SR+{name}"), 3) for name in part_names("placement")[1:] if name != OFFERED},
    "SR+tarcil-admission": (load_strategy("SR+tarcil-admission"), 5),
    "SR+tarcil, late": (hasty(load_strategy("SR+tarcil")), 5),
    **{
        f"SR+{name}, {', '.join(keys)}": (
            changed(load_strategy(f"SR+{name}"), "placement", **keys),
            4 if "draw" in keys else 2,
        )
        for name, keys in KEYS
    },
    **{f"HM+{name}": (load_strategy(f"HM+{name}"), 2) for name in ("paragon", "tarcil", "no-heterogeneity")},
    "P1, nothing reserved": (varied_strategy(load_strategy("HM"), parse_axis("mapping=P1")), 0),
    "HM, several servers": (load_strategy("HM"), 4),
    "SR+tarcil, several servers, late": (hasty(load_strategy("SR+tarcil")), 12),
    "SR+paragon, several servers": (
        with_keys(load_strategy("SR+paragon"), "placement.rack_servers=2", "placement.locality=spread-racks"),
        12,
    ),
}


CROWDED = ("HM", "SR+tarcil-admission", "SR+tarcil, late", "SR+paragon-sampled, draw, candidates")
"""Only a full reserve, many waits and many agents meet all that these have kernels for."""


def jobs_for(name: str) -> Jobs:
    """Every second one of the first jobs, for a reserve of half of what all want; all of them where a crowd counts."""
    return several(90) if "several servers" in name else excerpt(180) if name in CROWDED else excerpt(80, each=2)


def contents(world: SimulatedWorld) -> dict[str, bytes]:
    assert was_roomy(world)
    control = world.control
    tables = {
        "tasks": world.tasks, "rentals": world.rentals, "lines": world.lines, "hosts": world.hosts,
        "servers": control.servers, "jobs": control.jobs, "windows": control.windows, "waits": control.waits,
        "events": world.events, "followed": control.followed, "shelves": control.shelves, "blocks": control.blocks,
        "commands": control.commands, "rosters": control.rosters, "candidates": control.candidates,
        "ring": control.ring, "ringed": control.ringed, "stages": world.stages,
    }  # fmt: skip
    arrays = {name: np.asarray(rows).tobytes() for name, rows in tables.items()}
    return {
        **arrays,
        "series": world.series.tobytes(),
        "heat": world.heat.tobytes(),
        "active": world.active.tobytes(),
        "tally": np.array(world.tally).tobytes(),
        "desk": np.array(control.desk).tobytes(),
    }


def on_objects(world: SimulatedWorld, until: int) -> bool:
    """Simulate as plain Python does: on a copy of the tables as objects, which take no index below zero here."""
    objects = refusing(as_objects(world))
    done: bool = plain()[SIMULATE](objects, until)
    write_back(objects, world)
    return done


@pytest.mark.parametrize("name", STRATEGIES)
def test_M1_both_write_the_same_bytes(name: str) -> None:
    strategy, pool = STRATEGIES[name]
    setting = setting_of(strategy, pool)
    setting = crashing(setting, 120.0, 0.2) if name.endswith("late") else setting
    tasks = tasks_in(setting, jobs_for(name))
    check_both(setting, tasks)


def check_both(setting: Setting, tasks: Tasks) -> None:
    worlds = []
    for simulate in (on_objects, compiled()[SIMULATE]):
        world = world_of(setting, tasks)
        assert simulate(world, len(tasks) + 1)
        worlds.append(contents(world))
    assert worlds[0].keys() == worlds[1].keys()
    for table in worlds[0]:
        assert worlds[0][table] == worlds[1][table], table


@pytest.mark.parametrize("name", ["HM", "HF", "HC"])
def test_both_write_the_same_bytes_where_jobs_go_as_they_went_before(name: str) -> None:
    """What idle hours do not carry, later and in part where it moves."""
    setting = setting_of(load_strategy(name), 4)
    tasks = as_before(run(setting, tasks_in(setting, excerpt(120, each=2))))
    keep = np.arange(int(tasks.job.max()) + 1) % 3 > 0
    later = np.where(np.arange(len(keep)) % 7 == 0, 600.0, 0.0)
    left = some_tasks(tasks, keep, later, np.where(later > 0, 0.5, 1.0))
    reasons = run(setting, left).of_tasks("reason")
    assert (reasons == AS_BEFORE).any(), "some are decided otherwise than they would be now"
    check_both(setting, left)


def test_kernels_read_objects_as_they_read_tables() -> None:
    setting = setting_of(*STRATEGIES["HM with spot"])
    tasks = tasks_in(setting, excerpt(60, each=2))
    tables, objects = world_of(setting, tasks), world_of(setting, tasks)
    assert plain()[SIMULATE](tables, len(tasks) + 1)
    assert on_objects(objects, len(tasks) + 1)
    assert contents(tables) == contents(objects)


def test_compiled_kernels_go_on_where_plain_python_stopped() -> None:
    """The engine is compiled while plain Python begins: who did which part does not show."""
    strategy, pool = STRATEGIES["HM"]
    setting = setting_of(strategy, pool)
    tasks = tasks_in(setting, excerpt(120, each=2))
    whole, parts = world_of(setting, tasks), world_of(setting, tasks)
    engine = compiled()[SIMULATE]
    assert engine(whole, len(tasks) + 1)
    assert not on_objects(parts, 90)
    assert engine(parts, len(tasks) + 1)
    assert contents(whole) == contents(parts)


def test_entries_are_loaded_with_all_that_they_call() -> None:
    """What another process compiled for the annotated types is what a run asks for: nothing is compiled here."""
    setting = setting_of(*STRATEGIES["HM with spot"])
    tasks = tasks_in(setting, excerpt(60))
    outcome = run(setting, tasks, journal=True)
    setup, kernels = setup_of_run(outcome), compiled()
    assert not is_first_use(), "the other process failed"
    assert kernels[SIMULATE](world_of(setting, tasks), len(tasks) + 1)
    session = ControlSession(setup, kernels)
    for event in JournalReader(outcome, setup).entries():
        if not isinstance(event, Decision):
            session.handle(event)
    assert not is_first_use(), "what it compiled was for other types"


@pytest.mark.parametrize(("name", "keys"), KEYS)
def test_a_journal_repeats_a_run_with_keys_that_are_off_by_default(name: str, keys: dict[str, Value]) -> None:
    setting = setting_of(changed(load_strategy(f"SR+{name}"), "placement", **keys), 4)
    tasks = tasks_in(setting, excerpt(60))
    borne = (99 - tasks.vector // 2, 99 - tasks.truth // 2)
    outcome = run(setting, replace(tasks, memory=tasks.memory * 3, borne=borne), journal=True)
    told = list(journal_entries(outcome, setup_of_run(outcome)))  # raises where a controller decides otherwise
    ended = sum(isinstance(entry, Failed) for entry in told)
    assert ended == int(outcome.world.tally.ended)
    assert (ended > 0) == (name == "least-loaded")


@pytest.mark.parametrize("name", ["HM", "SR+tarcil, late", "SR+tarcil, several servers, late"])
def test_both_write_the_same_bytes_where_jobs_wait_for_each_other(name: str) -> None:
    strategy, pool = STRATEGIES[name]
    setting = setting_of(strategy, pool)
    setting = crashing(setting, 120.0, 0.2, 0.1) if name.endswith("late") else setting
    check_both(setting, tasks_in(setting, waiting(jobs_for(name))))
