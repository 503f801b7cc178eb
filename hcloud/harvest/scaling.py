"""Histories of use brought to another mean."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats


class Scaling(StrEnum):
    """How use grows: times a factor, up to all of a server; or as a root, which raises low use more than high."""

    LINEAR = "linear"
    ROOT = "root"


def scaled_use(use: NDArray[np.float32], cores: Floats, mean: float, how: Scaling) -> NDArray[np.float32]:
    """The use at which the mean over all cores is as asked, found by bisection."""
    weight = (cores / cores.sum()).astype(np.float32)
    low, high = (0.0, 1e4) if how is Scaling.LINEAR else (1e-3, 1e3)
    for _ in range(40):
        middle = (low + high) / 2 if how is Scaling.LINEAR else float(np.sqrt(low * high))
        if float((weight @ _scaled(use, middle, how)).mean()) < mean:
            low = middle
        else:
            high = middle
    return _scaled(use, high, how)


def _scaled(use: NDArray[np.float32], by: float, how: Scaling) -> NDArray[np.float32]:
    factor = np.float32(by)
    if how is Scaling.LINEAR:
        times: NDArray[np.float32] = np.minimum(use * factor, np.float32(1.0))
        return times
    root: NDArray[np.float32] = use ** (np.float32(1.0) / factor)
    return root
