"""``hcloud simulate`` and ``hcloud compare``: strategies over one workload, once or over several seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from hcloud.control.state import INTERRUPTIBLE, RENTED
from hcloud.model.strategy import Strategy
from hcloud.policy.records import Reals
from hcloud.readers.strategies import NAMES, load_strategy
from hcloud.sim.measure import Measures, batch_performance, measure, service_tails
from hcloud.sim.run import Outcome
from hcloud.sim.scenarios import RECIPES, Check, self_check
from hcloud.usecases.simulation import Study, simulate_once, with_seed

WEEKS = (1, 4, 13, 26, 52, 53, 104)
"""Spans that cumulative costs are told for; a term of the reserve is 52 weeks."""
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145)
"""The 0.975 quantile of Student's t for 1, 2, ... degrees of freedom."""
_NORMAL = 1.96
RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class Timeline:
    """What was in use at even times (s): servers reserved; instances rented by type, with the ``vcpus`` of one of each;
    vCPUs of the pool in use; the queue; the soft limit; ``heat`` [time, reserved server] is the share of each server
    in use."""

    times: Reals
    reserved: int
    rented: dict[str, Reals]
    vcpus: dict[str, float]
    pool_cores: Reals
    queue: Reals
    soft: Reals
    heat: Reals


@dataclass(frozen=True, slots=True)
class Simulated:
    """One run in figures, with what pictures need."""

    measures: Measures
    timeline: Timeline
    batch: Reals
    tails: Reals
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds with its 95 % interval (Student's t); the half-width is NaN for one seed."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """The interval of some values; NaN values (a figure that does not apply) stay NaN."""
        count, mean = len(values), sum(values) / len(values)
        if count == 1:
            return cls(mean, math.nan)
        deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (count - 1))
        student = _STUDENT[count - 2] if count - 2 < len(_STUDENT) else _NORMAL
        return cls(mean, student * deviation / math.sqrt(count))


@dataclass(frozen=True, slots=True)
class Compared:
    """A strategy over all seeds; ``first`` is its run at the first of them. ``on_front`` says that no other strategy is
    both cheaper and better in the mean."""

    name: str
    runs: tuple[Measures, ...]
    first: Simulated
    on_front: bool = False

    def interval(self, figure: Callable[[Measures], float]) -> Interval:
        """A figure over the seeds."""
        return Interval.of([figure(run) for run in self.runs])


@dataclass(frozen=True, slots=True)
class Comparison:
    """Strategies over the same workload and seeds, and what the scenario states about itself."""

    study: Study
    seeds: tuple[int, ...]
    strategies: tuple[Compared, ...]
    checks: tuple[Check, ...]


def strategies_named(names: Sequence[str]) -> tuple[Strategy, ...]:
    """The strategies of the given names or files, all five for ``all``."""
    wanted = [n for name in names for n in (NAMES if name.lower() == "all" else name.split(","))]
    return tuple(load_strategy(name) for name in dict.fromkeys(wanted))


def compare(
    study: Study, strategies: Sequence[Strategy], seeds: int = 1, advance: Callable[[float], None] = lambda done: None
) -> Comparison:
    """Every strategy at so many seeds from the study's own on: of a scenario other seeds are other jobs, too."""
    runs: list[list[Measures]] = [[] for _ in strategies]
    firsts: list[Simulated] = []
    chosen = tuple(range(study.seed, study.seed + seeds))
    for at, seed in enumerate(chosen):
        seeded = study if seed == study.seed else with_seed(study, seed)
        for place, strategy in enumerate(strategies):
            outcome = simulate_once(seeded, strategy)
            runs[place].append(measure(outcome))
            if at == 0:
                firsts.append(_kept(outcome, runs[place][0]))
            advance((at * len(strategies) + place + 1) / (seeds * len(strategies)))
    made = [Compared(s.name, tuple(r), f) for s, r, f in zip(strategies, runs, firsts, strict=True)]
    checks = self_check(study.scenario, study.jobs) if study.scenario in RECIPES else ()
    return Comparison(study, chosen, tuple(_with_front(made)), checks)


def dollars_per_hour(run: Measures) -> float:
    """Dollars an ideal hour, as a real number for intervals and pictures."""
    return float(run.cost.per_ideal_hour)


def kept_qos(run: Measures) -> float:
    """The share of jobs that kept 95 % of their performance."""
    return run.service.kept_qos


def _with_front(made: Sequence[Compared]) -> list[Compared]:
    points = [(c.interval(dollars_per_hour).mean, c.interval(kept_qos).mean) for c in made]
    marked = []
    for compared, (cost, quality) in zip(made, points, strict=True):
        beaten = any((c <= cost and q >= quality) and (c < cost or q > quality) for c, q in points)
        marked.append(Compared(compared.name, compared.runs, compared.first, not beaten))
    return marked


def _kept(outcome: Outcome, measures: Measures) -> Simulated:
    """What is kept of a run: its figures and pictures, not its tables."""
    return Simulated(
        measures, _timeline(outcome), batch_performance(outcome), service_tails(outcome), outcome.tasks.left_out
    )


def _timeline(outcome: Outcome) -> Timeline:
    series, types = outcome.world.series, outcome.setting.shop.types
    rented, large = {}, types[outcome.setting.shop.large].shape
    vcpus = {RESERVED: float(large.vcpus)}
    for paid, suffix in ((RENTED, "on-demand"), (INTERRUPTIBLE, "spot")):
        for at, rentable in enumerate(types):
            counts = series[:, 4 + paid * len(types) + at]
            if counts.any():
                name = f"{rentable.shape.name} {suffix}"
                rented[name], vcpus[name] = counts.copy(), float(rentable.shape.vcpus)
    return Timeline(
        series[:, 0].copy(),
        outcome.setting.pool,
        rented,
        vcpus,
        series[:, 1].copy(),
        series[:, 2].copy(),
        series[:, 3].copy(),
        np.asarray(outcome.world.heat).copy(),
    )


def cumulative(measures: Measures) -> dict[int, Decimal]:
    """Dollars after so many weeks of the same load, terms prepaid."""
    return {weeks: measures.cost.over_weeks(weeks) for weeks in WEEKS}
