"""The calibration of the study's cloud, to be run again: three figures of the thesis and what the model gives for them.

``python -m benchmarks.calibration`` prints the figures with the frozen values of ``policies/clouds/paper.yaml``, and in
which way the performance that hybrids lose was looked at. ``--search`` finds the values that were searched for anew:
the bound of a batch job's slowdown for the 2.2, the tail of a service that waits and how fast tails rise for the 24 and
the 42. ``--errors`` shows what errors of classification do to the hybrids. The same seeds give the same numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

from hcloud.research.reproduce import open_bench
from hcloud.research.studies.bench import HIGH, LOW, Case, StudyBench
from hcloud.research.studies.quality import Calibrated, calibrated
from hcloud.sim.setup.variation import parse_axis, varied_cloud

SLOWER, LOW_TAIL, HIGH_TAIL = 2.2, 24.0, 42.0
STEPS = 8
ERRORS = (0.0, 6.5, 13.0, 26.0)
BOUND, RISE, WAITING = "batch.worst_slowdown", "service.sensitivity", "service.waiting_tail"


@dataclass(frozen=True, slots=True)
class Values:
    """What is searched for: the bound of slowdown, how fast tails rise, the tail of a service that waits."""

    bound: float
    rise: float
    waiting: float

    @property
    def changes(self) -> tuple[str, ...]:
        """As what-ifs."""
        named = {BOUND: self.bound, RISE: self.rise, WAITING: self.waiting}
        return tuple(f"cloud.{key}={value:.6g}" for key, value in named.items())


def main(seeds: int, *, search: bool, errors: bool) -> None:
    """Print the figures, and what is asked for besides."""
    bench = open_bench(seeds)
    frozen = Values(*(bench.cloud.number(*key.split(".")) for key in (BOUND, RISE, WAITING)))
    tell("frozen", frozen, figures(seeds))
    tell_places(bench)
    if errors:
        for points in ERRORS:
            tell(f"error {points:g} points", frozen, figures(seeds, strategy=(f"information.vector_error={points:g}",)))
    if search:
        found = searched(seeds, frozen)
        tell("found", found, figures(seeds, found.changes))


def figures(seeds: int, cloud: Iterable[str] = (), strategy: tuple[str, ...] = ()) -> Calibrated:
    """The calibrated figures with some values of the cloud and of the strategies changed."""
    bench = open_bench(seeds)
    bench.cloud = varied_cloud(bench.cloud, [parse_axis(text)[0] for text in cloud])
    return calibrated(bench, strategy)


def searched(seeds: int, at: Values) -> Values:
    """The bound by halving, then the two of services by turns: waiting lifts the high tail more, pressure the low one.

    A batch job's slowdown and a service's tail do not touch each other, so that the bound is found once.
    """
    low, high = 1.0, 40.0
    for _ in range(STEPS):
        bound = (low + high) / 2
        made = mean(figures(seeds, Values(bound, at.rise, at.waiting).changes).slower)
        low, high = (bound, high) if made < SLOWER else (low, bound)
    found = Values((low + high) / 2, at.rise, at.waiting)
    for _ in range(STEPS):
        tails = figures(seeds, found.changes).tails
        waiting = found.waiting * HIGH_TAIL / mean(tails[HIGH])
        rise = found.rise * LOW_TAIL / mean(tails[LOW]) * mean(tails[HIGH]) / HIGH_TAIL
        found = Values(found.bound, rise, waiting)
    return found


def mean(values: Iterable[float]) -> float:
    """The mean over the seeds."""
    kept = list(values)
    return sum(kept) / len(kept)


def tell(name: str, values: Values, made: Calibrated) -> None:
    """A line of figures."""
    print(
        f"{name}: bound {values.bound:.3g}, rise {values.rise:.3g}, waiting {values.waiting:.4g} |"
        f" OdM over SR {mean(made.slower):.3f} (2.2) | tails low {mean(made.tails[LOW]):.1f} (24),"
        f" high {mean(made.tails[HIGH]):.1f} (42) | hybrids lose {mean(made.lost):.2f} % (8):"
        f" batch {mean(made.lost_batch):.2f}, services {mean(made.lost_services):.2f}"
    )


def tell_places(bench: StudyBench) -> None:
    """Where HM runs its jobs: the reserve, each size on demand."""
    for scenario in (LOW, HIGH):
        outcome = bench.outcome(Case(scenario, "HM"), bench.seeds[0])
        paid, kind = outcome.of_tasks("paid"), outcome.of_tasks("kind")
        types = [t.shape.vcpus for t in outcome.setting.shop.types]
        rented = {f"{size}": float(((paid > 0) & (kind == at)).mean()) for at, size in enumerate(types)}
        told = ", ".join(f"{size} vCPU {share:.1%}" for size, share in rented.items())
        print(f"HM, {scenario}: reserve {float((paid == 0).mean()):.1%}, {told}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--errors", action="store_true")
    given = parser.parse_args()
    main(given.seeds, search=given.search, errors=given.errors)
