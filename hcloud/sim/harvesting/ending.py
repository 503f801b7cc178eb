"""Tasks that end or are killed, and what that means for their jobs."""

from __future__ import annotations

from hcloud.harvest.kernels.holding import is_too_often
from hcloud.sim.harvesting.world import ACTIVE, KILLED, MOVED, NEVER, ON_DEMAND, USEFUL, WAITING, IdleWorld


def end_task(w: IdleWorld, row: int, when: float) -> None:
    """A task is done; with the last of a vertex those begin to wait for servers that waited for it."""
    work, job = w.work, w.work.row_job[row]
    vertex = work.row_vertex[row]
    work.undone[row] -= 1
    work.latest[job] = max(work.latest[job], when)
    if work.undone[row] > 0:
        return
    base = work.first_row[job] - (vertex - (row - work.first_row[job]))
    for at in range(work.after_first[vertex], work.after_first[vertex + 1]):
        other = base + work.after[at]
        work.blocked[other] -= 1
        if work.blocked[other] == 0:
            open_row(w, other)
    work.open_rows[job] -= 1
    if work.open_rows[job] == 0:
        end_job(w, job)


def open_row(w: IdleWorld, row: int) -> None:
    """The tasks of a vertex wait for servers."""
    tasks = w.work.undone[row]
    w.work.waiting[row, 0] += tasks
    w.tally[WAITING] += tasks


def end_job(w: IdleWorld, job: int) -> None:
    """A job is done: its length is what the next run of its DAG is expected to take."""
    work = w.work
    work.ended[job] = work.latest[job]
    work.last[work.dag[job]] = work.ended[job] - work.submit[job]
    found = 0
    while work.active[found] != job:
        found += 1
    w.tally[ACTIVE] -= 1
    for at in range(found, w.tally[ACTIVE]):
        work.active[at] = work.active[at + 1]


def requeue(w: IdleWorld, row: int, kills: int, now: float) -> None:
    """A task that was killed starts over; after too many kills the rest of its job moves on demand."""
    job = w.work.row_job[row]
    w.tally[KILLED] += 1
    w.tally[WAITING] += 1
    w.work.killed[job] += 1
    w.work.waiting[row, min(kills + 1, w.work.waiting.shape[1] - 1)] += 1
    if is_too_often(kills + 1, w.rules.kills):
        move(w, job, now)


def move(w: IdleWorld, job: int, now: float) -> None:
    """What of a job has not begun will run on demand."""
    if w.work.moves[job] == NEVER:
        w.work.moves[job] = now + w.rules.spin_up
        w.tally[MOVED] += 1


def end_rented(w: IdleWorld, until: float) -> None:
    """Tasks on demand that end by then."""
    work, at = w.work, 0
    while at < w.tally[ON_DEMAND]:
        if work.rented_end[at] > until:
            at += 1
            continue
        row, when = work.rented_row[at], work.rented_end[at]
        w.tally[ON_DEMAND] -= 1
        last = w.tally[ON_DEMAND]
        work.rented_row[at], work.rented_end[at] = work.rented_row[last], work.rented_end[last]
        end_task(w, row, when)


def end_harvested(w: IdleWorld, row: int, when: float) -> None:
    """A container is done."""
    vertex = w.work.row_vertex[row]
    w.ledger[USEFUL] += w.work.cores[vertex] * w.work.seconds[vertex]
    end_task(w, row, when)
