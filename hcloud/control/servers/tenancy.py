"""Servers and their tenants: which shelf each belongs on, pressure kept exact in whole numbers."""

from __future__ import annotations

from hcloud.control.servers.buckets import discount, recount
from hcloud.control.servers.copies import note_change
from hcloud.control.servers.hashed import put_anew
from hcloud.control.servers.pools import rank_server, take_out
from hcloud.control.servers.rosters import enrol, strike
from hcloud.control.servers.shelves import put_on_shelf, raise_bounds, take_off_shelf
from hcloud.control.state import CLOSED, DEAD, GRAINS, OWN, RENTED, SHELF, STARTING, UP, Control, Server
from hcloud.policy.codes import FIRST_FIT, GREEDY
from hcloud.policy.mapping import MAP_DYNAMIC
from hcloud.policy.placing.placement import RESOURCES, UNTOUCHED, find_least, room_of, slack_of


def free_cores(c: Control, number: int) -> int:
    """Thousandths of a vCPU of a server that no tenant has."""
    server = c.servers[number]
    return c.kinds[server.kind].cores - server.used


def runs_jobs(server: Server) -> bool:
    """Whether the jobs on a server have begun."""
    return server.status == UP or server.status == CLOSED  # noqa: PLR1714 (no kernel has a set)


def is_shared(c: Control, server: Server) -> bool:
    """Whether several jobs may run on a rented server."""
    return c.rules.shared == 1 and server.paid == RENTED and c.kinds[server.kind].whole == 1


def _shelf_of(c: Control, number: int) -> int:
    """Where a server belongs now: by free sixteenths of a large one where tenants share it (a small server is filled
    before a large one is broken into), by type where it stands idle; else -1.

    First fit knows one order, that of the reserved servers' numbers, and so one shelf for all of them. What goes by
    rank looks at rosters: only an estimate of waits walks the shelves then.
    """
    server = c.servers[number]
    walked = c.rules.ranking == GREEDY or c.rules.mapping == MAP_DYNAMIC
    if not walked and (server.paid == OWN or is_shared(c, server)):
        return -1
    free = free_cores(c, number) * GRAINS // c.kinds[c.rules.large].cores
    if server.paid == OWN:
        return GRAINS if c.rules.order == FIRST_FIT else free
    if is_shared(c, server):
        return SHELF + free
    if server.paid == RENTED and server.tenants == 0 and server.status == UP:
        return 2 * SHELF + server.kind
    return -1


def reshelve(c: Control, number: int) -> None:
    """List a server where it belongs after a change; one that stays on its shelf keeps its place there."""
    server, place = c.servers[number], _shelf_of(c, number)
    if c.rules.hash_draw:
        put_anew(c, number)
    if place >= 2 * SHELF:
        server.worth = UNTOUCHED if server.high < 0 else server.high
    elif place >= 0 and c.rules.informed:
        server.worth = slack_of(server.pressure, server.room)
    if place == server.shelf:
        if place >= 0:
            raise_bounds(c, number)
        return
    take_off_shelf(c, number)
    if place >= 0:
        put_on_shelf(c, number, place)


def open_server(c: Control, kind: int, paid: int, spin_up: float) -> int:
    """A new server without tenants, starting; returns its slot. Slots given back come before ones never used."""
    number = c.desk.free
    server = c.servers[number]
    c.desk.free = server.after - 1 if server.after > 0 else number + 1  # never used: 0
    server.status, server.kind, server.paid = STARTING, kind, paid
    server.used, server.memory, server.tenants = 0, 0, 0
    server.first, server.shelf, server.after = -1, -1, -1
    for i in range(RESOURCES):
        server.pressure[i] = 0
        server.room[i] = UNTOUCHED
    server.high, server.low, server.bucket, server.units, server.pool = -1, -1, 0, 0, 0
    server.spin_up, server.deadline = spin_up, -1.0
    server.serial = c.desk.serial
    c.desk.serial += 1
    if c.rules.ranking != GREEDY:
        enrol(c, number)
    return number


