"""What is learnt of the jobs that come: which qualities they need, how much of the reserve each class asks for, for how
long they keep their servers (Paragon §4.1, §4.2)."""

from __future__ import annotations

from hcloud.control.servers.pools import cut_pools
from hcloud.control.state import Control, Job
from hcloud.control.waiting import BUSY, MIXED
from hcloud.policy.records import Reals
from hcloud.policy.waiting.busy import tabulate
from hcloud.policy.waiting.classes import LEVELS, class_of, even_edges, find_edges, level_of_job

_LEAST_SPAN = 1e-3
"""Seconds of the shortest time on a server that is told from none."""


def note_arrival(c: Control, number: int, now: float) -> None:
    """A job came: it is of a class, and of the mix. Now and then classes and pools follow the mix."""
    desk, job = c.desk, c.jobs[number]
    one = c.notes[c.rules.classes * BUSY + desk.mixed % MIXED]
    one.at, one.level, one.amount = now, level_of_job(job.vector), job.ask * max(job.expected, 1.0)
    desk.mixed += 1
    if desk.mixed % c.rules.refit_jobs == 0:
        refit(c, now)
    job.rank = class_of(one.level, c.book[0].edges, c.rules.classes)


def note_end(c: Control, job: Job, place: int, now: float) -> None:
    """A job leaves a server of a pool."""
    pool = c.servers[place].pool
    if pool == 0:
        return
    line = c.lines[pool - 1]
    one = c.notes[(pool - 1) * BUSY + line.seen % BUSY]
    one.at, one.amount = now, max(now - job.seated, _LEAST_SPAN)
    line.seen += 1


def refit(c: Control, now: float) -> None:
    """Classes, the shares of their pools, and how long jobs keep a server there, by what was seen lately."""
    classes, since, book = c.rules.classes, now - c.rules.mix_history, c.book[0]
    total = _count_levels(c, since)
    if total >= c.rules.least_jobs and not c.rules.even_edges:
        find_edges(book.counts, total, book.edges, classes)
    else:
        even_edges(book.edges, classes)
    _share_out(c, since, min(total / max(c.rules.least_jobs, 1), 1.0))
    cut_pools(c)
    for at in range(classes):
        _refit_periods(c, at, since)


def _count_levels(c: Control, since: float) -> int:
    """Jobs of late, by level."""
    total, mix = 0, c.rules.classes * BUSY
    for level in range(LEVELS):
        c.book[0].counts[level] = 0
    for at in range(min(c.desk.mixed, MIXED)):
        if c.notes[mix + at].at >= since:
            c.book[0].counts[c.notes[mix + at].level] += 1
            total += 1
    return total


def _share_out(c: Control, since: float, known: float) -> None:
    """Each pool is to have the share of vCPUs that its class asks for in vCPU-seconds; as far as the mix is not
    ``known``, all have as much."""
    classes, whole, book = c.rules.classes, 0.0, c.book[0]
    mix = classes * BUSY
    for at in range(classes):
        c.lines[at].share = 0.0
    for at in range(min(c.desk.mixed, MIXED)):
        job = c.notes[mix + at]
        if job.at >= since:
            c.lines[class_of(job.level, book.edges, classes)].share += job.amount
            whole += job.amount
    for at in range(classes):
        line = c.lines[at]
        line.share = known * line.share / max(whole, 1e-9) + (1.0 - known) / classes


def _refit_periods(c: Control, at: int, since: float) -> None:
    """How long jobs keep a server of a pool; where none left one lately, how long they do elsewhere."""
    spans = c.book[0].spans
    count = _gather(c, at, spans, (0, since))
    other = 0
    while count == 0 and other < c.rules.classes:
        count = _gather(c, other, spans, (0, since))
        other += 1
    if count > 0:
        _, c.lines[at].until = tabulate(spans, count, c.lines[at].survival)


def _gather(c: Control, at: int, spans: Reals, terms: tuple[int, float]) -> int:
    """Write the times of a pool since then behind those that are there; how many there are then."""
    count, since = terms
    for place in range(min(c.lines[at].seen, BUSY)):
        one = c.notes[at * BUSY + place]
        if one.at >= since and count < BUSY:
            spans[count] = one.amount
            count += 1
    return count
