"""Small reserved pools with a history: their files and their values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hcloud.harvest.histories import DAY, TenantHistories

MONDAY = 1_767_571_200  # 2026-01-05
Floats = NDArray[np.float64]


def daily(days: int, step: int = 900, *, mean: float = 0.3, swing: float = 0.2, phase: float = 0.0) -> Floats:
    """A sine of one a day."""
    at: Floats = np.arange(days * DAY // step, dtype=np.float64) * step / DAY
    return mean + swing * np.sin(2 * np.pi * (at + phase))


def histories(use: Mapping[str, Floats], step: int = 900) -> TenantHistories:
    """Tenants of one server each."""
    rows = np.array(list(use.values())).astype(np.float32)
    return TenantHistories(tuple(use), rows, MONDAY, step, np.ones(len(rows), np.int64), np.ones(len(rows)))


def util_csv(path: Path, use: Mapping[str, Floats], step: int = 900) -> Path:
    """A history as users have one."""
    lines = [f"{name},{MONDAY + at * step},{u:.4f}" for name, row in use.items() for at, u in enumerate(row)]
    path.write_text("\n".join(["server,time,cpu", *lines]) + "\n", encoding="utf-8")
    return path
