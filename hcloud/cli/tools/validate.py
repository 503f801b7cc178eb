"""``hcloud validate``: check a configuration and everything it names, or print the schema it has to follow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.main import session
from hcloud.cli.options import Output, moment
from hcloud.errors import UsageError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def validate(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="The configuration, else ./hcloud.yaml.")] = None,
    option_file: Annotated[Path | None, typer.Option("--file", "-f", "-c", help="The same as FILE.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of hcloud.yaml instead.")] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to print.")] = Output.TABLE,
    json_: Annotated[bool, typer.Option("--json", help="The same as -o json.")] = False,
    now: Annotated[str | None, typer.Option(help="The time prices are judged at (ISO 8601).")] = None,
) -> None:
    """Check a configuration and everything it points to; exit 1 where anything is wrong."""
    from hcloud.usecases.tools.checks import failed
    from hcloud.usecases.tools.validate import validate as check
    from hcloud.views.tools.setup import show_checks

    terminal, at = session(ctx).terminal, moment(now)
    if schema:
        from hcloud.usecases.tools.config_schema import config_schema

        terminal.write_json(config_schema())
        return
    if file is not None and option_file is not None:
        raise UsageError("give the configuration once: as FILE or with --file")
    with terminal.progress("reading the workload", 1.0) as advance:
        checks = check(file or option_file, at, advance)
    if json_ or output is Output.JSON:
        from hcloud.views.tools.documents import ChecksDocument

        terminal.write_json(ChecksDocument.of({"checks": checks}, at))
    else:
        show_checks(checks, terminal)
    if failed(checks):
        raise typer.Exit(1)
