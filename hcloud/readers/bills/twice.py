"""Finds a month that was delivered twice: two files of a bill that hold the same lines."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hcloud.errors import InputError
from hcloud.readers.workloads.identity import Hashes, identity_hashes

IDENTITY = "identity "
"""What the roles begin with whose columns tell a line from all others."""
_SAME = 0.5
"""Ours: the part of the smaller file's lines that is in the other where both are of one delivery made twice."""
_ALL_BELOW = 64 << 20
_ONE_IN = np.int64(8)
_SPREAD = np.int64(0x9E3779B1)


class SeenLines:
    """The lines of each file, by their hashes; of a large bill those of every eighth hour."""

    def __init__(self, size: int) -> None:
        self.sampled = size > _ALL_BELOW
        self.files: dict[str, list[Hashes]] = {}

    def take(self, file: str, batch: pa.RecordBatch, start: NDArray[np.int64]) -> None:
        """Add the lines of a batch, whose hours since 1970 are given."""
        columns = [batch.column(name) for name in batch.schema.names if name.startswith(IDENTITY)]
        if not columns:
            return
        rows = (
            np.flatnonzero((start * _SPREAD >> np.int64(8)) % _ONE_IN == 0) if self.sampled else np.arange(len(start))
        )
        if len(rows):
            texts = [pc.fill_null(column.take(pa.array(rows)).cast(pa.string()), "") for column in columns]
            self.files.setdefault(file, []).append(identity_hashes(pc.binary_join_element_wise(*texts, "\n")))

    def check(self) -> None:
        """InputError where most lines of a file are in another."""
        whole = {name: np.unique(np.concatenate(parts)) for name, parts in self.files.items()}
        names = list(whole)
        for place, name in enumerate(names):
            for other in names[:place]:
                common = len(np.intersect1d(whole[name], whole[other], assume_unique=True))
                least = min(len(whole[name]), len(whole[other]))
                if common > _SAME * least:
                    raise InputError(
                        f"{name}: {common:,} of its lines are in {other} too: a month that was delivered twice, or "
                        "actual and amortised costs of one",
                        hint="keep one of the two, or name its folder",
                    )
