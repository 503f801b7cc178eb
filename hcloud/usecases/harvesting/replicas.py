"""``harvest replicas`` and ``harvest audit``: sets for blocks by several systems, and what a year does to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError, UsageError, did_you_mean
from hcloud.harvest.centre import MONTH, Centre, Reimages, reimages_of, use_of
from hcloud.harvest.histories import DAY, Scaling, TenantHistories, scaled_use
from hcloud.harvest.outcomes import (
    PlacementAudit,
    ReplicaStudy,
    SystemOutcome,
    added,
    grid_cells,
    mean_of,
    shared_groups,
)
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.replicas import (
    SYSTEMS,
    LastedYear,
    PlacedSets,
    ReplicaPool,
    ServerEvents,
    a_year_of,
    busy_times,
    check_replicas,
    copies_an_hour,
    failed_accesses,
    fill_by_size,
    last_a_year,
    place_blocks,
    pool_of,
)
from hcloud.harvest.servers import GROUPS, MARKETS, Servers
from hcloud.readers.harvest.placements import read_blocks, read_placement
from hcloud.readers.harvest.policy import load_harvest
from hcloud.readers.harvest.reimages import ReimageLog, read_reimages
from hcloud.readers.harvest.servers import read_servers
from hcloud.usecases.harvesting.opened import UseRequest, centre_named, open_use
from hcloud.usecases.workloads.sources import SCENARIO_PREFIX

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Sets = NDArray[np.int32]

ACCESSES = 1_000_000
"""Accesses that are tried a seed, of which those that fail are told."""
YEAR_DAYS = 365
_LOG_YEARS, _LOG_SEED, _STEP = 3, 1_000_003, 900


@dataclass(frozen=True, slots=True)
class ReplicaRequest:
    """On which servers replicas lie, what is known of them, how many blocks in how many copies, by which systems, and
    over how many years."""

    servers: str
    reimages: Path | None = None
    util: str | None = None
    blocks: str = "100000"
    copies: int = 3
    systems: tuple[str, ...] = ("history", "stock", "spread")
    seeds: int = 5
    groups: tuple[str, ...] = ()
    mean_use: float | None = None
    scaling: Scaling = Scaling.LINEAR
    policy: Path | None = None
    seed: int = 0
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenedReplicas:
    """The pool; where reimages come from: a centre, or a log, or nowhere."""

    name: str
    pool: ReplicaPool
    centre: Centre | None = None
    log: ReimageLog | None = None

    def year(self, seed: int) -> ServerEvents | None:
        """A year of events; None where nothing is known of reimages."""
        if self.centre is not None:
            made = reimages_of(self.centre, YEAR_DAYS, seed)
            return ServerEvents(made, np.zeros(len(made.times), np.bool_))
        if self.log is None:
            return None
        drawn, rows = a_year_of(self.log.reimages, self.log.days, seed)
        return ServerEvents(drawn, self.log.announced[rows])

    @property
    def log_days(self) -> float:
        """The days that reimages are known of."""
        known = 0.0 if self.log is None else self.log.days
        return float(YEAR_DAYS * _LOG_YEARS) if self.centre is not None else known


@dataclass(frozen=True, slots=True)
class StudiedReplicas:
    """What was found, and the sets of the first system and seed by the names of blocks and servers."""

    study: ReplicaStudy
    blocks: tuple[str, ...]
    servers: Servers
    sets: Sets = field(repr=False)


def open_replicas(request: ReplicaRequest) -> OpenedReplicas:
    """Servers with what is known of their use and reimages: a scenario's, or those of files."""
    policy = load_harvest(request.policy)
    if request.servers.startswith(SCENARIO_PREFIX):
        return _of_centre(request, policy)
    servers = read_servers(Path(request.servers))
    _check_groups(request.groups, servers)
    log = None if request.reimages is None else read_reimages(request.reimages, servers)
    rate = _market_ranks(servers) if log is None else _rates(log.reimages, log.days, servers)
    many = len(servers.tenants.names)
    peak, busy, step = np.ones(many), np.zeros((0, many), np.bool_), 0.0
    if request.util is not None:
        named = Path(request.servers)
        asked = UseRequest(request.util, named, keys=request.keys, policy=request.policy, given="--harvest-set")
        peak, busy, step = _by_use(open_use(asked).histories, servers, policy, request)
    return OpenedReplicas(
        servers.file, ReplicaPool(servers, policy, rate, peak, busy, request.copies, request.groups, step), None, log
    )


