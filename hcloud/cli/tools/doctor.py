"""``hcloud doctor``: check this installation."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.acting import StatePlace, WhichCloud, ground
from hcloud.cli.flags import Configuration
from hcloud.cli.main import session
from hcloud.cli.options import Output, moment

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def doctor(
    ctx: typer.Context,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to print.")] = Output.TABLE,
    json_: Annotated[bool, typer.Option("--json", help="The same as -o json.")] = False,
    needed: Annotated[
        list[str] | None, typer.Option("--require", help="Fail unless this extra is installed: aws, gcp, azure, fake.")
    ] = None,
    file: Configuration = None,
    cloud: WhichCloud = None,
    state: StatePlace = None,
    now: Annotated[str | None, typer.Option(help="The time ages are counted to (ISO 8601).")] = None,
) -> None:
    """Check this installation: versions, extras, name clashes, where things are; exit 1 where something is broken.

    With --cloud also the cloud: credentials, permissions, quotas, clock, prices, and what each missing one disables.
    """
    from hcloud.usecases.extras import require
    from hcloud.usecases.tools.checks import failed
    from hcloud.usecases.tools.doctor import examine
    from hcloud.views.tools.setup import show_checks

    require(needed or ())
    terminal, at = session(ctx).terminal, moment(now)
    checks = examine(at.date())
    if cloud is not None:
        from hcloud.usecases.tools.doctor_cloud import examine_cloud

        with terminal.busy("asking the cloud"), ground(file, cloud, state, at) as here:
            checks = (*checks, *examine_cloud(here))
    if json_ or output is Output.JSON:
        from hcloud.views.tools.documents import ChecksDocument

        terminal.write_json(ChecksDocument.of({"checks": checks}, at))
    else:
        show_checks(checks, terminal)
    if failed(checks):
        raise typer.Exit(1)
