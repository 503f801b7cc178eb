"""What runs the jobs of live work, and where they come from, by the name that ``--engine`` gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from hcloud.control.ports import Engine, JobSource
from hcloud.errors import UsageError
from hcloud.model.holdings.live import Machine
from hcloud.model.running.event import Arrival
from hcloud.model.running.job import JobOrder, NewJobs
from hcloud.policy.repair import ADJUST
from hcloud.policy.rules import Rules
from hcloud.readers.job_fields import Fits
from hcloud.readers.jobs import JobsFile, check_there

if TYPE_CHECKING:
    from hcloud.profiling.local.launch_probe import BestSeen
    from hcloud.providers.slurm.engine import SlurmEngine
    from hcloud.usecases.live.ground import LiveGround

ADJUSTING = "adjust-to-target"
LOCAL_ENGINE, SLURM_ENGINE, NO_ENGINE = "local", "slurm", "none"
BEST = "best.json"
SPOOL, OUTPUT, ORDERS = "machines", "output", "orders.jsonl"


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What runs jobs, where they come from, (where it can) how a machine of it is probed: its quality 0..1, what takes
    a look at the machines that the cloud has, what those who tell of jobs say of each, (where it can) the seconds of
    processors that attempts used, and the jobs of the file that is ``named`` now (None: all are of one)."""

    engine: Engine
    source: JobSource
    probe: Callable[[int], float | None] | None = None
    shown: Callable[[Mapping[int, Machine]], None] = field(default=lambda machines: None)
    arrivals: Mapping[str, Arrival] = field(default_factory=dict)
    used: Callable[[], Mapping[tuple[str, int], float]] | None = None
    named: Sequence[JobOrder] | None = None


class NoMoreJobs:
    """Implements hcloud.control.ports.JobSource: nothing comes."""

    def new(self) -> NewJobs:
        """None."""
        return NewJobs(closed=True)


@dataclass(frozen=True, slots=True)
class JobsAsked:
    """Which jobs are to be run: those of files (none: no more than are known), whether the last one was named now and
    not before, whether they are followed, when the work began, which times of the files are counted from, whether it
    goes on now, and what says which jobs of several servers never fit."""

    files: Sequence[JobsFile] = ()
    given: bool = False
    follow: bool = False
    began: float = 0.0
    goes_on: bool = False
    fits: Fits = field(default=lambda order, servers: "")

    @property
    def file(self) -> JobsFile | None:
        """The one that was named last."""
        return self.files[-1] if self.files else None


def check_begins(directory: Path, files: tuple[Path | None, Path | None], engine: str | None, *, begun: bool) -> None:
    """Refuse, before anything is written, to go on where nothing was ``begun``, and a file of jobs that is not there;
    the second of the files is of jobs for idle capacity."""
    if not begun and files == (None, None) and engine in (None, LOCAL_ENGINE):
        raise UsageError(f"{directory}: no work is running there", hint="hcloud operate run jobs.csv begins some")
    if files[0] is not None and engine != NO_ENGINE:
        check_there(files[0])


def check_engine(here: LiveGround, name: str) -> None:
    """UsageError for an engine that cannot use the machines of this cloud; asks the cloud nothing."""
    if name == LOCAL_ENGINE and not here.is_local:
        raise UsageError(
            f"--engine {LOCAL_ENGINE} runs jobs on this machine only, and the cloud is {here.selection}",
            hint="--cloud local; across machines Slurm runs the jobs: --engine slurm",
        )
    if name == NO_ENGINE and here.is_local:
        raise UsageError(
            f"--engine {NO_ENGINE} keeps machines of a cloud, and the cloud is this machine",
            hint="--cloud aws, gcp, azure or fake; or --engine local, which runs the jobs itself",
        )


def check_sizes(name: str, rules: Rules) -> None:
    """UsageError where running jobs are to be given more or less, and this engine cannot do that."""
    from hcloud.profiling.cage import this_machine

    if rules.watching != ADJUST:
        return
    if name == SLURM_ENGINE:
        why = "Slurm gives a running job no more of its node, and no less"
    elif name == LOCAL_ENGINE and not this_machine().has("cpu"):
        why = "no control group here can limit the processors of a job"
    else:
        return
    raise UsageError(f"--watching {ADJUSTING}: {why}", hint="--watching reactive moves jobs that miss their targets")


