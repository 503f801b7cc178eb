"""``hcloud recover``: rebuild a state."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.flags import Configuration, Now
from hcloud.cli.live import StatePlace, WhichCloud, Yes, confirm, ground
from hcloud.cli.main import session
from hcloud.cli.options import moment

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def recover(
    ctx: typer.Context,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    lineage: Annotated[str | None, typer.Option(help="Whose machines: where several states are possible.")] = None,
    yes: Yes = False,
    now: Now = None,
) -> None:
    """Rebuild a lost or damaged state from the tags of the machines and from what can still be read of it."""
    from hcloud.usecases import recover as usecase
    from hcloud.views.standing import show_found

    terminal = session(ctx).terminal
    with ground(file, cloud, state, moment(now)) as here:
        with terminal.busy("looking at the cloud"):
            found = usecase.look(here, lineage)
        show_found(found, terminal)
        confirm(session(ctx), "write this state?", yes=yes)
        written = usecase.write(here, found)
    terminal.note(f"state {written.lineage[:8]} written with serial {written.serial}; hcloud plan shows what is left")
