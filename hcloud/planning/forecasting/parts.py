"""Jobs shorter than a step: machines counted by whole steps are rented for longer than there is work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcloud.planning.forecasting.forecast import FINE_STEP
from hcloud.planning.forecasting.window import demand_within

if TYPE_CHECKING:
    from hcloud.model.workload import Demand, Floats, Jobs

WORTH_A_WARNING = 1.25  # ours: so many times the machine-hours of steps of five minutes
ROUNDING = 1e-9


def counted_too_often(jobs: Jobs, demand: Demand, vcpus: float) -> float:
    """How many times the machine-hours of steps of five minutes the demand's steps count, in machines of so many
    vCPUs, where that is much; 0 where it is not. It is not where many machines run: only the last one is in part."""
    assert demand.window is not None
    whole = _machines(demand.cores, vcpus)
    if demand.step_seconds <= FINE_STEP or not 0 < whole < 1 / (WORTH_A_WARNING - 1):
        return 0.0
    times = whole / _machines(demand_within(jobs, FINE_STEP, demand.window).cores, vcpus)
    return times if times > WORTH_A_WARNING else 0.0


def _machines(cores: Floats, vcpus: float) -> float:
    return float(np.ceil(cores / vcpus - ROUNDING).mean())
