"""B12: what is promised of waits in the queue of the reserve beside what comes: ``python -m benchmarks.b12_waits``.

Each level is the quantile that the strategy itself decides by, so that its bound for a queued job is in the journal. A
job that left the queue for a rented machine is known to have waited longer (Kaplan and Meier, over wait by bound).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np

from hcloud.model.strategy import Strategy
from hcloud.policy import codes
from hcloud.policy.records import Reals
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.sim.run import Outcome, run
from hcloud.sim.scenarios import scenario
from hcloud.sim.shop import Wanted, open_shop
from hcloud.sim.world import COMMAND
from hcloud.usecases.pricing import open_book
from hcloud.usecases.simulation import Study, setting_for, tasks_for

LEVELS = (0.5, 0.9, 0.95, 0.99)
SCENARIOS = ("static", "low-variability", "high-variability")


def main(seeds: int) -> int:
    """Print a line for each scenario, strategy and level."""
    shop, cloud = open_shop(open_book(), Wanted.paper()), load_cloud("paper")
    for name in SCENARIOS:
        studies = [Study(scenario(name, seed), cloud, shop, True, seed, name) for seed in range(42, 42 + seeds)]
        for strategy in ("HF", "HM"):
            for level in LEVELS:
                chosen = deciding_by(load_strategy(strategy), level)
                runs = [run(setting_for(s, chosen), tasks_for(s, chosen), journal=True) for s in studies]
                print(f"b12 {name} {strategy} {level:.0%} {told(np.vstack([promises(r) for r in runs]))}", flush=True)
    return 0


def deciding_by(strategy: Strategy, level: float) -> Strategy:
    """The strategy with another quantile of waits to decide by."""
    part = strategy.mechanism("queueing")
    changed = tuple(replace(p, value=level) if p.key == "wait_quantile" else p for p in part.parameters)
    mechanisms = tuple(replace(m, parameters=changed) if m is part else m for m in strategy.mechanisms)
    return replace(strategy, mechanisms=mechanisms)


def promises(outcome: Outcome) -> Reals:
    """Of each queued job: the bound it was queued under, how long it waited, 1 if it was then taken, 0 if it left."""
    control = outcome.world.control
    spin_up = float(control.kinds[control.rules.large].spin_up)
    fields = [np.asarray(outcome.of_lines(n)).tolist() for n in ("code", "a", "d", "time", "value")]
    waiting: dict[int, tuple[float, float]] = {}
    rows: list[tuple[float, float, float]] = []
    for code, job, reason, time, value in zip(*fields, strict=True):
        if code == COMMAND + codes.WAIT:
            waiting[job] = time, value + spin_up
        elif code in (COMMAND + codes.PLACE, COMMAND + codes.LAUNCH) and job in waiting:
            since, bound = waiting.pop(job)
            rows.append((bound, time - since, float(reason == codes.FROM_QUEUE)))
    return np.array(rows).reshape(len(rows), 3)


def told(rows: Reals) -> str:
    """Counts, the share that stayed within its bound, and the mean bound and wait."""
    if not len(rows):
        return "no job queued"
    bound, wait, taken = rows.T
    used, staying = wait / np.maximum(bound, 1e-9), 1.0
    order = np.lexsort((1 - taken, used))
    for at, row in enumerate(order):
        if used[row] <= 1 and taken[row]:
            staying *= 1 - 1 / (len(order) - at)
    left = int((taken == 0).sum())
    means = f"mean bound {bound.mean():.1f} s, mean wait {wait.mean():.1f} s"
    return f"queued {len(rows)}, of them left {left} | within the bound {1 - staying:.1%} | {means}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    sys.exit(main(parser.parse_args().seeds))
