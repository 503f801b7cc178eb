"""``hcloud harvest``: the idle hours of what is reserved, and what can use them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.flags import (
    Configuration,
    Divisible,
    Families,
    HarvestKeys,
    OneMarket,
    OneRegion,
    TraceColumns,
    TraceDecimal,
    TraceFormat,
    TraceKeys,
    reader_keys,
)
from hcloud.cli.groups import MarkdownPrinted, Verb
from hcloud.cli.main import session
from hcloud.cli.options import draw
from hcloud.errors import DeniedByGuardError, UsageError
from hcloud.harvest.histories import Scaling
from hcloud.usecases.asked import provider_named, seconds_named
from hcloud.usecases.interruptible import interruptible

if TYPE_CHECKING:
    from hcloud.usecases.harvesting.opened import UseRequest

app = Verb("Use idle reserved capacity: types, plan, simulate, replicas, audit")

Util = Annotated[
    str,
    typer.Argument(
        metavar="UTIL", help="The use of CPUs over time: a csv or Parquet (server,time,cpu), an export, a folder."
    ),
]
ServersFile = Annotated[
    Path | None, typer.Option("--servers", help="servers.csv: server, tenant, cores, and groups such as rack.")
]
PolicyFile = Annotated[Path | None, typer.Option("--policy", help="Your own file instead of policies/harvest.yaml.")]
MeanUse = Annotated[float | None, typer.Option(min=0.01, max=0.99, help="Scale all use to this mean utilisation.")]
HowScaled = Annotated[Scaling, typer.Option(help="How use is scaled.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random draws.")]


@dataclass(frozen=True)
class UseFlags:
    """How histories of use are read, and by which numbers they are judged."""

    servers: ServersFile = None
    trace_format: TraceFormat = None
    keys: TraceKeys = None
    columns: TraceColumns = None
    decimal: TraceDecimal = None
    policy: PolicyFile = None
    seed: Seed = 0

    def request(self, util: str) -> UseRequest:
        """The histories that are asked for."""
        from hcloud.usecases.harvesting.opened import UseRequest

        keys = reader_keys(self.keys, self.columns, self.decimal)
        return UseRequest(util, self.servers, self.trace_format or "auto", keys, self.policy, self.seed, "flags")


@app.command()
def types(ctx: typer.Context, *, util: Util, use: UseFlags, shown: MarkdownPrinted) -> None:
    """Which tenants are periodic, constant or unpredictable, their classes, and the idle capacity of each.

    Short jobs may use the capacity free now, medium jobs that free on average, long jobs that free at the peak.
    """
    from hcloud.usecases.harvesting.opened import types_of_use
    from hcloud.views.harvesting.documents import HarvestTypesDocument
    from hcloud.views.harvesting.types import types_sections

    terminal = session(ctx).terminal
    with terminal.progress(f"reading {util}", 1.0) as advance:
        found = types_of_use(use.request(util), advance)
    shown.tell_sections(terminal, found, HarvestTypesDocument.of, types_sections)


@app.command()
def plan(
    ctx: typer.Context,
    *,
    util: Util,
    workload: Annotated[
        str | None, typer.Option(help="The batch: a trace or scenario:NAME; else that of hcloud.yaml.")
    ] = None,
    provider: OneMarket = None,
    region: OneRegion = None,
    family: Families = None,
    divisible: Divisible = None,
    file: Configuration = None,
    picture: Annotated[Path | None, typer.Option(help="Draw a week of the pool to FILE.png, .svg, .html.")] = None,
    use: UseFlags,
    shown: MarkdownPrinted,
) -> None:
    """Idle hours by class and hour, how many of them batch can use, and the dollars saved.

    Plans batch twice: with machines of its own, and with part of it in idle hours.
    """
    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.harvesting.plan import harvest_plan
    from hcloud.usecases.workloads.sources import Flags, with_flags
    from hcloud.views.harvesting.documents import HarvestPlanDocument
    from hcloud.views.harvesting.pictures import week_of
    from hcloud.views.harvesting.plan import harvest_plan_markdown, show_harvest_plan
    from hcloud.views.pictures import check_picture

    terminal, at = session(ctx).terminal, shown.at
    flags = Flags(
        workload=workload,
        providers=(provider_named(provider),) if provider else (),
        regions=(region,) if region else (),
        families=tuple(family or ()),
        divisible=divisible,
    )
    loaded = with_flags(load_config(file), flags)
    check_picture(picture)
    with terminal.progress(f"reading {util}", 1.0) as advance:
        found = interruptible(lambda: harvest_plan(use.request(util), loaded, at, advance))
    shown.tell_result(terminal, found, HarvestPlanDocument.of, show_harvest_plan, md=harvest_plan_markdown)
    draw(picture, terminal, lambda: week_of(found))


@dataclass(frozen=True)
class TaskFlags:
    """Which jobs come how often, and for how long; what the servers' use is scaled to."""

    runs: Annotated[
        Path | None,
        typer.Option(help="runs.json with the last duration of each job (default: from a run with another seed)."),
    ] = None
    every: Annotated[str, typer.Option(metavar="TIME", help="Mean time between jobs.")] = "300s"
    hours: Annotated[
        float,
        typer.Option(min=0.1, max=744, help="Simulate the last hours of the history; types come from the time before."),
    ] = 24.0
    scale: Annotated[
        float, typer.Option(min=0.01, max=1000, help="Multiply the number and the length of tasks by this.")
    ] = 1.0
    mean_use: MeanUse = None
    scaling: HowScaled = Scaling.LINEAR


