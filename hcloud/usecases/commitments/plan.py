"""``hcloud commit recommend`` and ``plan``: from what a plan wants to a purchase plan at the cloud's own quotes; buys
nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import starmap
from pathlib import Path

from hcloud import __version__
from hcloud.errors import EvidenceError, PartialError, StaleError, UsageError
from hcloud.model.catalog import refresh_command
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import CommitmentQuote, Scope
from hcloud.model.holdings.purchase import CommitmentNeed
from hcloud.model.plans.plan import Plan
from hcloud.planning.fleets.history import said_of_history
from hcloud.planning.purchases.answers import PlannedPurchases, Recommendation
from hcloud.planning.purchases.gates import CLOCK_SKEW, check_against_plan, moved, repriced
from hcloud.planning.purchases.purchase import (
    AccountHoldings,
    PurchaseBasis,
    begins_later,
    bought_for_others,
    expiring,
    orders,
    purchase_plan,
    said_of_sizes,
    still_to_buy,
    unplanned,
)
from hcloud.planning.purchases.reconciled import reconciled, said_of_parts, with_licences
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.configuration.live_sections import CommitmentsSection
from hcloud.readers.exit_terms import exit_terms
from hcloud.store.plan_file import load_plan, plan_document
from hcloud.store.purchase_file import check_target, save_purchase_plan, sealed
from hcloud.units import counted, format_span
from hcloud.usecases.commitments.ground import CommitGround, CommitSelection, opened, place_in
from hcloud.usecases.deciding.billed.licences import as_bought
from hcloud.usecases.live.held import bought_since, with_held


def plan_of(loaded: Loaded, file: Path | None, where: CommitSelection, at: datetime) -> Plan:
    """The plan in a file, else one made from the configuration now, with what the cloud holds used up first."""
    if file is not None:
        return load_plan(file)
    from hcloud.usecases.deciding.make import make_plan

    if where.cloud_in(loaded) is None:
        return make_plan(loaded, at).plan
    with opened(loaded, where, None, at) as ground:
        there, said = with_held(ground.here, at)
        since = partial(bought_since, ground.here, at)
        plan = make_plan(replace(loaded, config=there.config), at, since=since).plan
    return replace(plan, warnings=(*plan.warnings, *said))


def _account(plan: Plan, ground: CommitGround) -> AccountHoldings:
    """What the cloud says is held now, with what of it was bought for other kinds of machines than the plan's."""
    scope, held = ground.live.ask(ground.cloud.scope), ground.live.ask(ground.cloud.commitments)
    book, bought_at = ground.here.book, (line.address for line in plan.purchases)
    others = bought_for_others(bought_at, ground.live.history(), book.types, held)
    return AccountHoldings(held, scope, others, book.types, book)


def recommend(loaded: Loaded, file: Path | None, where: CommitSelection, at: datetime) -> Recommendation:
    """What to commit to; a cloud is asked (and only asked) where one is named."""
    plan = as_bought(plan_of(loaded, file, where, at), loaded, at.date())
    account = AccountHoldings()
    if where.cloud_in(loaded) is not None:
        with opened(loaded, where, place_in(plan, loaded, where), at) as ground:
            account = _account(plan, ground)
    scope, held = account.scope, account.held
    needs = tuple(n for n in still_to_buy(plan, account, at) if scope is None or _is_in(n, scope))
    terms = exit_terms()
    return Recommendation(
        plan=plan,
        needs=needs,
        ways_out=tuple(terms.get((n.wanted.cloud, n.wanted.option)) for n in needs),
        scope=scope,
        expiring=expiring(held, at),
        unplanned=unplanned(plan, account, at),
        warnings=(
            *said_of_history(plan.history),
            *said_of_parts(needs, account.book),
            *_warnings(loaded, plan, needs, at),
            *said_of_sizes(needs, account, at),
        ),
    )


def _warnings(loaded: Loaded, plan: Plan, needs: tuple[CommitmentNeed, ...], at: datetime) -> list[str]:
    section, found = loaded.config.commitments, list[str]()
    days = (at.date() - plan.price_day).days
    if days * 86_400 > section.max_price_age:
        found.append(
            f"the oldest price is {counted(days, 'day')} old; 'hcloud commit plan' accepts prices at"
            f" most {counted(section.max_price_age // 86_400, 'day')}"
        )
    if derived := sorted({n.wanted.address for n in needs if n.wanted.derived}):
        found.append(f"derived, not published: the price of {', '.join(derived[:3])}")
    if other := sorted({n.wanted.address for n in needs if n.missing and n.by_hand}):
        found.append(f"hcloud does not buy {', '.join(other[:3])}: buy those in the cloud's console")
    return found


@dataclass(frozen=True, slots=True)
class PurchasePlanRequest:
    """Where the plan is and where the purchase plan goes; ``later`` says that purchases that begin later are queued
    now."""

    plan: Path | None
    out: Path
    later: bool = False


