"""Jobs that wait for the end of others, as the kernels of a run read them."""

from __future__ import annotations

import numpy as np

from hcloud.policy.records import Ints, Table, column, table
from hcloud.sim.kernels.world import Stage
from hcloud.sim.setup.prepare import Tasks


def stage_tables(tasks: Tasks) -> tuple[Table[Stage], Ints]:
    """A row for each task, and those that wait by whom they wait for; both empty where none waits."""
    if tasks.after is None or not len(tasks.after):
        return table(Stage, 0), np.zeros(0, np.int64)
    waiting, before = tasks.after[np.lexsort((tasks.after[:, 0], tasks.after[:, 1]))].T
    made, rows = table(Stage, len(tasks)), np.arange(len(tasks))
    column(made, "waits")[:] = np.bincount(waiting, minlength=len(tasks))
    column(made, "first")[:] = np.searchsorted(before, rows, "left")
    column(made, "last")[:] = np.searchsorted(before, rows, "right")
    column(made, "since")[:], column(made, "comes")[:] = tasks.submit, tasks.decide
    column(made, "behind")[:] = -1
    return made, np.ascontiguousarray(waiting)
