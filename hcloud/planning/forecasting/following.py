"""Jobs that wait for the end of others: who waits for whom among the jobs that are left, and when each comes at the
soonest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcloud.harvest.tasks.dags import in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Codes, Floats, Ints, Jobs


def earliest(submit: Floats, duration: Floats, after: Ints, think: Floats | None = None) -> Floats:
    """When each job comes if nobody waits for a server: with its own submission, or so many seconds (``think``) after
    the last end of those before it. ``after`` [pair] are the rows of a job and of one that has to end before; none
    waits for itself."""
    before: list[list[int]] = [[] for _ in range(len(submit))]
    for job, one in after.tolist():
        before[job].append(one)
    made, lengths = submit.tolist(), duration.tolist()
    pauses = [0.0] * len(made) if think is None else think.tolist()
    for row in in_order(before)[0]:
        for one in before[row]:
            made[row] = max(made[row], made[one] + lengths[one] + pauses[row])
    return np.array(made, np.float64)


def waits_of(jobs: Jobs) -> Ints:
    """The rows of each job that waits and of each that it waits for, sorted; no rows where none waits. Who waits for a
    job that was left out waits for those that this one would have waited for."""
    if jobs.after is None or jobs.serial is None:
        return np.zeros((0, 2), np.int64)
    row = np.full(max(int(jobs.after.max(initial=-1)), int(jobs.serial.max(initial=-1))) + 1, -1, np.int64)
    row[jobs.serial] = np.arange(len(jobs.serial))
    return among(jobs.after, row)


def among(after: Ints, place: Ints) -> Ints:
    """The same pairs by other numbers, sorted: of each number its ``place``, -1 where it is left out."""
    known = after[np.lexsort((after[:, 1], after[:, 0]))]
    pairs = known[place[known[:, 0]] >= 0]
    while (gone := place[pairs[:, 1]] < 0).any():
        at, beyond = matches(pairs[gone, 1], known[:, 0])
        bridged = np.column_stack([pairs[gone, 0][at], known[beyond, 1]])
        pairs = np.unique(np.concatenate([pairs[~gone], bridged]), axis=0)
    made = place[pairs]
    ordered: Ints = made[np.lexsort((made[:, 1], made[:, 0]))]
    return ordered


def matches(wanted: Ints | Codes, ordered: Ints) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places of what is ``wanted``, and for each the places where it stands in what is ``ordered``: a pair for
    each time that it does."""
    low, high = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
    counts = high - low
    at = np.repeat(np.arange(len(wanted)), counts)
    steps = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    return at, low[at] + steps
