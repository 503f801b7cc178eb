"""Whether this machine can tell a resource apart, found by pressing on built-in victims that need just that one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from hcloud.profiling.arena import Arena
from hcloud.profiling.budget import OutOfTimeError, TimeBudget
from hcloud.profiling.injectors import Injector, Stressor, Work, stressors
from hcloud.profiling.noise import drift, spread
from hcloud.profiling.place import TrialError
from hcloud.profiling.ramp import FULL, RampRules, RampVerdict, verdict

WINDOW = 0.2  # ours: seconds of one measurement of a victim
REPEATS = 4  # ours: at least so many
QUICK = 8  # ours: at most so many where one program alone is measured and its time is short
THOROUGH = 24  # ours: where the machine is looked at for many programs
MEMORY_LIMIT = 192 << 20  # ours: small enough to be filled in a moment
VICTIM_SHARE = 0.6  # of the limit, so that a full stressor has to push it out
DIAL = (25.0, 50.0, 75.0, 100.0)
LIMITED = ("memcap", "network", "disk")


class Per(Enum):
    """What the rate of a kernel is taken over: time, CPU time (time where that is not counted), or the time it did not
    rest by itself."""

    SECOND = "second"
    CPU_SECOND = "CPU second"
    BUSY_SECOND = "busy second"


class IsolationMode(Enum):
    """How a resource is told apart: by a stressor on other cores, by one on the same core that counts only beyond what
    a stressor of nothing but the processor does there, or under a limit that both sides share."""

    APART = "on another core"
    TOGETHER = "on the same core"
    LIMITED = "under a shared limit"

    @property
    def own_rate(self) -> Per:
        """What the stressor's own rate is taken over."""
        return {
            IsolationMode.APART: Per.SECOND,
            IsolationMode.TOGETHER: Per.CPU_SECOND,
            IsolationMode.LIMITED: Per.BUSY_SECOND,
        }[self]


@dataclass(frozen=True, slots=True)
class ResourceFinding:
    """How a resource is to be measured here, with which stressor, and by how much that slowed the victim; or, with no
    mode, why it cannot be, and by how much the victim's undisturbed runs differed."""

    resource: str
    mode: IsolationMode | None
    stressor: Stressor | None
    why: str
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class Response:
    """What the victim lost, a fraction a repeat, and the drift of its own baselines."""

    losses: Sequence[float]
    noise: float

    @property
    def verdict(self) -> RampVerdict:
        """What the repeats say of the limit and the drift; open as long as that is not sure."""
        return verdict(self.losses, RampRules(noise=self.noise, most=len(self.losses) + 1))

    @property
    def shows(self) -> bool:
        """Whether more than the limit and the drift was surely lost."""
        return self.verdict.is_lost

    @property
    def mean(self) -> float:
        """The mean loss."""
        return spread(self.losses).mean

    @property
    def shown(self) -> str:
        """The mean loss for people; a victim that was faster under pressure lost nothing."""
        return f"{max(self.mean, 0.0):.0%}"


class Effort(NamedTuple):
    """How long to look: so many repeats of one setting at most, and all of them within a time (None: any)."""

    most: int
    clock: TimeBudget | None


def check(arena: Arena, resource: str, most: int = QUICK, *, clock: TimeBudget | None = None) -> ResourceFinding:
    """How a resource can be measured on this machine, by so many repeats at most; fewer when they are sure before.
    Raises OutOfTimeError when the clock runs out before that is known."""
    looks = Effort(most, clock)
    try:
        if resource in LIMITED:
            return _check_limited(arena, resource, looks)
        return _check_cores(arena, resource, looks)
    except OutOfTimeError:
        raise
    except TrialError as error:
        return ResourceFinding(resource, None, None, str(error))


def rate(before: Work, after: Work, per: Per) -> float:
    """Steps between two moments by what they are taken over."""
    steps, seconds = after.steps - before.steps, after.at - before.at
    if per is Per.BUSY_SECOND:
        seconds = after.busy_seconds - before.busy_seconds
    elif per is Per.CPU_SECOND and before.cpu_seconds is not None and after.cpu_seconds is not None:
        seconds = after.cpu_seconds - before.cpu_seconds
    return steps / seconds if seconds > 0 else 0.0


def watched(injector: Injector, per: Per = Per.SECOND, seconds: float = WINDOW) -> float:
    """The rate of a running kernel over a short while."""
    before = injector.work()
    time.sleep(seconds)
    return rate(before, injector.work(), per)


def _check_cores(arena: Arena, resource: str, looks: Effort) -> ResourceFinding:
    victim = arena.victim(resource)
    tried: list[tuple[IsolationMode, Response]] = []
    try:
        victim.turn(FULL)
        found: list[tuple[float, IsolationMode, Stressor]] = []
        for mode, stressor in _candidates(arena, resource):
            response = _respond(arena, victim, mode, stressor, looks)
            tried.append((mode, response))
            if response.shows:
                found.append((response.mean, mode, stressor))
        apart = [f for f in found if f[1] is IsolationMode.APART]
        if found:
            mean, mode, stressor = max(apart or found, key=lambda f: f[0])
            return ResourceFinding(
                resource, mode, stressor, f"{stressor.label} {mode.value} cost its victim {mean:.0%}"
            )
    finally:
        victim.close()
    return without_loss(resource, tried)


