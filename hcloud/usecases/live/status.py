"""``hcloud status`` and ``hcloud drift``: what stands, what is open, and what is not as it was left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal

from hcloud.live.observe import observe
from hcloud.model.holdings.change import Observed
from hcloud.model.holdings.live import Machine, MachineState
from hcloud.model.holdings.standing import CountOffPlan, LiveStatus, MachineGroup
from hcloud.model.holdings.state import State
from hcloud.planning.changes.diff import DiffInputs
from hcloud.planning.changes.slots import is_always_rented
from hcloud.planning.changes.standing import Standing, drift, standing
from hcloud.usecases.live.ground import LiveGround


def status(ground: LiveGround) -> LiveStatus:
    """Everything that can be seen without changing anything; raises as :func:`hcloud.live.observe.observe` does."""
    site = ground.site()
    stored = site.remembered()
    observed = observe(site, beside=True)
    groups = tuple(_groups(observed, ground.terms()))
    hourly = sum((g.hourly for g in groups if g.hourly is not None), Decimal(0))
    until = _planned_until(stored, groups, ground.loaded.config.planning.first_weeks)
    holder, off_plan = ground.store.holder(), tuple(_off_plan(stored, groups))
    beside = tuple(m for m in observed.strangers if not m.is_of_plan)
    return LiveStatus(observed, stored, groups, hourly, drift(stored, observed), holder, until, off_plan, beside)


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


def _groups(observed: Observed, terms: DiffInputs) -> Iterator[MachineGroup]:
    prices: dict[tuple[str, str, str, str], list[Decimal | None]] = {}

    def count(one: Standing | Machine, state: str) -> None:
        place = (one.address, one.instance_type, one.zone, state)
        prices.setdefault(place, []).append(terms.rate(one.instance_type, one.option))

    for one in standing(observed):
        count(one, str(one.machine.state) if one.machine is not None else "missing")
    for machine in observed.machines:
        if machine.state is MachineState.STOPPING:
            count(machine, str(machine.state))
    for place, found in sorted(prices.items(), key=lambda one: one[0]):
        known = [price for price in found if price is not None]
        yield MachineGroup(*place, len(found), sum(known, Decimal(0)) if len(known) == len(found) else None)
