"""Candidates: servers that a placement looked at, with what it ranks them by, and which of them is the best."""

from __future__ import annotations

import math

from hcloud.control.searching.draws import begin_draws, draw
from hcloud.control.servers.copies import is_news, seen
from hcloud.control.servers.hashed import hashed_place
from hcloud.control.servers.tenancy import weight_on
from hcloud.control.state import OWN, STARTING, UP, Control, Job, Server
from hcloud.policy.codes import (
    BY_CHANCE,
    BY_COLOCATION,
    BY_FIT,
    BY_LOAD,
    BY_MATCH,
    BY_NUMBER,
    BY_PROBES,
    FILTERED,
    FILTERED_BY_CHANCE,
)
from hcloud.policy.placing.colocation import MILLIONTHS, colocation_loss, contention, mismatch, violates
from hcloud.policy.placing.placement import UNTOUCHED
from hcloud.policy.placing.promise import LOOKS_A_CANDIDATE

MOST_PROPOSED = 32
"""Ours: candidates that an agent proposes for a job at most."""
_EXACT = 1e-9
"""What a quotient of logarithms may be off by rounding."""
_UNIT = 1000
"""Thousandths of a vCPU of a resource unit: one core with its share of the memory (Tarcil §7.3.2)."""

Wanted = tuple[int, int, int]
"""The roster that is searched, thousandths of a vCPU, the server it must not be."""


def has_capacity(c: Control, server: Server, job: Job, cores: int) -> bool:
    """Whether vCPUs and memory suffice, and the server has started or jobs may join one that starts."""
    kind = c.kinds[server.kind]
    left = kind.memory - server.memory
    room = cores <= kind.cores - server.used and (job.memory <= left or c.rules.overcommit == 1)
    return room and may_join(c, server) and may_run_on(c, job, server.kind)


def has_room(c: Control, at: int, job: Job, wanted: Wanted) -> bool:
    """Whether the server at a place of a roster has the capacity. One that is full costs a look at the roster."""
    row, which = c.rosters[at], wanted[0]
    if wanted[1] > c.kinds[row.kind[which]].cores - row.used[which]:
        return False
    return has_capacity(c, c.servers[row.server[which]], job, wanted[1])


def may_run_on(c: Control, job: Job, kind: int) -> bool:
    """Whether a job may run on a type: it has a speed there."""
    return bool(c.speeds[job.platform, kind] > 0)


def may_join(c: Control, server: Server) -> bool:
    """Whether a server has started, or jobs may be put on one that starts; and is of the pool that is searched."""
    if c.desk.within > 0 and server.pool != c.desk.within:
        return False
    return server.status == UP or (server.status == STARTING and c.rules.join_starting == 1)


def best_by_ranking(c: Control, job: Job, wanted: Wanted) -> int:
    """The best of all servers of a roster, or of a sample of them, by the ranking of the rules; -1 where none does."""
    if c.desk.proposed > 0:
        number = _first_proposed(c, job, wanted)
        if number >= 0 or c.rules.ranking == BY_PROBES:
            return number
        c.desk.resampled += 1
    if c.rules.candidates == 0:
        return best_of_all(c, job, wanted)
    if c.rules.ranking == BY_PROBES:
        return _first_of_probes(c, job, wanted)
    number = _commit(c, job, wanted)
    if number < 0 and c.desk.found > 0:  # others took them in the meantime
        c.desk.resampled += 1
        c.desk.lost = 1
        return -1
    return number if number >= 0 else first_with_room(c, job, wanted)


def propose(c: Control, number: int) -> None:
    """Rank reserved servers for a job as the desk's copy knows them: ``taken`` of the best candidate is 1, of the next
    one 2. Nothing else is changed, so that the copy goes on as what it is a copy of."""
    desk, job = c.desk, c.jobs[number]
    searches, looks, wanted = desk.searches, desk.looks, (OWN, job.ask, -1)
    if c.rules.candidates == 0:
        desk.found = 1 if best_of_all(c, job, wanted) >= 0 else 0
    elif c.rules.ranking == BY_PROBES:
        _first_of_probes(c, job, wanted)
    else:
        desk.found = sample(c, job, wanted)
    for at in range(desk.found):
        c.candidates[at].taken = 0
    for rank in range(1, min(desk.found, MOST_PROPOSED) + 1):
        c.candidates[best_candidate(c, desk.found)].taken = rank
    desk.searches, desk.looks = searches, looks


