"""``hcloud decide``: events as lines on stdin, decisions as lines on stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from hcloud.cli.groups import Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError
from hcloud.usecases.asked import provider_named

if TYPE_CHECKING:
    from io import BufferedIOBase

EPILOG = (
    'Events: {"at": 0, "event": "arrival", "job": "a", "cores": 2, "memory_gib": 4} (and vector, restartable, coin,'
    " submitted, true_vector, tolerates, true_tolerates, movable), completion (job, performance, tail), failed "
    "(job, code), cancelled (job), below-qos (job, performance), progress (job, share), latency (job, p99 in ms), "
    "reclassified (job, estimate: ten numbers 0..99, performance), ready (instance, spin_up), interruption "
    "(instance), launch-failed (instance, why, until), lost (instance, unbegun: jobs), closing (instance, over, "
    "measures: job), "
    "quality (instance, score), sample (instance, contention: ten numbers 0..99), pool (size, type), clock. Times are "
    "seconds and never fall; a clock event fires what is due."
)

app = Verb()


@app.command(epilog=EPILOG)
def decide(
    ctx: typer.Context,
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", "-s", help="SR, OdF, OdM, HF, HM, HC or a file (default: from the journal)."),
    ] = None,
    pool: Annotated[int, typer.Option(min=0, max=1_000_000, help="Reserved servers.")] = 0,
    provider: Annotated[str | None, typer.Option(help="aws, gcp or azure (default: the study's own cloud).")] = None,
    region: Annotated[str | None, typer.Option(help="The provider's region.")] = None,
    family: Annotated[
        list[str] | None, typer.Option(help="Allowed family pattern or instance type; may be repeated.")
    ] = None,
    cloud: Annotated[
        str | None, typer.Option("--cloud-model", help="Cloud model for start-up times and quality.")
    ] = None,
    types: Annotated[Path | None, typer.Option(help="A file of your own instance types instead.")] = None,
    start: Annotated[
        float | None, typer.Option(min=0, help="Start of control periods (default: the first event).")
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(help="Keep the journal here and resume from it; a long one gets a snapshot JOURNAL.point."),
    ] = None,
    retell: Annotated[
        int, typer.Option(min=0, help="On resuming, print the decisions of the last N events again.")
    ] = 0,
    durable: Annotated[bool, typer.Option("--durable", help="Wait for the disk after every line.")] = False,
    compiled: Annotated[
        bool, typer.Option("--compiled/--plain", help="Plain starts faster and decides slower.")
    ] = True,
) -> None:
    """Decide on a live stream of events where each job runs, with the reason."""
    from hcloud.sim.machine_code.compiled import plain, soonest
    from hcloud.usecases.live.decide import StreamMarket, make_setup, open_stream
    from hcloud.views.live.decision import show_opened, tell_lines

    if types is not None and (provider or region or family or cloud):
        raise UsageError("--types replaces --provider, --region, --family and --cloud-model")
    terminal = session(ctx).terminal
    market = StreamMarket(provider_named(provider) if provider else None, region, tuple(family or ()), cloud, types)
    setup = make_setup(strategy, pool, market, start) if strategy is not None else None
    kernels = soonest() if compiled else plain()
    opened = open_stream(setup, kernels, journal, durable=durable, retell=retell)
    try:
        show_opened(opened.gone_on, terminal)
        wrong = tell_lines(cast("BufferedIOBase", sys.stdin.buffer), opened.stream.answer, terminal)
    finally:
        opened.stream.close()
    if wrong:
        raise typer.Exit(1)
