"""``hcloud explain``: why a plan chose what it chose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.main import session
from hcloud.cli.plan import PlanFormat
from hcloud.errors import UsageError

EXPLAINED = ("format_version", "tool_version", "generated_at", "currency", "mix", "reasons", "refusals", "assumptions")

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def explain(
    ctx: typer.Context,
    plan: Annotated[Path, typer.Argument(help="A plan file written with 'hcloud plan --out'.")],
    address: Annotated[
        str | None, typer.Argument(help="For example aws/us-east-1/m7i.4xlarge; everything without it.")
    ] = None,
    output: Annotated[PlanFormat, typer.Option("--output", "-o", help="What to print.")] = PlanFormat.TABLE,
    json_: Annotated[bool, typer.Option("--json", help="The same as -o json.")] = False,
) -> None:
    """Why a plan chose what it chose, and what each refused option would have cost."""
    from hcloud.store.plan_file import load_plan, plan_document
    from hcloud.views.plan import explained, markdown_explanation, show_explanation

    terminal, stored = session(ctx).terminal, load_plan(plan)
    lines, refused = explained(stored, address)
    if not lines and not refused:
        raise UsageError(
            f"{plan}: knows no {address}", hint=f"'hcloud explain {plan}' lists the addresses it knows about"
        )
    if json_ or output is PlanFormat.JSON:
        part = plan_document(replace(stored, mix=tuple(lines), refusals=tuple(refused)))
        kept = (
            "format_version",
            "tool_version",
            "generated_at",
            "currency",
            "mix",
            "reasons",
            "refusals",
            "assumptions",
        )
        terminal.write_json({name: part[name] for name in kept})
    elif output is PlanFormat.MD:
        terminal.write(markdown_explanation(stored, address))
    else:
        show_explanation(stored, address, terminal)
