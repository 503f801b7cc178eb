"""A service gets other servers beside its first while it runs, and gives them back; journals tell of it all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulating import changed, excerpt, tasks_in
from test_watching import alone, decisions, ground, taken, with_phases

from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.policy.records import column
from hcloud.readers.strategies import AUTOSCALED
from hcloud.sim.machine_code.compiled import compiled, plain
from hcloud.sim.run import RunOutcome, run
from hcloud.usecases.studies.journal import JournalReader, setup_of_run

SERVICE, BATCH = 1, 0
LATER = (DecisionAction.ENLARGE, DecisionAction.SHRINK, DecisionAction.MOVE, DecisionAction.ADD, DecisionAction.DROP)


def spiked(name: str, need: float, *, pool: int = 4, kind: int = SERVICE) -> RunOutcome:
    """A job of 8 vCPUs for 8,000 s that needs so many times as much from a quarter of them on, up to three quarters;
    servers have 16."""
    setting, tasks = alone([(0.0, 8000.0, 8.0, 8.0, kind)], pool, name)
    return run(setting, with_phases(tasks, (0, 0.25, need, 1.0), (0, 0.75, 1.0, 1.0)), journal=True)


def steps(outcome: RunOutcome) -> list[DecisionAction]:
    return [d.action for d in decisions(outcome) if d.action in LATER]


def is_empty(outcome: RunOutcome) -> bool:
    """Whether nobody holds anything any more."""
    control = outcome.world.control
    used = column(control.servers, "used").sum() + column(control.servers, "tenants").sum()
    return bool(used == 0 and control.desk.used == 0 and not column(outcome.world.hosts, "pressure").any())


def test_a_service_that_outgrows_its_server_gets_others_and_gives_them_back() -> None:
    """5 times 8 vCPUs are 40: 8 on its server, and two others of 16."""
    outcome = spiked("SR+adjust-to-target", 5.0)
    assert steps(outcome) == [DecisionAction.ADD] * 2 + [DecisionAction.DROP] * 2
    assert outcome.world.tally.added == outcome.world.tally.dropped == 2
    placed = [d.instance for d in decisions(outcome) if d.action is DecisionAction.PLACE]
    assert len(placed) == len(set(placed)) == 3  # no two on one server
    tail = outcome.of_tasks("tail")[0] / outcome.of_tasks("ran")[0]
    assert 1.0 <= tail < 1.05
    held = column(outcome.world.tasks, "usage").sum() / 3_600_000
    assert held == pytest.approx((8 * 4000 + 40 * 4000) / 3600, rel=0.01)
    assert is_empty(outcome)


def test_servers_do_not_come_and_go_under_a_constant_load() -> None:
    """After ten minutes of each load at most one change, whatever it is; and no sliver of a server is kept."""
    for need in (1.3, 2.7, 3.9, 6.6):
        for name in ("SR+adjust-to-target", f"SR+{AUTOSCALED}"):
            outcome = spiked(name, need, pool=8)
            later = [d.at for d in decisions(outcome) if d.action in LATER]
            assert sum(2600 < at < 6000 for at in later) + sum(at > 6600 for at in later) <= 1
            assert outcome.world.tally.added == outcome.world.tally.dropped


def test_without_others_it_stays_below_its_target() -> None:
    one, left = spiked("SR+reactive", 5.0), spiked("SR+off", 5.0)
    assert one.of_tasks("tail")[0] > 2 * spiked("SR+adjust-to-target", 5.0).of_tasks("tail")[0]
    assert left.of_tasks("tail")[0] >= one.of_tasks("tail")[0]


def test_batch_jobs_get_no_servers_beside_theirs() -> None:
    for name in ("SR+adjust-to-target", f"SR+{AUTOSCALED}"):
        outcome = spiked(name, 5.0, kind=BATCH)
        assert outcome.world.tally.added == 0
        assert DecisionAction.ADD not in steps(outcome)


def test_an_autoscaler_looks_at_nothing_but_how_busy_servers_are() -> None:
    """36 % in use as it is; with three times the load all of it is, and two servers are at 54 %."""
    outcome = spiked(f"SR+{AUTOSCALED}", 3.0)
    assert steps(outcome) == [DecisionAction.ADD, DecisionAction.DROP]
    added, dropped = (d for d in decisions(outcome) if d.action in LATER)
    assert added.why == "its processors are 100% in use, above 70%; it gets another server"
    assert dropped.why == "its processors are 18% in use, below 30%; it gives back the server that it got last"
    assert 2000 < added.at < 2010
    assert 6018 < dropped.at < 6030
    assert is_empty(outcome)
    # 1.8 times is 65 % in use and a tail of twice isolation's, which nobody sees
    assert steps(spiked(f"SR+{AUTOSCALED}", 1.8)) == []
    assert steps(spiked("SR+adjust-to-target", 1.8)) != []


def test_nobody_has_more_servers_than_are_allowed() -> None:
    outcome = spiked(f"SR+{AUTOSCALED}", 50.0, pool=12)
    assert outcome.world.tally.added == 7
    assert spiked(f"SR+{AUTOSCALED}", 50.0, pool=3).world.tally.added == 2  # there are no more


@pytest.mark.parametrize(
    "name", ["SR+adjust-to-target", f"SR+paragon+{AUTOSCALED}", f"HM+{AUTOSCALED}", "OdM+adjust-to-target"]
)
def test_a_controller_that_sees_the_journal_alone_decides_the_same(name: str) -> None:
    setting = ground(
        name,
        0 if "OdM" in name else 10,
        "cloud.phases.share=0.9",
        "cloud.faults.lost_per_hour=0.5",
        "cloud.faults.cancelled=0.1",
    )
    tasks = tasks_in(setting, excerpt(30))
    tasks = replace(tasks, service=np.where(np.arange(len(tasks)) % 2, tasks.service, 1).astype(tasks.service.dtype))
    tasks = with_phases(tasks, *((at, 0.2, 2.0 + at % 7, 1.2) for at in range(len(tasks))))
    outcome = run(setting, tasks, journal=True)
    setup = setup_of_run(outcome)
    live, noted, told = ControlSession(setup, plain()), list[Decision](), list[Decision]()
    for entry in JournalReader(outcome, setup).entries():
        if isinstance(entry, Decision):
            noted.append(entry)
            continue
        told += live.handle(entry)
        if len(told) == 60:
            live = ControlSession.restored(setup, compiled(), live.snapshot())
    assert list(map(taken, told)) == list(map(taken, noted))
    tally = outcome.world.tally
    assert tally.added > 1
    assert tally.present == 0
    assert not column(outcome.world.control.jobs, "server")[len(tasks) :].max() >= 0


def test_servers_of_an_application_that_scales_out_badly_do_less_than_their_sum() -> None:
    """Two servers of it do 1.4 times the work of one: it gets more of the second, and never counts on their sum."""
    setting, tasks = alone([(0.0, 8000.0, 16.0, 8.0, SERVICE)])
    phased = with_phases(tasks, (0, 0.25, 1.25, 1.0), (0, 0.75, 1.0, 1.0))
    shares = np.array([[1.0, 1.0, 1.0], [1.0, 0.7, 0.65]])
    badly = replace(phased, out=np.ones(len(tasks), np.int64), together=np.pad(shares, ((0, 0), (0, 97)), "edge"))
    held, tails = [], []
    for one in (phased, badly):
        outcome = run(setting, one, journal=True)
        held.append(column(outcome.world.tasks, "usage").sum() / 3_600_000)
        tails.append(outcome.of_tasks("tail")[0] / outcome.of_tasks("ran")[0])
        assert is_empty(outcome)
    assert held[0] == pytest.approx((16 * 8000 + 0.05 * 20 * 4000 + 4 * 4000) / 3600, rel=0.05)
    assert held[1] > held[0] + 8 * 4000 / 3600
    assert tails[1] < 1.1


@pytest.mark.parametrize("window", ["promise", "none"])
def test_a_server_beside_is_there_at_once_where_jobs_wait_in_classes(window: str) -> None:
    """A server that would have to wait for its pool was decided on again every ten seconds."""
    setting = ground("SR+paragon+multi-class+adjust-to-target", 12, classes=4)
    setting = replace(setting, strategy=changed(setting.strategy, "queueing", window=window, least_jobs=20))
    tasks = tasks_in(setting, excerpt(60))
    tasks = replace(tasks, service=np.where(np.arange(len(tasks)) % 2, tasks.service, 1).astype(tasks.service.dtype))
    tasks = with_phases(tasks, *((at, 0.2, 2.0 + at % 7, 1.2) for at in range(len(tasks))))
    told = decisions(run(setting, tasks, journal=True))
    added = sum(d.action is DecisionAction.ADD for d in told)
    assert sum(d.action is DecisionAction.PLACE and "+" in (d.job or "") for d in told) == added > 3
