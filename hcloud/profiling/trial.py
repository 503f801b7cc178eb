"""One resource against one application: at an intensity and undisturbed in turn, until both scores are known."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hcloud.model.measured.profile import Metric
from hcloud.profiling.bench import Bench, BenchReading
from hcloud.profiling.budget import MORE_TIME, OUT_OF_TIME, OutOfTimeError, TimeBudget
from hcloud.profiling.injectors import Injector, Work
from hcloud.profiling.noise import drift, spread
from hcloud.profiling.place import TooSlowError, TrialError
from hcloud.profiling.ramp import FULL, Crossing, RampRules, crossing, next_intensity
from hcloud.profiling.selfcheck import IsolationMode, rate, watched

TOO_SLOW = 4.0  # ours: a run under pressure that takes so many times as long need not be waited for
LEAST_PATIENCE = 1.0
PUSHED_OUT = 0.5  # ours: of the rate at which held memory is touched
NOISE_WINDOWS = 5  # ours: of a stressor alone, to know its own drift
ALONE_WINDOW = 0.25  # ours: seconds in which a stressor's own rate is read


def timed(bench: Bench, clock: TimeBudget) -> BenchReading:
    """One measurement; OutOfTimeError where the clock rather than the application is why there is none."""
    try:
        return bench.measure(clock.patience())
    except TooSlowError as error:
        if clock.left <= 0:
            raise OutOfTimeError(OUT_OF_TIME, hint=MORE_TIME) from error
        raise


@dataclass(slots=True)
class Samples:
    """What was lost at each intensity, by repeat, and the undisturbed measurements in between, in order, by what they
    have in common (the intensity of a control, or of a stressor that is alone)."""

    losses: dict[float, list[float]] = field(default_factory=dict)
    calm: dict[float, list[float]] = field(default_factory=dict)

    def undisturbed(self, setting: float, found: float) -> None:
        """Remember a measurement in between."""
        self.calm.setdefault(setting, []).append(found)

    def add(self, intensity: float, loss: float) -> None:
        """Remember a repeat."""
        self.losses.setdefault(intensity, []).append(loss)

    def rules(self, known_noise: float) -> RampRules:
        """The rules under the larger of the drift seen here and the one known before."""
        return RampRules(noise=max([known_noise, *map(drift, self.calm.values())]))


@dataclass(frozen=True, slots=True)
class Scores:
    """Where application and stressor lose 5 %, None where time ran out before that was judged; the noises
    are the losses that could not be told from drift."""

    app: Crossing | None
    own: Crossing | None
    noise: float
    own_noise: float


@dataclass(slots=True)
class Trial:
    """An application beside a stressor (and, on the same core, beside a control in the pauses)."""

    bench: Bench
    metric: Metric
    mode: IsolationMode
    injector: Injector
    control: Injector | None
    clock: TimeBudget
    noise: float = 0.0
    app: Samples = field(default_factory=Samples)
    own: Samples = field(default_factory=Samples)
    _last: tuple[float, float] | None = None
    _calm_seconds: float = 0.0

    def run(self) -> Scores:
        """Measure until both crossings are known, or the clock runs out."""
        try:
            self._learn_own_noise()
            while (intensity := self._next()) is not None:
                self._measure(intensity)
        except OutOfTimeError:
            pass  # what was measured until now still says something
        finally:
            self.injector.turn(0.0)
        rules, own_rules = self.app.rules(self.noise), self.own.rules(0.0)
        own = crossing(self.own.losses, own_rules) if self.injector.counts else None
        return Scores(crossing(self.app.losses, rules), own, rules.threshold, own_rules.threshold)

    def _learn_own_noise(self) -> None:
        for _ in range(NOISE_WINDOWS if self.injector.counts else 0):
            self._alone(FULL)
        self.injector.turn(0.0)

    def _next(self) -> float | None:
        wanted = next_intensity(self.app.losses, self.app.rules(self.noise))
        if wanted is None and self.injector.counts:
            wanted = next_intensity(self.own.losses, self.own.rules(0.0))
        return wanted

    def _measure(self, intensity: float) -> None:
        """Undisturbed, under pressure, undisturbed; the last of these serves the next time, too."""
        before = self._last[1] if self._last is not None and self._keeps(intensity) else self._calm(intensity)
        alone = self._alone(intensity)
        self.injector.turn(intensity)
        began = self.injector.work()
        pressed = self._pressed(before)
        broken, ended = self.injector.broken, self.injector.work()
        self.injector.turn(0.0)
        after = self._calm(intensity)
        self._last = (intensity, after)
        self.app.add(intensity, 1 - 2 * pressed / (before + after))
        if self.injector.counts:
            # The kernel chooses who goes when memory runs out; that somebody had to is what counts for both
            no_room = broken or (pressed == 0 and self.injector.stressor.resource == "memcap")
            self.own.add(intensity, 1.0 if no_room else self._own_loss(alone, began, ended))

    def _keeps(self, intensity: float) -> bool:
        return self.control is None or (self._last is not None and self._last[0] == intensity)

    def _own_loss(self, alone: float, began: Work, ended: Work) -> float:
        loss = 1 - rate(began, ended, self.mode.own_rate) / alone if alone > 0 else 0.0
        # Touching held memory slows a little by caches, too; memory that was pushed out costs far more
        return loss if self.injector.stressor.resource != "memcap" or loss > PUSHED_OUT else 0.0

    def _alone(self, intensity: float) -> float:
        """The stressor's own rate while the application rests."""
        if not self.injector.counts:
            return 0.0
        self.injector.turn(intensity)
        found = watched(self.injector, self.mode.own_rate, ALONE_WINDOW)
        self.own.undisturbed(intensity, found)
        return found

    def _calm(self, intensity: float) -> float:
        """The performance without the stressor; on the same core, beside a control of the same intensity."""
        if self.control is not None:
            self.control.turn(intensity)
        try:
            began = time.monotonic()
            found = self._performance(timed(self.bench, self.clock))
            self._calm_seconds = time.monotonic() - began
        finally:
            if self.control is not None:
                self.control.turn(0.0)
        self.app.undisturbed(0.0 if self.control is None else intensity, found)
        return found

    def _pressed(self, calm: float) -> float:
        """The performance under pressure; none where the application does not come through."""
        patience = max(LEAST_PATIENCE, TOO_SLOW * self._calm_seconds)
        try:
            return self._performance(self.bench.measure(min(patience, self.clock.patience())))
        except OutOfTimeError:
            raise
        except TrialError as error:
            if self.clock.left <= 0:
                raise OutOfTimeError(str(error)) from error
            self.bench.close()
            return calm / TOO_SLOW if isinstance(error, TooSlowError) else 0.0

    def _performance(self, reading: BenchReading) -> float:
        if self.mode is IsolationMode.TOGETHER and reading.cpu_cost:
            return 1 / reading.cpu_cost
        return reading.performance(self.metric)


