"""``hcloud compare``: the strategies side by side over several seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from hcloud.cli.flags import OUTPUT, JobTrace
from hcloud.cli.groups import FormAndTime, Verb
from hcloud.cli.main import session
from hcloud.cli.studies.flags import IdleFlags, SimulationFlags, StrategyFlags, brings_servers
from hcloud.errors import EvidenceError

app = Verb()


@dataclass(frozen=True)
class ComparisonPrinted(FormAndTime):
    """How a comparison is printed."""

    output: Annotated[Literal["table", "json", "html", "csv"], OUTPUT] = "table"


@app.command()
def compare(
    ctx: typer.Context,
    *,
    workload: JobTrace = None,
    which: StrategyFlags,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Number of seeds.")] = 7,
    idle: IdleFlags,
    where: SimulationFlags,
    shown: ComparisonPrinted,
) -> None:
    """Cost and quality of the strategies with intervals over seeds, and which strategies are Pareto-optimal."""
    from hcloud.views.page.render import render
    from hcloud.views.studies import simulation as view
    from hcloud.views.studies.documents import SimulationDocument
    from hcloud.views.studies.simulation_page import comparison_page

    terminal, at = session(ctx).terminal, shown.at
    if which.strategy or not brings_servers(workload):
        which.named(["all"])  # a name that is none, before a trace of minutes is read
    found = where.opened(workload, at, terminal)
    loads, fleet = found.loads, found.fleet
    chosen, batch = which.named((fleet.rivals if fleet else None) or found.usual), idle.asked(planned=fleet is not None)
    if fleet and fleet.servers and not which.strategy and batch is None:  # what the plan's screen compares with
        chosen += tuple(s.all_rented() for s in chosen if s.name == fleet.strategy and s.follows("on_demand"))
    comparison = where.compared(found, chosen, seeds, batch, terminal)
    comparison = where.sized(found, chosen, comparison, terminal)
    where.drawn(comparison, terminal)
    shown.tell(
        terminal,
        lambda: SimulationDocument.of(comparison, at),
        lambda: view.show_comparison(comparison, terminal, loads),
        html=lambda: render(comparison_page(comparison, at, loads)),
    )
    if not any(c.is_compared for c in comparison.strategies):
        raise typer.Exit(EvidenceError.exit_code)
