"""How jobs waited for the reserve: for how long against their run time, and with several queues where they went."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcloud.policy.placing.searching import MultiClass
from hcloud.policy.records import Reals, column
from hcloud.policy.registry import rule_of
from hcloud.sim.run import RunOutcome

FEW_RELEASES = 3.0
"""With fewer servers that get free a pool and window, fewer classes are advised (ours)."""
_KEPT = 0.95


@dataclass(frozen=True, slots=True)
class ClassMeasures:
    """With several queues: how many, servers that get free a pool and window on average, jobs that took a server of the
    pool above (``up``), went to the queue below (``down``) or left at the end of their window (``late``), and jobs
    whose window is empty, who never wait."""

    classes: int
    releases: float
    up: int
    down: int
    late: int
    never: int


@dataclass(frozen=True, slots=True)
class AdmissionMeasures:
    """The mean of what jobs waited in queues over the time that they take alone, the share that kept 95 % if that is
    not counted, and what several queues did."""

    waiting: float
    kept_running: float
    classes: ClassMeasures | None


def admission_measures(outcome: RunOutcome, performance: Reals) -> AdmissionMeasures:
    """The figures of a run; ``performance`` is that of each job with its waiting."""
    tasks = outcome.tasks
    queued = np.maximum(outcome.of_tasks("queued"), 0.0)
    ended = outcome.of_tasks("ended") >= 0
    took = np.where(performance > 0, tasks.work / np.maximum(performance, 1e-12), np.inf)
    batch = ended & (tasks.service == 0)
    alone = np.where(batch, tasks.work / np.maximum(took - queued, 1e-9), performance)
    began = outcome.of_tasks("began") >= 0
    rule = rule_of(outcome.setting.strategy, "queueing")
    return AdmissionMeasures(
        float((queued / tasks.work)[began].mean()) if began.any() else 0.0,
        float((alone[ended] >= _KEPT).mean()) if ended.any() else 0.0,
        _of_classes(outcome, rule) if isinstance(rule, MultiClass) else None,
    )


def _of_classes(outcome: RunOutcome, rule: MultiClass) -> ClassMeasures:
    seconds = max(outcome.seconds, 1e-9)
    running = float(outcome.of_tasks("ran").sum()) / seconds
    releases = (1 - rule.promise) * rule.window_share * running / rule.classes
    up, down, late = (int(column(outcome.world.control.lines, name).sum()) for name in ("ups", "downs", "lates"))
    slack = outcome.tasks.slack
    never = 0 if slack is None or rule.window == "none" else int((slack * rule.window_share <= 0).sum())
    return ClassMeasures(rule.classes, releases, up, down, late, never)