def _first_proposed(c: Control, job: Job, wanted: Wanted) -> int:
    """The best of the candidates that an agent proposed which still has room; -1 where others took them all."""
    desk = c.desk
    desk.found, desk.proposed = desk.proposed, 0
    for at in range(desk.found):
        number = c.candidates[at].server
        if number != wanted[2] and has_capacity(c, c.servers[number], job, wanted[1]):
            return int(number)
        desk.conflicts += 1
    return -1


def _first_of_probes(c: Control, job: Job, wanted: Wanted) -> int:
    """Ask servers that chance draws, each once; the less loaded of those with room, -1 where none has any. All that
    were asked are candidates."""
    desk, servers, least = c.desk, c.desk.listed[wanted[0]], c.kinds[c.rules.large].cores + 1
    begin_draws(c, job)
    desk.found, best, looks, at, barred = 0, -1, 0, 0, False
    most = LOOKS_A_CANDIDATE * c.rules.candidates
    while desk.found < min(c.rules.candidates, servers) and looks < most:
        at = draw(c, servers) if not barred or looks < most - servers else (at + 1) % servers
        number = c.rosters[at].server[wanted[0]]
        server = c.servers[number]
        looks += 1
        kind = c.kinds[server.kind]
        runs = may_run_on(c, job, server.kind)
        if not runs and not barred:  # it requires what few may be: after the draws all are asked, one after the other
            barred, most = True, most + servers
        holds = job.memory <= kind.memory and wanted[1] <= kind.cores and runs
        if number == wanted[2] or not holds or _is_candidate(c, number):
            continue
        one = c.candidates[desk.found]
        one.server, one.high, one.low = number, MILLIONTHS * server.used // kind.cores, desk.found
        desk.found += 1
        if server.used < least and has_capacity(c, server, job, wanted[1]):
            best, least = number, server.used
    desk.looks += looks
    return int(best)


def _is_candidate(c: Control, number: int) -> bool:
    """Whether the present search has asked a server already."""
    asked = False
    for at in range(c.desk.found):
        asked = asked or c.candidates[at].server == number
    return asked


def _commit(c: Control, job: Job, wanted: Wanted) -> int:
    """Sample, and take the best of the candidates that nobody took since the copy that was looked at; -1 where all were
    taken (or the best was, where an agent draws anew then), or none was found."""
    found = sample(c, job, wanted)
    c.desk.found = found
    for _ in range(found):
        at = best_candidate(c, found)
        number = c.candidates[at].server
        if c.desk.copy_age <= 0.0 or has_capacity(c, c.servers[number], job, wanted[1]):
            return int(number)
        c.desk.conflicts += 1
        if c.rules.resample:
            return -1
        c.candidates[at].taken = 1
    return -1


def best_of_all(c: Control, job: Job, wanted: Wanted) -> int:
    """The best of a roster, one after the other: each is held against the best so far."""
    best = -1
    for at in range(c.desk.listed[wanted[0]]):
        number = c.rosters[at].server[wanted[0]]
        c.desk.looks += 1
        if number != wanted[2] and has_room(c, at, job, wanted):
            _rank(c, job, wanted[1], number, 1)
            if best < 0 or _is_before(c, 1, 0):
                _rank(c, job, wanted[1], number, 0)
                best = number
    return best


