"""``hcloud commit``: recommend, plan, apply, list, cancel and resolve commitments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.acting import Yes, confirm, is_unattended
from hcloud.cli.flags import CloudState, Configuration, WhichCloud
from hcloud.cli.groups import CloudFlags, Printed, Told, ToldAt, Verb
from hcloud.cli.main import session
from hcloud.errors import ConfirmationError, UsageError
from hcloud.units import cents, plain
from hcloud.usecases.asked import moment, seconds_named

if TYPE_CHECKING:
    from hcloud.live.buying.purchase import Approve
    from hcloud.model.holdings.live import Commitment
    from hcloud.model.holdings.purchase import PurchasePlan
    from hcloud.planning.purchases.gates import PurchaseApproval
    from hcloud.planning.purchases.leaving import WayOut
    from hcloud.readers.configuration.config import Loaded
    from hcloud.usecases.commitments.apply import Agree
    from hcloud.usecases.commitments.ground import CommitSelection

app = Verb("Reserved instances, savings plans and committed use: recommend, buy, list, cancel")

PlanFile = Annotated[Path | None, typer.Argument(help="A plan file (default: make a plan now).")]
Region = Annotated[str | None, typer.Option(help="The region, if a plan has several.")]


@dataclass(frozen=True)
class RecommendFlags:
    """What is asked, and where."""

    file: Configuration = None
    cloud: WhichCloud = None
    region: Region = None


@dataclass(frozen=True)
class CommitFlags(RecommendFlags):
    """The same with the ledger's place."""

    state: CloudState = None


@app.command()
def recommend(
    ctx: typer.Context,
    *,
    plan: PlanFile = None,
    where: RecommendFlags,
    shown: Printed,
) -> None:
    """Which commitments to buy and why; with --cloud minus existing ones. Buys nothing."""
    from hcloud.usecases.commitments.plan import recommend as find
    from hcloud.views.commitments.commit import show_recommendation
    from hcloud.views.commitments.documents import RecommendationDocument

    terminal, at = session(ctx).terminal, shown.at
    with terminal.busy("working out what to commit to"):
        found = find(_loaded(where.file), plan, _where(ctx, where.cloud, where.region, None), at)
    shown.tell_result(terminal, found, RecommendationDocument.of, show_recommendation)


@app.command("plan")
def plan_(
    ctx: typer.Context,
    *,
    out: Annotated[Path, typer.Option(help="Write the purchase plan to this file; 'commit recommend' needs none.")],
    plan: PlanFile = None,
    where: CommitFlags,
    later: Annotated[bool, typer.Option("--later", help="Also queue commitments that start later (AWS only).")] = False,
    max_plan_age: Annotated[str | None, typer.Option(help="Accept older plans, for example 14d.")] = None,
    max_price_age: Annotated[str | None, typer.Option(help="Accept older prices, for example 90d.")] = None,
    shown: ToldAt,
) -> None:
    """Compare with the account's commitments, get quotes, and write a purchase plan. Buys nothing."""
    from hcloud.store.purchase_file import purchase_document
    from hcloud.usecases.commitments.plan import PurchasePlanRequest, plan_purchases
    from hcloud.views.commitments.commit import show_left_out, show_planned

    terminal = session(ctx).terminal
    loaded = _allowing(_loaded(where.file), {"plan": max_plan_age, "price": max_price_age})
    with terminal.busy("asking for commitments and quotes"):
        found = plan_purchases(
            loaded, PurchasePlanRequest(plan, out, later), _where(ctx, where.cloud, where.region, where.state), shown.at
        )
    show_left_out(found, terminal)
    if shown.is_document:
        terminal.write_json(purchase_document(found.purchases))
    else:
        show_planned(found, str(out), terminal)


@app.command("apply")
def apply_(
    ctx: typer.Context,
    *,
    plan: Annotated[Path, typer.Argument(help="A purchase plan from 'hcloud commit plan'.")],
    where: CloudFlags,
    approve_commit: Annotated[str | None, typer.Option(help="Confirm with the digest of the purchase plan.")] = None,
    amount: Annotated[str | None, typer.Option(help="Confirm with the dollars that it commits.")] = None,
    shown: Told,
) -> None:
    """Buy a purchase plan, once: needs commitments.enabled, HYC_ALLOW_PURCHASE=1 and the amount typed in."""
    from hcloud.usecases.commitments.apply import apply_purchases
    from hcloud.views.commitments.commit import show_applied
    from hcloud.views.commitments.documents import PurchasedDocument

    terminal = session(ctx).terminal
    approve = _approval(ctx, approve_commit, amount)
    at = moment(None)
    found = apply_purchases(_loaded(where.file), plan, _where(ctx, where.cloud, None, where.state), approve, at)
    shown.tell(terminal, lambda: PurchasedDocument.of(found, at), lambda: show_applied(found, terminal))