@app.command()
def simulate(
    ctx: typer.Context,
    *,
    util: Util,
    jobs: Annotated[
        str, typer.Option(help="dags.json: jobs as graphs of tasks; or scenario:queries, made-up queries.")
    ],
    system: Annotated[
        str, typer.Option(help="stock, aware, history, balanced, classes; several with commas.")
    ] = "stock,aware,history",
    asked: TaskFlags,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Runs of each system, with other arrival times.")] = 5,
    use: UseFlags,
    shown: MarkdownPrinted,
) -> None:
    """Simulate batch on idle capacity by scheduler: job times, kills, lost work, broken reserves.

    Services follow the end of their history; classes come from the time before.
    """
    from hcloud.usecases.harvesting.simulate import TaskRequest, simulate_tasks
    from hcloud.views.harvesting.documents import HarvestSimulationDocument
    from hcloud.views.harvesting.simulate import task_sections

    terminal = session(ctx).terminal
    systems = tuple(name.strip() for name in system.split(","))
    every = float(seconds_named(asked.every, "--every"))
    if not every:
        raise UsageError(f"--every {asked.every}: jobs come a second apart, or more", hint="for example --every 300s")
    request = TaskRequest(
        use.request(util), jobs, asked.runs, systems, every, asked.hours, seeds, asked.mean_use, asked.scaling,
        asked.scale,
    )  # fmt: skip
    with terminal.progress(f"running jobs on {util}", 1.0) as advance:
        found = interruptible(lambda: simulate_tasks(request, advance))
    shown.tell_sections(terminal, found, HarvestSimulationDocument.of, task_sections)


Reimages = Annotated[
    Path | None,
    typer.Option("--reimages", help="reimages.csv (server, time, kind): simulated years draw from its weeks."),
]
Years = Annotated[int, typer.Option("--seeds", min=1, max=1000, help="Number of simulated years per system.")]
UtilFile = Annotated[str | None, typer.Option("--util", help="CPU use of the servers over time.")]
ServersOrCentre = Annotated[
    str, typer.Option("--servers", help="servers.csv, or scenario:centre-0 to -9: a synthetic centre.")
]


