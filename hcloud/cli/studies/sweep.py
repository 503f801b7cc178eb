"""``hcloud sweep``: what comes out when numbers of a strategy, the cloud or the prices are others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hcloud.cli.flags import (
    Admissions,
    CloudModel,
    Configuration,
    Divisible,
    DropUnplaceable,
    FirstSeed,
    Interference,
    Picture,
    Placements,
    TraceColumns,
    TraceDecimal,
    TraceFormat,
    TraceKeys,
    TraceWindow,
    Watchings,
    reader_keys,
)
from hcloud.cli.groups import Printed, Verb
from hcloud.cli.main import session
from hcloud.cli.options import draw, tell_first_use
from hcloud.errors import UsageError
from hcloud.units import counted
from hcloud.usecases.asked import provider_named
from hcloud.usecases.interruptible import interruptible

if TYPE_CHECKING:
    from hcloud.sim.outcomes.comparison import Sweep

EPILOG = (
    "Keys: MECHANISM.KEY and MECHANISM.rule of a strategy, mapping=P1..P8, cloud.SECTION.KEY, cloud.spin_up=x2, "
    "sensitive_share, pool, strategy, seed, price_ratio, pricing=aws|gce|azure, duration_weeks. "
    "A rule takes its numbers along: mapping.rule=static-limit,limit=0.5."
)

app = Verb()


@app.command(epilog=EPILOG)
def sweep(
    ctx: typer.Context,
    *,
    workload: Annotated[
        str | None, typer.Argument(help="A trace, or scenario:NAME (default: from hcloud.yaml).")
    ] = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="KEY=VALUE,VALUE...; repeated for every combination of several keys.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", "-s", help="Names or files, separated by commas (default: all six).")
    ] = None,
    placement: Placements = None,
    admission: Admissions = None,
    watching: Watchings = None,
    file: Configuration = None,
    workload_format: TraceFormat = None,
    keys: TraceKeys = None,
    columns: TraceColumns = None,
    decimal: TraceDecimal = None,
    window: TraceWindow = None,
    provider: Annotated[list[str] | None, typer.Option(help="aws, gcp or azure; may be repeated.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="Allowed region; may be repeated.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Family pattern or instance type; may be repeated.")] = None,
    divisible: Divisible = None,
    cloud: CloudModel = None,
    interference: Interference = "on",
    drop_unplaceable: DropUnplaceable = False,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Seeds per point, for intervals.")] = 1,
    seed: FirstSeed = None,
    out: Annotated[Path | None, typer.Option(help="Keep finished rows in this directory, and resume from it.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write all figures to this CSV file.")] = None,
    picture: Picture = None,
    workers: Annotated[int, typer.Option(min=0, max=1024, help="Processes; 0 is one for each core.")] = 0,
    engine: Annotated[Literal["local", "dask"], typer.Option(help="Where to run.")] = "local",
    scheduler: Annotated[str, typer.Option(help="Address of a Dask scheduler, for --engine dask.")] = "",
    shown: Printed,
) -> None:
    """Sensitivity analysis: vary numbers of a strategy, the cloud or the prices."""
    from hcloud.readers.configuration.config import load_config
    from hcloud.store.files.looked_at import FORMS, check_form, check_place
    from hcloud.store.files.whole import write_shown
    from hcloud.usecases.studies.journal import as_the_journal_says
    from hcloud.usecases.studies.simulation import SimulationRequest
    from hcloud.usecases.studies.sweep import SweepRequest, SweepWatch, prepare, run_sweep
    from hcloud.usecases.studies.sweep_engines import SweepEngine
    from hcloud.usecases.workloads.sources import Flags
    from hcloud.views.pictures import check_picture
    from hcloud.views.studies import sweep as view
    from hcloud.views.studies.documents import SweepDocument

    terminal, at = session(ctx).terminal, shown.at
    if scheduler and engine != "dask":
        raise UsageError("--scheduler goes with --engine dask")
    check_picture(picture)
    if csv is not None:
        check_form(csv, "a table", ".csv")
        check_place(csv, "a table", UsageError)
    if out is not None and out.suffix.lower() in FORMS and not out.is_dir():
        raise UsageError(f"--out {out}: is a folder of finished rows", hint="--csv FILE.csv writes a table")
    if seed is not None and any(axis.startswith("seed=") for axis in vary or ()):
        raise UsageError("--seed and --vary seed=... say the same: leave out one of them")
    sold_by = tuple(map(provider_named, provider or ()))
    flags = Flags(
        workload,
        workload_format,
        reader_keys(keys, columns, decimal),
        window,
        sold_by,
        tuple(region or ()),
        tuple(family or ()),
        divisible=divisible,
        seed=seed,
    )
    names = tuple(name.strip() for name in (strategy or "").split(",") if name.strip())
    placed = tuple(name for names in placement or () for name in names.split(","))
    waits = tuple(name for names in admission or () for name in names.split(","))
    sized = not any(axis.startswith("pool=") for axis in vary or ())
    found = as_the_journal_says(load_config(file), flags, cloud, sized=sized)
    felt = interference == "on"
    asked = SimulationRequest(cloud, drop_unplaceable=drop_unplaceable, interference=felt, servers_of=found.servers_of)
    for note in found.notes:
        terminal.note(note)
    seen = tuple(name for names in watching or () for name in names.split(","))
    request = SweepRequest(tuple(vary or ()), names, placed, seeds, asked, waits, seen)
    prepared = prepare(found.loaded, at, request)
    where = SweepEngine(engine, workers, scheduler).fitted(prepared.grid.runs)
    tell_first_use(terminal)
    with terminal.progress("sweeping", len(prepared.grid)) as advance:
        watch = SweepWatch(lambda rows: terminal.note(f"{counted(rows, 'row')} found in {out}"), advance)

        def work() -> Sweep:
            return run_sweep(prepared, where, out, watch)

        # Worker processes are ended by the main thread, which Ctrl-C reaches; compiled code must not run in it
        done = interruptible(work) if where.here else work()
    if csv is not None:
        write_shown(csv, view.sweep_csv(done))
    draw(picture, terminal, lambda: view.sweep_picture(done))
    shown.tell_result(terminal, done, SweepDocument.of, view.show_sweep)
