"""``hcloud operate``: jobs run where the policy says, and machines come and go as it decides."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from hcloud.cli.flags import HarvestKeys, HarvestPolicyFile
from hcloud.cli.groups import CloudFlags, Printed, StateFlags, ToldAt, Verb
from hcloud.cli.live.operating import advise, compared_costs, work
from hcloud.cli.main import session
from hcloud.errors import UsageError

if TYPE_CHECKING:
    from hcloud.control.operating.fold import Fold
    from hcloud.harvest.classes import UseTypes
    from hcloud.usecases.live.operating.operate import OperateRequest
    from hcloud.usecases.live.places import CloudSelection
    from hcloud.views.console import Terminal

_Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until done, or return at once.")]


class OfJobFiles(TyperGroup):
    """``hcloud operate jobs.csv`` stands for ``hcloud operate run jobs.csv``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What is no verb of the group, and no plea for help, is for run."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = Verb(cls=OfJobFiles, help="Run jobs live: the policy places them, rents machines and releases them.")


@dataclass(frozen=True)
class CloudOfWork(CloudFlags):
    """Which cloud, and where what is remembered of it is kept; where nothing names one, that of the work there."""

    otherwise: ClassVar[str | None] = None

    def selection(self) -> CloudSelection:
        """The cloud that the command line or the configuration names, else that of the last work there."""
        from hcloud.planning.changes.slots import CloudRegion
        from hcloud.readers.configuration.config import load_config
        from hcloud.usecases.live.operate_requests import origin_of_work
        from hcloud.usecases.live.places import CloudSelection
        from hcloud.usecases.live.state import state_place

        origin = origin_of_work(state_place(self.state, self.file), finished_too=self.otherwise is None)
        selection = self.cloud or load_config(self.file).config.live.cloud
        if origin is None:
            return CloudSelection(selection or self.otherwise, self.state)
        return CloudSelection(
            selection or origin.selection or self.otherwise, self.state, CloudRegion(origin.cloud, origin.region)
        )


@dataclass(frozen=True)
class LocalByDefault(CloudOfWork):
    """The same; this machine where no work waits to be gone on with."""

    otherwise: ClassVar[str | None] = "local"


@app.command()
def run(
    ctx: typer.Context,
    *,
    jobs: Annotated[
        Path | None, typer.Argument(help="Jobs to run, CSV or YAML (engine none: events). Without: continue.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", help="Map column names of JOBS: id=name,cores=vcpus; others are not read."),
    ] = None,
    engine: Annotated[str, typer.Option(help="What runs jobs: local, slurm, or none.")] = "local",
    strategy: Annotated[
        str | None, typer.Option("--strategy", "-s", help="SR, OdF, OdM, HF, HM, HC or a file.")
    ] = None,
    placement: Annotated[
        str | None, typer.Option(help="Which server of a pool: greedy, least-loaded, tarcil ... or a file.")
    ] = None,
    watching: Annotated[
        str | None, typer.Option(help="Keep running jobs at their targets: adjust-to-target, off ... or a file.")
    ] = None,
    pool: Annotated[int | None, typer.Option(min=0, help="Reserved machines.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Strategy and reserve of a plan.")] = None,
    family: Annotated[
        list[str] | None, typer.Option(help="Allowed family pattern or instance type; may be repeated.")
    ] = None,
    max_hourly: Annotated[float | None, typer.Option(min=0, help="Maximum dollars an hour for all machines.")] = None,
    max_total: Annotated[float | None, typer.Option(min=0, help="Stop launching after so many dollars.")] = None,
    max_machines: Annotated[int | None, typer.Option(min=1, help="Maximum number of machines.")] = None,
    follow: Annotated[
        bool | None,
        typer.Option(
            "--follow/--no-follow",
            help="Wait for more jobs when all have ended (default: as before, at first no).",
        ),
    ] = None,
    probe: Annotated[bool, typer.Option("--probe/--no-probe", help="Measure rented machines for a second.")] = True,
    replan_window: Annotated[
        str | None,
        typer.Option("--replan", metavar="DURATION", help="How often to plan, and from how much demand; buys nothing."),
    ] = None,
    batch: Annotated[
        Path | None, typer.Option(metavar="BATCH", help="Batch jobs for the capacity that services leave idle.")
    ] = None,
    harvest_policy: HarvestPolicyFile = None,
    util: Annotated[
        str | None,
        typer.Option(metavar="UTIL", help="With --batch: use of the services over time, for their classes."),
    ] = None,
    servers: Annotated[
        Path | None, typer.Option(help="With --util: the servers of UTIL and their tenants (servers.csv).")
    ] = None,
    harvest_set: HarvestKeys = None,
    compiled: Annotated[
        bool, typer.Option("--compiled/--plain", help="Plain starts faster and decides slower.")
    ] = True,
    where: LocalByDefault,
    shown: ToldAt,
) -> None:
    """Run jobs until all have ended, then terminate every machine. Ctrl-C leaves jobs and machines running; the same
    command goes on."""
    from hcloud.control.operating.wanted import SpendingLimits
    from hcloud.sim.machine_code.compiled import plain, soonest
    from hcloud.usecases.live.operating.engine import LOCAL_ENGINE
    from hcloud.usecases.live.operating.harvest import BesideServices
    from hcloud.usecases.live.operating.jobs_file import jobs_file
    from hcloud.usecases.live.operating.operate import OperateRequest, operating
    from hcloud.usecases.live.operating.setup import Policy, strategy_with

    terminal = session(ctx).terminal
    limits = SpendingLimits(_dollars(max_hourly), _dollars(max_total), max_machines)
    policy = Policy(strategy_with(strategy, placement, watching), pool, plan, tuple(family or ()))
    source = ctx.get_parameter_source("engine")
    said = engine if source is not None and source.name != "DEFAULT" else None  # else that of the work that goes on
    beside = BesideServices(batch, harvest_policy, _history(util, servers, harvest_policy, harvest_set))
    file = jobs_file(jobs, columns, of_jobs=engine == LOCAL_ENGINE)
    asked = _replanned(OperateRequest(file, said, policy, limits, follow, probe, beside=beside), replan_window)
    with (
        where.opened(shown.at, terminal) as here,
        operating(here, asked, soonest if compiled else plain) as operation,
    ):
        work(here, operation, terminal, shown)


