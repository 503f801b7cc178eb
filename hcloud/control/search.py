"""Finding a server: the greedy walk over a pool, and the idle rented instance that suits a job."""

from __future__ import annotations

from hcloud.control.servers import weight_on
from hcloud.control.state import GRAINS, OWN, SHELF, STARTING, UP, Control, Job, Server
from hcloud.policy.codes import FIRST_FIT, LEAST_LOADED
from hcloud.policy.placement import violation
from hcloud.policy.quality import reaches


def has_capacity(c: Control, server: Server, job: Job, cores: int) -> bool:
    """Whether vCPUs and memory suffice, and the server has started or jobs may join one that starts."""
    kind = c.kinds[server.kind]
    return (
        cores <= kind.cores - server.used
        and job.memory <= kind.memory - server.memory
        and (server.status == UP or (server.status == STARTING and c.rules.join_starting == 1))
    )


def excess(c: Control, server: Server, job: Job, cores: int) -> int:
    """How badly a job and the server's tenants would harm each other; 0 where nobody suffers, or nothing is known."""
    if not c.rules.informed:
        return 0
    load = (server.pressure, server.room, c.kinds[server.kind].cores)
    return violation(load, job.vector, weight_on(c, server, cores), c.rules.tolerance)


def find(c: Control, paid: int, job: Job, cores: int, avoid: int) -> tuple[int, bool]:
    """A server of the reserved or the shared rented pool for a job, and whether nobody suffers there; -1 if none fits.

    Best fit walks the fullest servers first, servers of one shelf in the order in which they came there. At most
    ``examined`` servers with capacity are looked at; where all of them would suffer, the least bad one is returned.
    """
    if c.rules.order == FIRST_FIT and paid == OWN:
        return _first_fit(c, job, cores, avoid)
    lowest = cores * GRAINS // c.kinds[c.rules.large].cores
    looked, best, least = 0, -1, 0
    for step in range(GRAINS - lowest + 1):
        place = GRAINS - step if c.rules.order == LEAST_LOADED else lowest + step
        number = c.shelves[place if paid == OWN else SHELF + place].head
        while number >= 0:
            server = c.servers[number]
            if number != avoid and has_capacity(c, server, job, cores):
                harm = excess(c, server, job, cores)
                if harm <= 0:
                    return number, True
                if best < 0 or harm < least:
                    best, least = number, harm
                looked += 1
                if looked >= c.rules.examined:
                    return best, False
            number = server.after
    return best, False


def _first_fit(c: Control, job: Job, cores: int, avoid: int) -> tuple[int, bool]:
    """The reserved server of the lowest number that fits: reserved servers are opened first, so slots come in order."""
    best, least = -1, 0
    for number in range(c.desk.own):
        server = c.servers[number]
        if number != avoid and has_capacity(c, server, job, cores):
            harm = excess(c, server, job, cores)
            if harm <= 0:
                return number, True
            if best < 0 or harm < least:
                best, least = number, harm
    return best, False


def find_idle(c: Control, kind: int, job: Job) -> int:
    """An idle rented instance of a type whose last quality sample reaches what the job needs; -1 if there is none.

    The one that fell idle last comes first, so that the others' retention can run out.
    """
    number, looked = c.shelves[2 * SHELF + kind].tail, 0
    while number >= 0 and looked < c.rules.examined:
        server = c.servers[number]
        if not c.rules.needs_quality or server.high < 0 or reaches(server.high, server.low, job.high, job.low):
            return number
        number = server.before
        looked += 1
    return -1
