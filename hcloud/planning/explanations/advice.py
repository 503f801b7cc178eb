"""What would bring a plan nearer to its lower bound: other sizes, other families, several of them, or split jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.errors import HcloudError
from hcloud.model.workload import Demand
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.settings import PlanSettings, RiskSettings
from hcloud.units import HOURS_PER_MONTH, format_money

WIDE = 0.10  # ours: a gap to the lower bound that is worth a word
LEAST = Decimal("0.01")  # ours: a way that saves less than this share of the plan is not named


def advice(decision: FleetDecision, book: PriceBook, demand: Demand, given: Given) -> tuple[str, ...]:
    """What would close a wide gap to the lower bound, the most first, each planned for and counted; one sentence where
    nothing would; none where the gap is not wide. What splitting jobs would save is a reason of its own."""
    cost = decision.machines.cost
    if not cost or float(cost) <= decision.lower_bound * (1 + WIDE):
        return ()
    found = sorted(_ways(decision, (book, demand, given)))
    named = [(total, words) for total, words in found if total < cost * (1 - LEAST)]
    if named or (decision.divisible_cost is not None and decision.divisible_cost < cost * (1 - LEAST)):
        return tuple(f"{words} would save {_monthly(cost - total, decision)} a month" for total, words in named)
    unit = decision.types[0].shape
    return (
        f"other sizes, families or split jobs would not bring it nearer: what is above the bound is whole machines "
        f"({unit.name} at the least), paid for while part of them is unused",
    )


def _monthly(dollars: Decimal, decision: FleetDecision) -> str:
    return format_money(dollars / decision.horizon_hours * HOURS_PER_MONTH)


def _ways(decision: FleetDecision, ground: tuple[PriceBook, Demand, Given]) -> Iterator[tuple[Decimal, str]]:
    """What each way would cost over the horizon."""
    settings = replace(decision.settings, risk=RiskSettings(futures=0, falls=()))
    markets = settings.markets
    ways = []
    if any(m.vcpus for m in markets):
        ways.append(
            (replace(settings, markets=tuple(replace(m, vcpus=0) for m in markets)), "all sizes (markets.vcpus)")
        )
    if any(m.families for m in markets):
        every = tuple(replace(m, families=()) for m in markets)
        ways.append((replace(settings, markets=every), "all families (markets.families)"))
    if len(decision.types) == 1 and (not settings.mix_types or settings.mix_min_saving):
        several = replace(settings, mix_types=True, mix_min_saving=0.0)
        ways.append((several, "several families at once (planning.mix_min_saving)"))
    for changed, words in ways:
        if (total := _cost(changed, decision.owned, ground)) is not None:
            yield total, words


def _cost(settings: PlanSettings, owned: Sequence[Owned], ground: tuple[PriceBook, Demand, Given]) -> Decimal | None:
    """The cheapest fleet under other settings; None where they allow none."""
    book, demand, given = ground
    try:
        return decide(book, demand, settings, owned, given).machines.cost
    except HcloudError:
        return None
