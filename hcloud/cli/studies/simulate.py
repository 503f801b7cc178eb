"""``hcloud simulate``: what each strategy would have cost and done on a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.flags import JobTrace
from hcloud.cli.groups import Printed, Verb
from hcloud.cli.main import session
from hcloud.cli.studies.flags import IdleFlags, SimulationFlags, StrategyFlags, brings_servers
from hcloud.errors import UsageError
from hcloud.usecases.interruptible import interruptible

app = Verb()


@app.command()
def simulate(
    ctx: typer.Context,
    *,
    workload: JobTrace = None,
    which: StrategyFlags,
    idle: IdleFlags,
    where: SimulationFlags,
    journal: Annotated[
        Path | None, typer.Option(help="Also write every event and decision, one per line (one strategy only).")
    ] = None,
    shown: Printed,
) -> None:
    """Simulate each strategy on your own trace: performance, waits, use of capacity and cost."""
    from hcloud.views.studies import simulation as view
    from hcloud.views.studies.documents import SimulationDocument

    terminal = session(ctx).terminal
    if which.strategy or not brings_servers(workload):
        _check_journal(journal, len(which.named(["all"])))
    found = where.opened(workload, shown.at, terminal)
    chosen = which.named(found.usual)
    _check_journal(journal, len(chosen) * max(len(found.loads), 1))
    find = idle.asked(planned=found.fleet is not None)
    if journal is not None and find is not None:
        raise UsageError("--journal: is of a strategy without idle hours", hint="leave out --harvest")
    comparison = where.compared(found, chosen, 1, find, terminal)
    if journal is not None:
        from hcloud.usecases.studies.journal import journal_run

        with terminal.busy(f"writing {journal}"):
            interruptible(lambda: journal_run(found.study, chosen[0], journal, found.pool))
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
