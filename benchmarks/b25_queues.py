"""B25: several queues: fits of busy periods beside SciPy's, a refit, and what an event costs with ten classes.

``python -m benchmarks.b25_queues`` prints a line each, in processor time. The peer fits each family by its own maximum
likelihood (``scipy.stats``, starting at zero but for the normal one) and takes the best by Akaike's criterion, as ours
does. Where SciPy is not installed that line says so.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from benchmarks.b21_placement import without_interference, world_of
from benchmarks.queueing import quiet_cloud
from hcloud.control.waiting import BUSY
from hcloud.kept_kernels import kept_kernels
from hcloud.sim.machine_code.compiled import SET, SIMULATE, compiled

FAMILIES = ("normal", "log-normal", "gamma", "Weibull", "exponential")
SAMPLES, SERVERS, TASKS = 40, 10_000, 100_000
LOADS = (0.8, 0.95)
WANTED_RATIO, WANTED_GAP, WANTED_REFIT, WANTED_EVENT = 20, 1e-3, 5e-3, 50e-6
MADE: tuple[Callable[[np.random.Generator], np.ndarray], ...] = (
    lambda c: np.abs(c.normal(2500, 789, BUSY)),
    lambda c: c.lognormal(6, c.uniform(0.3, 1.5), BUSY),
    lambda c: c.gamma(c.uniform(0.5, 8), 300, BUSY),
    lambda c: 300 * c.weibull(c.uniform(0.5, 3), BUSY),
    lambda c: c.exponential(500, BUSY),
)


def scipys_best(spans: np.ndarray) -> float:
    """The log-likelihood of the family with the least of Akaike's criterion."""
    from scipy import stats

    found = []
    for family in (stats.norm, stats.lognorm, stats.gamma, stats.weibull_min, stats.expon):
        held = {} if family is stats.norm else {"floc": 0}
        reached = float(family.logpdf(spans, *family.fit(spans, **held)).sum())
        found.append((2 * (1 if family is stats.expon else 2) - 2 * reached, reached))
    return min(found)[1]


def fits() -> bool:
    """Ours beside SciPy's on samples of every family; whether both bars are kept."""
    fit = kept_kernels(SET, ("best_fit",))["best_fit"]
    chance = np.random.default_rng(25)
    samples = [np.ascontiguousarray(MADE[at % len(MADE)](chance)) for at in range(SAMPLES)]
    (family, _, _), _ = fit(samples[0], BUSY)  # compiles
    begin = time.process_time()
    ours = [fit(spans, BUSY)[1] for spans in samples]
    mine = (time.process_time() - begin) / SAMPLES
    line = f"b25.fit of {BUSY} periods {1e6 * mine:.0f} us (first: {FAMILIES[family]})"
    if find_spec("scipy") is None:
        print(f"{line} | SciPy is not installed; passed over")
        return True
    scipys_best(samples[0])
    begin = time.process_time()
    theirs = [scipys_best(spans) for spans in samples]
    peer = (time.process_time() - begin) / SAMPLES
    gap = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
    print(
        f"{line} | SciPy {1e6 * peer:,.0f} us, ratio {peer / mine:.0f} (wanted {WANTED_RATIO}) | log-likelihoods differ"
        f" by at most {gap:.1e} of theirs (wanted {WANTED_GAP:g})",
        flush=True,
    )
    return peer / mine >= WANTED_RATIO and gap <= WANTED_GAP


def events() -> bool:
    """What ten classes add to an event in a pool of 10,000 servers, beside one queue, as the load grows, where nobody's
    pace has to be reckoned anew; then a refit of all classes in the last world."""
    cloud, kept, spent = without_interference(quiet_cloud()), True, math.inf
    for load in LOADS:
        costs = []
        for admission in ("arrival-order", "multi-class"):
            simulate = compiled()[SIMULATE]
            simulate(world_of(1_000, 100, admission, cloud, load), 1_001)  # compiles
            world = world_of(TASKS, SERVERS, admission, cloud, load)
            begin = time.process_time()
            simulate(world, TASKS + 1)
            costs.append((time.process_time() - begin) / (2 * TASKS))
        plain, classed = costs
        print(
            f"b25.event load {load:g}: one queue {1e6 * plain:.1f} us in all, ten classes {1e6 * classed:.1f} us, so"
            f" {1e6 * (classed - plain):.1f} us for them | limit {1e6 * WANTED_EVENT:.0f}",
            flush=True,
        )
        kept &= classed - plain <= WANTED_EVENT
    refit = kept_kernels(SET, ("refit",))["refit"]
    for _ in range(20):
        begin = time.process_time()
        refit(world.control, float(world.tally.now))
        spent = min(spent, time.process_time() - begin)
    print(f"b25.refit of ten classes {1e3 * spent:.2f} ms | limit {1e3 * WANTED_REFIT:.0f}")
    return kept and spent <= WANTED_REFIT


def main() -> int:
    """Print every figure; 1 where one misses its bar."""
    met = [fits(), events()]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
