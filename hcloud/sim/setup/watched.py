"""The tables of jobs that are watched or have phases, as the kernels of a run read them."""

from __future__ import annotations

import numpy as np

from hcloud.policy.records import Table, column, table
from hcloud.sim.kernels.world import Phase, TaskWatch
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.vectors import MOST


def phase_table(tasks: Tasks) -> Table[Phase]:
    """The phases of a run's tasks, as its kernels read them."""
    rows = tasks.phases
    made = table(Phase, 0 if rows is None else len(rows.task))
    if rows is None:
        return made
    task, tolerates = rows.task, tasks.true_tolerates
    column(made, "left")[:] = tasks.work[task] * (1.0 - rows.at)
    column(made, "need")[:] = np.maximum(np.rint(tasks.need[task] * rows.need), 1)
    causes = np.clip(np.rint(tasks.truth[task] * rows.pressure[:, None]), 0, MOST).astype(np.int64)
    column(made, "vector")[:] = causes
    column(made, "tolerates")[:] = np.clip(tolerates[task] - (causes - tasks.truth[task]), 0, MOST)
    return made


def watch_table(tasks: Tasks, *, watched: bool) -> Table[TaskWatch]:
    """A row for each task where any has phases or is watched; else none."""
    made = table(TaskWatch, len(tasks) if watched or tasks.phases is not None else 0)
    if tasks.phases is not None:
        ends = np.searchsorted(tasks.phases.task, np.arange(len(tasks) + 1))
        column(made, "next")[:], column(made, "last")[:] = ends[:-1], ends[1:]
    for field in ("below", "above", "turns", "due"):
        column(made, field)[:] = np.inf
    column(made, "looked")[:] = -np.inf
    return made
