"""``hcloud apply``: carry out what was shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.acting import DryRun, Ends, Yes, beside, carried_out, confirm, told_only
from hcloud.cli.groups import CloudFlags, ToldAt, Verb
from hcloud.cli.main import session
from hcloud.errors import DeniedByGuardError, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from hcloud.model.holdings.change import ChangeSet
    from hcloud.usecases.live.ground import LiveGround
    from hcloud.usecases.live.places import CloudSelection

app = Verb()


@app.command()
def apply(
    ctx: typer.Context,
    *,
    plan: Annotated[
        Path | None, typer.Argument(help="A plan made with --cloud (default: make one and show it first).")
    ] = None,
    where: CloudFlags,
    yes: Yes = False,
    ends: Ends = None,
    dry_run: DryRun = False,
    resume: Annotated[bool, typer.Option("--resume", help="Finish a plan that was interrupted.")] = False,
    shown: ToldAt,
) -> None:
    """Launch and terminate machines exactly as a plan shows; never buys a commitment.

    Each request is saved before it is sent, so the next run continues one that was killed. Ctrl-C once ends
    cleanly, twice at once.
    """
    from hcloud.usecases.live.apply import carry_out, check_as_begun
    from hcloud.views.live.change import show_changes

    terminal, at = session(ctx).terminal, shown.at
    if resume and plan is None:
        raise UsageError(
            "--resume finishes a plan that was interrupted, and none is named",
            hint="name its file; without --resume, apply goes on to what hcloud.yaml says now",
        )
    with where.opened(at, terminal, _selected(where, plan)) as here:
        with terminal.busy("planning" if plan is None else "looking at the cloud"):
            found = _changes(here, plan, resume=resume, at=at)
        if dry_run:
            told_only(terminal, shown, found)
            check_as_begun(here, found, ends)
            return
        show_changes(found, beside(terminal, quiet=shown.is_document))
        if found.to_do:
            confirm(session(ctx), "apply these changes?", yes=yes)
        carried_out(
            terminal,
            shown,
            ("applying", found.coming + len(found.going)),
            lambda told, stop: carry_out(here, found, ends, told, stop),
        )


def _changes(here: LiveGround, plan: Path | None, *, resume: bool, at: datetime) -> ChangeSet:
    from hcloud.store.plan_file import load_changes
    from hcloud.usecases.live.apply import check_applicable, resumed

    if plan is None:
        from hcloud.usecases.deciding.live_plan import plan_live

        made = plan_live(here, at)
        if made.plan is not None and made.plan.operation is not None and made.plan.operation.is_missed:
            raise DeniedByGuardError(
                "no simulated strategy keeps operation.qos and operation.budget: nothing was applied",
                hint="'hcloud plan' shows the cheapest, the best and the knee; change the target, or apply a plan file",
            )
        return made.changes
    found = load_changes(plan)
    if not resume:
        check_applicable(here, found)
    return resumed(here, found) if resume else found


def _selected(where: CloudFlags, plan: Path | None) -> CloudSelection:
    """The cloud that is named, refused where the plan was made for another one; else the one it was made for."""
    from hcloud.planning.changes.slots import CloudRegion
    from hcloud.readers.configuration.config import load_config
    from hcloud.store.plan_file import load_changes
    from hcloud.usecases.live.places import CloudSelection, selected_for

    if plan is None:
        return where.selection()
    loaded = load_config(where.file)
    scope = load_changes(plan, where.cloud or loaded.config.live.cloud).base.scope
    cloud = selected_for(loaded, where.cloud, scope)
    return CloudSelection(cloud, where.state, CloudRegion(scope.cloud, scope.region))
