"""The shapes of jobs that cannot be split: of millions of jobs mostly a few hundred, each worked on once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Rows = NDArray[np.intp]

MOST = 4096  # ours: jobs of more shapes than these are each a shape of their own
_CHUNK = 1 << 20


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
