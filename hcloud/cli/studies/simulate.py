"""``hcloud simulate``: what each strategy would have cost and done on a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.flags import (
    AsJson,
    CloudModel,
    Configuration,
    DropUnplaceable,
    Families,
    FirstSeed,
    JobTrace,
    LargeVcpus,
    Now,
    OneProvider,
    OneRegion,
    Picture,
    Pool,
    PriceRatio,
    Profiles,
    Strategies,
    TraceFormat,
    TraceKeys,
    TraceWindow,
    Unprofiled,
)
from hcloud.cli.interruptible import interruptible
from hcloud.cli.main import session
from hcloud.cli.options import (
    Output,
    Simulating,
    is_plan,
    moment,
    opened_plan,
    opened_study,
    tell_first_use,
    tell_fleet,
    tell_study,
)
from hcloud.errors import UsageError

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def simulate(
    ctx: typer.Context,
    workload: JobTrace = None,
    strategy: Strategies = None,
    file: Configuration = None,
    workload_format: TraceFormat = None,
    keys: TraceKeys = None,
    window: TraceWindow = None,
    provider: OneProvider = None,
    region: OneRegion = None,
    family: Families = None,
    vcpus: LargeVcpus = None,
    cloud: CloudModel = None,
    pool: Pool = None,
    price_ratio: PriceRatio = None,
    unprofiled: Unprofiled = False,
    drop_unplaceable: DropUnplaceable = False,
    profiles: Profiles = None,
    seed: FirstSeed = None,
    picture: Picture = None,
    journal: Annotated[
        Path | None, typer.Option(help="Also write every event and decision of the one strategy named, a line each.")
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to print.")] = Output.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """Performance, waiting, use of capacity and cost of each strategy on your own trace, before anything is bought."""
    from hcloud.usecases.studies.simulate import compare, strategies_named
    from hcloud.views.studies import simulation as view
    from hcloud.views.studies.documents import SimulationDocument

    terminal, at = session(ctx).terminal, moment(now)
    if picture is not None:
        from hcloud.views.pictures import check_picture

        check_picture(picture)
    families, told = tuple(family or ()), tuple(keys or ())
    asked = Simulating(workload, file, workload_format, told, provider, region, families, vcpus, profiles, window)
    if is_plan(workload):
        planned = opened_plan(asked, (cloud, price_ratio, pool, not unprofiled), seed, at)
        study, pool, strategy = planned.study, planned.fleet.servers, strategy or [planned.fleet.strategy]
        tell_fleet(planned, terminal)
    else:
        _check_journal(journal, len(strategies_named(strategy or ["all"])))
        study = opened_study(asked, (cloud, price_ratio, not unprofiled, drop_unplaceable), seed, at)
        tell_study(study, terminal, named=bool(cloud or provider))
    chosen = strategies_named(strategy or ["all"])
    _check_journal(journal, len(chosen))
    tell_first_use(terminal, len(study.jobs) * len(chosen))
    with terminal.progress("simulating", 1.0) as advance:
        comparison = interruptible(lambda: compare(study, chosen, 1, advance, pool))
    if journal is not None:
        from hcloud.usecases.studies.journal import journal_run

        with terminal.busy(f"writing {journal}"):
            interruptible(lambda: journal_run(study, chosen[0], journal, pool))
        terminal.note(f"journal written to {journal}; 'hcloud explain --job ID {journal}' reads it")
    if picture is not None:
        from hcloud.views.studies.simulation_charts import save_pictures

        with terminal.busy("drawing"):
            save_pictures(comparison, picture)
        terminal.note(f"drawn to {picture}")
    if json_ or output is Output.JSON:
        terminal.write_json(SimulationDocument.of(comparison, at))
    else:
        view.show_simulation(comparison, terminal)


def _check_journal(journal: Path | None, strategies: int) -> None:
    if journal is None:
        return
    from hcloud.store.journal import check_target

    if strategies != 1:
        raise UsageError("--journal is of one run", hint="name one strategy, for example --strategy HM")
    check_target(journal)