def sample(c: Control, job: Job, wanted: Wanted) -> int:
    """Draw resource units, and write those of servers with room among the candidates; returns how many there are.

    Over free units a busy one is looked at and does not count, up to eight looks a candidate; over all units it does.
    As many candidates as there are units, or more, are all servers.
    """
    rules, servers = c.rules, c.desk.listed[wanted[0]]
    most = draws_for(c, wanted[1], c.desk.pieces)
    largest = c.kinds[rules.large].cores
    begin_draws(c, job)
    if most * _UNIT >= servers * largest:
        return _take_all(c, job, wanted)
    found, looks, turn = 0, 0, 0
    c.desk.salt = c.desk.first_stream
    while found < most and looks < most * (1 if rules.over_all else LOOKS_A_CANDIDATE):
        row = c.rosters[_drawn_place(c, job, wanted[0], turn)]
        turn += 1
        cores = c.kinds[row.kind[wanted[0]]].cores
        if draw(c, largest) >= cores:
            continue  # a server with fewer units is drawn less often
        looks += 1
        number, used, memory = row.server[wanted[0]], row.used[wanted[0]], -1
        if is_news(c, number):
            used, memory = seen(c, number)
        if draw(c, cores) < used or wanted[1] > cores - used:
            continue
        server = c.servers[number]
        left = c.kinds[server.kind].memory - (memory if memory >= 0 else server.memory)
        fits = job.memory <= left and may_run_on(c, job, server.kind)
        if fits and number != wanted[2] and may_join(c, server):
            _rank(c, job, wanted[1], number, found)
            found += 1
    c.desk.looks += looks
    return found


def _drawn_place(c: Control, job: Job, which: int, turn: int) -> int:
    """A place on a roster by chance: from the stream of draws, or where the hash of what the job causes leads to."""
    return hashed_place(c, job, which, turn) if c.rules.hash_draw else draw(c, c.desk.listed[which])


