"""The idle hours of a plan, played: which of its batch really ends beside the services of what it reserves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.workload import Demand, Jobs, Workload
from hcloud.planning.forecasting.dividing import can_split
from hcloud.planning.forecasting.idle import IdleUse, PlayedHours
from hcloud.planning.settings import PlanSettings
from hcloud.planning.strategies.own_fleet import PlannedFleet
from hcloud.readers.strategies import load_strategy
from hcloud.usecases.harvesting.idle import AskIdle
from hcloud.usecases.harvesting.played import PlayedRun, PlayLimits, play, services_beside
from hcloud.usecases.studies.simulation import Study, simulate_once, with_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

LIMITS = PlayLimits(rounds=2, work=1_000_000, step=300)
"""Ours: a plan looks at servers every hundred seconds or so; on the example that carries what a look every three
seconds does but for a per cent in the mean of the seeds, in a tenth of the time."""
SEEDS = 3
"""Ours: a plan counts on what ends in idle hours in the mean of so many runs, which differ by six per cent each way."""
NOTHING = 1e-9
_APART = (5**0.5 - 1) / 2
MOST_JOBS = 100_000
"""Ours: more are not played while a plan is made."""


@dataclass(frozen=True, slots=True)
class PlannedIdle:
    """Histories of use, as a plan asks for them."""

    ask: AskIdle

    def __call__(self, workload: Workload, demand: Demand, settings: PlanSettings, vcpus: float) -> IdleUse:
        """What services leave idle, by arithmetic."""
        return self.ask(workload, demand, settings, vcpus)

    def played(self, study: Study, fleet: PlannedFleet, use: IdleUse, demand: Demand, *, first: bool) -> IdleUse:
        """Batch beside the services of the reserve of a fleet, in several runs: what of it usually ends there may run
        in idle hours."""
        jobs = study.jobs
        if len(jobs) > MOST_JOBS:
            return replace(use, played=PlayedHours(f"{len(jobs):,} jobs, over {MOST_JOBS:,}"))
        limits = LIMITS._replace(rounds=1) if first else LIMITS
        runs = [self._run(with_seed(study, study.seed + at), fleet, limits) for at in range(SEEDS)]
        ended, work = np.array([run.in_idle_hours for run in runs]), work_within(jobs, demand)
        lengths = np.where(usual_jobs(ended, work), use.lengths, -1)
        hours = self.ask.hours(jobs, demand, can_split(jobs), lengths, use.left)
        return replace(use, hours=hours, lengths=lengths, played=_told(runs, float((ended @ work).mean())))

    def _run(self, study: Study, fleet: PlannedFleet, limits: PlayLimits) -> PlayedRun:
        without = simulate_once(study, load_strategy(fleet.strategy), pool=fleet.servers)
        run = play(study, without, self.ask, limits)
        return run._replace(batch=replace(run.batch, beside=services_beside(run.outcome, without)))


def _told(runs: Sequence[PlayedRun], vcpus: float) -> PlayedHours:
    """What became of batch in the mean of the runs."""

    def mean(figure: str) -> float:
        return sum(float(getattr(run.batch, figure)) for run in runs) / len(runs)

    ended, no_class, moved, kills = (round(mean(figure)) for figure in ("ended", "no_class", "moved", "kills"))
    harmed = sum(run.batch.beside is not None and run.batch.beside.harms for run in runs)
    return PlayedHours("", vcpus, 0.0, 0.0, ended, no_class, moved, kills, mean("lost"), len(runs), harmed)


def work_within(jobs: Jobs, demand: Demand) -> Floats:
    """The vCPUs that each job has in the mean over the steps of a demand."""
    seconds = demand.step_seconds * len(demand)
    begins, ends = (np.clip(times, demand.start, demand.start + seconds) for times in (jobs.begins, jobs.ends))
    found: Floats = jobs.cores * (ends - begins) / seconds
    return found


def usual_jobs(ended: NDArray[np.bool_], work: Floats) -> NDArray[np.bool_]:
    """Of the jobs that ended in idle hours in some runs [run, job] those that did so most often, which together do no
    more work than ended there in the mean; equals are taken from all over the trace."""
    often = ended.sum(axis=0)
    order = np.lexsort((np.arange(len(work)) * _APART % 1.0, -often))
    order = order[often[order] > 0]
    found = np.zeros(len(work), np.bool_)
    found[order[np.cumsum(work[order]) <= (ended @ work).mean() * (1.0 + NOTHING)]] = True
    return found
