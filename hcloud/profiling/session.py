"""A whole run: what the machine can tell, how fast the application is in each shape, and what it bears and causes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from hcloud.errors import UsageError
from hcloud.model.measured.app import App, MachineShare
from hcloud.model.measured.profile import OUT_OF_MEMORY, RESOURCES, Aspect, FailedMeasurement, Measured, Profile
from hcloud.model.workload import JobKind
from hcloud.profiling import place, selfcheck
from hcloud.profiling.arena import Arena
from hcloud.profiling.bench import Bench, open_bench
from hcloud.profiling.budget import OutOfTimeError, TimeBudget
from hcloud.profiling.cage import Hierarchy, this_machine
from hcloud.profiling.guard import Guard
from hcloud.profiling.injectors import Injector, Stressor
from hcloud.profiling.noise import drift
from hcloud.profiling.place import TooSlowError, TrialError
from hcloud.profiling.ramp import FULL, LIMIT, Crossing
from hcloud.profiling.selfcheck import IsolationMode, ResourceFinding
from hcloud.profiling.trial import ALONE, PerformanceEstimate, Scores, Trial, level, timed
from hcloud.units import counted_vcpus

NARROW = 0.03  # ours: repeat until the interval is within 3 % of the mean
MOST_REPEATS = 6  # ours
MOST_NOISE = 0.25  # ours: beyond, "never lost" would say nothing
FULL_LOAD = 0.8  # ours: of its vCPUs; who uses less under load may serve more
BASELINE_SHARE = 4  # ours: at most a fourth of the time for shapes and baselines
LEAST_SECONDS = 14.0  # ours: what a look at a resource and its scores take; with less none of them would be told
MEMORY_PER_VCPU = 4 << 30  # ours: what general-purpose types of all three clouds have, where no shape says how much
MOST_MEMORY = 16 << 30  # ours: more takes long to fill
MEMORY_ROOM = 1.1  # ours: of what the application ever held; with less it would not run undisturbed
FREE_SHARE = 0.8  # ours: of what is free on the machine
INTERPRETER = 24 << 20  # what a stressor takes besides the memory it holds; with all of it none would fit
GIB = 1 << 30

Advance = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class MachineFindings:
    """What was found out about the machine: what it can tell of each resource, and how straight each dial is."""

    findings: dict[str, ResourceFinding] = field(default_factory=dict)
    dials: dict[str, tuple[float, ...]] = field(default_factory=dict)


def learn(known: MachineFindings, shape: MachineShare, resources: Sequence[str], advance: Advance) -> None:
    """Find out thoroughly what this machine can tell of some resources, before several programs are measured."""
    cores = place.own_cores()
    with Guard() as guard:
        arena = Arena.open(guard, cores, shape, this_machine())
        for number, resource in enumerate(resources):
            known.findings[resource] = selfcheck.check(arena, resource, selfcheck.THOROUGH)
            advance((1 + number) / len(resources))


@dataclass(slots=True)
class ProfilingSession:
    """What was measured until now; at any moment it can be made a profile. ``known`` is what was found out about the
    machine; sessions that follow each other may share it."""

    app: App
    resources: Sequence[str]
    seed: int = 0
    machine: str = field(default_factory=place.machine_name)
    hierarchy: Hierarchy = field(default_factory=this_machine)
    entries: dict[Aspect, dict[str, Measured]] = field(default_factory=dict)
    unmeasurable: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failures: dict[str, FailedMeasurement] = field(default_factory=dict)
    noise: float = 0.0
    known: MachineFindings = field(default_factory=MachineFindings)

    @property
    def stands(self) -> bool:
        """Whether there is a baseline, and so a profile."""
        return bool(self.entries.get(Aspect.SCALE_UP))

    def profile(self) -> Profile:
        """What was measured, as a profile."""
        command = tuple(w.encode("utf-8", "replace").decode() for w in self.app.command)
        notes = tuple(self.notes)
        metric = self.app.measure.metric
        entries = {a: dict(columns) for a, columns in self.entries.items() if columns}
        failures = {Aspect.SCALE_UP: dict(self.failures)} if self.failures else {}
        return Profile(self.app.name, self.app.kind, metric, command, entries, dict(self.unmeasurable), notes, failures)

    def run(self, advance: Advance) -> None:
        """Measure everything that time allows; nothing that was started is there afterwards."""
        cores = place.own_cores()
        if self.app.shape.vcpus > len(cores):
            raise UsageError(f"{counted_vcpus(self.app.shape.vcpus)} asked for; this machine has {len(cores)}")
        limits = self.app.limits
        clock = TimeBudget.start(limits.total_seconds, limits.run_seconds)
        with Guard() as guard:
            arena = Arena.open(guard, cores, self.app.shape, self.hierarchy)
            arena.clock = clock
            self._describe()
            _ProbedRun(self, arena, clock, cores).all(advance)

    def record(self, aspect: Aspect, column: str, measured: Measured) -> None:
        """Remember one number."""
        self.entries.setdefault(aspect, {})[column] = measured

    def keep(self, resource: str, finding: ResourceFinding, scores: Scores) -> None:
        """Remember what was measured of one resource, and what is not known or less sure."""
        assert finding.stressor is not None
        assert finding.mode is not None
        source = f"{finding.stressor.label}, {finding.mode.value}, {scores.noise:.0%} lost"
        if scores.app is not None and scores.app.never and scores.noise > MOST_NOISE:
            self.unmeasurable[resource] = (
                f"undisturbed runs beside it differ by {scores.noise:.0%}; smaller losses cannot be measured here"
            )
            return
        if scores.app is None:
            self.notes.append(f"{resource}: no score, the time was used up")
        else:
            self.record(Aspect.TOLERATED, resource, self._score(scores.app, source))
            if scores.noise > LIMIT:
                self.notes.append(f"{resource}: {less_sure(scores.noise)}")
        if scores.own is not None:
            own_source = f"{Stressor(resource, 'built-in').label}, {finding.mode.value}"
            if scores.own.never and scores.own_noise > MOST_NOISE:
                self.notes.append(f"{resource}: not known what it causes, the stressor's own rate drifts")
                return
            self.record(Aspect.CAUSED, resource, self._score(caused(scores.own), own_source))
        elif scores.app is not None:
            self.notes.append(f"{resource}: not known what it causes, the time was used up")

    def lack(self, resource: str, finding: ResourceFinding) -> None:
        """Remember why there is no score: this machine cannot tell, or it was too restless to."""
        if finding.noise > MOST_NOISE:
            self.notes.append(f"{resource}: not measured, this machine was too restless: {finding.why}")
        else:
            self.unmeasurable[resource] = finding.why

    def _score(self, found: Crossing, source: str) -> Measured:
        return Measured(found.value, found.low, found.high, found.samples, now(), self.machine, source)

    def _describe(self) -> None:
        limits = {1: "control groups (version 1)", 2: "control groups (version 2)"}
        kept = limits.get(self.hierarchy.version, "core affinity and priority alone: no control group can be made here")
        self.notes.append(f"kept in shape by {kept}")


def fitting(seconds: float) -> int:
    """How many resources can be measured in so long, one at least."""
    return max(int(seconds / LEAST_SECONDS), 1)


@dataclass(slots=True)
class _ProbedRun:
    session: ProfilingSession
    arena: Arena
    clock: TimeBudget
    cores: tuple[int, ...]
    alone: float = ALONE

    def all(self, advance: Advance) -> None:
        """Shapes first, then the resources in an order drawn from the seed."""
        chosen = [r for r in RESOURCES if r in self.session.resources]
        random.Random(self.session.seed).shuffle(chosen)
        steps = 1 + len(chosen)
        self._shapes()
        for number, resource in enumerate(chosen):
            advance((1 + number) / steps)
            self._resource(resource, len(chosen) - number)
        advance(1.0)

    def _shapes(self) -> None:
        """The application's own shape first, then the others; they fall away when time is short."""
        own = self.session.app.shape
        clock = self.clock.share(BASELINE_SHARE)
        try:
            self._baseline(own, clock, self.clock)
        except TrialError as error:
            if not self.arena.app_cage.ran_out_of_memory():
                raise
            given = "" if own.memory_gib is None else f" with {own.memory_gib:g} GiB"
            told = f"{self.session.app.command[0]} ran {OUT_OF_MEMORY}{given}"
            raise TrialError(told, hint="--memory-gib gives it more") from error
        for vcpus in powers(len(self.cores)):
            if vcpus != own.vcpus:
                try:
                    self._baseline(replace(own, vcpus=vcpus), clock, clock)
                except (TooSlowError, OutOfTimeError) as error:
                    self.session.notes.append(f"not measured with {counted_vcpus(vcpus)}: {error}")
                except TrialError as error:
                    self._failed(replace(own, vcpus=vcpus), error)
        self.arena.fit(own, self.cores)

    def _failed(self, shape: MachineShare, error: TrialError) -> None:
        """The application did not run in a shape, which tells as much as a number."""
        command = " ".join(self.session.app.command)[:200]
        why = OUT_OF_MEMORY if self.arena.app_cage.ran_out_of_memory() else str(error)
        self.session.failures[size_name(shape)] = FailedMeasurement(why, now(), self.session.machine, command)

    def _baseline(self, shape: MachineShare, clock: TimeBudget, first: TimeBudget) -> None:
        """Repeats as far as one clock goes; the warm-up and the first run may take as long as the other says."""
        self.arena.fit(shape, self.cores)
        bench = open_bench(self.arena.guard, self.session.app, self.arena.stand())
        try:
            self._warm(bench, first)
            clocks = iter((first,))
            found = level(lambda: timed(bench, next(clocks, clock)), NARROW, MOST_REPEATS, self.alone)
        finally:
            bench.close()
        self.alone = max(self.alone, found.alone)
        if shape == self.session.app.shape:
            self.session.noise = drift([r.figure for r in found.readings])
        command = " ".join(self.session.app.command)
        if limit := limit_of_load(self.session.app, shape, found):
            self.session.notes.append(limit)
            if shape != self.session.app.shape:
                return  # as much as on fewer vCPUs would say that those are enough
        self.session.record(Aspect.SCALE_UP, size_name(shape), self._measured(found, command[:200]))

    def _warm(self, bench: Bench, clock: TimeBudget) -> None:
        """A batch command's first run is not counted; a service was warmed up when it started."""
        if self.session.app.kind is JobKind.BATCH:
            timed(bench, clock)

    def _measured(self, found: PerformanceEstimate, source: str) -> Measured:
        if len(found.readings) == 1:
            self.session.notes.append(f"one sample alone, so its interval is assumed: {found.mean:.4g}")
        return Measured(found.mean, found.low, found.high, len(found.readings), now(), self.session.machine, source)

    def _resource(self, resource: str, left: int) -> None:
        clock = self.clock.share(min(left, fitting(self.clock.left)))
        if clock.left <= 0:
            self.session.notes.append(f"{resource}: not measured, the time was used up")
            return
        findings = self.session.known.findings
        try:
            if resource not in findings:
                findings[resource] = selfcheck.check(self.arena, resource, clock=clock)
            finding = findings[resource]
            if finding.mode is None or finding.stressor is None:
                self.session.lack(resource, finding)
                return
            self.session.notes.append(f"{resource}: {finding.why}")
            scores = self._scores(finding, clock)
        except OutOfTimeError:
            self.session.notes.append(f"{resource}: not measured, the time was used up")
        except TrialError as error:
            self.session.unmeasurable[resource] = str(error)
        except OSError as error:  # of a control group or a file; what was measured until now is not lost for it
            self.session.notes.append(f"{resource}: not measured: {error}")
        else:
            self.session.keep(resource, finding, scores)

    def _scores(self, finding: ResourceFinding, clock: TimeBudget) -> Scores:
        """Both scores; where the strongest stressor does not count its work, the built-in one is asked for its own."""
        assert finding.stressor is not None
        built_in = Stressor(finding.resource, "built-in")
        if finding.stressor == built_in:
            return self._against(finding, built_in, clock)
        strong = self._against(finding, finding.stressor, clock.share(2))
        weak = self._against(finding, built_in, clock)
        return replace(strong, own=weak.own, own_noise=weak.own_noise)

    def _against(self, finding: ResourceFinding, stressor: Stressor, clock: TimeBudget) -> Scores:
        mode, resource = finding.mode, finding.resource
        assert mode is not None
        network = self.arena.private_network() if resource == "network" else ""
        limit = self._memory_limit(clock) if resource == "memcap" else 0
        bench = open_bench(self.arena.guard, self.session.app, self.arena.stand(network))
        cores = (
            self.arena.layout.app
            if mode is IsolationMode.TOGETHER
            else self.arena.layout.apart or self.arena.layout.app
        )
        injectors: list[Injector] = []
        try:
            if limit:
                self.arena.limit_together(limit)
            injectors.append(self.arena.injector(stressor, cores, network=network, footprint=limit - INTERPRETER))
            if mode is IsolationMode.TOGETHER:
                injectors.append(self.arena.injector(Stressor("cpu", "built-in"), cores))
            if injectors[0].counts and resource not in selfcheck.LIMITED:
                self._note_dial(injectors[0])
            self._warm(bench, clock)
            control = injectors[1] if len(injectors) > 1 else None
            metric = self.session.app.measure.metric
            return Trial(bench, metric, mode, injectors[0], control, clock, self.session.noise).run()
        finally:
            bench.close()
            for injector in injectors:
                injector.close()
            if limit:
                self.arena.limit_together(None)

    def _note_dial(self, injector: Injector) -> None:
        dials, label = self.session.known.dials, injector.stressor.label
        if label not in dials:
            dials[label] = tuple(selfcheck.dial(injector))
        rates = ", ".join(f"{r:.2f}" for r in dials[label])
        steps = ", ".join(f"{x:g}" for x in selfcheck.DIAL)
        self.session.notes.append(f"{label}: own rate at {steps}% is {rates} of the full one")

    def _memory_limit(self, clock: TimeBudget) -> int:
        """What application and stressor share: the shape's memory, stated or usual for so many vCPUs."""
        if (stated := self.session.app.shape.memory_gib) is not None:
            return int(stated * GIB)
        self.arena.app_cage.forget_peak()
        bench = open_bench(self.arena.guard, self.session.app, self.arena.stand())
        try:
            timed(bench, clock)
        finally:
            bench.close()
        peak = self.arena.app_cage.peak_memory()
        if peak is None:
            raise TrialError("the memory it uses is not counted here")
        limit = shared_memory(self.session.app.shape.vcpus, peak, place.free_memory())
        self.session.notes.append(f"memcap: {limit / GIB:.2f} GiB shared by both sides")
        return limit


