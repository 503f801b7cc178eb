"""Queues of classes: who joins which, in what order, and when a job that waits is looked after: it goes to the queue
below, or the end of its window is near, or there (Paragon §4.2)."""

from __future__ import annotations

import math

from hcloud.control.searching.candidates import may_run_on
from hcloud.control.state import Control, Job
from hcloud.policy.waiting.busy import survives
from hcloud.policy.waiting.classes import POINTS, leaving_time, middle_of

MOST_TENANTS = 16
"""Ours: running jobs of a pool that a chance of a free server is counted on at most; more count alike."""
_NEARLY = 0.1
"""Ours: the last tenth of a window, in which a job comes first where the shortest otherwise do."""

AT_ONCE = -1e18
"""The slack of a copy of a job, which waits for no pool: whoever wants it looked for a server that has room."""


def join(c: Control, number: int, line: int, now: float) -> None:
    """A job joins the queue of a class (or, as the last, of those whose window is over), at the end or where the order
    puts it."""
    job = c.jobs[number]
    job.line, job.tried, job.hurried = line + 1, 0, 0
    insert(c, number, line)
    schedule(c, job, now)


def begin_wait(c: Control, job: Job, now: float) -> None:
    """From now on the window of a job runs."""
    job.until = now + max(c.rules.window_share * job.slack, 0.0) if c.rules.windowed else math.inf
    job.line, job.hurried, job.tried = 0, 0, 0


def never_waits(c: Control, job: Job) -> bool:
    """Whether a job's window is over when it begins."""
    return bool(job.slack <= AT_ONCE or (c.rules.windowed and job.until <= job.asked))


def join_own(c: Control, number: int) -> int:
    """A job joins the queue of its class, or where its window is over that of those who get any server: which."""
    job = c.jobs[number]
    line = c.rules.classes if never_waits(c, job) else job.rank
    join(c, number, line, job.asked)
    return int(line)


def insert(c: Control, number: int, line: int) -> None:
    """Put a job behind all who come before it."""
    queue, job = c.lines[line], c.jobs[number]
    ahead, other = -1, queue.head
    if queue.tail >= 0 and not _comes_before(c, job, c.jobs[queue.tail]):
        ahead, other = queue.tail, -1
    while other >= 0 and not _comes_before(c, job, c.jobs[other]):
        ahead, other = other, c.jobs[other].behind
    job.behind = other
    if ahead >= 0:
        c.jobs[ahead].behind = number
    else:
        queue.head = number
    if other < 0:
        queue.tail = number
    queue.queued += 1
    c.desk.queued += 1


def _comes_before(c: Control, job: Job, other: Job) -> bool:
    """Whether a job goes before one that waits: urgent ones do, then those whose window is nearly over, then shorter
    ones where the rules say so."""
    if job.urgent != other.urgent:
        return bool(job.urgent > other.urgent)
    if job.hurried != other.hurried:
        return bool(job.hurried > other.hurried)
    if job.hurried:
        return bool(job.until < other.until)
    return bool(c.rules.shortest_first and job.expected < other.expected)


def leave_line(c: Control, number: int, ahead: int, now: float) -> None:
    """Take a job out of its queue, ``ahead`` being the one before it (-1: it is the first)."""
    job = c.jobs[number]
    queue = c.lines[job.line - 1]
    if ahead >= 0:
        c.jobs[ahead].behind = job.behind
    else:
        queue.head = job.behind
    if job.behind < 0:
        queue.tail = ahead
    job.behind, job.line = -1, 0
    queue.queued -= 1
    queue.changed += 1
    c.desk.blocked = 0
    c.desk.queued -= 1
    c.desk.last_queued = now


def find_ahead(c: Control, number: int) -> int:
    """The job before one in its queue; -1: it is the first."""
    ahead, other = -1, c.lines[c.jobs[number].line - 1].head
    while other != number:
        ahead, other = other, c.jobs[other].behind
    return int(ahead)


def schedule(c: Control, job: Job, now: float) -> None:
    """When a job that waits is looked after next."""
    line = job.line - 1
    job.leaves, job.due = math.inf, math.inf
    if line == c.rules.classes or not c.rules.windowed:
        return
    if line > 0:
        job.leaves = now + _staying(c, job, line, now)
    job.due = min(job.leaves, job.until)
    if c.rules.shortest_first and not job.hurried:
        job.due = min(job.due, max(job.until - _NEARLY * (job.until - job.asked), now))
    c.desk.wake = min(c.desk.wake, job.due)


def _staying(c: Control, job: Job, line: int, now: float) -> float:
    """Seconds that a job is best to stay in a queue; where nothing is known of how long servers are kept, an even share
    of its window for each queue that is left."""
    window, own, lower = job.until - now, c.lines[line], c.lines[line - 1]
    if own.until <= 0.0 and lower.until <= 0.0:
        return window / (line + 1)
    _find_chances(c, job, line, (window, now))
    _find_chances(c, job, line - 1, (window, now))
    stretched = job.expected + job.slack - (now - job.asked)
    classes = c.rules.classes
    terms = (
        stretched,
        window,
        middle_of(line, c.book[0].edges, classes),
        middle_of(line - 1, c.book[0].edges, classes),
    )
    return leaving_time(own.chance, lower.chance, terms, c.rules.printed_objective == 1)


def _find_chances(c: Control, job: Job, line: int, terms: tuple[float, float]) -> None:
    """The chances that a server of a pool has room for a job after each part of its window, by how long those run there
    whose end would make it."""
    window, now = terms
    pool, chance, counted, looked = c.lines[line], c.lines[line].chance, 0, 0
    for step in range(POINTS + 1):
        chance[step] = 0.0
    place = pool.first
    while place > 0 and counted < MOST_TENANTS and c.servers[place - 1].pool == line + 1 and pool.until > 0.0:
        server = c.servers[place - 1]
        free = c.kinds[server.kind].cores - server.used
        tenant = server.first if may_run_on(c, job, server.kind) else -1
        while tenant >= 0 and counted < MOST_TENANTS:
            other = c.jobs[tenant]
            if free + other.cores >= job.ask:
                age = max(now - other.seated, 0.0)
                begun = survives(pool.survival, pool.until, age)
                for step in range(1, POINTS + 1):
                    chance[step] += begun - survives(pool.survival, pool.until, age + window * step / POINTS)
                counted += 1
            tenant = other.next
        looked += 1
        place = server.worse
    more = pool.servers / looked if looked > 0 else 0.0
    for step in range(POINTS + 1):
        chance[step] = 1.0 - math.exp(-chance[step] * more)
