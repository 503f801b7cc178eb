"""What runs the jobs of live work, and where they come from, by the name that ``--engine`` gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.control.ports import Engine, JobSource
from hcloud.errors import UsageError
from hcloud.model.running.job import NewJobs

if TYPE_CHECKING:
    from hcloud.usecases.live.ground import LiveGround

LOCAL_ENGINE, SLURM_ENGINE = "local", "slurm"
SPOOL, OUTPUT = "machines", "output"


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What runs jobs, where they come from, and (where it can) how a machine of it is probed: its quality 0..1."""

    engine: Engine
    source: JobSource
    probe: Callable[[int], float | None] | None = None


class NoMoreJobs:
    """Implements hcloud.control.ports.JobSource: nothing comes."""

    def new(self) -> NewJobs:
        """None."""
        return NewJobs(closed=True)


def open_engine(
    here: LiveGround, name: str, directory: Path, jobs: Path | None, *, began: float, follow: bool
) -> EngineParts:
    """The engine of live work; ``began`` is when the work began, which times of a job file are counted from.

    Raises UsageError for an engine that there is not, or that cannot use the machines of this cloud.
    """
    if name == LOCAL_ENGINE:
        return _local(here, directory, jobs, began, follow=follow)
    raise UsageError(f"--engine {name}: there is no such engine", hint=f"{LOCAL_ENGINE} or {SLURM_ENGINE}")


def _local(here: LiveGround, directory: Path, jobs: Path | None, began: float, *, follow: bool) -> EngineParts:
    from hcloud.profiling.local_engine import LocalEngine

    if not here.is_local:
        raise UsageError(
            f"--engine {LOCAL_ENGINE} runs jobs on this machine only, and the cloud is {here.selection}",
            hint="--cloud local; across machines Slurm runs the jobs: --engine slurm",
        )
    engine = LocalEngine(directory / SPOOL, directory / OUTPUT, Path.cwd())
    return EngineParts(engine, _source(jobs, began, follow=follow), getattr(engine, "probe", None))


def _source(jobs: Path | None, began: float, *, follow: bool) -> JobSource:
    from hcloud.readers.jobs import FollowedFile

    return NoMoreJobs() if jobs is None else FollowedFile(jobs, began, follow=follow)
