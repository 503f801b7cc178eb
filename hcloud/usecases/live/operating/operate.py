"""``hcloud operate``: opening live work, going on with it, and asking it for something from outside."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from uuid import uuid4

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.wanted import SpendingLimits, reserve_beyond
from hcloud.control.sessions.decode import holding
from hcloud.control.sessions.session import ControlSession
from hcloud.errors import CloudError, EvidenceError, InputError, StaleError, UsageError
from hcloud.live.operating.loop import OperatingLoop
from hcloud.live.operating.machines import Machines
from hcloud.live.operating.terms import Parts, Rhythm, Terms
from hcloud.live.operating.workers import Workers
from hcloud.live.site import WaitLimits
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import Owner
from hcloud.model.running.event import UNKNOWN
from hcloud.model.running.job import JobOrder, NewJobs
from hcloud.model.running.note import CommitmentsAdvised, LimitsSet
from hcloud.policy.facts import Setup
from hcloud.readers.jobs import JobsFile
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.files.crash import crash_from
from hcloud.store.journals.decisions import decision_document
from hcloud.store.journals.events import coin_of, to_line
from hcloud.store.journals.journal import Before, JournalContents, LiveOrigin, header_line, read_header, read_journal
from hcloud.store.journals.live import LiveJournalFile, segment
from hcloud.store.past_ends import past_of
from hcloud.units import counted_vcpus, some_of
from hcloud.usecases.live.decide import Kernels, replay
from hcloud.usecases.live.ground import LiveGround, local_types
from hcloud.usecases.live.operate_requests import JOURNAL, REQUESTS, Requests, alone, check_not_shared, directory_at
from hcloud.usecases.live.operating.agents import agents_of
from hcloud.usecases.live.operating.engine import (
    LOCAL_ENGINE,
    ORDERS,
    OUTPUT,
    SLURM_ENGINE,
    EngineParts,
    JobsAsked,
    check_begins,
    check_engine,
    check_sizes,
    open_engine,
)
from hcloud.usecases.live.operating.fake_machines import executed
from hcloud.usecases.live.operating.harvest import BesideServices, harvest_terms
from hcloud.usecases.live.operating.jobs_file import JOBS_FROM, check_same, check_takes, files_of, keep
from hcloud.usecases.live.operating.setup import Policy, different, servers_that_fit, setup_for

STILL_THERE = "nothing was done: its machines keep running, and cost money, until this command can ask their cloud"
NAMED = 5
"""Jobs that a message names."""
LOCAL_RHYTHM = Rhythm(period=0.5, look=2.0, join=30.0, settled=0.0, first_backoff=1.0, longest_backoff=30.0, again=2.0)
FAKE_RHYTHM = replace(LOCAL_RHYTHM, period=0.2, settled=Rhythm().settled, join=Rhythm().join)


@dataclass(frozen=True, slots=True)
class OperateRequest:
    """What is to be run and how. ``jobs`` is a job file (None: go on with what is known, or take an engine's own
    queue). ``engine`` None is the one that the work was begun with, else this machine's; ``asked`` is what a controller
    is to do that was begun only for that; ``follow`` None is as the controller before had it; every ``replan_every``
    seconds the ``planner`` plans anew."""

    jobs: JobsFile | None = None
    engine: str | None = None
    policy: Policy = field(default_factory=Policy)
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    follow: bool | None = None
    probe: bool = True
    asked: str = ""
    planner: Callable[[LiveGround, Path], Callable[[float], CommitmentsAdvised]] | None = None
    replan_every: float = math.inf
    beside: BesideServices = field(default_factory=BesideServices)

    @property
    def files(self) -> tuple[Path | None, Path | None]:
        """The file of jobs and that of jobs for idle capacity."""
        return None if self.jobs is None else self.jobs.path, self.beside.jobs


@dataclass(slots=True)
class OpenedWork:
    """Live work that was opened: its loop, where its journal and the output of its jobs are, and whether it goes on
    with what was begun before."""

    loop: OperatingLoop
    directory: Path
    origin: LiveOrigin
    goes_on: bool


@contextmanager
def operating(here: LiveGround, asked: OperateRequest, kernels: Callable[[], Kernels]) -> Iterator[OpenedWork]:
    """Open live work, alone: LockedError where another controller has it.

    Raises InputError for a journal or a job file that cannot be read, EvidenceError for jobs that no machine holds,
    StaleError for a journal of another account.
    """
    directory = directory_at(here.where)
    check_not_shared(directory)
    replan = None if asked.planner is None else asked.planner(here, directory)
    check_begins(directory, asked.files, asked.engine, begun=directory.exists())
    with alone(directory) as lock:
        known = _to_go_on_with(directory)
        check_begins(directory, asked.files, asked.engine, begun=known is not None)
        if known is None or not here.is_local:  # else it is said first which cloud the work is on
            check_engine(here, asked.engine or (known.live.engine if known and known.live else LOCAL_ENGINE))
        origin = _origin(here, asked.engine, known, directory)
        setup = _setup(here, asked.policy, known, origin.engine)
        fold = Fold(setup, here.clock.now()) if known is None else fold_of(known)
        limited = asked.limits != SpendingLimits()
        limits = replace(kept_limits(asked.limits, fold.limits), cores=_cores_here(here))
        asked, follow = replace(asked, limits=limits), fold.follow if asked.follow is None else asked.follow
        if known is None:  # whoever goes on may only want to end what stands
            options = (PurchaseOption.ON_DEMAND, *((PurchaseOption.SPOT,) if setup.rules.spot else ()))
            here.check_types({(kind.name, option) for kind in setup.types for option in options})
        if (known is None or limited) and (why := reserve_beyond(setup, here.price, asked.limits)):
            raise UsageError(why, hint="--pool N sets how many machines are reserved")
        made = kernels()
        session, untold = _session(setup, known, made, directory)
        takes = origin.engine == LOCAL_ENGINE and asked.asked in ("", "drain")
        jobs = JobsAsked(
            files_of(asked.jobs, directory, None if known is None or not takes else fold),
            asked.jobs is not None,
            follow,
            fold.began,
            known is not None,
            servers_that_fit(setup, limits),
        )
        world = open_engine(here, origin.engine, directory, jobs)
        first = _first_jobs(world, fold, asked.files[0], goes_on=known is not None)
        check_takes(asked.jobs, directory, fold if known else None, first)
        _check_fits(() if known or origin.engine == SLURM_ENGINE else first.orders, setup)  # else it alone is refused
        harvest = harvest_terms(asked.beside, fold, setup, world, (first, origin.engine, follow))
        _begin(directory, asked.jobs, anew=known is None)
        journal = LiveJournalFile(directory / JOURNAL, known.whole_bytes if known is not None else 0, check=lock.check)
        workers, agents = Workers(), None
        try:
            journal.append_text(untold if known is not None else header_line(setup, origin))
            parts = _parts(here, world, origin, journal, workers)
            parts.agents = agents = agents_of(session, compiled=made is not plain())
            terms = _terms(here, asked, origin, setup, world)
            loop = OperatingLoop(session, fold, parts, replace(terms, replan=replan, harvest=harvest, follow=follow))
            loop.expect(first, loop.desk.now())
            if asked.asked:
                Requests(directory / REQUESTS).put(asked.asked)
            with executed(here, joins=origin.engine == SLURM_ENGINE):
                yield OpenedWork(loop, directory, origin, known is not None)
        finally:
            if agents is not None:
                agents.close()
            workers.close()
            journal.close()


def _first_jobs(world: EngineParts, fold: Fold, given: Path | None, *, goes_on: bool) -> NewJobs:
    """What came already. Whoever goes on is not kept from ending machines by an engine that is out of reach.

    Raises UsageError where jobs of the ``given`` file have the ids of others that this work knows: they would never
    run, or not as the file says.
    """
    try:
        found = world.source.new()
    except CloudError:
        if not goes_on:
            raise
        return NewJobs()
    except InputError:
        if given or not goes_on:
            raise
        return NewJobs(closed=True)  # the file of before is damaged: told while the work goes on
    if given:
        check_same(given, found.orders if world.named is None else world.named, found, fold)
    return found


def kept_limits(asked: SpendingLimits, known: LimitsSet | None) -> SpendingLimits:
    """The limits that are asked for, and those that the work was begun with where nothing else is said."""
    if known is None:
        return asked
    return SpendingLimits(
        known.hourly if asked.hourly is None else asked.hourly,
        known.total if asked.total is None else asked.total,
        known.machines if asked.machines is None else asked.machines,
    )


def _check_fits(orders: Sequence[JobOrder], setup: Setup) -> None:
    """EvidenceError for jobs that no machine holds: better now than when their turn comes."""
    types = holding(setup)
    bad = [o for o in orders if not any(o.cores <= t.cores and o.memory <= t.memory for t in types)]
    if bad:
        most = types[-1]
        holds = f"{counted_vcpus(most.cores / 1000)} and {most.memory / 1024:g} GiB"
        named = [f"{o.id} ({counted_vcpus(o.cores / 1000)}, {o.memory / 1024:g} GiB)" for o in bad]
        raise EvidenceError(
            f"no {'reserved ' if types is not setup.types else ''}machine holds {some_of(named, NAMED)}: "
            f"the largest type, {most.name}, has {holds}",
            hint="ask for less, or allow larger types",
        )


def _to_go_on_with(directory: Path) -> JournalContents | None:
    """The journal of work that is not finished. Where there is none, what was asked of a controller that did not read
    it any more is forgotten; what is asked from now on is for this one."""
    path = directory / JOURNAL
    if path.exists() and path.stat().st_size:
        known = read_known(path)
        if not fold_of(known).is_finished:
            return known
    Requests(directory / REQUESTS).clear()
    return None


def read_known(path: Path) -> JournalContents:
    """A journal. InputError, with what ends its machines, where it is damaged."""
    try:
        return read_journal(path)
    except InputError as error:
        raise InputError(str(error), hint=error.hint or _ends_its_machines(path)) from error


def _ends_its_machines(path: Path) -> str:
    """What to do about a journal that cannot be used; nothing where not even its first line says whose machines run."""
    with suppress(InputError):
        if (live := read_header(path)[1]) is not None:
            gc = f"hcloud gc --cloud {live.selection or live.cloud} --lineage {live.lineage} --delete"
            when = "from five minutes after their launch on; it says which --ends it needs"
            return f"its machines keep running: restore a copy of the file, or terminate them with '{gc}' ({when})"
    return ""


def _begin(directory: Path, jobs: JobsFile | None, *, anew: bool) -> None:
    """Keep where jobs are, and before ``anew`` begun work put aside what a finished one left."""
    if anew:
        _put_aside(directory)
    keep(jobs, directory)


def _put_aside(directory: Path) -> None:
    """Put a finished journal and the output of its jobs aside, and forget where its jobs came from."""
    (directory / JOBS_FROM).unlink(missing_ok=True)
    path, output = directory / JOURNAL, directory / OUTPUT
    if path.exists() and path.stat().st_size:
        aside = segment(path)
        path.rename(aside)
        if output.is_dir() and any(output.iterdir()):
            output.rename(output.with_name(f"{OUTPUT}{aside.suffixes[0]}"))
            output.mkdir()
    for path in (directory / ORDERS, past_of(directory / ORDERS)):
        path.unlink(missing_ok=True)


def fold_of(known: JournalContents) -> Fold:
    """The sum of a journal, and of what was before it."""
    if known.before is not None:
        fold = Fold.of_image(known.setup, known.before.fold)
    else:
        fold = Fold(known.setup, known.lines[0].at if known.lines else 0.0)
    try:
        fold.take(known.lines)
    except KeyError as error:
        where = f"a line at {fold.last!r} names {error}"
        raise InputError(f"the journal is damaged: {where}, and no earlier line reports its arrival") from error
    return fold


def _origin(here: LiveGround, engine: str | None, known: JournalContents | None, directory: Path) -> LiveOrigin:
    """Where the work belongs. StaleError where that is another account than this, UsageError for another engine."""
    try:
        scope = here.patience().ask(here.cloud.scope)
    except CloudError as error:
        if known is not None:
            error.hint = "; ".join(filter(None, [error.hint, STILL_THERE]))
        raise
    if known is None:
        where = scope.cloud, scope.account, scope.region
        return LiveOrigin(uuid4().hex, *where, engine or LOCAL_ENGINE, here.selection, here.where)
    origin = known.live
    if origin is None:
        raise InputError(f"{directory / JOURNAL}: is not a journal of live work", hint="put it elsewhere")
    if (origin.cloud, origin.account, origin.region) != (scope.cloud, scope.account, scope.region):
        there = f"{origin.cloud} {origin.account} {origin.region}"
        raise StaleError(
            f"{directory}: its machines run in {there}, and not in {scope}",
            hint="name that cloud and account, or another place with --state",
        )
    if engine not in (None, origin.engine):
        raise UsageError(f"{directory}: its jobs are run by {origin.engine}", hint=f"--engine {origin.engine}")
    return origin


def _setup(here: LiveGround, policy: Policy, known: JournalContents | None, engine: str) -> Setup:
    """What the controller was told when the work began; UsageError where something else is said now."""
    if known is None:
        made = setup_for(here, policy)
        check_sizes(engine, made.rules)
        return made
    if policy.is_stated and (differs := different(setup_for(here, policy.beside(known.setup)), known.setup)):
        raise UsageError(
            f"{directory_at(here.where)}: work is running there with {differs}",
            hint="leave these options out to continue, or end it first: hcloud operate stop",
        )
    return known.setup


def _session(
    setup: Setup, known: JournalContents | None, kernels: Kernels, directory: Path
) -> tuple[ControlSession, str]:
    """The controller after all that its journal holds, and the lines that a crash kept from being noted."""
    if known is None:
        return ControlSession(setup, kernels), ""
    path, told = directory / JOURNAL, known.decisions
    try:
        session, decided = replay(known, kernels)
    except InputError as error:
        ways = [f"{error.hint}; else" if error.hint else "", _ends_its_machines(path)]
        raise InputError(f"{path}: {error}", hint=" ".join(filter(None, ways))) from error
    at = next((d.at for d, t in zip(decided, told, strict=False) if not d.is_same(t)), None)
    if at is not None or len(decided) < len(told):
        said = f"{path}: its decisions do not follow from its events, from {at or 0.0!r} on"
        raise InputError(said, hint=_ends_its_machines(path))
    return session, "".join(to_line(decision_document(d)) for d in decided[len(told) :])


def _parts(
    here: LiveGround, world: EngineParts, origin: LiveOrigin, journal: LiveJournalFile, workers: Workers
) -> Parts:
    rhythm = rhythm_of(here)
    waits = WaitLimits(first_poll=0.02, longest_poll=0.2) if here.is_local or here.is_rehearsal else WaitLimits()
    machines = Machines(here.cloud, here.clock, waits, rhythm.settled, here.is_stopped)
    requests = Requests(directory_at(here.where) / REQUESTS)
    crash = crash_from(os.environ)

    def renew(session: ControlSession, fold: Fold) -> None:
        journal.renew(header_line(session.setup, origin), Before(session.snapshot(), fold.image()), fold.last)

    there = world.engine, world.source, machines, journal, here.clock, workers
    return Parts(*there, requests.new, renew, world.shown, crash)


def rhythm_of(here: LiveGround) -> Rhythm:
    """How often this cloud is looked at."""
    return LOCAL_RHYTHM if here.is_local else FAKE_RHYTHM if here.is_rehearsal else Rhythm()


def _terms(here: LiveGround, asked: OperateRequest, origin: LiveOrigin, setup: Setup, world: EngineParts) -> Terms:
    from hcloud.profiling.targets import measure
    from hcloud.usecases.measuring.live_profiles import profiles_of

    owner = Owner(origin.lineage, here.loaded.config.live.project, setup.digest.removeprefix("sha256:")[:12])
    known = profiles_of(here.loaded, here.beside.resolve())

    @cache
    def estimated(app: str) -> tuple[int, ...]:
        return (known.vector(app) if app else None) or UNKNOWN

    def vector(order: JobOrder) -> tuple[int, ...]:
        told = world.arrivals.get(order.id)
        return estimated(order.app) if told is None else told.vector

    def coin(job: str) -> float:
        told = world.arrivals.get(job)
        return coin_of(job) if told is None else told.coin

    return Terms(
        owner,
        price=here.price,
        least_seconds=here.least_seconds,
        zones=lambda name: here.loaded.config.live.zones or here.zones(name),
        coin=coin,
        vector=vector,
        limits=asked.limits,
        rhythm=rhythm_of(here),
        probe=world.probe if asked.probe else None,
        measure=measure,
        known=known,
        replan_every=asked.replan_every,
        used=world.used,
    )


def _cores_here(here: LiveGround) -> int | None:
    """Thousandths of a vCPU of all machines there can be, where the cloud is this machine."""
    limits = {q.name: q.limit for q in here.cloud.quotas(local_types()[0])} if here.is_local else {}
    cores = limits.get("cores")
    return None if cores is None else int(cores * 1000)
