"""``hcloud doctor``: check this installation."""

from __future__ import annotations

from typing import Annotated

import typer

from hcloud.cli.groups import CloudFlags, Shown, Verb
from hcloud.cli.main import session
from hcloud.usecases.asked import moment

app = Verb()


@app.command()
def doctor(
    ctx: typer.Context,
    *,
    shown: Shown,
    needed: Annotated[
        list[str] | None, typer.Option("--require", help="Fail unless this extra is installed: aws, gcp, azure, fake.")
    ] = None,
    where: CloudFlags,
    now: Annotated[str | None, typer.Option(help="Use this as the current time (ISO 8601).")] = None,
) -> None:
    """Check this installation: versions, extras, name clashes, paths; exit 1 if something is broken.

    With --cloud also credentials, permissions, quotas, clock and prices, and what fails without each.
    """
    from hcloud.model.checks import failed
    from hcloud.usecases.extras import require
    from hcloud.usecases.tools.doctor import examine
    from hcloud.views.tools.documents import ChecksDocument
    from hcloud.views.tools.setup import show_checks

    require(needed or ())
    terminal, at = session(ctx).terminal, moment(now)
    checks = examine(at.date())
    if where.cloud is not None:
        from hcloud.usecases.tools.doctor import examine_cloud

        with terminal.busy("asking the cloud"), where.opened(at, terminal) as here:
            checks = (*checks, *examine_cloud(here))
    shown.tell(terminal, lambda: ChecksDocument.of(checks, at), lambda: show_checks(checks, terminal))
    if failed(checks):
        raise typer.Exit(1)
