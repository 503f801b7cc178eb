"""Some of the jobs of a run, as all of them were drawn: who else takes part changes nothing of what a job is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hcloud.planning.forecasting.following import among
from hcloud.policy.records import Ints, Reals
from hcloud.sim.setup.phases import PhaseRows
from hcloud.sim.setup.prepare import Tasks

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = (
    "submit", "decide", "work", "service", "need", "ask", "memory", "vector", "truth", "coin", "job", "ids",
    "platform", "expected", "slack", "pieces", "spare", "urgent",
    "bound", "think",
)  # fmt: skip
"""The columns that have a row for each task."""


def some_tasks(tasks: Tasks, keep: NDArray[np.bool_], later: Reals, part: Reals) -> Tasks:
    """The tasks of those jobs that are kept (by the row of the workload), so many seconds later and as so large a part
    of themselves."""
    rows = np.flatnonzero(keep[tasks.job])
    rows = rows[np.argsort(tasks.decide[rows] + later[tasks.job[rows]], kind="stable")]
    columns: dict[str, Any] = {name: _of(getattr(tasks, name), rows) for name in ROWS}
    borne = None if tasks.borne is None else (tasks.borne[0][rows], tasks.borne[1][rows])
    made = replace(tasks, **columns, borne=borne, phases=_phases_of(tasks.phases, rows, len(tasks)))
    made = made if tasks.after is None else replace(made, after=among(tasks.after, _places(rows, len(tasks))))
    shift, share = later[made.job], part[made.job]
    return replace(
        made,
        submit=made.submit + shift,
        decide=made.decide + shift,
        need=_scaled(made.need, share),
        ask=_scaled(made.ask, share),
        memory=np.ceil(made.memory * share).astype(np.int64),
    )


def _of(values: Ints | None, rows: Ints) -> Ints | None:
    return None if values is None else values[rows]


def _scaled(vcpus: Ints, share: Reals) -> Ints:
    made: Ints = np.maximum(np.rint(vcpus * share), 1).astype(np.int64)
    return made


def _places(rows: Ints, count: int) -> Ints:
    """Where each of so many is among some rows; -1: nowhere."""
    place = np.full(count, -1, np.int64)
    place[rows] = np.arange(len(rows))
    return place


def _phases_of(phases: PhaseRows | None, rows: Ints, count: int) -> PhaseRows | None:
    if phases is None:
        return None
    place = _places(rows, count)
    kept = np.flatnonzero(place[phases.task] >= 0)
    kept = kept[np.lexsort((phases.at[kept], place[phases.task[kept]]))]
    return PhaseRows(place[phases.task[kept]], phases.at[kept], phases.need[kept], phases.pressure[kept])
