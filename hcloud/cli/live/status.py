"""``hcloud status``: look at what stands, changing nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.acting import StatePlace, WhichCloud, ground
from hcloud.cli.flags import AsJson, Configuration, Now
from hcloud.cli.main import session
from hcloud.cli.options import Output, moment

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def status(
    ctx: typer.Context,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to print.")] = Output.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """The running machines, their cost an hour, and requests without an answer."""
    from hcloud.usecases.live.status import status as look
    from hcloud.views.live.standing import show_status

    terminal, at = session(ctx).terminal, moment(now)
    with terminal.busy("looking at the cloud"), ground(file, cloud, state, at) as here:
        found = look(here)
    if json_ or output is Output.JSON:
        from hcloud.views.live.documents import StatusDocument

        terminal.write_json(StatusDocument.of(found, at))
    else:
        show_status(found, terminal)
