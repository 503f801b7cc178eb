"""Finding a server: the one that an exhaustive walk would take, and the idle rented instance that suits a job."""

from __future__ import annotations

from hcloud.control.searching.brief import best_for_brief, is_brief
from hcloud.control.searching.candidates import audit, best_by_ranking, has_capacity, may_join, may_run_on
from hcloud.control.searching.filters import best_by_filters
from hcloud.control.servers.tenancy import weight_on
from hcloud.control.state import GRAINS, OWN, SHELF, Control, Job, Server
from hcloud.policy.codes import (
    BY_CHANCE,
    BY_LOAD,
    BY_NUMBER,
    BY_OFFER,
    BY_PLATFORM,
    BY_PROBES,
    FILTERED,
    FILTERED_BY_CHANCE,
    FIRST_FIT,
    GREEDY,
    LEAST_LOADED,
)
from hcloud.policy.mapping import MAP_DYNAMIC
from hcloud.policy.placing.placement import UNTOUCHED, least_pressed, violation, violation_in
from hcloud.policy.quality import reaches


def excess(c: Control, server: Server, job: Job, cores: int) -> int:
    """How badly a job and the server's tenants would harm each other; 0 where nobody suffers, or nothing is known."""
    if not c.rules.informed:
        return 0
    load = (server.pressure, server.room, c.kinds[server.kind].cores)
    return violation(load, (job.vector, job.tolerates), weight_on(c, server, cores), c.rules.tolerance)


def is_strict(c: Control) -> bool:
    """Whether a reserve in which somebody would suffer counts as full."""
    return (c.rules.mapping == MAP_DYNAMIC and c.rules.interference_is_full == 1) or c.desk.strict == 1


def could_take(c: Control, number: int, job: Job) -> bool:
    """Whether a reserved server has a place for a job; one where somebody would suffer has none where that is full."""
    server = c.servers[number]
    return has_capacity(c, server, job, job.ask) and not (is_strict(c) and excess(c, server, job, job.ask) > 0)


def bears_in(c: Control, number: int, job: Job, resource: int) -> bool:
    """Whether a reserved server could take a job as far as one resource goes: tells most that it cannot take."""
    server = c.servers[number]
    if not (is_strict(c) and c.rules.informed):
        return True
    load = (server.pressure, server.room, c.kinds[server.kind].cores)
    terms = (weight_on(c, server, job.ask), c.rules.tolerance)
    return violation_in(load, (job.vector, job.tolerates), resource, terms) <= 0


def reserved_for(c: Control, job: Job, avoid: int) -> int:
    """The reserved server for a job: where nobody suffers, else (unless that counts as full) the least bad; -1."""
    server = find(c, OWN, job, job.ask, avoid)
    return server if server >= 0 or is_strict(c) or c.rules.ranking != GREEDY else _find_least_bad(c, job, avoid)


Wanted = tuple[int, int, int]
"""Thousandths of a vCPU, the slack that any server needs for the job, the server it must not be."""


def find(c: Control, paid: int, job: Job, cores: int, avoid: int) -> int:
    """The server of the reserved or the shared rented pool for a job, by the placement of the rules; -1 without any.

    The greedy one takes the first that takes a job without anybody suffering.
    Best fit goes from the fullest servers to the emptiest by sixteenths, least loaded the other way, servers with as
    much free in the order in which they came to have it; first fit goes by the reserved servers' numbers.
    """
    if c.rules.ranking != GREEDY:
        return _find_by_rank(c, paid, job, (paid, cores, avoid))
    need, lowest = _needed(c, job, cores), _lowest(c, paid, cores)
    for step in range(GRAINS - lowest + 1):
        block = c.shelves[_shelf_at(c, paid, lowest, step)].head
        while block >= 0:
            part = c.blocks[block]
            if part.worth >= need and part.memory >= job.memory and part.cores >= cores:
                number = _harmless_in(c, block, job, (cores, need, avoid))
                if number >= 0:
                    return number
            block = part.after
    return -1


def _find_by_rank(c: Control, paid: int, job: Job, wanted: Wanted) -> int:
    """The server that a ranking chooses; -1 where that has no room, or is rented or full by harm and would do some."""
    ranking, may_harm = c.rules.ranking, paid == OWN and not is_strict(c)
    if ranking == BY_OFFER:
        return -1  # jobs do not choose: they wait for an offer
    if is_brief(c, job):
        return best_for_brief(c, job, wanted)
    if ranking in (FILTERED, FILTERED_BY_CHANCE):
        number = best_by_filters(c, job, wanted, may_harm)
    else:
        number = best_by_ranking(c, job, wanted)
    if c.rules.audit and number >= 0 and c.desk.audited < len(c.audits) and ranking not in (BY_CHANCE, BY_PROBES):
        audit(c, job, wanted, number)
    if number < 0 or ranking in (BY_PROBES, BY_NUMBER, BY_LOAD, BY_CHANCE, BY_PLATFORM) or may_harm:
        return number
    return -1 if excess(c, c.servers[number], job, wanted[1]) > 0 else number


