"""What using idle capacity needs of the world, and by which numbers it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from hcloud.control.ports import JobSource
from hcloud.harvest.policy import HarvestPolicy
from hcloud.model.running.harvest_note import HarvestClasses, HarvestSet
from hcloud.model.running.job import JobOrder, JobPlace
from hcloud.model.running.job_graph import JobGraph


class Harvestable(Protocol):
    """An engine that can run jobs beside others, and knows what those use."""

    def used_seconds(self) -> Mapping[tuple[str, int], float]:
        """The seconds of processors that every attempt that runs has used, with those of all that it started. Raises
        UnavailableError where that cannot be seen."""

    def begin_beside(self, order: JobOrder, place: JobPlace) -> None:
        """Begin an attempt that has what the others leave it; else as ``begin``."""

    def kill(self, job: str, attempt: int) -> None:
        """End an attempt with all its processes, without asking it; it is told as ended when nothing of it is left."""


@dataclass(frozen=True, slots=True)
class HarvestTerms:
    """The jobs and graphs of tasks that are to run on idle capacity, what runs them, and the numbers and
    classes (None: those of the journal)."""

    source: JobSource
    engine: Harvestable
    policy: HarvestPolicy | None = None
    classes: HarvestClasses | None = None
    graphs: tuple[JobGraph, ...] = ()


def settings_of(policy: HarvestPolicy, at: float) -> HarvestSet:
    """The numbers that live work follows, of all of a policy."""
    return HarvestSet(
        at,
        reserve_cores=policy.reserve_cores,
        reserve_memory=policy.reserve_memory,
        unit=policy.live_unit,
        tick=policy.tick,
        window=policy.live_window,
        most_kills=policy.most_kills,
        moves_on_slip=policy.moves_on_slip,
        spin_up=policy.spin_up,
        slowdown=policy.slowdown,
    )
