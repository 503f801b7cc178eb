"""B1: simulated jobs a second on one core: two plain queues beside SimPy and a C kernel, and the whole model.

``python -m benchmarks.b1_simulate`` first checks that all agree on the mean wait, then interleaves three rounds and
takes the best of each. (c) is the high-variability scenario repeated to 100,000 jobs under the five strategies, with
spin-up, retention and interference; compilation is left out, the journal is off.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.queueing import Queue, hcloud_run, w1, w2, with_c, with_python, with_simpy, with_simpy_resource
from hcloud.model.workload import Jobs
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import compiled
from hcloud.sim.setup.build import Setting, build, usual_capacity
from hcloud.sim.setup.fitting import Room
from hcloud.sim.setup.prepare import tasks_of
from hcloud.sim.setup.scenarios import SECONDS, scenario
from hcloud.sim.setup.shop import ShopChoice, open_shop
from hcloud.usecases.prices.pricing import open_book

ROUNDS = 3
SAME = 1e-9
POOLS = {"SR": 89, "OdF": 0, "OdM": 0, "HF": 14, "HM": 14}


def main(jobs: int) -> int:
    """Print a line for each workload; 1 where the contenders disagree."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    peers: Mapping[str, Callable[[Queue], float]] = {"C": with_c, "Python": with_python}
    simpy = {"W1": with_simpy_resource, "W2": with_simpy}
    agreed = [plain_queue(queue, {**peers, "SimPy": simpy[queue.name]}) for queue in (w1(jobs), w2(jobs))]
    whole_model(jobs)
    return 0 if all(agreed) else 1


def plain_queue(queue: Queue, peers: Mapping[str, Callable[[Queue], float]]) -> bool:
    """One queue through every contender: the same mean wait, then the speeds."""
    seconds: dict[str, float] = {}
    waits: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, peer in peers.items():
            begin = time.perf_counter()
            waits[name] = peer(queue)
            seconds[name] = min(time.perf_counter() - begin, seconds.get(name, np.inf))
        run, waited = hcloud_run(queue)
        begin = time.perf_counter()
        run()
        seconds["hcloud"] = min(time.perf_counter() - begin, seconds.get("hcloud", np.inf))
        waits["hcloud"] = waited()
    speeds = {name: len(queue.submit) / s for name, s in seconds.items()}
    same = all(abs(w - waits["C"]) <= SAME * max(waits["C"], 1.0) for w in waits.values())
    print(
        f"b1.{queue.name} {speeds['hcloud']:,.0f} jobs/s | peer {speeds['SimPy']:,.0f} (SimPy), {speeds['Python']:,.0f}"
        f" (heapq) | limit {speeds['C']:,.0f} (C) | ratio {speeds['hcloud'] / speeds['SimPy']:.1f} to SimPy,"
        f" {speeds['hcloud'] / speeds['C']:.2f} to C | mean wait {waits['hcloud']:.6f} {'same' if same else 'DIFFERS'}"
    )
    return same


def whole_model(jobs: int) -> None:
    """The five strategies over the scenario, interleaved."""
    work, cloud = repeated(jobs), load_cloud("paper")
    shop = open_shop(open_book(), ShopChoice.paper())
    simulate = compiled()["sim.kernels.engine.simulate"]
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, pool in POOLS.items():
            strategy = load_strategy(name)
            tasks = tasks_of(work, cloud, strategy, Room(16_000, 61_440), 42)
            world = build(
                Setting(strategy, cloud, shop, pool, 42), tasks, usual_capacity(len(tasks), pool, journal=False)
            )
            begin = time.perf_counter()
            simulate(world, len(tasks) + 1)
            best[name] = min(time.perf_counter() - begin, best.get(name, np.inf))
    speeds = {name: len(work) / seconds for name, seconds in best.items()}
    slowest = min(speeds.values())
    listed = " ".join(f"{name} {speed:,.0f}" for name, speed in speeds.items())
    print(f"b1.model {slowest:,.0f} jobs/s | goal 200,000, moonshot 2,500,000 | ratio {slowest / 2e5:.2f} | {listed}")


def repeated(jobs: int) -> Jobs:
    """The high-variability scenario over and over, at least so many jobs."""
    one = scenario("high-variability")
    times = -(-jobs // len(one))
    later = np.repeat(np.arange(times) * float(SECONDS), len(one))
    names = ("duration", "cores", "memory", "gpus", "kind", "app", "qos")
    fields: dict[str, Any] = {name: np.tile(getattr(one, name), times) for name in names}
    return replace(one, submit=np.tile(one.submit, times) + later, **fields)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    sys.exit(main(parser.parse_args().jobs))
