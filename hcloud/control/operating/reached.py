"""How much of its target a running service could reach with what it has: what its latency and its use of processors
tell of it."""

from __future__ import annotations

from hcloud.control.operating.records import JobRecord

_IN_VAIN = 2
"""Ours: a service that was below its target as often in a row, with nothing that helps, cannot reach it."""
_LEAST_USE = 0.02
"""Ours: a service that uses less of what it has is told by the clock of processors too roughly."""
_LEAST = 0.5
"""Ours: what is missing is looked for by doubling at most: a queue that grows says little of how far it is off."""
_MOST = 100.0
_ALL = 0.9
"""Ours: who uses so much of what it has may do more with more, even where its latency does not tell."""
_STUCK = 5
"""Ours: looks in a row after which a service that moved is told to be no better."""


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


def gains_nothing(job: JobRecord, used: float | None, cores: float) -> bool:
    """Whether a service is no better since it moved, and leaves some of its ``cores`` vCPUs idle: a larger server would
    not help it either. Where nobody knows what it uses, it may."""
    return job.stuck > 0 and used is not None and used < _ALL * cores


def unreachable(job: JobRecord) -> str | None:
    """That nothing at hand lets a service keep its target, with the best that it reached; None where something was
    done for it lately, or need not be."""
    if job.order.target is None or job.best is None or (job.vain < _IN_VAIN and job.stuck < _STUCK):
        return None
    target = f"{job.order.target.milliseconds:,.10g} ms"
    if job.vain < _IN_VAIN:
        return (
            f"{job.order.id} cannot keep {target}: since it moved its best is {job.best:,.1f} ms with"
            f" {job.cores / 1000:g} vCPU, no better than before, so it stays there."
            " State a longer latency, or find what else it waits for"
        )
    return (
        f"{job.order.id} cannot keep {target} on any server at hand. Its best is {job.best:,.1f} ms with"
        f" {job.cores / 1000:g} vCPU, all that is free for it; it goes on there."
        " State a longer latency, or reserve larger servers"
    )