def limit_of_load(app: App, shape: MachineShare, found: PerformanceEstimate) -> str:
    """That a service may serve more than the load on it asked for; "" where it was at its limit, or its figure is no
    rate."""
    if app.kind is not JobKind.SERVICE or not app.measure.metric.rising:
        return ""
    used = [r.used_vcpus for r in found.readings if r.used_vcpus is not None]
    if used and max(used) >= FULL_LOAD * shape.vcpus:
        return ""
    said = f"it used {max(used):.2g} vCPU" if used else "the CPU time it used is not counted here"
    figure = f"{found.mean:.4g} {app.measure.metric.unit} under this load"
    if shape != app.shape:
        return f"not measured with {counted_vcpus(shape.vcpus)}: {said}, so {figure} may be the limit of the load"
    return (
        f"not known how much {counted_vcpus(shape.vcpus)} can serve: {said}, so {figure} may be the limit of the load;"
        " more connections, or a load on vCPUs of its own, would tell"
    )


def shared_memory(vcpus: float, peak: int, free: int) -> int:
    """The bytes that an application, which ever held ``peak``, shares with a stressor: what clouds sell with so many
    vCPUs, so that a score says how much of that neighbours may take. Less where less is free, and never less than the
    application needs by itself."""
    usual = min(int(MEMORY_PER_VCPU * vcpus), MOST_MEMORY, int(FREE_SHARE * free))
    return max(usual, int(MEMORY_ROOM * peak))


