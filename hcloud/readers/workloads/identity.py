"""64-bit hashes of identifier columns, to find duplicates without keeping a million strings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_WORD = 8
_KEEP = np.array([(1 << (8 * n)) - 1 for n in range(_WORD)] + [(1 << 64) - 1], np.uint64)


def identity_hashes(values: pa.StringArray, most: int = 1 << 30) -> Hashes:
    """One hash a string, the same whatever block it stands in: the bytes themselves up to eight, then mixed further.

    A string of more than ``most`` bytes is an OverflowError. Strings hold no NUL bytes (readers refuse them), so that
    up to eight bytes no two different ones share a hash.
    """
    starts, lengths, data = _layout(values)
    longest = int(lengths.max(initial=0))
    if longest > most:
        raise OverflowError(f"a string of {longest} bytes")
    words = np.ndarray(len(data) - _WORD + 1, "<u8", data, 0, (1,))
    hashes: Hashes = words[starts]
    hashes &= _KEEP[np.minimum(lengths, _WORD)]
    for at in range(_WORD, longest, _WORD):
        rows = np.flatnonzero(lengths > at)
        before = _mixed(hashes[rows]) if at == _WORD else hashes[rows]
        hashes[rows] = _stir(before, words[starts[rows] + at], lengths[rows] - at)
    return hashes


def suspicious(hashes: Hashes) -> Hashes:
    """The hashes that occur more than once; sorts the array it is given in place."""
    hashes.sort()
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def _mixed(words: Hashes) -> Hashes:
    """Bytes so mixed that no change of the next word undoes one of theirs: ``i-21 09`` and ``i-38 10`` differ."""
    mixed: Hashes = (words ^ (words >> np.uint64(32))) * _SPREAD
    return mixed ^ (mixed >> np.uint64(29))


def _stir(hashes: Hashes, words: Hashes, left: NDArray[np.int64]) -> Hashes:
    mixed = (hashes ^ (words & _KEEP[np.minimum(left, _WORD)])) * _MIX
    stirred: Hashes = (mixed ^ (mixed >> np.uint64(29))) * _SPREAD
    return stirred ^ (stirred >> np.uint64(32))


def _layout(values: pa.StringArray) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Where each string starts, how long it is, and the bytes with room to read a whole word past the end."""
    _, offsets, characters = values.buffers()
    width = np.int64 if pa.types.is_large_string(values.type) else np.int32
    bounds = np.frombuffer(offsets, width)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    stored = np.frombuffer(characters, np.uint8) if characters is not None else np.empty(0, np.uint8)
    data = np.concatenate([stored, np.zeros(_WORD, np.uint8)])
    return bounds[:-1], np.diff(bounds), data
