"""The idle hours of a plan, played: which of its batch really ends beside the services of what it reserves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hcloud.harvest.jobs import LENGTHS
from hcloud.model.workload import Demand, Workload
from hcloud.planning.forecasting.idle import IdleUse, PlayedHours
from hcloud.planning.settings import PlanSettings
from hcloud.planning.strategies.own_fleet import PlannedFleet
from hcloud.readers.strategies import load_strategy
from hcloud.usecases.harvesting.idle import AskIdle, in_steps
from hcloud.usecases.harvesting.played import PlayLimits, play
from hcloud.usecases.studies.simulation import Study, simulate_once

LIMITS = PlayLimits(rounds=2, work=1_000_000)
"""Ours: a plan looks at servers about once a minute; on the example that carries what a look every three seconds does
but for a per cent, in a tenth of the time."""
MOST_JOBS = 100_000
"""Ours: more are not played while a plan is made."""


@dataclass(frozen=True, slots=True)
class PlannedIdle:
    """Histories of use, as a plan asks for them."""

    ask: AskIdle

    def __call__(self, workload: Workload, demand: Demand, settings: PlanSettings, vcpus: float) -> IdleUse:
        """What services leave idle, by arithmetic."""
        return self.ask(workload, demand, settings, vcpus)

    def played(self, study: Study, fleet: PlannedFleet, use: IdleUse, demand: Demand) -> IdleUse:
        """Batch beside the services of the reserve of a fleet: what of it ends there may run in idle hours."""
        jobs = study.jobs
        if len(jobs) > MOST_JOBS:
            return replace(use, played=PlayedHours(f"{len(jobs):,} jobs, over {MOST_JOBS:,}"))
        without = simulate_once(study, load_strategy(fleet.strategy), pool=fleet.servers)
        run = play(study, without, self.ask, LIMITS)
        ended, batch = run.in_idle_hours, run.batch
        vcpus = float(in_steps(jobs, np.flatnonzero(ended), jobs.cores, demand).mean())
        told = PlayedHours(
            "", vcpus, 0.0, 0.0, batch.jobs, int(ended.sum()), batch.no_class, batch.moved, batch.kills, batch.lost
        )
        lengths = np.where(ended, use.lengths, -1)
        left = [in_steps(jobs, np.flatnonzero(lengths == at), jobs.cores, demand) for at in range(len(LENGTHS))]
        hours = replace(use.hours, batch=np.minimum(use.hours.batch, np.array(left)))
        return replace(use, hours=hours, lengths=lengths, played=told)
