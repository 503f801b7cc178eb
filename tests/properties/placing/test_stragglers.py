"""Tasks that lag behind the others of their job are begun again elsewhere: who is suspected, what comes of it, and that
a journal says it all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulating import changed, jobs_of, setting_of, tasks_in

from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import Arrival, Cancelled, EventError
from hcloud.policy.stragglers import HADOOP, LATE, NOBODY, RECLASSIFIED, Peers, is_confirmed, lags, time_left
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import compiled, plain
from hcloud.sim.outcomes.measure import measure
from hcloud.sim.outcomes.watched import WatchMeasures
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.phases import PhaseRows
from hcloud.usecases.studies.journal import JournalReader, journal_entries, setup_of_run

WAYS = ("reclassified", "hadoop", "late")


def pressed(way: str, pieces: int = 8, pool: int = 12, pressure: float = 19.0) -> RunOutcome:
    """A job in pieces, of which those beside another job are pressed by it from 240 s on."""
    keys = {"grow": False, "isolate": False, "migrate": False}
    setting = setting_of(changed(load_strategy("SR+adjust-to-target"), "monitoring", stragglers=way, **keys), pool)
    jobs = jobs_of([(0.0, 3000.0, 12.0, 4.0, 0), (100.0, 600.0, 4.0 * pieces, 8.0 * pieces, 0)])
    tasks = tasks_in(setting, replace(jobs, servers=np.array([1, pieces], np.int32)))
    causes, tolerates = np.full_like(tasks.truth, 5), np.full_like(tasks.truth, 20)
    phases = PhaseRows(np.array([0]), np.array([0.08]), np.array([1.0]), np.array([pressure]))
    known = replace(tasks, truth=causes, vector=causes.copy(), borne=(tolerates, tolerates), phases=phases)
    return run(setting, known, journal=True)


def told(outcome: RunOutcome) -> WatchMeasures:
    made = measure(outcome).watching
    assert made is not None
    return made


@pytest.mark.parametrize("way", WAYS)
def test_the_second_run_of_a_task_that_lags_ends_first_and_a_session_decides_the_same(way: str) -> None:
    left, outcome = pressed("none"), pressed(way)
    ends, before = outcome.of_tasks("ended")[1:], left.of_tasks("ended")[1:]
    assert (ends == ends[0]).all()
    assert ends[0] < 0.5 * before[0]
    found, alone = told(outcome), told(left)
    assert (found.lagged, found.again, found.overtook) == (1, 1, 1)
    assert found.gained == pytest.approx(before[0] - ends[0], rel=0.01)
    assert (alone.lagged, alone.again, alone.gained) == (0, 0, 0.0)
    assert found.allocated > float(outcome.of_tasks("usage").sum()) / 3.6e6  # second runs count, too
    assert outcome.world.tally.cancelled == 0
    setup, entries = setup_of_run(outcome), list(journal_entries(outcome, setup_of_run(outcome)))
    copies = [e for e in entries if isinstance(e, Arrival) and e.copy_of]
    assert [(c.job, c.copy_of) for c in copies] == [("1.8+", "1.8")]
    assert [e.job for e in entries if isinstance(e, Cancelled)] == ["1.8+"]
    placed = {e.job: e.instance for e in entries if isinstance(e, Decision) and e.instance is not None}
    assert placed["1.8+"] != placed["1.8"]
    live, decided = ControlSession(setup, plain()), list[Decision]()
    for at, entry in enumerate(JournalReader(outcome, setup).entries()):
        if not isinstance(entry, Decision):
            decided += live.handle(entry)
            live = ControlSession.restored(setup, compiled(), live.snapshot()) if at % 3 == 0 else live
    assert [(d.at, d.job, d.instance) for d in decided] == [
        (e.at, e.job, e.instance) for e in entries if isinstance(e, Decision)
    ]


def test_nobody_is_suspected_where_all_are_alike_and_none_gets_a_second_run_without_room() -> None:
    for way in WAYS:
        assert told(pressed(way, pressure=1.0)).lagged == 0
    full = told(pressed("late", pieces=9, pool=3))
    assert full.lagged == 1
    assert full.again == full.overtook == 0


def test_who_is_suspected() -> None:
    alike = Peers(pieces=8, twice=0, faster=0, mean=0.5, copies=0)
    assert not any(lags(way, 0.5, 100.0, alike) for way in range(4))
    half = alike._replace(twice=4, faster=7)
    assert lags(RECLASSIFIED, 0.2, 10.0, half)
    assert not lags(RECLASSIFIED, 0.2, 10.0, half._replace(twice=3))
    assert not lags(NOBODY, 0.2, 100.0, half)
    assert not lags(HADOOP, 0.2, 59.0, half)
    assert lags(HADOOP, 0.29, 60.0, half)
    assert not lags(HADOOP, 0.31, 60.0, half)
    assert lags(LATE, 0.2, 60.0, half)
    assert not lags(LATE, 0.2, 60.0, half._replace(copies=1))  # a tenth of eight is less than one, and one there is
    assert not lags(LATE, 0.2, 60.0, half._replace(faster=5))
    assert time_left(0.25, 100.0) == pytest.approx(300.0)
    assert is_confirmed(0.5, 0)
    assert is_confirmed(1.0, 1)
    assert not is_confirmed(0.98, 0)


def test_a_copy_of_a_job_that_nobody_watches_or_knows_is_refused() -> None:
    setup = setup_of_run(pressed("late"))
    first = Arrival(0.0, "a", 1000, 1024, (5,) * 10, True, 0.5)
    live = ControlSession(setup, plain())
    live.handle(first)
    with pytest.raises(EventError, match="copy_of b: has not arrived"):
        live.handle(replace(first, job="c", copy_of="b"))
    live.handle(replace(first, job="c", copy_of="a"))
    off = ControlSession(replace(setup, rules=setup.rules._replace(watching=0)), plain())
    off.handle(first)
    with pytest.raises(EventError, match="does not watch jobs"):
        off.handle(replace(first, job="c", copy_of="a"))
