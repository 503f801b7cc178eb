"""``hcloud drift``: look at what stands, changing nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.acting import StatePlace, WhichCloud, ground
from hcloud.cli.flags import AsJson, Configuration, Now
from hcloud.cli.main import session
from hcloud.cli.options import Output, moment

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def drift(
    ctx: typer.Context,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to print.")] = Output.TABLE,
    json_: AsJson = False,
    now: Now = None,
    detailed_exitcode: Annotated[bool, typer.Option("--detailed-exitcode", help="Exit 2 where there is any.")] = False,
) -> None:
    """Changes made outside hcloud since the last apply."""
    from hcloud.usecases.live.status import status as look
    from hcloud.views.live.standing import show_drift

    terminal, at = session(ctx).terminal, moment(now)
    with terminal.busy("looking at the cloud"), ground(file, cloud, state, at) as here:
        found = look(here)
    if json_ or output is Output.JSON:
        from hcloud.views.live.documents import DriftDocument

        terminal.write_json(DriftDocument.of(found, at))
    else:
        show_drift(found, terminal)
    if detailed_exitcode and found.drift:
        raise typer.Exit(2)
