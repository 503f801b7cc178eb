"""Replicas on idle space: sets for blocks by a system, and what becomes of them in a year of reimages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hcloud.errors import EvidenceError, InputError
from hcloud.harvest.centre import Reimages
from hcloud.harvest.grid import can_differ, grid_of
from hcloud.harvest.kernels import compiled, lasting, pool
from hcloud.harvest.kernels.pool import BlockPool
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.servers import Servers
from hcloud.units import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Ints = NDArray[np.int64]
    Sets = NDArray[np.int32]

SYSTEMS: Mapping[str, int] = {
    "history": pool.HISTORY,
    "spread": pool.SPREAD,
    "balanced": pool.BALANCED,
    "stock": pool.STOCK_HADOOP,
    "random": pool.RANDOM,
    "best-first": pool.BEST_FIRST,
}
"""Systems by name: the study's; its environments alone; its grid alone; a file system's usual one; and two rivals."""
MIB_IN_GIB = 1024
MICROSECONDS = 1_000_000
REFUSALS = ("no server for the writer's copy", "no legal server", "no reserved server")
RELAXED = ("column", "row", "environment", "reserved")


@dataclass(frozen=True)
class ReplicaPool:
    """Servers as replicas see them: of each tenant the reimages a server and month, and the peak and busy times of its
    use. ``busy`` has a row a step of ``step`` seconds and a column a tenant; without histories it has none."""

    servers: Servers
    policy: HarvestPolicy
    rate: Floats
    peak: Floats
    busy: NDArray[np.bool_]
    copies: int = 3
    groups: tuple[str, ...] = ()
    step: float = 0.0

    @cached_property
    def blocks(self) -> Ints:
        """How many blocks each server has space for."""
        return np.floor(self.servers.space * MIB_IN_GIB / self.policy.block_mib).astype(np.int64)

    @cached_property
    def space(self) -> Floats:
        """The same of each tenant."""
        return np.bincount(self.servers.tenants.of, self.blocks, len(self.servers.tenants.names)).astype(np.float64)

    @cached_property
    def environment(self) -> Ints:
        """The environment of each tenant."""
        found = np.zeros(len(self.space), np.int64)
        found[self.servers.tenants.of] = self.servers.groups["environment"].of
        return found

    @cached_property
    def cell(self) -> Ints:
        """The cell of each tenant."""
        return grid_of(self.space, self.rate, self.peak, self.policy.grid_side)


@dataclass(frozen=True, slots=True)
class PlacedSets:
    """A server of each copy of each block (none: -1 throughout), and counts of blocks by outcome, then of what was
    relaxed."""

    sets: Sets
    told: Ints
    pool: BlockPool

    @property
    def refused(self) -> dict[str, int]:
        """Blocks without a set, by reason."""
        return {why: int(count) for why, count in zip(REFUSALS, self.told[1:4], strict=True) if count}

    @property
    def relaxed(self) -> dict[str, int]:
        """Sets for which something was relaxed, by what."""
        return {what: int(count) for what, count in zip(RELAXED, self.told[4:8], strict=True) if count}


@dataclass(frozen=True, slots=True)
class LastedYear:
    """What became of sets: blocks lost, copies made, copies for which there was no server, and how often a block waited
    since all servers that have it or may take it were busy."""

    lost: int
    copied: int
    stuck: int
    put_off: int


def check_replicas(found: ReplicaPool, blocks: int) -> None:
    """EvidenceError where the rules cannot hold for these servers, InputError where there is no space."""
    side, file = found.policy.grid_side, found.servers.file
    if not found.blocks.any():
        raise InputError(
            f"{file}: no server has space for a block of {found.policy.block_mib} MiB",
            hint="the column harvest_gib states how much of its disk may be used",
        )
    eligible = int((found.space > 0).sum())
    if eligible < side:
        raise EvidenceError(
            f"{file}: {counted(eligible, 'tenant')} with space; replicas need {side}, so that no two are of one tenant"
        )
    most = float(found.space.max() / found.space.sum())
    if found.copies > 1 and most > 1 - 1 / found.copies:
        name = found.servers.tenants.names[int(found.space.argmax())]
        raise EvidenceError(
            f"{file}: tenant {name!r} has {most:.0%} of the space; {found.copies} copies of every block on tenants that"
            f" differ need {1 - 1 / found.copies:.0%} at most"
        )
    environments = len(np.unique(found.environment[found.space > 0]))
    if found.copies > environments:
        raise EvidenceError(
            f"{file}: {counted(environments, 'environment')} with space; {found.copies} copies of a block need as many"
            " environments that differ",
            hint=f"--replicas {environments} at most, or servers of more environments" if environments > 1 else "",
        )
    has_space = found.space > 0
    if found.policy.replica_rules == "hard" and not can_differ(
        found.cell[has_space], found.environment[has_space], side, found.copies
    ):
        raise EvidenceError(
            f"{file}: no {found.copies} of its {counted(eligible, 'tenant')} in {counted(environments, 'environment')}"
            f" differ in row, column and environment of the grid, as the copies of a block must",
            hint="servers of more tenants and environments; or replica_rules: soft in a --policy of your own, by which"
            " copies share columns, then rows, then environments where nothing else is left, each counted",
        )
    if blocks * found.copies > found.blocks.sum():
        raise InputError(
            f"{file}: {counted(blocks, 'block')} in {found.copies} copies need {blocks * found.copies:,} places, and"
            f" there are {int(found.blocks.sum()):,}",
            hint="fewer blocks, or more harvest_gib",
        )


def pool_of(found: ReplicaPool, system: str, seed: int) -> BlockPool:
    """The arrays that kernels work on, all servers empty."""
    servers, policy, tenants = found.servers, found.policy, found.servers.tenants.of
    many = len(found.space)
    has_space = found.blocks > 0
    reserved = servers.on_reserved.astype(np.int64)
    order = np.lexsort((np.arange(len(tenants)), ~has_space, tenants))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    racks = servers.groups["rack"].of if "rack" in servers.groups else tenants
    members = np.argsort(found.cell, kind="stable")
    cells = policy.grid_side**2
    code = pool.STOCK_PAPER if (system, policy.stock_rule) == ("stock", "paper") else SYSTEMS[system]
    stream = np.random.default_rng([seed, 4]).integers(1, 2_000_000_000, 2)
    keys = [servers.groups[name].of for name in found.groups] if system == "history" else []
    idle = np.zeros((1, many), np.bool_)
    return BlockPool(
        tenant=tenants.astype(np.int64),
        left=found.blocks.copy(),
        reserved=reserved,
        place=place,
        open_servers=order.astype(np.int64),
        first=np.concatenate(([0], np.cumsum(np.bincount(tenants, minlength=many)))).astype(np.int64),
        open_count=np.bincount(tenants, has_space, many).astype(np.int64),
        space=found.space.astype(np.int64),
        open_reserved=np.bincount(tenants, reserved * has_space, many).astype(np.int64),
        cell=found.cell,
        members=members.astype(np.int64),
        cell_first=np.searchsorted(found.cell[members], np.arange(cells + 1)).astype(np.int64),
        environment=found.environment,
        order=np.lexsort((np.arange(many), found.peak, found.rate)).astype(np.int64),
        rack=racks.astype(np.int64),
        racked=np.argsort(racks, kind="stable").astype(np.int64),
        rack_first=np.searchsorted(np.sort(racks), np.arange(int(racks.max()) + 2)).astype(np.int64),
        groups=np.array(keys, np.int32).reshape(len(keys), len(tenants)),
        busy=np.vstack([found.busy, idle]) if len(found.busy) else idle,
        stream=stream.astype(np.int64),
        cells=np.zeros(cells, np.int64),
        fitting=np.zeros(many, np.int64),
        taken=np.zeros(found.copies, np.int64),
        chosen=np.zeros(found.copies, np.int64),
        want=np.zeros(5, np.int64),
        system=code,
        copies=found.copies,
        side=policy.grid_side,
        hard=int(policy.replica_rules == "hard"),
        by_space=int(policy.tenant_weight == "space"),
        on_reserved=int(reserved.any() and not reserved.all()),
    )


def place_blocks(found: ReplicaPool, system: str, blocks: int, seed: int, writers: Ints | None = None) -> PlacedSets:
    """A set for every block, written one after the other over the time of the histories; its writer is any server
    where none is said."""
    made = pool_of(found, system, seed)
    sets, told = np.full((blocks, found.copies), -1, np.int32), np.zeros(8, np.int64)
    steps = len(found.busy)
    row = np.arange(blocks, dtype=np.int64) * steps // max(blocks, 1) if steps else np.zeros(blocks, np.int64)
    wrote = np.full(blocks, -1, np.int64) if writers is None else writers
    compiled.kernels(blocks)["place"](made, wrote, row, sets, told)
    return PlacedSets(sets, told, made)


def busy_times(use: NDArray[np.float32], policy: HarvestPolicy) -> NDArray[np.bool_]:
    """When each tenant leaves less than the reserve free: a row a step."""
    return np.ascontiguousarray(np.float32(1.0 - policy.reserve_cores) < use.T)


def failed_accesses(found: ReplicaPool, sets: Sets, accesses: int, seed: int) -> int:
    """Of accesses to blocks drawn at times drawn, those at which every server of the block is busy."""
    chance = np.random.default_rng([seed, 5])
    placed = sets[sets[:, 0] >= 0]
    if not len(placed) or not len(found.busy):
        return 0
    failed, at_once = 0, 1 << 18
    for begin in range(0, accesses, at_once):
        many = min(at_once, accesses - begin)
        step, block = chance.integers(0, len(found.busy), many), chance.integers(0, len(placed), many)
        tenants = found.servers.tenants.of[placed[block]]
        failed += int(found.busy[step[:, None], tenants].all(axis=1).sum())
    return failed


@dataclass(frozen=True, slots=True)
class ServerEvents:
    """What happens to servers in a year: reimages, and which of them are announced."""

    reimages: Reimages
    announced: NDArray[np.bool_]


def last_a_year(found: ReplicaPool, placed: PlacedSets, happens: ServerEvents, rate: float | None = None) -> LastedYear:
    """What becomes of the sets while servers are reimaged and lost copies are made again. ``rate`` is how many copies a
    server makes an hour, else as the policy says for full servers."""
    year = _year(found, placed.sets, rate)
    placed.pool.want[pool.BUSY_ROW] = len(placed.pool.busy) - 1
    events = _events(happens, found.policy)
    on_a_server = placed.sets.size // len(found.servers) + 1
    known = compiled.kernels(on_a_server * len(events))
    known["fill"](year)
    year = year._replace(
        entries=np.zeros(max(placed.sets.size, 1), np.int32),
        batch_end=np.zeros(len(events) + 1, np.int64),
        batch_ready=np.zeros(len(events) + 1, np.int64),
    )
    known["last"](placed.pool, year, events)
    return LastedYear(*year.counts.tolist())


def copies_an_hour(found: ReplicaPool, blocks: int) -> float:
    """What a server copies an hour: as the policy says for servers with so many copies, and so much less of fewer, so
    that mending takes as long as with all of them."""
    held = blocks * found.copies / len(found.servers)
    return found.policy.copies_an_hour * min(held / found.policy.full_server, 1.0)


def _year(found: ReplicaPool, sets: Sets, rate: float | None) -> Any:
    blocks = int((sets[:, 0] >= 0).sum())
    an_hour = (copies_an_hour(found, blocks) if rate is None else rate) * len(found.servers)
    first = np.concatenate(([0], np.cumsum(found.blocks))).astype(np.int64)
    clock = np.zeros(8, np.int64)
    clock[lasting.NOTICED] = found.policy.missed_heartbeats * MICROSECONDS
    clock[lasting.STEP] = int(found.step * MICROSECONDS)
    clock[lasting.EACH] = max(int(3600 * MICROSECONDS / max(an_hour, 1e-9)), 1)
    return lasting.Year(
        blocks=np.zeros(int(first[-1]), np.int32),
        first=first,
        held=np.zeros(len(found.servers), np.int64),
        capacity=found.blocks,
        leaving=np.zeros(len(found.servers), np.bool_),
        sets=sets,
        entries=np.zeros(1, np.int32),
        batch_end=np.zeros(1, np.int64),
        batch_ready=np.zeros(1, np.int64),
        clock=clock,
        counts=np.zeros(4, np.int64),
    )


def _events(happens: ServerEvents, policy: HarvestPolicy) -> Ints:
    """All events in order: of an announced reimage its notice, too."""
    reimages, told = happens.reimages, happens.announced
    notices = Reimages(np.maximum(reimages.times[told] - policy.notice, 0.0), reimages.servers[told])
    rows = [
        np.column_stack([(log.times * MICROSECONDS).astype(np.int64), log.servers, np.full_like(log.servers, kind)])
        for log, kind in ((reimages, lasting.REIMAGE), (notices, lasting.NOTICE))
    ]
    events: Ints = np.concatenate(rows).astype(np.int64)
    return events[np.lexsort((events[:, 1], events[:, 2], events[:, 0]))]


def a_year_of(log: Reimages, days: float, seed: int) -> tuple[Reimages, NDArray[np.intp]]:
    """A year of weeks drawn from a log, and which entry of the log each is: what comes together stays together."""
    chance = np.random.default_rng([seed, 6])
    week, weeks = 7 * 86_400.0, int(days // 7)
    begin = np.searchsorted(log.times, np.arange(weeks) * week)
    end = np.searchsorted(log.times, (np.arange(weeks) + 1) * week)
    drawn = chance.integers(0, weeks, 52).tolist()
    rows = np.concatenate([np.arange(begin[w], end[w]) for w in drawn])
    shift = np.concatenate([np.full(end[w] - begin[w], (at - w) * week) for at, w in enumerate(drawn)])
    return Reimages(log.times[rows] + shift, log.servers[rows]), rows


def fill_by_size(found: ReplicaPool, left: Ints) -> tuple[float, ...]:
    """How full small, middle and large tenants are: a third of the tenants with space each."""
    used = found.space - np.bincount(found.servers.tenants.of, left, len(found.space))
    with_space = np.flatnonzero(found.space > 0)
    by_size = with_space[np.argsort(found.space[with_space], kind="stable")]
    thirds: Sequence[Ints] = np.array_split(by_size, 3)
    return tuple(float(used[rows].sum() / max(found.space[rows].sum(), 1.0)) for rows in thirds)
