"""``hcloud policy``: whether a plan keeps the rules it has to keep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from hcloud.cli.flags import OUTPUT
from hcloud.cli.groups import FormAndTime, Verb
from hcloud.cli.main import session
from hcloud.errors import InputError

app = Verb("Check a plan against your rules: check")


@dataclass(frozen=True)
class VerdictPrinted(FormAndTime):
    """How a verdict is printed, and the time it is reached at."""

    output: Annotated[Literal["table", "json", "md", "junit", "csv"], OUTPUT] = "table"


@app.command()
def check(
    ctx: typer.Context,
    *,
    plan: Annotated[Path, typer.Argument(help="A plan file written with 'hcloud plan --out'.")],
    rules: Annotated[Path, typer.Option("--rules", help="The rules, see docs/guides/plan.md.")] = Path("rules.yaml"),
    base: Annotated[
        Path | None, typer.Option("--base", help="The earlier plan file, for rules on increases; - if there is none.")
    ] = None,
    base_missing_ok: Annotated[
        bool, typer.Option("--base-missing-ok", help="Treat a missing --base as no plan.")
    ] = False,
    shown: VerdictPrinted,
    junit: Annotated[Path | None, typer.Option("--junit", help="Also write a JUnit report to this file.")] = None,
) -> None:
    """Check a plan against rules: budgets, places, types, commitments, quality, prices.

    Exit 3 if a rule denies the plan, 9 if the plan lacks data to check a rule.
    """
    from hcloud.store.diff_codec import verdict_document, verdict_schema
    from hcloud.usecases.deciding.policy_check import PlanBefore, policy_check
    from hcloud.views.deciding.gate import junit_report, markdown_verdict, show_verdict
    from hcloud.views.document import stored_content

    terminal, at = session(ctx).terminal, shown.at
    found = policy_check(plan, rules, at.date(), PlanBefore(base, base_missing_ok))
    shown.tell(
        terminal,
        lambda: stored_content(verdict_document(found, at), verdict_schema),
        lambda: show_verdict(found, terminal),
        md=lambda: markdown_verdict(found),
        junit=lambda: junit_report(found, at),
    )
    if junit is not None:
        _write_report(junit, junit_report(found, at))
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _write_report(path: Path, text: str) -> None:
    """Write a report where none of another kind stands; InputError where it cannot be written."""
    from hcloud.store.files.looked_at import check_form, check_place
    from hcloud.store.files.whole import write_whole

    check_form(path, "a JUnit report", ".xml")
    check_place(path, "a report")
    if path.exists() and b"<testsuites" not in path.read_bytes()[:200]:
        raise InputError(f"--junit {path}: exists and is no JUnit report; it is not overwritten")
    write_whole(path, [text])
