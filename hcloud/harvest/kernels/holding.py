"""What of a server harvested containers may hold beside its service and its reserve, in thousandths of a vCPU and in
MiB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    Amount = Any  # of one server, or of each of many: an array

VCPU = 1000
SHORT, MEDIUM, LONG = range(3)
_ROUNDING = 1e-4


def in_use(cores: Amount, share: Amount) -> Amount:
    """What a share of a server holds, its service's or its reserve's: whole vCPUs."""
    return np.int64(np.ceil(share * cores / VCPU - _ROUNDING)) * VCPU


def spare(cores: Amount, reserve: Amount, use: Amount, held: Amount) -> Amount:
    """What containers may still have beside those that hold something; below 0 the reserve is broken."""
    return cores - reserve - in_use(cores, use) - held


def gives_way(cores: int, reserve: int, use: float, held: int, many: int) -> bool:
    """Whether the youngest of so many containers has to go, so that the reserve is whole."""
    return bool(many > 0 and spare(cores, reserve, use, held) < 0)


def containers(cores: int, memory: int, of_cores: int, of_memory: int) -> int:
    """How many containers of a size find room in so much."""
    if cores < of_cores or memory < of_memory:
        return 0
    many = cores // of_cores
    if of_memory > 0:
        many = min(many, memory // of_memory)
    return many


def length_of(last: float, short: float, long: float) -> int:
    """By the seconds of its last run a job is short, medium or long; medium where none is known (below 0)."""
    if last < 0.0:
        return MEDIUM
    if last <= short:
        return SHORT
    return LONG if last > long else MEDIUM


def is_too_often(kills: int, most: int) -> bool:
    """Whether a task that was killed so often moves on demand; never where the most is 0."""
    return most > 0 and kills >= most


def is_beyond(slip: float, spin_up: float, left: float, slowdown: float) -> bool:
    """Whether a job has lost more time than a machine on demand takes to start and to do what is left."""
    return slip > spin_up + left * slowdown
