"""B13: how often what came lies in the 80 % band of futures that was drawn from what was seen before.

``python -m benchmarks.b13_bands [--traces DIR]`` prints, by trace, in how many of its splits the mean demand and the
cost of the second part lay between the 10th and the 90th percentile of 200 futures drawn from the first part; 75 to
85 % in all is what a band of 80 % should hold. ``--calibrate`` prints the same for a grid of priors.

A split is a history and what came after it for as long again: each trace cut in halves, and histories of 3, 7 and 14
days that begin every half of their length. Traces: histories of single EC2 instances and request counts (NAB), whole
clusters (Alibaba 2018, Google 2019), 50 virtual machines (Bitbrains) one by one and in sums of five, and the job
traces of Azure 2017, Alibaba openb (without GPU jobs) and Facebook (SWIM), in halves only. Each is scaled to 320 vCPUs
in the mean of what was seen, and the fleet is the cheapest one of m6i.4xlarge for that: its cost is its commitments and
what the second part rents on demand beside them.

Said before the run: the prior of the level (``planning.level_prior``, ``planning.level_prior_weeks``) was chosen with
``--calibrate`` on CALIBRATED alone: every other machine of Bitbrains and the five EC2 instances of NAB; all else is
judged. Parts of two to four weeks say nothing of growth over a year: ``planning.growth_prior`` is not judged here.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.catalog import Provider
from hcloud.model.workload import Demand, Jobs, Provenance
from hcloud.planning.fleets.candidates import Candidate, find_candidates
from hcloud.planning.fleets.evaluate import evaluate
from hcloud.planning.fleets.fleet import Fleet, serve
from hcloud.planning.fleets.gpu_jobs import without_gpu_jobs
from hcloud.planning.forecasting.demand import demand_of
from hcloud.planning.forecasting.forecast import repeating, stretch
from hcloud.planning.risks.futures import draw_futures
from hcloud.planning.risks.risk import SCALES, HoldingSpan, changed, spread
from hcloud.planning.settings import Market, Outlook, RiskSettings
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.readers.workloads.entry import read_workload
from hcloud.units import HOURS_PER_YEAR, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

SEED = 2026
PARTS = (3 * 24, 7 * 24, 14 * 24)
SHORTEST = 12
MEAN_VCPUS = 320.0
LEVEL_OF_ONE = 1e-9  # a cost this near the end of a band, relative to it, lies on it: it is all commitments
JOB_TRACES = (
    "azurevm2017_v1.dev.txt",
    "alibaba2023_openb_pod_list_default.csv",
    "swim_FB-2009_samples_24_times_1hr_0.tsv",
)
CALIBRATED = ("bitbrains, calibrated", "ec2_cpu")
GRID = [(prior, weeks) for weeks in (1.0, 2.0, 3.0, 4.0) for prior in (0.04, 0.06, 0.08, 0.1)]


@dataclass(frozen=True)
class Trace:
    """Hourly demand under the name of its row in the table; ``jobs`` says that it is cut in halves only."""

    group: str
    hourly: Floats
    jobs: bool = False


@dataclass(frozen=True)
class Split:
    """What was seen and what came, in hours; ``half`` says that together they are the whole trace."""

    group: str
    seen: Floats
    came: Floats
    half: bool


@dataclass(frozen=True)
class Held:
    """Whether the band held the mean demand and the cost, and the band of demand beside what came."""

    split: Split
    demand: bool
    cost: bool


def main() -> None:
    """Print the table, or the grid."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=Path("../shared/data/workloads"))
    parser.add_argument("--calibrate", action="store_true", help="the grid of priors on the calibrated part")
    asked = parser.parse_args()
    if not asked.traces.is_dir():
        print(f"no traces in {asked.traces}: nothing is measured")
        return
    found = [split for trace in traces(asked.traces) for split in splits(trace)]
    bench = Bench(market())
    if asked.calibrate:
        seen = [s for s in found if s.group.startswith(CALIBRATED)]
        for prior, weeks in GRID:
            risk = replace(RiskSettings(), level_prior=prior, level_prior_weeks=weeks)
            held = [bench.judge(s, risk) for s in seen]
            print(f"level_prior {prior:g} weeks {weeks:g} | {_figures(held)}")
        return
    held = [bench.judge(s, RiskSettings()) for s in found]
    _show("calibrated on", [h for h in held if h.split.group.startswith(CALIBRATED)])
    judged = [h for h in held if not h.split.group.startswith(CALIBRATED)]
    _show("judged on", judged)
    print(f"halves, judged | {_figures([h for h in judged if h.split.half])}")


def _show(title: str, held: list[Held]) -> None:
    groups = dict.fromkeys(h.split.group for h in held)
    for group in groups:
        print(f"{group} | {_figures([h for h in held if h.split.group == group])}")
    print(f"{title} | {_figures(held)}")


def _figures(held: list[Held]) -> str:
    demand, cost = (sum(getattr(h, name) for h in held) / max(len(held), 1) for name in ("demand", "cost"))
    return f"splits {len(held):,} | demand held {demand:.1%} | cost held {cost:.1%}"


def market() -> Candidate:
    """The one type that all fleets are of."""
    book = load_bundled(providers={Provider.AWS}, regions={"us-east-1"}, systems={"linux"})
    kept, _ = find_candidates(book, Market(families=("m6i",), terms=(1,), vcpus=16), HOURS_PER_YEAR)
    return kept[0]


