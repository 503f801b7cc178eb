"""Purchases for all kinds of machines of a bill together: each in the number at which the whole costs least."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from hcloud.planning.billed.applied import AppliedPools
from hcloud.planning.billed.estate import BilledEstate, KindPurchase
from hcloud.planning.fleets.floor import LeftOut, dearer_by

LEAST_GAIN = 0.01  # ours: dollars of the horizon that another number must save
MOST_EXCHANGED = 24  # ours: of more purchases only what floats is exchanged, once and in quarters: too many pairs
TOLD = 0.98  # ours: the part of what is left that is still left when some more is told to be done


def unheard(_: float) -> None:
    """Progress that nobody listens to."""


def better(
    estate: BilledEstate,
    bought: Sequence[KindPurchase],
    progress: Callable[[float], None] = unheard,
    least: float = 0.0,
) -> tuple[KindPurchase, ...]:
    """The purchases in numbers that cost less of the whole: each raised or lowered while that saves, until no single
    instance more or less of any saves, nor some of one for some of another; from the numbers that are given and, of few
    purchases, from none, as what frees a commitment for another kind may pay alone and not beside others. How many
    passes that takes is not known before: each is told to ``progress`` as the same part of what is left. No purchase,
    nor a part of one, saves less than the part ``least`` of what it costs."""
    dearer = float(dearer_by(least))
    given = _Search(estate, list(bought), progress, dearer).run()
    if len(bought) > MOST_EXCHANGED:
        return tuple(given)
    anew = _Search(estate, [purchase.of(0) for purchase in bought], unheard, dearer).run()
    given_costs, anew_costs = (estate.costs(found).counted(dearer) for found in (given, anew))
    return tuple(given if given_costs <= anew_costs else anew)


def left_out(estate: BilledEstate, found: Sequence[KindPurchase]) -> LeftOut:
    """What more of the same purchases would save, each by itself, if they had not to save a part of what they cost:
    some more of one for some of another may save more than that."""
    search = _Search(estate, list(found), unheard)
    search.raise_each()
    kept, more = estate.costs(found), estate.costs(search.bought)
    return LeftOut(*(Decimal(repr(x)) for x in (more.bought - kept.bought, kept.total - more.total)))


class _Search:
    def __init__(
        self,
        estate: BilledEstate,
        bought: list[KindPurchase],
        progress: Callable[[float], None],
        dearer: float = 1.0,
    ) -> None:
        self.bought, self.applied = bought, AppliedPools(estate, bought, dearer)
        self.progress, self.left = progress, 1.0
        self.many, self.passes = len(bought) > MOST_EXCHANGED, 0

    def run(self) -> list[KindPurchase]:
        """What is found: all are tried, then those that moved, and at the last all until none moves."""
        every: Sequence[int] = range(len(self.bought))
        tried = every
        while True:
            self._tell()
            moved = [number for number in tried if self._moved(number)]
            if not moved and tried is every and ((self.many and self.passes) or not self._exchanged()):
                return self.bought
            tried = moved or every

    def raise_each(self) -> None:
        """Hold more of each alone while that saves."""
        while sum(self._goes(number, 1) for number in range(len(self.bought))):
            pass

    def _tell(self) -> None:
        self.left *= TOLD
        self.progress(1.0 - self.left)

    def _moved(self, number: int) -> bool:
        """Whether another number of one purchase saves; then it has the best that is found."""
        before = self.bought[number].holding.count
        while self._goes(number, 1) or self._goes(number, -1) or self._goes(number, -self.bought[number].holding.count):
            pass
        return self.bought[number].holding.count != before

    def _exchanged(self) -> bool:
        """Whether less of one purchase and more of another saves; then they are held so, all such in one pass."""
        found = False
        for number in range(len(self.bought)):
            self._tell()
            for less in self._fewer(number):
                found |= self._exchanges(number, less)
        self.passes += 1
        return found

    def _fewer(self, number: int) -> Sequence[int]:
        """By how many less one is tried: all of it, and its halves, of many purchases quarters, down to one."""
        count, found = self.bought[number].holding.count, list[int]()
        while count:
            found.append(count)
            count //= 4 if self.many else 2
        return found

    def _exchanges(self, number: int, less: int) -> bool:
        others = [other for other in range(len(self.bought)) if self._differs(number, other)]
        fewer = self.bought[number].holding.count - less
        if fewer < 0 or not others:
            return False
        lost = self._hold(number, fewer)
        if any(self._goes(other, self._instead(number, less, other), lost) for other in others):
            return True
        self._hold(number, fewer + less)
        return False

    def _differs(self, number: int, other: int) -> bool:
        """Whether two purchases cover the same in different ways: dollars of one term that float are the same."""
        one, two = self.bought[number], self.bought[other]
        if number == other or (one.rates is None and two.rates is None):
            return number != other and not self.many
        if one.rates is None or two.rates is None:
            return (one.rates or two.rates or {}).get(one.kind if one.rates is None else two.kind) is not None
        return one.term != two.term and not one.rates.keys().isdisjoint(two.rates)

    def _instead(self, number: int, less: int, other: int) -> int:
        """How many of another are tried first for so many less of one: of many purchases as many as cover the same."""
        one, two = self.bought[number], self.bought[other]
        rates = one.rates or two.rates or {}
        if not self.many:
            return 1
        return max(round(less * _dollars(one, rates) / _dollars(two, rates)), 1)

    def _goes(self, number: int, more: int, lost: float = 0.0) -> bool:
        """Whether more or less of one saves more than was lost; then it is held, doubled while that saves more."""
        purchase, best = self.bought[number], (-LEAST_GAIN - lost, 0)
        while more and self._is_sold(number, purchase.holding.count + more):
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

    def _hold(self, number: int, count: int) -> float:
        dollars = self.applied.hold(self.bought[number], count)
        self.bought[number] = self.bought[number].of(count)
        return dollars


def _dollars(purchase: KindPurchase, rates: Mapping[int, float]) -> float:
    """Dollars an hour of what floats that one covers as much as."""
    if purchase.rates is not None:
        return float(purchase.holding.offer.effective_hourly)
    return purchase.machines * rates[purchase.kind]
