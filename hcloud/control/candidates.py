"""Candidates: servers that a placement looked at, with what it ranks them by, and which of them is the best."""

from __future__ import annotations

from hcloud.control.draws import begin_draws, draw
from hcloud.control.servers import weight_on
from hcloud.control.state import STARTING, UP, Control, Job, Server
from hcloud.policy.codes import (
    BY_CHANCE,
    BY_COLOCATION,
    BY_FIT,
    BY_LOAD,
    BY_MATCH,
    BY_NUMBER,
    FILTERED,
    FILTERED_BY_CHANCE,
)
from hcloud.policy.colocation import MILLIONTHS, colocation_loss, contention, mismatch, violates
from hcloud.policy.promise import LOOKS_A_CANDIDATE

_UNIT = 1000
"""Thousandths of a vCPU of a resource unit: one core with its share of the memory (Tarcil §7.3.2)."""

Wanted = tuple[int, int, int]
"""The roster that is searched, thousandths of a vCPU, the server it must not be."""


def has_capacity(c: Control, server: Server, job: Job, cores: int) -> bool:
    """Whether vCPUs and memory suffice, and the server has started or jobs may join one that starts."""
    kind = c.kinds[server.kind]
    room = cores <= kind.cores - server.used and job.memory <= kind.memory - server.memory
    return room and may_join(c, server)


def may_join(c: Control, server: Server) -> bool:
    """Whether a server has started, or jobs may be put on one that starts."""
    return server.status == UP or (server.status == STARTING and c.rules.join_starting == 1)


def best_by_ranking(c: Control, job: Job, wanted: Wanted) -> int:
    """The best of all servers of a roster, or of a sample of them, by the ranking of the rules; -1 where none does."""
    if c.rules.candidates == 0:
        return best_of_all(c, job, wanted)
    found = _sample(c, job, wanted)
    c.desk.found = found
    return _best_candidate(c, found) if found > 0 else _first_with_room(c, job, wanted)


def best_of_all(c: Control, job: Job, wanted: Wanted) -> int:
    """The best of a roster, one after the other: each is held against the best so far."""
    best = -1
    for at in range(c.desk.listed[wanted[0]]):
        number = c.rosters[at].server[wanted[0]]
        c.desk.looks += 1
        if number != wanted[2] and has_capacity(c, c.servers[number], job, wanted[1]):
            _rank(c, job, wanted[1], number, 1)
            if best < 0 or _is_before(c, 1, 0):
                _rank(c, job, wanted[1], number, 0)
                best = number
    return best


def _sample(c: Control, job: Job, wanted: Wanted) -> int:
    """Draw resource units, and write those of servers with room among the candidates; returns how many there are.

    Over free units a busy one is looked at and does not count, up to eight looks a candidate; over all units it does.
    As many candidates as there are units, or more, are all servers.
    """
    rules, servers = c.rules, c.desk.listed[wanted[0]]
    most = _draws(c, wanted[1])
    largest = c.kinds[rules.large].cores
    begin_draws(c, job)
    if most * _UNIT >= servers * largest:
        return _take_all(c, job, wanted)
    found, looks = 0, 0
    while found < most and looks < most * (1 if rules.over_all else LOOKS_A_CANDIDATE):
        number = c.rosters[draw(c, servers)].server[wanted[0]]
        server = c.servers[number]
        cores = c.kinds[server.kind].cores
        if draw(c, largest) >= cores:
            continue  # a server with fewer units is drawn less often
        looks += 1
        free = draw(c, cores) >= server.used
        if free and number != wanted[2] and has_capacity(c, server, job, wanted[1]):
            _rank(c, job, wanted[1], number, found)
            found += 1
    c.desk.looks += looks
    return found


