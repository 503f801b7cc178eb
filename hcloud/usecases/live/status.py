"""``hcloud status`` and ``hcloud drift``: what stands, what is open, and what is not as it was left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal

from hcloud.live.observe import observe
from hcloud.model.holdings.change import Observed
from hcloud.model.holdings.live import MachineState
from hcloud.model.holdings.standing import CountOffPlan, LiveStatus, MachineGroup
from hcloud.model.holdings.state import State
from hcloud.planning.changes.slots import is_always_rented
from hcloud.planning.changes.standing import drift, standing
from hcloud.usecases.live.ground import LiveGround


def status(ground: LiveGround) -> LiveStatus:
    """Everything that can be seen without changing anything; raises as :func:`hcloud.live.observe.observe` does."""
    site = ground.site()
    stored = site.remembered()
    observed = observe(site)
    groups = tuple(_groups(observed, ground.terms().rates))
    hourly = sum((g.hourly for g in groups if g.hourly is not None), Decimal(0))
    until = _planned_until(stored, groups, ground.loaded.config.planning.first_weeks)
    holder, off_plan = ground.store.holder(), tuple(_off_plan(stored, groups))
    return LiveStatus(observed, stored, groups, hourly, drift(stored, observed), holder, until, off_plan)


def _off_plan(stored: State, groups: Sequence[MachineGroup]) -> Iterator[CountOffPlan]:
    if (wanted := stored.wanted) is None:
        return
    running = dict.fromkeys(wanted, 0)
    for group in groups:
        if group.state != MachineState.STOPPING:
            running[group.address] = running.get(group.address, 0) + group.count
    for address, count in sorted(running.items()):
        if count != (planned := wanted.get(address, 0)):
            yield CountOffPlan(address, count, planned)


def _planned_until(stored: State, groups: Sequence[MachineGroup], first_weeks: int) -> date | None:
    if stored.planned is None or not any(is_always_rented(group.address) for group in groups):
        return None
    return stored.planned + timedelta(weeks=first_weeks)


def _groups(observed: Observed, prices: Mapping[str, Decimal]) -> Iterator[MachineGroup]:
    counts: dict[tuple[str, str, str, str], int] = {}
    for one in standing(observed):
        state = str(one.machine.state) if one.machine is not None else "missing"
        place = (one.address, one.instance_type, one.zone, state)
        counts[place] = counts.get(place, 0) + 1
    for machine in observed.machines:
        if machine.state is MachineState.STOPPING:
            place = (machine.address, machine.instance_type, machine.zone, str(machine.state))
            counts[place] = counts.get(place, 0) + 1
    for (address, instance_type, zone, state), count in sorted(counts.items()):
        price = prices.get(instance_type)
        yield MachineGroup(address, instance_type, zone, state, count, None if price is None else price * count)
