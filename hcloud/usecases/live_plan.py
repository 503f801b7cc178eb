"""``hcloud plan`` against what stands: the decision, and what it would change in the cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from hcloud.model.change import ChangeSet
from hcloud.model.plan import Plan
from hcloud.usecases.held import with_held
from hcloud.usecases.live_ground import LiveGround
from hcloud.usecases.plan import make_plan
from hcloud.usecases.progress import Progress, unheard


@dataclass(frozen=True, slots=True)
class Planned:
    """What has to change, and the plan behind it (None where the configuration names the fleet itself)."""

    plan: Plan | None
    changes: ChangeSet


def plan_live(ground: LiveGround, at: datetime, progress: Progress = unheard) -> Planned:
    """Decide, where a workload is named, and compare with what stands; reads only. Commitments that are held are used
    up first.

    A fleet in the configuration stands instead of what would be decided; then no workload is needed.
    """
    config = ground.loaded.config
    named = config.workload.path is not None or config.workload.scenario is not None
    plan = _decided(ground, at, progress) if named or not config.fleet else None
    found = ground.changes(ground.slots(plan))
    return Planned(None if plan is None else replace(plan, changes=found), found)


def _decided(ground: LiveGround, at: datetime, progress: Progress) -> Plan:
    loaded, said = with_held(ground, at)
    plan = make_plan(loaded, at, progress).plan
    return replace(plan, warnings=(*plan.warnings, *said))
