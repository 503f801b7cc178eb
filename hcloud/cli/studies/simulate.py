"""``hcloud simulate``: what each strategy would have cost and done on a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.flags import Admissions, JobTrace, Placements, Sizings, Strategies, Watchings
from hcloud.cli.groups import Printed, grouped
from hcloud.cli.main import session
from hcloud.cli.options import tell_first_use
from hcloud.cli.studies.flags import IdleFlags, SimulationFlags, brings_servers
from hcloud.errors import UsageError
from hcloud.usecases.interruptible import interruptible

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
@grouped
def simulate(
    ctx: typer.Context,
    *,
    workload: JobTrace = None,
    strategy: Strategies = None,
    placement: Placements = None,
    sizing: Sizings = None,
    admission: Admissions = None,
    watching: Watchings = None,
    idle: IdleFlags,
    where: SimulationFlags,
    journal: Annotated[
        Path | None, typer.Option(help="Also write every event and decision, one per line (one strategy only).")
    ] = None,
    shown: Printed,
) -> None:
    """Simulate each strategy on your own trace: performance, waits, use of capacity and cost."""
    from hcloud.usecases.harvesting.compared import compare_with_idle_hours
    from hcloud.usecases.studies.loads import CompareRequest, compare_at_loads
    from hcloud.usecases.studies.simulate import strategies_named
    from hcloud.views.studies import simulation as view
    from hcloud.views.studies.documents import SimulationDocument

    terminal, at = session(ctx).terminal, shown.at
    parts = placement or (), sizing or (), admission or (), watching or ()
    if strategy or not brings_servers(workload):
        _check_journal(journal, len(strategies_named(strategy or ["all"], *parts)))
    found = where.opened(workload, at, terminal)
    study, pool, fleet, loads = found
    chosen = strategies_named(strategy or found.usual, *parts)
    _check_journal(journal, len(chosen) * max(len(loads), 1))
    request, find = CompareRequest(1, pool, loads), idle.asked(planned=fleet is not None)
    if journal is not None and find is not None:
        raise UsageError("--journal: is of a strategy without idle hours", hint="leave out --harvest")
    tell_first_use(terminal, len(study.jobs) * len(chosen) * max(len(loads), 1))
    with terminal.progress("simulating", 1.0) as advance:
        if find is None:
            comparison = interruptible(lambda: compare_at_loads(study, chosen, request, advance))
        else:
            comparison = interruptible(lambda: compare_with_idle_hours(study, chosen, request, advance, find))
    if journal is not None:
        from hcloud.usecases.studies.journal import journal_run

        with terminal.busy(f"writing {journal}"):
            interruptible(lambda: journal_run(study, chosen[0], journal, pool))
        terminal.note(f"journal written to {journal}; 'hcloud explain --job ID {journal}' reads it")
    comparison = where.sized(found, chosen, comparison, terminal)
    where.drawn(comparison, terminal)
    shown.tell_result(terminal, comparison, SimulationDocument.of, view.show_simulation)


def _check_journal(journal: Path | None, strategies: int) -> None:
    if journal is None:
        return
    from hcloud.store.journals.journal import check_target

    if strategies != 1:
        raise UsageError("--journal is of one run", hint="name one strategy, for example --strategy HM")
    check_target(journal)