def _draws(c: Control, cores: int) -> int:
    """How many candidates are drawn for so many thousandths of a vCPU."""
    units = max((cores + _UNIT - 1) // _UNIT, 1)
    return int(min(c.rules.candidates * units, c.rules.most_candidates))


def _take_all(c: Control, job: Job, wanted: Wanted) -> int:
    """Every server with room is a candidate."""
    found = 0
    for at in range(c.desk.listed[wanted[0]]):
        number = c.rosters[at].server[wanted[0]]
        c.desk.looks += 1
        if number != wanted[2] and found < len(c.candidates) and has_capacity(c, c.servers[number], job, wanted[1]):
            _rank(c, job, wanted[1], number, found)
            found += 1
    return found


def _first_with_room(c: Control, job: Job, wanted: Wanted) -> int:
    """The first server with room from one on that chance draws; -1 where none has."""
    servers = c.desk.listed[wanted[0]]
    begin = draw(c, servers) if servers > 0 else 0
    for step in range(servers):
        number = c.rosters[(begin + step) % servers].server[wanted[0]]
        c.desk.looks += 1
        if number != wanted[2] and has_capacity(c, c.servers[number], job, wanted[1]):
            return int(number)
    return -1


def _rank(c: Control, job: Job, cores: int, number: int, at: int) -> None:
    """Write down a server as a candidate with what it is ranked by: harm, the speed of its type for the job, and two
    halves of a number of which less is better."""
    rules, server, one = c.rules, c.servers[number], c.candidates[at]
    load = (server.pressure, server.room, c.kinds[server.kind].cores)
    terms = (weight_on(c, server, cores), rules.tolerance)
    one.server, one.speed, one.harm, one.high, one.low = number, 0, 0, 0, number
    if rules.ranking == BY_LOAD:
        one.high = MILLIONTHS * server.used // load[2]
    elif rules.ranking == BY_CHANCE:
        one.low = at
    elif rules.ranking != BY_NUMBER:
        one.speed = c.speeds[job.platform, server.kind]
    if not rules.informed:
        return
    if rules.ranking in (BY_FIT, FILTERED, FILTERED_BY_CHANCE):
        one.harm = max(colocation_loss(load, job.vector, terms, 0) - MILLIONTHS, 0)
    elif rules.ranking == BY_COLOCATION:
        one.harm = 1 if violates(load, job.vector, terms) else 0
        one.speed = 0 if one.harm else one.speed
        one.high = colocation_loss(load, job.vector, terms, rules.printed_formula)
    elif rules.ranking == BY_MATCH:
        unit = contention(server.pressure, load[2], rules.full_pressure, c.desk.scratch)
        one.high, one.low = mismatch(unit, (job.high, job.low))


def _is_before(c: Control, one: int, other: int) -> bool:
    """Whether a candidate is better than another: less harm, then a faster type, then the better rank."""
    a, b = c.candidates[one], c.candidates[other]
    if a.harm != b.harm:
        return bool(a.harm < b.harm)
    if a.speed != b.speed:
        return bool(a.speed > b.speed)
    return bool(a.high < b.high or (a.high == b.high and a.low < b.low))


def _best_candidate(c: Control, found: int) -> int:
    """The server of the best candidate. Types that are nearly as fast as the fastest of those that do the least harm
    count as fast as that."""
    best, harm, fastest = 0, c.candidates[0].harm, 0
    for at in range(found):
        harm = min(harm, c.candidates[at].harm)
    for at in range(found):
        fastest = max(fastest, c.candidates[at].speed if c.candidates[at].harm == harm else 0)
    enough = fastest * (1.0 - c.rules.platform_slack)
    for at in range(found):
        one = c.candidates[at]
        one.speed = fastest if one.speed >= enough else one.speed
        best = at if _is_before(c, at, best) else best
    return int(c.candidates[best].server)


def audit(c: Control, job: Job, wanted: Wanted, taken: int) -> None:
    """Rank the server that was taken among all that had room, weighted by their free units. Costs a look at all
    servers, and changes nothing that is decided."""
    rules, fastest = c.rules, 0
    for at in range(c.desk.listed[wanted[0]]):
        number = c.rosters[at].server[wanted[0]]
        if number != wanted[2] and has_capacity(c, c.servers[number], job, wanted[1]):
            fastest = max(fastest, c.speeds[job.platform, c.servers[number].kind])
    better, alike, among = 0, 0, 0
    for at in range(c.desk.listed[wanted[0]]):
        number = c.rosters[at].server[wanted[0]]
        server = c.servers[number]
        if number == wanted[2] or not has_capacity(c, server, job, wanted[1]):
            continue
        units = max((c.kinds[server.kind].cores - server.used) // _UNIT, 1)
        among += units
        for place in range(2):
            _rank(c, job, wanted[1], number if place else taken, place)
            one = c.candidates[place]
            one.speed = fastest if one.speed >= fastest * (1.0 - rules.platform_slack) else one.speed
        better += units if _is_before(c, 1, 0) else 0
        alike += units if not _is_before(c, 1, 0) and not _is_before(c, 0, 1) else 0
    row = c.audits[c.desk.audited]
    row.better, row.alike, row.among, row.candidates = better, alike, among, _draws(c, wanted[1])
    c.desk.audited += 1
