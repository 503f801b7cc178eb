"""Paragon's greedy selection: servers that bear a job in every resource and that it bears, relaxed where none is left
(Paragon §3.2)."""

from __future__ import annotations

from hcloud.control.searching.candidates import Wanted, best_of_all, has_room
from hcloud.control.searching.draws import begin_draws, draw
from hcloud.control.servers.tenancy import weight_on
from hcloud.control.state import Control, Job
from hcloud.policy.codes import FILTERED_BY_CHANCE
from hcloud.policy.placing.colocation import distance, spare_of_job, spare_of_tenants
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.records import Ints

_CONDITIONS = 2 * RESOURCES
"""First what the tenants bear of each resource, then what the job does."""
_WIDEST = 128
"""Points by which a condition is relaxed at most: more than any server lacks."""


def best_by_filters(c: Control, job: Job, wanted: Wanted, relaxes: bool) -> int:
    """Of the servers that pass all conditions the best type, then the closest fit, or any by chance; -1 where none has
    room.

    Where none passes, conditions are relaxed one after the other from the last on that held, by 1, 2, 4 ... points.
    After ``most_looks`` it is the one that would do the least harm.
    """
    most = c.desk.looks + c.rules.most_looks
    _order_conditions(c, job)
    _list_fitting(c, job, wanted)
    number = _best_passing(c, job, wanted)
    held = 0
    if not relaxes:
        return number
    c.desk.backtracked += 1 if number < 0 and c.desk.fitting > 0 else 0
    while number < 0 and held < _CONDITIONS and c.desk.looks < most:
        if _is_passed(c, wanted, held + 1):
            held += 1
        elif not _relax(c, job, wanted, (held, most)):
            return _least_harmed(c, job, wanted)
        number = _best_passing(c, job, wanted) if held == _CONDITIONS else -1
    return number if number >= 0 else _least_harmed(c, job, wanted)


def _list_fitting(c: Control, job: Job, wanted: Wanted) -> None:
    """Write down the places on the roster of all servers with room, and how many conditions each passes: a search asks
    for them again and again."""
    desk, which = c.desk, wanted[0]
    desk.fitting = 0
    for at in range(desk.listed[which]):
        number = c.rosters[at].server[which]
        if number != wanted[2] and has_room(c, at, job, wanted):
            one = c.rosters[desk.fitting]
            one.fits, one.holds = at, _passed_from(c, job, wanted, (number, 0)) if c.rules.informed else _CONDITIONS
            desk.fitting += 1


def _passed_from(c: Control, job: Job, wanted: Wanted, terms: tuple[int, int]) -> int:
    """The first condition that a server does not pass, from one on; as many as there are where it passes all. ``terms``
    are the server and the condition."""
    number, at = terms
    server = c.servers[number]
    load = (server.pressure, server.room, c.kinds[server.kind].cores)
    weight = weight_on(c, server, wanted[1])
    while at < _CONDITIONS and _left_of(c, job, load, (at, weight)) >= -c.desk.relaxed[at] * load[2]:
        at += 1
    return at


def _relax_by(c: Control, job: Job, wanted: Wanted, terms: tuple[int, int]) -> None:
    """Relax a condition by some points. Only servers that did not pass it get further, or that passed it before by
    more."""
    place, points = terms
    is_more, which = points >= c.desk.relaxed[place], wanted[0]
    c.desk.relaxed[place] = points
    for at in range(c.desk.fitting if c.rules.informed else 0):
        one = c.rosters[at]
        if (is_more and one.holds == place) or (not is_more and one.holds > place):
            reached = _passed_from(c, job, wanted, (c.rosters[one.fits].server[which], place))
            one.holds = reached if is_more or reached == place else one.holds


