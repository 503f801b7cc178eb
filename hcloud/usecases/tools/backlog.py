"""Whether a backlog has to grow, said before a run: what the jobs of a workload ask for against the reserve that they
wait for, by the traffic equations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hcloud.model.running.strategy import Strategy
from hcloud.policy.mapping import MappingRule
from hcloud.policy.placing.searching import MultiClass
from hcloud.policy.records import Reals
from hcloud.policy.registry import rule_of
from hcloud.policy.waiting.classes import LEVELS, class_of, find_edges
from hcloud.policy.waiting.traffic import utilisations
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
    rule = rule_of(informed, "queueing")
    asked = _by_class(tasks, rule.classes if isinstance(rule, MultiClass) else 1) / span
    load = asked.sum() / reserve
    nobody = np.zeros((len(asked), len(asked))).tolist()
    served = (asked / max(asked.sum(), 1e-12) * reserve).tolist()
    if max(utilisations(asked.tolist(), nobody, served)) >= 1.0:
        yield (
            f"{strategy.name}: jobs ask for {load:.2f} times the reserve's {counted_vcpus(reserve)} while they come, so"
            f" the backlog must grow; {counted_vcpus(float(np.ceil(asked.sum() / 0.8)))} would be used to 80%"
        )


def _most_at_once(tasks: Tasks) -> float:
    """vCPUs that jobs ask for at the same time if nobody waits."""
    times, change = np.r_[tasks.submit, tasks.submit + tasks.work], np.r_[tasks.ask, -tasks.ask]
    return float(np.cumsum(change[np.lexsort((change, times))]).max()) / 1000


def _by_class(tasks: Tasks, classes: int) -> Reals:
    """vCPU-seconds that jobs of each class ask for."""
    levels, work = tasks.vector.sum(axis=1), tasks.ask / 1000 * tasks.work
    edges = np.zeros(classes)
    find_edges(np.bincount(levels, minlength=LEVELS), len(levels), edges, classes)
    mine = [class_of(int(level), edges, classes) for level in levels]
    return np.bincount(mine, work, classes).astype(np.float64)
