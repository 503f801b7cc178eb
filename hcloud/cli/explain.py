"""``hcloud explain``: why a plan chose what it chose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.main import session
from hcloud.errors import UsageError

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def explain(
    ctx: typer.Context,
    plan: Annotated[Path, typer.Argument(help="A plan file written with 'hcloud plan --out'.")],
    address: Annotated[
        str | None, typer.Argument(help="For example aws/us-east-1/m7i.4xlarge; everything without it.")
    ] = None,
) -> None:
    """Why a plan chose what it chose, and what each refused option would have cost."""
    from hcloud.store.plan_file import load_plan
    from hcloud.views.plan import show_explanation

    if not show_explanation(load_plan(plan), address, session(ctx).terminal):
        raise UsageError(
            f"{plan}: knows no {address}", hint=f"'hcloud explain {plan}' lists the addresses it knows about"
        )