def close_server(c: Control, number: int) -> None:
    """Forget a server; its slot is used again."""
    take_off_shelf(c, number)
    if c.rules.ranking != GREEDY:
        strike(c, number)
    discount(c, c.servers[number])
    take_out(c, number)
    c.servers[number].status = DEAD
    c.servers[number].after = c.desk.free + 1
    c.desk.free = number


def weight_on(c: Control, server: Server, cores: int) -> int:
    """What a tenant's pressure is weighted with: what it occupies, or the whole server."""
    return c.kinds[server.kind].cores if c.rules.full_pressure else cores


def seat(c: Control, number: int, place: int) -> None:
    """Make a job a tenant of a server; its ``cores`` are set before."""
    job, server = c.jobs[number], c.servers[place]
    job.next, job.before, job.server = server.first, -1, place
    if server.first >= 0:
        c.jobs[server.first].before = number
    server.first = number
    server.tenants += 1
    server.used += job.cores
    server.memory += job.memory
    if c.rules.ranking != GREEDY:
        note_change(c, place, job.agent, job.cores, job.memory)
    weight, capacity = weight_on(c, server, job.cores), c.kinds[server.kind].cores
    pressure, room, vector, tolerates = server.pressure, server.room, job.vector, job.tolerates
    for i in range(RESOURCES):
        caused = int(vector[i])
        pressure[i] += caused * weight
        room[i] = min(room[i], room_of(int(tolerates[i]) + c.rules.tolerance, caused, weight, capacity))
    if c.rules.buckets > 0:
        recount(c, place, False)
    if c.rules.classes > 0:
        rank_server(c, place)
    reshelve(c, place)


def unseat(c: Control, number: int) -> int:
    """Take a job off its server; returns the server."""
    job = c.jobs[number]
    place = job.server
    server = c.servers[place]
    if job.before >= 0:
        c.jobs[job.before].next = job.next
    else:
        server.first = job.next
    if job.next >= 0:
        c.jobs[job.next].before = job.before
    job.server = -1
    server.tenants -= 1
    server.used -= job.cores
    server.memory -= job.memory
    c.desk.vacated += 1
    if c.rules.ranking != GREEDY:
        note_change(c, place, job.agent, -job.cores, -job.memory)
    weight, pressure, vector = weight_on(c, server, job.cores), server.pressure, job.vector
    for i in range(RESOURCES):
        pressure[i] -= int(vector[i]) * weight
    terms = (c.kinds[server.kind].cores, c.rules.tolerance, c.desk.scratch)
    _measure_room(c, server, find_least((vector, job.tolerates), server.room, weight, terms))
    if c.rules.buckets > 0:
        recount(c, place, True)
    if c.rules.classes > 0:
        rank_server(c, place)
    reshelve(c, place)
    return place


def _measure_room(c: Control, server: Server, changed: int) -> None:
    """What the tenants bear of the first so many resources of ``desk.scratch``, anew: after one left that bore the
    least, the least of the others' counts."""
    room, capacity, which, tenant = server.room, c.kinds[server.kind].cores, c.desk.scratch, server.first
    for at in range(changed):
        room[which[at]] = UNTOUCHED
    while tenant >= 0 and changed > 0:
        job = c.jobs[tenant]
        weight, vector, tolerates = weight_on(c, server, job.cores), job.vector, job.tolerates
        for at in range(changed):
            i = which[at]
            room[i] = min(room[i], room_of(int(tolerates[i]) + c.rules.tolerance, vector[i], weight, capacity))
        tenant = job.next


def resize(c: Control, number: int, cores: int) -> None:
    """Give a tenant more or less of the server it is on, in thousandths of a vCPU."""
    job = c.jobs[number]
    server = c.servers[job.server]
    change = weight_on(c, server, cores) - weight_on(c, server, job.cores)
    if c.rules.ranking != GREEDY:
        note_change(c, job.server, job.agent, cores - job.cores, 0)
    server.used += cores - job.cores
    job.cores = cores
    for i in range(RESOURCES):
        server.pressure[i] += int(job.vector[i]) * change
    if c.rules.buckets > 0:
        recount(c, job.server, False)
    for i in range(RESOURCES):
        c.desk.scratch[i] = i
    _measure_room(c, server, RESOURCES)
    if c.rules.classes > 0:
        rank_server(c, job.server)
    reshelve(c, job.server)