def plan_purchases(
    loaded: Loaded, asked: PurchasePlanRequest, where: CommitSelection, at: datetime
) -> PlannedPurchases:
    """Ask the cloud what is held and what the rest costs, and write a purchase plan of it.

    Raises StaleError for an old plan, EvidenceError for old or unbelievable prices, PartialError while it is unknown
    whether something was bought before.
    """
    check_target(asked.out)
    plan = plan_of(loaded, asked.plan, where, at)
    check_age(plan, loaded.config.commitments, at)
    with opened(loaded, where, place_in(plan, loaded, where), at) as ground:
        return _planned(plan, asked, ground, at)


def _planned(plan: Plan, asked: PurchasePlanRequest, ground: CommitGround, at: datetime) -> PlannedPurchases:
    _check_settled(ground)
    account, bare = _account(plan, ground), as_bought(plan, ground.loaded, at.date())
    scope, held = ground.live.ask(ground.cloud.scope), tuple(account.held)
    needs = still_to_buy(bare, account, at)
    here = tuple(n for n in needs if _is_in(n, scope))
    elsewhere = tuple(sorted({f"{n.wanted.cloud} {n.wanted.region}" for n in needs if not _is_in(n, scope)}))
    missing = [n for n in here if n.missing]
    by_hand = tuple(n for n in missing if n.by_hand)
    coming = tuple(n for n in missing if begins_later(n.wanted, at) and not n.by_hand)
    if asked.later:
        _check_queues(coming)
    later = () if asked.later else coming
    chosen = [n for n in missing if n not in (*by_hand, *later)]
    basis = _basis(plan, ground, scope, at, begun=bool(chosen))
    sold = quoted(chosen, basis, ground)
    found = sealed(purchase_plan(sold, held, basis))
    warned = (*said_of_parts(here, account.book), *said_of_sizes(here, account, at))
    if found.items:
        save_purchase_plan(found, asked.out)
        warned += (
            *said_of_history(plan.history),
            *filter(None, starmap(moved, sold)),
            *repriced(bare, ground.here.book),
        )
    left = {"begins later": later, "bought in the cloud's console": by_hand}
    way = with_licences(plan, reconciled(bare, here, left, found.items, at))
    standing = expiring(held, at), unplanned(plan, account, at)
    return PlannedPurchases(found, later, by_hand, elsewhere, *standing, way, warned)


def _check_queues(needs: tuple[CommitmentNeed, ...]) -> None:
    if clouds := {n.wanted.cloud for n in needs if not CLOUDS[n.wanted.cloud].queues}:
        raise UsageError(
            f"{' and '.join(sorted(clouds))} takes no purchase for a later day",
            hint="leave --later out, and plan again on that day",
        )


def check_age(plan: Plan, section: CommitmentsSection, at: datetime) -> None:
    """Refuse a plan that is too old (or from the future), or was made with prices that are."""
    age = at - plan.generated_at
    if not -CLOCK_SKEW <= age <= timedelta(seconds=section.max_plan_age):
        raise StaleError(
            f"the plan was made at {plan.generated_at:%Y-%m-%d %H:%M} UTC; commitments.max_plan_age allows"
            f" {format_span(section.max_plan_age)}",
            hint="make a new one with 'hcloud plan --out FILE', or allow it with --max-plan-age",
        )
    days = (at.date() - plan.price_day).days
    if days * 86_400 > section.max_price_age:
        oldest = (refresh_command(m.provider, m.region) for m in plan.mix if m.price_day == plan.price_day)
        raise EvidenceError(
            f"the oldest price that the plan needs is {counted(days, 'day')} old; commitments.max_price_age allows"
            f" {counted(section.max_price_age // 86_400, 'day')}",
            hint=f"refresh it with '{next(oldest, 'hcloud pricing refresh')}' and plan again, or allow it with"
            " --max-price-age",
        )


def _check_settled(ground: CommitGround) -> None:
    if unknown := ground.live.history().open:
        keys = ", ".join(p.intent.key for p in unknown)
        raise PartialError(
            f"it is unknown whether {keys} was bought: nothing is planned on top of it",
            hint="'hcloud commit resolve' looks it up",
        )


def _is_in(need: CommitmentNeed, scope: Scope) -> bool:
    return (need.wanted.cloud, need.wanted.region) == (scope.cloud, scope.region)


def _basis(plan: Plan, ground: CommitGround, scope: Scope, at: datetime, *, begun: bool) -> PurchaseBasis:
    lineage = ground.ledger.lineage()
    if begun:
        with ground.ledger.held("commit plan"):
            lineage = ground.ledger.begin()
    return PurchaseBasis(
        lineage=lineage,
        scope=scope,
        plan=hashlib.sha256(json.dumps(plan_document(plan), sort_keys=True).encode()).hexdigest(),
        at=at,
        valid_for=timedelta(seconds=ground.loaded.config.commitments.valid_for),
        recorded=ground.live.history().recorded_beside(""),
        tool_version=__version__,
    )


def quoted(
    needs: Iterable[CommitmentNeed], basis: PurchaseBasis, ground: CommitGround
) -> list[tuple[CommitmentNeed, CommitmentQuote]]:
    """Each need that is not met with the cloud's quote for it; EvidenceError for one that is not to be believed."""
    found = []
    for need, order in orders(needs, basis):
        quote = ground.live.ask(partial(ground.cloud.quote, order))
        check_against_plan(need, quote)
        found.append((need, quote))
    return found
