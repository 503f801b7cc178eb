"""What is rented on demand, and which jobs go to spot capacity."""

from __future__ import annotations

from hcloud.policy.codes import SCALE
from hcloud.policy.rule import QUALITY, Rule, counts, number, share, switch


class FullServers(Rule, of="on_demand", name="full-servers"):
    """Whole servers of the large type, shared by jobs that each have some vCPUs to spare."""

    shared: bool = switch("shared")
    headroom: float = number("share above what jobs ask for", 0, 10, "headroom")


class SmallestFitting(Rule, of="on_demand", name="smallest-fitting", fitted=1):
    """The smallest of these sizes that holds a job."""

    sizes_vcpus: tuple[float, ...] = counts("vCPU", 1, 1024)
    shared: bool = switch("shared")


class TolerantBatch(Rule, of="spot", name="tolerant-batch", spot=1):
    """Jobs that may be interrupted and need little quality."""

    below_quality: float = share(QUALITY, "spot_quality", lambda least: round(least * SCALE))
