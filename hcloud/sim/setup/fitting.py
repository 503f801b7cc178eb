"""Which jobs fit which types: pieces of jobs that may be split, jobs that fit nothing, and the type worth reserving."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hcloud.model.catalog import InstanceType
from hcloud.model.workload import Jobs
from hcloud.planning.forecasting.dividing import can_split
from hcloud.planning.forecasting.window import window_of
from hcloud.policy.records import Ints

_EDGE = 1e-9
_SAME = 4  # ours: leading digits of dollars that two types must share to cost the same


class Room(NamedTuple):
    """What one server holds: thousandths of a vCPU and MiB."""

    cores: int
    memory: int

    @classmethod
    def of(cls, shape: InstanceType) -> Room:
        """The room of an instance type."""
        return cls(int(shape.vcpus * 1000), int(shape.memory_gib * 1024))

    def fits(self, shape: InstanceType) -> bool:
        """Whether a type has as much room."""
        other = Room.of(shape)
        return self.cores <= other.cores and self.memory <= other.memory


@dataclass(frozen=True, slots=True)
class Priced:
    """A type that could be reserved, with the dollars an hour of it."""

    shape: InstanceType
    hourly: Decimal


def pieces(jobs: Jobs, rows: Ints, room: Room) -> Ints:
    """Into how many pieces each row is split so that each piece fits a server; 1 where it may not be split."""
    cores = np.ceil(jobs.cores[rows] * 1000 / room.cores - _EDGE)
    memory = np.ceil(jobs.memory[rows] * 1024 / room.memory - _EDGE)
    wanted = np.maximum(np.maximum(cores, memory), 1).astype(np.int64)
    return np.where(can_split(jobs)[rows], wanted, 1)


def held_by_some(shapes: Iterable[InstanceType], jobs: Jobs) -> NDArray[np.bool_]:
    """Which jobs one of the types holds, whole or (where they may be split) in pieces."""
    held = can_split(jobs).copy()
    for room in {Room.of(shape) for shape in shapes}:
        held |= (jobs.cores * 1000 <= room.cores + _EDGE) & (jobs.memory * 1024 <= room.memory + _EDGE)
    return held


def largest_whole(jobs: Jobs) -> Room:
    """What a type must have to hold every job that cannot be split; nothing where all can be."""
    whole = ~can_split(jobs)
    cores, memory = float(jobs.cores[whole].max(initial=0.0)), float(jobs.memory[whole].max(initial=0.0))
    return Room(round(cores * 1000), int(np.ceil(memory * 1024 - _EDGE)))


def worth_reserving(types: Sequence[Priced], jobs: Jobs, vcpus: int, apart: float = 0.0) -> Priced:
    """The type that holds every job which cannot be split, but for a share ``apart`` of all work, and serves the mean
    demand, in vCPUs or GiB whichever takes more of it, at the least dollars, of one server at the least; of types that
    cost the same the one nearest to so many ``vcpus``. Where none holds them, those count that hold the most work. All
    have to be held where jobs require something of their machine, which may be a reserved one."""
    work, split, mean = jobs.cores * jobs.duration, can_split(jobs), _mean_demand(jobs)
    most = 0.0 if jobs.requires is not None else apart * float(work.sum())

    def rank(one: Priced) -> tuple[float, float, float, Decimal, str]:
        shape, room = one.shape, Room.of(one.shape)
        large = np.maximum(jobs.cores * 1000 / room.cores, jobs.memory * 1024 / room.memory) > 1 + _EDGE
        servers = max(mean[0] / float(shape.vcpus), mean[1] / float(shape.memory_gib), 1.0)
        dollars = float(f"{float(one.hourly) * servers:.{_SAME}g}")
        left = float(work[large & ~split].sum())
        return left if left > most else 0.0, dollars, abs(float(shape.vcpus) - vcpus), one.hourly, shape.name

    return min(types, key=rank)


def smaller_ones(shapes: Sequence[InstanceType], jobs: Jobs, vcpus: int) -> list[InstanceType]:
    """The types below so many ``vcpus`` of a shape of which the mean demand, in vCPUs or GiB whichever takes more, does
    not fill a server of so many; none where jobs require something of their machine, which may be its size."""
    cores, memory = _mean_demand(jobs)

    def filled(shape: InstanceType) -> bool:
        return max(cores, memory * float(shape.vcpus / shape.memory_gib)) >= vcpus

    return [] if jobs.requires is not None else [s for s in shapes if s.vcpus < vcpus and not filled(s)]


def _mean_demand(jobs: Jobs) -> tuple[float, float]:
    """The mean vCPUs and GiB in use in the window that counts."""
    window = window_of(jobs)
    ends = np.minimum(jobs.submit + jobs.duration, window.end)
    inside = np.clip(ends - np.maximum(jobs.submit, window.start), 0.0, None) / max(window.seconds, 1.0)
    return float((inside * jobs.cores).sum()), float((inside * jobs.memory).sum())


def work_share(cores: Ints, seconds: NDArray[np.float64], chosen: NDArray[np.bool_]) -> float:
    """The part of all core-seconds that the chosen jobs stand for."""
    work = cores * seconds
    total = float(work.sum())
    return float(work[chosen].sum()) / total if total else 0.0
