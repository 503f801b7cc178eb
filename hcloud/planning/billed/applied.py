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

    Numbers = NDArray[np.int64]
    Steps = Numbers | slice

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
        if number not in self.rooms:
            self.rooms[number], self.wanted[number] = np.zeros(steps), np.full(steps, -np.inf)
        room, wanted = self.rooms[number], self.wanted[number]
        room[at], wanted[at] = dollars, np.where(dollars != 0, np.maximum(-dollars, 0.0), -np.inf)
        if not room.any():
            del self.rooms[number], self.wanted[number]

    def needed(self, kind: int, at: Steps, machines: Floats, steps: int) -> None:
        """So many more machines of a kind are left at some of all ``steps``."""
        if kind not in self.lefts:
            self.lefts[kind] = np.zeros(steps)
        self.lefts[kind][at] = machines
        if not self.lefts[kind].any():
            del self.lefts[kind]


class AppliedPools:
    """The pools of an estate and of what is bought, applied in order. Steps that are the same in all of use and of what
    may be held are one, of which ``steps`` are left. ``slack`` is, at each place of the order and each of them,
    what is left of a pool after it, in dollars; below zero what is missing to cover the kind. Another number of a
    purchase is followed through the steps and places alone at which it changes that, not played anew. Dollars of
    purchases count ``dearer`` by that factor."""

    def __init__(self, estate: BilledEstate, bought: Sequence[KindPurchase], dearer: float = 1.0) -> None:
        self.estate, self.dearer, pools = estate, dearer, estate.floating(bought)
        self.order = estate.order(pools)
        self.number = {term: len(estate.pools) + n for n, term in enumerate(estate.terms(bought))}
        self.held = {(p.steps.start, p.steps.stop): _held(p.steps, estate) for p in bought}
        columns = [*(k.machines for k in estate.kinds), *(p.dollars for p in estate.pools), *self.held.values()]
        first, self.which = _distinct(np.column_stack(columns))
        self.weights = np.bincount(self.which) * estate.step_hours
        self.held = {steps: held[first] for steps, held in self.held.items()}
        rooms = [pool.dollars[first] for pool in pools]
        self.beside = [machines[first] for machines in estate.beside_bound(bought)]
        self.left = [np.maximum(machines, 0.0) for machines in self.beside]
        self.steps = len(first)
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
        found = MovedPurchase(float(purchase.holding.offer.term_cost) * self.dearer * more)
        held = self.held[purchase.steps.start, purchase.steps.stop]
        if purchase.rates is None:
            self._bound(found, purchase.kind, held * (-more * purchase.machines))
        else:
            change = held * (float(purchase.holding.offer.effective_hourly) * more)
            found.pooled(self.number[purchase.term], EVERY, change, self.steps)
        for place, (_, number, kind) in enumerate(self.order):
            if number in found.rooms or kind in found.lefts:
                self._follow(found, place, keep=keep)
            elif not found.rooms and not found.lefts:
                break
        found.dollars += sum(self._dollars(*one) for one in found.rented)
        return found

    def hold(self, purchase: KindPurchase, count: int) -> float:
        """Hold so many of it from now on; the dollars of the horizon that it changes."""
        moved = self.moved(purchase, count, keep=True)
        for kind, at, machines in moved.rented:
            self.left[kind][at] += machines
        for kind, machines in moved.beside.items():
            self.beside[kind] = machines
        return moved.dollars

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
        (at,) = (self.slack[place] < moved.wanted[number]).nonzero()
        return at if len(at) else None

    def _dollars(self, kind: int, at: Steps, machines: Floats) -> float:
        """What so many more machines of a kind cost on demand."""
        of = self.estate.kinds[kind]
        if of.candidate is None or of.candidate.sustained is None:
            return 0.0 if of.candidate is None else float(machines @ self.weights[at]) * of.price
        left = self.left[kind].copy()
        left[at] += machines
        return of.rented(left[self.which]) - of.rented(self.left[kind][self.which])


def _held(steps: slice, estate: BilledEstate) -> Floats:
    """1 at the steps that a purchase holds."""
    held = np.zeros(len(estate.kinds[0].machines))
    held[steps] = 1.0
    return held


def _distinct(rows: Floats) -> tuple[Numbers, Numbers]:
    """(the first of all rows that are the same, for each row which of these it is)."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))
    _, first, which = np.unique(whole.ravel(), return_index=True, return_inverse=True)
    return first, which