@app.command("list")
def list_(
    ctx: typer.Context,
    *,
    where: CommitFlags,
    shown: Printed,
) -> None:
    """The ledger of purchases; with --cloud beside the account's commitments."""
    from hcloud.usecases.commitments.ground import list_commitments
    from hcloud.views.commitments.commit import show_holdings
    from hcloud.views.commitments.documents import HoldingsDocument

    terminal, at = session(ctx).terminal, shown.at
    with terminal.busy("reading ledger and cloud"):
        found = list_commitments(_loaded(where.file), _where(ctx, where.cloud, where.region, where.state), at)
    shown.tell_result(terminal, found, HoldingsDocument.of, show_holdings)


@app.command()
def cancel(
    ctx: typer.Context,
    *,
    commitment: Annotated[str, typer.Argument(help="The commitment's id, as 'hcloud commit list' shows it.")],
    where: CommitFlags,
    yes: Yes = False,
) -> None:
    """Return a commitment, or cancel a queued one, if the published terms allow it."""
    from hcloud.usecases.commitments.apply import cancel_commitment

    terminal = session(ctx).terminal
    selected = _where(ctx, where.cloud, where.region, where.state)
    found = cancel_commitment(_loaded(where.file), commitment, selected, _agreement(ctx, yes=yes), moment(None))
    terminal.show(f"given back: {found.id}")


@app.command()
def resolve(
    ctx: typer.Context,
    *,
    key: Annotated[
        str | None, typer.Argument(help="The key of a purchase (default: all with an unknown outcome).")
    ] = None,
    bought: Annotated[str | None, typer.Option(help="It was bought: the commitment's id.")] = None,
    not_bought: Annotated[bool, typer.Option("--not-bought", help="It was not bought.")] = False,
    where: CloudFlags,
) -> None:
    """Resolve purchases with an unknown outcome: check again, or state the outcome."""
    from hcloud.usecases.commitments.apply import Word
    from hcloud.usecases.commitments.apply import resolve as settle
    from hcloud.views.commitments.commit import show_resolved

    if (bought is not None and not_bought) or (key is None) != (bought is None and not not_bought):
        raise UsageError("a KEY goes with either --bought ID or --not-bought; without all three hcloud looks itself")
    word = Word(key, bought) if key is not None else None
    show_resolved(
        settle(_loaded(where.file), _where(ctx, where.cloud, None, where.state), word, moment(None)),
        session(ctx).terminal,
    )


def _loaded(file: Path | None) -> Loaded:
    from hcloud.readers.configuration.config import load_config

    return load_config(file)


def _where(ctx: typer.Context, cloud: str | None, region: str | None, state: str | None) -> CommitSelection:
    from hcloud.usecases.commitments.ground import CommitSelection

    return CommitSelection(cloud, region, state, session(ctx).terminal.note)


def _allowing(loaded: Loaded, ages: dict[str, str | None]) -> Loaded:
    """The configuration with the ages that flags allow."""
    given = ((f"max_{of}_age", f"--max-{of}-age", text) for of, text in ages.items() if text is not None)
    return loaded.changed(commitments={name: seconds_named(text, flag) for name, flag, text in given})


def _approval(ctx: typer.Context, digest: str | None, amount: str | None) -> Approve:
    """Ask a person to type the amount; take it from the command line where it says both what and how much."""

    def approve(plan: PurchasePlan) -> PurchaseApproval:
        from hcloud.planning.purchases.gates import PurchaseApproval
        from hcloud.views.commitments.commit import show_approval

        terminal = session(ctx).terminal
        show_approval(plan, terminal)
        if digest is not None and amount is not None:
            return PurchaseApproval(digest, amount)
        if digest is not None or amount is not None or is_unattended(session(ctx)):
            raise ConfirmationError(
                "a purchase needs its amount typed at a terminal, and there is none; nothing was bought",
                hint=f"--approve-commit {plan.digest} --amount {plain(cents(plan.amount))} approves exactly this",
            )
        typed = typer.prompt(
            "type the amount over the term in dollars to buy", default="", show_default=False, err=True
        )
        return PurchaseApproval(plan.digest, typed)

    return approve


def _agreement(ctx: typer.Context, *, yes: bool) -> Agree:
    from hcloud.views.commitments.commit import show_cancellable

    def agree(found: Commitment, way: WayOut) -> None:
        show_cancellable(found, way, session(ctx).terminal)
        confirm(session(ctx), "give it back?", yes=yes)

    return agree
