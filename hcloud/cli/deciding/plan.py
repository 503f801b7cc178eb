"""``hcloud plan``: parse, decide, show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.flags import (
    CloudModel,
    CloudState,
    Configuration,
    Divisible,
    HarvestKeys,
    HarvestPolicyFile,
    Profiles,
    TraceColumns,
    TraceDecimal,
    TraceFormat,
    TraceKeys,
    TraceWindow,
    WhichCloud,
    reader_keys,
)
from hcloud.cli.groups import CloudFlags, PagePrinted, Verb
from hcloud.cli.main import session
from hcloud.cli.options import draw, first_use_told
from hcloud.errors import CredentialsError, DeniedByGuardError, UsageError
from hcloud.usecases.asked import provider_named, refuse_beside_bill, refuse_unsimulated
from hcloud.usecases.harvesting.asked import HarvestAsked
from hcloud.usecases.interruptible import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from hcloud.model.holdings.change import ChangeSet
    from hcloud.model.plans.bill_plan import BillPlan
    from hcloud.model.plans.plan import Plan
    from hcloud.readers.configuration.config import Loaded
    from hcloud.usecases.deciding.idle_plan import FindIdle
    from hcloud.views.console import Advance, Terminal

CHANGES = 2


app = Verb()


@app.command()
def plan(
    ctx: typer.Context,
    *,
    workload: Annotated[
        str | None,
        typer.Argument(
            help="A trace, a history, a bill, a folder of them, - (stdin) or scenario:NAME; else hcloud.yaml's."
        ),
    ] = None,
    file: Configuration = None,
    out: Annotated[Path | None, typer.Option(help="Also write the plan to this file.")] = None,
    shown: PagePrinted,
    workload_format: TraceFormat = None,
    keys: TraceKeys = None,
    columns: TraceColumns = None,
    decimal: TraceDecimal = None,
    window: TraceWindow = None,
    provider: Annotated[list[str] | None, typer.Option(help="aws, gcp or azure; may be repeated.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="Allowed region; may be repeated.")] = None,
    family: Annotated[
        list[str] | None, typer.Option(help="Allowed family pattern or instance type; may be repeated.")
    ] = None,
    vcpus: Annotated[int | None, typer.Option(min=1, max=1024, help="vCPUs of every instance, else all sizes.")] = None,
    divisible: Divisible = None,
    horizon: Annotated[str | None, typer.Option(help="How far to plan, for example 1y or 3y.")] = None,
    regret_quantile: Annotated[float | None, typer.Option(help="Size the reserve by regret, for example 0.9.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of scenarios and futures.")] = None,
    profiles: Profiles = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", "-s", help="Simulate: auto, SR, OdF, OdM, HF, HM, HC, or a file.")
    ] = None,
    qos: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of jobs to keep 95% of their performance [0.9].")
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Most dollars a month.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, max=1000, help="Fewest seeds of each point [3].")] = None,
    cloud_model: CloudModel = None,
    frontier: Annotated[bool, typer.Option("--frontier", help="Show every simulated point.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw dollars against quality to FILE.png, .svg, .html.")] = None,
    max_price_age: Annotated[str | None, typer.Option(help="Refuse older prices, for example 30d.")] = None,
    cloud: WhichCloud = None,
    state: CloudState = None,
    util: Annotated[
        str | None,
        typer.Option(metavar="UTIL", help="Run batch in idle hours of what is reserved; UTIL has the use of services."),
    ] = None,
    servers: Annotated[
        Path | None,
        typer.Option("--servers", help="With --util: the servers of UTIL and their tenants (servers.csv)."),
    ] = None,
    harvest_set: HarvestKeys = None,
    harvest_policy: HarvestPolicyFile = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit 2 if the plan changes or buys something.")
    ] = False,
) -> None:
    """How much to reserve, where and for which term; the rest on demand.

    With --cloud the plan is compared with the running machines, and the changes of 'hcloud apply' are shown.
    """
    from hcloud.readers.configuration.config import load_config
    from hcloud.readers.workloads.commands import commands_apart
    from hcloud.usecases.workloads.bills import KIND, is_bill_named
    from hcloud.usecases.workloads.sources import Flags, with_flags

    operation = {"strategy": strategy, "qos": qos, "budget": budget, "seeds": seeds, "cloud": cloud_model}
    flags = Flags(
        workload=workload,
        format=workload_format,
        options=reader_keys(keys, columns, decimal),
        window=window,
        providers=tuple(map(provider_named, provider or ())),
        regions=tuple(region or ()),
        families=tuple(family or ()),
        vcpus=vcpus,
        divisible=divisible,
        horizon=horizon,
        regret_quantile=regret_quantile,
        seed=seed,
        max_price_age=max_price_age,
        profiles=profiles,
        operation={key: value for key, value in operation.items() if value is not None},
    )
    terminal = session(ctx).terminal
    terminal.flags.update(CloudFlags(file, cloud, state).flags)
    loaded, at = with_flags(load_config(file), flags), shown.at
    refuse_unsimulated(
        loaded.config.operation.strategy, {**flags.operation, "frontier": frontier or None, "picture": picture}
    )
    asked = HarvestAsked(util, servers, tuple(harvest_set or ()), harvest_policy)
    asked.refuse(strategy=loaded.config.operation.strategy)
    _check_targets(out, picture)
    if is_bill_named(loaded) and KIND not in loaded.config.workload.options:
        from hcloud.usecases.deciding.billed.plan import plan_bill

        refuse_beside_bill({**flags.operation, "frontier": frontier, "picture": picture, "cloud": cloud, "util": util})
        with terminal.progress("planning", 1.0) as advance:
            every = interruptible(lambda: plan_bill(loaded, at, advance))
        _tell_bill_plan(every, shown, out, terminal)
        if detailed_exitcode and every.purchases:
            raise typer.Exit(CHANGES)
        return
    with first_use_told(terminal), terminal.progress("planning", 1.0) as advance:
        made, changes, parts = interruptible(
            lambda: _planned(loaded, (cloud, state), at, (advance, terminal.note), asked.idle)
        )
    if made is None:
        assert changes is not None
        _tell_changes(changes, out, shown, terminal)
    else:
        if "verbose" in session(ctx).flags:
            for assumption in made.assumptions:
                terminal.note(f"{assumption.key} = {assumption.value}: {assumption.why}")
        _save(made, out, picture, terminal)
        _print(made, shown, terminal, frontier=frontier)
        for command in commands_apart(parts):
            terminal.say(command, wrong=True)  # each on a line of its own, to be copied
    if made is not None and made.operation is not None and made.operation.is_missed:
        raise typer.Exit(DeniedByGuardError.exit_code)
    if detailed_exitcode and ((made and made.purchases) or (changes and not changes.is_settled)):
        raise typer.Exit(CHANGES)


def _planned(
    loaded: Loaded,
    where: tuple[str | None, str | None],
    at: datetime,
    told: tuple[Advance, Callable[[str], None]],
    idle: FindIdle | None,
) -> tuple[Plan | None, ChangeSet | None, tuple[tuple[str, ...], ...]]:
    """The plan, where a cloud is named the changes in it (no plan where the fleet is the configuration's own), and else
    the flags of each of several plans that would cost less together."""
    cloud, state = where
    if cloud is None and loaded.config.live.cloud is None:
        if state is not None:
            raise UsageError("--state says what is remembered of a cloud, and none is named", hint="add --cloud")
        from hcloud.usecases.deciding.make import make_plan

        made = make_plan(loaded, at, told[0], idle)
        return made.plan, None, made.apart
    from hcloud.usecases.deciding.live_plan import plan_live
    from hcloud.usecases.live.ground import opened
    from hcloud.usecases.live.places import CloudSelection

    try:
        with opened(loaded, CloudSelection(cloud, state), at, told[1]) as here:
            planned = plan_live(here, at, told[0], idle)
            return planned.plan, planned.changes, ()
    except CredentialsError as error:
        error.hint += f"; a plan at list prices needs no account: --provider {error.call.cloud}"
        raise


def _tell_bill_plan(made: BillPlan, shown: PagePrinted, out: Path | None, terminal: Terminal) -> None:
    """Print the plan of a bill in the form that is asked for, and write its document to ``out``."""
    from hcloud.views.deciding.bill_plan import bill_csv, bill_markdown, bill_page, show_bill_plan
    from hcloud.views.deciding.documents import BillPlanDocument
    from hcloud.views.page.render import render

    document = BillPlanDocument.of(made, made.generated_at)
    if out is not None:
        from hcloud.model.json_text import written as as_text
        from hcloud.store.files.whole import write_whole

        write_whole(out, [as_text(document, indent=2) + "\n"])
        terminal.note(f"plan of the bill written to {out}; the plan of one kind (--set kind=) can be acted on")
    shown.tell(
        terminal,
        lambda: document,
        lambda: show_bill_plan(made, terminal),
        md=lambda: bill_markdown(made),
        html=lambda: render(bill_page(made)),
        csv=lambda: bill_csv(made),
    )
    if shown.form == "csv":
        for warning in made.warnings:
            terminal.warn(warning)


def _tell_changes(changes: ChangeSet, out: Path | None, shown: PagePrinted, terminal: Terminal) -> None:
    from hcloud.cli.deciding.page import html_of
    from hcloud.store.plan_file import changes_document, changes_schema, save_plan
    from hcloud.views.document import stored_content
    from hcloud.views.escaped import markdown_document
    from hcloud.views.live.change import changes_markdown, show_changes

    if out is not None:
        save_plan(changes, out)
        terminal.note(f"changes written to {out}")
    shown.tell(
        terminal,
        lambda: stored_content(changes_document(changes), changes_schema, ("changes",)),
        lambda: show_changes(changes, terminal),
        md=lambda: markdown_document(changes_markdown(changes)),
        html=lambda: html_of(changes),
    )


def _check_targets(out: Path | None, picture: Path | None) -> None:
    """Ask before long work whether its results can be written."""
    from hcloud.views.pictures import check_picture

    if out is not None:
        from hcloud.store.plan_file import check_target

        check_target(out)
    check_picture(picture)


def _save(made: Plan, out: Path | None, picture: Path | None, terminal: Terminal) -> None:
    if out is not None:
        from hcloud.store.plan_file import save_plan

        save_plan(made, out)
        terminal.note(f"plan written to {out}")
    if picture is not None:
        from hcloud.views.deciding.plan_charts_costs import front_picture

        operation = made.operation
        assert operation is not None, "asked about before"
        draw(picture, terminal, lambda: front_picture(operation), f"{made.workload.name}: dollars and quality")


def _print(made: Plan, shown: PagePrinted, terminal: Terminal, *, frontier: bool) -> None:
    from hcloud.cli.deciding.page import html_of
    from hcloud.store.plan_file import plan_document, plan_schema
    from hcloud.views.deciding.plan import markdown, show_plan
    from hcloud.views.deciding.plan_tables import mix_csv
    from hcloud.views.document import stored_content
    from hcloud.views.live.change import show_changes

    def screen() -> None:
        show_plan(made, terminal, frontier=frontier)
        if made.changes is not None:
            show_changes(replace(made.changes, warnings=()), terminal)

    shown.tell(
        terminal,
        lambda: stored_content(plan_document(made), plan_schema),
        screen,
        md=lambda: markdown(made),
        html=lambda: html_of(made),
        csv=lambda: mix_csv(made),
    )
    if shown.form == "csv":
        for warning in made.warnings:
            terminal.warn(warning)
