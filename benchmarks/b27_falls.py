"""B27: what a reserve costs after a history whose demand fell, planned from all of it and from the weeks since.

``python -m benchmarks.b27_falls [--traces DIR]`` prints, for values of ``planning.shrunk`` and of
``planning.shrunk_days``, and of ``bill.shrunk``, how many histories of two and three weeks fell (where days are judged:
histories that end on any day and fell by them), what the reserve that was right for them costs afterwards in shares of
all on demand, and how often the part since was the better ground. Traces: those of B13, and random sums of two, five
and ten machines of Bitbrains. The reserve is the level that the history exceeds for as long as a plan of one year
breaks even at; its price is that share of the price on demand. No price book and no planner of ours takes part but the
rule itself. ``--drawn`` needs no traces: of drawn jobs with heavy tails, which come as often in all weeks, and of the
same whose demand fell in truth, how many are told to have fallen, and what that costs.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.b13_bands import traces
from hcloud.model.workload import Demand, Provenance
from hcloud.planning.forecasting.fall import DemandFall, fall_of
from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

SEED = 1
BREAK_EVEN = 0.588  # of an all-upfront savings plan of one year for m5a in us-east-1 in the bundled prices
WEEK, DAY = 168, 24
NEVER = 7.0
"""Days that cannot be missing in six."""
LAST_WEEK = -1.0
"""Instead of days: the rule of bills, by which the last seven days are held against all."""
VALUES = (
    *((share, NEVER) for share in (0.7, 0.8, 0.9)),
    *((0.7, days) for days in (1.0, 1.5, 2.0, 2.5)),
    *((share, LAST_WEEK) for share in (0.7, 0.8)),
)
HISTORIES = (2 * WEEK, 3 * WEEK)
AFTERWARDS = (72, 7 * WEEK)
"""The least and the most hours that a reserve is judged by."""
SUMS, DRAWS = (2, 5, 10), 300
JOBS = {"heavy-tailed": (0.5, 1.3, 1.5), "many": (5.0, 1.5, 1.5), "rare giants": (1 / 72, 3.0, 0.3)}
"""Jobs an hour, and the tails (Pareto) of their hours and vCPUs."""
DRAWN_WEEKS, FALLS, LEFT = (2, 4, 8, 13, 26), 60, (1.0, 0.1, 0.3, 0.5)
Fallen = tuple[float, float]


def main() -> None:
    """Print a line a threshold and kind of trace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=Path("../shared/data/workloads"))
    parser.add_argument("--drawn", action="store_true")
    asked = parser.parse_args()
    if asked.drawn:
        _print_drawn()
        return
    if not asked.traces.is_dir():
        print(f"no traces in {asked.traces}: nothing is measured")
        return
    series = list(_series(asked.traces))
    for threshold, missing in VALUES:
        found: dict[str, list[Fallen | None]] = defaultdict(list)
        for kind, hourly in series:
            found[kind] += _judged(hourly, threshold, missing)
        by = {NEVER: "weeks", LAST_WEEK: "last week"}.get(missing, f"days {missing:g}")
        for kind, all_of in found.items():
            fallen = np.array([one for one in all_of if one is not None]).reshape(-1, 2)
            whole, since = fallen.mean(axis=0) if len(fallen) else (np.nan, np.nan)
            better = float(np.mean(fallen[:, 1] <= fallen[:, 0])) if len(fallen) else np.nan
            print(
                f"shrunk {threshold:g} | {by} | {kind} | fell {len(fallen)} of {len(all_of)}"
                f" | whole {whole:.2f} | since {since:.2f} | since is better in {better:.0%}"
            )


