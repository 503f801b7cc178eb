"""``hcloud destroy``: end everything that a state holds."""

from __future__ import annotations

import typer

from hcloud.cli.acting import DryRun, Ends, Yes, ask_number, beside, carried_out, told_only
from hcloud.cli.groups import CloudFlags, ToldAt, Verb
from hcloud.cli.main import session

app = Verb()


@app.command()
def destroy(
    ctx: typer.Context,
    *,
    where: CloudFlags,
    yes: Yes = False,
    ends: Ends = None,
    dry_run: DryRun = False,
    shown: ToldAt,
) -> None:
    """Terminate every machine of this state and nothing else; commitments stay.

    State the number of machines: --ends 12.
    """
    from hcloud.usecases.live.apply import check_ending, end_all, ending
    from hcloud.views.live.change import show_changes

    terminal = session(ctx).terminal
    with where.opened(shown.at, terminal) as here:
        with terminal.busy("looking at the cloud"):
            found = ending(here, lambda step: terminal.note(step.text) if step.at_once else None)
        if dry_run:
            told_only(terminal, shown, found)
            check_ending(here, found, ends)
            if ends is None and found.going:
                terminal.note(f"destroy asks for the number of machines, or takes it as --ends {len(found.going)}")
            return
        show_changes(found, beside(terminal, quiet=shown.is_document))
        if found.to_do:
            ends = ask_number(session(ctx), len(found.going), ends, yes=yes)
        carried_out(
            terminal, shown, ("ending", len(found.going)), lambda told, stop: end_all(here, found, ends, told, stop)
        )
