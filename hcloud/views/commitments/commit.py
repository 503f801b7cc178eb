"""Commitments on a terminal: what to buy and why, what was bought, and what is held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Commitment, CommitmentOrder
from hcloud.model.holdings.purchase import Applied, CommitmentNeed, ExitTerms, PurchaseItem, PurchasePlan, Refund
from hcloud.model.plans.plan import Plan
from hcloud.planning.purchases.answers import Holdings, MatchedPurchase, PlannedPurchases, Recommendation
from hcloud.planning.purchases.history import Recorded
from hcloud.planning.purchases.leaving import WayOut
from hcloud.planning.purchases.reconciled import sentences
from hcloud.units import cents, format_money, percent, plain
from hcloud.views.console import Terminal
from hcloud.views.deciding.operation import monthly_of
from hcloud.views.deciding.plan import beside, said_of_risk
from hcloud.views.deciding.plan_tables import SHORT
from hcloud.views.lines import point
from hcloud.views.tables import Figures


def show_recommendation(found: Recommendation, terminal: Terminal) -> None:
    """What to commit to, the arithmetic behind it, how to get out again, and how sure that is."""
    plan = found.plan
    if not found.needs:
        terminal.show("the plan buys no commitment", *map(point, plan.reasons))
        _show_standing(found.expiring, found.unplanned, found.warnings, terminal)
        return
    terminal.show(_needs_table(found.needs), "")
    points = [*_arithmetic(found), *plan.reasons, *_ways_out(found), *_how_sure(plan)]
    terminal.show(*map(point, points))
    _show_standing(found.expiring, found.unplanned, found.warnings, terminal)


def _needs_table(needs: Sequence[CommitmentNeed]) -> Figures:
    names = ("commitment", "wanted", "held", "buy", "upfront", "total", "break-even")
    rows = [
        (
            _what(n),
            _quantity(n, n.wanted.quantity),
            _quantity(n, n.held),
            _quantity(n, n.missing),
            format_money(n.upfront),
            format_money(n.expected),
            percent(n.wanted.break_even, none=""),
        )
        for n in needs
    ]
    return Figures(names, rows, frozenset({1, 2, 3, 4, 5, 6}))


def _what(need: CommitmentNeed) -> str:
    w = need.wanted
    begins = f" from {w.starts:%Y-%m-%d}" if w.starts else ""
    special = w.option.bound_to(w.special).replace("/", " ")
    return _named(f"{w.instance_type}{special}", w.option, w.term_years, w.payment) + begins


def _named(instance_type: str, option: PurchaseOption, years: int, payment: Payment) -> str:
    """A commitment in the field's short terms: ``m6i.4xlarge Standard RI 1y all upfront``."""
    paid = "" if payment is Payment.NONE else f" {payment.replace('-', ' ')}"
    return f"{instance_type} {SHORT.get(option, str(option))} {years}y{paid}"


def _quantity(need: CommitmentNeed, quantity: Decimal) -> str:
    return f"${quantity:,.4f}/h" if need.wanted.dollars_per_hour is not None else f"{quantity:,.0f}"


def _arithmetic(found: Recommendation) -> Iterator[str]:
    plan = found.plan
    total = sum((n.expected for n in found.needs), Decimal(0))
    before, after = monthly_of(plan)
    how = "" if plan.operation is None else ", simulated,"
    yield (
        f"commits {format_money(total)} over the terms; a month then costs{how} {format_money(after)}"
        f" instead of {format_money(before)} ({format_money(before - after)} less)"
    )


def _ways_out(found: Recommendation) -> Iterator[str]:
    told: set[str] = set()
    for need, terms in zip(found.needs, found.ways_out, strict=True):
        text = f"early exit from {need.wanted.option.in_words}s: {_way(terms)}"
        if text not in told:
            told.add(text)
            yield text


