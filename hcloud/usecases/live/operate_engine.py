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


@dataclass(frozen=True, slots=True)
class JobsAsked:
    """Which jobs are to be run: a file (None: no more than are known), whether it is followed, and when the work began,
    which times of the file are counted from."""

    path: Path | None = None
    follow: bool = False
    began: float = 0.0


def open_engine(here: LiveGround, name: str, directory: Path, jobs: JobsAsked) -> EngineParts:
    """The engine of live work. UsageError for one that there is not, or that cannot use the machines of this cloud."""
    if name == LOCAL_ENGINE:
        return _local(here, directory, jobs)
    raise UsageError(f"--engine {name}: there is no such engine", hint=f"{LOCAL_ENGINE} or {SLURM_ENGINE}")


def _local(here: LiveGround, directory: Path, jobs: JobsAsked) -> EngineParts:
    from hcloud.profiling.local_engine import LocalEngine

    if not here.is_local:
        raise UsageError(
            f"--engine {LOCAL_ENGINE} runs jobs on this machine only, and the cloud is {here.selection}",
            hint="--cloud local; across machines Slurm runs the jobs: --engine slurm",
        )
    engine = LocalEngine(directory / SPOOL, directory / OUTPUT, Path.cwd())
    return EngineParts(engine, _source(jobs), getattr(engine, "probe", None))


def _source(jobs: JobsAsked) -> JobSource:
    from hcloud.readers.jobs import FollowedFile

    return NoMoreJobs() if jobs.path is None else FollowedFile(jobs.path, jobs.began, follow=jobs.follow)
