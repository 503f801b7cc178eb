"""How well a job and a server suit each other: Paragon's differences and quality, Tarcil's match of a resource unit.

Pressure is counted as in :mod:`hcloud.policy.placing.placement`, points x thousandths of a vCPU of the server;
what the job itself brings is never held against it.
"""

from __future__ import annotations

from hcloud.policy.placing.placement import RESOURCES, UNTOUCHED, Nature
from hcloud.policy.quality import HALF, complement, encode, reaches
from hcloud.policy.records import Ints

MILLIONTHS = 1_000_000


def spare_of_tenants(load: tuple[Ints, Ints, int], nature: Nature, resource: int, weight: int) -> int:
    """What the tenants would still bear of a resource after a job joined: Paragon's D1, ``t_server - c_new`` (§3.2);
    a server without tenants bears 100 points."""
    pressure, room, capacity = load
    bears = 100 * capacity if room[resource] >= UNTOUCHED else room[resource] - pressure[resource]
    return int(bears - int(nature[0][resource]) * weight)


def spare_of_job(load: tuple[Ints, Ints, int], nature: Nature, resource: int, tolerance: int) -> int:
    """What a job would still bear of a resource on a server: Paragon's D2, ``t_new - c_server`` (§3.2)."""
    pressure, _, capacity = load
    return int((int(nature[1][resource]) + tolerance) * capacity - pressure[resource])


def spare(load: tuple[Ints, Ints, int], nature: Nature, resource: int, terms: tuple[int, int]) -> int:
    """The less of both; ``terms`` are weight and tolerance."""
    mine = spare_of_job(load, nature, resource, terms[1])
    theirs = spare_of_tenants(load, nature, resource, terms[0]) + terms[1] * load[2]
    return min(mine, theirs)


def distance(load: tuple[Ints, Ints, int], nature: Nature, terms: tuple[int, int]) -> int:
    """``|| D1 + D2 ||_1`` in points: how far a server is from one that suits exactly (Paragon §3.2)."""
    total = 0
    for i in range(RESOURCES):
        total += abs(spare_of_tenants(load, nature, i, terms[0]) + spare_of_job(load, nature, i, terms[1]))
    return total // load[2]


def colocation_loss(load: tuple[Ints, Ints, int], nature: Nature, terms: tuple[int, int], printed: int) -> int:
    """How much the quality of colocation is below 1, in millionths; above one million it is negative (Paragon §3.3).

    As printed, quality is ``sign(sum D) * |1 - sum |D| / N|``: a server that violates one resource can have a positive
    one, and a worse violation a better one. Mended, any violation makes it negative by the mean of what is violated.
    """
    total, size, violated = 0, 0, 0
    for i in range(RESOURCES):
        left = spare(load, nature, i, terms)
        total += left
        size += abs(left)
        violated += max(-left, 0)
    whole = RESOURCES * 100 * load[2]
    if printed:
        quality = abs(MILLIONTHS - MILLIONTHS * size // whole)
        return MILLIONTHS - (quality if total >= 0 else -quality)
    if violated > 0:
        return MILLIONTHS + MILLIONTHS * violated // whole
    return MILLIONTHS * size // whole


def violates(load: tuple[Ints, Ints, int], nature: Nature, terms: tuple[int, int]) -> bool:
    """Whether the job or a tenant would suffer."""
    least = 0
    for i in range(RESOURCES):
        least = min(least, spare(load, nature, i, terms))
    return least < 0


def contention(pressure: Ints, capacity: int, whole: int, made: Ints) -> tuple[int, int]:
    """The two halves of the quality that a free resource unit of a server has left (Tarcil eq. 7.3, 7.4).

    Its contention is the mean over the other units of what runs on them, free units counting as none; ``whole`` says
    that tenants press with the whole server, as one. Writes into ``made``.
    """
    others = capacity if whole else max(capacity - 1000, 1)
    for i in range(RESOURCES):
        presses = capacity > 1000 and pressure[i] > 0
        made[i] = min((pressure[i] + others // 2) // others, 99) if presses else 0
    high, low = encode(made)
    return complement(high, low)


def mismatch(unit: tuple[int, int], need: tuple[int, int]) -> tuple[int, int]:
    """How far a unit of a quality is from what a job needs: two halves, the least is the best (Tarcil eq. 7.5).

    A unit that is good enough always comes before one that is not; of the former the closest, of the latter the one
    that lacks the least: the printed quality of the latter rises with what is lacking.
    """
    kept = reaches(unit[0], unit[1], need[0], need[1])
    high = unit[0] - need[0] if kept else need[0] - unit[0]
    low = unit[1] - need[1] if kept else need[1] - unit[1]
    if low < 0:
        high, low = high - 1, low + HALF
    return (high if kept else HALF + high), low
