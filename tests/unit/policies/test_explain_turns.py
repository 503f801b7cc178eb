"""What would have sent a job elsewhere: the same jobs under the changed limit, pool or quality do go there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hcloud.control.sessions.session import ControlSession
from hcloud.control.sessions.story import Ahead, Story, Turn
from hcloud.model.catalog import Provider
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import UNKNOWN, Arrival, Event, Pool
from hcloud.policy import codes
from hcloud.policy.facts import Setup
from hcloud.policy.mapping import Situation, choose
from hcloud.sim.machine_code.compiled import kernels
from hcloud.store.journals.journal import save_journal
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.usecases.deciding.explaining.turns import turns, with_servers
from hcloud.usecases.live.decide import StreamMarket, make_setup

GENTLE, TOUCHY = (0,) * 10, (99,) * 10


def arrival(job: str, cores: float, vector: tuple[int, ...] = UNKNOWN, at: float = 0.0) -> Arrival:
    return Arrival(at, job, round(cores * 1000), 2048, vector, restartable=False, coin=0.5)


def last_place(setup: Setup, jobs: Sequence[Event]) -> Decision:
    """Where the last of the jobs goes first."""
    session, last = ControlSession(setup, kernels(len(jobs))), jobs[-1]
    made = [session.handle(job) for job in jobs][-1]
    assert isinstance(last, Arrival)
    return next(d for d in made if d.job == last.job)


def story_of(setup: Setup, jobs: list[Arrival], path: Path) -> Story:
    session = ControlSession(setup, kernels(len(jobs)))
    entries: list[Event | Decision] = []
    for job in jobs:
        entries += [job, *session.handle(job)]
    save_journal(replace(setup, start=0.0), entries, path)
    story = explain_job(path, jobs[-1].job)
    assert isinstance(story, Story)
    return story


def turn(story: Story, what: str) -> Turn:
    return next(t for t in story.turns if t.what == what)


@pytest.fixture
def setup() -> Setup:
    made = make_setup("HM", 1, StreamMarket(), 0.0)
    return replace(made, rules=made.rules._replace(feedback=0))


def with_rules(setup: Setup, **rules: float) -> Setup:
    return replace(setup, rules=setup.rules._replace(**rules))  # type: ignore[arg-type]


def test_the_soft_limit_that_would_have_kept_a_job_on_the_reserve_does(setup: Setup, tmp_path: Path) -> None:
    jobs = [arrival("a", 11, GENTLE), arrival("b", 1, GENTLE, 1.0)]
    story = story_of(setup, jobs, tmp_path / "run.journal")
    assert "on-demand" in last_place(setup, jobs).place
    found = turn(story, "soft limit")
    assert found.now == setup.rules.soft < found.at == 11 / 16
    assert last_place(with_rules(setup, soft=math.nextafter(found.at, 1)), jobs).place == "reserved server 0"
    assert "on-demand" in last_place(with_rules(setup, soft=found.at), jobs).place


@pytest.mark.parametrize("cores", [11.0, 15.0])
def test_so_many_servers_more_would_have_taken_the_job_and_one_fewer_not(
    setup: Setup, tmp_path: Path, cores: float
) -> None:
    setup = replace(setup, pool=2)
    jobs = [arrival("a", cores, GENTLE), arrival("b", cores, GENTLE), arrival("c", 1, GENTLE, 1.0)]
    story = story_of(setup, jobs, tmp_path / "run.journal")
    found = turn(story, "reserved servers")
    assert story.considered is not None
    assert "on-demand" in story.considered.decision.place
    assert found.at > found.now == 2
    assert last_place(replace(setup, pool=int(found.at)), jobs).place.startswith("reserved server")
    assert not last_place(replace(setup, pool=int(found.at) - 1), jobs).place.startswith("reserved server")


def test_a_quality_below_what_is_offered_would_have_sent_a_queued_job_on_demand(setup: Setup) -> None:
    now = Situation(0.9, 0.6, 0, 6000, 7000, 3.0, 15.0, 0.5, 0)
    found = {t.what: t for t in turns(replace(setup, pool=10), now, 1000, Ahead(0, 0), 0)}
    quality = found["quality it needs"]
    assert (quality.now, quality.at, quality.then) == (0.7, 0.6, "on demand")
    assert choose(setup.rules, now._replace(needed=5999))[0] == codes.ON_DEMAND
    assert choose(setup.rules, now._replace(needed=6000))[0] == codes.QUEUE
    wait = found["expected wait"]
    assert choose(setup.rules, now._replace(wait=wait.at + 0.001))[0] == codes.LARGE
    assert choose(setup.rules, now._replace(wait=wait.at))[0] == codes.QUEUE


def test_those_that_wait_before_a_job_need_servers_too(setup: Setup) -> None:
    now = Situation(0.9, 0.6, 0, 6000, 7000, 3.0, 15.0, 0.5, 0)
    pool = replace(setup, pool=10)
    alone = {t.what: t for t in turns(pool, now, 1000, Ahead(0, 0), 0)}["reserved servers"]
    behind = {t.what: t for t in turns(pool, now, 1000, Ahead(8, 64_000), 0)}["reserved servers"]
    assert behind.at > alone.at
    cores, more = pool.reserved_cores, 3 * pool.large.cores
    used = with_servers(pool, now, 3, Ahead(8, 64_000)).utilisation
    assert used == pytest.approx((0.9 * cores + 64_000) / (cores + more))
    for found, ahead in ((alone, Ahead(0, 0)), (behind, Ahead(8, 64_000))):
        more = int(found.at - found.now)
        assert choose(setup.rules, with_servers(pool, now, more, ahead))[0] == codes.RESERVED
        assert choose(setup.rules, with_servers(pool, now, more - 1, ahead))[0] != codes.RESERVED or more == 1


def test_a_job_on_the_reserve_says_which_limit_would_have_sent_it_away(setup: Setup, tmp_path: Path) -> None:
    jobs = [arrival("a", 4, GENTLE), arrival("b", 1, GENTLE, 1.0)]
    story = story_of(setup, jobs, tmp_path / "run.journal")
    found = turn(story, "soft limit")
    assert (found.at, found.then) == (0.25, "on demand")
    assert "on-demand" in last_place(with_rules(setup, soft=found.at), jobs).place


def test_a_job_too_large_for_any_type_has_no_turn(setup: Setup, tmp_path: Path) -> None:
    story = story_of(setup, [arrival("a", 64, TOUCHY)], tmp_path / "run.journal")
    assert story.turns == ()


def test_where_nothing_is_rented_a_job_is_measured_by_what_is_reserved() -> None:
    """A job of 100 GiB was told that no type has them, with the name of one that has 128."""
    setup = make_setup("SR", 1, StreamMarket(Provider("aws"), "us-east-1", ("m5", "r5")))
    refused = last_place(setup, [replace(arrival("a", 2), memory=100 * 1024)])
    told = "it asks for 2 vCPUs and 100.0 GiB; no reserved server has that (m5.4xlarge: 16 and 64.0)"
    assert (refused.action, refused.why) == (DecisionAction.REFUSE, told)
    of_memory = next(number for number, kind in enumerate(setup.types) if kind.name == "r5.4xlarge")
    beside = replace(setup, rules=setup.rules._replace(large=of_memory), beside=((setup.rules.large, 1),))
    refused = last_place(beside, [replace(arrival("a", 2), memory=200 * 1024)])
    assert refused.why == "it asks for 2 vCPUs and 200.0 GiB; no reserved server has that (r5.4xlarge: 16 and 128.0)"
    lost = last_place(setup, [Pool(0.5, 0), arrival("a", 2, at=1.0)])
    assert (lost.action, lost.reason) == (DecisionAction.QUEUE, "held-by-none")
