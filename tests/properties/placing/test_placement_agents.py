"""Several agents decide at once on copies of any age, jobs wait at several servers: nothing is given twice, nobody is
forgotten, and what is counted is what there is."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
from crowds import CORES, GONE, JOBS, QUEUED, STARTED, Crowd
from from_the_front import refusing
from hypothesis import given, settings
from hypothesis import strategies as st
from simulating import crashing, excerpt, hasty, setting_of, tasks_in, was_roomy, world_of

from hcloud.control.controller import arrive, leave
from hcloud.control.ranks import ARRIVAL
from hcloud.control.state import DEAD, OWN
from hcloud.control.waits.queue import append
from hcloud.policy.codes import BY_PROBES
from hcloud.policy.quality import HALF
from hcloud.readers.strategies import load_strategy
from hcloud.sim.kernels.engine import simulate
from hcloud.sim.machine_code.objects import as_objects


@pytest.mark.parametrize(
    "placement",
    ["tarcil", "power-of-two", "sparrow", "random", "paragon-sampled", "tarcil-admission", "tarcil+adjust-to-target"],
)
@settings(max_examples=2)
@given(seed=st.integers(0, 10**6))
def test_nothing_is_given_twice_and_nobody_is_forgotten(placement: str, seed: int) -> None:
    crowd = Crowd(placement, 6, seed)
    for _ in range(120):
        crowd.step()
        crowd.check()
    for _ in range(5_000):  # all that is left runs out: whoever waited has begun
        running = crowd.of(STARTED)
        if not running and not crowd.bounds:
            break
        if not running:
            crowd.pass_time(crowd.bounds[0][0] - crowd.now)
            continue
        crowd.pass_time(0.01)
        crowd.state[running[0]] = GONE
        leave(crowd.control, running[0], 1.0, crowd.now)
        crowd.obey()
        crowd.check()
    assert crowd.of(QUEUED) == []
    assert (crowd.yielded > 0) == ("adjust" in placement), "best effort yields to others"


def test_a_copy_does_not_know_what_others_did_lately() -> None:
    """With a copy as old as the run every agent takes the first servers anew: all candidates are taken."""
    fresh, stale = (Crowd("tarcil", 40, 3) for _ in range(2))
    for crowd, age in ((fresh, 0.0), (stale, 100.0)):
        for job in range(60):
            crowd.control.jobs[job].ask = CORES // 2
            crowd.control.desk.agent, crowd.control.desk.copy_age = job % 3, age
            crowd.now += 0.001
            arrive(crowd.control, job, crowd.now)
            crowd.obey()
            crowd.check()
    assert fresh.control.desk.conflicts == 0
    assert stale.control.desk.conflicts > 20


@pytest.mark.parametrize(("placement", "candidates"), [("tarcil", 8), ("power-of-two", 2)])
def test_of_a_full_reserve_eight_are_drawn_for_each_candidate_and_then_all_are_asked(
    placement: str, candidates: int
) -> None:
    crowd = Crowd(placement, servers := 20, 3)
    for job in range(servers + 1):
        looks = crowd.control.desk.looks
        crowd.control.jobs[job].ask = CORES if job < servers else 1_000
        arrive(crowd.control, job, 0.0)
        crowd.obey()
    assert crowd.of(QUEUED) == [servers]
    assert crowd.control.desk.looks - looks == 8 * candidates + servers


def test_an_entry_is_void_in_its_second_queue() -> None:
    crowd = Crowd("sparrow", 2, 1)
    control = crowd.control
    assert control.rules.ranking == BY_PROBES
    for job in range(9):
        control.jobs[job].ask = 1_000
        arrive(control, job, 0.0)
        crowd.obey()
    assert crowd.of(QUEUED) == [8]
    assert control.jobs[8].waiting == 2
    leave(control, 0, 1.0, 1.0)
    crowd.state[0] = GONE
    crowd.obey()
    leave(control, 1, 1.0, 2.0)
    crowd.state[1] = GONE
    crowd.obey()
    assert crowd.starts[8] == 1
    assert control.servers[control.jobs[8].server].paid == OWN
    crowd.check()


@settings(max_examples=2)
@given(seed=st.integers(0, 10**6), placement=st.sampled_from(["tarcil", "power-of-two", "paragon-sampled"]))
def test_agents_that_crash_forget_nobody(seed: int, placement: str) -> None:
    """Decisions that nobody heard of are made by others, whatever is refused, lost, cancelled and taken over
    meanwhile; each job comes once, and no server holds more than it has."""
    setting = crashing(setting_of(hasty(load_strategy(f"SR+{placement}")), 6, seed), 600.0, 1.0, 0.1)
    tasks = tasks_in(setting, excerpt(50))
    world = refusing(as_objects(world_of(setting, tasks)))
    for until in range(1, len(tasks) + 2):
        simulate(world, until)
        for place in range(world.control.desk.free):
            server = world.control.servers[place]
            assert server.used <= world.control.kinds[server.kind].cores or server.status == DEAD
    assert was_roomy(world)
    assert all(world.tasks[job].over for job in range(len(tasks)))
    lines = [world.lines[at] for at in range(world.tally.lines)]
    came = [line.a for line in lines if line.code == ARRIVAL]
    never = set(range(len(tasks))) - set(came)
    assert len(came) == len(set(came))
    assert all(world.tasks[job].cancelled >= 0.0 for job in never)
    assert any(line.b != line.a % 3 for line in lines if line.code == ARRIVAL), "nobody took over"


def full_pool() -> Crowd:
    """Two servers full of jobs of one vCPU, of which one ended every now and then and another one took its place."""
    crowd = Crowd("tarcil-admission", 2, 1)
    for job in range(JOBS):
        crowd.control.jobs[job].ask = 1_000
        crowd.control.jobs[job].high = crowd.control.jobs[job].low = 0
    for job in range(8):
        arrive(crowd.control, job, 0.0)
        crowd.obey()
    crowd.next, rules = 8, cast("Any", crowd.control.rules)
    for seconds in (1, 3, 1, 3, 1, 3, 1, 3, 1, 3):
        crowd.pass_time(seconds)
        first = crowd.of(STARTED)[0]
        crowd.state[first] = GONE
        leave(crowd.control, first, 1.0, crowd.now)
        crowd.obey()
        rules.closeness = -1.0  # this one is not held back
        arrive(crowd.control, crowd.next, crowd.now)
        crowd.obey()
        rules.closeness = 1.1
        crowd.next += 1
    return crowd


def test_a_job_is_held_back_until_enough_units_are_free() -> None:
    crowd = full_pool()
    job = crowd.next
    arrive(crowd.control, job, crowd.now)
    crowd.obey()
    waiting = crowd.control.jobs[job]
    assert waiting.held > 0
    assert waiting.usual == 3.0  # nine of ten intervals are no longer
    assert waiting.until == pytest.approx(crowd.now + 2 + 2, abs=0.3)  # their mean and two deviations
    for first in crowd.of(STARTED)[:2]:  # one free unit is still close to what it asks for
        assert crowd.starts[job] == 0
        crowd.state[first] = GONE
        leave(crowd.control, first, 1.0, crowd.now)
        crowd.obey()
    assert crowd.starts[job] == 1
    crowd.check()


def test_the_estimate_counts_those_whose_turn_is_before() -> None:
    """Means of several intervals add up, and so do the squares of how far they are off. Whoever comes first, or waits
    for another type, is in nobody's way."""
    crowd = full_pool()
    crowd.control.jobs[crowd.next + 2].ask = 2_000  # of no type there is: it waits for none
    crowd.control.jobs[crowd.next + 2].memory = 99_999
    told = []
    for job in range(crowd.next, crowd.next + 4):
        if crowd.control.jobs[job].memory < 99_999:
            arrive(crowd.control, job, crowd.now)
        else:
            append(crowd.control, job)
        crowd.obey()
        told.append(crowd.control.jobs[job])
    mean = 19 / 9  # five intervals of three seconds and four of one
    usual, bound = told[0].usual - mean, told[0].until - crowd.now - mean
    for turns, one in ((1, told[0]), (2, told[1]), (3, told[3])):
        assert one.usual == pytest.approx(turns * mean + math.sqrt(turns) * usual)
        assert one.until - crowd.now == pytest.approx(turns * mean + math.sqrt(turns) * bound)


def test_after_its_bound_a_job_waits_at_two_servers() -> None:
    crowd = full_pool()
    job = crowd.next
    arrive(crowd.control, job, crowd.now)
    crowd.obey()
    crowd.pass_time(10.0)
    waiting = crowd.control.jobs[job]
    assert (waiting.held, waiting.waiting, crowd.of(QUEUED)) == (0, 2, [job])
    for place in range(2):
        first = next(j for j in crowd.of(STARTED) if crowd.control.jobs[j].server == place and j != job)
        crowd.state[first] = GONE
        leave(crowd.control, first, 1.0, crowd.now)
        crowd.obey()
    assert crowd.starts[job] == 1
    crowd.check()


def test_a_job_that_no_bucket_could_ever_suit_goes_straight_on() -> None:
    crowd = full_pool()
    crowd.control.jobs[crowd.next].high = HALF - 1  # nothing may be pressed at all: above the last band's lower edge
    arrive(crowd.control, crowd.next, crowd.now)
    crowd.obey()
    assert crowd.control.jobs[crowd.next].held == 0
    assert crowd.control.jobs[crowd.next].waiting == 2
