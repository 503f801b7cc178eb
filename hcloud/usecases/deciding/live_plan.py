"""``hcloud plan`` against what stands: the decision, and what it would change in the cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial

from hcloud.errors import UsageError
from hcloud.model.holdings.change import ChangeSet
from hcloud.model.holdings.state import Operating
from hcloud.model.plans.held import held_now
from hcloud.model.plans.plan import Plan
from hcloud.planning.changes.slots import left_out, left_to_others
from hcloud.usecases.deciding.idle_plan import FindIdle
from hcloud.usecases.deciding.make import make_plan
from hcloud.usecases.live.connect import FAKE
from hcloud.usecases.live.ground import LiveGround, local_types
from hcloud.usecases.live.held import bought_since, with_held
from hcloud.usecases.progress import Progress, unheard


@dataclass(frozen=True, slots=True)
class PlannedChanges:
    """What has to change, and the plan behind it (None where the configuration names the fleet itself)."""

    plan: Plan | None
    changes: ChangeSet


def plan_live(
    ground: LiveGround, at: datetime, progress: Progress = unheard, idle: FindIdle | None = None
) -> PlannedChanges:
    """Decide, where a workload is named, and compare with what stands; reads only. Commitments that are held are used
    up first; ``idle`` finds out how idle services are, where batch is to run in that.

    A fleet in the configuration stands instead of what would be decided; then no workload is needed.
    """
    config = ground.loaded.config
    named = config.workload.path is not None or config.workload.scenario is not None
    plan = _decided(ground, at, progress, idle) if named or not config.fleet else None
    terms = ground.terms()
    if plan is not None:
        away = left_out(plan, ground.place)
        wanted = tuple(line for line in held_now(plan.purchases) if line not in away)
        terms = replace(terms, operating=operating_of(plan), wanted=wanted)
        if not config.fleet:
            check_startable(plan, ground)
            terms = replace(terms, said=tuple(left_to_others(plan, ground.place)))
    found = ground.changes(ground.slots(plan), terms)
    if plan is None:
        return PlannedChanges(None, found)
    return PlannedChanges(replace(plan, changes=found, warnings=(*found.warnings, *plan.warnings)), found)


def check_startable(plan: Plan, ground: LiveGround) -> None:
    """Refuse a plan with UsageError whose machines the named cloud cannot run: none of them is sold there."""
    if len(left_out(plan, ground.place)) < len(plan.mix) or not plan.mix:
        return
    types = ", ".join(sorted({line.instance_type for line in plan.mix}))
    if ground.is_local:
        raise UsageError(
            f"the plan needs {types}; --cloud local runs {', '.join(local_types())} machines of this computer only",
            hint="name such machines in section fleet of hcloud.yaml, or rehearse the plan with --cloud fake",
        )
    places = ", ".join(sorted({f"{line.provider} {line.region}" for line in plan.mix}))
    provider = plan.mix[0].provider
    where = f"{FAKE}:{provider}" if ground.selection.startswith(FAKE) else provider
    other = f"--cloud {where} acts in {provider}; " if provider != ground.place.provider else ""
    raise UsageError(
        f"the plan is for {places} ({types}); --cloud {ground.selection} acts in {ground.place.provider}"
        f" {ground.place.region}",
        hint=f"{other}hcloud plan --provider {ground.place.provider} --region {ground.place.region} plans for"
        f" {ground.place.provider}"
        + ("" if ground.store.load() is None else "; where the state is of another cloud, --state names a new one"),
    )


def _decided(ground: LiveGround, at: datetime, progress: Progress, idle: FindIdle | None) -> Plan:
    loaded, said = with_held(ground, at)
    plan = make_plan(loaded, at, progress, idle, partial(bought_since, ground, at)).plan
    return replace(plan, warnings=(*plan.warnings, *said))


def operating_of(plan: Plan) -> Operating | None:
    """What of a simulated strategy the state remembers; None where none was simulated."""
    how = plan.operation
    if how is None:
        return None
    numbers = (how.soft_limit, how.hard_limit, how.retention_factor, how.retention_seconds)
    soft, hard, factor, seconds = (None if n is None else Decimal(str(n)) for n in numbers)
    return Operating(how.strategy, soft, hard, factor, seconds, how.on_demand_types)
