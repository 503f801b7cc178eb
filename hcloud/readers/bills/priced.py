"""Sums of money of a bill's lines in US dollars, and what usage costs at public on-demand prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.bill import LineKind
from hcloud.readers.bills.adding import LineTotal
from hcloud.readers.bills.lines import Stream
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


_CENTS_OF_MILLIONTHS = Decimal("0.00000001")


@dataclass(frozen=True, slots=True)
class ListedUse:
    """List costs of the lines of one kind of machine (None: not said): of all, and of those that commitments cover."""

    all: Decimal | None
    covered: Decimal | None


def has_list_cost(total: LineTotal) -> bool:
    """Whether covered lines say what they cost at list prices: nothing is said of it by nothing."""
    return bool(total.money.get("list")) or not total.covered


def listed_use(used: Sequence[LineTotal], paid: Decimal, on_demand_hours: float, priced: PricedLines) -> ListedUse:
    """The list costs of a kind of which so many hours ran on demand: at the price of these, what covered lines do not
    say of theirs."""
    if not any("list" in t.money for t in used) and (paid or not any(t.listed for t in used)):
        return ListedUse(None, None)
    if any(t.line.option is None and not t.money.get("list") and priced.paid([t]) > 0 for t in used):
        return ListedUse(None, None)
    covered = [t for t in used if t.line.kind is LineKind.COVERED]
    unlisted = [t for t in covered if not has_list_cost(t)]
    at_list = priced.of(covered, "list")
    if unlisted:
        alone = priced.of((t for t in used if t.line.option is None), "list")
        if not alone or not on_demand_hours:
            return ListedUse(None, None)
        more = alone * Decimal(sum(t.covered for t in unlisted)) / Decimal(on_demand_hours)
        at_list += more.quantize(_CENTS_OF_MILLIONTHS)
    told_apart = all("list" in t.money or t in unlisted for t in covered)
    rest = priced.of((t for t in used if t.line.kind is not LineKind.COVERED), "list")
    return ListedUse(rest + at_list, at_list + _taken_off(used, rest, priced) if told_apart else None)


def _taken_off(used: Sequence[LineTotal], listed: Decimal, priced: PricedLines) -> Decimal:
    """The list cost of what commitments cover of use that is billed in full, by what is taken off it: vCPUs alone may
    be covered, or memory."""
    off = priced.of((t for t in used if t.line.stream is Stream.COVERED), "cost")
    full = priced.of((t for t in used if t.line.kind is LineKind.ON_DEMAND), "cost")
    return min(-off * listed / full, listed).quantize(_CENTS_OF_MILLIONTHS) if off and full > 0 else Decimal(0)
