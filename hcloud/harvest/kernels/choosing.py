"""Which classes of idle servers a job is put on: those that have room for it, as likely as their history speaks for
them (OSDI'16, algorithm 1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hcloud.harvest.kernels.pool import draw

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_PARTS = 1 << 30


def chance(stream: Ints) -> float:
    """A number from 0 to below 1, each as likely."""
    return draw(stream, _PARTS) / _PARTS


def weighed(room: Ints, weight: Reals, picked: Flags, least: int) -> float:
    """The room times weight of all classes that are not picked and have room for at least so many containers."""
    total = 0.0
    for one in range(len(room)):
        if room[one] >= least and not picked[one]:
            total += room[one] * weight[one]
    return total


def drawn(room: Ints, weight: Reals, picked: Flags, least: int, at: float) -> int:
    """The class at which the room times weight of these, added up, first exceeds ``at``; the last of them else."""
    found = -1
    for one in range(len(room)):
        if room[one] >= least and not picked[one]:
            found = one
            at -= room[one] * weight[one]
            if at < 0.0:
                return found
    return found


def choose(room: Ints, weight: Reals, needed: int, picked: Flags, stream: Ints) -> int:
    """Mark the classes that a job of so many containers gets, and say how many: one that has room for all of them, else
    several that have it together, else none. Each is as likely as its room times its weight."""
    total = 0
    for one in range(len(room)):
        picked[one] = False
        total += room[one]
    whole = weighed(room, weight, picked, needed)
    if whole > 0.0:
        picked[drawn(room, weight, picked, needed, chance(stream) * whole)] = True
        return 1
    if total < needed:
        return 0
    many, got = 0, 0
    while got < needed:
        whole = weighed(room, weight, picked, 1)
        one = drawn(room, weight, picked, 1, chance(stream) * whole)
        picked[one] = True
        got += room[one]
        many += 1
    return many
