"""``hcloud iam``: the permissions that hcloud's requests need."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.flags import Configuration
from hcloud.cli.groups import Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError

app = Verb("The minimal permissions for one plan, as a policy or role for its cloud.")


@app.command("print")
def print_(
    ctx: typer.Context,
    plan: Annotated[Path | None, typer.Argument(help="A plan with changes (hcloud plan --cloud ... --out).")] = None,
    cloud: Annotated[str | None, typer.Option(help="Without a plan: aws, gcp or azure.")] = None,
    region: Annotated[str, typer.Option(help="Without a plan: the region.")] = "*",
    account: Annotated[str, typer.Option(help="Without a plan: account, project or subscription.")] = "*",
    purposes: Annotated[
        list[str] | None,
        typer.Option("--for", help="read, launch, terminate, profile, commitments, buy, cancel, fetch; repeatable."),
    ] = None,
    file: Configuration = None,
    reasons: Annotated[bool, typer.Option("--reasons", help="Also show the reason for each.")] = False,
) -> None:
    """Print the minimal policy for one plan; it grants purchases only with --for buy."""
    from hcloud.model.holdings.live import Scope
    from hcloud.readers.configuration.config import load_config
    from hcloud.store.plan_file import load_changes
    from hcloud.usecases.tools import iam as usecase

    loaded = load_config(file)
    template = None
    if plan is not None:
        changes = load_changes(plan)
        template = changes.template
        wanted = purposes or list(usecase.purposes_of(changes))
        scope, lineage = changes.base.scope, changes.base.lineage
    elif cloud is None:
        raise UsageError("nothing to grant permissions for", hint="hcloud iam print PLAN.json, or --cloud aws")
    else:
        wanted = purposes or ["read", "launch", "terminate"]
        scope, lineage = Scope(cloud, account, region), "*"
    made = usecase.settings_planned(template, scope) if template else usecase.settings_made(loaded, scope.cloud)
    grant = usecase.granted(scope, lineage, wanted, made)
    terminal = session(ctx).terminal
    if reasons:
        for name, why in usecase.reasons(grant):
            terminal.note(f"{name}: {why}")
    for limit in usecase.limits(grant):
        terminal.note(limit)
    terminal.write_json(usecase.policy_document(grant))
