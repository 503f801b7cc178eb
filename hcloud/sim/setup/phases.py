"""Phases of jobs: how each changes while it runs. They are the simulator's truth; no strategy is told of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcloud.model.running.cloud import CloudModel
from hcloud.model.workload import Jobs
from hcloud.policy.records import Ints, Reals
from hcloud.sim.setup.streams import stream

PHASES = "phases"


@dataclass(frozen=True, slots=True)
class PhaseRows:
    """Phases of tasks, those of a task in their order: the ``task``, the share of its work that is done when it
    begins (``at``), what it needs from then on over what it needed first, and what it causes over that."""

    task: Ints
    at: Reals
    need: Reals
    pressure: Reals


def drawn_phases(count: int, pieces: Ints | None, model: CloudModel, seed: int) -> PhaseRows | None:
    """Phases of so many tasks as a cloud model has them; None without any: a job changes at some share of its work and,
    at a later one, is again as it was. ``pieces`` of a job on several servers do not."""
    share = model.number(PHASES, "share")
    if not share:
        return None
    who, begins, lasts, need, pressure = (
        stream(seed, f"phases {what}").random(count) for what in ("who", "begins", "lasts", "need", "pressure")
    )
    alone = np.ones(count, np.bool_) if pieces is None else pieces <= 1
    rows = np.flatnonzero((who < share) & alone)
    start = _between(model.numbers(PHASES, "begins"), begins[rows])
    end = start + _between(model.numbers(PHASES, "lasts"), lasts[rows])
    ends = end < 1.0
    task = np.r_[rows, rows[ends]]
    back = np.ones(int(ends.sum()))
    made = PhaseRows(
        task,
        np.r_[start, end[ends]],
        np.r_[_by_ratio(model.numbers(PHASES, "need"), need[rows]), back],
        np.r_[_by_ratio(model.numbers(PHASES, "pressure"), pressure[rows]), back],
    )
    order = np.lexsort((made.at, made.task))
    return PhaseRows(made.task[order], made.at[order], made.need[order], made.pressure[order])


def with_courses(phases: PhaseRows | None, jobs: Jobs, rows: Ints) -> PhaseRows | None:
    """The phases of tasks, of which these are the ``rows`` of the workload; those of applications that have a course
    are of that alone."""
    if not jobs.courses:
        return phases
    known = [(code, course) for code, name in enumerate(jobs.apps) if (course := jobs.courses.get(name))]
    given = np.isin(jobs.app[rows], [code for code, _ in known])
    made = (
        []
        if phases is None
        else [[a[~given[phases.task]] for a in (phases.task, phases.at, phases.need, phases.pressure)]]
    )
    for code, course in known:
        mine = np.flatnonzero(jobs.app[rows] == code)
        at, need = (np.tile(values, len(mine)) for values in zip(*course, strict=True))
        made.append([np.repeat(mine, len(course)), at, need, np.ones(len(at))])
    task, at, need, pressure = (np.concatenate(columns) for columns in zip(*made, strict=True))
    order = np.lexsort((at, task))
    return PhaseRows(task[order], at[order], need[order], pressure[order])


def _between(bounds: tuple[float, ...], place: Reals) -> Reals:
    return bounds[0] + (bounds[1] - bounds[0]) * place


def _by_ratio(bounds: tuple[float, ...], place: Reals) -> Reals:
    made: Reals = bounds[0] * (bounds[1] / bounds[0]) ** place
    return made
