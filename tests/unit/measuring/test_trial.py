"""A trial of an application whose answer to pressure is known, with a stressor that knows how it is hurt itself."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hcloud.model.measured.app import (
    COMPLETION,
    TAIL,
    THROUGHPUT,
    App,
    HttpLoad,
    MachineShare,
    ProfilingBudget,
)
from hcloud.model.measured.profile import RESOURCES, Aspect
from hcloud.model.workload import JobKind
from hcloud.profiling import selfcheck
from hcloud.profiling.bench import BenchReading
from hcloud.profiling.budget import OUT_OF_TIME, OutOfTimeError, TimeBudget
from hcloud.profiling.cage import Cage, Hierarchy
from hcloud.profiling.injectors import Injector, Stressor, StressorContext, Work
from hcloud.profiling.place import ProcessPlacement, TooSlowError, TrialError
from hcloud.profiling.ramp import Crossing
from hcloud.profiling.selfcheck import IsolationMode, ResourceFinding, Response
from hcloud.profiling.session import ProfilingSession, _ProbedRun, less_sure, limit_of_load
from hcloud.profiling.trial import PerformanceEstimate, Scores, Trial, level, timed
from hcloud.usecases.measuring.profile_run import ProbeRequest, short_time


class Known(Injector):
    """A stressor that is only counted: it loses a share of its rate while the application runs beside it."""

    def __init__(self, resource: str, loses_from: float) -> None:
        self.stressor = Stressor(resource, "built-in")
        self.ground = StressorContext(Cage(Hierarchy(0), ""), ProcessPlacement())
        self.intensity, self.loses_from = 0.0, loses_from
        self.beside = False
        self._looks = itertools.count()
        self._steps = 0.0
        self._running = []

    def turn(self, intensity: float) -> None:
        self.intensity = intensity

    def work(self) -> Work:
        """Each look is a second later than the last."""
        slowed = self.beside and self.intensity >= self.loses_from
        self._steps += 1_000_000 * self.intensity * (0.8 if slowed else 1.0)
        self.beside = False
        at = float(next(self._looks))
        return Work(at, int(self._steps), at, None)


class Answer:
    """An application that takes a second, and longer by the pressure on it."""

    def __init__(self, injector: Known, five_percent_at: float, noise: float = 0.0) -> None:
        self.injector, self.five_percent_at = injector, five_percent_at
        self._chance = random.Random(3)
        self._noise = noise
        self.runs = 0
        self.closed = 0

    def measure(self, patience: float) -> BenchReading:
        self.runs += 1
        self.injector.beside = True
        loss = 0.05 * self.injector.intensity / self.five_percent_at
        return BenchReading(max(1 + self._chance.gauss(0, self._noise), 0.1) / (1 - loss), None)

    def close(self) -> None:
        self.closed += 1


class Fails(Answer):
    """An application that pressure from some intensity on ends with an error."""

    error: type[TrialError] = TrialError

    def measure(self, patience: float) -> BenchReading:
        if self.injector.intensity >= self.five_percent_at:
            self.injector.beside = True
            raise self.error("gone")
        return BenchReading(1.0, None)


class Hangs(Fails):
    error = TooSlowError


@pytest.fixture(autouse=True)
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)


def trial(bench: Answer, seconds: float = 60.0) -> Trial:
    return Trial(bench, COMPLETION, IsolationMode.APART, bench.injector, None, TimeBudget.start(seconds, 60.0))


@pytest.mark.parametrize("truth", [7.0, 30.0, 62.0, 95.0])
def test_both_scores_are_found(truth: float) -> None:
    bench = Answer(Known("membw", loses_from=40.0), truth)
    scores = trial(bench).run()
    assert scores.app is not None
    assert scores.own is not None
    assert abs(scores.app.value - truth) < 6.25
    assert scores.own.low <= 40 <= scores.own.high
    assert abs(scores.own.value - 40) < 6.25
    assert bench.injector.intensity == 0


def test_what_bears_all_is_said_to() -> None:
    scores = trial(Answer(Known("membw", loses_from=1000.0), 5000.0)).run()
    assert scores.app is not None
    assert scores.own is not None
    assert scores.app.never
    assert scores.own.never


def test_a_noisy_application_raises_the_loss_that_counts() -> None:
    scores = trial(Answer(Known("membw", loses_from=1000.0), 100.0, noise=0.2)).run()
    assert scores.noise > 0.1


@pytest.mark.parametrize("kind", [Fails, Hangs])
def test_who_ends_or_hangs_under_pressure_has_lost(kind: type[Fails]) -> None:
    bench = kind(Known("membw", loses_from=1000.0), 60.0)
    scores = trial(bench).run()
    assert scores.app is not None
    assert not scores.app.never
    assert scores.app.low <= 60 <= scores.app.high
    assert bench.closed > 0


def test_memory_that_does_not_fit_both_is_caused_by_both() -> None:
    scores = trial(Fails(Known("memcap", loses_from=1000.0), 60.0)).run()
    assert scores.own is not None
    assert scores.own.low <= 60 <= scores.own.high


def test_slower_touches_alone_are_no_want_of_memory() -> None:
    scores = trial(Answer(Known("memcap", loses_from=10.0), 5000.0)).run()
    assert scores.own is not None
    assert scores.own.never


def test_out_of_time_keeps_what_is_known() -> None:
    scores = trial(Answer(Known("membw", loses_from=40.0), 30.0), seconds=0.0).run()
    assert scores.app is None


def test_repeats_end_when_the_interval_is_narrow_or_time_is_out() -> None:
    steady = level(lambda: BenchReading(2.0, None), 0.03, 6)
    assert (steady.mean, len(steady.readings)) == (2.0, 3)
    figures = iter([1.0, 2.0])

    def measure() -> BenchReading:
        if (figure := next(figures, None)) is None:
            raise OutOfTimeError("over")
        return BenchReading(figure, None)

    short = level(measure, 0.03, 6)
    assert (short.mean, len(short.readings)) == (1.5, 2)
    wild = itertools.cycle([1.0, 5.0])
    assert len(level(lambda: BenchReading(next(wild), None), 0.03, 6).readings) == 6


def test_a_run_that_stays_alone_is_no_exact_measurement() -> None:
    """15.33 ms (15.33 to 15.33) counted as if measured without error, beside 16.2 (2.3 to 30.1)."""

    def out_of_time(figures: Iterator[float]) -> BenchReading:
        for figure in figures:
            return BenchReading(figure, None)
        raise OutOfTimeError("over")

    figures = iter([10.0])
    one = level(lambda: out_of_time(figures), 0.03, 6)
    assert (one.low, one.mean, one.high) == (8.0, 10.0, 12.0)
    wild = itertools.cycle([1.0, 5.0])
    usual = level(lambda: BenchReading(next(wild), None), 0.03, 6).alone
    figures = iter([10.0])
    assert level(lambda: out_of_time(figures), 0.03, 6, usual).high > 20.0


def test_a_victim_that_was_faster_under_pressure_lost_nothing() -> None:
    """It "lost no more than -2%"."""
    assert Response([-0.02, -0.03], 0.5).shown == "0%"
    assert Response([0.42, 0.42], 0.32).shown == "42%"


def test_what_is_less_sure_of_a_score_is_noted() -> None:
    """A score at which 13 % is lost looked like one at which 5 % is, and a missing one had no reason."""
    session = ProfilingSession(App("app", JobKind.BATCH, ("app",)), ("network",))
    finding = ResourceFinding("network", IsolationMode.LIMITED, Stressor("network", "built-in"), "")
    session.keep("network", finding, Scores(Crossing(39.0, 0.0, 100.0, 4, never=False), None, 0.13, 0.0))
    assert session.notes == [f"network: {less_sure(0.13)}", "network: not known what it causes, the time was used up"]
    session.keep("disk", finding, Scores(Crossing(39.0, 0.0, 100.0, 4, never=False), None, 0.05, 0.0))
    assert not any("disk: tolerated is" in note for note in session.notes)


def test_a_restless_machine_is_not_one_that_cannot_tell() -> None:
    """Beside others a victim lost "no more than 100% (noise 185%)", and the memory was never asked for again."""
    session = ProfilingSession(BATCH, ("memcap", "l1i"))
    session.lack("memcap", ResourceFinding("memcap", None, None, "a victim lost 100% (noise 185%)", 1.85))
    session.lack("l1i", ResourceFinding("l1i", None, None, "a victim lost 1% (noise 2%)", 0.02))
    assert session.notes == ["memcap: not measured, this machine was too restless: a victim lost 100% (noise 185%)"]
    quiet, restless = Response((0.0, 0.0), 0.05), Response((0.1, 0.3), 0.48)
    modes = (IsolationMode.APART, restless), (IsolationMode.APART, quiet), (IsolationMode.TOGETHER, restless)
    session.lack("cpu", selfcheck.without_loss("cpu", modes))
    assert "cpu: not measured, this machine was too restless" in session.notes[-1], "not as the quiet one says"
    session.lack("tlb", selfcheck.without_loss("tlb", ((IsolationMode.APART, quiet),)))
    assert list(session.unmeasurable) == ["l1i", "tlb"]


def test_what_the_system_refuses_costs_one_resource_and_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, clock: TimeBudget) -> ResourceFinding:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(selfcheck, "check", refuse)
    session = ProfilingSession(BATCH, ("disk",))
    run = _ProbedRun(session, None, TimeBudget.start(60.0, 60.0), (0,))  # type: ignore[arg-type]
    run._resource("disk", 1)
    assert session.notes == ["disk: not measured: [Errno 28] No space left on device"]


def test_a_look_at_a_resource_takes_of_its_own_share_of_the_time_which_is_enough_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 40 seconds for ten resources each got four, in which none of them can be told."""
    given = list[float]()

    def look(*_: object, clock: TimeBudget) -> ResourceFinding:
        given.append(clock.left)
        raise OutOfTimeError("")

    monkeypatch.setattr(selfcheck, "check", look)
    for seconds, left in ((29.0, 10), (600.0, 10), (9.0, 1)):
        clock = TimeBudget.start(seconds, 60.0)
        run = _ProbedRun(ProfilingSession(BATCH, ("disk",)), None, clock, (0,))  # type: ignore[arg-type]
        run._resource("disk", left)
    assert given == pytest.approx([14.5, 60.0, 9.0], abs=0.4), "what shapes take of 40 s leaves a little less than 30"
    asked = ProbeRequest(RESOURCES)
    short = replace(BATCH, limits=ProfilingBudget(seconds=40.0))
    assert short_time(short, asked).startswith("40s lasts for about 2 of 10 resources: --resources names")
    assert not short_time(BATCH, asked)
    assert not short_time(short, ProbeRequest(("disk", "cpu")))