def _way(terms: ExitTerms | None) -> str:
    if terms is None:
        return "its cancellation terms are unknown; assume that it cannot be cancelled"
    begin = "" if terms.refund is not Refund.NONE else "none; "
    return f"{begin}{terms.note} ({terms.source}, {terms.day})"


def _how_sure(plan: Plan) -> Iterator[str]:
    for case in plan.what_if:
        if case.all_on_demand:
            yield (
                f"if demand changes by {float(case.change):+.0%}: {beside(case)} than {plan.unbought}, with"
                f" {format_money(case.unused_commitment)} of commitment unused"
            )
    if plan.risk is not None:
        yield said_of_risk(plan.risk)


def _show_standing(
    ending: Sequence[Commitment], unplanned: Sequence[Commitment], warnings: Sequence[str], terminal: Terminal
) -> None:
    for warning in warnings:
        terminal.warn(warning)
    for found in ending:
        terminal.warn(f"{found.id} ({_told(found)}) ends on {found.ends:%Y-%m-%d}")
    for found in unplanned:
        terminal.warn(
            f"{found.id} ({_told(found)}) exists in the account but not in the plan: add it to 'owned' and plan again"
        )


def _told(found: Commitment) -> str:
    what = _named(found.instance_type, found.option, found.term_years, found.payment)
    return f"{found.count or ''} {what}".strip()


def show_left_out(found: PlannedPurchases, terminal: Terminal) -> None:
    """What should be known of a purchase plan, and what is not in it, on stderr beside any form of the result."""
    _show_standing(found.expiring, found.unplanned, found.warnings, terminal)
    for need in found.later:
        terminal.note(f"left out: {_what(need)}, which begins later ({_when(need.wanted.cloud)})")
    for need in found.by_hand:
        is_unseen = need.wanted.option in CLOUDS[need.wanted.cloud].console
        unseen = "; it sees none that you bought there: state them as 'owned' and plan again" if is_unseen else ""
        terminal.note(
            f"left out: {_quantity(need, need.missing)} {_what(need)} (hcloud does not buy these: buy them in the"
            f" cloud's console{unseen})"
        )
    for place in found.elsewhere:
        terminal.note(f"left out: purchases in {place} (--region)")


def show_planned(found: PlannedPurchases, out: str, terminal: Terminal) -> None:
    """The purchases that a plan file holds now, and what it takes to make them."""
    if not found.purchases.items:
        left_out = found.later or found.by_hand or found.elsewhere
        why = "" if left_out else ": the account has all planned commitments"
        terminal.show(f"nothing to buy{why}", *map(point, sentences(found.reconciled)))
        return
    terminal.show(purchase_table(found.purchases), "")
    terminal.show(*map(point, [*_terms_of(found.purchases), *sentences(found.reconciled)]))
    terminal.note(f"written: {out}; it can be bought once, until {found.purchases.expires:%Y-%m-%d %H:%M} UTC")
    terminal.note(f"then: HYC_ALLOW_PURCHASE=1 hcloud commit apply {out} (with the same --cloud)")


def _when(cloud: str) -> str:
    """How what begins later is bought."""
    queues = CLOUDS[cloud].queues
    return "--later queues it now" if queues else f"{cloud} takes no purchase for a later day: plan again then"


def purchase_table(plan: PurchasePlan) -> Figures:
    """The purchases of a plan with their sum."""
    names = ("purchase", "count", "upfront", "$/h", "total", "key")
    rows = [_item(i) for i in plan.items]
    hourly = sum((i.quote.hourly for i in plan.items), Decimal(0))
    total = ("total", "", format_money(plan.upfront, 2), f"{hourly:,.4f}", format_money(plan.amount, 2), "")
    return Figures(names, [*rows, total], frozenset({1, 2, 3, 4}))


def _item(item: PurchaseItem) -> tuple[str, ...]:
    quote, order = item.quote, item.quote.order
    what = _named(order.instance_type, order.option, order.term_years, order.payment)
    what += f" from {order.starts:%Y-%m-%d}" if order.starts else ""
    money = (format_money(quote.upfront, 2), f"{quote.hourly:,.4f}", format_money(item.amount, 2))
    return (what, _ordered(order), *money, item.key[:12])


