"""B12: what is promised of waits for the reserve beside what comes: ``python -m benchmarks.b12_waits``.

Each level is the share of jobs that the strategy itself decides by. A wait is promised to every job that meets a full
reserve; those that queue and those that rent instead are followed alike until the reserve could take them. Waits of one
run resemble each other: the intervals hold 95 % of what comes of drawing the runs anew. Where a share is to lie within
three points of its level, and a mean within a tenth, each line ends by saying whether it does: ``inside``,
``reaches in`` (the figure does not, its interval does) or ``OUTSIDE``.

All of it takes about three quarters of an hour of processor; ``--strategy``, ``--level`` and ``--scenario`` take parts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from hcloud.kept_kernels import kept_kernels
from hcloud.model.running.strategy import Strategy
from hcloud.policy.codes import LARGE, QUEUE
from hcloud.policy.records import Reals, column
from hcloud.policy.waiting.queueing import SUFFERING
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import SET, SIMULATE, compiled
from hcloud.sim.setup.build import build, usual_capacity
from hcloud.sim.setup.scenarios import scenario
from hcloud.sim.setup.shop import ShopChoice, open_shop
from hcloud.usecases.prices.pricing import open_book
from hcloud.usecases.studies.simulation import Study, setting_for, tasks_for

LEVELS = (0.5, 0.9, 0.95, 0.99)
SCENARIOS = ("static", "low-variability", "high-variability")
DRAWS = 1000
KNOWN = 16
"""Waits of a cause that had ended before a promise which rests on more than what is assumed."""


SEEDS = {"HF": 256, "HM": 16}
"""HF promises ten waits a run, in surges; HM hundreds. Of 64 runs of HF a mean is known to within nine per cent."""
POINTS, PART = 0.03, 0.1
"""How far a share may lie from its level, and a mean from one."""


def main(given: argparse.Namespace) -> int:
    """Print a line for each scenario, strategy and level."""
    shop, cloud = open_shop(open_book(), ShopChoice.paper()), load_cloud("paper")
    for name in given.scenario or SCENARIOS:
        for strategy in given.strategy or SEEDS:
            seeds = range(given.first, given.first + (given.seeds or SEEDS[strategy]))
            studies = [Study(scenario(name, seed), cloud, shop, True, seed, name) for seed in seeds]
            for level in given.level or LEVELS:
                chosen = deciding_by(load_strategy(strategy), level)
                runs = [promises(s, chosen) for s in studies]
                print(f"b12 {name} {strategy} {level:.0%} | {told(runs, level)}", flush=True)
    return 0


def deciding_by(strategy: Strategy, level: float) -> Strategy:
    """The strategy with another quantile of waits to decide by."""
    part = strategy.mechanism("queueing")
    changed = tuple(replace(p, value=level) if p.key == "wait_quantile" else p for p in part.parameters)
    mechanisms = tuple(replace(m, parameters=changed) if m is part else m for m in strategy.mechanisms)
    return replace(strategy, mechanisms=mechanisms)


class Promised(NamedTuple):
    """Of each job that was promised a wait and followed to its end: the bound, the mean, the wait, 1 if it queued, how
    many waits of its cause had ended by then; and how many were not followed to the end."""

    bound: Reals
    mean: Reals
    wait: Reals
    queued: Reals
    known: Reals
    lost: int


def promises(study: Study, strategy: Strategy) -> Promised:
    """What one run promised, and what came."""
    setting, tasks = setting_for(study, strategy), tasks_for(study, strategy)
    made = build(setting, tasks, usual_capacity(len(tasks), setting.pool, journal=False))
    simulate, mean_of, control = compiled()[SIMULATE], kept_kernels(SET, ("mean_of",))["mean_of"], made.control
    before: list[Any] = []
    for number in range(len(tasks)):
        simulate(made, number)
        before.append(cast("Any", control.waits).copy())
    simulate(made, len(tasks) + 1)
    if made.tally.full or control.desk.overflow:
        raise RuntimeError("a table was too short")
    action, opened, cause = column(made.tasks, "action"), column(control.jobs, "opened"), column(control.jobs, "cause")
    foretold = column(control.jobs, "foretold")
    asked = (action == QUEUE) | (action == LARGE)
    at, means, known = np.flatnonzero(asked & (opened >= 0)), [], []
    for job in at:
        cast("Any", control.waits)[:] = before[job]
        known.append(float(control.waits[int(cause[job])].all_ended))
        counted = mean_of(control, int(cause[job]), float(control.jobs[int(job)].pace))
        means.append(float(foretold[job]) if cause[job] >= SUFFERING else counted)
    bound = column(made.tasks, "margin")[at] + float(control.kinds[control.rules.large].spin_up)
    lost = int((asked & (opened < 0)).sum())
    return Promised(bound, np.array(means), opened[at], (action[at] == QUEUE) * 1.0, np.array(known), lost)


def told(runs: Sequence[Promised], level: float) -> str:
    """How many promises, the share that was kept, of all and of those who queued, and the mean promised and waited."""
    lost = sum(r.lost for r in runs)
    every = [np.column_stack([r.wait <= r.bound, r.mean, r.wait]) for r in runs]
    queued = [rows[r.queued > 0] for rows, r in zip(every, runs, strict=True)]
    taught = [rows[r.known >= KNOWN] for rows, r in zip(every, runs, strict=True)]
    rows = np.vstack(every)
    if not len(rows):
        return "no job met a full reserve"
    share, ratio = figure(every, _kept), figure(every, _ratio)
    means = f"mean {rows[:, 1].mean():.1f} s promised, {rows[:, 2].mean():.1f} s waited {ratio}"
    kept = f"{len(rows)} promises (and {lost} not followed), kept {share}"
    some = f"{sum(map(len, taught))} after {KNOWN} waits of their cause, kept {figure(taught, _kept)}"
    asked = f"share {share.verdict(level, POINTS)}, mean {ratio.verdict(1.0, PART)}"
    return f"{kept} | {some} | {sum(map(len, queued))} queued, kept {figure(queued, _kept)} | {means} | {asked}"


def _kept(rows: Reals) -> float:
    return float(rows[:, 0].mean())


def _ratio(rows: Reals) -> float:
    return float(rows[:, 1].sum() / rows[:, 2].sum())


class Figure(NamedTuple):
    """A figure of all runs together, and where it lies when the runs are drawn anew; None where there is nothing."""

    value: float | None
    low: float
    high: float

    def __str__(self) -> str:
        return "-" if self.value is None else f"{self.value:.1%} ({self.low:.0%} to {self.high:.0%})"

    def verdict(self, wanted: float, within: float) -> str:
        """Whether it lies within so much of what is wanted, or may."""
        if self.value is not None and abs(self.value - wanted) <= within:
            return "inside"
        return "reaches in" if self.low <= wanted + within and self.high >= wanted - within else "OUTSIDE"


def figure(runs: Sequence[Reals], of: Callable[[Reals], float]) -> Figure:
    """A figure of all runs together."""
    rows = np.vstack(runs)
    if not len(rows):
        return Figure(None, 0.0, 0.0)
    chance = np.random.default_rng(1)
    drawn = [np.vstack([runs[i] for i in chance.integers(len(runs), size=len(runs))]) for _ in range(DRAWS)]
    low, high = np.quantile([of(d) for d in drawn if len(d)], (0.025, 0.975))
    return Figure(of(rows), float(low), float(high))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=42)
    parser.add_argument("--seeds", type=int, help="runs of each; without, 64 of HF and 16 of HM")
    parser.add_argument("--strategy", action="append", choices=list(SEEDS))
    parser.add_argument("--level", action="append", type=float)
    parser.add_argument("--scenario", action="append", choices=SCENARIOS)
    sys.exit(main(parser.parse_args()))
