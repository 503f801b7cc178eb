"""Whether queues that pass jobs on to each other have to grow without end: the traffic equations (Paragon §4.3)."""

from __future__ import annotations

from collections.abc import Sequence

_SINGULAR = 1e-12


def traffic(arrivals: Sequence[float], passed: Sequence[Sequence[float]]) -> list[float]:
    """What comes to each queue in all: ``(I - P^T)^-1 lambda``. ``passed[i][j]`` is the share of what comes to queue i
    that goes on to queue j. Raises ValueError where what goes round never leaves."""
    count = len(arrivals)
    rows = [
        [(1.0 if i == j else 0.0) - passed[j][i] for j in range(count)] + [float(arrivals[i])] for i in range(count)
    ]
    for at in range(count):
        pivot = max(range(at, count), key=lambda row: abs(rows[row][at]))
        if abs(rows[pivot][at]) < _SINGULAR:
            raise ValueError("jobs go round between queues and never leave")
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for row in range(count):
            if row != at:
                factor = rows[row][at] / rows[at][at]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[at], strict=True)]
    return [rows[at][count] / rows[at][at] for at in range(count)]


def utilisations(arrivals: Sequence[float], passed: Sequence[Sequence[float]], served: Sequence[float]) -> list[float]:
    """Work that comes to each queue over what its servers do, per second; 1 or more: the backlog grows."""
    came = traffic(arrivals, passed)
    return [c / s if s > 0 else (float("inf") if c > 0 else 0.0) for c, s in zip(came, served, strict=True)]
