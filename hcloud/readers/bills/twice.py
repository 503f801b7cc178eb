"""Finds lines that two files of a bill both hold: a month that was delivered twice, or files whose days overlap."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hcloud.errors import InputError
from hcloud.readers.workloads.identity import Hashes, identity_hashes

IDENTITY = "identity "
"""What the roles begin with whose columns tell a line from all others."""
OWNER = IDENTITY + "of "
"""The same for those that name the resource or commitment of a line, once more."""
_SAME = 0.5
"""Ours: the part of the smaller file's lines that is in the other where both are of one delivery made twice."""
_UNIQUE = 0.99
"""Ours: where fewer lines are there once within their file, two that are alike are not one."""
_ALL_BELOW = 64 << 20
_DAY = 24
_ONE_IN = np.int64(8)
_SPREAD = np.int64(0x9E3779B1)
_NAMED = np.uint64(1)
"""The bit of a hash that says whether the line names its resource or commitment: two such that are alike are one."""


class SeenLines:
    """The lines of each file, by their hashes; of a large bill those of every eighth hour. ``priced`` says whether
    lines of other costs are other lines."""

    def __init__(self, size: int, *, priced: bool) -> None:
        self.sampled, self.priced = size > _ALL_BELOW, priced
        self.files: dict[str, list[Hashes]] = {}

    def take(self, file: str, batch: pa.RecordBatch, start: NDArray[np.int64], span: NDArray[np.int64]) -> None:
        """Add the lines of a batch, whose hours since 1970 and lengths in hours are given."""
        rows = np.arange(len(start))
        if self.sampled:
            rows = np.flatnonzero((span >= _DAY) | ((start * _SPREAD >> np.int64(8)) % _ONE_IN == 0))
        if len(rows) and (hashes := hashes_of(batch, rows)) is not None:
            self.files.setdefault(file, []).append(hashes)

    def shared(self) -> Hashes:
        """The lines that two files share, by their hashes: those of a resource or commitment, and all of a file that
        is in another whole. InputError where most lines of a file are in another, but not all."""
        whole = {name: np.unique(np.concatenate(parts)) for name, parts in self.files.items()}
        read = sum(len(part) for parts in self.files.values() for part in parts)
        told_apart = sum(map(len, whole.values())) >= _UNIQUE * read
        found, names = [np.zeros(0, np.uint64)], list(whole)
        for place, name in enumerate(names):
            for other in names[:place]:
                found.append(self._common(name, whole[name], other, whole[other]))
        shared: Hashes = np.unique(np.concatenate(found if told_apart else found[:1]))
        return shared

    def _common(self, name: str, lines: Hashes, other: str, of_other: Hashes) -> Hashes:
        common: Hashes = np.intersect1d(lines, of_other, assume_unique=True)
        least = min(len(lines), len(of_other))
        named: Hashes = common[common & _NAMED == _NAMED]
        if len(common) == least and self.priced and len(named) > _SAME * least:
            return common
        if len(common) > _SAME * least:
            raise InputError(
                f"{name}: {len(common):,} of its lines are in {other} too: a month that was delivered twice, "
                "or actual and amortised costs of one",
                hint="keep one of the two, or name its folder",
            )
        return named


class SharedLines:
    """The lines that several files share; each counts in the first file that has it."""

    def __init__(self, shared: Hashes) -> None:
        self._shared = shared
        self._owner = np.zeros(len(shared), np.int32)
        self._files: dict[str, int] = {}

    def in_an_earlier_file(self, file: str, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Which rows of a batch an earlier file had."""
        hashes = hashes_of(batch, np.arange(batch.num_rows)) if len(self._shared) else None
        if hashes is None:
            return np.zeros(batch.num_rows, np.bool_)
        mine = self._files.setdefault(file, len(self._files) + 1)
        places = np.minimum(np.searchsorted(self._shared, hashes), len(self._shared) - 1)
        there = self._shared[places] == hashes
        new = places[there & (self._owner[places] == 0)]
        self._owner[new] = mine
        earlier: NDArray[np.bool_] = there & (self._owner[places] != mine)
        return earlier


def hashes_of(batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Hashes | None:
    """A hash for each of the rows, its last bit set where the line names what it is of; None where the file has no
    columns that tell lines apart."""
    names = [name for name in batch.schema.names if name.startswith(IDENTITY) and not name.startswith(OWNER)]
    if not names:
        return None
    taken = None if len(rows) == batch.num_rows else pa.array(rows)
    hashes = identity_hashes(pc.binary_join_element_wise(*(_texts(batch, name, taken) for name in names), "\n"))
    hashes &= ~_NAMED
    for owner in (name for name in batch.schema.names if name.startswith(OWNER)):
        hashes |= pc.not_equal(_texts(batch, owner, taken), "").to_numpy(zero_copy_only=False).astype(np.uint64)
    return hashes


def _texts(batch: pa.RecordBatch, name: str, rows: pa.Array | None) -> pa.Array:
    column = batch.column(name)
    return pc.fill_null((column if rows is None else column.take(rows)).cast(pa.string()), "")
