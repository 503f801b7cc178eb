"""Placements of blocks as lines of JSON that 'hcloud harvest audit' reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.store.files.whole import write_shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT_VERSION = "1.0"


def write_placement(path: Path, blocks: Sequence[str], servers: Sequence[str], sets: NDArray[np.int32]) -> int:
    """Write the blocks that have servers, a line each; how many."""
    lines = list(_lines(blocks, servers, sets))
    head = json.dumps({"format_version": FORMAT_VERSION, "copies": sets.shape[1]})
    write_shown(path, "\n".join([head, *lines]) + "\n")
    return len(lines)


def _lines(blocks: Sequence[str], servers: Sequence[str], sets: NDArray[np.int32]) -> Iterator[str]:
    for block, rows in zip(blocks, sets.tolist(), strict=True):
        if rows[0] >= 0:
            yield json.dumps({"block": block, "servers": [servers[row] for row in rows]})
