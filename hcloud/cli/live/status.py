"""``hcloud status``: look at what stands, changing nothing."""

from __future__ import annotations

import typer

from hcloud.cli.groups import CloudFlags, Printed, Verb
from hcloud.cli.main import session

app = Verb()


@app.command()
def status(ctx: typer.Context, where: CloudFlags, shown: Printed) -> None:
    """The running machines, their cost an hour, and requests with an unknown outcome."""
    from hcloud.usecases.live.status import status as look
    from hcloud.views.live.documents import StatusDocument
    from hcloud.views.live.standing import show_status

    terminal = session(ctx).terminal
    with terminal.busy("looking at the cloud"), where.opened(shown.at, terminal) as here:
        found = look(here)
    shown.tell_result(terminal, found, StatusDocument.of, show_status)