def _ordered(order: CommitmentOrder) -> str:
    return f"${order.dollars_per_hour:,.4f}/h" if order.dollars_per_hour is not None else f"{order.count:,}"


def _terms_of(plan: PurchasePlan) -> Iterator[str]:
    years = max(item.quote.order.term_years for item in plan.items)
    yield f"in {plan.scope}; the longest commitment is {years} {'year' if years == 1 else 'years'}"
    yield f"digest {plan.digest}, amount {plain(cents(plan.amount))} USD"


def show_approval(plan: PurchasePlan, terminal: Terminal) -> None:
    """What is about to be bought, on stderr, so that it is seen also where the result goes elsewhere."""
    terminal.tell(purchase_table(plan))
    for line in _terms_of(plan):
        terminal.tell(point(line))


def show_applied(found: Applied, terminal: Terminal) -> None:
    """What came of each purchase."""
    if not found.purchased:
        terminal.show("there is nothing to buy in this purchase plan")
        return
    names = ("purchase", "count", "total", "outcome", "commitment")
    rows = []
    for bought in found.purchased:
        what, much, _, _, money, _ = _item(bought.item)
        outcome = f"{bought.outcome} before" if bought.before else str(bought.outcome)
        rows.append((what, much, money, outcome, bought.id))
    terminal.show(Figures(names, rows, frozenset({1, 2})))
    if all(b.before for b in found.purchased):
        terminal.note("this purchase plan was bought before: nothing was done")


def show_resolved(found: Sequence[Recorded], terminal: Terminal) -> None:
    """How each unknown purchase came out."""
    if not found:
        terminal.show("no purchase has an unknown outcome")
    for recorded in found:
        terminal.show(f"{recorded.intent.key} {recorded.intent.address}: {recorded.outcome} {recorded.id}".strip())


def show_holdings(found: Holdings, terminal: Terminal) -> None:
    """Ledger and cloud side by side."""
    if not found.pairs:
        terminal.show(
            "the ledger has no purchases" + (f", and {found.scope} has no commitments" if found.scope else "")
        )
        return
    names = ("what", "total", "ledger", "cloud", "ends", "commitment")
    rows = [_pair(p, asked=found.scope is not None) for p in found.pairs]
    terminal.show(Figures(names, rows, frozenset({1})))
    ceiling = f" of at most {format_money(found.ceiling, 2)}" if found.ceiling is not None else ""
    terminal.note(f"{format_money(found.committed, 2)}{ceiling} committed in the ledger")
    if found.scope is None:
        terminal.note("not compared with an account: --cloud aws, gcp or azure lists its commitments")
    _show_standing(found.expiring, (), (), terminal)


def _pair(pair: MatchedPurchase, *, asked: bool) -> tuple[str, ...]:
    recorded, held = pair.recorded, pair.commitment
    what = money = ""
    ledger, ends, name = "not recorded", None, ""
    if recorded is not None:
        order = recorded.intent.quote.order
        what = f"{_ordered(order)} {_named(order.instance_type, order.option, order.term_years, order.payment)}"
        money, ends, name = format_money(recorded.intent.amount), recorded.ends, recorded.id or recorded.intent.key
        ledger = "given back" if recorded.cancelled else str(recorded.outcome)
    if held is not None:
        what, ends, name = what or _told(held), held.ends or ends, held.id
    cloud = held.state if held is not None else "not listed" if asked else ""
    return what, money, ledger, cloud, f"{ends:%Y-%m-%d}" if ends else "", name


def show_cancellable(found: Commitment, way: WayOut, terminal: Terminal) -> None:
    """What is about to be given back, and by which terms, on stderr."""
    terminal.tell(f"{found.id}: {_told(found)}, {found.state}; {way.why}")
