"""Whether a backlog has to grow, said before a run: what the jobs of a workload ask for against the reserve that they
wait for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hcloud.model.running.strategy import Strategy
from hcloud.policy.mapping import MappingRule
from hcloud.policy.registry import rule_of
from hcloud.sim.setup.prepare import Tasks
from hcloud.units import counted_vcpus
from hcloud.usecases.studies.simulation import Study, setting_for, strategy_for, tasks_for


def backlogs(study: Study, strategy: Strategy, pool: int | None = None) -> Iterator[str]:
    """A sentence where all that comes is as much as the reserve does, or more, from the first to the last submission;
    none where the reserve holds all jobs at once, nor for a strategy that rents what its reserve lacks. ``pool``
    servers are reserved, or what its own rule says."""
    informed = strategy_for(study, strategy)
    mapping = rule_of(informed, "mapping")
    if not isinstance(mapping, MappingRule) or not mapping.reserves or mapping.rents:
        return
    tasks, reserve = tasks_for(study, informed), setting_for(study, informed, pool).reserved_cores / 1000
    span = float(np.ptp(tasks.submit)) if len(tasks) else 0.0
    if span <= 0.0 or reserve <= 0.0 or _most_at_once(tasks) <= reserve:
        return
    asked = float((tasks.ask / 1000 * tasks.work).sum()) / span
    if asked >= reserve:
        yield (
            f"{strategy.name}: jobs ask for {asked / reserve:.2f} times the reserve's {counted_vcpus(reserve)} while"
            f" they come, so the backlog must grow; {counted_vcpus(float(np.ceil(asked / 0.8)))} would be used to 80%"
        )


def _most_at_once(tasks: Tasks) -> float:
    """vCPUs that jobs ask for at the same time if nobody waits."""
    times, change = np.r_[tasks.submit, tasks.submit + tasks.work], np.r_[tasks.ask, -tasks.ask]
    return float(np.cumsum(change[np.lexsort((change, times))]).max()) / 1000
