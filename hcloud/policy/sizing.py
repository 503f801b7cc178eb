"""M7: how many servers a strategy reserves for a load (thesis §8.3.1, §8.4.1)."""

from __future__ import annotations

import math
from collections.abc import Callable

from hcloud.model.running.strategy import Mechanism

_ROUNDING: dict[str, Callable[[float], int]] = {"up": math.ceil, "down": math.floor, "nearest": round}


def reserved_servers(mechanism: Mechanism, peak: float, steady: float, *, profiled: bool) -> int:
    """Servers to reserve for a load in vCPUs: its ``peak``, and the ``steady`` level at the rule's own quantile.

    A peak of 1,226 vCPUs with 15 % on top takes 89 servers of 16 (thesis §8.5.4). Without profiling information the
    overprovisioning is the larger one.
    """
    if mechanism.rule == "none":
        return 0
    wanted = steady
    if mechanism.rule == "peak-overprovisioned":
        wanted = peak * (1 + mechanism.number("overprovision" if profiled else "overprovision_unprofiled"))
    servers = wanted / mechanism.number("instance_vcpus")
    return max(int(_ROUNDING[mechanism.choice("rounding")](round(servers, 9))), 0)


def load_quantile(mechanism: Mechanism) -> float:
    """The quantile of the load that counts as its steady level; 0 (the least) where the rule does not look at it."""
    return mechanism.number("load_quantile") if mechanism.rule == "steady-minimum" else 0.0
