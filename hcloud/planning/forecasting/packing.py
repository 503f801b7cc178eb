"""Jobs that cannot be split, packed into whole machines moment by moment: what the gaps they leave add to demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.workload import Demand
from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Counts = NDArray[np.int64]
    Rows = NDArray[np.intp]

MOMENTS = 2  # ours: moments of every step of an hour or more at which jobs are packed; of a shorter one, one
LEVELS = 64  # ours: the parts of a machine that jobs are rounded up to
_FILLED = np.arange(LEVELS + 1) / LEVELS  # by level, the part of a machine
LARGER = 4.0  # ours: machines this many times as large as the jobs need are tried, since more jobs share them,
WORTH_LARGER = 0.005  # ours: and taken where they save this share of what the jobs take
_HALVES = 20  # ours: the smallest machine is halved so often for small jobs
_CHUNK = 1 << 20
_CELLS = 1 << 22
"""Ours: so many counts of shapes at moments are kept, where the jobs are not more."""


@dataclass(slots=True, eq=False)
class _Known:
    """What was found out of jobs, so that it is found out once: the same jobs are packed for many types, and in several
    decisions."""

    shapes: JobShapes | None = None
    moments: dict[tuple[float, int, int], _Moments] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RunningJobs:
    """All the jobs of a demand series as columns; those where ``whole`` is set run on one machine each. ``name`` is how
    an error names the job of a row; ``batch`` says which are batch jobs, all where it is not given."""

    begin: Floats
    end: Floats
    cores: Floats
    memory: Floats
    whole: NDArray[np.bool_]
    name: Callable[[int], str] = str
    known: _Known = field(default_factory=_Known)
    batch: NDArray[np.bool_] | None = None

    def whole_batch(self, gib_per_vcpu: float) -> tuple[float, float]:
        """The vCPUs of machines of a shape that the smallest and the largest batch job take of those that cannot be
        split; of the smallest 0 where some can be."""
        batch = self.whole if self.batch is None else self.batch
        some = batch & self.whole
        if not some.any():
            return 0.0, 0.0
        wanted = np.maximum(self.cores[some], self.memory[some] / gib_per_vcpu)
        return 0.0 if (batch & ~self.whole).any() else float(wanted.min()), float(wanted.max())

    def shapes(self) -> JobShapes:
        """The shapes of those that cannot be split."""
        if self.known.shapes is None:
            self.known.shapes = JobShapes.of(self.cores, self.memory, self.whole)
        return self.known.shapes

    def moments(self, demand: Demand) -> _Moments:
        """When they run, at the moments of a demand series."""
        when = (demand.start, demand.step_seconds, len(demand))
        if when not in self.known.moments:
            self.known.moments[when] = _Moments.of(self, demand)
        return self.known.moments[when]


@dataclass(frozen=True, slots=True)
class MachineSizes:
    """The sizes that may be rented, in vCPUs of demand, smallest first, their GiB per vCPU, and the size that is large
    enough unless a job needs a larger one."""

    sizes: tuple[float, ...]
    gib_per_vcpu: float
    enough: float

    def for_jobs(self, running: RunningJobs) -> MachineSizes:
        """Only the sizes that packing looks at for such jobs."""
        most = LARGER * _size_for(max(self.enough, self.most(running)), self.sizes)
        return replace(self, sizes=tuple(s for s in self.sizes if s <= most))

    def most(self, running: RunningJobs) -> float:
        """The vCPUs that the largest job takes of those that cannot be split."""
        shapes = running.shapes()
        return max(shapes.most_cores, shapes.most_memory / self.gib_per_vcpu)

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
    largest = machines.most(running)
    if largest <= machines.sizes[-1] * (1 + 1e-9):
        return None
    shapes = running.shapes()
    return shapes.row(machines.of(shapes.cores, shapes.memory) == largest)


def packed(running: RunningJobs, demand: Demand, machines: MachineSizes) -> Packed:
    """The gaps that whole jobs leave, in the mean over the moments of each step.

    Of two ways to pack, both of which can be done, the one that takes less at the moment: every job rounded up to a
    size, sizes that divide each other filling machines without a gap; or first fit, largest job first, into machines
    of one size, each then as small as holds what is in it. An upper bound, therefore, of what packing needs. What can
    be split fills the gaps.
    """
    moments = running.moments(demand)
    if machines not in moments.packed:
        moments.packed[machines] = _packed(running, moments, machines)
    return moments.packed[machines]


def _packed(running: RunningJobs, moments: _Moments, machines: MachineSizes) -> Packed:
    shapes = running.shapes()
    wanted = machines.of(shapes.cores, shapes.memory)
    largest = _size_for(max(machines.enough, machines.most(running)), machines.sizes)
    volume = machines.of(moments.cores, moments.memory)
    is_exact = _is_exact(machines.sizes, shapes.count)
    taken = moments.in_use(running, _rounded(wanted, machines.sizes), is_exact=is_exact)
    for size in [s for s in machines.sizes if largest <= s <= largest * LARGER]:
        jobs, most = moments.by_level(wanted, size), float(taken.sum()) * (1 - WORTH_LARGER)
        least = (_FILLED @ jobs)[moments.alike] * size * (1 - 1e-7)
        if size > largest and float(np.minimum(taken, least).sum()) >= most:
            continue  # however it is packed
        fitted = _first_fit(jobs, _levels(machines.sizes, size))[moments.alike] * size
        less = np.minimum(taken, fitted)
        if size == largest or float(less.sum()) < most:
            taken, largest = less, size
    extra = np.maximum(taken - volume, 0.0).reshape(-1, moments.each).mean(axis=1)
    return Packed(extra, largest)


def with_gaps(demand: Demand, gaps: Packed, gib_per_vcpu: float) -> Demand:
    """The demand with the gaps added, in vCPUs and in GiB: what machines of that shape have to be rented for."""
    return replace(demand, cores=demand.cores + gaps.extra, memory=demand.memory + gaps.extra * gib_per_vcpu)


def _size_for(vcpus: float, sizes: Sequence[float]) -> float:
    return next((s for s in sizes if s >= vcpus * (1 - 1e-9)), sizes[-1])


def _rounded(wanted: Floats, sizes: Sequence[float]) -> Floats:
    """Each job's size: halves of the smallest machine, then the sizes for sale."""
    found = np.empty(len(wanted))
    for first in range(0, len(wanted), _CHUNK):
        some = wanted[first : first + _CHUNK]
        smallest = sizes[0]
        halved = smallest * np.exp2(np.ceil(np.log2(np.maximum(some / smallest, 2.0**-_HALVES)) - 1e-9))
        sold = np.asarray(sizes)[np.minimum(np.searchsorted(sizes, some * (1 - 1e-9)), len(sizes) - 1)]
        found[first : first + _CHUNK] = np.where(some <= smallest, halved, sold)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Moments at equal distances over a demand series, so many of ``each`` step: what all jobs have in use at each; of
    those that cannot be split and run at one at least, by shape or by job, the first moment they run at and the first
    after it. Where shapes are few, ``running`` counts the jobs of each shape in their place, once for all moments that
    are ``alike``: each moment has the number of its column."""

    each: int
    apart: float
    start: float
    cores: Floats
    memory: Floats
    shape: NDArray[np.intp]
    first: Counts
    last: Counts
    running: Counts | None
    alike: Rows | slice
    packed: dict[MachineSizes, Packed] = field(default_factory=dict)

    @classmethod
    def of(cls, running: RunningJobs, demand: Demand) -> _Moments:
        """The moments of a demand series."""
        each = MOMENTS if demand.step_seconds >= SECONDS_PER_HOUR else 1
        apart, start, count = demand.step_seconds / each, demand.start, len(demand) * each
        first, last = (_reached((at - start) / apart, count) for at in (running.begin, running.end))
        cores, memory = (_in_use(first, last, weight, count) for weight in (running.cores, running.memory))
        shapes = running.shapes()
        first, last = first[shapes.rows], last[shapes.rows]
        spanning = np.flatnonzero(first < last)
        first, last = first[spanning], last[spanning]
        shape = spanning if shapes.shape is None else shapes.shape[spanning].astype(np.intp)
        cells = len(shapes.cores) * (count + 1)
        if shapes.shape is None or cells > max(shapes.count, _CELLS):
            return cls(each, apart, start, cores, memory, shape, first, last, None, slice(None))
        none, (counts, alike) = np.empty(0, np.int64), _alike(_counts(shape, (first, last), (len(shapes.cores), count)))
        return cls(each, apart, start, cores, memory, none, none, none, counts, alike)

    def in_use(self, running: RunningJobs, sizes: Floats, *, is_exact: bool) -> Floats:
        """The sum of the sizes, by shape, of the jobs that run at each moment; in the order of the jobs unless sums are
        exact in any."""
        count = len(self.cores)
        shapes = running.shapes()
        if not is_exact:
            first, last = (
                _reached((at[shapes.rows] - self.start) / self.apart, count) for at in (running.begin, running.end)
            )
            return _in_use(first, last, sizes if shapes.shape is None else sizes[shapes.shape], count)
        if self.running is not None:
            return (sizes @ self.running)[self.alike]
        return _in_use(self.first, self.last, sizes[self.shape], count)

    def by_level(self, wanted: Floats, size: float) -> Counts:
        """How many jobs of each level (their part of a machine of ``size``, in ``LEVELS``, rounded up) run at each
        moment (of those that are ``alike``, at one); jobs below one level fill gaps and do not count."""
        level = np.minimum(np.ceil(wanted / size * LEVELS - 1e-9), LEVELS + 1).astype(np.int8)
        level[(level <= 1) | (level > LEVELS)] = 0
        if self.running is None:
            level = level[self.shape]
            some = np.flatnonzero(level)
            return _counts(level[some], (self.first[some], self.last[some]), (LEVELS + 1, len(self.cores)))
        found = np.zeros((LEVELS + 1, self.running.shape[1]), np.int64)
        for shape in np.flatnonzero(level):
            found[level[shape]] += self.running[shape]
        return found


def _alike(counts: Counts) -> tuple[Counts, Rows]:
    """The different columns, and which of them each column is."""
    order = np.lexsort(counts)
    starts = np.append(True, (np.diff(counts[:, order]) != 0).any(axis=0))
    alike = np.empty(len(order), np.intp)
    alike[order] = np.cumsum(starts) - 1
    return counts[:, order[starts]], alike


def _reached(moments: Floats, count: int) -> Counts:
    """The first of the moments that is not before a time."""
    return np.clip(np.ceil(moments - 0.5), 0, count).astype(np.int64)


def _in_use(first: Counts, last: Counts, weight: Floats, count: int) -> Floats:
    """The sum of the weights of the jobs that run at each moment."""
    up = np.bincount(first, weight, count + 1) - np.bincount(last, weight, count + 1)
    return np.maximum(np.cumsum(up)[:-1], 0.0)


def _is_exact(sizes: Sequence[float], count: int) -> bool:
    """Whether sums of so many sizes that jobs are rounded to are the same in whatever order they are taken."""
    steps = np.array([*sizes, *sizes[0] * np.exp2(-np.arange(_HALVES + 1))]) * 2.0**_HALVES
    return bool((steps == np.floor(steps)).all()) and float(steps.max()) * count < 2.0**53


def _counts(kind: NDArray[np.signedinteger], span: tuple[Counts, Counts], shape: tuple[int, int]) -> Counts:
    """How many jobs of each kind run at each moment."""
    kinds, count = shape
    cells = kinds * (count + 1)
    begins = kind.astype(np.int64) * (count + 1)
    started, ended = (np.bincount(begins + at, minlength=cells) for at in span)
    return np.cumsum((started - ended).reshape(kinds, count + 1), axis=1)[:, :-1]


def _levels(sizes: Sequence[float], size: float) -> Floats:
    """By level, the part of a machine of ``size`` that the smallest size for sale is which holds so much."""
    parts = np.array([s / size for s in sizes if s <= size * (1 + 1e-9)])
    found = parts[np.minimum(np.searchsorted(parts, _FILLED - 1e-9), len(parts) - 1)]
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
    full = left // each
    rooms[LEVELS - each * level] += full
    rest = left - full * each  # % takes twice as long
    at = np.flatnonzero(rest)
    rooms[LEVELS - rest[at] * level, at] += 1


MOST = 4096  # ours: jobs of more shapes than these are each a shape of their own


@dataclass(frozen=True, slots=True, eq=False)
class JobShapes:
    """vCPUs and GiB by shape; of the jobs that cannot be split the ``rows``, their ``count``, and the shape of each;
    without ``shape`` each of them is one by itself.
    ``most_cores`` and ``most_memory`` are those of any job."""

    cores: Floats
    memory: Floats
    rows: Rows | slice
    count: int
    shape: NDArray[np.int32] | None
    most_cores: float
    most_memory: float

    @classmethod
    def of(cls, cores: Floats, memory: Floats, whole: NDArray[np.bool_]) -> JobShapes:
        """The shapes of the jobs where ``whole`` is set."""
        rows = slice(None) if whole.all() else np.flatnonzero(whole)
        cores, memory = cores[rows], memory[rows]
        count = len(cores)
        most = float(cores.max(initial=0.0)), float(memory.max(initial=0.0))
        sizes, gibs = _distinct(cores), _distinct(memory)
        if sizes is None or gibs is None or len(sizes) * len(gibs) > MOST * 64:
            return cls(cores, memory, rows, count, None, *most)
        pair = np.empty(count, np.int32)
        for first in range(0, count, _CHUNK):
            some = slice(first, first + _CHUNK)
            pair[some] = np.searchsorted(sizes, cores[some]) * len(gibs) + np.searchsorted(gibs, memory[some])
        there = np.zeros(len(sizes) * len(gibs), np.bool_)
        there[pair] = True
        if np.count_nonzero(there) > MOST:
            return cls(cores, memory, rows, count, None, *most)
        number = (np.cumsum(there) - 1).astype(np.int32)
        size, gib = np.divmod(np.flatnonzero(there), max(len(gibs), 1))
        return cls(sizes[size], gibs[gib], rows, count, number[pair], *most)

    def row(self, shapes: NDArray[np.bool_]) -> int:
        """The first row of a job of one of these shapes."""
        found = int(np.argmax(shapes if self.shape is None else shapes[self.shape]))
        return found if isinstance(self.rows, slice) else int(self.rows[found])


def _distinct(values: Floats) -> Floats | None:
    """The different values in order; None where they are many."""
    found = np.empty(0)
    for first in range(0, len(values), _CHUNK):
        found = np.union1d(found, values[first : first + _CHUNK])
        if len(found) > MOST:
            return None
    return found
