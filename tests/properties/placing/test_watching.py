"""Jobs that are watched while they run: decisions follow from what was measured alone, phases are found, targets
kept."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from simulating import changed, excerpt, jobs_of, setting_of, tasks_in

from hcloud.control.sessions.session import ControlSession
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.strategy import Value
from hcloud.policy.records import column
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import compiled, plain
from hcloud.sim.outcomes.measure import measure
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.phases import PhaseRows
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.variation import parse_axis, varied_cloud
from hcloud.usecases.studies.journal import JournalReader, journal_entries, setup_of_run

PHASED = "cloud.phases.share=0.5"
ADJUSTED = "SR+adjust-to-target"


def ground(name: str, pool: int, *changes: str, **keys: Value) -> Setting:
    """A strategy in the study's cloud with some of it changed, and with other keys of how jobs are watched."""
    setting = setting_of(changed(load_strategy(name), "monitoring", **keys), pool)
    return replace(setting, cloud=varied_cloud(setting.cloud, [c for text in changes for c in parse_axis(text)]))


def alone(
    rows: list[tuple[float, float, float, float, int]], pool: int = 4, name: str = ADJUSTED
) -> tuple[Setting, Tasks]:
    """Jobs that nobody disturbs, on types that are all alike."""
    setting = ground(name, pool, "cloud.batch.sensitivity=0", "cloud.service.sensitivity=0")
    return setting, tasks_in(setting, jobs_of(rows))


def with_phases(tasks: Tasks, *rows: tuple[int, float, float, float]) -> Tasks:
    """Phases of tasks: which task, from which share of its work, needs and presses how many times as much."""
    task, at, need, pressure = (np.array(values) for values in zip(*rows, strict=True))
    return replace(tasks, phases=PhaseRows(task, at, need, pressure))


def decisions(outcome: RunOutcome) -> list[Decision]:
    entries = JournalReader(outcome, setup_of_run(outcome)).entries()
    return [entry for entry in entries if isinstance(entry, Decision)]


def taken(one: Decision) -> tuple[object, ...]:
    return one.at, one.action, one.job, one.instance, one.reason, one.margin


@pytest.mark.parametrize(
    "name",
    ["SR+reactive", "SR+requested+sampled", "SR+requested+adjust-to-target", "SR+paragon+multi-class+adjust-to-target",
     "HM+adjust-to-target", "SR+adjust-to-target unprofiled"],
)  # fmt: skip
def test_a_controller_that_sees_the_journal_alone_decides_the_same(name: str) -> None:
    """Phases and errors are the simulator's: a session has no table of them."""
    setting = ground(name.removesuffix(" unprofiled"), 8, PHASED)
    if "unprofiled" in name:
        parts = (replace(m, rule="requested") if m.name == "information" else m for m in setting.strategy.mechanisms)
        setting = replace(setting, strategy=replace(setting.strategy, mechanisms=tuple(parts)))
    tasks = tasks_in(setting, excerpt(110))
    tasks = replace(tasks, spare=(np.arange(len(tasks)) % 4 == 0).astype(np.int64))
    outcome = run(setting, tasks, journal=True)
    setup = setup_of_run(outcome)
    live, noted, told = ControlSession(setup, plain()), list[Decision](), list[Decision]()
    for entry in JournalReader(outcome, setup).entries():
        if isinstance(entry, Decision):
            noted.append(entry)
            continue
        told += live.handle(entry)
        if len(told) == 100:
            live = ControlSession.restored(setup, compiled(), live.snapshot())
    assert list(map(taken, told)) == list(map(taken, noted))
    assert outcome.world.tally.phases > 40
    assert not (outcome.of_tasks("ended") < 0).any()
    repairs = {DecisionAction.MOVE, DecisionAction.ENLARGE, DecisionAction.SHRINK}
    assert any(d.action in repairs for d in told)
    needed, held = column(outcome.world.watches, "used"), outcome.of_tasks("usage")
    assert (needed <= held + 1e-6).all()


