"""Sums of money of a bill's lines, in US dollars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from hcloud.readers.bills.adding import LineTotal
from hcloud.readers.bills.money import decimal_of
from hcloud.readers.bills.options import CURRENCY


class PricedLines:
    """Sums of money in US dollars."""

    def __init__(self, rates: Mapping[str, Decimal]) -> None:
        self.rates = rates

    def of(self, totals: Iterable[LineTotal], *roles: str) -> Decimal:
        """What lines cost together, by the columns of these roles."""
        units: dict[str, int] = {}
        for total in totals:
            currency = total.texts["currency"].strip().upper() or CURRENCY
            units[currency] = units.get(currency, 0) + sum(total.money.get(role, 0) for role in roles)
        return sum((decimal_of(u) * self.rates[c] for c, u in units.items()), Decimal(0))

    def paid(self, totals: Iterable[LineTotal]) -> Decimal:
        """The amortised cost of usage; what was billed where the file has no such column."""
        parts = ((t, t.line.paid_by if t.line.paid_by in t.money else "") for t in totals)
        return sum((self.of([t], role) if role else _billed(self, t) for t, role in parts), Decimal(0))


def _billed(priced: PricedLines, total: LineTotal) -> Decimal:
    """What a line was billed at, where it has no amortised cost: nothing of what a commitment paid for."""
    return Decimal(0) if total.line.holding is not None else priced.of([total], "cost")
