"""What stands in a cloud: by address, with what differs from what is remembered, and what nobody holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.text import Text

from hcloud import __version__
from hcloud.store.states.codec import operating_document
from hcloud.units import counted, plain
from hcloud.views.console import Terminal
from hcloud.views.live.change import LISTED, dollars
from hcloud.views.tables import Figures, fitted

if TYPE_CHECKING:
    from hcloud.live.collect import Orphan
    from hcloud.live.recover import RecoveryFindings
    from hcloud.model.holdings.standing import LiveStatus, MachineGroup

FORMAT_VERSION = "1.0"


def show_status(found: LiveStatus, terminal: Terminal) -> None:
    """Machines by address, what they cost, and what is open."""
    observed = found.observed
    state = found.stored
    terminal.show(
        Text.assemble(("running", "bold"), f" in {observed.scope}, state {state.lineage[:8]} #{state.serial}")
    )
    if found.groups:
        rows = [_group(group) for group in found.groups]
        names = ("address", "type", "zone", "state", "machines", "$/h")
        terminal.show(fitted(Figures(names, rows, frozenset({4, 5})), terminal.out.width))
    machines = sum(g.count for g in found.groups)
    terminal.show(f"{counted(machines, 'machine')}, {dollars(found.hourly)}/h {LISTED}; reserved machines cost less")
    if (how := state.operating) is not None:
        limits = "" if how.soft_limit is None else f", limits {how.soft_limit:.0%} and {how.hard_limit or 1:.0%}"
        terminal.show(f"operated as {how.strategy}{limits}; on demand {', '.join(how.on_demand_types) or 'nothing'}")
    if observed.open:
        terminal.warn(f"{counted(len(observed.open), 'request')} without a known outcome: the next apply settles them")
    if found.drift:
        terminal.warn(f"{counted(len(found.drift), 'difference')} from the state: hcloud drift")
    if observed.strangers:
        count = counted(len(observed.strangers), "machine")
        terminal.warn(f"{count} of this project belong to a state that is not here: hcloud recover, or hcloud gc")
    if found.holder is not None:
        terminal.warn(f"locked: {found.holder}")


def _group(group: MachineGroup) -> tuple[str, ...]:
    price = "?" if group.hourly is None else f"{group.hourly:,.4f}"
    cells = (group.address or "-", group.instance_type, group.zone, group.state)
    return (*cells, str(group.count), price)


def _orphan(one: Orphan) -> tuple[str, ...]:
    machine = one.machine
    tail = f"; left alone: {one.kept}" if one.kept else ""
    return machine.id, machine.instance_type, machine.zone, f"{one.why}{tail}"


def show_drift(found: LiveStatus, terminal: Terminal) -> None:
    """A line a difference."""
    rows = [(one.id, one.address or "-", one.what) for one in found.drift]
    if rows:
        terminal.show(fitted(Figures(("id", "address", "difference"), rows), terminal.out.width))
    terminal.note(f"{counted(len(found.drift), 'difference')} from the state")


def show_orphans(found: Sequence[Orphan], terminal: Terminal) -> None:
    """A line a machine, those that are left alone with the reason."""
    rows = [_orphan(one) for one in found]
    if rows:
        terminal.show(fitted(Figures(("id", "type", "zone", "why"), rows), terminal.out.width))
    ending = sum(not o.kept for o in found)
    if not found:
        terminal.show("nothing found")
    elif ending:
        terminal.note(f"{counted(ending, 'orphaned machine')} can be terminated: hcloud gc --delete --ends {ending}")


def show_found(found: RecoveryFindings, terminal: Terminal) -> None:
    """What a state would be rebuilt to."""
    machines = counted(len(found.machines), "machine")
    terminal.show(f"state {found.state.lineage} in {found.state.scope}: {machines}")
    rows = [(machine.id, machine.address or "-", machine.instance_type, machine.zone) for machine in found.machines]
    if rows:
        terminal.show(fitted(Figures(("id", "address", "type", "zone"), rows), terminal.out.width))
    if found.remains.damaged:
        terminal.warn(
            "a part of the journal cannot be read: the part before the damage is kept, the rest is moved aside"
        )
    for lineage, count in found.others:
        terminal.warn(f"{counted(count, 'machine')} of this project belong to another state: {lineage}")


def _head(at: datetime) -> dict[str, object]:
    moment = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return {"format_version": FORMAT_VERSION, "tool_version": __version__, "generated_at": moment}


def status_document(found: LiveStatus, at: datetime) -> Mapping[str, object]:
    """What stands, as JSON."""
    scope = found.observed.scope
    return {
        **_head(at),
        "scope": {"cloud": scope.cloud, "account": scope.account, "region": scope.region, "endpoint": scope.endpoint},
        "lineage": found.stored.lineage,
        "serial": found.stored.serial,
        "currency": "USD",
        "hourly": plain(found.hourly),
        "operating": None if found.stored.operating is None else operating_document(found.stored.operating),
        "standing": [
            {
                "address": g.address,
                "instance_type": g.instance_type,
                "zone": g.zone,
                "state": g.state,
                "count": g.count,
                "hourly": None if g.hourly is None else plain(g.hourly),
            }
            for g in found.groups
        ],
        "open_requests": [
            {"number": i.number, "deed": str(i.deed), "at": i.at.isoformat()} for i in found.observed.open
        ],
        "drift": _drift(found),
        "held_by": None if found.holder is None else str(found.holder),
    }


def _drift(found: LiveStatus) -> list[dict[str, str]]:
    return [{"id": d.id, "address": d.address, "what": d.what} for d in found.drift]


def drift_document(found: LiveStatus, at: datetime) -> Mapping[str, object]:
    """The differences, as JSON."""
    return {**_head(at), "lineage": found.stored.lineage, "serial": found.stored.serial, "drift": _drift(found)}


def orphans_document(found: Sequence[Orphan], ended: Sequence[str], at: datetime) -> Mapping[str, object]:
    """What nobody holds, and what of it is ending, as JSON."""
    return {
        **_head(at),
        "orphans": [
            {
                "id": o.machine.id,
                "instance_type": o.machine.instance_type,
                "zone": o.machine.zone,
                "lineage": o.machine.lineage,
                "why": o.why,
                "left_alone": o.kept or None,
            }
            for o in found
        ],
        "ended": list(ended),
    }
