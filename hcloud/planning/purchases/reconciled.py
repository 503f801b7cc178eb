"""From the dollars that a plan commits to those of a purchase plan: every difference by its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.google import unit_prices
from hcloud.model.catalog import Provider
from hcloud.model.holdings.purchase import CommitmentNeed, PurchaseItem
from hcloud.model.plans.plan import Plan
from hcloud.planning.purchases.purchase import is_over
from hcloud.units import cents, exact_money, format_money, plain

NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Dollars over the terms: what the plan commits, less what is ``over`` (its term ended since), is held already, is
    left out here by reason (``left``) or is in another place, more by what the cloud's quotes are dearer: ``amount`` is
    what the purchase plan buys. ``monthly`` is what the plan shows a month for all of it."""

    planned: Decimal
    monthly: Decimal
    over: Decimal
    held: Decimal
    left: Mapping[str, Decimal]
    elsewhere: Decimal
    quoted: Decimal

    @property
    def amount(self) -> Decimal:
        """What is bought."""
        return self.planned - self.over - self.held - sum(self.left.values()) - self.elsewhere + self.quoted


def reconciled(
    plan: Plan,
    needs: Sequence[CommitmentNeed],
    left: Mapping[str, Sequence[CommitmentNeed]],
    items: Iterable[PurchaseItem],
    at: datetime,
) -> Reconciled:
    """The way from a plan to the purchases made for its ``needs`` of one place but those ``left`` out, by reason. All
    other commitments of the plan are in other places."""
    planned = sum((line.total for line in plan.purchases), NOTHING)
    over = sum((line.total for line in plan.purchases if is_over(line, plan, at)), NOTHING)
    wanted, missing = sum((need.wanted.total for need in needs), NOTHING), _expected(needs)
    dollars = {why: _expected(of) for why, of in left.items()}
    bought = sum((item.amount for item in items), NOTHING)
    return Reconciled(
        planned=planned,
        monthly=sum((line.monthly for line in plan.purchases), NOTHING),
        over=over,
        held=wanted - missing,
        left=dollars,
        elsewhere=planned - over - wanted,
        quoted=bought - missing + sum(dollars.values()),
    )


def with_licences(plan: Plan, found: Reconciled) -> Reconciled:
    """The way from a plan whose prices hold licences, to purchases that were found without these."""
    planned = sum((line.total for line in plan.purchases), NOTHING)
    monthly = sum((line.monthly for line in plan.purchases), NOTHING)
    left = {**found.left, "licences, which are billed by use": planned - found.planned}
    return replace(found, planned=planned, monthly=monthly, left=left)


def _expected(needs: Iterable[CommitmentNeed]) -> Decimal:
    return sum((need.expected for need in needs), NOTHING)


def sentences(found: Reconciled) -> Iterator[str]:
    """That the plan and the purchases agree, or why they do not."""
    shown = f"the plan shows {format_money(found.monthly)}/month, amortised over its horizon"
    differences = [
        (-found.over, "for terms that are over"),
        (-found.held, "held already"),
        *((-dollars, why) for why, dollars in found.left.items()),
        (-found.elsewhere, "in other places (--region)"),
        (found.quoted, "difference between quotes and plan prices"),
    ]
    told = [f"{_signed(dollars)} {why}" for dollars, why in differences if cents(dollars)]
    planned, amount = exact_money(found.planned), exact_money(found.amount)
    if not told:
        yield f"agrees with the plan, which commits {planned} over the terms; {shown}"
    else:
        yield f"the plan commits {planned} over the terms; {', '.join(told)} = {amount} to buy; {shown}"


def _signed(amount: Decimal) -> str:
    return f"{'+' if amount > 0 else '-'} {exact_money(abs(amount))}"


def said_of_parts(needs: Iterable[CommitmentNeed], book: PriceBook | None = None) -> Iterator[str]:
    """What is planned and left to on demand, as other sizes hold the rest of a machine, and what is bought in whole
    machines though a part of these is held."""
    for need in needs:
        if need.apart:
            vcpus, gib = (plain(round(amount, 2)) for amount in need.apart)
            worth = _rest_of(need, book)
            dollars = f" ({format_money(worth)} of {format_money(need.expected)} over its term)" if worth else ""
            yield (
                f"{need.wanted.address}: of what is bought only {vcpus} vCPUs and {gib} GiB are missing, the rest"
                f"{dollars} is held in machines of other ratios: the cloud's console sells vCPUs and GiB apart, "
                "within limits"
            )
        if need.wanted.dollars_per_hour is None and (part := round(need.rented, 2)):
            yield f"{need.wanted.address}: {part} of a machine stays on demand: other sizes cover the rest"


def _rest_of(need: CommitmentNeed, book: PriceBook | None) -> Decimal | None:
    """Dollars over the term of what is bought in whole machines beside the vCPUs and GiB that are missing (Google);
    None where prices do not come apart."""
    wanted = need.wanted
    machine = book.types.get((Provider.GCP, wanted.instance_type)) if book else None
    prices = unit_prices(book, machine.family, wanted.region) if book and machine else None
    if machine is None or prices is None or prices.ratio is not None:
        return None
    whole = prices.of(machine.vcpus, machine.memory_gib) * need.missing
    return need.expected * (1 - prices.of(*need.apart) / whole)