def open_engine(here: LiveGround, name: str, directory: Path, jobs: JobsAsked) -> EngineParts:
    """The engine of live work. UsageError for one that there is not, or that cannot use the machines of this cloud."""
    if name == LOCAL_ENGINE:
        return _local(directory, jobs)
    if name == SLURM_ENGINE:
        return _slurm(here, jobs)
    if name == NO_ENGINE:
        return _exchange(here, directory, jobs)
    names = f"{LOCAL_ENGINE}, {SLURM_ENGINE} or {NO_ENGINE}"
    raise UsageError(f"--engine {name}: there is no such engine", hint=names)


def _local(directory: Path, jobs: JobsAsked) -> EngineParts:
    from hcloud.profiling.local.engine import LocalEngine

    engine = LocalEngine(directory / SPOOL, directory / OUTPUT, Path.cwd())
    source, named = _source(jobs)
    return EngineParts(engine, source, engine.probe, used=engine.used_seconds, named=named)


def _slurm(here: LiveGround, jobs: JobsAsked) -> EngineParts:
    """Slurm with its own queue, which never closes: jobs come by sbatch."""
    from hcloud.profiling.local.launch_probe import BestSeen, measured_with
    from hcloud.providers.slurm.client import SlurmCommands
    from hcloud.providers.slurm.engine import SlurmEngine
    from hcloud.usecases.live.slurm import check_cluster, conf_of, site_beside

    if jobs.file is not None:
        said = f"--engine {SLURM_ENGINE}: jobs come by sbatch, and not from {jobs.file.path}"
        raise UsageError(said, hint="leave it out")
    conf = conf_of(None).absolute()
    site = site_beside(conf)
    if here.is_local != site.is_marked or (site.first_port is not None and not (here.is_local or here.is_rehearsal)):
        kinds = {True: "processes of this machine", False: "machines of a fake cloud"}
        kind = "machines of a cloud" if site.first_port is None else kinds[site.is_marked]
        hint = "hcloud slurm config writes nodes for another cloud"
        raise UsageError(f"{conf}: its nodes are {kind}, and the cloud is {here.selection}", hint=hint)
    commands = SlurmCommands(conf)
    if not jobs.goes_on:  # what was begun can be ended on a cluster that somebody has changed
        check_cluster(site, conf, commands)
    engine = SlurmEngine(site, commands, here.clock, probe=measured_with() if site.probe else "")
    return EngineParts(engine, engine, partial(_score, engine, BestSeen(site.folder / BEST), Lock()))


def _score(engine: SlurmEngine, best: BestSeen, held: Lock, instance: int) -> float | None:
    """How good a machine of Slurm is by what it measured before it joined, beside the best of its kind."""
    found = engine.measured(instance)
    if found is None:
        return None
    with held:
        return best.score(f"{found.method} {found.vcpus} {engine.type_of(instance)}", [found.cpu, found.memory])


def _exchange(here: LiveGround, directory: Path, jobs: JobsAsked) -> EngineParts:
    """Nothing of hcloud's own: somebody else runs the jobs, and tells of them in a file of events."""
    from hcloud.store.exchange import JobExchange

    made = JobExchange(None if jobs.file is None else jobs.file.path, directory / ORDERS, here.clock, jobs.goes_on)
    return EngineParts(made, made, shown=made.shown, arrivals=made.arrivals)


def _source(jobs: JobsAsked) -> tuple[JobSource, Sequence[JobOrder]]:
    """The files of jobs, and the jobs of the one that is named now: InputError at once where that cannot be used."""
    from hcloud.readers.jobs import FollowedFile, SeveralFiles, is_yaml

    named = jobs.file if jobs.given else None
    follows = [jobs.follow and (file is named or not is_yaml(file.path)) for file in jobs.files]
    files = [
        FollowedFile(file, jobs.began, follow=follow, fits=jobs.fits)
        for file, follow in zip(jobs.files, follows, strict=True)
    ]
    orders = files[-1].read() if jobs.given else ()
    if len(files) > 1:
        return SeveralFiles(files), orders
    return files[0] if files else NoMoreJobs(), orders
