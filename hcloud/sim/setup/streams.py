"""Seeded chance, one stream for each purpose: adding a stream moves no other."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator of a purpose; the same seed and purpose give the same numbers, whatever else is drawn."""
    words = np.frombuffer(hashlib.sha256(purpose.encode()).digest()[:16], dtype="<u4")
    return np.random.default_rng([seed, *map(int, words)])