@dataclass(frozen=True, slots=True)
class PerformanceEstimate:
    """A performance with its interval, and the repeats it rests on."""

    mean: float
    low: float
    high: float
    readings: tuple[BenchReading, ...]

    @property
    def alone(self) -> float:
        """Half of the interval of one run alone, relative, as far as these tell."""
        return (self.high - self.mean) / self.mean * math.sqrt(len(self.readings))


ALONE = 0.2
"""Half of the interval of a single run, relative, where runs are not known to differ by more (ours)."""


def level(measure: Callable[[], BenchReading], narrow: float, most: int, alone: float = ALONE) -> PerformanceEstimate:
    """Repeat until the 95 % interval is narrow enough (half of it, relative to the mean) or there are enough; a run
    that stays alone gets the interval that is usual of one."""
    readings = [measure()]
    while True:
        mean, low, high = spread([r.figure for r in readings])
        if len(readings) >= most or (len(readings) > 2 and high - mean <= narrow * mean):
            return PerformanceEstimate(mean, max(low, 0.0), high, tuple(readings))
        try:
            readings.append(measure())
        except OutOfTimeError:
            half = alone * mean if len(readings) == 1 else high - mean
            return PerformanceEstimate(mean, max(mean - half, 0.0), mean + half, tuple(readings))