def _history(
    util: str | None, servers: Path | None, policy: Path | None, keys: list[str] | None
) -> Callable[[], UseTypes] | None:
    """What has the use of services in the past by classes."""
    from hcloud.usecases.harvesting.opened import UseRequest, types_of_use

    if util is None:
        if servers is not None or keys:
            told = "--servers and --harvest-set are of --util: its servers and their tenants, and how it is read"
            raise UsageError(told, hint="add --util UTIL")
        return None
    asked = UseRequest(util, servers, keys=tuple(keys or ()), policy=policy, given="--harvest-set")
    return lambda: types_of_use(asked).types


def _replanned(asked: OperateRequest, window: str | None) -> OperateRequest:
    if window is None:
        return asked
    from hcloud.usecases.deciding.replan import Replanner, window_asked

    seconds = window_asked(window, "--replan")
    return replace(asked, planner=partial(Replanner, seconds=seconds), replan_every=seconds)


def _dollars(amount: float | None) -> Decimal | None:
    return None if amount is None else Decimal(str(amount))


@app.command()
def status(
    ctx: typer.Context,
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every second while a controller runs.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Also what SR and OdF would have cost so far.")] = False,
    which: StateFlags,
    shown: Printed,
) -> None:
    """Machines, queue and last decisions, read from the journal; asks no cloud."""
    from hcloud.live.clock import SystemClock
    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.live.operating.looking import Onlooker
    from hcloud.views.live.documents import operating_document
    from hcloud.views.live.operating import Moment, compared_lines, operating_screen, who_works

    if watch and shown.is_document:
        raise UsageError("--watch refreshes a screen, and a document is asked for", hint="leave one of them out")
    terminal, clock, onlooker = session(ctx).terminal, SystemClock(), Onlooker(which.place)
    terminal.flags.update(which.flags)
    with terminal.screen() if watch else nullcontext() as draw:
        while True:
            found = onlooker.look()
            if draw is None:
                break
            seen = Moment(found.now(clock.now()), lines=terminal.lines)
            draw([*operating_screen(found.fold, seen), who_works(found.fold, found.holder)])
            if found.holder is None:
                break
            clock.sleep(1.0)
    others = compared_costs(found.directory, load_config(which.file), shown, at_end=False) if compare else None
    beside = () if others is None else compared_lines(others)
    shown.tell(
        terminal,
        lambda: operating_document(found.fold, shown.at, others, now=found.now(clock.now())),
        lambda: terminal.show(
            *operating_screen(found.fold, Moment(found.now(clock.now()))), *beside, who_works(found.fold, found.holder)
        ),
    )


@app.command()
def explain(
    ctx: typer.Context,
    *,
    job: Annotated[str, typer.Option(help="The job's id.")],
    which: StateFlags,
    shown: ToldAt,
) -> None:
    """Why a job ran where it did, what else was considered, and what happened to it."""
    from hcloud.usecases.deciding.explaining.job import explain_job
    from hcloud.usecases.live.operating.looking import journal_at
    from hcloud.views.live.decision import show_story
    from hcloud.views.live.documents import story_document

    terminal = session(ctx).terminal
    story = explain_job(journal_at(which.place), job)
    shown.tell_result(terminal, story, story_document, show_story)


