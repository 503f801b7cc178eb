"""Phases of jobs: how each changes while it runs. They are the simulator's truth; no strategy is told of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.running.cloud import CloudModel
from hcloud.policy.records import Ints, Reals, Table, column, table
from hcloud.sim.kernels.world import Phase, TaskWatch
from hcloud.sim.setup.streams import stream
from hcloud.sim.setup.vectors import MOST

if TYPE_CHECKING:
    from hcloud.sim.setup.prepare import Tasks

PHASES = "phases"


@dataclass(frozen=True, slots=True)
class PhaseRows:
    """Phases of tasks, those of a task in their order: the ``task``, the share of its work that is done when it
    begins (``at``), what it needs from then on over what it needed first, and what it causes over that."""

    task: Ints
    at: Reals
    need: Reals
    pressure: Reals


def with_phases(tasks: Tasks, model: CloudModel, seed: int) -> Tasks:
    """The tasks with phases as a cloud model has them, if it has any: a job changes at some share of its work and, at a
    later one, is again as it was. Pieces of a job on several servers do not."""
    share = model.number(PHASES, "share")
    if not share:
        return tasks
    who, begins, lasts, need, pressure = (
        stream(seed, f"phases {what}").random(len(tasks)) for what in ("who", "begins", "lasts", "need", "pressure")
    )
    alone = np.ones(len(tasks), np.bool_) if tasks.pieces is None else tasks.pieces <= 1
    rows = np.flatnonzero((who < share) & alone)
    start = _between(model.numbers(PHASES, "begins"), begins[rows])
    end = start + _between(model.numbers(PHASES, "lasts"), lasts[rows])
    ends = end < 1.0
    task = np.r_[rows, rows[ends]]
    count = int(ends.sum())
    made = PhaseRows(
        task,
        np.r_[start, end[ends]],
        np.r_[_by_ratio(model.numbers(PHASES, "need"), need[rows]), np.ones(count)],
        np.r_[_by_ratio(model.numbers(PHASES, "pressure"), pressure[rows]), np.ones(count)],
    )
    order = np.lexsort((made.at, made.task))
    return replace(tasks, phases=PhaseRows(made.task[order], made.at[order], made.need[order], made.pressure[order]))


def _between(bounds: tuple[float, ...], place: Reals) -> Reals:
    return bounds[0] + (bounds[1] - bounds[0]) * place


def _by_ratio(bounds: tuple[float, ...], place: Reals) -> Reals:
    made: Reals = bounds[0] * (bounds[1] / bounds[0]) ** place
    return made


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
