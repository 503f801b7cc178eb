"""``hcloud drift``: look at what stands, changing nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.groups import CloudFlags, Printed, Verb
from hcloud.cli.main import session

app = Verb()


@app.command()
def drift(
    ctx: typer.Context,
    where: CloudFlags,
    shown: Printed,
    detailed_exitcode: Annotated[bool, typer.Option("--detailed-exitcode", help="Exit 2 if there are any.")] = False,
) -> None:
    """Changes made outside hcloud since the last apply."""
    from hcloud.usecases.live.status import status as look
    from hcloud.views.live.documents import DriftDocument
    from hcloud.views.live.standing import show_drift

    terminal = session(ctx).terminal
    with terminal.busy("looking at the cloud"), where.opened(shown.at, terminal) as here:
        found = look(here)
    shown.tell_result(terminal, found, DriftDocument.of, show_drift)
    if detailed_exitcode and found.drift:
        raise typer.Exit(2)