def _harmless_in(c: Control, block: int, job: Job, wanted: Wanted) -> int:
    """The first server of a block that takes a job without anybody suffering; -1 if none does.

    After a look in vain the block's bounds are as low as its servers allow.
    """
    cores, need, avoid = wanted
    part = c.blocks[block]
    worth, memory, most = -1, -1, -1
    number = part.first
    while number >= 0:
        server = c.servers[number]
        kind = c.kinds[server.kind]
        left, free = kind.memory - server.memory, kind.cores - server.used
        fits = server.worth >= need and left >= job.memory and free >= cores and number != avoid
        if fits and may_join(c, server) and may_run_on(c, job, server.kind) and excess(c, server, job, cores) <= 0:
            return number
        worth, memory, most = max(worth, server.worth), max(memory, left), max(most, free)
        number = server.after
    part.worth, part.memory, part.cores = worth, memory, most
    return -1


def _find_least_bad(c: Control, job: Job, avoid: int) -> int:
    """The reserved server with capacity where a job and the tenants harm each other the least; -1 if none has it."""
    need, lowest = _needed(c, job, job.ask), _lowest(c, OWN, job.ask)
    best, least = -1, UNTOUCHED
    for step in range(GRAINS - lowest + 1):
        block = c.shelves[_shelf_at(c, OWN, lowest, step)].head
        while block >= 0:
            part = c.blocks[block]
            if need - part.worth < least and part.memory >= job.memory and part.cores >= job.ask:
                number, harm = _least_bad_in(c, block, job, (job.ask, need, avoid))
                if harm < least:
                    best, least = number, harm
            block = part.after
    return best


def _least_bad_in(c: Control, block: int, job: Job, wanted: Wanted) -> tuple[int, int]:
    """The server of a block with capacity where the harm is least, and the harm; -1 if none has capacity."""
    cores, need, avoid = wanted
    best, least = -1, UNTOUCHED
    number = c.blocks[block].first
    while number >= 0:
        server = c.servers[number]
        if need - server.worth < least and number != avoid and has_capacity(c, server, job, cores):
            harm = excess(c, server, job, cores)
            if harm < least:
                best, least = number, harm
        number = server.after
    return best, least


def _needed(c: Control, job: Job, cores: int) -> int:
    """The slack that any server needs for a job; one that is shared has at least the vCPUs of the narrowest."""
    if not c.rules.informed:
        return -UNTOUCHED
    return least_pressed(job.vector, c.desk.narrowest if c.rules.full_pressure else cores)


def _lowest(c: Control, paid: int, cores: int) -> int:
    """The first shelf with servers that may have so much free; no shared one has more vCPUs than the large type."""
    if paid == OWN and c.rules.order == FIRST_FIT:
        return GRAINS
    return cores * GRAINS // c.kinds[c.rules.large].cores


def _shelf_at(c: Control, paid: int, lowest: int, step: int) -> int:
    """The shelf to look at after so many others."""
    place = GRAINS - step if c.rules.order == LEAST_LOADED else lowest + step
    return place if paid == OWN else SHELF + place


def ranked_for_queued(c: Control, job: Job, freed: int) -> int:
    """A server by rank for a job that queues: where all were looked at in vain, and one alone has had room since, only
    that one is. Where a reserve in which somebody would suffer is full, a sample may have missed one that is not."""
    since = c.desk.vacated + 1 - job.tried
    if since == 0:
        return -1
    if since == 1 and freed >= 0 and job.tried > 0:
        found = freed if could_take(c, freed, job) else -1
    else:
        found = reserved_for(c, job, -1)
    job.tried = c.desk.vacated + 1 if found < 0 and not is_strict(c) else 0
    return found


def place_for_queued(c: Control, number: int, freed: int) -> int:
    """A server for a queued job; while it is known to fit nowhere else only the freed server is looked at."""
    job = c.jobs[number]
    if c.desk.blocked == number + 1 and freed >= 0:
        return freed if could_take(c, freed, job) else -1
    if c.rules.ranking != GREEDY:
        return ranked_for_queued(c, job, freed)
    found = reserved_for(c, job, -1)
    if found < 0:
        c.desk.blocked = number + 1
    return found


def find_idle(c: Control, kind: int, job: Job) -> int:
    """An idle rented instance of a type whose last quality sample reaches what the job needs; -1 if there is none.

    The one that fell idle last comes first, so that the others' retention can run out.
    """
    need = job.high if c.rules.needs_quality else -1
    block = c.shelves[2 * SHELF + kind].tail
    while block >= 0:
        part = c.blocks[block]
        if part.worth >= need:
            number, worth = part.last, -1
            while number >= 0:
                server = c.servers[number]
                if need < 0 or server.high < 0 or reaches(server.high, server.low, job.high, job.low):
                    return number
                worth = max(worth, server.worth)
                number = server.before
            part.worth = worth
        block = part.before
    return -1
