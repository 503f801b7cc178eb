"""Short jobs: a server by chance, without a look at what the job is like (Paragon §3.5)."""

from __future__ import annotations

from hcloud.control.searching.candidates import Wanted, first_with_room, has_capacity, sample
from hcloud.control.searching.draws import begin_draws, draw
from hcloud.control.state import BANDS, Control, Job
from hcloud.policy.placing.placement import RESOURCES

_FULL = 100


def is_brief(c: Control, job: Job) -> bool:
    """Whether a job is expected to run for so short a time that it is not profiled."""
    return bool(0.0 <= job.expected < c.rules.profile_above)


def best_for_brief(c: Control, job: Job, wanted: Wanted) -> int:
    """A server by chance, of the tenth of those with room that have most vCPUs free, and of these one of the half that
    are pressed least, where there is any; -1 where none has room. A placement that samples looks at its sample.

    Servers are told apart by bands of free vCPUs and of pressure, so that a look at each is enough.
    """
    desk, with_room, drawn = c.desk, 0, c.rules.candidates > 0
    desk.found = sample(c, job, wanted) if drawn else 0
    count = desk.found if drawn else desk.listed[wanted[0]]
    for band in range(BANDS):
        desk.by_free[band], desk.by_pressure[band] = 0, 0
    for at in range(count):
        number = _server_at(c, at, wanted[0])
        desk.looks += 0 if drawn else 1
        if _has_room(c, number, job, wanted):
            desk.by_free[_free_band(c, number)] += 1
            desk.by_pressure[_pressure_band(c, number)] += 1
            with_room += 1
    least_free, seen = BANDS, 0
    while least_free > 0 and seen < (with_room + 9) // 10:
        least_free -= 1
        seen += desk.by_free[least_free]
    most_pressed, seen = -1, 0
    while most_pressed < BANDS - 1 and seen < (with_room + 1) // 2:
        most_pressed += 1
        seen += desk.by_pressure[most_pressed]
    begin_draws(c, job)
    found = _by_chance(c, job, wanted, (count, least_free, most_pressed))
    if found < 0:
        found = _by_chance(c, job, wanted, (count, least_free, BANDS))
    return first_with_room(c, job, wanted) if found < 0 and drawn else found


def _server_at(c: Control, at: int, which: int) -> int:
    """One of those that are looked at: a candidate, or a server of the roster."""
    return int(c.candidates[at].server if c.rules.candidates > 0 else c.rosters[at].server[which])


def _by_chance(c: Control, job: Job, wanted: Wanted, bounds: tuple[int, int, int]) -> int:
    """Any server with room of the first so many that has so much free and is pressed no more than so, each as likely;
    -1 without any."""
    found, passed = -1, 0
    for at in range(bounds[0]):
        number = _server_at(c, at, wanted[0])
        if not _has_room(c, number, job, wanted):
            continue
        if _free_band(c, number) >= bounds[1] and _pressure_band(c, number) <= bounds[2]:
            passed += 1
            found = number if draw(c, passed) == 0 else found
    return int(found)


def _has_room(c: Control, number: int, job: Job, wanted: Wanted) -> bool:
    return bool(number != wanted[2]) and has_capacity(c, c.servers[number], job, wanted[1])


def _free_band(c: Control, number: int) -> int:
    """Free vCPUs, in parts of a server of the large type."""
    server = c.servers[number]
    free = c.kinds[server.kind].cores - server.used
    return int(free * (BANDS - 1) // c.kinds[c.rules.large].cores)


def _pressure_band(c: Control, number: int) -> int:
    """The mean pressure on a server's resources, in parts of the highest."""
    server, total = c.servers[number], 0
    for i in range(RESOURCES):
        total += server.pressure[i]
    points = total // (RESOURCES * c.kinds[server.kind].cores)
    return int(min(points * BANDS // _FULL, BANDS - 1))
