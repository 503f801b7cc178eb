"""``hcloud compare``: the strategies side by side over several seeds."""

from __future__ import annotations

from enum import StrEnum
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
    Simulating,
    is_plan,
    moment,
    opened_plan,
    opened_study,
    tell_first_use,
    tell_fleet,
    tell_study,
)
from hcloud.errors import EvidenceError

app = typer.Typer(pretty_exceptions_enable=False)


class ComparisonFormat(StrEnum):
    """How a comparison is printed."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


@app.command()
def compare(
    ctx: typer.Context,
    workload: JobTrace = None,
    strategy: Strategies = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="How many seeds.")] = 7,
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
    output: Annotated[ComparisonFormat, typer.Option("--output", "-o", help="What to print.")] = ComparisonFormat.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """Cost and quality of the strategies with intervals over seeds, and which strategies are Pareto-optimal."""
    from hcloud.usecases.studies.simulate import compare as run_all
    from hcloud.usecases.studies.simulate import strategies_named
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
        study, pool, strategy = planned.study, planned.fleet.servers, strategy or planned.fleet.rivals
        tell_fleet(planned, terminal)
    else:
        study = opened_study(asked, (cloud, price_ratio, not unprofiled, drop_unplaceable), seed, at)
        tell_study(study, terminal, named=bool(cloud or provider))
    chosen = strategies_named(strategy or ["all"])
    tell_first_use(terminal, len(study.jobs) * len(chosen) * seeds)
    with terminal.progress("simulating", 1.0) as advance:
        comparison = interruptible(lambda: run_all(study, chosen, seeds, advance, pool))
    if picture is not None:
        from hcloud.views.studies.simulation_charts import save_pictures

        with terminal.busy("drawing"):
            save_pictures(comparison, picture)
        terminal.note(f"drawn to {picture}")
    if json_ or output is ComparisonFormat.JSON:
        terminal.write_json(SimulationDocument.of(comparison, at))
    elif output is ComparisonFormat.HTML:
        from hcloud.views.page.render import render
        from hcloud.views.studies.simulation_page import comparison_page

        terminal.write(render(comparison_page(comparison, at)))
    else:
        view.show_comparison(comparison, terminal)
    if not any(c.is_compared for c in comparison.strategies):
        raise typer.Exit(EvidenceError.exit_code)