@app.command()
def replan(
    ctx: typer.Context,
    *,
    window: Annotated[str, typer.Option(metavar="DURATION", help="How much of the demand so far to use.")] = "28d",
    where: CloudOfWork,
    shown: ToldAt,
) -> None:
    """Which further commitments pay for the demand in the journal; buys nothing."""
    from hcloud.usecases.deciding.replan import Replanner, window_asked
    from hcloud.usecases.live.operate_requests import directory_at
    from hcloud.usecases.live.state import state_place

    terminal, seconds = session(ctx).terminal, window_asked(window, "--window")
    with where.opened(shown.at, terminal) as here:
        planner = Replanner(here, directory_at(state_place(where.state, where.file)), seconds)
        with terminal.busy("planning from the demand so far"):
            found = planner(here.clock.now())
    advise(terminal, shown, found)
    if found.why_not:
        raise typer.Exit(9)


@app.command()
def cancel(
    ctx: typer.Context,
    *,
    job: Annotated[str, typer.Argument(help="The job's id.")],
    ahead: Annotated[bool, typer.Option("--ahead", help="Also refuse a job that is submitted later.")] = False,
    which: StateFlags,
) -> None:
    """Cancel a job, queued or running."""
    from hcloud.usecases.live.operating.asking import ask

    session(ctx).terminal.note(ask(which.place, "cancel", job, ahead=ahead))


@app.command()
def drain(ctx: typer.Context, *, wait: _Wait = True, where: LocalByDefault, shown: ToldAt) -> None:
    """Take no new jobs; when the present ones have ended, terminate every machine."""
    _end(session(ctx).terminal, where, shown, "drain", wait=wait)


@app.command()
def stop(
    ctx: typer.Context,
    *,
    keep_machines: Annotated[bool, typer.Option("--keep-machines", help="Cancel the jobs, keep the machines.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Terminate machines even if the engine reports running jobs.")
    ] = False,
    wait: _Wait = True,
    where: LocalByDefault,
    shown: ToldAt,
) -> None:
    """Cancel all jobs, then terminate every machine."""
    from hcloud.live.operating.desk import FORCED
    from hcloud.model.running.note import KEEPING

    if force and keep_machines:
        raise UsageError("--force ends machines, and --keep-machines keeps them", hint="leave one of them out")
    what = FORCED if force else KEEPING if keep_machines else "stop"
    _end(session(ctx).terminal, where, shown, what, wait=wait)


def _is_done(fold: Fold, *, keeps: bool) -> bool:
    """Whether nothing is left of what was to end."""
    return fold.is_finished or (keeps and not fold.active)


def _end(terminal: Terminal, where: CloudFlags, shown: ToldAt, what: str, *, wait: bool) -> None:
    """Ask the controller for it; where none works, be the controller that does it."""
    from hcloud.live.operating.loop import STOP_SECONDS, slow_to_stop
    from hcloud.model.running.note import KEEPING
    from hcloud.sim.machine_code.compiled import plain
    from hcloud.usecases.live.operating.asking import ask, works, works_no_more
    from hcloud.usecases.live.operating.looking import look
    from hcloud.usecases.live.operating.operate import OperateRequest, operating
    from hcloud.usecases.live.state import state_place
    from hcloud.views.live.documents import operating_document
    from hcloud.views.live.operating import outcome_lines, waits_for_end

    place = state_place(where.state, where.file)
    if works(place):
        terminal.note(ask(place, what))
        if wait:
            terminal.note(waits_for_end(look(place).fold, services_end=what != "drain", keeps=what == KEEPING))
            with terminal.busy("waiting for the controller"):
                waits = not works_no_more(place, STOP_SECONDS) and what in ("stop", KEEPING)
                if waits and (slow := slow_to_stop(look(place).fold)):
                    terminal.note(slow)
                works_no_more(place)
        if not wait or _is_done(look(place).fold, keeps=what == KEEPING):
            return
        terminal.note("the controller left before that was done: this command goes on")
    found = look(place)
    if found.fold.is_finished:
        terminal.note(f"{found.directory}: no work is running there")
        shown.tell(
            terminal,
            lambda: operating_document(found.fold, shown.at),
            lambda: terminal.show(*outcome_lines(found.fold, found.at)),
        )
        return
    with where.opened(shown.at, terminal) as here:
        asked = OperateRequest(asked=what, probe=False)
        with operating(here, asked, plain) as operation:
            work(here, operation, terminal, shown)
