"""B23: harvesting from history: types of use, batch, plans, sets of replicas and years, against limits and peers.

``OMP_NUM_THREADS=1 python -m benchmarks.b23_harvest`` prints a line each, in processor time (``quick``: of a tenth).
Peers are taken where they are installed, and said to be absent where not: scikit-learn's KMeans on the same features,
Ceph's ``crushtool --test`` with a rule of racks, and Hadoop's placement class (:mod:`benchmarks.harvest_peers` says
where to get them). Compiled and plain kernels are held to the same answers.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks.harvest_peers import beside_peers
from hcloud.harvest.centre import CENTRES, Centre, centre, reimages_of, use_of
from hcloud.harvest.classes import clustered, use_types
from hcloud.harvest.histories import DAY, TenantHistories
from hcloud.harvest.jobs import Thresholds
from hcloud.harvest.kernels import compiled
from hcloud.harvest.kernels.choosing import choose
from hcloud.harvest.replicas import (
    ReplicaPool,
    ServerEvents,
    busy_times,
    failed_accesses,
    last_a_year,
    place_blocks,
)
from hcloud.harvest.tasks.dags import queries, times
from hcloud.kernel_cache import KernelSet
from hcloud.readers.harvest.policy import load_harvest
from hcloud.sim.harvesting import compiled as loops
from hcloud.sim.harvesting.graphs import of_dags
from hcloud.sim.harvesting.setup import SYSTEMS, build, idle_pool, poisson

POLICY = load_harvest()
TYPES_SECONDS, TYPES_MIB = 20.0, 1024
SET_MICROSECONDS = 15.0
YEAR_SECONDS, YEAR_MIB = 120.0, 2048
CHOICE_MICROSECONDS, TASKS_SECONDS = 50.0, 60.0
PLAN_TIMES = 2.0
ROOT = Path(__file__).parents[1]
CHOOSING = KernelSet("harvest.kernels.pool", "harvest.kernels.choosing")
"""Compiled on their own: of the loop over ticks only the loop itself can be called."""
SERVERS, TENANTS, BLOCKS = 10_000, 600, 4_000_000


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def day_of_classes(tenants: int) -> bool:
    """Types and classes of a month of two-minute samples."""
    made = centre(replace(CENTRES["centre-0"], servers=10 * tenants, tenants=tenants), 1)
    use = use_of(made, 30, 120)
    histories = TenantHistories(use.tenants, use.use, 0.0, 120, use.servers, use.cores)
    begun = time.process_time()
    found = use_types(histories, POLICY)
    seconds, mib = time.process_time() - begun, memory()
    print(
        f"b23.types {tenants:,} tenants x {30 * DAY // 120:,} samples: {seconds:.1f} s, {mib:,.0f} MiB,"
        f" {len(found.classes)} classes | limit {TYPES_SECONDS:g} s, {TYPES_MIB:,} MiB",
        flush=True,
    )
    k_means(found.typed.features)
    return seconds <= TYPES_SECONDS and mib <= TYPES_MIB


def k_means(features: Any) -> None:
    """Our inertia and scikit-learn's, on the same points."""
    if find_spec("sklearn") is None:
        print("b23.k-means: scikit-learn is not installed; its KMeans is passed over")
        return
    points = (features - features.mean(axis=0)) / features.std(axis=0)
    begun = time.process_time()
    ours = clustered(points, 13, 10, 0).inertia
    mine = time.process_time() - begun
    begun = time.process_time()
    peer = import_module("sklearn.cluster").KMeans(13, n_init=10, random_state=0).fit(points).inertia_
    theirs = time.process_time() - begun
    print(
        f"b23.k-means 13 of {len(points):,}: inertia {ours:,.2f} in {mine:.2f} s | scikit-learn {peer:,.2f} in"
        f" {theirs:.2f} s | {ours / peer - 1:+.2%}"
    )


def pool_of_centre(servers: int, tenants: int) -> tuple[Centre, ReplicaPool]:
    made = centre(replace(CENTRES["centre-0"], servers=servers, tenants=tenants), 0)
    use = use_of(made, 31, 900).use
    peak = np.quantile(use, POLICY.peak_quantile, axis=1).astype(np.float64)
    return made, ReplicaPool(made.servers, POLICY, made.rate, peak, busy_times(use, POLICY))


def sets_and_year(blocks: int) -> bool:
    """Sets of three, and what becomes of them; beside the speed what other systems' sets suffer in the same year."""
    made, found = pool_of_centre(SERVERS, TENANTS)
    log = reimages_of(made, 365, 0)
    happens = ServerEvents(log, np.zeros(len(log.times), np.bool_))
    compiled.SET.spent[""] = compiled.PLAIN_BLOCKS
    last_a_year(found, place_blocks(found, "history", 100, 9), happens)  # compiles
    met = True
    for system in ("history", "stock", "spread"):
        begun = time.process_time()
        placed = place_blocks(found, system, blocks, 0)
        each = 1e6 * (time.process_time() - begun) / blocks
        failed = failed_accesses(found, placed.sets, 1_000_000, 0)
        begun = time.process_time()
        year = last_a_year(found, placed, happens)
        seconds = each * blocks / 1e6 + time.process_time() - begun
        print(
            f"b23.{system} {blocks:,} blocks on {SERVERS:,} servers of {TENANTS} tenants: {each:.1f} us a set | limit"
            f" {SET_MICROSECONDS:g}; a year {seconds:.0f} s, {memory():,.0f} MiB | limit {YEAR_SECONDS:g} s,"
            f" {YEAR_MIB:,} MiB; {year.lost:,} blocks lost, {year.copied:,} copies made, {failed:,} of 1,000,000"
            " accesses failed",
            flush=True,
        )
        if system == "history":
            met = each <= SET_MICROSECONDS and seconds <= YEAR_SECONDS and memory() <= YEAR_MIB
    return met


