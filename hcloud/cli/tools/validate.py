"""``hcloud validate``: check a configuration and everything it names, or print the schema it has to follow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.groups import Shown, Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError
from hcloud.usecases.asked import moment

app = Verb()


@app.command()
def validate(
    ctx: typer.Context,
    *,
    file: Annotated[Path | None, typer.Argument(help="Configuration file (default: ./hcloud.yaml).")] = None,
    option_file: Annotated[Path | None, typer.Option("--file", "-f", "-c", help="The same as FILE.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of hcloud.yaml instead.")] = False,
    shown: Shown,
    now: Annotated[str | None, typer.Option(help="Use this as the current time (ISO 8601).")] = None,
) -> None:
    """Check a configuration and the files it names; exit 1 if anything is wrong."""
    from hcloud.model.checks import failed
    from hcloud.usecases.tools.validate import validate as check
    from hcloud.views.tools.documents import ChecksDocument
    from hcloud.views.tools.setup import show_checks

    terminal, at = session(ctx).terminal, moment(now)
    if schema:
        from hcloud.readers.configuration.config import config_schema

        terminal.write_json(config_schema())
        return
    if file is not None and option_file is not None:
        raise UsageError("give the configuration once: as FILE or with --file")
    with terminal.progress("reading the workload", 1.0) as advance:
        checks = check(file or option_file, at, advance)
    shown.tell(terminal, lambda: ChecksDocument.of(checks, at), lambda: show_checks(checks, terminal))
    if failed(checks):
        raise typer.Exit(1)
