"""How much of its target a running service could reach with what it has: what its latency and its use of processors
tell of it."""

from __future__ import annotations

_LEAST_USE = 0.02
"""Ours: a service that uses less of what it has is told by the clock of processors too roughly."""
_LEAST = 0.5
"""Ours: what is missing is looked for by doubling at most: a queue that grows says little of how far it is off."""
_MOST = 100.0


def rate_of(target: float, p99: float, used: float | None, cores: float) -> float | None:
    """The load that a service could bear within ``target`` milliseconds over the load that it has; its 99th percentile
    is ``p99`` milliseconds while it uses ``used`` of its ``cores`` vCPUs. None where it keeps its target and its use is
    not known: then nobody knows what it could spare.

    Requests wait for those before them: with a share u in use a tail is as long as an idle service's over 1 - u. Of
    several workers a tail grows later than that, so that the rate is rather too low.
    """
    if used is None or cores <= 0:
        return None if p99 <= target else max(target / p99, _LEAST)
    busy = min(max(used / cores, _LEAST_USE), 1.0)
    bearable = 1.0 - (1.0 - busy) * p99 / target
    rate = bearable / busy
    if p99 > target:
        return max(min(rate, target / p99), _LEAST)
    return min(max(rate, 1.0), _MOST)