def test_what_the_clock_ended_was_not_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Hangs(Known("cpu", loses_from=0.0), 0.0)
    with pytest.raises(TooSlowError):
        timed(bench, TimeBudget.start(60.0, 1.0))
    clock = iter((1.0, 1.0, 2.0))  # there is time when it starts, and none when it ends
    monkeypatch.setattr("hcloud.profiling.trial.time.monotonic", lambda: next(clock))
    with pytest.raises(OutOfTimeError, match="used up"):
        timed(bench, TimeBudget(2.0, 1.0))


class OnTwoCores:
    """A program that takes 200 s on one core, by a clock of its own; what happens to it on two."""

    def __init__(self, cores: int, error: TrialError | None, clock: list[float]) -> None:
        self.error, self.clock = error if cores == 2 else None, clock

    def measure(self, patience: float) -> BenchReading:
        self.clock[0] += 200.0
        if self.error is not None:
            raise self.error
        return BenchReading(1.0, None)

    def close(self) -> None:
        """Nothing runs."""


BATCH = App("app", JobKind.BATCH, ("app",))


def shapes(
    monkeypatch: pytest.MonkeyPatch,
    error: TrialError | None,
    vcpus: float = 1.0,
    cap: float = 1e6,
    app: App = BATCH,
) -> ProfilingSession:
    """What a run without resources says of its shapes."""
    clock = [0.0]
    monkeypatch.setattr("hcloud.profiling.trial.time.monotonic", lambda: clock[0])
    guard = SimpleNamespace(token="1-1", own_group=lambda group: None)
    monkeypatch.setattr("hcloud.profiling.session.Guard", lambda: nullcontext(guard))
    monkeypatch.setattr("hcloud.profiling.place.own_cores", lambda: (0, 1))
    monkeypatch.setattr(
        "hcloud.profiling.session.open_bench", lambda _, app, stand: OnTwoCores(len(stand.app.cores), error, clock)
    )
    app = replace(app, shape=MachineShare(vcpus), limits=ProfilingBudget(cap, cap))
    session = ProfilingSession(app, (), hierarchy=Hierarchy(0))
    session.run(lambda done: None)
    return session


