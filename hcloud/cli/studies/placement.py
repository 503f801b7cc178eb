"""``hcloud placement``: what a placement in a large pool promises."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.groups import MarkdownPrinted, Verb
from hcloud.cli.main import session

app = Verb("How many servers of a large pool to sample for each job: size")


@app.command()
def size(
    ctx: typer.Context,
    *,
    quality: Annotated[float, typer.Option(help="The rank to reach among the servers, 0.9 for the best tenth.")] = 0.9,
    miss: Annotated[float, typer.Option(help="Share of decisions that may miss it.")] = 1e-3,
    busy: Annotated[float | None, typer.Option(help="Share of servers that are busy.")] = None,
    units: Annotated[int | None, typer.Option(help="Number of servers, for exact figures.")] = None,
    shown: MarkdownPrinted,
) -> None:
    """How many servers to sample so that the chosen one is among the best, and what fewer achieve.

    Servers are sampled at random, and the best of them is chosen.
    """
    from hcloud.planning.strategies.promised import PromiseRequest, promised
    from hcloud.views.studies.placement import promise_markdown, show_promise
    from hcloud.views.studies.placement_documents import PlacementSizeDocument

    terminal = session(ctx).terminal
    found = promised(PromiseRequest(quality, miss, busy, units))
    shown.tell_result(terminal, found, PlacementSizeDocument.of, show_promise, md=promise_markdown)