def best_of_busy(c: Control, job: Job) -> int:
    """Draw reserved units, busy ones too; of the servers of the best of them the first with room, -1 where none has:
    those servers are then the candidates."""
    desk, rules, servers = c.desk, c.rules, c.desk.listed[OWN]
    most = min(rules.late_candidates * max((job.ask + _UNIT - 1) // _UNIT, 1), len(c.candidates))
    largest, found = c.kinds[rules.large].cores, 0
    begin_draws(c, job)
    for _ in range(most if servers > 0 else 0):
        number = c.rosters[draw(c, servers)].server[OWN]
        kind = c.kinds[c.servers[number].kind]
        desk.looks += 1
        fits = job.ask <= kind.cores and job.memory <= kind.memory
        if draw(c, largest) < kind.cores and fits and may_run_on(c, job, c.servers[number].kind):
            _rank(c, job, job.ask, number, found)
            found += 1
    chosen = 0
    while chosen < rules.late_queues:
        at = best_candidate(c, found)
        if at < 0:
            break
        number = c.candidates[at].server
        for other in range(found):
            c.candidates[other].taken = 1 if c.candidates[other].server == number else c.candidates[other].taken
        if has_capacity(c, c.servers[number], job, job.ask):
            return int(number)
        desk.asked[chosen] = number
        chosen += 1
    desk.found = chosen
    for at in range(chosen):
        c.candidates[at].server = desk.asked[at]
    return -1


def draws_for(c: Control, cores: int, pieces: int = 1) -> int:
    """How many units are looked at for so many thousandths of a vCPU (times ``pieces``, if there are several):
    candidates, or all that are reserved."""
    if c.rules.candidates == 0:
        return int(c.desk.pool // _UNIT)
    units = max((cores + _UNIT - 1) // _UNIT, 1)
    each = min(_candidates(c) * units, c.rules.most_candidates)
    return int(each if pieces <= 1 else min(each * pieces, len(c.candidates) - 2))


def _most_of(c: Control) -> int:
    """Candidates that a decision may have: for several pieces as many as there is room to write down."""
    return int(c.rules.most_candidates if c.desk.pieces <= 1 else len(c.candidates) - 2)


def _candidates(c: Control) -> int:
    """Candidates a unit: as stated, or as a quality asks for. Over all units those that are busy are misses, so that
    there have to be the more, the fuller the reserve is (Tarcil §7.3.3)."""
    rules, desk = c.rules, c.desk
    if rules.quality <= 0.0 or rules.over_all == 0 or desk.pool == 0:
        return int(rules.candidates)
    free = max(1.0 - desk.used / desk.pool, 0.0)
    short = 1.0 - (1.0 - rules.quality) * free
    if short >= 1.0:
        return int(rules.most_candidates)
    return int(min(max(math.ceil(math.log(rules.miss) / math.log(short) - _EXACT), 1.0), rules.most_candidates))


def _take_all(c: Control, job: Job, wanted: Wanted) -> int:
    """Every server with room is a candidate."""
    found = 0
    for at in range(c.desk.listed[wanted[0]]):
        number = c.rosters[at].server[wanted[0]]
        c.desk.looks += 1
        if number != wanted[2] and found < _most_of(c) and has_capacity(c, c.servers[number], job, wanted[1]):
            _rank(c, job, wanted[1], number, found)
            found += 1
    return found


def first_with_room(c: Control, job: Job, wanted: Wanted) -> int:
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
    one.server, one.speed, one.harm, one.high, one.low, one.taken = number, 0, 0, 0, number, 0
    if rules.ranking in (BY_LOAD, BY_FIT):
        one.high = MILLIONTHS * server.used // load[2]
    if rules.ranking == BY_CHANCE:
        one.low = at
    elif rules.ranking not in (BY_LOAD, BY_NUMBER):
        one.speed = c.speeds[job.platform, server.kind]
    if not rules.informed:
        return
    nature = job.vector, job.tolerates
    if rules.ranking in (BY_FIT, FILTERED, FILTERED_BY_CHANCE):
        one.harm = max(colocation_loss(load, nature, terms, 0) - MILLIONTHS, 0)
    elif rules.ranking == BY_COLOCATION:
        one.harm = 1 if violates(load, nature, terms) else 0
        one.speed = 0 if one.harm else one.speed
        one.high = colocation_loss(load, nature, terms, rules.printed_formula)
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


def best_candidate(c: Control, found: int) -> int:
    """The place of the best candidate that nobody took; -1 without any. Types that are nearly as fast as the fastest of
    those that do the least harm count as fast as that."""
    best, harm, fastest = -1, UNTOUCHED, 0
    for at in range(found):
        harm = min(harm, UNTOUCHED if c.candidates[at].taken else c.candidates[at].harm)
    for at in range(found):
        one = c.candidates[at]
        fastest = max(fastest, one.speed if one.harm == harm and not one.taken else 0)
    enough = fastest * (1.0 - c.rules.platform_slack)
    for at in range(found):
        one = c.candidates[at]
        one.speed = fastest if one.speed >= enough else one.speed
        best = at if not one.taken and (best < 0 or _is_before(c, at, best)) else best
    return best


def audit(c: Control, job: Job, wanted: Wanted, taken: int) -> None:
    """Rank the server that was taken among all that had room, weighted by their free units. Costs a look at all
    servers, and changes nothing that is decided."""
    rules, fastest = c.rules, 0
    for at in range(c.desk.listed[wanted[0]]):
        number = c.rosters[at].server[wanted[0]]
        if number != wanted[2] and has_capacity(c, c.servers[number], job, wanted[1]):
            fastest = max(fastest, c.speeds[job.platform, c.servers[number].kind])
    better, alike, among = 0, 0, 0
    mine, other = len(c.candidates) - 2, len(c.candidates) - 1  # candidates of the decision stay as they are
    _rank(c, job, wanted[1], taken, mine)
    worst = best = own = float(c.candidates[mine].high)
    for at in range(c.desk.listed[wanted[0]]):
        number = c.rosters[at].server[wanted[0]]
        server = c.servers[number]
        if number == wanted[2] or not has_capacity(c, server, job, wanted[1]):
            continue
        units = max((c.kinds[server.kind].cores - server.used) // _UNIT, 1)
        among += units
        for place in (mine, other):
            _rank(c, job, wanted[1], number if place == other else taken, place)
            one = c.candidates[place]
            worst, best = max(worst, float(one.high)), min(best, float(one.high))
            one.speed = fastest if one.speed >= fastest * (1.0 - rules.platform_slack) else one.speed
        better += units if _is_before(c, other, mine) else 0
        alike += units if not _is_before(c, other, mine) and not _is_before(c, mine, other) else 0
    row = c.audits[c.desk.audited]
    row.better, row.alike, row.among, row.candidates = (
        better,
        alike,
        among,
        draws_for(c, wanted[1], c.desk.pieces) if c.rules.candidates else 0,
    )
    row.value = (worst - own) / (worst - best) if worst > best else 1.0
    c.desk.audited += 1
