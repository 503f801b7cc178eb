"""``hcloud explain``: why a plan chose what it chose, or why a job of a journal went where it went."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.main import session
from hcloud.cli.options import moment
from hcloud.cli.plan import PlanFormat
from hcloud.errors import UsageError

if TYPE_CHECKING:
    from hcloud.views.console import Terminal

EXPLAINED = (
    "format_version",
    "tool_version",
    "generated_at",
    "currency",
    "mix",
    "reasons",
    "refusals",
    "assumptions",
    "operation",
)

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def explain(
    ctx: typer.Context,
    plan: Annotated[
        Path, typer.Argument(help="A plan file written with 'hcloud plan --out', or with --job a journal.")
    ],
    address: Annotated[
        str | None, typer.Argument(help="For example aws/us-east-1/m7i.4xlarge; everything without it.")
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="A job of a journal: why it went there, and what was refused.")
    ] = None,
    output: Annotated[PlanFormat, typer.Option("--output", "-o", help="What to print.")] = PlanFormat.TABLE,
    json_: Annotated[bool, typer.Option("--json", help="The same as -o json.")] = False,
) -> None:
    """Why a plan chose what it chose, and what each refused option would have cost."""
    if job is not None:
        _explain_job(session(ctx).terminal, plan, job, as_json=json_ or output is PlanFormat.JSON)
        return
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
        terminal.write_json({name: part[name] for name in EXPLAINED if name in part})
    elif output is PlanFormat.HTML:
        from hcloud.cli.page import html_of

        terminal.write(html_of(stored))
    elif output is PlanFormat.MD:
        terminal.write(markdown_explanation(stored, address))
    else:
        show_explanation(stored, address, terminal)


def _explain_job(terminal: Terminal, journal: Path, job: str, *, as_json: bool) -> None:
    from hcloud.usecases.explain_job import explain_job
    from hcloud.views.decision import show_story, story_document

    with terminal.busy(f"replaying {journal}"):
        story = explain_job(journal, job)
    if as_json:
        terminal.write_json(story_document(story, moment(None)))
    else:
        show_story(story, terminal)
