"""Scheduling in two levels: whole free servers go round the frameworks, each takes the first that fits."""

from __future__ import annotations

import numpy as np
import pytest
from simulating import excerpt, jobs_of, setting_of, tasks_in
from test_watching import decisions

from hcloud.errors import UsageError
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Completion
from hcloud.planning.reports.journeys import journeys_of
from hcloud.readers.strategies import load_strategy
from hcloud.sim.run import RunOutcome, run
from hcloud.usecases.studies.journal import JournalReader, setup_of_run

BATCH, SERVICE = 0, 1


def offered(rows: list[tuple[float, float, float, float, int]], pool: int) -> RunOutcome:
    setting = setting_of(load_strategy("SR+two-level"), pool)
    return run(setting, tasks_in(setting, jobs_of(rows)), journal=True)


def placed(outcome: RunOutcome) -> list[tuple[float, str, int]]:
    made = (one for one in decisions(outcome) if one.action is DecisionAction.PLACE)
    return [(one.at, str(one.job), int(one.instance or 0)) for one in made]


def test_frameworks_take_whole_servers_in_turn_and_fill_them_with_their_next_jobs() -> None:
    kinds = [BATCH, BATCH, SERVICE, BATCH, SERVICE]
    made = placed(offered([(0.1 * at, 100.0, 8.0, 8.0, kind) for at, kind in enumerate(kinds)], 4))
    on = {job: server for _, job, server in made}
    assert on["0"] == on["1"]  # two of eight vCPUs on a server of sixteen
    assert on["2"] == on["4"]
    assert len({on["0"], on["2"], on["3"]}) == 3
    first, second = sorted({at for at, _, _ in made})[0], sorted({at for at, _, _ in made})[-1]
    assert second - first <= 4.0
    assert all(at == int(at) for at, _, _ in made), "offers go out every second"


def test_a_server_is_not_offered_while_it_has_a_job() -> None:
    rows = [(0.0, 1000.0, 1.0, 1.0, BATCH), (50.0, 100.0, 1.0, 1.0, BATCH)]
    outcome = offered(rows, 1)
    (_, one, _), (late, other, _) = placed(outcome)
    assert (one, other) == ("0", "1")
    assert late >= 1000.0


def test_each_server_has_jobs_of_one_framework_at_a_time() -> None:
    setting = setting_of(load_strategy("SR+two-level"), 12)
    outcome = run(setting, tasks_in(setting, excerpt(120)), journal=True)
    service, there = np.array(outcome.tasks.service), dict[int, set[int]]()
    for entry in JournalReader(outcome, setup_of_run(outcome)).entries():
        if isinstance(entry, Decision) and entry.action is DecisionAction.PLACE:
            jobs = there.setdefault(int(entry.instance or 0), set())
            jobs.add(int(str(entry.job)))
            assert len({int(service[job]) for job in jobs}) == 1
        elif isinstance(entry, Completion):
            for jobs in there.values():
                jobs.discard(int(entry.job))
    assert outcome.world.control.desk.used == outcome.world.control.desk.queued == 0
    assert len(placed(outcome)) == len(service)


def test_what_an_offer_began_and_the_next_event_ended_has_run() -> None:
    """The journal has the offer behind the end of the job, as it was made on the way to that."""
    outcome = offered([(0.0, 100.0, 1.0, 1.0, BATCH), (10.0, 100.0, 1.0, 1.0, BATCH), (15.0, 50.0, 1.0, 1.0, BATCH)], 1)
    found = journeys_of(JournalReader(outcome, setup_of_run(outcome)).entries())
    waits = [one.began - one.arrived for one in found if one.began is not None]
    assert waits == pytest.approx([1.0, 91.0, 86.0], abs=1.0)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("HM+two-level", "only reserved servers are offered"),
        ("SR+two-level+multi-class", "two-level offers servers to jobs in one queue"),
    ],
)
def test_only_one_queue_of_a_strategy_that_reserves_alone_gets_offers(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load_strategy(name)
