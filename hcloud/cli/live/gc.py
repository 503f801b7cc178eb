"""``hcloud gc``: find, and with ``--delete`` end, machines that nobody holds."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.acting import Ends, Yes, beside, confirm
from hcloud.cli.groups import CloudFlags, Printed, Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError
from hcloud.units import counted

app = Verb()


@app.command()
def gc(
    ctx: typer.Context,
    *,
    where: CloudFlags,
    delete: Annotated[bool, typer.Option("--delete", help="Terminate them; needs --ends with their number.")] = False,
    lineage: Annotated[list[str] | None, typer.Option(help="Also the machines of this lost state.")] = None,
    yes: Yes = False,
    ends: Ends = None,
    shown: Printed,
) -> None:
    """Find orphaned machines: with this project's tags but in no state, or expired. Only --delete terminates them."""
    from hcloud.live.applying.guards import ChangeApproval
    from hcloud.live.collect import collect, orphans
    from hcloud.views.live.documents import OrphansDocument
    from hcloud.views.live.standing import show_orphans

    terminal, at = session(ctx).terminal, shown.at
    if not delete and (yes or ends is not None):
        raise UsageError("--ends and --yes are of --delete, and without it nothing ends", hint="add --delete")
    with where.opened(at, terminal) as here:
        with terminal.busy("looking at the cloud"):
            found = orphans(here.site(), lineage or ())
        show_orphans(found, lineage or (), beside(terminal, quiet=shown.is_document))
        ended: tuple[str, ...] = ()
        count = sum(not o.kept for o in found)
        if delete and count:
            confirm(session(ctx), f"end {counted(count, 'machine')}?", yes=yes)
            ended = collect(here.site(), found, ChangeApproval(ends=ends))
            terminal.note(f"ending {counted(len(ended), 'machine')}")
    shown.tell(terminal, lambda: OrphansDocument.of({"orphans": found, "ended": ended}, at), lambda: None)
