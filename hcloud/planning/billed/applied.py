"""What floats, applied to the kinds of a bill in order, and what another number of one purchase changes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hcloud.planning.billed.estate import BilledEstate, KindPurchase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Steps = NDArray[np.int64] | slice

EVERY = slice(None)


@dataclass(slots=True)
class MovedPurchase:
    """What another number of a purchase changes: ``dollars`` of the horizon, the machines ``rented`` of kinds, and
    those of one kind ``beside`` what is bound to it. On the way through the order:
    how many more dollars pools have (``rooms``; a step is changed where slack is below ``wanted``), and how many more
    machines of kinds are left (``lefts``)."""

    dollars: float
    rented: list[tuple[int, Steps, Floats]] = field(default_factory=list)
    beside: dict[int, Floats] = field(default_factory=dict)
    rooms: dict[int, Floats] = field(default_factory=dict)
    wanted: dict[int, Floats] = field(default_factory=dict)
    lefts: dict[int, Floats] = field(default_factory=dict)

    def pooled(self, number: int, at: Steps, dollars: Floats, steps: int) -> None:
        """A pool has so many more dollars at some of all ``steps``. More change those where some were missing, less
        those where they are not left."""
        room = self.rooms.setdefault(number, np.zeros(steps))
        wanted = self.wanted.setdefault(number, np.full(steps, -np.inf))
        room[at], wanted[at] = dollars, np.where(dollars != 0, np.maximum(-dollars, 0.0), -np.inf)
        if not room.any():
            del self.rooms[number], self.wanted[number]

    def needed(self, kind: int, at: Steps, machines: Floats, steps: int) -> None:
        """So many more machines of a kind are left at some of all ``steps``."""
        self.lefts.setdefault(kind, np.zeros(steps))[at] = machines
        if not self.lefts[kind].any():
            del self.lefts[kind]


class AppliedPools:
    """The pools of an estate and of what is bought, applied in order. ``slack`` is, at each place of the order and each
    step, what is left of a pool after it, in dollars; below zero what is missing to cover the kind. Another number of a
    purchase is followed through the steps and places alone at which it changes that, not played anew."""

    def __init__(self, estate: BilledEstate, bought: Sequence[KindPurchase]) -> None:
        self.estate, pools = estate, estate.floating(bought)
        self.order, rooms = estate.order(pools), [pool.dollars for pool in pools]
        self.number = {term: len(estate.pools) + n for n, term in enumerate(estate.terms(bought))}
        self.beside = estate.beside_bound(bought)
        self.left = [np.maximum(machines, 0.0) for machines in self.beside]
        self.steps = len(self.left[0])
        self.slack: list[Floats] = []
        for rate, number, kind in self.order:
            slack = rooms[number] - self.left[kind] * rate
            rooms[number] = np.maximum(slack, 0.0)
            self.left[kind] = (rooms[number] - slack) / rate
            self.slack.append(slack)
        self.last = {kind: place for place, (_, _, kind) in enumerate(self.order)}

    def moved(self, purchase: KindPurchase, count: int, *, keep: bool = False) -> MovedPurchase:
        """What it changes to hold so many of a purchase; these are held then where they are to be kept."""
        more = count - purchase.holding.count
        found = MovedPurchase(float(purchase.holding.offer.term_cost) * more)
        change = np.zeros(self.steps)
        if purchase.rates is None:
            change[purchase.steps] = -more * purchase.machines
            self._bound(found, purchase.kind, change)
        else:
            change[purchase.steps] = float(purchase.holding.offer.effective_hourly) * more
            found.pooled(self.number[purchase.term], EVERY, change, self.steps)
        for place in range(len(self.order)):
            self._follow(found, place, keep=keep)
        found.dollars += sum(self._dollars(*one) for one in found.rented)
        return found

    def hold(self, purchase: KindPurchase, count: int) -> None:
        """Hold so many of it from now on."""
        moved = self.moved(purchase, count, keep=True)
        for kind, at, machines in moved.rented:
            self.left[kind][at] += machines
        for kind, machines in moved.beside.items():
            self.beside[kind] = machines

    def _bound(self, moved: MovedPurchase, kind: int, change: Floats) -> None:
        """Follow machines that are bound to a kind."""
        before, after = self.beside[kind], self.beside[kind] + change
        moved.beside[kind] = after
        needed = np.maximum(after, 0.0) - np.maximum(before, 0.0)
        if kind in self.last:
            moved.needed(kind, EVERY, needed, self.steps)
        else:
            moved.rented.append((kind, EVERY, needed))

    def _follow(self, moved: MovedPurchase, place: int, *, keep: bool) -> None:
        """Follow what changes to a place of the order."""
        at = self._changed(moved, place)
        slacks = None if at is None else (self.slack[place][at], self._slack(moved, place, at))
        if keep:
            self.slack[place] = self._slack(moved, place, EVERY)
        if at is not None and slacks is not None:
            self._pass_on(moved, place, at, slacks)

    def _slack(self, moved: MovedPurchase, place: int, at: Steps) -> Floats:
        """The slack of a place after it has changed."""
        rate, number, kind = self.order[place]
        slack = self.slack[place][at]
        if number in moved.rooms:
            slack = slack + moved.rooms[number][at]
        return slack - moved.lefts[kind][at] * rate if kind in moved.lefts else slack

    def _pass_on(self, moved: MovedPurchase, place: int, at: Steps, slacks: tuple[Floats, Floats]) -> None:
        """What the places behind have of it, where slack was the first and is the second now."""
        rate, number, kind = self.order[place]
        before, after = slacks
        dollars = np.maximum(after, 0.0) - np.maximum(before, 0.0)
        machines = (dollars - (after - before)) / rate
        moved.pooled(number, at, dollars, self.steps)
        if place == self.last[kind]:
            moved.rented.append((kind, at, machines))
        else:
            moved.needed(kind, at, machines, self.steps)

    def _changed(self, moved: MovedPurchase, place: int) -> Steps | None:
        """The steps that may change at a place, None where none does."""
        _, number, kind = self.order[place]
        if kind in moved.lefts:
            return EVERY
        if number not in moved.wanted:
            return None
        at = np.flatnonzero(self.slack[place] < moved.wanted[number])
        return at if len(at) else None

    def _dollars(self, kind: int, at: Steps, machines: Floats) -> float:
        """What so many more machines of a kind cost on demand."""
        of = self.estate.kinds[kind]
        if of.candidate is None or of.candidate.sustained is None:
            return 0.0 if of.candidate is None else float(machines.sum()) * self.estate.step_hours * of.price
        left = self.left[kind].copy()
        left[at] += machines
        return of.rented(left) - of.rented(self.left[kind])
