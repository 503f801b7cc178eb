"""The idle vCPUs of every class in each hour of its history, what batch jobs take of them, and how large a reserve the
history asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.harvest.classes import HOURS, UseTypes, free_vcpus
from hcloud.harvest.jobs import LENGTHS, PREFERRED, Length
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.typing import Pattern
from hcloud.model.workload import Jobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

_ROUNDING = 1e-9
FINEST = 0.01
"""Ours: a reserve is told in whole hundredths of a server."""


class JobSizes(NamedTuple):
    """How many vCPUs jobs have at once (0: they can be split), and how much of all work is of each size."""

    vcpus: Floats
    work: Floats


def sizes_of(jobs: Jobs, splits: NDArray[np.bool_], counted: NDArray[np.bool_]) -> JobSizes:
    """The sizes of the jobs that are ``counted``, each as heavy as its vCPU-seconds; ``splits`` are those that can be
    split. Jobs that do not run in idle hours do not count: large ones that find no room would hide what small ones
    use."""
    vcpus, seconds = jobs.cores[counted], jobs.duration[counted]
    each, of = np.unique(np.where(splits[counted], 0.0, vcpus), return_inverse=True)
    return JobSizes(each, np.bincount(of, vcpus * seconds, len(each)).astype(np.float64))


def packed(free: Floats, server: float, sizes: JobSizes) -> Floats:
    """What jobs may have of what is free of a vCPU, on servers of so many: whole jobs as many as find room on one, in
    the mean over their work; those that can be split all of it."""
    found = np.zeros_like(free)
    for size, work in zip(*(column.tolist() for column in sizes), strict=True):
        found += work * (np.floor(free * server / size + _ROUNDING) * size / server if size > 0 else free)
    return found / max(float(sizes.work.sum()), _ROUNDING)


def room_by_hour(types: UseTypes, policy: HarvestPolicy, sizes: JobSizes | None = None) -> Floats:
    """The vCPUs that jobs of each length (and such ``sizes``) may have, [length, class, day of the history, hour of the
    day (UTC)].

    Beside the reserve: for short jobs what is not in use, for medium ones at most what is not in use on average, for
    long ones at most what is not in use at the peak (OSDI'16 §4.1).
    """
    found = np.zeros((len(LENGTHS), len(types.classes), types.days, HOURS))
    for at, one in enumerate(types.classes):
        for tenant in one.members:
            cores = float(types.histories.cores[tenant])
            each = cores / float(types.histories.servers[tenant])
            free = free_by_hour(types, tenant, policy, each)[1:]
            found[:, at] += cores * (free if sizes is None else packed(free, each, sizes))
    return found


def free_by_hour(types: UseTypes, tenant: int, policy: HarvestPolicy, vcpus: float) -> Floats:
    """What a tenant uses of a vCPU of its own, and what of it jobs of each length may have on servers of so many, of
    which whole ones are free, [use and lengths, day of the history, hour of the day (UTC)]."""
    histories = types.histories
    begins = histories.start + histories.step * (np.arange(histories.per_day) + 0.5)
    hour = (begins % 86_400 // 3600).astype(np.int64)
    in_hour = np.eye(HOURS)[hour]
    mean_in_hour = in_hour / np.maximum(in_hour.sum(axis=0), 1)
    mine = histories.part(histories.days - types.days, types.days)[tenant].astype(np.float64).reshape(types.days, -1)
    levels = (0.0, float(mine.mean()), float(np.quantile(mine, policy.peak_quantile)))
    free = [free_vcpus(vcpus, np.maximum(mine, level), policy.reserve_cores) / vcpus for level in levels]
    found: Floats = np.stack([mine, *free]) @ mean_in_hour
    return found


def carried(demand: Floats, room: Floats, patterns: Sequence[Pattern]) -> Floats:
    """The vCPUs of batch that idle capacity carries, [length, class, hour]: ``demand`` is [length, hour], ``room``
    [length, class, hour]. Long jobs choose first, as they may have the least; each takes the classes in the order of
    its length, and what one job has no other has."""
    taken = np.zeros(room.shape[1:])
    got = np.zeros(room.shape)
    for length in (Length.LONG, Length.MEDIUM, Length.SHORT):
        at = LENGTHS.index(length)
        left = demand[at].copy()
        for pattern in PREFERRED[length]:
            for one in (c for c, p in enumerate(patterns) if p is pattern):
                part = np.minimum(left, np.maximum(room[at, one] - taken[one], 0.0))
                got[at, one] = part
                taken[one] += part
                left -= part
    return got


def reserve_needed(types: UseTypes, policy: HarvestPolicy) -> float:
    """The least share of a server, in hundredths, by which use rose from one step to the next in at most
    ``rise_exceeded`` of the steps, servers counted by their vCPUs: what a reserve is for, as far as steps tell."""
    histories = types.histories
    use = histories.part(histories.days - types.days, types.days)
    counts = np.zeros(round(1 / FINEST) + 1)
    for tenant in range(len(use)):
        rises = np.maximum(np.diff(use[tenant].astype(np.float64)), 0.0)
        bins = np.minimum(np.ceil(rises / FINEST - 1e-6).astype(np.int64), len(counts) - 1)
        counts += np.bincount(bins, minlength=len(counts)) * histories.cores[tenant]
    beyond = 1.0 - np.cumsum(counts) / max(counts.sum(), 1.0)
    return float(np.argmax(beyond <= policy.rise_exceeded + 1e-12)) * FINEST
