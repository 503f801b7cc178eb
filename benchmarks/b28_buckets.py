"""B28: how much of what free units tolerate their bucket tells, by bands and by locality-sensitive hashing.

``python -m benchmarks.b28_buckets [SCENARIO]`` runs jobs with ``tarcil-admission`` on a cluster of one type, looks at
all servers 40 times, and prints the share of the variance of U (Tarcil eq. 7.4, one over the encoded contention of a
free unit) between buckets, for 20 buckets a type. Hashes are drawn ten times, here with planes of normal numbers, and
once with the planes of the product.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import numpy as np

from hcloud.control.servers.buckets import _PLANES
from hcloud.policy.records import Ints, Reals, column
from hcloud.readers.configuration.config import load_config
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import SIMULATE, compiled
from hcloud.sim.setup.build import build, usual_capacity
from hcloud.usecases.studies.simulation import SimulationRequest, open_study, setting_for, tasks_for
from hcloud.usecases.workloads.sources import Flags, with_flags

BUCKETS, LOOKS, DRAWS, POINTS = 20, 40, 10, 99.0


def pressures(name: str) -> list[Reals]:
    """The contention of a free unit of each reserved server, at each look: points of each resource."""
    loaded = with_flags(load_config(None), Flags(workload=name))
    study = open_study(loaded, SimulationRequest(load=0.8), datetime.now(UTC).date())
    strategy = load_strategy("SR+tarcil-admission")
    setting, tasks = setting_for(study, strategy), tasks_for(study, strategy)
    world = build(setting, tasks, usual_capacity(len(tasks), setting.servers, journal=False))
    simulate, seen = compiled()[SIMULATE], []
    for until in np.linspace(len(tasks) // 4, len(tasks) - 1, LOOKS).astype(int).tolist():
        simulate(world, until)
        servers, kinds = world.control.servers, column(world.control.kinds, "cores")
        cores = kinds[column(servers, "kind")[: setting.servers]][:, None]
        pressure = column(servers, "pressure")[: setting.servers]
        seen.append(np.minimum(np.rint(pressure / np.maximum(cores - 1000, 1)), POINTS))
    return seen


def quality(points: Reals) -> Reals:
    """U of each row: its points sorted falling and read as digits of base 100."""
    digits = -np.sort(-points, axis=1)
    made: Reals = 1 - digits @ 100.0 ** -np.arange(1, points.shape[1] + 1)
    return made


def explained(values: Reals, buckets: Ints) -> float:
    """The share of the variance that lies between buckets."""
    within = sum(float(((values[buckets == b] - values[buckets == b].mean()) ** 2).sum()) for b in np.unique(buckets))
    return 1 - within / float(((values - values.mean()) ** 2).sum())


def hashed(points: Reals, planes: Reals) -> Ints:
    """The side of each plane on which each row lies, as one number."""
    made: Ints = ((points @ planes.T > 0) * (1 << np.arange(len(planes)))).sum(axis=1)
    return made


def main() -> int:
    """Print a line for each kind of bucket."""
    seen = pressures(sys.argv[1] if len(sys.argv) > 1 else "scenario:tarcil-110")
    points, values = np.vstack(seen), np.concatenate([quality(look) for look in seen])
    centred = np.vstack([look - look.mean(axis=0) for look in seen])
    bits, chance = int(np.log2(BUCKETS)), np.random.default_rng(28)
    ours = np.array([[1.0 if p >> i & 1 else -1.0 for i in range(points.shape[1])] for p in _PLANES[:bits]])
    print(f"b28 {len(points):,} servers looked at, U {values.mean():.3f} in the mean, deviation {values.std():.3f}")
    print(f"b28.bands {100 * explained(values, np.minimum((values * BUCKETS).astype(int), BUCKETS - 1)):.1f} %")
    for name, rows in (("lsh-centred", centred), ("lsh", points)):
        drawn = [explained(values, hashed(rows, chance.normal(size=ours.shape))) for _ in range(DRAWS)]
        print(
            f"b28.{name} {100 * explained(values, hashed(rows, ours)):.1f} % with the product's planes;"
            f" {100 * min(drawn):.1f} to {100 * max(drawn):.1f} %, {100 * np.mean(drawn):.1f} % in the mean of {DRAWS}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
