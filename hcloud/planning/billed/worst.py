"""How much more a plan may cost because a daily bill does not say in which hours of a day machines ran."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.steps import bought_key
from hcloud.model.bill import Bill, BilledCommitment, BilledUsage
from hcloud.model.catalog import OfferKey, Payment, PurchaseOption
from hcloud.model.plans.held import held_at
from hcloud.model.plans.plan import Plan
from hcloud.planning.billed.kinds import KindUse
from hcloud.planning.billed.spread import HOURS_PER_DAY, as_monthly, most_uneven
from hcloud.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

WHOLLY = Decimal("0.9999")


def more_at_worst(bill: Bill, use: KindUse, plan: Plan, since: int, book: PriceBook) -> Decimal | None:
    """Dollars a month more at most, where a day's use did not run evenly: at the commitments of the moment at which
    that costs most, those that are held now and end later among them. None where rows are of more than a day: which
    days were busy is not known either."""
    if not bill.daily or bill.longest_days > 1:
        return None if bill.daily else Decimal(0)
    certain = sum((_of_whole_days(used, use) for used in use.usage), np.zeros(bill.hours))
    certain = np.maximum(certain, _evenly_covered(bill, use))
    over = max(most_uneven(use.cores[since:], certain[since:], vcpus) for vcpus in _committed(plan))
    return as_monthly(over, bill.hours - since, _on_demand_rate(use, plan, book), HOURS_PER_MONTH)


def _committed(plan: Plan) -> Iterator[float]:
    """vCPUs under commitments, owned or to be bought, between any two moments at which one begins or ends."""
    lines = [line for line in plan.mix if line.option.is_commitment]
    moments = {0} | {line.starts_hour for line in lines} | {line.ends_hour for line in lines if line.ends_hour}
    for hour in sorted(moment for moment in moments if moment < max(plan.horizon_hours, 1)):
        yield float(sum((line.vcpus for line in held_at(lines, hour)), Decimal(0)))


def _of_whole_days(used: BilledUsage, use: KindUse) -> Floats:
    """vCPUs of machines that are known to have run all day."""
    if used.whole_days is None:
        return np.zeros(len(used.hours))
    return used.whole_days * float(use.sizes.get(used.kind.instance_type, 1))


def _evenly_covered(bill: Bill, use: KindUse) -> float:
    """vCPUs of reservations that cover nothing else and were used in each hour: whoever used them, ran in all hours."""
    kinds, vcpu_hours = {used.kind for used in use.usage}, 0.0
    for held in bill.commitments:
        if held.covered and set(held.covered) <= kinds and _was_used_wholly(held, bill):
            vcpu_hours += sum(
                part.hours * float(use.sizes.get(kind.instance_type, 1)) for kind, part in held.covered.items()
            )
    return vcpu_hours / bill.hours


def _was_used_wholly(held: BilledCommitment, bill: Bill) -> bool:
    whole = held.utilisation is not None and held.utilisation >= WHOLLY and held.hours is not None
    return whole and not held.option.is_spend_based and abs((held.hours or 0) - bill.hours) < HOURS_PER_DAY


def _on_demand_rate(use: KindUse, plan: Plan, book: PriceBook) -> Decimal:
    """Dollars an hour of a vCPU on demand, without what is billed by use all the same, at the dearest of the types in
    the bill and of what the plan rents."""
    sizes = {use.usual.name: use.usual.vcpus, **use.sizes}
    place, special = (use.kind.provider, use.kind.region), (use.kind.os, use.kind.tenancy)
    keys = {name: OfferKey(*place, name, PurchaseOption.ON_DEMAND, 0, Payment.NONE, *special) for name in sizes}
    offers = {name: book.offers.get(bought_key(key)) for name, key in keys.items()}
    prices = [offer.hourly / sizes[name] for name, offer in offers.items() if offer is not None]
    rentals = (line for line in plan.mix if not line.option.is_commitment and line.vcpus)
    return max((*prices, *(line.hourly * line.without_licences / line.vcpus for line in rentals)))
