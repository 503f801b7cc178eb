"""Every placement, chance included: a live controller takes the servers that the engine took, by its journal."""

from __future__ import annotations

from collections import defaultdict

import pytest
from simulating import crashing, excerpt, hasty, setting_of, tasks_in

from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import Arrival
from hcloud.readers.strategies import load_strategy, part_names
from hcloud.sim.machine_code.compiled import plain
from hcloud.sim.run import run
from hcloud.sim.setup.build import Setting
from hcloud.usecases.studies.journal import JournalReader, setup_of_run

POOLS = {"SR": 4, "HM": 2}


def taken(decision: Decision) -> tuple[object, ...]:
    return decision.at, decision.action, decision.job, decision.instance, decision.reason, decision.margin


ON_A_RESERVE = ("sparrow", "tarcil-admission", "two-level")
CASES = [(n, base) for n in part_names("placement")[1:] for base in POOLS if base == "SR" or n not in ON_A_RESERVE]
"""All but those that are refused: jobs that wait at servers do so at reserved ones."""


@pytest.mark.parametrize(("placement", "base"), CASES)
def test_a_live_controller_takes_the_servers_that_the_engine_took(placement: str, base: str) -> None:
    agree(setting_of(load_strategy(f"{base}+{placement}"), POOLS[base]))


@pytest.mark.parametrize("base", POOLS)
def test_it_does_so_where_agents_come_too_late_and_crash(base: str) -> None:
    late = agree(crashing(setting_of(hasty(load_strategy(f"{base}+tarcil")), POOLS[base]), 120.0))
    assert max(event.refused for event in late) >= 1


def agree(setting: Setting) -> list[Arrival]:
    """Hold a controller against the engine by the engine's journal; the arrivals there."""
    outcome = run(setting, tasks_in(setting, excerpt(80)), journal=True)
    setup = setup_of_run(outcome)
    session, told, noted, came = ControlSession(setup, plain()), list[Decision](), list[Decision](), list[Arrival]()
    for entry in JournalReader(outcome, setup).entries():
        if isinstance(entry, Decision):
            noted.append(entry)
        else:
            came += [entry] if isinstance(entry, Arrival) else []
            told += session.handle(entry)
    assert list(map(taken, told)) == list(map(taken, noted))
    places = defaultdict[str, int](int)
    for decision in told:
        places[decision.action] += 1
    assert places["place"] > 10, places
    return came
