"""Buys what a purchase plan says, once: every gate in its order, every purchase noted before and after the call.

The only module of hcloud that calls ``Commitments.buy``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import NoReturn, Protocol, TypeVar

from hcloud.control.ports import Clock, Commitments, Crash, Tell, never, silent
from hcloud.errors import (
    CloudError,
    DeniedByGuardError,
    HcloudError,
    MismatchError,
    PartialError,
    StaleError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.live.patience import Patience, RetryLimits
from hcloud.model.holdings.live import Commitment
from hcloud.model.holdings.purchase import (
    Entry,
    PurchaseConclusion,
    Purchased,
    PurchaseIntent,
    PurchaseItem,
    PurchaseOutcome,
    PurchasePlan,
    snapshot,
    takes_key,
)
from hcloud.planning.purchases.gates import (
    PurchaseApproval,
    check_approval,
    check_ceiling,
    check_fresh,
    check_items,
    check_quote,
    check_still_held,
)
from hcloud.planning.purchases.history import PurchaseHistory, history
from hcloud.planning.purchases.unknown import PurchaseJudgement, PurchaseVerdict, judge, may_resend

VARIABLE = "HYC_ALLOW_PURCHASE"
LOOK_AFTER_SECONDS = (0.0, 2.0, 5.0, 10.0, 20.0)  # ours: how patiently a lost answer is looked up
MOST_SENDINGS = 3  # ours: the same order with the same key, where the provider takes one
READING, LOOKING = RetryLimits(), RetryLimits(attempts=3)  # ours: a look-up is patient by itself
_NO_WORD = (UnknownOutcomeError, UnavailableError, MismatchError)
"""After these it is not known whether something was bought: a key that was used before may have bought it then."""


Found = TypeVar("Found")


class PurchaseRecords(Protocol):
    """The ledger of purchases, as far as buying needs it."""

    def lineage(self) -> str:
        """Whose purchases these are; empty where there is none yet."""

    def entries(self) -> tuple[Entry, ...]:
        """All of it, in order."""

    def next_number(self) -> int:
        """A number that no intent has."""

    def intend(self, intent: PurchaseIntent) -> None:
        """Note so that it lasts, or raise: then nothing may be asked."""

    def conclude(self, conclusion: PurchaseConclusion) -> None:
        """Note as lastingly what came of it."""

    def held(self, purpose: str) -> AbstractContextManager[None]:
        """Be the only one who buys."""


@dataclass(frozen=True, slots=True)
class Gates:
    """What the user has opened: in the configuration, in the environment, up to which ceiling and price."""

    enabled: bool
    allowed: bool
    ceiling: Decimal | None
    tolerance: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class PurchaseContext:
    """The cloud that sells, the ledger, the clock, the points at which tests end the process, and who hears of
    waits."""

    cloud: Commitments
    ledger: PurchaseRecords
    clock: Clock
    crash: Crash
    tell: Tell = silent

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.fromtimestamp(self.clock.now(), UTC)

    def history(self) -> PurchaseHistory:
        """The ledger put together."""
        return history(self.ledger.entries())

    def ask(self, read: Callable[[], Found], limits: RetryLimits = READING) -> Found:
        """The answer to a question that changes nothing, asked again where that helps; nothing else is."""
        return Patience(self.clock, limits, never, self.tell).ask(read)


Approve = Callable[[PurchasePlan], PurchaseApproval]
"""Shows what is about to be bought, at today's quotes, and returns what was put down; ConfirmationError where there is
nobody to ask."""


def check_open(gates: Gates) -> None:
    """Refuse, with DeniedByGuardError, where purchases are not enabled in the configuration or not allowed in the
    environment."""
    if not gates.enabled:
        raise DeniedByGuardError(
            "purchases are not enabled, and nothing was bought",
            hint="commitments.enabled: true in hcloud.yaml enables them",
        )
    if not gates.allowed:
        raise DeniedByGuardError(
            f"{VARIABLE}=1 is not set in the environment, and nothing was bought",
            hint=f"set it for the one command that shall buy: {VARIABLE}=1 hcloud commit apply FILE",
        )


def execute(plan: PurchasePlan, gates: Gates, approve: Approve, ground: PurchaseContext) -> tuple[Purchased, ...]:
    """Buy what of the plan was not bought yet; a plan that was bought already is a no-op.

    Raises DeniedByGuardError where a gate is closed, InputError for what cannot be bought, StaleError where the plan no
    longer holds, PartialError where it is not known whether something was bought (then everything after it waits) or
    only a part was, and what the cloud said where it said no.
    """
    check_open(gates)
    check_items(plan.items)
    with ground.ledger.held("commit apply"):
        _check_whose(plan, ground)
        settle(ground, plan.digest)
        past = ground.history()
        left = tuple(i for i in plan.items if not ((found := past.of(i.key, plan.digest)) and found.is_bought))
        if left:
            fresh = _checked(replace(plan, items=left), past, gates, ground)
            check_approval(approve(fresh), fresh, fresh.amount)
            # What may have been bought already counts as past, and is not counted twice where it is asked for again
            again = sum((r.intent.amount for r in past.open if r.intent.plan == plan.digest), Decimal(0))
            check_ceiling(past.committed(ground.now()) - again, fresh.amount, gates.ceiling)
            _buy_all(fresh, past, ground)
        return _results(plan, frozenset(i.key for i in left), ground.history())


def _check_whose(plan: PurchasePlan, ground: PurchaseContext) -> None:
    if (lineage := ground.ledger.lineage()) != plan.lineage:
        raise StaleError(
            f"this purchase plan was made beside the ledger {plan.lineage[:12]}, and this one is"
            f" {lineage[:12] or 'not there'}: earlier purchases are unknown, so nothing was bought",
            hint="work in the directory where it was made, or make a new one with 'hcloud commit plan'",
        )
    if (scope := ground.ask(ground.cloud.scope)) != plan.scope:
        raise StaleError(
            f"this purchase plan is for {plan.scope}, and these credentials are for {scope}",
            hint="use the credentials of the plan, or make a purchase plan for this account",
        )


def settle(ground: PurchaseContext, own: str = "") -> None:
    """Look up every purchase of which it is not known whether it took place, and note what is found.

    Raises PartialError where that cannot be told, except of a purchase of the plan ``own`` that may be sent again under
    its key.
    """
    for recorded in ground.history().open:
        intent = recorded.intent
        judgement = _look(intent, ground)
        if not _noted(intent, judgement, ground) and not (intent.plan == own and may_resend(intent, ground.now())):
            _block(intent, judgement.why)


def _look(intent: PurchaseIntent, ground: PurchaseContext) -> PurchaseJudgement:
    """What the cloud's list says of an intent; a list that did not come says nothing."""
    try:
        if intent.scope != (scope := ground.ask(ground.cloud.scope, LOOKING)):
            return PurchaseJudgement(
                PurchaseVerdict.CANNOT_TELL, None, f"it was asked for in {intent.scope}, and this is {scope}"
            )
        held = ground.ask(ground.cloud.commitments, LOOKING)
    except CloudError as error:
        return PurchaseJudgement(PurchaseVerdict.CANNOT_TELL, None, f"the commitments cannot be listed: {error}")
    ground.crash("commit.looked-up")
    return judge(intent, held, ground.history().ids, ground.now())


