"""Jobs of several servers: a live controller does what the engine did by its journal, whatever goes wrong; all pieces
begin and end together; and the compiled engine does the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pieces import check_together, rows_of_jobs, several, with_keys
from simulating import hasty, setting_of, tasks_in, with_spot

from hcloud.control.sessions.session import ControlSession
from hcloud.control.sessions.story import Story
from hcloud.control.state import DEAD
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Arrival
from hcloud.readers.strategies import load_strategy
from hcloud.sim.kernels.engine import simulate
from hcloud.sim.machine_code.compiled import compiled, plain
from hcloud.sim.machine_code.objects import as_objects
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.build import Setting, build, usual_capacity
from hcloud.store.journals.events import event_document, parse_event
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.usecases.studies.journal import JournalReader, job_names, setup_of_run, write_journal

EACH = "placement.gang=false"
SPREAD = "placement.locality=spread"
TROUBLE = {"lost_per_hour": 4.0, "failed_launches": 0.2, "cancelled": 0.1, "interruptions_per_hour": 60.0}
CASES = (
    ("SR", 7, ()),
    ("SR+tarcil", 7, ()),
    ("SR+tarcil", 7, (EACH,)),
    ("SR+paragon", 7, (SPREAD,)),
    ("SR+tarcil", 9, ("placement.locality=spread-racks", "placement.rack_servers=3")),
    ("HM", 2, ()),
    ("HM", 2, (EACH,)),
    ("HM+power-of-two", 4, (SPREAD,)),
    ("HF", 2, (SPREAD,)),
)


def troubled(strategy: str, pool: int, changes: tuple[str, ...], crashes: float = 0.0) -> Setting:
    """A setting in which machines are lost and cannot be launched, jobs are cancelled and agents crash."""
    varied = with_keys(load_strategy(strategy), *changes)
    if strategy == "HM":
        varied = with_spot(varied, 0.95)
    setting, values = setting_of(varied, pool), {**TROUBLE, "agent_crashes_per_hour": crashes}
    parts = {
        name: tuple(replace(p, value=values.get(p.key, p.value)) for p in setting.cloud.sections[name])
        for name in ("faults", "spot")
    }
    return replace(setting, cloud=replace(setting.cloud, sections={**setting.cloud.sections, **parts}))


def followed(outcome: RunOutcome) -> list[Decision]:
    """What a controller decides by the journal of a run, which has to be what the engine obeyed."""
    setup = setup_of_run(outcome)
    session, told, noted, is_restored = ControlSession(setup, plain()), list[Decision](), list[Decision](), False
    for entry in JournalReader(outcome, setup).entries():
        if isinstance(entry, Decision):
            noted.append(entry)
        else:
            told += session.handle(entry)
            if not is_restored and len(told) > 30:
                session, is_restored = ControlSession.restored(setup, compiled(), session.snapshot()), True

    def taken(one: Decision) -> tuple[object, ...]:
        return one.at, one.action, one.job, one.instance, one.reason, one.margin

    assert list(map(taken, told)) == list(map(taken, noted))
    return told


@pytest.mark.parametrize(("strategy", "pool", "changes"), CASES)
def test_a_live_controller_does_what_the_engine_did(strategy: str, pool: int, changes: tuple[str, ...]) -> None:
    setting = troubled(strategy, pool, changes)
    outcome = run(setting, tasks_in(setting, several(25)), journal=True)
    told = followed(outcome)
    assert outcome.of_tasks("over").all()
    stopped = [one for one in told if one.action is DecisionAction.MOVE and one.reason == "piece-lost"]
    assert EACH not in changes or not stopped
    assert SPREAD not in changes or stopped


@pytest.mark.parametrize(("strategy", "pool", "changes"), [c for c in CASES if EACH not in c[2]])
def test_pieces_begin_and_end_together_and_no_unit_is_given_twice(
    strategy: str, pool: int, changes: tuple[str, ...]
) -> None:
    setting = troubled(strategy, pool, changes)
    if strategy == "SR+tarcil":
        setting = replace(
            troubled(strategy, pool, changes, 600.0), strategy=hasty(with_keys(load_strategy(strategy), *changes))
        )
    tasks = tasks_in(setting, several(25))
    world = as_objects(build(setting, tasks, usual_capacity(20 * len(tasks), setting.pool, journal=True)))
    for until in range(1, len(tasks) + 2):
        simulate(world, until)
        check_together(world, tasks)
        for place in range(world.control.desk.free):
            server = world.control.servers[place]
            seated = [j for j in range(len(tasks)) if world.control.jobs[j].server == place]
            assert server.status == DEAD or server.used == sum(world.control.jobs[j].cores for j in seated)
            assert server.used <= world.control.kinds[server.kind].cores or server.status == DEAD
            if changes and server.status != DEAD and server.paid == 0:
                jobs = [int(tasks.job[j]) for j in seated]
                assert len(jobs) == len(set(jobs)), "spread"
        for rows in rows_of_jobs(tasks) if changes else ():
            servers = [world.control.jobs[row].server for row in rows]
            racks = [
                at // world.control.rules.spread for at in servers if at >= 0 and world.control.servers[at].paid == 0
            ]
            assert len(racks) == len(set(racks)), "racks"
    assert all(world.tasks[row].over for row in range(len(tasks)))


def test_a_job_ends_with_its_slowest_piece() -> None:
    """With nothing else going wrong a job takes as long as the slowest of its pieces would."""
    setting = setting_of("SR", 12)
    outcome = run(setting, tasks_in(setting, several(40)))
    began, ended, ran = (np.asarray(outcome.of_tasks(name)) for name in ("began", "ended", "ran"))
    jobs = rows_of_jobs(outcome.tasks)
    assert len(jobs) > 10
    for rows in jobs:
        assert len(set(began[rows])) == len(set(ended[rows])) == 1
        assert ran[rows] == pytest.approx(ended[rows] - began[rows])


def test_a_journal_of_several_agents_reads_as_it_was_written() -> None:
    """Users ask for too much or too little; the pieces of a job ask for as much each."""
    setting = setting_of(with_keys(load_strategy("SR+tarcil"), "information.rule=requested"), 12)
    outcome = run(setting, tasks_in(setting, several(40)), journal=True)
    entries = [entry for entry in JournalReader(outcome, setup_of_run(outcome)).entries() if isinstance(entry, Arrival)]
    assert [parse_event(event_document(entry)) for entry in entries] == entries
    assert any(entry.pieces > 1 and entry.agent is None for entry in entries)
    for rows in rows_of_jobs(outcome.tasks):
        assert len({(outcome.tasks.ask[row], *outcome.tasks.vector[row]) for row in rows}) == 1
    followed(outcome)


def test_each_piece_of_a_job_has_a_story(tmp_path: Path) -> None:
    """Also those that came before the last, with which all were decided on."""
    setting, path = setting_of("SR+tarcil", 8), tmp_path / "run.jsonl"
    outcome = run(setting, tasks_in(setting, several(12)), journal=True)
    write_journal(outcome, path)
    names, rows = job_names(outcome), rows_of_jobs(outcome.tasks)[0]
    stories = [s for row in rows if isinstance(s := explain_job(path, names[row]), Story)]
    taken = [story.considered.decision for story in stories if story.considered]
    assert [(one.job, one.action, one.at) for one in taken] == [
        (names[row], DecisionAction.PLACE, taken[0].at) for row in rows
    ]
