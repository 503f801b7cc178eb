"""``hcloud plan`` against what stands: the decision, and what it would change in the cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from hcloud.model.change import ChangeSet
from hcloud.model.plan import Plan
from hcloud.model.state import Operating
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
    found = ground.changes(ground.slots(plan), None if plan is None else operating_of(plan))
    return Planned(None if plan is None else replace(plan, changes=found), found)


def _decided(ground: LiveGround, at: datetime, progress: Progress) -> Plan:
    loaded, said = with_held(ground, at)
    plan = make_plan(loaded, at, progress).plan
    return replace(plan, warnings=(*plan.warnings, *said))


def operating_of(plan: Plan) -> Operating | None:
    """What of a simulated strategy the state remembers; None where none was simulated."""
    how = plan.operation
    if how is None:
        return None
    numbers = (how.soft_limit, how.hard_limit, how.retention_factor, how.retention_seconds)
    soft, hard, factor, seconds = (None if n is None else Decimal(str(n)) for n in numbers)
    return Operating(how.strategy, soft, hard, factor, seconds, how.on_demand_types)
