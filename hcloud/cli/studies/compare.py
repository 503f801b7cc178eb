"""``hcloud compare``: the strategies side by side over several seeds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.flags import Admissions, AsJson, JobTrace, Now, Placements, Sizings, Strategies, Watchings
from hcloud.cli.groups import FormOfResult, TimeOfResult, grouped
from hcloud.cli.main import session
from hcloud.cli.options import tell_first_use
from hcloud.cli.studies.flags import IdleFlags, SimulationFlags, brings_servers
from hcloud.errors import EvidenceError
from hcloud.usecases.interruptible import interruptible

if TYPE_CHECKING:
    from hcloud.views.escaped import Written

app = typer.Typer(pretty_exceptions_enable=False)


class ComparisonFormat(StrEnum):
    """How a comparison is printed."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"
    CSV = "csv"


@dataclass(frozen=True)
class ComparisonPrinted(FormOfResult, TimeOfResult):
    """How a comparison is printed."""

    output: Annotated[ComparisonFormat, typer.Option("--output", "-o", help="What to print.")] = ComparisonFormat.TABLE
    json_: AsJson = False
    now: Now = None


@app.command()
@grouped
def compare(
    ctx: typer.Context,
    *,
    workload: JobTrace = None,
    strategy: Strategies = None,
    placement: Placements = None,
    sizing: Sizings = None,
    admission: Admissions = None,
    watching: Watchings = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Number of seeds.")] = 7,
    idle: IdleFlags,
    where: SimulationFlags,
    shown: ComparisonPrinted,
) -> None:
    """Cost and quality of the strategies with intervals over seeds, and which strategies are Pareto-optimal."""
    from hcloud.usecases.harvesting.compared import compare_with_idle_hours
    from hcloud.usecases.studies.loads import CompareRequest, compare_at_loads
    from hcloud.usecases.studies.simulate import strategies_named
    from hcloud.views.studies import simulation as view
    from hcloud.views.studies.documents import SimulationDocument

    terminal, at = session(ctx).terminal, shown.at
    parts = placement or (), sizing or (), admission or (), watching or ()
    if strategy or not brings_servers(workload):
        strategies_named(strategy or ["all"], *parts)  # a name that is none, before a trace of minutes is read
    found = where.opened(workload, at, terminal)
    study, pool, fleet, loads = found
    named = strategy or (fleet.rivals if fleet else None) or found.usual
    chosen = strategies_named(named, *parts)
    tell_first_use(terminal, len(study.jobs) * len(chosen) * seeds * max(len(loads), 1))
    request, find = CompareRequest(seeds, pool, loads), idle.asked(planned=fleet is not None)
    with terminal.progress("simulating", 1.0) as advance:
        if find is None:
            comparison = interruptible(lambda: compare_at_loads(study, chosen, request, advance))
        else:
            comparison = interruptible(lambda: compare_with_idle_hours(study, chosen, request, advance, find))
    comparison = where.sized(found, chosen, comparison, terminal)
    where.drawn(comparison, terminal)

    def page() -> Written:
        from hcloud.views.page.render import render
        from hcloud.views.studies.simulation_page import comparison_page

        return render(comparison_page(comparison, at, loads))

    shown.tell(
        terminal,
        lambda: SimulationDocument.of(comparison, at),
        lambda: view.show_comparison(comparison, terminal, loads),
        html=page,
    )
    if not any(c.is_compared for c in comparison.strategies):
        raise typer.Exit(EvidenceError.exit_code)
