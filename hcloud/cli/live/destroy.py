"""``hcloud destroy``: end everything that a state holds."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.acting import Ends, StatePlace, WhichCloud, Yes, ask_number, beside, ground, stopping, told
from hcloud.cli.flags import AsJson, Configuration, Now
from hcloud.cli.main import session
from hcloud.cli.options import Output, moment

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def destroy(
    ctx: typer.Context,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    yes: Yes = False,
    ends: Ends = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to print.")] = Output.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """Terminate every machine of this state, and nothing else; commitments stay.

    State the number of machines: --ends 12.
    """
    from hcloud.usecases.live.apply import end_all, ending
    from hcloud.views.live.change import show_changes, show_outcome

    terminal, at = session(ctx).terminal, moment(now)
    with ground(file, cloud, state, at) as here:
        with terminal.busy("looking at the cloud"):
            found = ending(here, lambda step: terminal.note(step.text) if step.at_once else None)
        quiet = json_ or output is Output.JSON
        show_changes(found, beside(terminal, quiet=quiet))
        if found.to_do:
            ends = ask_number(session(ctx), len(found.going), ends, yes=yes)
        with stopping(terminal) as stop, told(terminal, "ending", len(found.going)) as progress:
            outcome = end_all(here, found, ends, progress, stop)
        if quiet:
            from hcloud.views.live.documents import OutcomeDocument

            terminal.write_json(OutcomeDocument.of(outcome, at))
        else:
            show_outcome(outcome, terminal)
        code = stop.exit_code if stop.signal else outcome.exit_code
    if code:
        raise typer.Exit(code)
