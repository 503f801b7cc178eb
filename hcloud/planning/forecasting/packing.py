"""Jobs that cannot be split, packed into whole machines moment by moment: what the gaps they leave add to demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.workload import Demand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Counts = NDArray[np.int64]

MOMENTS = 2  # ours: moments of every step at which jobs are packed
LEVELS = 64  # ours: the parts of a machine that jobs are rounded up to
LARGER = 4.0  # ours: machines this many times as large as the jobs need are tried, since more jobs share them,
WORTH_LARGER = 0.005  # ours: and taken where they save this share of what the jobs take


@dataclass(frozen=True, slots=True, eq=False)
class RunningJobs:
    """All the jobs of a demand series as columns; those where ``whole`` is set run on one machine each. ``name`` is how
    an error names the job of a row."""

    begin: Floats
    end: Floats
    cores: Floats
    memory: Floats
    whole: NDArray[np.bool_]
    name: Callable[[int], str] = str


@dataclass(frozen=True, slots=True)
class MachineSizes:
    """The sizes that may be rented, in vCPUs of demand, smallest first, their GiB per vCPU, and the size that is large
    enough unless a job needs a larger one."""

    sizes: tuple[float, ...]
    gib_per_vcpu: float
    enough: float

    def for_jobs(self, running: RunningJobs) -> MachineSizes:
        """Only the sizes that packing looks at for such jobs."""
        wanted = self.of(running.cores, running.memory)[running.whole]
        most = LARGER * _size_for(max(self.enough, float(wanted.max(initial=0.0))), self.sizes)
        return replace(self, sizes=tuple(s for s in self.sizes if s <= most))

    def of(self, cores: Floats, memory: Floats) -> Floats:
        """The vCPUs of such a machine that jobs take, by vCPUs or by GiB, whichever is more."""
        return np.maximum(cores, memory / self.gib_per_vcpu)


@dataclass(frozen=True, slots=True)
class Packed:
    """What whole jobs take beyond their sum at each step, in vCPUs of the machines, and the largest size needed."""

    extra: Floats
    largest: float


def misfit(running: RunningJobs, machines: MachineSizes) -> int | None:
    """The row of the largest job that no machine holds, None where all fit."""
    wanted = np.where(running.whole, machines.of(running.cores, running.memory), 0.0)
    row = int(np.argmax(wanted)) if len(wanted) else 0
    return row if len(wanted) and wanted[row] > machines.sizes[-1] * (1 + 1e-9) else None


def packed(running: RunningJobs, demand: Demand, machines: MachineSizes) -> Packed:
    """The gaps that whole jobs leave, in the mean over ``MOMENTS`` of each step.

    Of two ways to pack, both of which can be done, the one that takes less at the moment: every job rounded up to a
    size, sizes that divide each other filling machines without a gap; or first fit, largest job first, into machines
    of one size, each then as small as holds what is in it. An upper bound, therefore, of what packing needs. What can
    be split fills the gaps.
    """
    wanted = machines.of(running.cores, running.memory)
    jobs = np.flatnonzero(running.whole)
    largest = _size_for(max(machines.enough, float(wanted[jobs].max(initial=0.0))), machines.sizes)
    moments = _Moments.of(running, demand)
    volume = machines.of(moments.in_use(running.cores), moments.in_use(running.memory))
    taken = moments.in_use(_rounded(wanted, machines.sizes), jobs)
    for size in [s for s in machines.sizes if largest <= s <= largest * LARGER]:
        fitted = _first_fit(moments.by_level(wanted, jobs, size), _levels(machines.sizes, size)) * size
        less = np.minimum(taken, fitted)
        if size == largest or float(less.sum()) < float(taken.sum()) * (1 - WORTH_LARGER):
            taken, largest = less, size
    extra = np.maximum(taken - volume, 0.0).reshape(len(demand), MOMENTS).mean(axis=1)
    return Packed(extra, largest)


def with_gaps(demand: Demand, gaps: Packed, gib_per_vcpu: float) -> Demand:
    """The demand with the gaps added, in vCPUs and in GiB: what machines of that shape have to be rented for."""
    return replace(demand, cores=demand.cores + gaps.extra, memory=demand.memory + gaps.extra * gib_per_vcpu)


def _size_for(vcpus: float, sizes: Sequence[float]) -> float:
    return next((s for s in sizes if s >= vcpus * (1 - 1e-9)), sizes[-1])


def _rounded(wanted: Floats, sizes: Sequence[float]) -> Floats:
    """Each job's size: halves of the smallest machine, then the sizes for sale."""
    smallest = sizes[0]
    halved = smallest * np.exp2(np.ceil(np.log2(np.maximum(wanted / smallest, 2.0**-20)) - 1e-9))
    sold = np.asarray(sizes)[np.minimum(np.searchsorted(sizes, wanted * (1 - 1e-9)), len(sizes) - 1)]
    return np.where(wanted <= smallest, halved, sold)


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Moments at equal distances over a demand series, and by job the first one it runs at and the first after it."""

    count: int
    first: Counts
    last: Counts

    @classmethod
    def of(cls, running: RunningJobs, demand: Demand) -> _Moments:
        apart = demand.step_seconds / MOMENTS
        count = len(demand) * MOMENTS

        def reached(times: Floats) -> Counts:
            return np.clip(np.ceil((times - demand.start) / apart - 0.5), 0, count).astype(np.int64)

        return cls(count, reached(running.begin), reached(running.end))

    def in_use(self, weight: Floats, jobs: Counts | slice = slice(None)) -> Floats:
        """The sum of the weights of the jobs that run at each moment."""
        size = self.count + 1
        up = np.bincount(self.first[jobs], weight[jobs], size) - np.bincount(self.last[jobs], weight[jobs], size)
        return np.maximum(np.cumsum(up)[:-1], 0.0)

    def by_level(self, wanted: Floats, jobs: Counts, size: float) -> Counts:
        """How many jobs of each level (their part of a machine of ``size``, in ``LEVELS``, rounded up) run at each
        moment; jobs below one level fill gaps and do not count."""
        level = np.ceil(wanted[jobs] / size * LEVELS - 1e-9).astype(np.int64)
        some = jobs[(level > 1) & (level <= LEVELS)]
        level = level[(level > 1) & (level <= LEVELS)]
        shape = (LEVELS + 1, self.count + 1)
        cells = shape[0] * shape[1]
        started, ended = (np.bincount(level * shape[1] + at[some], minlength=cells) for at in (self.first, self.last))
        return np.cumsum((started - ended).reshape(shape), axis=1)[:, :-1]


def _levels(sizes: Sequence[float], size: float) -> Floats:
    """By level, the part of a machine of ``size`` that the smallest size for sale is which holds so much."""
    parts = np.array([s / size for s in sizes if s <= size * (1 + 1e-9)])
    filled = np.arange(LEVELS + 1) / LEVELS
    found = parts[np.minimum(np.searchsorted(parts, filled - 1e-9), len(parts) - 1)]
    found[0] = 0.0
    return found


def _first_fit(jobs: Counts, parts: Floats) -> Floats:
    """Machines that jobs fill at each moment, the largest first, each into the fullest machine with room for it."""
    moments = jobs.shape[1]
    rooms = np.zeros((LEVELS + 1, moments), dtype=np.int64)  # machines by the levels that are free in them
    for level in range(LEVELS, 0, -1):
        left = jobs[level].copy()
        if not left.any():
            continue
        for free in range(level, LEVELS):
            if rooms[free].any() and left.any():
                left = _placed(rooms, left, level, free)
        _opened(rooms, left, level)
    used = parts[::-1]  # a machine with so many levels free
    return used @ rooms


def _placed(rooms: Counts, left: Counts, level: int, free: int) -> Counts:
    """Fill machines with so much room; what is left of the jobs."""
    each = free // level
    full = np.minimum(rooms[free], left // each)
    rooms[free] -= full
    rooms[free - each * level] += full
    left = left - full * each
    rest = np.where(rooms[free] > 0, np.minimum(left, each), 0)
    at = np.flatnonzero(rest)
    rooms[free, at] -= 1
    rooms[free - rest[at] * level, at] += 1
    return left - rest


def _opened(rooms: Counts, left: Counts, level: int) -> None:
    """New machines for what is left."""
    each = LEVELS // level
    rooms[LEVELS - each * level] += left // each
    rest = left % each
    at = np.flatnonzero(rest)
    rooms[LEVELS - rest[at] * level, at] += 1
