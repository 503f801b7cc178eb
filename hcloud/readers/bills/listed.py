"""What usage costs at public on-demand prices, as far as its lines say it or others of the same machines do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.bill import LineKind
from hcloud.readers.bills.adding import LineTotal
from hcloud.readers.bills.lines import Stream
from hcloud.readers.bills.priced import PricedLines

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
    told_apart = not any(t.line.stream is Stream.COVERED for t in used) and all(
        "list" in t.money or t in unlisted for t in covered
    )
    rest = priced.of((t for t in used if t.line.kind is not LineKind.COVERED), "list")
    return ListedUse(rest + at_list, at_list if told_apart else None)
