"""Ending what nobody remembers: machines with this project's tags that no state of ours holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hcloud.errors import (
    DeniedByGuardError,
    HcloudError,
    PartialError,
    StaleError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
    UsageError,
)
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.observe import check_scope, examined, observe
from hcloud.live.site import Site
from hcloud.model.holdings.live import PROTECTED_TAG, TAG_EXPIRES, TAG_PROJECT, Machine, Terminated
from hcloud.model.holdings.state import Conclusion, Deed, Intent, IntentResult, OwnedMachine, State
from hcloud.planning.changes.recall import adopted
from hcloud.planning.changes.standing import GRACE
from hcloud.units import counted

EXPIRY_FORM = "%Y%m%dt%Hz"
WHOLE_LINEAGE, SHORT_LINEAGE = 32, 8


@dataclass(frozen=True, slots=True)
class Orphan:
    """A machine that no record of this state is about, and why it may be ended; or with ``kept``, why it is not."""

    machine: Machine
    why: str
    kept: str = ""


def orphans(site: Site, lineages: Sequence[str] = ()) -> tuple[Orphan, ...]:
    """Machines of this project that nobody seems to hold, by id; reads only.

    Ours are those of this state's lineage that it neither remembers nor is about to (an order that is open), and that
    have been there for longer than lists may lag. Those of another lineage are only named: another state may hold them,
    unless ``lineages`` (or the first letters of one) says that it does not, or their own tag says that their time is
    over. UsageError for letters that none of the lineages begins with, or several.
    """
    seen = observe(site)
    known = {r.id for r in seen.state.records}
    opened = {i.order.key for i in seen.open if i.order is not None}
    patience = site.patience()
    patience.expect(1)
    every = patience.ask(lambda: site.cloud.machines(""))
    strange = {m.id for m in every if m.tags.get(TAG_PROJECT) == seen.state.project and m.state.is_live} - known
    sure = examined(site, patience, strange) if strange else {}
    found = [m for _, m in sorted(sure.items()) if m.state.is_live and m.key not in opened]
    meant = [_meant(one, sorted({m.lineage for m in found})) for one in lineages]
    return tuple(_judged(m, seen.state.lineage, meant, seen.at) for m in found)


def _meant(lineage: str, there: Sequence[str]) -> str:
    if len(lineage) == WHOLE_LINEAGE:
        return lineage
    meant = [one for one in there if len(lineage) >= SHORT_LINEAGE and one.startswith(lineage)]
    if len(meant) == 1:
        return meant[0]
    names = f"lineages here: {', '.join(there)}" if there else "no machine here has a lineage that is not this state's"
    raise UsageError(f"--lineage {lineage}: {'several begin' if meant else 'none begins'} with it", hint=names)


def _judged(machine: Machine, lineage: str, lineages: Sequence[str], at: datetime) -> Orphan:
    if machine.is_of_live_work and machine.lineage not in lineages:
        mine = f"of live work {machine.lineage[:8]}"
        lost = f"if its journal is lost: --lineage {machine.lineage[:8]}"
        return Orphan(machine, mine, f"'hcloud operate status' shows it, 'hcloud operate stop' ends it; {lost}")
    if PROTECTED_TAG in machine.tags:
        return Orphan(machine, "in no state", "it is protected")
    over = _over(machine.tags.get(TAG_EXPIRES, ""))
    if machine.is_of_measurement and machine.lineage not in (lineage, *lineages) and not (over and over <= at):
        until = f", expires {over:%Y-%m-%d %H:%M} UTC" if over else ""
        return Orphan(machine, f"of a measurement{until}", "it may be in use")
    if machine.launched is None or at - machine.launched < GRACE:
        return Orphan(machine, "in no state", "it is younger than five minutes")
    if machine.lineage == lineage:
        return Orphan(machine, "has this state's tag but is not in the state")
    if over and over <= at:
        return Orphan(machine, f"of the state {machine.lineage[:8]}, expired")
    if machine.lineage in lineages:
        return Orphan(machine, f"of the state {machine.lineage[:8]}, which --lineage declares lost")
    return Orphan(
        machine, f"of the state {machine.lineage[:8]}", "another state may own it; if that is lost: --lineage"
    )


def _over(expires: str) -> datetime | None:
    try:
        return datetime.strptime(expires, EXPIRY_FORM).replace(tzinfo=UTC)
    except ValueError:
        return None


def collect(site: Site, found: Sequence[Orphan], approval: ChangeApproval) -> tuple[str, ...]:
    """End orphans, noted before it is asked for; returns those the cloud agreed to end.

    Raises DeniedByGuardError unless ``approval.ends`` is their number, and LockedError where somebody works here.
    """
    ids = tuple(o.machine.id for o in found if not o.kept)
    if not ids:
        return ()
    if approval.ends != len(ids):
        raise DeniedByGuardError(
            f"this would terminate {counted(len(ids), 'machine')}", hint=f"state their number: --ends {len(ids)}"
        )
    with site.store.locked("gc"):
        again = orphans(site, tuple({o.machine.lineage for o in found if not o.kept}))
        if moved := sorted(set(ids) - {o.machine.id for o in again if not o.kept}):
            raise StaleError(f"{', '.join(moved)}: no longer orphaned")
        patience = site.patience()
        patience.expect(2)
        state, scope = site.remembered(), patience.ask(site.cloud.scope)
        check_scope(state, scope)
        if state.scope is None:
            state = site.store.save(replace(state, scope=scope))
        journal = site.store.journal()
        number = journal.next_number()
        journal.intend(Intent(number, Deed.TERMINATE, site.now(), "gc", state.generation, ids=ids))
        try:
            answer = patience.ask(lambda: site.cloud.terminate(ids), again=True)
        except (ThrottledError, UnavailableError, UnknownOutcomeError) as error:
            journal.conclude(Conclusion(number, IntentResult.UNKNOWN, site.now(), why=str(error)))
            raise PartialError(
                f"not known whether the end of {counted(len(ids), 'machine')} was taken: {error}",
                hint="hcloud gc again",
            ) from error
        except HcloudError as error:
            journal.conclude(Conclusion(number, IntentResult.REFUSED, site.now(), why=str(error)))
            raise
        at = site.now()
        journal.conclude(Conclusion(number, IntentResult.DONE, at, ids=answer.ending, ended=answer.ended))
        ended = [o.machine for o in found if o.machine.id in answer.ending]
        site.store.save(replace(state, departed=tuple(_rented(m, state, at, answer) for m in ended)))
        return answer.ending


def _rented(machine: Machine, state: State, at: datetime, answer: Terminated) -> OwnedMachine:
    """What the log of rentals is told of a machine that nobody held: it was paid for all the same."""
    told = answer.ended.get(machine.id)
    return replace(adopted(machine, state, at), ended=told or at, ended_is_told=told is not None)