def _print_drawn() -> None:
    """A line a kind of jobs and what is left of their demand in the last weeks."""
    for kind, (rate, longer, larger) in JOBS.items():
        for left in LEFT:
            found = []
            for weeks in DRAWN_WEEKS:
                for seed in range(FALLS):
                    chance = np.random.default_rng((seed, weeks))
                    hourly = _drawn(chance, weeks + 7, (rate, longer, larger))
                    hourly[(weeks - int(chance.integers(1, max(weeks // 2, 1) + 1))) * WEEK :] *= left
                    seen, came = hourly[: weeks * WEEK], hourly[weeks * WEEK :]
                    origin = Provenance("drawn", "test", "0" * 64, len(seen))
                    fall = fall_of(Demand(0.0, SECONDS_PER_HOUR, seen, seen, 0 * seen, origin), 0.7, missing=NEVER)
                    found.append((fall is not None, _cost(seen, came), _cost(_since(seen, fall), came)))
            told, whole, ruled = np.mean(found, axis=0)
            print(f"{kind} | {left:.0%} left | told {told:.1%} | whole {whole:.3f} | by the rule {ruled:.3f}")


def _drawn(chance: np.random.Generator, weeks: int, jobs: tuple[float, float, float]) -> Floats:
    """Hourly vCPUs of jobs that come as often in all weeks, after eight that fill up."""
    (rate, longer, larger), hours = jobs, (weeks + 8) * WEEK
    begins = chance.uniform(0, hours, chance.poisson(hours * rate)).astype(int)
    ends = begins + np.minimum(1 + chance.pareto(longer, len(begins)), 30 * DAY).astype(int)
    vcpus = np.minimum(2 * (1 + chance.pareto(larger, len(begins))), 512)
    changes = np.bincount(begins, vcpus, hours + 31 * DAY) - np.bincount(ends, vcpus, hours + 31 * DAY)
    return np.maximum(np.cumsum(changes)[8 * WEEK : hours], 0.0)


def _series(folder: Path) -> Iterator[tuple[str, Floats]]:
    machines = []
    for trace in traces(folder):
        yield "single", trace.hourly
        if trace.group.startswith("bitbrains") and "sums" not in trace.group and len(trace.hourly) >= 22 * 24:
            machines.append(trace.hourly)
    hours, chance = min(map(len, machines)), np.random.default_rng(SEED)
    for count in SUMS:
        for _ in range(DRAWS):
            drawn = chance.choice(len(machines), count, replace=False)
            yield "sums", np.sum([machines[at][:hours] for at in drawn], axis=0)


def _judged(hourly: Floats, threshold: float, missing: float) -> Iterator[Fallen | None]:
    """For each history: None where it did not fall, else the costs of both reserves afterwards. Where days are judged,
    the other reserve is that of the weeks since a fall, if there was one."""
    least, most = AFTERWARDS
    for length in HISTORIES:
        for at in range(0, len(hourly) - length - least + 1, WEEK if missing == NEVER else DAY):
            seen, came = hourly[at : at + length], hourly[at + length : at + length + most]
            if not (seen.max() > 0 and came.max() > 0):
                continue
            if missing == LAST_WEEK:
                last = seen[-WEEK:]
                yield (_cost(seen, came), _cost(last, came)) if last.mean() < threshold * seen.mean() else None
                continue
            origin = Provenance("a history", "test", "0" * 64, length)
            demand = Demand(0.0, SECONDS_PER_HOUR, seen, seen, 0 * seen, origin)
            weeks, fall = fall_of(demand, threshold, missing=NEVER), fall_of(demand, threshold, missing=missing)
            if missing != NEVER and fall == weeks:
                fall = None
            whole = seen if missing == NEVER else _since(seen, weeks)
            yield None if fall is None else (_cost(whole, came), _cost(_since(seen, fall), came))


def _since(seen: Floats, fall: DemandFall | None) -> Floats:
    return seen if fall is None else seen[-fall.seconds // SECONDS_PER_HOUR :]


def _cost(seen: Floats, came: Floats) -> float:
    """What the reserve of a history and what exceeds it afterwards cost, in shares of all on demand."""
    reserve = float(np.quantile(seen, 1 - BREAK_EVEN))
    return (BREAK_EVEN * reserve + float(np.maximum(came - reserve, 0.0).mean())) / float(came.mean())


if __name__ == "__main__":
    main()
