"""What a plan's purchases would cost for terms that outlast its horizon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from hcloud.catalog.book import PriceBook
from hcloud.model.catalog import Payment
from hcloud.model.plans.bill_plan import KindPlan, LongerTerm
from hcloud.units import HOURS_PER_MONTH


class LongTerms(NamedTuple):
    """The terms beyond the horizon that may be bought for a kind of machine, and how they may be paid."""

    years: Sequence[int]
    payments: Sequence[Payment]


def longer_term(plans: Sequence[KindPlan], book: PriceBook, terms: Mapping[str, LongTerms]) -> LongerTerm | None:
    """What the same purchases would save more for the longest term that is sold; None where that is nothing. What is
    not sold for so long stays as it is."""
    years = max((years for of in terms.values() for years in of.years), default=0)
    saved = upfront = Decimal(0)
    for plan in plans:
        of = terms[plan.name]
        for line in plan.purchases:
            bought = book.offers.get(line.key)
            if bought is None:  # sold in a zone alone
                upfront += line.upfront
                continue
            keys = (
                replace(line.key, term_years=years, payment=payment) for payment in of.payments if years in of.years
            )
            sold = (book.offers[key] for key in keys if key in book.offers)
            offer = min((bought, *sold), key=lambda o: o.effective_hourly)
            saved += (bought.effective_hourly - offer.effective_hourly) * line.count * HOURS_PER_MONTH
            upfront += offer.upfront * line.count
    return LongerTerm(years, saved, upfront) if saved else None
