"""Purchases for all kinds of machines of a bill together: each in the number at which the whole costs least."""

from __future__ import annotations

from collections.abc import Sequence

from hcloud.planning.billed.applied import AppliedPools
from hcloud.planning.billed.estate import BilledEstate, KindPurchase

LEAST_GAIN = 0.01  # ours: dollars of the horizon that another number must save


def better(estate: BilledEstate, bought: Sequence[KindPurchase]) -> tuple[KindPurchase, ...]:
    """The purchases in numbers that cost less of the whole: each raised or lowered while that saves, in steps that
    become smaller, until no single instance more or less of any saves; from the numbers that are given and from none,
    as what frees a commitment for another kind may pay alone and not beside others."""
    searches = [_Search(estate, list(bought)), _Search(estate, [purchase.of(0) for purchase in bought])]
    most = max((purchase.holding.count for purchase in bought), default=0)
    best = min((search.run(max(most // 4, 1)) for search in searches), key=lambda kept: estate.costs(kept).total)
    return tuple(best)


class _Search:
    def __init__(self, estate: BilledEstate, bought: list[KindPurchase]) -> None:
        self.bought, self.applied = bought, AppliedPools(estate, bought)

    def run(self, step: int) -> list[KindPurchase]:
        """What is found: at each step all, then those that moved, and at the last all until none moves."""
        every: Sequence[int] = range(len(self.bought))
        tried = every
        while True:
            moved = [number for number in tried if self.moved(number, step)]
            if not moved and step <= 1 and tried is every:
                return self.bought
            step = step if moved else max(step // 2, 1)
            tried = moved or every

    def moved(self, number: int, step: int) -> bool:
        """Whether another number of one purchase saves; then it has it."""
        all_of_it = -self.bought[number].holding.count
        return self._goes(number, step) or self._goes(number, -step) or self._tried(number, all_of_it)

    def _goes(self, number: int, step: int) -> bool:
        before = self.bought[number].holding.count
        while self._tried(number, step):
            pass
        return self.bought[number].holding.count != before

    def _tried(self, number: int, step: int) -> bool:
        purchase = self.bought[number]
        most = purchase.holding.offer.remaining
        count = max(purchase.holding.count + step, 0)
        if count == purchase.holding.count or (most is not None and count > most):
            return False
        if self.applied.moved(purchase, count).dollars > -LEAST_GAIN:
            return False
        self.applied.hold(purchase, count)
        self.bought[number] = purchase.of(count)
        return True
