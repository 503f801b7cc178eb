"""Which jobs may be split over several machines, for the arithmetic and for simulated runs alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.workload import JobKind
from hcloud.planning.settings import Divisible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Jobs

SPLITTABLE = frozenset({"swim", "swf"})
"""Formats of jobs that run on many machines by nature: map and reduce tasks, processes of a parallel program."""


def can_split(jobs: Jobs, divisible: Divisible = Divisible.SERVICES) -> NDArray[np.bool_]:
    """Which jobs may run in pieces: services are replicas, a batch job is one process unless its format says not. By
    ``SERVICES`` the trace's own column says otherwise of a job."""
    if divisible is Divisible.ALL or jobs.provenance.format in SPLITTABLE:
        return np.ones(len(jobs), np.bool_)
    if divisible is Divisible.NONE:
        return np.zeros(len(jobs), np.bool_)
    services = jobs.kind == JobKind.SERVICE
    return services if jobs.divisible is None else np.where(jobs.divisible < 0, services, jobs.divisible > 0)


def settled(jobs: Jobs, divisible: Divisible) -> Jobs:
    """The jobs with what may be split said of each."""
    return replace(jobs, divisible=can_split(jobs, divisible).astype(np.int8))
