"""Runs the cases of the studies once for every seed, each case only once, and keeps their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hcloud.control.state import OWN
from hcloud.model.running.cloud import CloudModel
from hcloud.model.running.strategy import Strategy
from hcloud.model.workload import JobKind, Jobs
from hcloud.policy.records import Ints, Reals
from hcloud.policy.registry import rule_of
from hcloud.policy.sizes.sizing import reserved_servers
from hcloud.research.studies.report import WrittenInterval
from hcloud.sim.outcomes.measure import Measures, measure, tails_by_task
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.fitting import Room
from hcloud.sim.setup.prepare import tasks_of
from hcloud.sim.setup.scenarios import RECIPES, Recipe, generated
from hcloud.sim.setup.shop import Shop, shop_for
from hcloud.sim.setup.streams import stream
from hcloud.sim.setup.variation import ParameterChange, parse_axis, varied_cloud, varied_strategy

STATIC, LOW, HIGH = "static", "low-variability", "high-variability"
SCENARIOS = (STATIC, LOW, HIGH)
STRATEGIES = ("SR", "OdF", "OdM", "HF", "HM")
HYBRIDS = ("HF", "HM")


@dataclass(frozen=True, slots=True)
class Case:
    """What is run: a scenario under a strategy with changes by key path; without profiling information where
    ``profiled`` is false; the demand curve and its peaks scaled; ``sensitive`` replaces the kinds of jobs: that share
    of them are services, the others tolerant batch jobs."""

    scenario: str
    strategy: str
    changes: tuple[str, ...] = ()
    profiled: bool = True
    mean: float = 1.0
    peak: float = 1.0
    sensitive: float | None = None

    @property
    def parsed(self) -> tuple[ParameterChange, ...]:
        """The changes as keys with values."""
        told = () if self.profiled else ("information.rule=requested",)
        tolerant = () if self.sensitive is None else ("sensitive_share=0",)
        return tuple(parse_axis(text)[0] for text in (*self.changes, *told, *tolerant))


@dataclass(frozen=True, slots=True)
class CapacityFigures:
    """The jobs that ended on one kind of capacity: how many, mean performance of batch jobs, mean tail of services."""

    jobs: int
    batch: float
    tail: float


@dataclass(frozen=True, slots=True)
class RunFigures:
    """A run in figures; ``completion`` is the mean over batch jobs of real over isolated completion time, ``served``
    the mean over services of one over the tail."""

    measures: Measures
    completion: float
    served: float
    own: CapacityFigures
    rented: CapacityFigures


Figure = Callable[[RunFigures], float]


@dataclass(slots=True)
class StudyBench:
    """The frozen model, the strategies and the shop, and what was run on them."""

    strategies: Mapping[str, Strategy]
    cloud: CloudModel
    shop: Shop
    seeds: tuple[int, ...]
    advance: Callable[[int], None] = lambda runs: None
    _runs: dict[Case, tuple[RunFigures, ...]] = field(default_factory=dict)
    _jobs: dict[tuple[str, float, float, int], Jobs] = field(default_factory=dict)

    def runs(self, case: Case) -> tuple[RunFigures, ...]:
        """The case at every seed."""
        if case not in self._runs:
            self._runs[case] = tuple(_figures(self.outcome(case, seed)) for seed in self.seeds)
            self.advance(len(self.seeds))
        return self._runs[case]

    def values(self, case: Case, figure: Figure) -> list[float]:
        """A figure at every seed."""
        return [figure(made) for made in self.runs(case)]

    def interval(self, case: Case, figure: Figure) -> WrittenInterval:
        """A figure over the seeds."""
        return WrittenInterval.of(self.values(case, figure))

    def pool(self, case: Case) -> int:
        """What the strategy reserves for the load that the scenario states."""
        rule, (_, least, most) = rule_of(self.strategies[case.strategy], "reserved"), recipe(case).stated
        return reserved_servers(rule, most, least, profiled=case.profiled)

    def outcome(self, case: Case, seed: int) -> RunOutcome:
        """One run with all its tables."""
        strategy = varied_strategy(self.strategies[case.strategy], case.parsed)
        cloud = varied_cloud(self.cloud, case.parsed)
        jobs = self.jobs(case, seed)
        largest = Room.of(self.shop.types[self.shop.large].shape)
        setting = Setting(strategy, cloud, shop_for(self.shop, strategy), self.pool(case), seed)
        return run(setting, tasks_of(jobs, cloud, strategy, largest, seed))

    def jobs(self, case: Case, seed: int) -> Jobs:
        """The scenario's jobs at a seed."""
        key = (case.scenario, case.mean, case.peak, seed)
        if key not in self._jobs:
            self._jobs[key] = generated(recipe(case), seed)
        jobs = self._jobs[key]
        if case.sensitive is None:
            return jobs
        chosen = stream(seed, "kinds of jobs").random(len(jobs)) < case.sensitive
        return replace(jobs, kind=np.where(chosen, JobKind.SERVICE, JobKind.BATCH).astype(jobs.kind.dtype))


def recipe(case: Case) -> Recipe:
    """The scenario with its demand curve scaled; where peaks are, what lies above the mean is stretched so that the
    highest step is scaled by that factor."""
    made = RECIPES[case.scenario]
    if case.mean == case.peak == 1.0:
        return made
    mean, least, most = (figure * case.mean for figure in made.stated)
    stretch = (most * case.peak - mean) / (most - mean)
    minutes, cores = made.curve
    scaled = (c * case.mean for c in cores)
    curve = tuple(mean + (c - mean) * stretch if c > mean else c for c in scaled)
    return replace(made, curve=(minutes, curve), stated=(mean, least, most * case.peak))


def _figures(outcome: RunOutcome) -> RunFigures:
    judged = Judged(outcome)
    own = outcome.of_tasks("paid") == OWN
    ended = outcome.of_tasks("ended") >= 0
    batch = judged.completion[ended & (outcome.tasks.service == 0)]
    served = 1 / np.maximum(judged.tails[ended & (outcome.tasks.service == 1)], 1.0)
    return RunFigures(
        measure(outcome), _mean(batch), _mean(served), judged.part(own & ended), judged.part(~own & ended)
    )


@dataclass(frozen=True)
class Judged:
    """Completion times and tails of all jobs of a run, for parts of them."""

    outcome: RunOutcome

    @cached_property
    def completion(self) -> Reals:
        """Real over isolated completion time."""
        tasks = self.outcome.tasks
        taken = (np.asarray(self.outcome.of_tasks("ended")) - tasks.submit) / tasks.work
        return np.asarray(taken, np.float64)

    @cached_property
    def tails(self) -> Reals:
        """Tail latency relative to isolation, waiting included."""
        return tails_by_task(self.outcome)

    def part(self, chosen: np.typing.NDArray[np.bool_] | Ints) -> CapacityFigures:
        """The chosen jobs in figures."""
        service = self.outcome.tasks.service == 1
        batch, tails = 1 / self.completion[chosen & ~service], self.tails[chosen & service]
        return CapacityFigures(int(chosen.sum()), _mean(batch), _mean(tails))


def _mean(values: Reals) -> float:
    return float(values.mean()) if len(values) else float("nan")
