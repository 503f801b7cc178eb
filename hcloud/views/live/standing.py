"""What stands in a cloud: by address, with what differs from what is remembered, and what nobody holds."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from rich.text import Text

from hcloud.model.holdings.live import PROTECTED_TAG
from hcloud.planning.changes.slots import is_always_rented
from hcloud.planning.changes.standing import said_beside
from hcloud.units import counted
from hcloud.views.console import Terminal
from hcloud.views.live.change import LISTED, dollars, state_name
from hcloud.views.tables import Figures

if TYPE_CHECKING:
    from hcloud.live.collect import Orphan
    from hcloud.live.recover import RecoveryFindings
    from hcloud.model.holdings.standing import CountOffPlan, LiveStatus, MachineGroup


def show_status(found: LiveStatus, terminal: Terminal) -> None:
    """Machines by address, what they cost, and what is open."""
    observed = found.observed
    state = found.stored
    terminal.show(Text.assemble(("running", "bold"), f" in {observed.scope}, {state_name(state)}"))
    if found.groups:
        rows = [_group(group) for group in found.groups]
        names = ("address", "type", "zone", "state", "machines", "$/h")
        terminal.show(Figures(names, rows, frozenset({4, 5})))
    machines = sum(g.count for g in found.groups)
    terminal.show(f"{counted(machines, 'machine')}, {dollars(found.hourly)}/h {LISTED}; reserved machines cost less")
    if (how := state.operating) is not None:
        limits = "" if how.soft_limit is None else f", limits {how.soft_limit:.0%} and {how.hard_limit or 1:.0%}"
        terminal.show(f"operated as {how.strategy}{limits}; on demand {', '.join(how.on_demand_types) or 'nothing'}")
    if found.planned_until is not None and found.planned_until < observed.at.date():
        rented = counted(sum(g.count for g in found.groups if is_always_rented(g.address)), "on-demand machine")
        terminal.warn(
            f"{rented} planned until {found.planned_until} only: plan again, as fewer may be needed now ('hcloud plan')"
        )
    for one in found.off_plan:
        terminal.warn(_off_plan(one))
    if observed.open:
        terminal.warn(f"{counted(len(observed.open), 'request')} without a known outcome: the next apply settles them")
    if found.drift:
        terminal.warn(f"{counted(len(found.drift), 'difference')} from the state: 'hcloud drift' lists them")
    for said in said_beside(found.beside):
        terminal.note(said)
    if observed.unclaimed:
        left = counted(len(observed.unclaimed), "machine")
        terminal.warn(
            f"{left} of this project belong to a state that does not exist here: 'hcloud recover' rebuilds it, "
            "'hcloud gc' ends them"
        )
    if found.holder is not None:
        terminal.warn(f"locked: {found.holder}")


def _group(group: MachineGroup) -> tuple[str, ...]:
    price = "?" if group.hourly is None else f"{group.hourly:,.4f}"
    cells = (group.address or "-", group.instance_type, group.zone, group.state)
    return (*cells, str(group.count), price)


def _off_plan(one: CountOffPlan) -> str:
    beyond = one.running - one.planned
    what = f"{beyond} too many" if beyond > 0 else f"{-beyond} too few"
    mended = "'hcloud plan' shows what is to change, and 'hcloud apply' does it"
    runs = f"{one.running} {'runs' if one.running == 1 else 'run'}"
    return f"{one.address or '-'}: {runs}, and the plan wants {one.planned}: {what}; {mended}"


def _orphan(one: Orphan) -> tuple[str, ...]:
    machine = one.machine
    tail = f"; left alone: {one.kept}" if one.kept else ""
    return machine.id, machine.instance_type, machine.zone, f"{one.why}{tail}"


def show_drift(found: LiveStatus, terminal: Terminal) -> None:
    """A line a difference."""
    rows = [(one.id, one.address or "-", one.what) for one in found.drift]
    if rows:
        terminal.show(Figures(("id", "address", "difference"), rows))
    terminal.note(f"{counted(len(found.drift), 'difference')} from the state")


def show_orphans(found: Sequence[Orphan], lost: Sequence[str], terminal: Terminal) -> None:
    """A line a machine, those that are left alone with the reason; how to end the others, of ``lost`` states too."""
    rows = [_orphan(one) for one in found]
    if rows:
        terminal.show(Figures(("id", "type", "zone", "why"), rows))
    ending = sum(not o.kept for o in found)
    if not found:
        terminal.show("nothing found")
    if ending:
        terminal.note(f"{counted(ending, 'orphaned machine')} can be terminated: {_gc(lost, ending)}")
    for one in found:
        machine, lineage = one.machine, one.machine.lineage
        if one.kept and machine.is_of_measurement and PROTECTED_TAG not in machine.tags and lineage not in lost:
            when = "if its measurement was killed, and five minutes after its launch"
            terminal.note(f"{machine.id}, {when}: {_gc([*lost, lineage], ending + 1)}")


def _gc(lost: Sequence[str], ends: int) -> str:
    return f"hcloud gc{''.join(f' --lineage {quote(one)}' for one in lost)} --delete --ends {ends}"


def show_found(found: RecoveryFindings, terminal: Terminal) -> None:
    """What a state would be rebuilt to."""
    machines = counted(len(found.machines), "machine")
    terminal.show(f"state {found.state.lineage} in {found.state.scope}: {machines}")
    rows = [(machine.id, machine.address or "-", machine.instance_type, machine.zone) for machine in found.machines]
    if rows:
        terminal.show(Figures(("id", "address", "type", "zone"), rows))
    if found.remains.damaged:
        terminal.warn("a part of the journal cannot be read: the part before it is kept, the rest is moved aside")
    for lineage, count in found.others:
        terminal.warn(f"{counted(count, 'machine')} of this project belong to another state: {lineage}")
