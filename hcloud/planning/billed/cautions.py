"""What a plan of a bill warns of: a bill of long ago, and prices and hours that are not those of the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType

from hcloud.catalog.checks import DERIVED, derived_in_use
from hcloud.model.bill import Bill
from hcloud.model.catalog import PurchaseOption
from hcloud.model.clouds.facts import purchases_in_words
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.plans.bill_plan import KindPlan
from hcloud.planning.billed.spread import HOURS_PER_DAY
from hcloud.units import counted, format_money

APART = Decimal("0.05")  # ours: vCPUs and memory are used alike below


def old(bill: Bill, missing_days: int, now: datetime, old_from: timedelta) -> Iterator[str]:
    """That a bill ended longer ago than ``old_from``."""
    hours = bill.hours + missing_days * HOURS_PER_DAY
    end = bill.start + timedelta(hours=hours)
    if now - end > old_from:
        yield (
            f"the bill ends on {end.date()}, {counted((now - end).days, 'day')} ago: what ran and was bought since is "
            "not in it; add the latest months before you buy"
        )


def of_prices(plans: Sequence[KindPlan]) -> Iterator[str]:
    """What the plans of kinds warn of their prices, the oldest first."""
    told = [w for p in plans if p.plan for w in p.plan.warnings]
    oldest = {w for w in told if w.startswith("the oldest price")}
    yield from sorted(oldest, key=lambda w: (-len(w), w))[:1]
    derived = [w.partition("(")[2].partition(")")[0].split(", ") for w in told if w.startswith(DERIVED)]
    if derived:
        yield derived_in_use(name for names in derived for name in names)


def by_hand(plans: Sequence[KindPlan]) -> Iterator[str]:
    """That ``commit`` does not buy some of it."""
    bought = [line for one in plans for line in one.purchases]
    lines = [line for line in bought if CLOUDS[line.provider].is_by_hand(line.option, line.special, line.instance_type)]
    if lines:
        dollars = format_money(sum((line.total * line.without_licences for line in lines), Decimal(0)))
        what = ", ".join(sorted({purchases_in_words(line.option, line.special, line.instance_type) for line in lines}))
        yield (
            f"'hcloud commit' does not buy {what} ({dollars} over their terms): buy those in "
            "the cloud's console, or plan without them (markets.options)"
        )


def idle_parts(bill: Bill, plans: Sequence[KindPlan]) -> Iterator[str]:
    """That of vCPUs and memory, which Google sells apart, one part of what is held is idle where more is bought."""
    bought = {
        (line.region, line.instance_type.partition("-")[0])
        for one in plans
        for line in one.purchases
        if line.option is PurchaseOption.COMMITTED_USE
    }
    used = {(c.region, c.family, part): share for c in bill.commitments for part, share in c.used_parts.items()}
    for region, family in sorted(bought):
        shares = sorted((share, part) for (*place, part), share in used.items() if place == [region, family])
        if shares and shares[-1][0] - shares[0][0] > APART:
            told = " and ".join(f"{share:.0%} of the {part}" for share, part in shares)
            yield (
                f"of the committed use of {family} in {region} that is held, {told} are used: what is idle serves "
                f"first; in Google's console, buy less of the {shares[0][1]} than the plan says"
            )


def told_apart(
    plans: Sequence[KindPlan], differs: Decimal, bare: Mapping[str, Decimal | None] = MappingProxyType({})
) -> Iterator[str]:
    """Where the bill's own on-demand prices are not those of the price book, by more than the share ``differs``: nor
    those that are ``bare`` of the licences of what is covered, which a bill may have in lines of their own."""
    for one in plans:
        if not one.at_list or one.at_book is None:
            continue
        nearest = min(max(one.at_list, bare.get(one.name) or one.at_book), one.at_book)
        if abs(nearest / one.at_list - 1) > differs:
            yield (
                f"{one.name}: {format_money(one.at_list)}/month on demand by the bill, {format_money(one.at_book)} by "
                "the price book: its prices changed or are negotiated; bring yours with 'hcloud pricing import' or an "
                "overlay"
            )


def uncommitted(plans: Sequence[KindPlan], differs: Decimal, charged: Mapping[str, Decimal]) -> Iterator[str]:
    """Where machines without any commitment cost less than the price book says; ``charged`` is the least part of it
    that sustained use leaves of kinds that have it."""
    for one in plans:
        if one.covered_share or not one.at_book or one.plan is None:
            continue
        least = one.at_book * charged.get(one.name, Decimal(1))
        if one.paid < least * (1 - differs):
            yield (
                f"{one.name}: without commitments the bill has {format_money(one.paid)}/month, the price book "
                f"{format_money(least)}: where your prices are negotiated, up to "
                f"{format_money(least - one.paid)} of what the plan saves is none; bring them with "
                "'hcloud pricing import' or an overlay"
            )
