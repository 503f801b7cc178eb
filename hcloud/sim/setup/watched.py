"""The tables of jobs that are watched, have phases or wait for others, as the kernels of a run read them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hcloud.model.running.strategy import Strategy
from hcloud.policy.records import Ints, Table, column, table
from hcloud.policy.registry import rule_of
from hcloud.policy.repair import EMPTY_SERVER, IN_PLACE
from hcloud.policy.sizes.information import Information
from hcloud.sim.kernels.world import Phase, Stage, TaskWatch
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.streams import stream
from hcloud.sim.setup.vectors import MOST, classification_errors

_BY_TASK = (
    *("submit", "decide", "work", "service", "need", "ask", "memory", "vector", "truth", "coin", "job"),
    *("platform", "expected", "slack", "pieces", "spare", "urgent", "app", "out", "bound", "reached", "think"),
)
"""What of tasks has a row for each."""


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


def with_copies(tasks: Tasks, again: bool, beside: int) -> tuple[Tasks, Ints]:
    """The tasks, and what those are of which there are rows behind them: for a second run of each piece of a batch job
    on several servers where these are begun ``again``, and for so many servers ``beside`` the first of each service.
    They never come by themselves."""
    if not (again or beside):
        return tasks, np.zeros(0, np.int64)
    pieces = np.ones(len(tasks), np.int64) if tasks.pieces is None else tasks.pieces
    lagging = np.flatnonzero((pieces > 1) & (tasks.service == 0) & again)
    rows = np.r_[lagging, np.repeat(np.flatnonzero((pieces <= 1) & (tasks.service == 1)), beside)]
    at = np.r_[np.arange(len(tasks)), rows]
    taken: dict[str, Any] = {name: value[at] for name in _BY_TASK if (value := getattr(tasks, name)) is not None}
    for name in ("submit", "decide"):
        taken[name][len(tasks) :] = np.inf
    if tasks.pieces is not None:
        taken["pieces"][len(tasks) :] = 1
    apart = None if tasks.borne is None else (tasks.borne[0][at], tasks.borne[1][at])
    return replace(tasks, **taken, borne=apart), rows


def watch_table(tasks: Tasks, copied: Ints, *, watched: bool) -> Table[TaskWatch]:
    """A row for each task where any has phases or is watched; else none."""
    made = table(TaskWatch, len(tasks) if watched or tasks.phases is not None else 0)
    if tasks.phases is not None:
        ends = np.searchsorted(tasks.phases.task, np.arange(len(tasks) + 1))
        column(made, "next")[:], column(made, "last")[:] = ends[:-1], ends[1:]
    for field in ("below", "above", "turns", "due"):
        column(made, field)[:] = np.inf
    if len(copied):
        first, at = np.unique(copied, return_index=True)
        column(made, "twin")[first] = len(tasks) - len(copied) + at + 1
        column(made, "twin")[len(tasks) - len(copied) :] = -copied - 1
    column(made, "looked")[:] = -np.inf
    if len(made):
        column(made, "told")[:] = tasks.ask
        column(made, "fit")[:] = tasks.ask if tasks.reached is None else tasks.ask / tasks.reached
        column(made, "known")[:] = 0 if tasks.app is None else tasks.app
        column(made, "out")[:] = 0 if tasks.out is None else tasks.out
    return made


def errors_anew(count: int, strategy: Strategy, seed: int) -> Ints:
    """By how many points what is known of each of so many tasks is off once they are profiled again on an empty server;
    none where that is not done."""
    watching, information = rule_of(strategy, "monitoring"), rule_of(strategy, "information")
    assert isinstance(information, Information)
    count = count if getattr(watching, "measured_on", IN_PLACE) == EMPTY_SERVER else 0
    return np.rint(classification_errors(count, information, stream(seed, "errors anew"))).astype(np.int64)


def stage_tables(tasks: Tasks) -> tuple[Table[Stage], Ints]:
    """A row for each task, and those that wait by whom they wait for; both empty where none waits."""
    if tasks.after is None or not len(tasks.after):
        return table(Stage, 0), np.zeros(0, np.int64)
    waiting, before = tasks.after[np.lexsort((tasks.after[:, 0], tasks.after[:, 1]))].T
    made, rows = table(Stage, len(tasks)), np.arange(len(tasks))
    column(made, "waits")[:] = np.bincount(waiting, minlength=len(tasks))
    column(made, "first")[:] = np.searchsorted(before, rows, "left")
    column(made, "last")[:] = np.searchsorted(before, rows, "right")
    column(made, "pause")[:] = 0.0 if tasks.think is None else tasks.think
    column(made, "since")[:], column(made, "comes")[:] = tasks.submit, tasks.decide
    column(made, "behind")[:] = -1
    return made, np.ascontiguousarray(waiting)