def test_nothing_is_decided_by_what_is_still_to_come() -> None:
    setting = ground(ADJUSTED, 30, PHASED)
    tasks = tasks_in(setting, excerpt(150))
    first = run(setting, tasks, journal=True)
    rows = tasks.phases
    assert rows is not None
    begins = tasks.submit[rows.task] + rows.at * tasks.work[rows.task]  # at the soonest
    middle = float(np.median(begins))
    later = np.where(begins > middle, 3.0, rows.need)
    other = run(setting, replace(tasks, phases=replace(rows, need=later)), journal=True)
    before = [[taken(d) for d in decisions(one) if d.at < middle] for one in (first, other)]
    assert before[0] == before[1]
    assert len(before[0]) > 50
    assert list(map(taken, decisions(first))) != list(map(taken, decisions(other)))


def test_without_phases_none_is_found_and_errors_of_rows_are_taken_for_one_at_the_stated_rate() -> None:
    counted = np.zeros(2)
    for name in ("SR+reactive", "SR+sampled"):
        exact = run(ground(name, 40, sampling_period=60.0), tasks_in(ground(name, 40, "cloud.spin_up=1"), excerpt(150)))
        tally = exact.world.tally
        assert (tally.phases, tally.hurt, tally.found, tally.late) == (0, 0, 0, 0)
        counted += tally.alarms, tally.measured
    known = changed(load_strategy("SR+sampled"), "information", vector_error=0.0)
    setting = setting_of(changed(known, "monitoring", sampling_period=60.0), 12)
    sure = run(setting, tasks_in(setting, excerpt(150))).world.tally
    assert sure.measured > 50
    assert sure.alarms == 0
    # Two entries, caused and tolerated, have 198 points and err by a normal error of 6.5 each
    share = 1 - (math.erf(19.8 / math.sqrt(2) / 6.5 / math.sqrt(2))) ** 2
    assert counted[0] <= counted[1] * share + 3 * math.sqrt(counted[1] * share)


def test_a_spike_is_followed_up_and_down_with_few_steps() -> None:
    setting, tasks = alone([(0.0, 8000.0, 4.0, 8.0, 1)])
    outcome = run(setting, with_phases(tasks, (0, 0.25, 2.0, 1.0), (0, 0.75, 1.0, 1.0)), journal=True)
    steps = [(d.at, d.action) for d in decisions(outcome) if d.action is not DecisionAction.PLACE]
    assert [action for _, action in steps] == [DecisionAction.ENLARGE, DecisionAction.SHRINK]
    up, down = steps[0][0] - 2000.0, steps[1][0] - 6000.0
    assert 2.0 <= up <= 6.0
    assert 18.0 <= down <= 24.0
    tally, measured = outcome.world.tally, measure(outcome).watching
    assert (tally.phases, tally.hurt, tally.late, tally.found) == (2, 1, 1, 1)
    assert measured is not None
    assert measured.used_share > 0.94
    held = run(*_off(with_phases(tasks, (0, 0.25, 2.0, 1.0), (0, 0.75, 1.0, 1.0))))
    tails = [float(one.of_tasks("tail")[0] / one.of_tasks("ran")[0]) for one in (outcome, held)]
    assert tails[0] < 1.3 < tails[1]


def _off(tasks: Tasks) -> tuple[Setting, Tasks]:
    return ground("SR+off", 4, "cloud.batch.sensitivity=0", "cloud.service.sensitivity=0"), tasks


def test_best_effort_yields_first_and_comes_back() -> None:
    rows = [(0.0, 4000.0, 8.0, 8.0, 1), *((at, 500.0 + 100 * at, 4.0, 4.0, 0) for at in (1.0, 2.0))]
    setting, tasks = alone([*rows, (410.0, 20.0, 1.0, 1.0, 0)], pool=1)
    spare = np.array([0, 1, 1, 0])[tasks.job]
    phased = with_phases(replace(tasks, spare=spare), (0, 0.1, 1.3, 1.0))
    told = decisions(run(setting, phased, journal=True))
    yielded = [d for d in told if d.reason == "yields"]
    assert [d.job for d in yielded] == ["2"]  # the youngest of the two is enough
    enlarged = [d for d in told if d.action is DecisionAction.ENLARGE]
    assert [(d.job, d.at) for d in enlarged] == [("0", yielded[0].at)]
    assert [d.reason for d in told if d.job == "3"] == ["only-reserved"], "what it does not need is free for others"
    assert not [d for d in told if d.reason == "below-qos" and d.action is DecisionAction.MOVE]
    assert [d.action for d in told if d.job == "2"].count(DecisionAction.PLACE) == 2
    kept = changed(setting.strategy, "monitoring", evict=False)
    assert not [
        d for d in decisions(run(replace(setting, strategy=kept), phased, journal=True)) if d.reason == "yields"
    ]


