"""M7: how many servers a strategy reserves for a load (thesis §8.3.1, §8.4.1)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from hcloud.policy.rule import Rule, choice, count, number, share

_ROUNDING: dict[str, Callable[[float], int]] = {"up": math.ceil, "down": math.floor, "nearest": round}
_ABOVE = "share above the peak"


class Reservation(Rule, ABC):
    """A reserve in whole servers. ``load_quantile`` is that of the load which counts as its steady level; 0 (the least)
    where the rule does not look at it."""

    instance_vcpus: int = count("vCPU", 1, 1024)
    rounding: str = choice("up", "nearest", "down")
    load_quantile: float = 0.0

    @abstractmethod
    def vcpus(self, peak: float, steady: float, *, profiled: bool) -> float:
        """What is to be reserved for a load of a peak and a steady level."""


class PeakOverprovisioned(Reservation, of="reserved", name="peak-overprovisioned"):
    """The peak and more; without profiling information the overprovisioning is the larger one."""

    overprovision: float = number(_ABOVE, 0, 10)
    overprovision_unprofiled: float = number(_ABOVE, 0, 10)

    def vcpus(self, peak: float, steady: float, *, profiled: bool) -> float:
        return peak * (1 + (self.overprovision if profiled else self.overprovision_unprofiled))


class SteadyMinimum(Reservation, of="reserved", name="steady-minimum"):
    """The load that is always there."""

    load_quantile: float = share("quantile of the load")

    def vcpus(self, peak: float, steady: float, *, profiled: bool) -> float:
        return steady


def reserved_servers(rule: Rule, peak: float, steady: float, *, profiled: bool, vcpus: int | None = None) -> int:
    """Servers of so many ``vcpus`` (None: the rule's) to reserve for a load in vCPUs: its ``peak``, and the ``steady``
    level at the rule's own quantile.

    A peak of 1,226 vCPUs with 15 % on top takes 89 servers of 16 (thesis §8.5.4).
    """
    if not isinstance(rule, Reservation):
        return 0
    servers = rule.vcpus(peak, steady, profiled=profiled) / (vcpus or rule.instance_vcpus)
    return max(int(_ROUNDING[rule.rounding](round(servers, 9))), 0)
