"""Replicas on idle space: the grid, the rules of Algorithm 2, its rivals, and what a year of reimages does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.errors import EvidenceError, InputError
from hcloud.harvest.centre import CENTRES, MONTH, Centre, Reimages, centre, reimages_of
from hcloud.harvest.grid import grid_of, space_by_cell
from hcloud.harvest.histories import DAY
from hcloud.harvest.kernels import compiled
from hcloud.harvest.kernels.pool import is_open
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.replicas import (
    SYSTEMS,
    ReplicaPool,
    ServerEvents,
    a_year_of,
    check_replicas,
    failed_accesses,
    last_a_year,
    place_blocks,
    pool_of,
)
from hcloud.harvest.servers import ServerGroup, Servers
from hcloud.harvest.typing import CONSTANT, UNPREDICTABLE
from hcloud.readers.harvest.policy import load_harvest

POLICY = load_harvest()
QUIET = Reimages(np.zeros(0), np.zeros(0, np.int64))


@pytest.fixture(autouse=True)
def plain() -> Iterator[None]:
    """Few blocks a test: plain Python places them."""
    compiled.SET.spent[""] = -(10**9)
    yield
    compiled.SET.spent[""] = 0


def pool(
    tenants: int = 36,
    servers: int = 5,
    *,
    environment: int = 2,
    market: tuple[str, ...] = ("reserved",),
    space: float = 50.0,
    **policy: Any,
) -> ReplicaPool:
    """Tenants of some servers with space for 200 blocks each, two tenants an environment; racks of four servers."""
    owner = np.repeat(np.arange(tenants), servers)
    count = len(owner)
    groups = {
        "tenant": ServerGroup(tuple(f"t{at}" for at in range(tenants)), owner),
        "environment": ServerGroup(tuple(f"e{at}" for at in range(tenants)), owner // environment),
        "rack": ServerGroup(tuple(f"r{at}" for at in range(count)), np.arange(count) // 4),
        "market": ServerGroup(market, np.arange(count) % len(market)),
    }
    cores, memory, disk = np.full(count, 16.0), np.full(count, 64.0), np.full(count, space)
    found = Servers("servers.csv", tuple(f"s{at}" for at in range(count)), cores, memory, disk, groups)
    chance = np.random.default_rng(tenants)
    rate, peak = chance.random(tenants), chance.random(tenants)
    return ReplicaPool(found, replace(POLICY, **policy), rate, peak, np.zeros((0, tenants), np.bool_))


def groups_of(found: ReplicaPool, sets: Any, key: str) -> list[list[int]]:
    """The group of every copy of every block."""
    cell = found.cell[found.servers.tenants.of]
    side = found.policy.grid_side
    codes = {"row": cell // side, "column": cell % side}.get(key)
    groups: list[list[int]] = np.asarray(found.servers.groups[key].of if codes is None else codes)[sets].tolist()
    return groups


@pytest.mark.parametrize("seed", range(20))
def test_each_tenant_has_one_cell_and_cells_are_alike_within_half_the_largest(seed: int) -> None:
    chance = np.random.default_rng(seed)
    space = np.exp(chance.normal(3.0, 1.0, 60))
    cell = grid_of(space, chance.random(60), chance.random(60), 3)
    assert cell.shape == (60,)
    columns = np.bincount(cell % 3, space, 3)
    assert np.all(np.abs(columns - space.sum() / 3) <= space.max())
    each = space_by_cell(space, cell, 3).reshape(3, 3)
    assert np.all(np.abs(each - columns / 3) <= space.max())


def test_columns_go_by_reimages_and_rows_within_them_by_peaks() -> None:
    chance = np.random.default_rng(1)
    rate, peak = chance.random(90), chance.random(90)
    cell = grid_of(np.ones(90), rate, peak, 3)
    for left, right in combinations(range(3), 2):
        assert rate[cell % 3 == left].max() <= rate[cell % 3 == right].min()
    for column in range(3):
        rows = [peak[(cell % 3 == column) & (cell // 3 == row)] for row in range(3)]
        assert rows[0].max() <= rows[1].min()
        assert rows[1].max() <= rows[2].min()
    assert np.all(np.bincount(cell) == 10)


def test_three_copies_are_in_three_rows_columns_and_environments() -> None:
    found = pool()
    sets = place_blocks(found, "history", 600, 1).sets
    for key in ("row", "column", "environment", "tenant"):
        assert {len(set(groups)) for groups in groups_of(found, sets, key)} == {3}


@pytest.mark.slow
@pytest.mark.parametrize("copies", [4, 5, 6])
def test_more_copies_are_all_in_environments_of_their_own(copies: int) -> None:
    found = replace(pool(), copies=copies)
    sets = place_blocks(found, "history", 300, 1).sets
    assert {len(set(groups)) for groups in groups_of(found, sets, "environment")} == {copies}
    assert {len(set(groups)) for groups in groups_of(found, sets[:, :3], "row")} == {3}
    assert {len(set(row)) for row in sets.tolist()} == {copies}


def test_the_writer_keeps_its_copy_and_a_full_one_gives_it_to_its_tenant() -> None:
    found = pool(space=0.75)  # three blocks a server
    writers = np.zeros(10, np.int64)
    sets = place_blocks(found, "history", 10, 1, writers).sets
    assert sets[:3, 0].tolist() == [0, 0, 0]
    assert set((sets[3:, 0] // 5).tolist()) == {0}


def test_hard_never_relaxes_and_soft_says_what_it_did() -> None:
    """All tenants of two of the three columns share an environment."""
    crowded = pool(9, environment=9)
    with pytest.raises(EvidenceError, match="environments that differ"):
        check_replicas(crowded, 10)
    with pytest.raises(EvidenceError, match="10 copies of a block need as many") as refused:
        check_replicas(replace(pool(9), copies=10), 10)
    assert refused.value.hint == "--replicas 5 at most, or servers of more environments"
    hard = place_blocks(crowded, "history", 50, 1)
    assert hard.refused == {"no legal server": 50}
    assert np.all(hard.sets == -1)
    soft = place_blocks(pool(9, environment=9, replica_rules="soft"), "history", 50, 1)
    assert (soft.refused, soft.relaxed["environment"]) == ({}, 50)
    assert {len(set(row)) for row in soft.sets.tolist()} == {3}


def test_a_refused_block_leaves_no_copy_behind() -> None:
    found = pool(9, environment=9)
    made = place_blocks(found, "history", 50, 1).pool
    assert np.array_equal(made.left, found.blocks)
    assert made.space.sum() == found.blocks.sum()


def test_space_is_never_exceeded_and_counts_stay_true() -> None:
    found = pool(18, 3, environment=1, space=2.5, replica_rules="soft")  # 10 blocks a server
    placed = place_blocks(found, "history", 170, 3)
    held = np.bincount(placed.sets[placed.sets >= 0], minlength=54)
    assert np.array_equal(placed.pool.left, 10 - held)
    for server in range(54):
        assert is_open(placed.pool, server) == (placed.pool.left[server] > 0)
    assert np.array_equal(placed.pool.space, np.bincount(found.servers.tenants.of, placed.pool.left))
    assert placed.told[0] > 160


def test_tenants_are_drawn_by_their_space_or_alike() -> None:
    sizes = np.repeat([1, 9], 18)
    base = pool()
    owner = np.repeat(np.arange(36), sizes)
    group = ServerGroup(tuple(f"t{at}" for at in range(36)), owner)
    groups = {"tenant": group, "environment": group}
    same = np.full(len(owner), 50.0)
    servers = Servers("servers.csv", tuple(map(str, range(len(owner)))), same, same, same, groups)
    share = {}
    for weight in ("space", "uniform"):
        policy = replace(POLICY, tenant_weight=weight)
        mixed = ReplicaPool(servers, policy, base.rate, base.peak, base.busy)
        sets = place_blocks(mixed, "history", 600, 1).sets[:, 1:]
        share[weight] = float((owner[sets] < 18).mean())
    assert share["space"] == pytest.approx(0.1, abs=0.04)
    assert share["uniform"] > 0.3


@pytest.mark.parametrize("rule", ["hadoop", "paper"])
def test_stock_uses_two_racks_and_keeps_the_first_copy_with_the_writer(rule: str) -> None:
    found = pool(stock_rule=rule)
    sets = place_blocks(found, "stock", 400, 1, np.arange(400) % 180).sets
    racks = groups_of(found, sets, "rack")
    assert {len(set(row)) for row in racks} == {2}
    assert np.array_equal(sets[:, 0], np.arange(400) % 180)
    together = (1, 2) if rule == "hadoop" else (0, 1)
    assert all(row[together[0]] == row[together[1]] for row in racks)


@pytest.mark.slow
def test_rivals_keep_what_they_promise_and_nothing_else() -> None:
    found = pool()
    environments = {s: groups_of(found, place_blocks(found, s, 400, 1).sets, "environment") for s in SYSTEMS}
    distinct = {s: np.mean([len(set(row)) == 3 for row in rows]) for s, rows in environments.items()}
    assert distinct["history"] == distinct["spread"] == 1.0
    assert max(distinct["random"], distinct["stock"], distinct["best-first"]) < 1.0
    rows = groups_of(found, place_blocks(found, "balanced", 400, 1).sets, "row")
    assert {len(set(row)) for row in rows} == {3}
    best = place_blocks(found, "best-first", 60, 1).sets[:, 1:]
    assert set(found.servers.tenants.of[best].reshape(-1).tolist()) <= set(np.argsort(found.rate)[:2].tolist())


def test_further_groups_are_never_shared() -> None:
    found = replace(pool(), groups=("rack",))
    assert {len(set(row)) for row in groups_of(found, place_blocks(found, "history", 400, 1).sets, "rack")} == {3}


def scattered(seed: int) -> ReplicaPool:
    """Some servers of a few tenants, with space for a block or for none, in a few environments, racks and markets."""
    chance = np.random.default_rng(seed)
    tenants, servers = int(chance.integers(3, 9)), int(chance.integers(1, 3))
    made = pool(tenants, servers, market=("reserved", "spot"), replica_rules="hard")
    count, groups = tenants * servers, dict(made.servers.groups)
    environments = chance.integers(0, 4, tenants)
    groups["environment"] = ServerGroup(("a", "b", "c", "d"), np.repeat(environments, servers))
    groups["rack"] = ServerGroup(("a", "b", "c", "d"), chance.integers(0, 4, count))
    groups["market"] = ServerGroup(("spot", "reserved"), chance.integers(0, int(chance.integers(1, 3)), count))
    there = replace(made.servers, groups=groups, space=np.where(chance.random(count) < 0.8, 0.25, 0.0))
    return replace(made, servers=there, groups=("rack",) if chance.random() < 0.5 else ())


def has_set(found: ReplicaPool, writer: int) -> bool:
    """By trying every three servers: the first is the writer or, where that is full, one of its cell."""
    of, free = found.servers.tenants.of, found.blocks > 0
    firsts = [writer] if free[writer] else [s for s in range(len(of)) if found.cell[of[s]] == found.cell[of[writer]]]
    keys = [found.cell[of] // 3, found.cell[of] % 3, found.environment[of]]
    keys += [found.servers.groups[name].of for name in found.groups]
    reserved = found.servers.on_reserved
    needs = reserved.any() and not reserved.all()
    return any(
        free[list(three)].all()
        and all(len({int(key[s]) for s in three}) == 3 for key in keys)
        and (not needs or reserved[list(three)].any())
        for first in firsts
        for three in ((first, *rest) for rest in combinations(range(len(of)), 2))
    )


@given(st.integers(0, 10**6), st.integers(0, 3))
@settings(max_examples=40)
def test_a_block_is_placed_wherever_a_set_exists(seed: int, chance: int) -> None:
    """A first choice of a server may leave none for the last copy: then it is taken back."""
    found = scattered(seed)
    for writer in range(len(found.servers)):
        placed = place_blocks(found, "history", 1, chance, np.array([writer]))
        assert bool((placed.sets >= 0).all()) == has_set(found, writer)


def test_copies_that_are_lost_together_are_made_again_wherever_servers_take_them() -> None:
    """Where they were is such a place; the first new copy may leave none for the second, and is then taken back."""
    seen = 0
    for seed in range(120):
        found = scattered(seed)
        placed = place_blocks(found, "history", 1, seed)
        if placed.refused:
            continue
        first, *lost = placed.sets[0].tolist()
        log = Reimages(np.array([0.0, 0.0, 1e6]), np.array([*lost, first], np.int64))
        year = last_a_year(found, placed, ServerEvents(log, np.zeros(3, np.bool_)), rate=30.0)
        assert (year.lost, year.stuck, year.copied) == (0, 0, 2), seed
        seen += 1
    assert seen > 12


@pytest.mark.slow
def test_a_copy_is_always_on_a_reserved_server() -> None:
    found = pool(market=("spot", "spot", "reserved", "spot", "on-demand"))
    sets = place_blocks(found, "history", 500, 2).sets
    assert found.servers.on_reserved[sets].any(axis=1).all()
    assert {len(set(row)) for row in groups_of(found, sets, "row")} == {3}
    happens = ServerEvents(Reimages(np.arange(0.0, 180 * 86_400.0, 86_400.0), np.arange(180)), np.zeros(180, np.bool_))
    placed = place_blocks(found, "history", 500, 2)
    assert last_a_year(found, placed, happens).copied > 1000
    whole = placed.sets[placed.sets.min(axis=1) >= 0]
    assert found.servers.on_reserved[whole].any(axis=1).all(), "nor is it lost by repair"
    alone = place_blocks(found, "random", 500, 2).sets
    assert not found.servers.on_reserved[alone].any(axis=1).all()


def test_busy_tenants_take_no_blocks_and_all_busy_is_no_access() -> None:
    quiet = pool()
    busy = np.zeros((4, 36), np.bool_)
    busy[:, ::5] = True
    found = ReplicaPool(quiet.servers, POLICY, quiet.rate, quiet.peak, busy)
    sets = place_blocks(found, "history", 300, 1).sets
    assert not busy[0][found.servers.tenants.of[sets]].any()
    assert failed_accesses(found, sets, 5000, 1) == 0
    all_busy = ReplicaPool(quiet.servers, POLICY, quiet.rate, quiet.peak, np.ones((4, 36), np.bool_))
    assert failed_accesses(all_busy, sets, 5000, 1) == 5000


def lasting(found: ReplicaPool, times: list[float], servers: list[int], **more: Any) -> tuple[Any, Any]:
    placed = place_blocks(found, "history", 150, 1)
    log = Reimages(np.array(times, np.float64), np.array(servers, np.int64))
    announced = np.full(len(times), more.pop("announced", False))
    return last_a_year(found, placed, ServerEvents(log, announced), rate=more.pop("rate", 30.0)), placed


def test_losing_one_server_of_every_set_loses_no_block_and_all_are_mended() -> None:
    """And no two copies of a block come into one group by that."""
    found = replace(pool(), groups=("rack",))
    first = place_blocks(found, "history", 150, 1).sets[:, 0]
    servers = sorted(set(first.tolist()))
    year, placed = lasting(
        found, [86_400.0 * at for at in range(len(servers))] + [86_400.0 * 400], [*servers, servers[0]]
    )
    assert (year.lost, year.stuck) == (0, 0)
    assert year.copied >= 150
    for key in ("environment", "row", "column", "rack", "tenant"):
        whole = [row for row in placed.sets.tolist() if min(row) >= 0]
        assert len(whole) > 100
        assert {len(set(groups)) for groups in groups_of(found, whole, key)} == {3}


def test_all_servers_at_once_lose_all_blocks_and_one_after_the_other_none() -> None:
    found = pool()
    year, _ = lasting(found, [0.0] * 180, list(range(180)))
    assert (year.lost, year.copied) == (150, 0)
    slowly, _ = lasting(found, [86_400.0 * at for at in range(180)], list(range(180)))
    assert slowly.lost == 0


def test_busy_servers_neither_give_nor_take_copies() -> None:
    """A day a row: on the third all servers are busy, so what is lost then is copied from the next loss after it on."""
    quiet, day = pool(), 86_400.0
    busy = np.zeros((4, 36), np.bool_)
    busy[2] = True
    found = replace(quiet, busy=busy, step=day)
    held = [int(s) for s in np.unique(place_blocks(found, "history", 150, 1).sets[:75, 0])]
    late, _ = lasting(found, [2.1 * day, 2.5 * day, 2.9 * day], [held[0], held[-1], held[-1]])
    assert (late.copied, late.lost) == (0, 0)
    assert late.put_off > 0
    later, placed = lasting(found, [2.1 * day, 3.1 * day, 60 * day], [held[0], held[-1], held[-1]])
    assert (later.lost, later.stuck) == (0, 0)
    assert 0 < later.put_off <= later.copied
    assert (placed.sets[:75] >= 0).all(), "whoever waited is whole again"
    busy[2, 18:] = False
    found = replace(quiet, busy=busy, step=day)
    before = place_blocks(found, "history", 150, 1).sets
    some, placed = lasting(found, [2.1 * day, 2.9 * day], [int(before[0, 0]), int(before[1, 0])])
    taken = placed.sets[(placed.sets != before) & (placed.sets >= 0)]
    assert some.copied == taken.size > 0
    assert not busy[2, found.servers.tenants.of[taken]].any()


def test_an_announced_reimage_is_drained_first() -> None:
    """All servers but three go at once: what is announced two minutes before is copied to those that stay."""
    found = pool(notice=86_400, replica_rules="soft")
    goes = [at for at in range(180) if at % 60]
    announced, _ = lasting(found, [200_000.0] * len(goes), goes, announced=True)
    sudden, _ = lasting(found, [200_000.0] * len(goes), goes)
    assert sudden.lost > 100
    assert announced.lost < sudden.lost / 10


def test_a_year_is_of_whole_weeks_of_the_log() -> None:
    log = Reimages(np.sort(np.random.default_rng(1).random(500)) * 60 * 86_400, np.arange(500))
    year, rows = a_year_of(log, 60, 3)
    assert np.all(np.diff(year.times) >= 0)
    assert np.allclose((year.times - log.times[rows]) % (7 * 86_400) % (7 * 86_400 - 1e-6), 0, atol=1e-4)
    assert np.array_equal(year.servers, log.servers[rows])


@pytest.mark.parametrize(
    ("found", "blocks", "error", "said"),
    [
        (pool(2, environment=1), 10, EvidenceError, "2 tenants with space; replicas need 3"),
        (pool(8, environment=4), 10, EvidenceError, "2 environments with space; 3 copies"),
        (pool(3, environment=1), 10, EvidenceError, "no 3 of its 3 tenants in 3 environments differ in row, column"),
        (pool(space=0.0), 10, InputError, "no server has space"),
        (pool(), 20_000, InputError, "need 60,000 places, and there are 36,000"),
    ],
)
def test_what_cannot_be_is_refused(found: ReplicaPool, blocks: int, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        check_replicas(found, blocks)


def test_as_many_copies_as_environments_are_placed_where_the_grid_lets_them_and_shared_by_soft_rules() -> None:
    """Three tenants in as many columns lie in one row."""
    enough = pool(9, environment=3)
    check_replicas(enough, 100)
    assert place_blocks(enough, "history", 100, 1).told[0] > 0
    soft = pool(3, environment=1, replica_rules="soft")
    check_replicas(soft, 100)
    assert place_blocks(soft, "history", 100, 1).told[0] == 100


def test_nine_copies_fill_nine_environments_in_whichever_order_their_cells_are_drawn() -> None:
    """One order in three left no cell for the last copies, and refused a block that has room."""
    found = replace(pool(9, environment=1), copies=9)
    placed = place_blocks(found, "history", 40, 1)
    assert placed.refused == {}
    assert {len(set(groups)) for groups in groups_of(found, placed.sets, "environment")} == {9}


def test_all_space_in_one_tenant_is_refused() -> None:
    found = pool()
    space = np.where(found.servers.tenants.of == 4, 900.0, 1.0)
    crowded = ReplicaPool(replace(found.servers, space=space), POLICY, found.rate, found.peak, found.busy)
    with pytest.raises(EvidenceError, match="tenant 't4' has 9"):
        check_replicas(crowded, 10)


def shares_of(made: Centre) -> tuple[float, ...]:
    """Of three years: the shares of servers that are periodic or constant, of tenants that are constant, of servers and
    of tenants that are reimaged at most once a month, and of tenants that change their third at most eight times."""
    owner, months = made.servers.tenants.of, 36
    log = reimages_of(made, months * MONTH / DAY, 1)
    counts = np.zeros((months, len(made.rate)))
    month = np.minimum((log.times // MONTH).astype(np.int64), months - 1)
    np.add.at(counts, (month, owner[log.servers]), 1.0)
    sizes = np.bincount(owner, minlength=len(made.rate))
    each, thirds = np.bincount(log.servers, minlength=len(owner)) / months, thirds_of(counts / sizes)
    return (
        float(sizes[made.pattern != UNPREDICTABLE].sum() / sizes.sum()),
        float((made.pattern == CONSTANT).mean()),
        float((each <= 1.0).mean()),
        float(((counts / sizes).mean(axis=0) <= 1.0).mean()),
        float(((thirds[1:] != thirds[:-1]).sum(axis=0) <= 8).mean()),
    )


def thirds_of(a_month: np.ndarray) -> np.ndarray:
    """Of each month (a row) the third of all tenants that each is in, by the mean of the twelve months up to it: in a
    single month most tenants have none. Of those alike the first are in the lower."""
    total = np.cumsum(np.vstack([np.zeros(a_month.shape[1]), a_month]), axis=0)
    ends = np.arange(1, len(a_month) + 1)
    begins = np.maximum(ends - 12, 0)
    means = (total[ends] - total[begins]) / (ends - begins)[:, None]
    ranks = np.argsort(np.argsort(means, axis=1, kind="stable"), axis=1, kind="stable")
    thirds: np.ndarray = ranks * 3 // a_month.shape[1]
    return thirds


@pytest.mark.slow
@pytest.mark.parametrize("name", CENTRES)
def test_every_synthetic_centre_is_as_the_study_describes_centres(name: str) -> None:
    predictable, constant, calm_servers, calm_tenants, steady = shares_of(centre(CENTRES[name], 0))
    assert predictable == pytest.approx(0.75, abs=0.02)
    assert constant > 0.5
    assert calm_servers >= 0.9
    assert min(calm_tenants, steady) >= 0.8


def test_the_same_seed_gives_the_same_centre_reimages_and_sets() -> None:
    shape = replace(CENTRES["centre-0"], servers=300, tenants=40)
    twice = [centre(shape, 5) for _ in range(2)]
    assert np.array_equal(twice[0].rate, twice[1].rate)
    logs = [reimages_of(made, 60, 1) for made in twice]
    assert np.array_equal(logs[0].times, logs[1].times)
    assert not np.array_equal(logs[0].times[:20], reimages_of(twice[0], 60, 2).times[:20])
    sets = [place_blocks(pool(), "history", 100, 7).sets for _ in range(2)]
    assert np.array_equal(sets[0], sets[1])


OTHERS: dict[str, Any] = {
    "grid_side": 4, "replica_rules": "soft", "tenant_weight": "uniform", "stock_rule": "paper", "block_mib": 128,
    "copies_an_hour": 0.001, "full_server": 1_000_000_000, "missed_heartbeats": 86_400, "notice": 86_400,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("key", OTHERS)
def test_every_number_changes_what_comes_of_it(key: str) -> None:
    system = "stock" if key == "stock_rule" else "history"
    assert came_of(replace(POLICY, **{key: OTHERS[key]}), system) != usually_came(system)


def came_of(policy: HarvestPolicy, system: str) -> tuple[object, ...]:
    """Where blocks lie, what a year makes of them, and what is left to place."""
    base = pool(12, environment=3, space=10.0)
    servers = replace(base.servers, space=base.servers.space * (1 + base.servers.tenants.of % 3))
    found = ReplicaPool(servers, policy, base.rate, base.peak, base.busy)
    placed = place_blocks(found, system, 150, 1)
    sets = placed.sets.copy()
    log = Reimages(np.repeat(np.arange(20) * 40_000.0, 20) + 1e5, np.arange(400) * 7 % 60)
    year = last_a_year(found, placed, ServerEvents(log, log.servers % 2 == 0))
    return sets.tobytes(), year, pool_of(found, "history", 1).left.tobytes()


@cache
def usually_came(system: str) -> tuple[object, ...]:
    """The same by the policy as it is."""
    return came_of(POLICY, system)
