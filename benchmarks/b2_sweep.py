"""B2: 1,000 what-ifs of 10,000 jobs on all cores, beside a SimPy loop over some of them, scaled.

``python -m benchmarks.b2_sweep`` prints ``name value unit | peer x | limit y | ratio``. Two grids: with the price ratio
as a key, whose four values are answered by one run (250 runs), and with four keys that each need a run of their own
(1,000 runs). Reading, compiling and the first start of the kernels are outside the clock, starting the workers is not.
The limit is the same grid in one process divided by the cores, so that the ratio to it is the parallel efficiency.
The peer does less: a pool of slots with a queue beside rented ones that take time to start, no interference, no policy.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Generator
from datetime import UTC, datetime

import numpy as np
import simpy

from hcloud.model.workload import JobKind, Jobs, Provenance
from hcloud.readers.configuration.config import load_config
from hcloud.usecases.studies.sweep import Prepared, SweepRequest, SweepWatch, prepare, run_sweep
from hcloud.usecases.studies.sweep_engines import SweepEngine, usable_cores
from hcloud.usecases.workloads.sources import Flags, with_flags

NOW = datetime(2026, 11, 20, tzinfo=UTC)
LOADS, SPIN_UPS = "0,0.2,0.4,0.6,0.8", "x0.5,x1,x2,x3,x4"
SOFT = "0.5,0.52,0.54,0.56,0.58,0.6,0.62,0.64,0.66,0.68"
WITH_PRICES = ("price_ratio=1,2,2.74,4", f"cloud.neighbours.mean_load={LOADS}", f"cloud.spin_up={SPIN_UPS}")
ALL_RUNS = ("retention.factor=0,5,10,20", f"cloud.neighbours.mean_load={LOADS}", f"cloud.spin_up={SPIN_UPS}")
PEER_RUNS = 20


def workload(count: int, seed: int) -> Jobs:
    """Two hours of Poisson arrivals: short jobs of one to sixteen vCPUs, one in five a service."""
    chance = np.random.default_rng(seed)
    submit = np.sort(chance.uniform(0, 7200, count))
    cores = chance.choice([1.0, 2.0, 4.0, 8.0, 16.0], count, p=[0.6, 0.25, 0.1, 0.03, 0.02])
    none = np.full(count, -1, np.int32)
    return Jobs(
        submit=submit,
        duration=chance.exponential(240.0, count) + 20,
        cores=cores,
        memory=cores * 3.75,
        gpus=np.zeros(count),
        kind=np.where(chance.random(count) < 0.2, JobKind.SERVICE, JobKind.BATCH).astype(np.int8),
        app=none,
        apps=(),
        qos=none,
        qos_classes=(),
        provenance=Provenance("b2", "generated", str(seed), count),
    )


def prepared(jobs: Jobs, keys: tuple[str, ...], many: int) -> Prepared:
    """The grid of some keys and soft limits, 1,000 what-ifs of HM unless ``many`` is less."""
    loaded = with_flags(load_config(None), Flags(workload="scenario:static"))
    soft = ",".join(SOFT.split(",")[: max(many // 100, 1)])
    request = SweepRequest((*keys, f"limits.soft_start={soft}"), ("HM",), seeds=1)
    return prepare(loaded, NOW, request, jobs)


def seconds_of(made: Prepared, workers: int) -> tuple[float, str]:
    """Wall seconds of a sweep, and a digest of its table."""
    begin = time.perf_counter()
    done = run_sweep(made, SweepEngine("local", workers), None, SweepWatch(lambda rows: None, lambda done: None))
    return time.perf_counter() - begin, repr(done.cells)


def peer_seconds(jobs: Jobs, pool: int, spin_up: float) -> float:
    """One run of the SimPy loop."""

    def job(at: float, length: float, sure: bool) -> Generator[simpy.Event, None, None]:
        yield env.timeout(at)
        if sure or slots.count < slots.capacity:
            with slots.request() as slot:
                yield slot
                yield env.timeout(length)
        else:
            yield env.timeout(spin_up)
            yield env.timeout(length)

    begin = time.perf_counter()
    env = simpy.Environment()
    slots = simpy.Resource(env, pool)
    for row in zip(jobs.submit.tolist(), jobs.duration.tolist(), (jobs.kind == JobKind.SERVICE).tolist(), strict=True):
        env.process(job(*row))
    env.run()
    return time.perf_counter() - begin


def peak_mib(workers: int) -> float:
    """This process and its workers, each as large as the largest of them ever was."""
    own, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (own + child * workers) / 1024


def report(name: str, made: Prepared, rounds: int, jobs: Jobs) -> None:
    cores, what_ifs = usable_cores(), len(made.grid)
    wall, alone, peer = float("inf"), float("inf"), float("inf")
    for _ in range(rounds):
        (spread, table), (single, same) = seconds_of(made, cores), seconds_of(made, 1)
        if table != same:
            raise SystemExit("the table depends on how the sweep is spread")
        wall, alone = min(wall, spread), min(alone, single)
        some = [peer_seconds(jobs, 200 + 10 * i, 15.0 * (i % 5)) for i in range(max(PEER_RUNS * what_ifs // 1000, 1))]
        peer = min(peer, sum(some) / len(some) * what_ifs / cores)
    limit = alone / cores
    print(f"{name} {wall:.2f} s | peer SimPy {peer:.1f} s | limit {limit:.2f} s | ratio {peer / wall:.1f}x")
    rate, simulated = (count * len(jobs) / wall for count in (what_ifs, made.grid.runs))
    print(f"{name}_rate {rate:,.0f} job-sims/s | simulated {simulated:,.0f}")
    print(f"{name}_efficiency {limit / wall:.3f} | {cores} workers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--what-ifs", type=int, default=1000, help="100 to 1,000, in hundreds")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    jobs = workload(chosen.jobs, 7)
    seconds_of(prepared(jobs, WITH_PRICES, chosen.what_ifs), usable_cores())
    print(f"b2_peak_rss {peak_mib(usable_cores()):.0f} MiB | {usable_cores()} workers and their parent")
    seconds_of(prepared(jobs, WITH_PRICES[:1], 100), 1)
    for name, keys in (("b2_sweep", WITH_PRICES), ("b2_sweep_every_run", ALL_RUNS)):
        report(name, prepared(jobs, keys, chosen.what_ifs), chosen.rounds, jobs)


if __name__ == "__main__":
    main()
