"""``hcloud policy``: whether a plan keeps the rules it has to keep."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.flags import AsJson, Now
from hcloud.cli.main import session
from hcloud.usecases.asked import moment

app = typer.Typer(
    help="Check a plan against your rules: check",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class VerdictFormat(StrEnum):
    """How a verdict is printed."""

    TABLE = "table"
    JSON = "json"
    MD = "md"
    JUNIT = "junit"
    CSV = "csv"


@app.callback()
def root() -> None:
    """Whether a plan keeps the rules it has to keep."""


@app.command()
def check(
    ctx: typer.Context,
    plan: Annotated[Path, typer.Argument(help="A plan file written with 'hcloud plan --out'.")],
    rules: Annotated[Path, typer.Option("--rules", help="The rules, see docs/guides/plan.md.")] = Path("rules.yaml"),
    base: Annotated[
        Path | None, typer.Option("--base", help="The earlier plan file, for rules on increases; - if there is none.")
    ] = None,
    base_missing_ok: Annotated[
        bool, typer.Option("--base-missing-ok", help="Treat a missing --base as no plan.")
    ] = False,
    output: Annotated[VerdictFormat, typer.Option("--output", "-o", help="What to print.")] = VerdictFormat.TABLE,
    json_: AsJson = False,
    junit: Annotated[Path | None, typer.Option("--junit", help="Also write a JUnit report to this file.")] = None,
    now: Now = None,
) -> None:
    """Check a plan against rules: budgets, places, types, commitments, quality, prices.

    Exit 3 if a rule denies the plan, 9 if the plan lacks data to check a rule.
    """
    from hcloud.usecases.deciding.policy_check import PlanBefore, policy_check

    terminal, at = session(ctx).terminal, moment(now)
    found = policy_check(plan, rules, at.date(), PlanBefore(base, base_missing_ok))
    wanted = VerdictFormat.JSON if json_ else output
    if wanted is VerdictFormat.JSON:
        from hcloud.store.diff_codec import verdict_document

        terminal.write_json(verdict_document(found, at))
    elif wanted is VerdictFormat.CSV:
        from hcloud.store.diff_codec import verdict_document, verdict_schema
        from hcloud.views.document import stored_content
        from hcloud.views.rows import csv_of

        terminal.write(csv_of(stored_content(verdict_document(found, at), verdict_schema)))
    else:
        from hcloud.views.deciding import gate as view

        if wanted is VerdictFormat.MD:
            terminal.write(view.markdown_verdict(found))
        elif wanted is VerdictFormat.JUNIT:
            terminal.write(view.junit_report(found, at))
        else:
            view.show_verdict(found, terminal)
    if junit is not None:
        from hcloud.views.deciding.gate import junit_report

        _write_report(junit, junit_report(found, at))
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _write_report(path: Path, text: str) -> None:
    """Write a report where none of another kind stands; InputError where it cannot be written."""
    from hcloud.errors import InputError
    from hcloud.store.files.looked_at import check_place
    from hcloud.store.files.whole import write_whole

    if not path.parent.is_dir():
        raise InputError(f"--junit {path}: the directory {path.parent} does not exist")
    check_place(path, "a report")
    if path.exists() and b"<testsuites" not in path.read_bytes()[:200]:
        raise InputError(f"--junit {path}: exists and is no JUnit report; it is not overwritten")
    write_whole(path, [text])
