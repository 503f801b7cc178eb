"""Whose leaving would make a place in the reserve: what a job that has to wait is waiting for."""

from __future__ import annotations

from hcloud.control.searching.search import is_strict
from hcloud.control.servers.tenancy import weight_on
from hcloud.control.state import SHELF, UP, Control, Job, Server
from hcloud.policy.placing.placement import RESOURCES, room_of, violation_in

LOOKED = 64
"""Ours: reserved servers that are looked at, evenly over all; more would make no estimate better, and cost time."""


def tenants_in_the_way(c: Control, job: Job) -> tuple[float, float, float]:
    """How many tenants of the reserve would make a place for a job by leaving, each alone; how many tenants there are,
    and for how many seconds they have been there in the mean."""
    every = 1 + (c.desk.own - 1) // LOOKED
    passed, looked, alone, tenants, stayed = 0, 0, 0, 0, 0.0
    for shelf in range(SHELF):
        block = c.shelves[shelf].head
        while block >= 0:
            number = c.blocks[block].first
            while number >= 0:
                server = c.servers[number]
                if passed % every == 0:
                    looked += 1
                    tenants += server.tenants
                    able, age = _tenants_of(c, server, job)
                    alone += able
                    stayed += age
                passed += 1
                number = server.after
            block = c.blocks[block].after
    if tenants == 0:
        return 0.0, 0.0, 0.0
    return alone * (passed / looked), tenants * (passed / looked), stayed / tenants


def _tenants_of(c: Control, server: Server, job: Job) -> tuple[int, float]:
    """Tenants of a server that would make a place on it for a job by leaving, each alone; and for how many seconds all
    of them have been there. One walk: most of its time goes to rows that lie anywhere."""
    is_up, worst = server.status == UP, -1
    if is_up and is_strict(c) and c.rules.informed:
        worst = _most_harmed(c, server, job)
    count, stayed, tenant = 0, 0.0, server.first
    while tenant >= 0:
        stayed += c.desk.now - c.jobs[tenant].seated
        count += 1 if is_up and _fits_without(c, server, job, (tenant, worst)) else 0
        tenant = c.jobs[tenant].next
    return count, stayed


def _most_harmed(c: Control, server: Server, job: Job) -> int:
    """The resource of a server of which a job and the tenants would suffer the most."""
    load = (server.pressure, server.room, c.kinds[server.kind].cores)
    terms = (weight_on(c, server, job.ask), c.rules.tolerance)
    worst, most = 0, violation_in(load, (job.vector, job.tolerates), 0, terms)
    for i in range(1, RESOURCES):
        harm = violation_in(load, (job.vector, job.tolerates), i, terms)
        if harm > most:
            worst, most = i, harm
    return worst


def _fits_without(c: Control, server: Server, job: Job, absent: tuple[int, int]) -> bool:
    """Whether a server could take a job without one of its tenants; the resource that is ``absent``'s second number is
    asked first (-1: harm does not count)."""
    tenant, worst = absent
    kind, leaver = c.kinds[server.kind], c.jobs[tenant]
    if job.ask > kind.cores - server.used + leaver.cores or job.memory > kind.memory - server.memory + leaver.memory:
        return False
    if worst < 0:
        return True
    barred, i = not _bears_without(c, server, job, (tenant, worst)), 0
    while i < RESOURCES and not barred:
        barred = i != worst and not _bears_without(c, server, job, (tenant, i))
        i += 1
    return not barred


def _bears_without(c: Control, server: Server, job: Job, absent: tuple[int, int]) -> bool:
    """Whether nobody would suffer of one resource, ``absent``'s second number, if a job came in a tenant's place."""
    gone, i = absent
    capacity, leaver = c.kinds[server.kind].cores, c.jobs[gone]
    left, comes, tolerance = weight_on(c, server, leaver.cores), weight_on(c, server, job.ask), c.rules.tolerance
    total = server.pressure[i] - int(leaver.vector[i]) * left + int(job.vector[i]) * comes
    if total > room_of(int(job.tolerates[i]) + tolerance, job.vector[i], comes, capacity):
        return False
    if total <= server.room[i]:
        return True
    if room_of(int(leaver.tolerates[i]) + tolerance, leaver.vector[i], left, capacity) > server.room[i]:
        return False  # another bears the least, and stays
    tenant = server.first
    while tenant >= 0:
        other = c.jobs[tenant]
        weight = weight_on(c, server, other.cores)
        if tenant != gone and total > room_of(int(other.tolerates[i]) + tolerance, other.vector[i], weight, capacity):
            return False
        tenant = other.next
    return True