def _of_centre(request: ReplicaRequest, policy: HarvestPolicy) -> OpenedReplicas:
    """A synthetic centre: peaks are of the month before, rates of a log of three years before."""
    if request.reimages is not None or request.util is not None:
        raise UsageError("a scenario has its own use and reimages: leave --util and --reimages out")
    made = centre_named(request.servers.removeprefix(SCENARIO_PREFIX), request.seed)
    _check_groups(request.groups, made.servers)
    months = use_of(made, 62, _STEP)
    peak, busy, step = _by_use(months, made.servers, policy, request)
    before = reimages_of(made, _LOG_YEARS * YEAR_DAYS, _LOG_SEED)
    rate = _rates(before, _LOG_YEARS * YEAR_DAYS, made.servers)
    pool = ReplicaPool(made.servers, policy, rate, peak, busy, request.copies, request.groups, step)
    return OpenedReplicas(request.servers, pool, made)


def _check_groups(groups: tuple[str, ...], servers: Servers) -> None:
    for name in groups:
        if name not in servers.groups:
            known = [key for key in GROUPS if key in servers.groups]
            raise UsageError(
                f"--group {name}: {servers.file} has no such column{did_you_mean(name, known)}",
                hint=f"its groups: {', '.join(known)}",
            )


def _by_use(
    histories: TenantHistories, servers: Servers, policy: HarvestPolicy, request: ReplicaRequest
) -> tuple[NDArray[np.float64], NDArray[np.bool_], float]:
    """The peaks of the first half of a history (a month at most), the busy times of the rest, and the seconds of a step
    of these; tenants without a history have the highest peak, and are never known to be busy."""
    use = histories.use
    if request.mean_use is not None:
        use = scaled_use(use, histories.cores, request.mean_use, request.scaling)
    first = min(histories.days // 2, policy.month_days) or histories.days
    cut = first * histories.per_day
    rows = np.array([servers.tenants.names.index(name) for name in histories.tenants])
    later = use[:, cut:] if cut < use.shape[1] else use
    peak, busy = np.ones(len(servers.tenants.names)), np.zeros((later.shape[1], len(servers.tenants.names)), np.bool_)
    peak[rows] = np.quantile(use[:, :cut], policy.peak_quantile, axis=1)
    busy[:, rows] = busy_times(later, policy)
    return peak, busy, 86_400.0 / histories.per_day


def _rates(log: Reimages, days: float, servers: Servers) -> NDArray[np.float64]:
    """Reimages a server and month of every tenant."""
    owner, many = servers.tenants.of, len(servers.tenants.names)
    found: NDArray[np.float64] = np.bincount(owner[log.servers], minlength=many) / np.bincount(owner, minlength=many)
    return found / (days * DAY / MONTH)


def _market_ranks(servers: Servers) -> NDArray[np.float64]:
    """Without a log: reserved machines go least often, then those on demand, then spot."""
    owner, many = servers.tenants.of, len(servers.tenants.names)
    market = servers.groups.get("market")
    if market is None:
        return np.zeros(many)
    rank = np.array([MARKETS.index(name) if name in MARKETS else 0 for name in market.names], np.float64)
    found: NDArray[np.float64] = np.bincount(owner, rank[market.of], many) / np.bincount(owner, minlength=many)
    return found


def study_replicas(request: ReplicaRequest, progress: Callable[[float], None]) -> StudiedReplicas:
    """Every system with every seed."""
    for name in request.systems:
        if name not in SYSTEMS:
            raise UsageError(f"there is no system {name!r}{did_you_mean(name, SYSTEMS)}", hint=", ".join(SYSTEMS))
    opened = open_replicas(request)
    names, writers = _blocks(request.blocks, opened.pool.servers)
    check_replicas(opened.pool, len(names))
    outcomes, kept, done = list[SystemOutcome](), None, 0
    for system in request.systems:
        runs = []
        for seed in range(request.seed, request.seed + request.seeds):
            runs.append(_run(opened, system, writers, seed))
            kept = runs[0].sets if kept is None else kept
            done += 1
            progress(done / (len(request.systems) * request.seeds))
        outcomes.append(_outcome(opened.pool, system, runs))
    assert kept is not None
    return StudiedReplicas(_study(opened, request, tuple(outcomes), len(names)), names, opened.pool.servers, kept)


@dataclass(frozen=True, slots=True)
class _ReplicaRun:
    sets: Sets
    placed: PlacedSets
    year: LastedYear | None
    failed: int | None
    fill: tuple[float, ...]


def _run(opened: OpenedReplicas, system: str, writers: NDArray[np.int64], seed: int) -> _ReplicaRun:
    pool, happens = opened.pool, opened.year(seed)
    placed = place_blocks(pool, system, len(writers), seed, writers)
    sets, fill = placed.sets.copy(), fill_by_size(pool, placed.pool.left)
    failed = failed_accesses(pool, sets, ACCESSES, seed) if len(pool.busy) else None
    year = None if happens is None else last_a_year(pool, placed, happens)
    return _ReplicaRun(sets, placed, year, failed, fill)


def _outcome(pool: ReplicaPool, system: str, runs: list[_ReplicaRun]) -> SystemOutcome:
    years = [run.year for run in runs if run.year is not None]
    return SystemOutcome(
        system,
        sum(int(run.placed.told[0]) for run in runs),
        added([run.placed.refused for run in runs]),
        added([run.placed.relaxed for run in runs]),
        tuple(year.lost for year in years),
        tuple(run.failed for run in runs if run.failed is not None),
        sum(year.copied for year in years),
        sum(year.stuck for year in years),
        sum(year.put_off for year in years),
        mean_of([run.fill for run in runs]),
        shared_groups(pool, runs[0].sets),
    )


def _study(
    opened: OpenedReplicas, request: ReplicaRequest, outcomes: tuple[SystemOutcome, ...], blocks: int
) -> ReplicaStudy:
    pool = opened.pool
    return ReplicaStudy(
        opened.name,
        len(pool.servers),
        len(pool.space),
        len(np.unique(pool.environment)),
        blocks,
        request.copies,
        request.seeds,
        ACCESSES if len(pool.busy) else 0,
        opened.log_days,
        copies_an_hour(pool, blocks),
        grid_cells(pool),
        outcomes,
    )


def _blocks(stated: str, servers: Servers) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """So many blocks, or those of a list."""
    if stated.isdecimal():
        if not 0 < int(stated) <= 50_000_000:
            raise UsageError(f"--blocks {stated}: 1 to 50,000,000 blocks")
        return tuple(f"b{at}" for at in range(int(stated))), np.full(int(stated), -1, np.int64)
    return read_blocks(Path(stated), servers)


def audit(request: ReplicaRequest, placement: Path, least_diverse: float | None = None) -> PlacementAudit:
    """What the copies of a placement share, and what becomes of it in a year; and whether as large a share of its
    blocks as is asked for has every copy in an environment of its own."""
    opened = open_replicas(request)
    pool = opened.pool
    sets, guarded = read_placement(placement, pool.servers)
    if sets.shape[1] != pool.copies:
        pool = replace(pool, copies=sets.shape[1])
    held = np.bincount(sets.reshape(-1), minlength=len(pool.servers))
    over = int(np.argmax(held - pool.blocks))
    if held[over] > pool.blocks[over]:
        raise InputError(
            f"{placement}: server {pool.servers.names[over]!r} holds {held[over]:,} blocks, and has space for"
            f" {pool.blocks[over]:,}",
            hint=f"the column harvest_gib of {pool.servers.file} states how much of its disk may be used",
        )
    reserved = pool.servers.on_reserved
    unreserved = int((~reserved[sets].any(axis=1)).sum()) if reserved.any() else None
    lost = []
    for seed in range(request.seed, request.seed + request.seeds):
        happens = opened.year(seed)
        if happens is not None:
            lost.append(last_a_year(pool, _as_placed(pool, sets, held, seed), happens).lost)
    environments = np.sort(pool.servers.groups["environment"].of[sets[guarded]], axis=1)
    diverse = int((environments[:, 1:] != environments[:, :-1]).all(axis=1).sum())
    alike = tuple(key for key, by in (("row", pool.peak), ("column", pool.rate)) if np.ptp(by) == 0)
    shared = tuple(one for one in shared_groups(pool, sets) if one.key not in alike)
    return PlacementAudit(
        str(placement), len(sets), sets.shape[1], shared, unreserved, tuple(lost),
        len(environments), diverse, least_diverse, alike,
    )  # fmt: skip


def _as_placed(pool: ReplicaPool, sets: Sets, held: NDArray[np.int64], seed: int) -> PlacedSets:
    """The sets of a file as if they had been placed here; losses are mended by history."""
    from hcloud.harvest.kernels.pool import reopen

    made = pool_of(pool, "history", seed)
    for server in np.flatnonzero(held).tolist():
        reopen(made, server, int(pool.blocks[server] - held[server]))
    return PlacedSets(sets.copy(), np.zeros(8, np.int64), made)
