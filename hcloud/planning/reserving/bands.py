"""Solves a pool's commitment flow from coarse to fine, keeping only the hours that can still matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hcloud.planning.reserving.flow import Flags, FlowGrid, FlowOptimum, Ints

Kernels = Mapping[str, Callable[..., Any]]

COARSE_LEVELS = 8  # the first pass tells this many levels of demand apart
REFINEMENT = 4  # each further pass tells this many times as many
COARSE_MARGIN = 3  # levels on either side of the coarser answer that stay open: half a coarser level and one more
OPEN_HOURS = 200  # what the first round on all hours has open at least
FIRST_REACH = 2  # levels
BLOCKS_PER_TERM = 15


class BandDemand(NamedTuple):
    """Hourly demand in units, the scaled price of a rented unit-hour, per kind its term in hours and scaled cost."""

    demand: Ints
    rent: int
    terms: Ints
    costs: Ints


def solve_pool(pool: BandDemand, kernels: Kernels) -> tuple[Ints, Ints]:
    """Units bought per kind and hour, and the potentials whose differences are the scaled hour prices.

    Coarse passes only guess the band; the last pass is on all hours and ends when nothing contradicts the band.
    """
    hours = len(pool.demand)
    grid = FlowGrid(pool.demand, np.ones(hours, np.int64), np.arange(hours + 1), pool.terms, pool.costs, pool.rent)
    low, high = guessed_band(pool, kernels)
    margin = ample_margin(pool.demand, low, high)
    answer = settle(grid, (low - margin, high + margin), kernels)
    ledger = answer.ledger
    spare = answer.held - pool.demand
    while kernels["start_earlier"](grid, ledger, spare):
        pass
    return ledger, answer.potential


def guessed_band(pool: BandDemand, kernels: Kernels) -> tuple[Ints, Ints]:
    """Between which levels the optimum holds units in each hour, as far as blocks of hours tell."""
    hours, top = len(pool.demand), int(pool.demand.max())
    block = int(pool.terms.min()) // BLOCKS_PER_TERM
    if block < 2:  # terms of a day or less: their guesses cost more than they save
        return np.zeros(hours, np.int64), np.full(hours, top)
    ordered = sorted_blocks(pool.demand, block)
    spans = np.maximum((2 * pool.terms + block) // (2 * block), 1)
    unit = max(1, top // COARSE_LEVELS)
    count = -(-hours // block)
    low, high = np.zeros(count, np.int64), np.full(count, top)
    while True:
        demand, length, first = kernels["blockwise"](ordered, block, unit)
        grid = FlowGrid(demand, length, first, spans, pool.costs, pool.rent)
        band = low // unit - COARSE_MARGIN, -(-high // unit) + COARSE_MARGIN
        low, high = nearby(settle(grid, band, kernels).held * unit)
        if unit == 1:
            return np.repeat(low, block)[:hours], np.repeat(high, block)[:hours]
        unit = max(1, unit // REFINEMENT)


def ample_margin(demand: Ints, low: Ints, high: Ints) -> int:
    """The least margin around the band that keeps enough hours open: below that a wrong guess costs more than size."""
    outside = np.maximum(low - demand, demand - high)
    few = min(OPEN_HOURS, len(outside) - 1)
    return max(1, int(np.partition(outside, few)[few]))


def sorted_blocks(demand: Ints, block: int) -> Ints:
    """The demand with the hours of each block in growing order."""
    whole = len(demand) // block * block
    return np.concatenate((np.sort(demand[:whole].reshape(-1, block), axis=1).ravel(), np.sort(demand[whole:])))


def nearby(held: Ints) -> tuple[Ints, Ints]:
    """The least and the most held in each interval and the ones next to it."""
    padded = np.concatenate((held[:1], held, held[-1:]))
    around = np.stack((padded[:-2], held, padded[2:]))
    return around.min(axis=0), around.max(axis=0)


def nothing_yet(grid: FlowGrid) -> FlowOptimum:
    """The answer that rents everything: where a solution starts when nothing is known."""
    count, kinds = len(grid.first) - 1, len(grid.spans)
    return FlowOptimum(
        np.zeros((kinds, count), np.int64),
        np.zeros(count, np.int64),
        np.zeros(count + 1, np.int64),
        np.zeros(kinds * count, np.bool_),
        np.zeros(len(grid.demand), np.bool_),
    )


def settle(grid: FlowGrid, band: tuple[Ints, Ints], kernels: Kernels) -> FlowOptimum:
    """The optimum of the grid, solved inside a band that is widened where it is at odds with the answer.

    At odds: prices fixed by the band exceed what commitments cost, or an hour outside contradicts its price. Without
    either the answer is optimal for all hours. Each round starts from the tree of the one before, and opens the band
    further each time in the same place, so it ends.
    """
    low, high = band
    answer: FlowOptimum = nothing_yet(grid)
    reach = np.full(len(low), FIRST_REACH)
    while True:
        answer, (first, last) = kernels["solve_inside"](grid, low, high, answer)
        if first < last:
            odd = np.zeros(len(low), np.bool_)
            odd[first:last] = True
            high = np.where(odd, high + reach, high)
            reach[odd] += reach[odd] // 4 + 1  # slower than below: these rounds are short, too wide a band is not
            continue
        wrong = kernels["contradictions"](grid, answer.held, low, high)
        if not wrong.any():
            return answer
        odd = widened(wrong)
        low = np.where(odd, np.clip(answer.held - 2, low - reach, low), low)
        high = np.where(odd, np.clip(answer.held + 2, high, high + reach), high)
        reach[odd] *= 2


def widened(flags: Flags) -> Flags:
    """The flagged intervals and their neighbours."""
    wide = flags.copy()
    wide[1:] |= flags[:-1]
    wide[:-1] |= flags[1:]
    return wide
