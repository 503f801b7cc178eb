"""Candidates by hashing: servers lie on a ring by what they tolerate, a job's questions by what it causes, and each
finds the next server on it (Paragon §3.3).

A server's points are keyed by the server, too, and a job's by the search: keyed by the scores alone all servers that
tolerate as much lie on one point, and jobs that are alike get the same candidates.
"""

from __future__ import annotations

from hcloud.control.state import POINTS, Control, Job
from hcloud.policy.placing.placement import RESOURCES, UNTOUCHED

_PRIME, _FACTOR, _APART = 2_147_483_647, 48_271, 12_820_163
_MOST_BORNE = 100
_ARC = 128
"""Points of a ring that are passed over at once where no server lies on them."""


def put_on_ring(c: Control, number: int, which: int) -> None:
    """Put a server of a roster on the ring of each resource."""
    links = c.ringed[number]
    links.roster = which + 1
    for i in range(RESOURCES):
        at, ring = _point_of(c, number, i), which * RESOURCES + i
        first = c.ring[at].first[ring]
        links.at[i], links.before[i], links.after[i] = at, 0, first
        if first > 0:
            c.ringed[first - 1].before[i] = number + 1
        c.ring[at].first[ring] = number + 1
        c.ring[at - at % _ARC].arc[ring] += 1


def take_off_ring(c: Control, number: int) -> None:
    """Take a server off the rings that it is on, if it is on any."""
    links = c.ringed[number]
    if links.roster == 0:
        return
    for i in range(RESOURCES):
        before, after, ring = links.before[i], links.after[i], (links.roster - 1) * RESOURCES + i
        c.ring[links.at[i] - links.at[i] % _ARC].arc[ring] -= 1
        if before > 0:
            c.ringed[before - 1].after[i] = after
        else:
            c.ring[links.at[i]].first[ring] = after
        if after > 0:
            c.ringed[after - 1].before[i] = before
    links.roster = 0


def put_anew(c: Control, number: int) -> None:
    """Hash a server again after its load changed."""
    which = c.ringed[number].roster - 1
    if which >= 0:
        take_off_ring(c, number)
        put_on_ring(c, number, which)


def hashed_place(c: Control, job: Job, which: int, turn: int) -> int:
    """The place on a roster, which lists some server, that a job's question of a turn finds."""
    resource = turn % RESOURCES
    asked = _mixed(_mixed(int(job.vector[resource]), resource), c.desk.salt + turn)
    at, ring = asked % POINTS, which * RESOURCES + resource
    while c.ring[at].first[ring] == 0:
        empty = at % _ARC == 0 and c.ring[at].arc[ring] == 0
        at = (at + (_ARC if empty else 1)) % POINTS
    there, entry = 0, c.ring[at].first[ring]
    while entry > 0:
        there, entry = there + 1, c.ringed[entry - 1].after[resource]
    entry = c.ring[at].first[ring]
    for _ in range(asked // POINTS % there):
        entry = c.ringed[entry - 1].after[resource]
    return int(c.servers[entry - 1].place)


def _point_of(c: Control, number: int, resource: int) -> int:
    """Where a server lies on the ring of a resource: by how many points more of it its tenants tolerate."""
    server = c.servers[number]
    borne = _MOST_BORNE
    if server.room[resource] < UNTOUCHED:
        left = (server.room[resource] - server.pressure[resource]) // c.kinds[server.kind].cores
        borne = min(max(left, 0), _MOST_BORNE)
    return int(_mixed(_mixed(borne, resource), number) % POINTS)


def _mixed(one: int, other: int) -> int:
    """Two numbers as one of 31 bits that seems to have nothing to do with them."""
    mixed = (one * _FACTOR + other + _APART) % _PRIME
    return int(mixed * mixed % _PRIME)