@app.command()
def replicas(
    ctx: typer.Context,
    *,
    servers: ServersOrCentre,
    reimages: Reimages = None,
    util: UtilFile = None,
    harvest_set: HarvestKeys = None,
    blocks: Annotated[
        str, typer.Option(help="Number of blocks, or a file with one block and its writer per line.")
    ] = "100000",
    copies: Annotated[int, typer.Option("--replicas", min=1, max=10, help="Copies of each block.")] = 3,
    system: Annotated[
        str, typer.Option(help="history, spread, balanced, stock, random, best-first; several with commas.")
    ] = "history,stock,spread",
    group: Annotated[
        list[str] | None, typer.Option(help="Another column that copies must not share, as rack; may be repeated.")
    ] = None,
    mean_use: MeanUse = None,
    scaling: HowScaled = Scaling.LINEAR,
    out: Annotated[Path | None, typer.Option(help="Write the sets of the first system to FILE.jsonl.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the grid to FILE.png, .svg or .html.")] = None,
    policy: PolicyFile = None,
    seeds: Years = 5,
    seed: Seed = 0,
    shown: MarkdownPrinted,
) -> None:
    """Place the copies of each block, and show losses and failed accesses in a year, by system.

    Moves nothing: it prints the placement.
    """
    from hcloud.store.files.looked_at import check_form
    from hcloud.store.placements import write_placement
    from hcloud.usecases.harvesting.replicas import ReplicaRequest, study_replicas
    from hcloud.views.harvesting.documents import HarvestReplicasDocument
    from hcloud.views.harvesting.pictures import grid_drawn
    from hcloud.views.harvesting.replicas import replica_sections
    from hcloud.views.pictures import check_picture

    check_picture(picture)
    if out is not None:
        check_form(out, "a placement", ".jsonl", ".json")
    terminal = session(ctx).terminal
    systems = tuple(name.strip() for name in system.split(","))
    asked = ReplicaRequest(
        servers, reimages, util, blocks, copies, systems, seeds, tuple(group or ()), mean_use, scaling, policy, seed,
        tuple(harvest_set or ()),
    )  # fmt: skip
    with terminal.progress("placing blocks", 1.0) as advance:
        found = interruptible(lambda: study_replicas(asked, advance))
    if out is not None:
        count = write_placement(out, found.blocks, found.servers.names, found.sets)
        terminal.note(f"{count:,} sets of {systems[0]} written to {out}")
    draw(picture, terminal, lambda: grid_drawn(found.study))
    shown.tell_sections(terminal, found.study, HarvestReplicasDocument.of, replica_sections)


@app.command()
def audit(
    ctx: typer.Context,
    *,
    placement: Annotated[
        Path, typer.Argument(metavar="PLACEMENT", help="One line per block, as 'replicas --out' writes.")
    ],
    servers: ServersOrCentre,
    reimages: Reimages = None,
    util: UtilFile = None,
    harvest_set: HarvestKeys = None,
    least_diverse: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Exit 3 if a smaller share of blocks has every copy in its own environment."),
    ] = None,
    policy: PolicyFile = None,
    seeds: Years = 5,
    seed: Seed = 0,
    shown: MarkdownPrinted,
) -> None:
    """Check a placement: groups that copies share, and blocks expected to be lost in a year."""
    from hcloud.usecases.harvesting.replicas import ReplicaRequest
    from hcloud.usecases.harvesting.replicas import audit as audited
    from hcloud.views.harvesting.documents import HarvestAuditDocument
    from hcloud.views.harvesting.replicas import audit_sections

    terminal = session(ctx).terminal
    keys = tuple(harvest_set or ())
    asked = ReplicaRequest(servers, reimages, util, seeds=seeds, policy=policy, seed=seed, keys=keys)
    found = audited(asked, placement, least_diverse)
    shown.tell_sections(terminal, found, HarvestAuditDocument.of, audit_sections)
    if found.is_too_alike:
        raise typer.Exit(DeniedByGuardError.exit_code)