def _noted(intent: PurchaseIntent, judgement: PurchaseJudgement, ground: PurchaseContext) -> bool:
    """Whether a judgement settles an intent; if so it is noted."""
    if judgement.verdict is PurchaseVerdict.CANNOT_TELL:
        return False
    found = judgement.commitment
    outcome = PurchaseOutcome.FOUND if found else PurchaseOutcome.NOT_BOUGHT
    _conclude(intent, outcome, ground, found)
    return True


def _block(intent: PurchaseIntent, why: str) -> NoReturn:
    raise PartialError(
        f"it is unknown whether {intent.address} (key {intent.key}, {intent.quote.offering}) was bought at"
        f" {intent.at:%Y-%m-%d %H:%M:%S} UTC: {why or 'the cloud does not say'}; nothing else is bought until that is"
        " settled",
        hint=f"verify it with the provider; 'hcloud commit resolve' looks again, and 'hcloud commit resolve"
        f" {intent.key} --bought ID' (or --not-bought) notes what you found",
    )


def _checked(plan: PurchasePlan, past: PurchaseHistory, gates: Gates, ground: PurchaseContext) -> PurchasePlan:
    """The plan at what its items cost now, where it still holds."""
    check_fresh(plan, ground.now())
    if past.recorded_beside(plan.digest) != plan.recorded:
        raise StaleError(
            "purchases were made since this purchase plan was made; nothing was bought",
            hint="'hcloud commit list' shows them; make a new plan with 'hcloud commit plan'",
        )
    own = frozenset(p.id for p in past.purchases if p.intent.plan == plan.digest)
    check_still_held(plan, ground.ask(ground.cloud.commitments), own)
    items = []
    for item in plan.items:
        fresh = ground.ask(partial(ground.cloud.quote, item.quote.order))
        check_quote(item, fresh, gates.tolerance)
        items.append(replace(item, quote=fresh))
    return replace(plan, items=tuple(items))


