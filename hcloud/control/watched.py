"""What is known of a job that is watched when it comes; and best effort that leaves its server when others need what it
has: those that run there, or one that came and would wait."""

from __future__ import annotations

import math

from hcloud.control.admission import wait_in_queue
from hcloud.control.pieces import is_piece, next_piece, pieces_of
from hcloud.control.searching.candidates import may_run_on
from hcloud.control.searching.renting import command, sit_down
from hcloud.control.servers.tenancy import free_cores, unseat
from hcloud.control.state import OWN, UP, Control
from hcloud.control.waits.mixing import note_end
from hcloud.control.waits.queue import append, await_opening, cause_of, is_behind
from hcloud.policy.codes import DISPLACES, MOVE, PLACE, POOL_FULL, QUEUE, RESERVED, WAIT, YIELDS


def begin_watch(c: Control, number: int, now: float) -> None:
    """A job came, with all of its pieces: it was never adjusted, and sizing gives it what it asks for. Best
    effort comes after all others."""
    piece = number
    for _ in range(pieces_of(c, number)):
        mine = c.watched[piece]
        mine.adjusted, mine.way, mine.turned, mine.short, mine.rated = -math.inf, 0, 0, 0, 0.0
        mine.sized, mine.came, mine.asked = c.jobs[piece].ask, now, -math.inf
        mine.beside, mine.last, mine.ahead, mine.of, mine.to_add, mine.to_drop = 0, 0, 0, 0, 0, 0
        if mine.spare and c.rules.evict:
            c.jobs[piece].urgent = -1
            c.desk.lenders += 1
        piece = next_piece(c, piece)


def lent(c: Control, place: int, besides: int) -> tuple[int, int]:
    """Thousandths of a vCPU and MiB that best effort has on a server, but for one job."""
    cores, memory, tenant = 0, 0, c.servers[place].first
    while tenant >= 0:
        yields = c.watched[tenant].spare == 1 and tenant != besides
        cores += c.jobs[tenant].cores if yields else 0
        memory += c.jobs[tenant].memory if yields else 0
        tenant = c.jobs[tenant].next
    return cores, memory


def evict(c: Control, place: int, wanted: tuple[int, int], besides: int, now: float) -> None:
    """Best effort leaves a server, the youngest first, until so much is free, or nobody is left that yields."""
    while free_cores(c, place) < wanted[0] or _free_memory(c, place) < wanted[1]:
        youngest, tenant = -1, c.servers[place].first
        while tenant >= 0:
            later = youngest < 0 or c.jobs[tenant].seated > c.jobs[youngest].seated
            youngest = tenant if c.watched[tenant].spare and tenant != besides and later else youngest
            tenant = c.jobs[tenant].next
        if youngest < 0:
            break
        _stop(c, youngest, now)


def _free_memory(c: Control, place: int) -> int:
    return c.kinds[c.servers[place].kind].memory - c.servers[place].memory


def _stop(c: Control, number: int, now: float) -> None:
    """Best effort yields: it goes back into the queue."""
    job, place = c.jobs[number], c.jobs[number].server
    command(c, MOVE, number, place, (0, YIELDS, 0.0))
    if c.rules.classes > 0:
        note_end(c, job, place, now)
    unseat(c, number)
    c.desk.used -= job.cores
    c.desk.left += 1.0
    c.desk.stayed += now - job.seated
    job.asked = now
    job.cause, job.pace = cause_of(c, job, 1)
    await_opening(job)
    append(c, number)
    command(c, WAIT, number, -1, (QUEUE, POOL_FULL, 0.0))


def displace_or_wait(c: Control, number: int, verdict: tuple[int, int, float], now: float) -> None:
    """A job that would have to wait gets what best effort has on a server, if that suffices; else it waits. It passes
    none that wait and are as urgent."""
    job, place = c.jobs[number], -1
    if not is_behind(c, job):
        place = _with_least_evicted(c, number)
    if place < 0:
        wait_in_queue(c, number, verdict)
        return
    evict(c, place, (job.ask, job.memory), -1, now)
    sit_down(c, number, place, job.ask)
    command(c, PLACE, number, place, (RESERVED, DISPLACES, 0.0))


def displace_for_queued(c: Control, number: int, now: float) -> None:
    """The same for a job that waits, if there is one: best effort leaves, and the job is yet to be placed."""
    place = _with_least_evicted(c, number)
    if place >= 0:
        evict(c, place, (c.jobs[number].ask, c.jobs[number].memory), -1, now)


def _with_least_evicted(c: Control, number: int) -> int:
    """The reserved server that has room for a job once best effort has left, the one with most free now; -1: none."""
    job, found, most = c.jobs[number], -1, -1
    if c.watched[number].spare or is_piece(job):
        return -1
    for place in range(len(c.servers)):
        server = c.servers[place]
        if server.paid != OWN or server.status != UP or not may_run_on(c, job, server.kind):
            continue
        free = free_cores(c, place)
        if free <= most or free >= c.kinds[server.kind].cores:
            continue
        cores, memory = lent(c, place, -1)
        if free + cores >= job.ask and _free_memory(c, place) + memory >= job.memory:
            found, most = place, free
    return found