def test_a_shape_for_which_there_was_no_time_is_no_shape_where_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan used two vCPUs any more, since the time was used up before they were measured."""
    session = shapes(monkeypatch, OutOfTimeError("over"))
    assert (list(session.entries[Aspect.SCALE_UP]), session.failures) == (["1c"], {})
    assert "not measured with 2 vCPUs: over" in session.notes
    assert list(shapes(monkeypatch, TrialError("gone")).failures) == ["2c"]
    late = shapes(monkeypatch, TrialError("gone"), cap=600.0)
    assert (late.failures, late.notes[-1]) == ({}, f"not measured with 2 vCPUs: {OUT_OF_TIME}")


SERVED = HttpLoad("http://127.0.0.1:1/", metric=THROUGHPUT)


def test_a_rate_that_the_load_limits_is_no_reason_for_fewer_vcpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """82.2 req/s on one vCPU and 82.7 on two, of which it used 0.02: a plan gave it one where it asked for two."""
    service = App("app", JobKind.SERVICE, ("app",), measure=SERVED)
    session = shapes(monkeypatch, None, app=service)
    assert list(session.entries[Aspect.SCALE_UP]) == ["1c"]
    assert [n.partition(":")[0] for n in session.notes[1:]] == [
        "not known how much 1 vCPU can serve",
        "not measured with 2 vCPUs",
    ]
    assert list(shapes(monkeypatch, None).entries[Aspect.SCALE_UP]) == ["1c", "2c"]


@pytest.mark.parametrize(
    ("used", "said"),
    [(0.02, "it used 0.02 vCPU, so 80 req/s under this load may be the limit"), (0.95, ""), (None, "not counted here")],
)
def test_what_uses_its_vcpus_is_at_its_own_limit(used: float | None, said: str) -> None:
    service = App("app", JobKind.SERVICE, ("app",), measure=SERVED)
    found = PerformanceEstimate(80.0, 79.0, 81.0, (BenchReading(80.0, None, used),))
    assert said in limit_of_load(service, MachineShare(1.0), found)
    assert bool(said) == bool(limit_of_load(service, MachineShare(1.0), found))
    assert not limit_of_load(replace(service, measure=replace(SERVED, metric=TAIL)), MachineShare(1.0), found)


def test_who_runs_out_of_memory_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cage, "ran_out_of_memory", lambda self: True)
    with pytest.raises(TrialError, match="app ran out of memory"):
        shapes(monkeypatch, TrialError("app was killed by signal 9"), vcpus=2.0)


def test_looking_at_the_machine_ends_with_the_time_too() -> None:
    """A run with a cap of 20 s took 50 s: what the machine can tell was found out whatever time was left."""
    looks = selfcheck.Effort(8, TimeBudget(0.0, 1.0))
    with pytest.raises(OutOfTimeError, match="used up"):
        selfcheck._response(lambda: 1.0, Known("llc", 101.0), None, looks)
