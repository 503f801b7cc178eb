"""The three reference scenarios (static, low and high variability) as seeded jobs that follow a stated demand curve."""

from __future__ import annotations

import operator
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import UsageError, did_you_mean
from hcloud.model.workload import SCENARIO, JobKind, Jobs, Modelled, Provenance
from hcloud.planning.forecasting.demand import demand_of

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

SECONDS = 7200
MEMORY_PER_CORE = 3.75
BATCH_APPS = ("hadoop-recommender", "hadoop-svm", "hadoop-factorisation", "hadoop-regression", "spark-learning")
SERVICE_APPS = ("memcached-read", "memcached-mixed", "memcached-write")
_SIZES = (1, 2, 4, 8, 16)
_WAVES = (5200, 2300, 1300)
"""Periods in seconds of the slow noise on a static demand."""
_SHORTEST = 20.0
"""Seconds a job lives at least."""
_AHEAD = 60.0
"""Seconds the curve is looked ahead when the size of an arriving job is chosen."""
_LOOKS = 6
"""Running jobs looked at when one is to end: more of them make lives more alike."""
_WORDS = 4096
_LOW = 0xFFFF_FFFF
"""The lower half of a word of 64 bits."""
_USUAL_SHARES = {
    JobKind.BATCH: (0.996, 0.0, 0.0025, 0.001, 0.0005),
    JobKind.SERVICE: (0.72, 0.24, 0.02, 0.01, 0.01),
}
"""How often a job of each size arrives where the curve asks for nothing else: a thin tail of 4, 8 and 16 vCPUs."""
_USUAL_MEAN = {kind: sum(map(operator.mul, _SIZES, shares)) for kind, shares in _USUAL_SHARES.items()}
_USUAL_UP_TO = {kind: ((up := np.cumsum(shares)) / up[-1]).tolist() for kind, shares in _USUAL_SHARES.items()}
"""The same added up: a draw in [0, 1) belongs to the first size that it is below."""
_ENDING = 360.0
"""Seconds after the last arrival within which what still runs ends."""
_HIGH_MINUTES = (0, 6, 14, 22, 28, 31, 33, 37, 44, 52, 57, 59, 61, 65, 73, 82, 90, 98, 106, 113, 120)
_HIGH_CORES = (
    210, 560, 640, 480, 760, 1226, 1226, 760, 420, 640, 900, 1226, 1226, 820, 480, 640, 360, 600, 420, 300, 210,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a scenario states, and the two choices that are ours.

    ``follow`` is the part of the demand above its floor that batch jobs follow (the rest is services, which may come
    in large pieces); ``minutes`` is the stated mean duration, or 0 where only "several to tens of minutes" is stated.
    """

    name: str
    curve: tuple[tuple[float, ...], tuple[float, ...]]
    wobble: float
    batch_per_service_jobs: float
    batch_per_service_cores: float
    follow: float
    minutes: float
    stated: tuple[float, float, float]
    """Mean, least and most cores."""


RECIPES = {
    "static": Recipe("static", ((0, 120), (854, 854)), 0.05, 4.2, 1.4, 1.0, 0.0, (854, 811, 897)),
    "low-variability": Recipe(
        "low-variability", ((0, 35, 50, 75, 90, 120), (605, 605, 900, 900, 605, 605)),
        0.0, 3.6, 1.4, 0.25, 0.0, (703, 605, 900),
    ),
    "high-variability": Recipe(
        "high-variability", (_HIGH_MINUTES, _HIGH_CORES), 0.0, 4.1, 1.5, 0.75, 8.1, (601, 210, 1226)
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScenarioCheck:
    """One stated figure of a scenario beside what the generated jobs give."""

    figure: str
    stated: float
    got: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether the figure is within its relative tolerance."""
        return abs(self.got - self.stated) <= self.tolerance * abs(self.stated)


def scenario(name: str, seed: int = 42) -> Jobs:
    """The jobs of a scenario; the same name and seed give the same bits."""
    if name not in RECIPES:
        raise UsageError(
            f"{name!r} is not a scenario{did_you_mean(name, RECIPES)}", hint=f"scenarios: {', '.join(RECIPES)}"
        )
    return generated(RECIPES[name], seed)


@lru_cache(maxsize=16)
def generated(recipe: Recipe, seed: int) -> Jobs:
    """The jobs of a scenario's recipe, or of one that differs from it in numbers only; the same gives the same bits."""
    chance = np.random.default_rng([seed, list(RECIPES).index(recipe.name)])
    total = demand_curve(recipe, chance)
    batch = _batch_curve(recipe, total)
    times = np.cumsum(chance.exponential(1.0, int(SECONDS * 1.2)))
    wanted = (batch.tolist(), (total - batch).tolist())
    draws = _Draws(chance.bit_generator)
    return _jobs(recipe, seed, _Generator(recipe, draws, wanted).run(times[times < SECONDS].tolist()))


def demand_curve(recipe: Recipe, chance: np.random.Generator) -> Floats:
    """The cores the scenario asks for in each second."""
    seconds = np.arange(SECONDS + 1, dtype=np.float64)
    minutes, cores = recipe.curve
    curve: Floats = np.interp(seconds, np.array(minutes) * 60.0, np.array(cores))
    if recipe.wobble:
        phases = chance.uniform(0, 2 * np.pi, 3)
        waves = sum(np.sin(2 * np.pi * seconds / period + phase) for period, phase in zip(_WAVES, phases, strict=True))
        waves = (waves - waves.min()) / np.ptp(waves) * 2 - 1
        curve = curve * (1 + recipe.wobble * (waves - waves.mean()) / np.abs(waves - waves.mean()).max())
    return curve


def _batch_curve(recipe: Recipe, total: Floats) -> Floats:
    """The batch part: it follows the demand less than fully and cannot rise faster than single-core jobs arrive."""
    wanted = recipe.batch_per_service_cores / (1 + recipe.batch_per_service_cores) * total.sum()
    floor = total.min()
    shape = floor + recipe.follow * (total - floor)
    rise = 0.7 * recipe.batch_per_service_jobs / (1 + recipe.batch_per_service_jobs)
    low, high = 0.1, 1.5
    for _ in range(40):
        share = (low + high) / 2
        low, high = (share, high) if _limited(share * shape, total, rise).sum() < wanted else (low, share)
    return _limited(low * shape, total, rise)


def _limited(curve: Floats, total: Floats, rise: float) -> Floats:
    capped = np.minimum(curve, 0.9 * total)
    slope = rise * np.arange(len(capped))
    limited: Floats = np.minimum.accumulate(capped - slope) + slope
    return limited


class _Draws:
    """What ``numpy.random.Generator`` draws, number by number, from words that are drawn many at once: to ask NumPy for
    six places took most of the time of a scenario. A number in [0, 1) takes a word, a place half of one."""

    def __init__(self, source: np.random.BitGenerator) -> None:
        self._source = source
        self._words: list[int] = []
        self._half: int | None = None

    def _word(self) -> int:
        if not self._words:
            self._words = self._source.random_raw(_WORDS)[::-1].tolist()
        return self._words.pop()

    def random(self) -> float:
        """A number in [0, 1)."""
        return (self._word() >> 11) * 2.0**-53

    def places(self, count: int, wanted: int) -> list[int]:
        """So many of ``count`` places, by Lemire's way; where there is but one, nothing is drawn."""
        if count == 1:
            return [0] * wanted
        found, half, least = list[int](), self._half, (_LOW + 1 - count) % count
        while len(found) < wanted:
            if half is None:
                word = self._word()
                drawn, half = (word & _LOW) * count, word >> 32
            else:
                drawn, half = half * count, None
            if drawn & _LOW >= least:
                found.append(drawn >> 32)
        self._half = half
        return found


@dataclass(slots=True)
class _Generator:
    """Lets jobs in as they arrive and ends running ones so that the cores in use follow each kind's curve."""

    recipe: Recipe
    draws: _Draws
    wanted: tuple[list[float], list[float]]
    rows: list[list[float]] = field(default_factory=list)
    running: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    turn: list[int | None] = field(default_factory=lambda: [None, None])
    used: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def run(self, times: list[float]) -> list[list[float]]:
        """Rows of submit, end, cores, kind."""
        for kind in (JobKind.BATCH, JobKind.SERVICE):
            while self.used[kind] < self._target(kind, 0.0):
                self._start(0.0, kind, self._usual_size(kind))
        part = self.recipe.batch_per_service_jobs / (1 + self.recipe.batch_per_service_jobs)
        for time, draw in zip(times, [self.draws.random() for _ in times], strict=True):
            kind = JobKind.BATCH if draw < part else JobKind.SERVICE
            self._start(time, kind, self._size(kind, time))
            self._end_surplus(time)
        for kind in (JobKind.BATCH, JobKind.SERVICE):
            for row in self.running[kind]:
                self.rows[row][1] = SECONDS + 1.0 + _ENDING * self.draws.random()
        return self.rows

    def _target(self, kind: int, time: float) -> float:
        return self.wanted[kind][min(int(time), SECONDS)]

    def _start(self, time: float, kind: JobKind, cores: int) -> None:
        self.running[kind].append(len(self.rows))
        self.rows.append([time, 0.0, float(cores), float(kind)])
        self.used[kind] += cores

    def _usual_size(self, kind: JobKind) -> int:
        return _SIZES[bisect_right(_USUAL_UP_TO[kind], self.draws.random())]

    def _size(self, kind: JobKind, time: float) -> int:
        """The usual size, or a larger one while the curve rises faster than usual jobs can follow."""
        part = self.recipe.batch_per_service_jobs / (1 + self.recipe.batch_per_service_jobs)
        arrivals = _AHEAD * (part if kind is JobKind.BATCH else 1 - part)
        needed = (self._target(kind, time + _AHEAD) - self.used[kind]) / arrivals
        if needed <= _USUAL_MEAN[kind]:
            return self._usual_size(kind)
        return next((size for size in _SIZES if size >= needed), _SIZES[-1])

    def _end_surplus(self, time: float) -> None:
        """End jobs of each kind: the one whose turn it is, once the surplus of cores is at least half its size."""
        rows = self.rows
        for kind, running in enumerate(self.running):
            turn, used, target = self.turn[kind], self.used[kind], self._target(kind, time)
            while running:
                if turn is None:
                    places = self.draws.places(len(running), _LOOKS)
                    begun = [rows[running[place]][0] for place in places]
                    turn = places[begun.index(min(begun))]
                row = rows[running[turn]]
                if used - target < row[2] / 2 or time - row[0] < _SHORTEST:
                    break
                row[1] = time
                used -= row[2]
                running[turn] = running[-1]
                running.pop()
                turn = None
            self.turn[kind], self.used[kind] = turn, used


def _jobs(recipe: Recipe, seed: int, rows: list[list[float]]) -> Jobs:
    table = np.array(rows)
    submit, end, cores = (np.ascontiguousarray(table[:, i]) for i in range(3))
    kind = table[:, 3].astype(np.int8)
    chance = np.random.default_rng([seed, len(rows)])
    batch = chance.integers(0, len(BATCH_APPS), len(rows))
    service = len(BATCH_APPS) + chance.integers(0, len(SERVICE_APPS), len(rows))
    rules = (Modelled("memory", f"{MEMORY_PER_CORE:g} GiB per vCPU", "fixed"),)
    return Jobs(
        submit, end - submit, cores, cores * MEMORY_PER_CORE, np.zeros(len(rows)), kind,
        np.where(kind == JobKind.BATCH, batch, service).astype(np.int32), BATCH_APPS + SERVICE_APPS,
        np.full(len(rows), -1, np.int32), (),
        Provenance(f"scenario:{recipe.name}", SCENARIO, f"seed {seed}", len(rows), modelled=rules),
    )  # fmt: skip


def self_check(name: str, jobs: Jobs) -> tuple[ScenarioCheck, ...]:
    """What the scenario states beside what the jobs give, over its 120 minutes at 1-minute steps.

    Where the figures cannot all hold, the mean duration yields: at one arrival a second and at least one core a job,
    the thin tail and the pieces of the surges leave fewer core-seconds to the rest, which ends some 7 % earlier.
    """
    recipe = RECIPES[name]
    minutes = demand_of(jobs, 60).cores[: SECONDS // 60]
    is_batch = jobs.kind == JobKind.BATCH
    work = jobs.duration * jobs.cores
    arrived = jobs.submit[jobs.submit > 0]
    checks = [
        ScenarioCheck("mean cores", recipe.stated[0], float(minutes.mean()), 0.03),
        ScenarioCheck("least cores", recipe.stated[1], float(minutes.min()), 0.06),
        ScenarioCheck("most cores", recipe.stated[2], float(minutes.max()), 0.03),
        ScenarioCheck("batch : service jobs", recipe.batch_per_service_jobs, is_batch.sum() / (~is_batch).sum(), 0.1),
        ScenarioCheck("batch : service core-seconds", recipe.batch_per_service_cores, _ratio(work, is_batch), 0.1),
        ScenarioCheck("mean inter-arrival seconds", 1.0, float(np.diff(arrived).mean()), 0.05),
        ScenarioCheck("completion hours", 2.0, float((jobs.submit + jobs.duration).max()) / 3600, 0.06),
    ]
    if recipe.minutes:
        checks.append(ScenarioCheck("mean duration minutes", recipe.minutes, float(jobs.duration.mean()) / 60, 0.12))
    return tuple(checks)


def _ratio(work: Floats, is_batch: np.typing.NDArray[np.bool_]) -> float:
    return float(work[is_batch].sum() / work[~is_batch].sum())