def _least_harmed(c: Control, job: Job, wanted: Wanted) -> int:
    """The server that would do the least harm, and by how many points each condition is relaxed for it."""
    number = best_of_all(c, job, wanted)
    if number >= 0:
        server = c.servers[number]
        load = (server.pressure, server.room, c.kinds[server.kind].cores)
        for at in range(_CONDITIONS):
            left = _left_of(c, job, load, (at, weight_on(c, server, wanted[1])))
            lacking = (max(-left, 0) + load[2] - 1) // load[2]
            c.desk.relaxed[at] = max(c.desk.relaxed[at], lacking)
    return number


def _left_of(c: Control, job: Job, load: tuple[Ints, Ints, int], terms: tuple[int, int]) -> int:
    """What is left on a server in the resource of a condition; ``terms`` are the condition and the job's weight."""
    at, weight = terms
    tolerance, nature = c.rules.tolerance, (job.vector, job.tolerates)
    if at < RESOURCES:
        return spare_of_tenants(load, nature, c.desk.resource[at], weight) + tolerance * load[2]
    return spare_of_job(load, nature, c.desk.resource[at], tolerance)


def _order_conditions(c: Control, job: Job) -> None:
    """The resources from the one that the job presses hardest, then from the one that it tolerates least; none
    relaxed."""
    desk = c.desk
    for i in range(_CONDITIONS):
        desk.relaxed[i] = 0
    for i in range(RESOURCES):
        at = i
        while at > 0 and job.vector[desk.resource[at - 1]] < job.vector[i]:
            desk.resource[at] = desk.resource[at - 1]
            at -= 1
        desk.resource[at] = i
    for i in range(RESOURCES):
        at = RESOURCES + i
        while at > RESOURCES and job.tolerates[desk.resource[at - 1]] > job.tolerates[i]:
            desk.resource[at] = desk.resource[at - 1]
            at -= 1
        desk.resource[at] = i


def _relax(c: Control, job: Job, wanted: Wanted, terms: tuple[int, int]) -> bool:
    """Relax conditions until some server passes one more than so many; False where none does, or after too many looks.
    ``terms`` are the conditions that some server passes, and the looks."""
    held, most = terms
    for back in range(held + 1):
        place = held - 1 - back if back < held else held
        points = c.rules.first_relaxation
        while points <= _WIDEST and c.desk.looks < most:
            _relax_by(c, job, wanted, (place, points))
            if _is_passed(c, wanted, held + 1):
                return True
            points *= 2
    return False


def passes(c: Control, job: Job, number: int, cores: int, conditions: int) -> bool:
    """Whether a server with room passes the first so many conditions."""
    return _passed_from(c, job, (0, cores, -1), (number, 0)) >= conditions


def _is_passed(c: Control, wanted: Wanted, conditions: int) -> bool:
    """Whether any server with room passes so many conditions. One without is looked at, too."""
    for at in range(c.desk.fitting):
        if c.rosters[at].holds >= conditions:
            c.desk.looks += c.rosters[at].fits + 1
            return True
    c.desk.looks += c.desk.listed[wanted[0]]
    return False


def _best_passing(c: Control, job: Job, wanted: Wanted) -> int:
    """The best of the servers that pass all conditions: by type and fit, or by chance; -1 where none does."""
    by_chance = c.rules.ranking == FILTERED_BY_CHANCE
    if by_chance:
        begin_draws(c, job)
    best, fastest, closest, passed = -1, -1, -1, 0
    c.desk.looks += c.desk.listed[wanted[0]]
    for place in range(c.desk.fitting):
        number = c.rosters[c.rosters[place].fits].server[wanted[0]]
        if c.rosters[place].holds < _CONDITIONS:
            continue
        passed += 1
        if by_chance:
            best = number if draw(c, passed) == 0 else best
            continue
        server = c.servers[number]
        speed = c.speeds[job.platform, server.kind]
        load = (server.pressure, server.room, c.kinds[server.kind].cores)
        away = distance(load, (job.vector, job.tolerates), (weight_on(c, server, wanted[1]), c.rules.tolerance))
        if speed > fastest or (speed == fastest and (away < closest or (away == closest and number < best))):
            best, fastest, closest = number, speed, away
    return int(best)
