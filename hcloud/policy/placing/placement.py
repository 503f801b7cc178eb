"""M10: does a job fit a server, and would it or its neighbours suffer there (thesis §8.3.3; Paragon's two conditions).

Pressure is counted in points x thousandths of a vCPU. A job presses with what it causes, weighted by what it
occupies; it tolerates so many points from the others on the whole server, so with its own part added the sum on its
server may reach ``room_of``. A server's room in a resource is the least of its tenants'.
"""

from __future__ import annotations

from hcloud.policy.records import Bytes, Ints

RESOURCES = 10
UNTOUCHED = 1 << 60
"""The room of a server without tenants."""

Nature = tuple[Bytes, Bytes]
"""What a job is like: the points that it causes, and those that it tolerates, of each resource."""


def room_of(tolerated: int, caused: int, weight: int, capacity: int) -> int:
    """The sum of pressure in one resource, its own included, that a tenant bears on a server of ``capacity``."""
    return int(tolerated) * capacity + int(caused) * weight


def bears_least(nature: Nature, room: Ints, weight: int, terms: tuple[int, int]) -> bool:
    """Whether a tenant is one of those that bear the least on a server: without it the others may bear more. ``terms``
    are the server's capacity and the tolerance."""
    least = 0
    for i in range(RESOURCES):
        least += 1 if room_of(int(nature[1][i]) + terms[1], nature[0][i], weight, terms[0]) <= room[i] else 0
    return least > 0


def find_least(nature: Nature, room: Ints, weight: int, terms: tuple[int, int, Ints]) -> int:
    """The same: in how many resources; which ones is in the third of ``terms``."""
    found = 0
    for i in range(RESOURCES):
        terms[2][found] = i
        found += 1 if room_of(int(nature[1][i]) + terms[1], nature[0][i], weight, terms[0]) <= room[i] else 0
    return found


def violation(load: tuple[Ints, Ints, int], nature: Nature, weight: int, tolerance: int) -> int:
    """By how much the most pressed resource would exceed what the tenants or the joining job bear; 0 if none does.

    ``load`` is the server's pressure, its room and its capacity, before the job joins it.
    """
    pressure, room, capacity = load
    causes, tolerates = nature
    worst = 0
    for i in range(RESOURCES):
        caused = int(causes[i])
        total = pressure[i] + caused * weight
        bearable = min(room[i], room_of(int(tolerates[i]) + tolerance, caused, weight, capacity))
        worst = max(worst, total - bearable)
    return worst


def violation_in(load: tuple[Ints, Ints, int], nature: Nature, resource: int, terms: tuple[int, int]) -> int:
    """By how much one resource would exceed what is borne; ``terms`` are weight and tolerance."""
    pressure, room, capacity = load
    caused, tolerated = int(nature[0][resource]), int(nature[1][resource]) + terms[1]
    total = pressure[resource] + caused * terms[0]
    return int(total - min(room[resource], room_of(tolerated, caused, terms[0], capacity)))


def most_pressed(vector: Bytes) -> int:
    """The place of the largest entry."""
    place = 0
    for i in range(1, RESOURCES):
        place = i if vector[i] > vector[place] else place
    return place


def slack_of(pressure: Ints, room: Ints) -> int:
    """The pressure that one more job may put on the resource whose tenants bear the least more of it."""
    least: int = room[0] - pressure[0]
    for i in range(1, RESOURCES):
        least = min(least, room[i] - pressure[i])
    return least


def least_pressed(vector: Bytes, weight: int) -> int:
    """What a job puts at least on every resource: a server with less slack than this has a tenant that would suffer."""
    least = int(vector[0])
    for i in range(1, RESOURCES):
        least = min(least, int(vector[i]))
    return least * weight