def test_a_job_moves_only_where_that_is_worth_it() -> None:
    rows = [(0.0, 2000.0, 8.0, 8.0, 0), (1.0, 3000.0, 8.0, 8.0, 0)]
    moves = []
    for seconds in (2.0, 50_000.0):
        setting, tasks = alone(rows, pool=2)
        strategy = changed(setting.strategy, "monitoring", move_seconds=seconds)
        phased = with_phases(tasks, (0, 0.2, 1.8, 1.0))
        outcome = run(replace(setting, strategy=strategy), phased, journal=True)
        moves.append([d.reason for d in decisions(outcome) if d.action is DecisionAction.MOVE])
        if moves[-1]:
            began = next(d.at for d in decisions(outcome) if d.action is DecisionAction.MOVE)
            waits = outcome.of_tasks("ended")[0] - outcome.of_tasks("began")[0] - outcome.of_tasks("ran")[0]
            assert waits == pytest.approx(2.0 + 8.0)  # two seconds, and one for each GiB
            assert began < 500.0
    assert moves == [["below-qos"], []]


def test_each_step_can_be_switched_off() -> None:
    found = {}
    for key in ("", "grow", "shrink", "migrate", "isolate", "written_back"):
        setting = ground("SR+requested+adjust-to-target", 14, PHASED, **({key: False} if key else {}))
        outcome = run(setting, tasks_in(setting, excerpt(150)))
        tally = outcome.world.tally
        found[key] = int(tally.enlarged), int(tally.shrunk), int(tally.moved - tally.isolated), int(tally.isolated)
    assert found["grow"][0] == found["shrink"][1] == found["migrate"][2] == found["isolate"][3] == 0
    assert min(found[""][:3]) > 0
    assert found["written_back"] != found[""]


def test_best_effort_yields_to_a_job_that_came_and_comes_after_all_others() -> None:
    best, jobs = [(0.0, 500.0, 8.0, 4.0, 0), (1.0, 500.0, 8.0, 4.0, 0)], [(11.0, 50.0, 16.0, 4.0, 0)] * 2
    rows = [*best, (10.0, 50.0, 4.0, 4.0, 0), *jobs]
    setting, tasks = alone(rows, pool=1)
    tasks = replace(tasks, spare=np.array([1, 1, 0, 0, 0])[tasks.job])
    outcome = run(setting, tasks, journal=True)
    placed = [d.job for d in decisions(outcome) if d.action is DecisionAction.PLACE]
    assert placed[:5] == ["0", "1", "2", "3", "4"]
    assert set(placed[5:]) == {"0", "1"}
    told = decisions(outcome)
    assert next(d.job for d in told if d.reason == "yields") == "1"  # the younger one is enough for the first
    assert next(d.reason for d in told if d.job == "2") == "best-effort-yields"
    assert list(journal_entries(outcome, setup_of_run(outcome)))  # and a session decides the same
    kept = replace(setting, strategy=changed(setting.strategy, "monitoring", evict=False))
    waits = run(kept, tasks, journal=True)
    assert next(d.action for d in decisions(waits) if d.job == "2") is DecisionAction.QUEUE


def test_nobody_is_sent_to_and_fro_where_no_place_is_better() -> None:
    """Each of four servers has two jobs that bear nothing of each other: nobody gains by a move, wherever it is."""
    rows = [(float(i), 3000.0, 4.0, 4.0, 0) for i in range(8)]
    for placement in ("no-interference", "paragon", "least-loaded"):
        setting = ground(f"SR+{placement}+reactive", 4)
        tasks = tasks_in(setting, jobs_of(rows))
        causes, tolerates = np.full_like(tasks.truth, 60), np.full_like(tasks.truth, 10)
        outcome = run(setting, replace(tasks, truth=causes, vector=causes.copy(), borne=(tolerates, tolerates)))
        assert outcome.world.tally.measured > 8
        assert outcome.world.tally.moved <= 8
