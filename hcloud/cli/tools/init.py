"""``hcloud init``: write a configuration to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.groups import Verb
from hcloud.cli.main import session

app = Verb()


@app.command()
def init(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Option("--dir", help="Where hcloud.yaml is written.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    workload: Annotated[str | None, typer.Option(help="A trace or history to plan for, or scenario:NAME.")] = None,
) -> None:
    """Write a commented hcloud.yaml to start from."""
    from hcloud.usecases.tools.init import write_config
    from hcloud.views.tools.setup import show_written

    path = write_config(directory, workload, force=force)
    show_written(path, has_workload=workload is not None, terminal=session(ctx).terminal)
