"""One-pass kernels around the flow: merge hours into blocks, find contradictions, move purchases ahead."""

from __future__ import annotations

import numpy as np

from hcloud.planning.reserving.flow import Flags, FlowGrid, Ints


def blockwise(ordered: Ints, block: int, unit: int) -> tuple[Ints, Ints, Ints]:
    """Demand, length and first element of each block, in multiples of ``unit``, of demand sorted within its block.

    Inside a block nothing starts or ends, so the order of its hours is free and equal ones are one element.
    """
    hours = len(ordered)
    count = (hours + block - 1) // block
    demand, length = np.empty(hours, np.int64), np.empty(hours, np.int64)
    first = np.empty(count + 1, np.int64)
    e = -1
    for t in range(hours):
        level = (2 * ordered[t] + unit) // (2 * unit)
        if t % block == 0:
            first[t // block] = e + 1
        elif level == demand[e]:
            length[e] += 1
            continue
        e += 1
        demand[e], length[e] = level, 1
    first[count] = e + 1
    return demand[: e + 1], length[: e + 1], first


def contradictions(grid: FlowGrid, held: Ints, low: Ints, high: Ints) -> Flags:
    """Per interval, whether it covers more than the demand of an hour priced as rented, or less than a spare one's."""
    wrong = np.zeros(len(low), np.bool_)
    for a in range(len(low)):
        for e in range(grid.first[a], grid.first[a + 1]):
            demand = grid.demand[e]
            if (demand >= high[a] and held[a] > demand) or (demand <= low[a] and held[a] < demand):
                wrong[a] = True
    return wrong


def start_earlier(grid: FlowGrid, ledger: Ints, spare: Ints) -> bool:
    """Move each purchase ahead while the hour it gives up has units to spare; whether any moved.

    From the last hour to the first, so that one purchase can make room for the one before it. Hourly grids only.
    """
    hours = len(spare)
    moved = False
    for k in range(len(grid.spans)):
        for start in range(hours - 1, 0, -1):
            last = start + grid.spans[k] - 1
            count = ledger[k, start]
            if last < hours and count > 0:
                count = min(count, max(spare[last], 0))
                spare[last] -= count
            if count > 0:
                ledger[k, start] -= count
                ledger[k, start - 1] += count
                spare[start - 1] += count
                moved = True
    return moved
