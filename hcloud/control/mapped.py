"""What a mapping decides on: the reserve's use, a place in it, what types offer, how long a wait would be."""

from __future__ import annotations

import math

from hcloud.control.pieces import is_piece
from hcloud.control.searching.search import reserved_for
from hcloud.control.searching.together import choose_servers, forget_choice
from hcloud.control.servers.buckets import reserve_holds
from hcloud.control.state import TO_RENT, TO_RESERVE, Control, Job
from hcloud.control.waits.queue import cause_of, is_behind, promise, promise_nothing, wait_of
from hcloud.policy.codes import AS_BEFORE, LARGE, ON_DEMAND, QUEUE, RESERVED
from hcloud.policy.mapping import MAP_DYNAMIC, Situation, choose
from hcloud.policy.quality import leading, quantile


def utilisation(c: Control) -> float:
    """Share of the reserved vCPUs that is allocated; 1 without a pool."""
    return c.desk.used / c.desk.pool if c.desk.pool > 0 else 1.0


def look(c: Control, number: int, now: float) -> Situation:
    """All that a mapping could look at for a job that has just come, also what its rule would not ask for."""
    job = c.jobs[number]
    searches, looks = c.desk.searches, c.desk.looks  # this look is none of the controller's own
    room = 1 if _reserved_now(c, job, -1) >= 0 else 0
    c.desk.searches, c.desk.looks = searches, looks
    offered = _offered(c, job.kind, now) if job.kind >= 0 else 0
    cause, pace = cause_of(c, job, room)
    if not reserve_holds(c, job):
        return _situation(c, job, -1, offered, math.inf)
    return _situation(c, job, room, offered, wait_of(c, cause, pace, 0.0))


def map_job(c: Control, number: int, now: float, avoid: int) -> tuple[int, tuple[int, int, float]]:
    """The reserved server that could take the job (-1: none), and the verdict of the mapping policy."""
    rules, job = c.rules, c.jobs[number]
    c.desk.found = 0
    promise_nothing(job)
    server = _chosen_now(c, number) if is_piece(job) else _reserved_now(c, job, avoid)
    dynamic, room = rules.mapping == MAP_DYNAMIC, 1 if server >= 0 else 0
    offered, wait = 0, 0.0
    if dynamic:
        offered = _offered(c, job.kind, now)
        c.desk.cold_starts += 1 if c.windows[job.kind].length == 0 else 0
        if offered <= leading(job.high) and (room == 0 or utilisation(c) >= rules.hard):
            wait = promise(c, job, room) if reserve_holds(c, job) else math.inf
    elif server < 0 and not reserve_holds(c, job):
        room = -1
    verdict = choose(rules, _situation(c, job, room, offered, wait))
    if len(c.bound) > 0:
        is_noisy = dynamic and offered <= leading(job.high)
        return server, _as_bound(int(c.bound[number].where), server, LARGE if is_noisy else ON_DEMAND, verdict)
    return server, verdict


def _as_bound(bound: int, server: int, rented: int, verdict: tuple[int, int, float]) -> tuple[int, int, float]:
    """The verdict on a job, but where it is bound to go elsewhere; to the reserve only where a server has room."""
    if bound == TO_RESERVE and server >= 0:
        return RESERVED, AS_BEFORE, 0.0
    if bound == TO_RENT and (verdict[0] == RESERVED or verdict[0] == QUEUE):
        return rented, AS_BEFORE, 0.0
    return verdict


def _reserved_now(c: Control, job: Job, avoid: int) -> int:
    """The reserved server for a job that is mapped (-1: none): it does not overtake unless it may, or is moved."""
    return reserved_for(c, job, avoid) if _may_look(c, job, avoid) else -1


def _may_look(c: Control, job: Job, avoid: int) -> bool:
    held_back = not c.rules.overtaking and avoid < 0 and is_behind(c, job)
    return c.desk.pool > 0 and not held_back


def _chosen_now(c: Control, number: int) -> int:
    """The reserved server for a piece, where all pieces have one (or some, where they need not begin together)."""
    if not _may_look(c, c.jobs[number], -1):
        forget_choice(c, number)
        return -1
    found = choose_servers(c, number)
    return c.jobs[number].chosen if found or c.rules.gang == 0 else -1


def _situation(c: Control, job: Job, room: int, offered: int, wait: float) -> Situation:
    start = c.kinds[c.rules.large].spin_up
    return Situation(
        utilisation(c), c.desk.soft, room, offered, leading(job.high), wait, start, job.coin, job.restartable
    )


def _offered(c: Control, kind: int, now: float) -> int:
    """Q90 of a type, or what is assumed of it before its first sample."""
    quality = quantile(c.windows[kind], now - c.rules.window, c.rules.guarantee)
    if quality >= 0:
        return quality
    return c.kinds[kind].prior if c.rules.prior_first else 0
