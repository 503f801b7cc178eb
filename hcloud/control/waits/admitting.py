"""Admission by classes: a job waits for a server of the pool of its class, not longer than its window; it goes up past
an empty queue, down when that is the better wait (ARQ: Paragon §4, thesis ch. 6)."""

from __future__ import annotations

import math

from hcloud.control.searching.renting import command, sit_down
from hcloud.control.searching.search import place_for_queued, reserved_for
from hcloud.control.state import Control, Job
from hcloud.control.waits.lines import begin_wait, insert, join, join_own, leave_line, never_waits, schedule
from hcloud.control.waits.mixing import note_arrival
from hcloud.policy.codes import (
    CLASSED,
    FROM_QUEUE,
    NEVER_WAITS,
    ONLY_RESERVED,
    OWN_POOL,
    PLACE,
    POOL_ABOVE,
    POOL_BELOW,
    POOL_FULL,
    QUEUE,
    RESERVED,
    WAIT,
    WAITS_BELOW,
    WAITS_FOR_ANY,
    WAITS_IN_CLASS,
    WINDOW_OVER,
)

_LOOKED = 64
"""Queued jobs of a class looked at in one go where later ones may overtake."""


def admit(c: Control, number: int, now: float) -> None:
    """A job came: it begins on a server of its class's pool, of the one above where nobody waits for that, or waits."""
    job = c.jobs[number]
    note_arrival(c, number, now)
    begin_wait(c, job, now)
    place, reason = -1, 0
    if never_waits(c, job):
        place, reason = reserved_for(c, job, -1), CLASSED * NEVER_WAITS + job.rank
    elif c.rules.overtaking or c.lines[job.rank].queued == 0:
        place, reason = _place_in(c, job, job.rank)
    if place >= 0:
        sit_down(c, number, place, job.ask)
        command(c, PLACE, number, place, (RESERVED, reason, 0.0))
    else:
        _queue(c, number)


def _queue(c: Control, number: int) -> None:
    job = c.jobs[number]
    line = join_own(c, number)
    reason = CLASSED * (WAITS_FOR_ANY if line == c.rules.classes else WAITS_IN_CLASS) + job.rank
    command(c, WAIT, number, -1, (QUEUE, POOL_FULL if _is_one_queue(c) else reason, _told(c, job)))


def _told(c: Control, job: Job) -> float:
    return float(job.until) if c.rules.windowed else 0.0


def _is_one_queue(c: Control) -> bool:
    """Whether jobs wait in the order in which they came, for any server and however long."""
    return c.rules.classes == 1 and not c.rules.windowed


def _place_in(c: Control, job: Job, line: int) -> tuple[int, int]:
    """A server of the pool of a class where nobody suffers, or of the one above where nobody waits there (-1: none);
    and the word for it."""
    if _is_one_queue(c):
        return reserved_for(c, job, -1), ONLY_RESERVED
    place = _search(c, job, line)
    if place >= 0:
        return place, CLASSED * (OWN_POOL if line == job.rank else POOL_BELOW) + line
    if line + 1 < c.rules.classes and c.lines[line + 1].queued == 0:
        place = _search(c, job, line + 1)
        if place >= 0:
            c.lines[line].ups += 1
        return place, CLASSED * POOL_ABOVE + line + 1
    return -1, 0


def _search(c: Control, job: Job, line: int) -> int:
    """A server of one pool; without a window any that has room, as nothing else would end a wait."""
    if c.lines[line].servers == 0 and (c.rules.windowed or line != job.rank):
        return -1
    c.desk.within = line + 1 if c.rules.windowed or _holds(c, job, line) else 0
    c.desk.strict = c.rules.windowed
    place = reserved_for(c, job, -1)
    c.desk.within = c.desk.strict = 0
    return place


def _holds(c: Control, job: Job, line: int) -> bool:
    """Whether an empty server of a pool could hold a job."""
    number = c.lines[line].first
    while number > 0 and c.servers[number - 1].pool == line + 1:
        kind = c.kinds[c.servers[number - 1].kind]
        if job.ask <= kind.cores and job.memory <= kind.memory and c.speeds[job.platform, c.servers[number - 1].kind]:
            return True
        number = c.servers[number - 1].worse
    return False


