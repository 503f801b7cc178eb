"""``hcloud gc``: find, and with ``--delete`` end, machines that nobody holds."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.acting import Ends, StatePlace, WhichCloud, Yes, beside, confirm, ground
from hcloud.cli.flags import AsJson, Configuration, Now
from hcloud.cli.main import session
from hcloud.cli.options import Output, moment

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def gc(
    ctx: typer.Context,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    delete: Annotated[bool, typer.Option("--delete", help="End them; needs --ends with their number.")] = False,
    lineage: Annotated[
        list[str] | None, typer.Option(help="A state that is lost for good: its machines are orphaned, too.")
    ] = None,
    yes: Yes = False,
    ends: Ends = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to print.")] = Output.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """Find machines with this project's tags that are in no state or have expired; only --delete terminates them."""
    from hcloud.usecases.live import gc as usecase
    from hcloud.views.live.standing import show_orphans

    terminal, at = session(ctx).terminal, moment(now)
    with ground(file, cloud, state, at) as here:
        with terminal.busy("looking at the cloud"):
            found = usecase.find(here, lineage or ())
        quiet = json_ or output is Output.JSON
        show_orphans(found, beside(terminal, quiet=quiet))
        ended: tuple[str, ...] = ()
        count = sum(not o.kept for o in found)
        if delete and count:
            confirm(session(ctx), f"end {count} machines?", yes=yes)
            ended = usecase.end(here, found, ends)
            terminal.note(f"{len(ended)} machines are ending")
    if quiet:
        from hcloud.views.live.documents import OrphansDocument

        terminal.write_json(OrphansDocument.of({"orphans": found, "ended": ended}, at))
