"""Jobs of several servers: all of them or none whatever happens, one sample for all pieces, packed or spread."""

from __future__ import annotations

import random

import pytest
from crowds import CORES, GONE, QUEUED, STARTED, Crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from placing import SIZES, Pool, rules_of

from hcloud.control.controller import arrive, leave
from hcloud.control.losses import cancel
from hcloud.control.searching.candidates import sample
from hcloud.control.searching.together import MOST_AT_ONCE, choose_servers
from hcloud.control.sessions.arrivals import at_once
from hcloud.control.state import OWN
from hcloud.policy.codes import BY_LOAD, BY_MATCH, BY_NUMBER
from hcloud.policy.rules import Rules

EACH = "placement.gang=false"
SPREAD = "placement.locality=spread"
RACKS = ("placement.locality=spread-racks", "placement.rack_servers=2")
KINDS = [
    ("tarcil", ()), ("tarcil", (EACH,)), ("greedy", ()), ("power-of-two", (SPREAD,)), ("paragon", (SPREAD,)),
    ("tarcil", RACKS),
]  # fmt: skip


def check_groups(crowd: Crowd) -> None:
    """Pieces that have come and not ended are all on servers or all waiting; spread ones have a server, or a rack,
    each."""
    crowd.check()
    control, at = crowd.control, 0
    while at < crowd.next:
        rows = range(at, at + crowd.pieces[at])
        here = [row for row in rows if crowd.state.get(row, GONE) != GONE]
        seated = [control.jobs[row].server for row in here if control.jobs[row].server >= 0]
        if control.rules.gang:
            assert len(seated) in (0, len(here)), rows
        if control.rules.spread and all(crowd.starts[row] == crowd.starts[at] for row in rows):
            assert len({server // control.rules.spread for server in seated}) == len(seated)
        at += len(rows)


@pytest.mark.parametrize(("placement", "changes"), KINDS)
@settings(max_examples=2)
@given(seed=st.integers(0, 10**6))
def test_nothing_is_given_twice_and_a_job_has_all_servers_or_none(
    placement: str, changes: tuple[str, ...], seed: int
) -> None:
    crowd = Crowd(placement, 6, seed, changes, 4)
    for _ in range(80):
        crowd.step()
        check_groups(crowd)
    stuck = 0
    while crowd.of(QUEUED) and stuck < 2:  # those that fit an empty pool begin when all others have ended
        running = crowd.of(STARTED)
        stuck = stuck + 1 if not running else 0
        for job in running[:1]:
            crowd.pass_time(0.01)
            crowd.state[job] = GONE
            leave(crowd.control, job, 1.0, crowd.now)
        crowd.obey()
        check_groups(crowd)
    servers, spread = len(crowd.servers), crowd.control.rules.spread
    for job in crowd.of(QUEUED):
        held = -(-servers // spread) if spread else servers * (CORES // int(crowd.control.jobs[job].ask))
        left = sum(crowd.state.get(row) == QUEUED for row in rows_with(crowd, job))
        assert left > held, "forgotten"


def test_the_pieces_that_are_left_begin_when_the_others_are_cancelled() -> None:
    """Two pieces want two racks and there is one; nobody else comes or goes."""
    crowds = (Crowd("tarcil", 2, seed, RACKS, 2) for seed in range(20))
    crowd = next(one for one in crowds if one.pieces[0] == 2)
    arrive(crowd.control, 1, 0.0)
    crowd.obey()
    assert sorted(crowd.of(QUEUED)) == [0, 1]
    cancel(crowd.control, 0, 1.0)
    crowd.obey()
    assert crowd.of(STARTED) == [1]


def rows_with(crowd: Crowd, job: int) -> range:
    """All pieces of a job, by one of them."""
    at = 0
    while at + crowd.pieces[at] <= job:
        at += crowd.pieces[at]
    return range(at, at + crowd.pieces[at])


def group(made: Pool, count: int, cores: int) -> list[int]:
    """A job of several pieces in the tables of a pool."""
    rows = [made.job(cores, [made.chance.randint(0, 40)] * 10) for _ in range(count)]
    for at, row in enumerate(rows):
        one, first = made.jobs[row], made.jobs[rows[0]]
        one.memory, one.coin, one.platform, one.high, one.low = (
            first.memory, first.coin, first.platform, first.high, first.low,
        )  # fmt: skip
        one.vector[:], one.tolerates[:] = first.vector, first.tolerates
        one.piece_after, one.piece_before = rows[(at + 1) % count] + 1, rows[at - 1] + 1
    return rows


def state_of(made: Pool) -> list[tuple[object, ...]]:
    """All that seats change, but for the order in which servers are listed."""
    control = made.control
    servers = [control.servers[at] for at in range(len(made.kind))]
    told = [(s.status, s.used, s.memory, s.tenants, s.first, s.pressure.tolist(), s.room.tolist()) for s in servers]
    return [*told, (int(control.desk.used),)]


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), ranking=st.sampled_from([BY_MATCH, BY_LOAD, BY_NUMBER]), spread=st.integers(0, 4))
def test_a_choice_changes_nothing_and_holds(seed: int, ranking: int, spread: int) -> None:
    """Whoever is chosen has room for all that are chosen for it; pieces are refused only where they do not fit."""
    chance, sampled = random.Random(seed), ranking != BY_NUMBER
    terms = {"candidates": 4, "most_candidates": 1024} if sampled else {}
    made = Pool(rules_of(ranking, spread=spread, **terms), (chance.randint(1, 8), chance.randint(1, 8)), chance)
    made.fill(chance.choice([0.3, 0.8, 0.95]))
    cores = chance.choice([1_000, 2_000])
    rows = group(made, chance.randint(2, 12), cores)
    before, room = state_of(made), [made.left(place) // cores for place in range(len(made.kind))]
    for at in (place for place in range(len(room)) if room[place]):
        memory = SIZES[made.kind[at]][1] - int(made.control.servers[at].memory)
        room[at] = min(room[at], memory // int(made.jobs[rows[0]].memory))
    found = choose_servers(made.control, rows[0])
    assert state_of(made) == before
    racks = {place // spread for place in range(len(room)) if spread and room[place]}
    held = len(racks) if spread else sum(room)
    assert found == (held >= len(rows))
    if found:
        chosen = [int(made.jobs[row].chosen) for row in rows]
        assert all(chosen.count(place) <= room[place] for place in chosen)
        assert not spread or len({place // spread for place in chosen}) == len(chosen)


@settings(max_examples=60)
@given(lots=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=5), spread=st.integers(0, 6))
def test_what_an_empty_reserve_holds_is_counted_rack_by_rack(lots: list[tuple[int, int]], spread: int) -> None:
    """Racks may hold servers of several lots, and lots on which a job may not run."""
    servers = [vcpus for vcpus, count in lots for _ in range(count)]
    racks = {number // spread for number, vcpus in enumerate(servers) if spread and vcpus}
    held = at_once([(1_000 * vcpus, 64, count) for vcpus, count in lots], (1_000, 1), Rules(spread=spread))
    assert held == (len(racks) if spread else sum(servers))


def test_one_sample_is_drawn_for_all_pieces_and_its_best_are_taken() -> None:
    chance = random.Random(3)
    made = Pool(rules_of(BY_LOAD, candidates=4, most_candidates=1024, spread=1), (0, 60), chance)
    made.fill(0.6)
    rows, control = group(made, 8, 1_000), made.control
    control.desk.pieces, searches = len(rows), int(control.desk.searches)
    found = sample(control, made.jobs[rows[0]], (OWN, 1_000, -1))
    control.desk.pieces, control.desk.searches = 0, searches
    assert found == 4 * 8
    drawn = {control.candidates[at].server for at in range(found)}
    best = sorted(drawn, key=lambda place: control.servers[place].used)
    assert choose_servers(control, rows[0])
    used = sorted(int(control.servers[made.jobs[row].chosen].used) for row in rows)
    assert used == [int(control.servers[place].used) for place in best[:8]]


def test_pieces_that_are_packed_are_on_few_servers() -> None:
    made = Pool(rules_of(BY_LOAD, candidates=4, most_candidates=1024), (0, 30), random.Random(3))
    rows = group(made, 32, 1_000)
    assert choose_servers(made.control, rows[0])
    assert len({int(made.jobs[row].chosen) for row in rows}) == 2  # of 16 vCPUs each


FULL = 60


def late(pieces: int) -> Crowd:
    """Agents that know nothing of each other, after most servers were filled by one of them."""
    crowd = Crowd("tarcil", 80, 5, ("placement.candidates=1",))
    control = crowd.control
    for row in range(FULL + pieces):
        control.jobs[row].ask = CORES if row < FULL else 1_000
    for row in range(FULL):
        control.desk.agent = 0
        arrive(control, row, 0.0)
    crowd.obey()
    for row in range(FULL, FULL + pieces):
        control.jobs[row].piece_after = row + 2 if row + 1 < FULL + pieces else FULL + 1
        control.jobs[row].piece_before = row if row > FULL else FULL + pieces
    control.desk.agent, control.desk.copy_age = 1, 100.0
    return crowd


def test_of_many_units_those_that_were_free_are_kept_and_the_rest_is_drawn_anew() -> None:
    """A commit of up to 32 units is all or nothing: others took some, so the agent decides anew."""
    few, many = late(MOST_AT_ONCE), late(MOST_AT_ONCE + 1)
    for crowd, again in ((few, 1), (many, 0)):
        control = crowd.control
        found = choose_servers(control, FULL)
        assert control.desk.conflicts > 0
        assert control.desk.lost == again
        assert found == (not again)
    assert few.control.desk.drawn_anew == 0
    assert 0 < many.control.desk.drawn_anew < MOST_AT_ONCE


def test_a_waiting_job_of_which_a_piece_is_cancelled_waits_on_without_it() -> None:
    crowd = Crowd("greedy", 2, 1, (), 1)
    control = crowd.control
    for row in range(4):
        control.jobs[row].ask = CORES
    arrive(control, 0, 0.0)
    crowd.obey()
    for row in (1, 2, 3):  # three servers, of which there are two
        control.jobs[row].piece_after, control.jobs[row].piece_before = (row % 3) + 2, (row + 1) % 3 + 2
    arrive(control, 3, 1.0)
    crowd.obey()
    assert control.desk.queued == 3
    cancel(control, 3, 2.0)  # it stood in the queue for all
    crowd.obey()
    crowd.state[3] = GONE
    assert (control.desk.queued, crowd.of(STARTED)) == (2, [0])
    leave(control, 0, 1.0, 3.0)
    crowd.state[0] = GONE
    crowd.obey()
    assert crowd.of(STARTED) == [1, 2]
    crowd.check()