def dispatch(c: Control, freed: int, now: float) -> None:
    """Begin whom servers have room for: those whose window is over first, then class by class from the most demanding;
    ``freed`` is the server that just got room (-1: any may have)."""
    late = c.rules.classes
    _serve(c, late, freed, now)
    for back in range(late):
        _serve(c, late - 1 - back, freed, now)
    pool = c.servers[freed].pool if freed >= 0 else 0
    for line in (pool - 1, pool):
        if pool > 0 and line < late and c.lines[line].head >= 0:
            schedule(c, c.jobs[c.lines[line].head], now)


def _serve(c: Control, line: int, freed: int, now: float) -> None:
    ahead, number, looked = -1, c.lines[line].head, 0
    while number >= 0 and looked < _LOOKED:
        follower = c.jobs[number].behind
        if _begins(c, number, line, (ahead, freed, now)):
            number = follower
            continue
        if not c.rules.overtaking:
            return
        ahead, number = number, follower
        looked += 1


def _begins(c: Control, number: int, line: int, terms: tuple[int, int, float]) -> bool:
    """Whether a job of a queue gets a server; ``terms`` are the job ahead of it, the server that got room, the time."""
    ahead, freed, now = terms
    job = c.jobs[number]
    if line == c.rules.classes:
        place, reason = reserved_for(c, job, -1), CLASSED * WINDOW_OVER + job.rank
    elif _is_one_queue(c):
        place, reason = place_for_queued(c, number, freed), FROM_QUEUE
    else:
        stamp = _stamp(c, line)
        if job.tried == stamp:
            return False
        place, reason = _place_in(c, job, line)
        job.tried = stamp
    if place < 0:
        return False
    leave_line(c, number, ahead, now)
    _sit(c, number, place, (reason, now))
    return True


def _sit(c: Control, number: int, place: int, terms: tuple[int, float]) -> None:
    reason, now = terms
    sit_down(c, number, place, c.jobs[number].ask)
    command(c, PLACE, number, place, (RESERVED, reason, now - c.jobs[number].asked))


def _stamp(c: Control, line: int) -> int:
    """Changes when a pool that a queue may use does, so that a look in vain need not be repeated."""
    stamp = 1 + c.lines[line].changed
    if line + 1 < c.rules.classes:
        stamp += c.lines[line + 1].changed
    return int(stamp)


def wake_up(c: Control, now: float) -> None:
    """Look after those who wait and are due."""
    c.desk.now, c.desk.wake = now, math.inf
    for back in range(c.rules.classes):
        line = c.rules.classes - 1 - back
        ahead, number = -1, c.lines[line].head
        while number >= 0:
            follower = c.jobs[number].behind
            if c.jobs[number].due <= now:
                leave_line(c, number, ahead, now)
                _look_after(c, number, line, now)
                if c.jobs[number].line == line + 1 and c.jobs[number].behind == follower:
                    ahead = number
            else:
                c.desk.wake = min(c.desk.wake, c.jobs[number].due)
                ahead = number
            number = follower


def _look_after(c: Control, number: int, line: int, now: float) -> None:
    """The window of a job is over: it gets the best server that there is. Or the queue below is the better wait. Or the
    end is near: it goes to the head of its queue."""
    job = c.jobs[number]
    if now >= job.until:
        c.lines[line].lates += 1
        place = reserved_for(c, job, -1)
        if place >= 0:
            _sit(c, number, place, (CLASSED * WINDOW_OVER + job.rank, now))
            return
        join(c, number, c.rules.classes, now)
        command(c, WAIT, number, -1, (QUEUE, CLASSED * WAITS_FOR_ANY + job.rank, _told(c, job)))
    elif now >= job.leaves:
        c.lines[line].downs += 1
        place, reason = -1, 0
        if c.rules.overtaking or c.lines[line - 1].queued == 0:
            place, reason = _place_in(c, job, line - 1)
        if place >= 0:
            _sit(c, number, place, (reason, now))
            return
        join(c, number, line - 1, now)
        command(c, WAIT, number, -1, (QUEUE, CLASSED * WAITS_BELOW + line - 1, _told(c, job)))
    else:
        job.hurried, job.line = 1, line + 1
        insert(c, number, line)
        job.due = min(job.leaves, job.until)
        c.desk.wake = min(c.desk.wake, job.due)
