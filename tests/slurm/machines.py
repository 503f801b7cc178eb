"""Machines of a test: the engine's start-up scripts, run as process groups, and a clock that is the machine's."""

from __future__ import annotations

from slurm_cluster import Cluster, wait_for

from hcloud.control.ports import Clock
from hcloud.live.clock import SystemClock
from hcloud.model.running.job import JobOrder, JobPhase, JobPlace, JobSighting, MachineRole, NodePhase
from hcloud.providers.slurm.engine import SlurmEngine


def engine_of(slurm: Cluster, grace: float = 60.0, clock: Clock | None = None) -> SlurmEngine:
    return SlurmEngine(slurm.site, slurm.commands, clock or SystemClock(), grace)


def phases(engine: SlurmEngine) -> dict[int, NodePhase]:
    return dict(engine.look().nodes)


def launch(slurm: Cluster, engine: SlurmEngine, instance: int, *, reserved: bool = False, kind: str = "small") -> None:
    """A machine comes; returns when it is ready."""
    script = engine.joining(MachineRole(instance, kind, reserved))
    slurm.start_script(f"machine-{instance}", script)
    wait_for(lambda: phases(engine).get(instance) is NodePhase.READY, f"machine {instance} does not join")


def terminate(slurm: Cluster, engine: SlurmEngine, instance: int) -> None:
    """A machine goes; returns when its node name is free."""
    engine.let_go(instance)
    slurm.end(f"machine-{instance}")
    wait_for(lambda: instance not in phases(engine), f"machine {instance} is not forgotten")


def place(instance: int, attempt: int = 1) -> JobPlace:
    return JobPlace(instance, attempt, 1000, 100)


def sighting(engine: SlurmEngine, job: str) -> JobSighting:
    return next(seen for seen in engine.look().jobs if seen.job == job)


def wait_phase(engine: SlurmEngine, job: str, phase: JobPhase) -> JobSighting:
    """Wait until an attempt is where it is expected to be."""
    wait_for(lambda: sighting(engine, job).phase is phase, f"{job} is not told as {phase}")
    return sighting(engine, job)


def orders(engine: SlurmEngine, count: int) -> list[JobOrder]:
    """The next orders, once there are so many."""
    found: list[JobOrder] = []

    def enough() -> bool:
        found.extend(engine.new().orders)
        return len(found) >= count

    wait_for(enough, f"{count} orders are not told")
    return found
