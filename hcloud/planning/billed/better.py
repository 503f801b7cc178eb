"""Purchases for all kinds of machines of a bill together: each in the number at which the whole costs least."""

from __future__ import annotations

from collections.abc import Sequence

from hcloud.planning.billed.applied import AppliedPools
from hcloud.planning.billed.estate import BilledEstate, KindPurchase

LEAST_GAIN = 0.01  # ours: dollars of the horizon that another number must save
MOST_EXCHANGED = 24  # ours: of more purchases only what floats is exchanged, and from given numbers: too many pairs


def better(estate: BilledEstate, bought: Sequence[KindPurchase]) -> tuple[KindPurchase, ...]:
    """The purchases in numbers that cost less of the whole: each raised or lowered while that saves, in steps that
    become smaller, until no single instance more or less of any saves, nor some of one for some of another; from the
    numbers that are given and from none, as what frees a commitment for another kind may pay alone and not beside
    others."""
    searches = [_Search(estate, list(bought)), _Search(estate, [purchase.of(0) for purchase in bought])]
    most = max((purchase.holding.count for purchase in bought), default=0)
    best = min((search.run(max(most // 4, 1)) for search in searches), key=lambda kept: estate.costs(kept).total)
    return tuple(best)


class _Search:
    def __init__(self, estate: BilledEstate, bought: list[KindPurchase]) -> None:
        self.bought, self.applied = bought, AppliedPools(estate, bought)
        self.many, self.given = len(bought) > MOST_EXCHANGED, any(purchase.holding.count for purchase in bought)

    def run(self, step: int) -> list[KindPurchase]:
        """What is found: at each step all, then those that moved, and at the last all until none moves."""
        every: Sequence[int] = range(len(self.bought))
        tried = every
        while True:
            moved = [number for number in tried if self.moved(number, step)]
            if not moved and step <= 1 and tried is every and not self._exchanged():
                return self.bought
            step = step if moved else max(step // 2, 1)
            tried = moved or every

    def moved(self, number: int, step: int) -> bool:
        """Whether another number of one purchase saves; then it has it."""
        all_of_it = -self.bought[number].holding.count
        return self._goes(number, step) or self._goes(number, -step) or self._tried(number, all_of_it)

    def _exchanged(self) -> bool:
        """Whether less of one purchase and more of another saves; then they are held so, all such in one pass."""
        if self.many and not self.given:
            return False
        tried = [self._exchanges(number, less) for number in range(len(self.bought)) for less in self._fewer(number)]
        return any(tried)

    def _fewer(self, number: int) -> Sequence[int]:
        """By how many less one is tried: all of it, and its halves down to one."""
        count, found = self.bought[number].holding.count, list[int]()
        while count:
            found.append(count)
            count //= 2
        return found

    def _exchanges(self, number: int, less: int) -> bool:
        others = [other for other in range(len(self.bought)) if self._differs(number, other)]
        fewer = self.bought[number].holding.count - less
        if fewer < 0 or not others:
            return False
        lost = self.applied.moved(self.bought[number], fewer).dollars
        self._hold(number, fewer)
        if any(self._raised(other, lost) for other in others):
            return True
        self._hold(number, fewer + less)
        return False

    def _differs(self, number: int, other: int) -> bool:
        """Whether two purchases cover in different ways: dollars of one term that float are the same."""
        one, two = self.bought[number], self.bought[other]
        if number == other or (one.rates is None and two.rates is None and self.many):
            return False
        return one.rates is None or two.rates is None or one.term != two.term

    def _raised(self, number: int, lost: float) -> bool:
        """Whether more of one saves more than was lost; then it is held. More is doubled while that saves more."""
        purchase, best, more = self.bought[number], (-LEAST_GAIN - lost, 0), 1
        while self._is_sold(number, purchase.holding.count + more):
            dollars = self.applied.moved(purchase, purchase.holding.count + more).dollars
            if dollars >= best[0] and dollars >= 0:
                break
            best, more = min(best, (dollars, more)), more * 2
        if best[1]:
            self._hold(number, purchase.holding.count + best[1])
        return bool(best[1])

    def _is_sold(self, number: int, count: int) -> bool:
        most = self.bought[number].holding.offer.remaining
        return count >= 0 and (most is None or count <= most)

    def _hold(self, number: int, count: int) -> None:
        self.applied.hold(self.bought[number], count)
        self.bought[number] = self.bought[number].of(count)

    def _goes(self, number: int, step: int) -> bool:
        before = self.bought[number].holding.count
        while self._tried(number, step):
            pass
        return self.bought[number].holding.count != before

    def _tried(self, number: int, step: int) -> bool:
        purchase = self.bought[number]
        count = max(purchase.holding.count + step, 0)
        if count == purchase.holding.count or not self._is_sold(number, count):
            return False
        if self.applied.moved(purchase, count).dollars > -LEAST_GAIN:
            return False
        self._hold(number, count)
        return True
