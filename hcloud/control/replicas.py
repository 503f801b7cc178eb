"""The servers that a service has beside its first: each is a row of its own, in a chain that begins with the last."""

from __future__ import annotations

from hcloud.control.pieces import is_piece
from hcloud.control.state import Control


def cores_beside(c: Control, number: int) -> int:
    """Thousandths of a vCPU that a service has beside those of its first server."""
    total, row = 0, c.watched[number].last - 1
    while row >= 0:
        total += c.jobs[row].cores if c.jobs[row].server >= 0 else 0
        row = c.watched[row].ahead - 1
    return total


def may_have_more(c: Control, number: int) -> bool:
    """Whether a job is a service that may have another server. One of several pieces has its number."""
    job = c.jobs[number]
    return not job.again and not is_piece(job) and c.watched[number].beside + 1 < c.rules.most_servers


def bar_servers(c: Control, number: int, by: int) -> None:
    """Let nothing come to the servers of a job, or, by less, let it."""
    row, place = c.watched[number].last - 1, c.jobs[number].server
    c.servers[place].status += by
    while row >= 0:
        place = c.jobs[row].server
        if place >= 0:
            c.servers[place].status += by
        row = c.watched[row].ahead - 1


def link(c: Control, number: int, first: int) -> None:
    """A row is the last of the servers of a service from now on. It does not move: it may be given up instead."""
    mine, its = c.watched[number], c.watched[first]
    mine.of, mine.ahead = first + 1, its.last
    its.last, its.beside = number + 1, its.beside + 1
    c.jobs[number].movable = 0


def unlink(c: Control, number: int) -> None:
    """A row that has ended is no server of a service any more; one that is none is left alone."""
    mine = c.watched[number]
    first, mine.of = mine.of - 1, 0
    if first < 0:
        return
    its, later, row = c.watched[first], -1, c.watched[first].last - 1
    while row >= 0 and row != number:
        later, row = row, c.watched[row].ahead - 1
    if row < 0:  # the service ended before it, and its row is another job's
        return
    if later < 0:
        its.last = mine.ahead
    else:
        c.watched[later].ahead = mine.ahead
    its.beside -= 1
