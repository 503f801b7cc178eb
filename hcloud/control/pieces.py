"""Jobs of several servers: a row for each piece, linked in a ring; one of them stands for all in the queue. And the
servers that a service has beside its first: each is a row, in a chain that begins with the last."""

from __future__ import annotations

from hcloud.control.state import BARRED, DEAD, OWN, Control, Job
from hcloud.policy.codes import BY_OFFER, BY_PROBES
from hcloud.policy.mapping import MAP_RESERVED
from hcloud.policy.rules import Rules


def are_linked(rules: Rules) -> bool:
    """Whether pieces of a job are decided on together: they begin together, or are drawn from one sample. Elsewhere
    each is a job of its own, as it is with several queues."""
    if rules.classes > 0:
        return False
    chosen = rules.buckets == 0 and rules.ranking not in (BY_PROBES, BY_OFFER)
    sampled = rules.mapping == MAP_RESERVED and chosen
    return bool(rules.gang == 1 or sampled)


def is_piece(job: Job) -> bool:
    """Whether a row is one of several that begin together."""
    return job.piece_after > 0


def next_piece(c: Control, number: int) -> int:
    """The piece after one in its ring; the last is followed by the first."""
    return int(c.jobs[number].piece_after - 1)


def pieces_of(c: Control, number: int) -> int:
    """How many pieces a job has: one where it is on its own."""
    if c.jobs[number].piece_after == 0:
        return 1
    count, other = 1, next_piece(c, number)
    while other != number:
        count, other = count + 1, next_piece(c, other)
    return count


def stand_in(c: Control, number: int) -> int:
    """The piece that stands in the queue for all of a job's; -1 where none does."""
    other = number
    while c.jobs[other].stands == 0:
        other = next_piece(c, other)
        if other == number:
            return -1
    return other


def bar(c: Control, place: int, by: int) -> None:
    """Let no other piece of a job come to the server of one, where they are spread; or, by less, let them. Nor to a
    reserved one of the same rack or zone, where each is to have one of its own: servers with numbers that follow each
    other."""
    apart = c.rules.spread
    if apart > 1 and c.servers[place].paid == OWN:
        first = place - place % apart
        for other in range(first, min(first + apart, len(c.servers))):
            if c.servers[other].paid == OWN and c.servers[other].status != DEAD:
                c.servers[other].status += by
    elif apart > 0:
        c.servers[place].status += by


def is_barred(c: Control, place: int) -> bool:
    """Whether another piece is on a server, or beside it, that a piece must not be."""
    return bool(c.servers[place].status >= BARRED)


def leave_ring(c: Control, number: int) -> None:
    """A piece ended: the others go on as a job of one piece fewer."""
    job = c.jobs[number]
    before, after = job.piece_before - 1, job.piece_after - 1
    c.jobs[before].piece_after, c.jobs[after].piece_before = after + 1, before + 1
    if before == after:  # one is left, which is on its own
        c.jobs[after].piece_after, c.jobs[after].piece_before = 0, 0
    job.piece_after, job.piece_before, job.stands = 0, 0, 0


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
