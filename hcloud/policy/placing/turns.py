"""In which order jobs are placed that come at the same time."""

from __future__ import annotations

from typing import Any

import numpy as np


def turn(lasting: Any, size: tuple[Any, Any], room: tuple[int, int]) -> tuple[Any, Any, Any]:
    """What those that come at the same time are ordered by, as numbers or arrays: services (``lasting`` 1, others 0)
    first, the largest before the others, by the larger of their shares of a server's vCPUs and memory, then by both.
    They stay for long, and small ones would leave gaps on all servers that no large one fits into. ``size`` and
    ``room`` of the largest server: thousandths of a vCPU and MiB."""
    by_cores, by_memory = size[0] * room[1], size[1] * room[0]
    return -lasting, -lasting * np.maximum(by_cores, by_memory), -lasting * (by_cores + by_memory)
