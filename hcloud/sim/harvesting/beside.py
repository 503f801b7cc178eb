"""The reserved servers of a simulated run as idle capacity: what services leave of what they hold, and each server's
class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.control.state import OWN
from hcloud.harvest.classes import UseClass, UseTypes
from hcloud.harvest.histories import DAY, TenantHistories
from hcloud.harvest.typing import Pattern
from hcloud.policy.records import column
from hcloud.sim.harvesting.graphs import MIB, VCPU
from hcloud.sim.harvesting.setup import IdlePool, idle_pool
from hcloud.sim.run import RunOutcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Ints = NDArray[np.int64]

SILENT = -1
"""Instead of the history of a task: it is batch, or a service that has none."""
UNKNOWN = "without history"
STEP = 60
"""Ours: a minute."""
_MOST_CELLS, _WEEK = 8_000_000, 7


def idle_beside(
    outcome: RunOutcome, types: UseTypes, history: Ints, times: tuple[float, float], least: int = STEP
) -> IdlePool:
    """The reserved servers for so many seconds from the begin of a run on, which is at a second of the trace (both are
    ``times``). ``history`` is of each task the row of its service's history.

    Only what such services leave of what they hold is idle: all else belongs to the strategy. A server is of the class
    whose services hold most of it; where there are none nothing is idle. A job that moved counts where it ended. What
    services use is told in steps of so many seconds at ``least``.
    """
    (begins, seconds), servers = times, outcome.world.control.servers
    count = outcome.world.heat.shape[1]
    kinds = column(outcome.world.control.kinds, "cores"), column(outcome.world.control.kinds, "memory")
    kind = column(servers, "kind")[:count].astype(np.int64)
    cores = kinds[0][kind].astype(np.float64)
    step = _step(count, seconds, least)
    steps = int(seconds // step) + 1
    use, weight = np.ones((count, steps)), np.zeros((count, len(types.classes) + 1))
    rows, server = _on_reserved(outcome, column(servers, "serial")[:count])
    part, at = outcome.of_tasks("cores")[rows] / cores[server], begins + step * np.arange(steps, dtype=np.float64)
    for one in np.unique(history[rows][history[rows] >= 0]).tolist():
        mine = history[rows] == one
        held = _held(outcome, rows[mine], (server[mine], part[mine]), (count, steps, step))
        weight[:, types.label[one]] += held.sum(axis=1)
        use -= held * (1.0 - course(types.histories, one, at))
    use = np.clip(use, 0.0, 1.0)
    of_class = np.where(weight.any(axis=1), weight.argmax(axis=1), len(types.classes))
    rest = of_class == len(types.classes)
    size = int(rest.sum()), float(cores[rest].sum()) / VCPU
    unknown = UseClass(UNKNOWN, Pattern.UNPREDICTABLE, (), *size, 1.0, 1.0, 1.0, (), 0.0, 0.0, 0.0)
    known = replace(types, classes=(*types.classes, unknown), label=of_class)
    sized = cores / VCPU, kinds[1][kind] / MIB, np.arange(count)
    return idle_pool(known, use.astype(np.float32), step, sized)


def _step(servers: int, seconds: float, least: int) -> int:
    """The least, or as many of it as keep the table small."""
    return least * max(int(np.ceil(servers * seconds / least / _MOST_CELLS)), 1)


def _on_reserved(outcome: RunOutcome, serials: Ints) -> tuple[Ints, Ints]:
    """The tasks that ran on reserved servers, and the servers."""
    ran = np.flatnonzero((outcome.of_tasks("paid") == OWN) & (outcome.of_tasks("began") >= 0))
    order = np.argsort(serials, kind="stable")
    serial = outcome.of_tasks("serial")[ran]
    place = np.minimum(np.searchsorted(serials[order], serial), len(serials) - 1)
    known = serials[order][place] == serial
    return ran[known], order[place[known]]


def _held(outcome: RunOutcome, rows: Ints, on: tuple[Ints, Floats], shape: tuple[int, int, int]) -> Floats:
    """What some tasks hold of each server in each step that they are there in, as shares of it."""
    count, steps, step = shape
    server, part = on
    ended = outcome.of_tasks("ended")[rows]
    first = np.minimum(outcome.of_tasks("began")[rows] // step, steps).astype(np.int64)
    last = np.where(ended < 0, steps, np.minimum(np.ceil(ended / step), steps)).astype(np.int64)
    change = np.zeros((count, steps + 1))
    np.add.at(change, (server, first), part)
    np.subtract.at(change, (server, last), part)
    held: Floats = np.cumsum(change, axis=1)[:, :-1]
    return held


def course(histories: TenantHistories, row: int, times: Floats) -> Floats:
    """What a service uses at some times: as on the same date, else on the same weekday as long as there are weeks."""
    days = histories.days // _WEEK * _WEEK or histories.days
    first = histories.start + (histories.days - days) * DAY
    at = ((times - first) % (days * DAY) // histories.step).astype(np.int64)
    found: Floats = histories.use[row, (histories.days - days) * histories.per_day + at].astype(np.float64)
    return found
