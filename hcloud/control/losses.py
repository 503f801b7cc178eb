"""What is undone: an instance that is lost or was never launched, a job that is cancelled; and a reserve that grows or
shrinks."""

from __future__ import annotations

from hcloud.control.admission import has_local_queues
from hcloud.control.controller import begin_anew, drain, enlist, leave
from hcloud.control.groups import begin_pieces_anew, rent_pieces
from hcloud.control.mapped import utilisation
from hcloud.control.pieces import is_piece, leave_ring, next_piece, stand_in, unlink
from hcloud.control.searching.local import first_left, no_longer, serve
from hcloud.control.searching.renting import command, release, rent
from hcloud.control.servers.buckets import count_server, recount, reserve_holds
from hcloud.control.servers.pools import rank_server
from hcloud.control.servers.tenancy import reshelve, runs_jobs, unseat
from hcloud.control.state import CLOSED, FREED, INTERRUPTIBLE, OWN, RENTED, UP, Control
from hcloud.control.waits.queue import give_up, hand_over, notice, remove
from hcloud.policy.codes import (
    CANCELLED,
    END,
    HELD_BY_NONE,
    LARGE,
    LAUNCH,
    LAUNCH_FAILED,
    LOST,
    ON_DEMAND,
    POOL_GROWN,
    RESERVED,
    TAKEN_AWAY,
)
from hcloud.policy.mapping import MAP_DYNAMIC, MAP_RESERVED


def lose(c: Control, number: int, why: int, until: float, now: float) -> None:
    """A server is no more: it is lost, it could not be launched (its type is not launched again before ``until``), or
    the reserve shrinks. Jobs that had begun on it and may not begin anew have ended; the others are mapped anew."""
    c.desk.now = now
    server = c.servers[number]
    paid, kind = server.paid, c.kinds[server.kind]
    if why == LAUNCH_FAILED and paid == INTERRUPTIBLE:
        kind.spot_shut = until
    elif why == LAUNCH_FAILED:
        kind.shut = until
    up, anew = runs_jobs(server), False
    job = _empty(c, number, why)
    if paid == OWN:
        c.desk.own -= 1
        c.desk.pool -= kind.cores
        c.desk.freed = FREED + 1  # one of those that are remembered may be this one
    release(c, number, why, now)
    if paid == OWN:
        count_server(c, number, -1)
        if kind.reserved == 0:
            _rent_for_queued(c, now)
    if has_local_queues(c):
        _send_on(c, number, now)
    while job >= 0:
        following, as_paid = c.jobs[job].behind, paid if why == LOST else RENTED
        if is_piece(c.jobs[job]):
            anew = begin_pieces_anew(c, job, (as_paid, up), now) or anew
        else:
            begin_anew(c, job, as_paid, now)  # what was never launched may be launched again
        job = following
    if anew:  # the other pieces left their servers
        drain(c, -1, now)


def _send_on(c: Control, number: int, now: float) -> None:
    """Map those anew who wait at a server that is no more, and nowhere else."""
    waits = first_left(c, number)
    while waits >= 0:
        no_longer(c, waits, now)
        begin_anew(c, waits, RENTED, now)
        waits = first_left(c, number)


def _rent_for_queued(c: Control, now: float) -> None:
    """Rent for those who queue for the reserve and could be held by none of its servers any more."""
    ahead, number = -1, c.desk.head if c.rules.mapping != MAP_RESERVED else -1
    while number >= 0:
        following, job = c.jobs[number].behind, c.jobs[number]
        if reserve_holds(c, job):
            ahead = number
        else:
            remove(c, number, ahead, now)
            verdict = (LARGE if c.rules.mapping == MAP_DYNAMIC else ON_DEMAND, HELD_BY_NONE, 0.0)
            if is_piece(job):
                rent_pieces(c, number, verdict, now)
            else:
                rent(c, number, verdict, -1, now)
        number = following


def _empty(c: Control, number: int, why: int) -> int:
    """Take all tenants off a server that is to be closed, the one that is there longest first: the first of those that
    are to be mapped anew (-1: none), each with the next one behind it."""
    server, first, last = c.servers[number], -1, -1
    tenant = server.first
    while tenant >= 0 and c.jobs[tenant].next >= 0:
        tenant = c.jobs[tenant].next
    while tenant >= 0:
        job, later = c.jobs[tenant], c.jobs[tenant].before
        job.server, job.behind = -1, -1
        if server.paid == OWN:
            c.desk.used -= job.cores
        if runs_jobs(server) and not job.again:
            command(c, END, tenant, number, (0, why, 0.0))
            if is_piece(job):
                leave_ring(c, tenant)
            if c.rules.most_servers > 1:
                unlink(c, tenant)
        elif last >= 0:
            c.jobs[last].behind = tenant
            last = tenant
        else:
            first, last = tenant, tenant
        tenant = later
    return first


def cancel(c: Control, number: int, now: float) -> None:
    """A job ends because its user said so; nothing is learnt from it of its server or of how long others wait."""
    c.desk.now = now
    place = c.jobs[number].server
    if place < 0 and is_piece(c.jobs[number]):
        _cancel_waiting_piece(c, number, now)
    elif place < 0 and c.jobs[number].ticket > 0:
        no_longer(c, number, now)
    elif place < 0:
        give_up(c, number, now)
        drain(c, -1, now)
    elif runs_jobs(c.servers[place]):
        leave(c, number, 1.0, now)
    else:
        if is_piece(c.jobs[number]):
            leave_ring(c, number)
        if c.rules.most_servers > 1:
            unlink(c, number)
        unseat(c, number)
        if c.servers[place].tenants == 0:
            release(c, place, CANCELLED, now)


def _cancel_waiting_piece(c: Control, number: int, now: float) -> None:
    """The other pieces of the job wait on without it: in the queue, where fewer may have room at once, or for pieces
    that have not come yet."""
    standing = stand_in(c, number)
    if standing == number:
        hand_over(c, number, next_piece(c, number))
    if standing >= 0:
        c.desk.queued -= 1
        c.jobs[stand_in(c, number)].tried = 0  # fewer may fit where all did not
    leave_ring(c, number)
    if standing >= 0:
        drain(c, -1, now)


def shut(c: Control, number: int, over: int, now: float) -> None:
    """A server is closed to new jobs, and goes with its last one where it is rented; or it is open again (``over``)."""
    c.desk.now = now
    server = c.servers[number]
    server.status = UP if over else CLOSED
    if c.rules.buckets > 0:
        recount(c, number, False)
    if c.rules.classes > 0:
        rank_server(c, number)
    reshelve(c, number)
    if over:
        c.desk.vacated += 1
        c.desk.blocked = 0
        if has_local_queues(c):
            serve(c, number, now)
        drain(c, -1, now)
    elif server.tenants == 0 and server.paid != OWN:
        release(c, number, TAKEN_AWAY, now)


def grow(c: Control, kind: int, servers: int, now: float) -> None:
    """So many more servers of a type are reserved; who waits for the reserve may begin."""
    c.desk.now = now
    number = -1
    for _ in range(servers):
        number = enlist(c, kind)
        command(c, LAUNCH, -1, number, (RESERVED, POOL_GROWN, 0.0))
    drain(c, -1, now)
    c.desk.freed = FREED
    notice(c, number, utilisation(c) >= c.rules.hard, now)
