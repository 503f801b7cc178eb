"""``hcloud recover``: rebuild a state."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from hcloud.cli.acting import Yes, confirm, told
from hcloud.cli.flags import Now
from hcloud.cli.groups import CloudFlags, Verb
from hcloud.cli.main import session
from hcloud.usecases.asked import moment

app = Verb()


@app.command()
def recover(
    ctx: typer.Context,
    *,
    where: CloudFlags,
    lineage: Annotated[str | None, typer.Option(help="The lineage, if several states are possible.")] = None,
    yes: Yes = False,
    now: Now = None,
) -> None:
    """Rebuild a lost or damaged state from the tags of the machines and from what can still be read of it.

    Where a part of the journal cannot be read, five minutes pass first: a machine that was asked for may not be listed
    yet. The damaged file is kept beside.
    """
    from hcloud.live.recover import put_back, rebuild
    from hcloud.planning.changes.standing import GRACE
    from hcloud.views.live.standing import show_found

    terminal = session(ctx).terminal
    with where.opened(moment(now), terminal) as here:
        with told(terminal, "looking for what lists show late", int(GRACE.total_seconds())) as progress:
            found = rebuild(replace(here.site(), progress=progress), here.store, lineage)
        show_found(found, terminal)
        confirm(session(ctx), "write this state?", yes=yes)
        written = put_back(here.store, found)
    terminal.note(f"state {written.lineage[:8]} written with serial {written.serial}; hcloud plan shows what is left")