def agreement() -> bool:
    """Compiled and plain kernels on a small pool with every rule."""
    made, found = pool_of_centre(300, 40)
    log = reimages_of(made, 365, 0)
    told = []
    for spent in (-(10**9), compiled.PLAIN_BLOCKS):
        compiled.SET.spent[""] = spent
        placed = place_blocks(found, "history", 500, 3)
        first = placed.sets.copy()
        year = last_a_year(found, placed, ServerEvents(log, log.servers % 3 == 0))
        told.append((first.tobytes(), year, placed.sets.tobytes()))
    print(f"b23.kernels compiled and plain {'agree' if told[0] == told[1] else 'DIFFER'}: {told[0][1]}")
    return told[0] == told[1]


def class_choice(classes: int) -> bool:
    """One choice among many classes: what a job takes when it comes, once the room of each is known."""
    chance = np.random.default_rng(0)
    room, weight = chance.integers(0, 40, classes), chance.integers(1, 4, classes).astype(np.float64)
    picked, stream = np.zeros(classes, np.bool_), np.array([12345, 678], np.int64)
    compiled_choose = CHOOSING.compiled(lambda _, twin: njit(twin))["harvest.kernels.choosing.choose"]
    compiled_choose(room, weight, 30, picked, stream)  # compiles
    each = []
    for kernel in (compiled_choose, choose):
        for needed in (30, 200):  # one class, several
            begun = time.process_time()
            for _ in range(2000):
                kernel(room, weight, needed, picked, stream)
            each.append(1e6 * (time.process_time() - begun) / 2000)
    told = f"{each[0]:.1f} us for one class, {each[1]:.1f} us for several (plain Python {each[2]:.0f}, {each[3]:.0f})"
    print(f"b23.choice {classes} classes: {told} | limit {CHOICE_MICROSECONDS:g}", flush=True)
    return max(each[:2]) <= CHOICE_MICROSECONDS


def tasks_day(servers: int) -> bool:
    """A day of batch on idle capacity in ticks of three seconds; compiled and plain loops are held to each other."""
    made = centre(replace(CENTRES["centre-0"], servers=servers, tenants=servers // 10), 0)
    use = use_of(made, 32)
    types = use_types(replace(use, use=use.part(0, 31)), POLICY)
    of = (made.servers.cores, made.servers.memory, made.servers.tenants.of)
    pool = idle_pool(types, use.part(31, 1), use.step, of)
    dags = tuple(times(dag, 4.0) for dag in queries(0))
    jobs, plan = (of_dags(dags), poisson(0, 300.0, DAY, len(dags))), (POLICY, Thresholds(400.0, 1000.0), 0)
    ticks, loop = DAY // POLICY.tick, loops.compiled()
    worlds = [build(pool, SYSTEMS["history"], jobs, plan) for _ in range(2)]
    for world, kernel in zip(worlds, (loop, loops.SET.plain[loops.ENTRY]), strict=True):
        kernel(world, 0, 200)
    alike = all(
        np.array_equal(a, b) for part in range(1, 3) for a, b in zip(worlds[0][part], worlds[1][part], strict=True)
    )
    world = build(pool, SYSTEMS["history"], jobs, plan)
    begun = time.process_time()
    loop(world, 0, ticks)
    seconds = time.process_time() - begun
    print(
        f"b23.tasks {servers:,} servers, a day in ticks of {POLICY.tick} s, {len(jobs[1].times)} jobs: {seconds:.1f} s,"
        f" {memory():,.0f} MiB | limit {TASKS_SECONDS:g} s; compiled and plain {'agree' if alike else 'DIFFER'}",
        flush=True,
    )
    return alike and seconds <= TASKS_SECONDS


def peers(blocks: int) -> None:
    """Other engines' sets beside ours, in the same year."""
    made, found = pool_of_centre(SERVERS, TENANTS)
    log = reimages_of(made, 365, 0)
    compiled.SET.spent[""] = compiled.PLAIN_BLOCKS
    beside_peers(found, ServerEvents(log, np.zeros(len(log.times), np.bool_)), blocks)


def plan_with_idle_hours(runs: int) -> bool:
    """``hcloud plan`` of six weeks with and without idle hours, each in a process of its own: the least of some runs in
    turn, as whatever else runs only adds to it."""
    given = ROOT / "examples"
    trace = str(given / "six-weeks" / "trace.csv")
    words = [sys.executable, "-P", "-m", "hcloud", "plan", trace, "--divisible", "all", "--json"]
    idle = given / "idle-hours"
    more = ["--util", str(idle / "util.csv"), "--servers", str(idle / "servers.csv")]
    each: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(runs):
        for harvests, taken in each.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*words, *(more if harvests else [])], check=True, capture_output=True, cwd=ROOT)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    without, beside = min(each[False]), min(each[True])
    print(
        f"b23.plan six weeks, least of {runs}: {without:.2f} s, with idle hours {beside:.2f} s:"
        f" {beside / without:.2f} x | limit {PLAN_TIMES:g} x",
        flush=True,
    )
    return beside <= PLAN_TIMES * without


def main() -> int:
    part = 10 if "quick" in sys.argv[1:] else 1
    met = [class_choice(30), tasks_day(1000 // part), agreement(), day_of_classes(3000 // part)]
    met.append(sets_and_year(BLOCKS // part))
    met.append(plan_with_idle_hours(5 if part == 1 else 3))
    peers(100_000 // part)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