def _buy_all(plan: PurchasePlan, past: PurchaseHistory, ground: PurchaseContext) -> None:
    for number, item in enumerate(plan.items):
        try:
            again = past.of(item.key, plan.digest)
            if again is not None and again.is_open:
                _ask(again.intent, ground, asked_before=True)
            else:
                _buy(item, plan, ground)
        except PartialError:
            raise
        except HcloudError as error:
            if number == 0:
                raise
            raise PartialError(
                f"{number} of {len(plan.items)} purchases were made, then {item.address} was not: {error}",
                hint=error.hint or "'hcloud commit list' shows what was bought; the same plan buys the rest",
            ) from error


def _buy(item: PurchaseItem, plan: PurchasePlan, ground: PurchaseContext) -> None:
    before = snapshot(ground.ask(ground.cloud.commitments))
    number = ground.ledger.next_number()
    intent = PurchaseIntent(number, ground.now(), plan.scope, plan.digest, item.address, item.quote, before)
    ground.crash("commit.quoted")
    ground.ledger.intend(intent)
    ground.crash("commit.intended")
    _ask(intent, ground)


def _ask(intent: PurchaseIntent, ground: PurchaseContext, *, asked_before: bool = False) -> None:
    """One purchase; where its answer is lost it is looked up, and sent again only under a key.

    Once an answer was lost, a later refusal says nothing about what was asked before it.
    """
    why = ""
    for left in reversed(range(MOST_SENDINGS if takes_key(intent.quote.order.option) else 1)):
        try:
            bought = ground.cloud.buy(intent.quote)
        except CloudError as error:
            if not isinstance(error, _NO_WORD) and not asked_before:
                ground.crash("commit.refused")
                _conclude(intent, PurchaseOutcome.REFUSED, ground, why=str(error))
                raise
            asked_before, why = True, str(error)
            ground.crash("commit.unanswered")
            _conclude(intent, PurchaseOutcome.UNKNOWN, ground, why=why)
            judgement = _look_patiently(intent, ground, last=not left)
            if _noted(intent, judgement, ground):
                return
            why = f"{why}; {judgement.why}"
        else:
            ground.crash("commit.answered")
            _conclude(intent, PurchaseOutcome.BOUGHT, ground, bought)
            ground.crash("commit.concluded")
            return
    _block(intent, why)


def _look_patiently(intent: PurchaseIntent, ground: PurchaseContext, *, last: bool) -> PurchaseJudgement:
    """Look until it is found or patience ends; between two sendings one look is enough."""
    judgement = PurchaseJudgement(PurchaseVerdict.CANNOT_TELL)
    for seconds in LOOK_AFTER_SECONDS if last else LOOK_AFTER_SECONDS[:1]:
        if seconds:
            ground.clock.sleep(seconds)
        judgement = _look(intent, ground)
        if judgement.verdict is not PurchaseVerdict.CANNOT_TELL:
            break
    return judgement


def _conclude(
    intent: PurchaseIntent,
    outcome: PurchaseOutcome,
    ground: PurchaseContext,
    found: Commitment | None = None,
    why: str = "",
) -> None:
    """Note what came of it; where that fails after a purchase, say so and leave it to be looked up."""
    id_, ends = (found.id, found.ends) if found else ("", None)
    try:
        ground.ledger.conclude(PurchaseConclusion(intent.number, ground.now(), outcome, id_, ends, why))
    except HcloudError as error:
        raise PartialError(
            f"{intent.address}: {outcome} {id_}".rstrip() + f", which could not be noted: {error}",
            hint="purchase intent saved: the next 'hcloud commit apply' looks it up",
        ) from error


def _results(plan: PurchasePlan, now: frozenset[str], past: PurchaseHistory) -> tuple[Purchased, ...]:
    found = [(item, past.of(item.key, plan.digest)) for item in plan.items]
    return tuple(Purchased(i, r.outcome, r.id, i.key not in now) for i, r in found if r is not None)