def without_loss(resource: str, tried: Sequence[tuple[IsolationMode, Response]]) -> ResourceFinding:
    """Why no stressor can be told to slow its victim, and the noise of what was lost: not that of the quietest one,
    since another may have cost more than noise hides."""
    if not tried:
        why = "there is no other core for a stressor, and on the same core CPU time is not counted here"
        return ResourceFinding(resource, None, None, why)
    most = {mode: max((r for m, r in tried if m is mode), key=lambda r: r.mean) for mode, _ in tried}
    beyond = {IsolationMode.APART: "", IsolationMode.TOGETHER: " beyond a plain CPU load"}
    lost = ", ".join(f"{r.shown} {mode.value}{beyond[mode]} (noise {r.noise:.0%})" for mode, r in most.items())
    noise = min(r.noise for r in most.values())
    return ResourceFinding(resource, None, None, f"a victim of {resource} pressure lost {lost}", noise)


def _candidates(arena: Arena, resource: str) -> list[tuple[IsolationMode, Stressor]]:
    modes = [IsolationMode.APART] if arena.layout.apart else []
    if arena.hierarchy.has("cpuacct") and resource != "cpu":
        modes.append(IsolationMode.TOGETHER)
    return [(mode, stressor) for mode in modes for stressor in stressors(resource)]


def _respond(arena: Arena, victim: Injector, mode: IsolationMode, stressor: Stressor, looks: Effort) -> Response:
    cores = arena.layout.apart if mode is IsolationMode.APART else arena.layout.app[:1]
    pressing = arena.injector(stressor, cores)
    control = None if mode is IsolationMode.APART else arena.injector(Stressor("cpu", "built-in"), cores)
    try:
        return _response(lambda: watched(victim, Per.CPU_SECOND), pressing, control, looks)
    finally:
        for injector in (pressing, control):
            if injector is not None:
                injector.close()


def _response(measure: Callable[[], float], pressing: Injector, control: Injector | None, looks: Effort) -> Response:
    """Undisturbed (or beside the control) and under pressure in turn; each against the two around it, until the losses
    are sure."""
    calm, losses = [_with(control, measure)], list[float]()
    while True:
        if looks.clock is not None:
            looks.clock.patience()
        pressed = _with(pressing, measure)
        calm.append(_with(control, measure))
        losses.append(1 - 2 * pressed / (calm[-2] + calm[-1]) if calm[-2] + calm[-1] > 0 else 0.0)
        found = Response(losses, drift(calm))
        if len(losses) >= looks.most or (len(losses) >= REPEATS and found.verdict is not RampVerdict.OPEN):
            return found


def _with(injector: Injector | None, measure: Callable[[], float]) -> float:
    if injector is None:
        return measure()
    injector.turn(FULL)
    try:
        return measure()
    finally:
        injector.turn(0.0)


def _check_limited(arena: Arena, resource: str, looks: Effort) -> ResourceFinding:
    stressor = stressors(resource)[0]
    network, footprint = "", 0
    if resource == "network":
        network = arena.private_network()
    if resource == "memcap":
        arena.limit_together(MEMORY_LIMIT)
        footprint = MEMORY_LIMIT
    cores = arena.layout.apart or arena.layout.app
    victim = arena.victim(resource, network=network, footprint=int(VICTIM_SHARE * footprint))
    pressing = arena.injector(stressor, cores, network=network, footprint=footprint)
    try:
        victim.turn(FULL)
        response = _response(lambda: _alive(victim), pressing, None, looks)
    finally:
        victim.close()
        pressing.close()
        if resource == "memcap":
            arena.limit_together(None)
    if response.shows:
        return ResourceFinding(
            resource, IsolationMode.LIMITED, stressor, f"{stressor.label} cost its victim {response.mean:.0%}"
        )
    lost = f"{response.shown} under a shared limit (noise {response.noise:.0%})"
    return ResourceFinding(resource, None, None, f"a victim of {resource} pressure lost {lost}", response.noise)


def _alive(victim: Injector) -> float:
    """The victim's rate; none if memory ran out for it, and then it is started again for the next look."""
    found = watched(victim)
    if not victim.broken:
        return found
    victim.turn(FULL)
    return 0.0


def dial(injector: Injector) -> tuple[float, ...]:
    """The stressor's own rate over the intensities of DIAL, relative to that at full intensity."""
    found = []
    for intensity in DIAL:
        injector.turn(intensity)
        found.append(watched(injector))
    injector.turn(0.0)
    return tuple(f / found[-1] if found[-1] > 0 else 0.0 for f in found)