class Bench:
    """Bands of fleets of one type."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate

    def judge(self, split: Split, risk: RiskSettings) -> Held:
        """Whether the band of what was seen holds what came."""
        scale = MEAN_VCPUS / float(split.seen.mean())
        seen, came = _demand(split.seen * scale), _demand(split.came * scale)
        fleet = self._fleet(seen)
        outlook = Outlook(horizon_hours=len(came))
        pattern, types = repeating(stretch(seen, outlook), outlook), (self._candidate,)
        futures = draw_futures(pattern, outlook, risk, np.random.default_rng([SEED, len(split.seen)]))
        assert futures is not None
        span = HoldingSpan(
            np.arange(futures.paths.shape[1]), fleet.holdings, lambda level: changed(pattern, level - 1.0)
        )
        costs = spread(types, fleet, [span], futures)[:, int(np.argmin(np.abs(SCALES - 1.0)))]
        actual = serve(stretch(came, outlook), types, fleet.holdings)
        demand = _inside(float(came.cores.mean()), futures.mean_demand(pattern))
        return Held(split, demand, _inside(float(actual.cost), costs))

    def _fleet(self, seen: Demand) -> Fleet:
        return evaluate(self._candidate, stretch(seen, Outlook())).fleet


def _inside(value: float, drawn: Floats) -> bool:
    low, high = np.quantile(drawn, (0.1, 0.9))
    near = LEVEL_OF_ONE * value
    return bool(low - near <= value <= high + near)


def _demand(cores: Floats) -> Demand:
    origin = Provenance("a split", "test", "0" * 64, len(cores))
    return Demand(0.0, SECONDS_PER_HOUR, cores, cores, np.zeros(len(cores)), origin)


def splits(trace: Trace) -> Iterator[Split]:
    """The halves of a trace, and what the rolling parts of it are."""
    hours = len(trace.hourly)
    half = hours // 2
    if half < SHORTEST:
        return
    cuts = [(0, half, True)]
    if not trace.jobs:
        cuts += [(at, part, False) for part in PARTS for at in range(0, hours - 2 * part + 1, part // 48 * 24)]
    for at, part, halves in cuts:
        seen, came = trace.hourly[at : at + part], trace.hourly[at + part : at + 2 * part]
        if seen.max() > 0 and came.max() > 0:
            yield Split(trace.group, seen, came, halves)


def traces(folder: Path) -> Iterator[Trace]:
    """Every trace of the folder that is long enough, by the hour."""
    for path in sorted(folder.glob("nab_*.csv")):
        group = "ec2_cpu" if "ec2" in path.name else path.stem.removeprefix("nab_")
        yield Trace(group, _hourly(_column(path, "value")))
    for path in sorted(folder.glob("dc_*.csv")):
        for name in ("cpu_util_percent", "mem_util_percent", "avg_cpu", "avg_mem", "avg_assigned_mem"):
            if (values := _column(path, name)) is not None:
                yield Trace(f"{path.stem.split('_')[1]} {name}", _hourly(values))
    yield from _machines(folder)
    for name in JOB_TRACES:
        yield Trace(name.split("_")[0], _of_jobs(folder / name), jobs=True)


def _column(path: Path, name: str) -> Floats | None:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return np.array([float(row[name]) for row in rows]) if name in rows[0] else None


def _hourly(values: Floats | None) -> Floats:
    """Means of twelve values of five minutes."""
    assert values is not None
    hourly: Floats = values[: len(values) // 12 * 12].reshape(-1, 12).mean(axis=1)
    return hourly


def _machines(folder: Path) -> Iterator[Trace]:
    """Bitbrains: the machines one by one, every other one for calibration, and what is judged also in sums of five."""
    from pyarrow import parquet

    table = parquet.read_table(folder / "bitbrains50_fragments.parquet").to_pydict()
    ids, used, lasted = (np.array(table[name]) for name in ("id", "cpu_usage", "duration"))
    machines = []
    for one in np.unique(ids):
        mine = ids == one
        end = np.concatenate(([0.0], np.cumsum(lasted[mine]))) / (1000 * SECONDS_PER_HOUR)
        total = np.concatenate(([0.0], np.cumsum(used[mine] * lasted[mine]))) / (1000 * SECONDS_PER_HOUR)
        machines.append(np.diff(np.interp(np.arange(int(end[-1]) + 1), end, total)))
    for rank, machine in enumerate(machines):
        yield Trace("bitbrains, one by one" if rank % 2 else "bitbrains, calibrated", machine)
    judged = [m / m.mean() for m in machines[1::2] if len(m) >= 29 * 24]
    for first in range(0, len(judged) - 4, 5):
        some = judged[first : first + 5]
        yield Trace("bitbrains, sums of five", np.sum([m[: min(map(len, some))] for m in some], axis=0))


def _of_jobs(path: Path) -> Floats:
    """vCPUs in use from the first submission to the last."""
    jobs = without_gpu_jobs(read_workload(path))
    assert isinstance(jobs, Jobs)
    demand = demand_of(jobs, SECONDS_PER_HOUR)
    return demand.cores[: int((jobs.submit.max() - demand.start) // SECONDS_PER_HOUR)]


if __name__ == "__main__":
    main()