def less_sure(noise: float) -> str:
    """What a tolerated score means where undisturbed runs differ by more than the loss that defines it."""
    return (
        f"tolerated is the pressure at which {noise:.0%} is lost, not {LIMIT:.0%}: undisturbed runs differ by so much"
    )


def caused(own: Crossing) -> Crossing:
    """A caused score of where the stressor loses: 100 less that intensity, and 0 where it never does."""
    if own.never:
        return replace(own, value=0.0, low=0.0, high=FULL - own.low)
    return replace(own, value=FULL - own.value, low=FULL - own.high, high=FULL - own.low)


def powers(most: int) -> list[float]:
    """1, 2, 4 and so on up to the whole machine."""
    sizes = [float(1 << i) for i in range(most.bit_length()) if 1 << i <= most]
    return sizes if sizes[-1] == most else [*sizes, float(most)]


def size_name(shape: MachineShare) -> str:
    """The column of a shape: ``2c4g``, or ``2c`` where no memory was asked for: what the machine has is in the entry's
    provenance, since another machine cannot be asked for it."""
    return f"{shape.vcpus:g}c" if shape.memory_gib is None else f"{shape.vcpus:g}c{shape.memory_gib:.3g}g"


def now() -> datetime:
    """When something was measured."""
    return datetime.now(UTC).replace(microsecond=0)
