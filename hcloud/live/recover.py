"""Rebuilding a state that was lost or damaged: from the tags of the machines, and from what can still be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hcloud.control.ports import MendableStore
from hcloud.errors import HcloudError, InputError, StaleError, UsageError
from hcloud.live.observe import check_scope, examined
from hcloud.live.patience import Patience
from hcloud.live.polling import GROWTH
from hcloud.live.site import ProgressStep, Site
from hcloud.model.holdings.live import TAG_PROJECT, Machine, Scope
from hcloud.model.holdings.state import Remains, State
from hcloud.planning.changes.recall import adopted, up_to_date, with_records
from hcloud.planning.changes.standing import GRACE

GENERATIONS_LOST = 1000
"""Ours: so many plans are taken to be forgotten, so that no order of before is ever taken for a new one."""


@dataclass(frozen=True, slots=True)
class RecoveryFindings:
    """What a state can be rebuilt to: whose machines it would hold, and the other lineages of this project."""

    state: State
    remains: Remains
    machines: tuple[Machine, ...]
    others: tuple[tuple[str, int], ...]


def rebuild(site: Site, store: MendableStore, lineage: str | None = None) -> RecoveryFindings:
    """The state as tags and remains tell it; reads only.

    The lineage is the one that is named, else the one that the remains name, else the only one that this project's
    machines bear. UsageError where several are possible.
    """
    patience = site.patience()
    patience.expect(2)
    scope = patience.ask(site.cloud.scope)
    remains = store.remains()
    if remains.latest is not None:
        check_scope(remains.latest, scope)
    told = _told(site, patience, remains)
    project = remains.latest.project if remains.latest is not None else _project(site)
    planned = [m for m in told if m.is_of_plan or m.lineage in remains.lineages]
    ours = [m for m in _sure(site, patience, store, planned) if m.state.is_live and m.tags.get(TAG_PROJECT) == project]
    counts = Counter(m.lineage for m in ours)
    if lineage and lineage not in {*remains.lineages, *counts}:
        raise UsageError(
            f"--lineage {lineage}: no plan's machine has this tag and no file names it",
            hint="hcloud recover without --lineage shows those that are known",
        )
    chosen = lineage or _only(remains.lineages, sorted(counts))
    machines = tuple(sorted((m for m in ours if m.lineage == chosen), key=lambda m: m.id))
    state = _state(site, (chosen, project, scope), machines, remains)
    others = tuple((name, count) for name, count in sorted(counts.items()) if name != chosen)
    return RecoveryFindings(state, remains, machines, others)


def _told(site: Site, patience: Patience, remains: Remains) -> tuple[Machine, ...]:
    """What the cloud tells now; where a request may be lost with a part of the journal, until everything that was
    ordered has to be told of: no cloud is later than that."""
    told = patience.ask(lambda: site.cloud.machines(""))
    until, delay = site.clock.passed() + GRACE.total_seconds(), site.waits.first_poll
    while remains.damaged and (left := until - site.clock.passed()) > 0:
        site.progress(ProgressStep("lists", int(GRACE.total_seconds() - left), int(GRACE.total_seconds())))
        patience.pause(min(delay, left))
        delay = min(delay * GROWTH, site.waits.longest_poll)
        patience.expect(1)
        told = patience.ask(lambda: site.cloud.machines(""))
    return told


def _sure(site: Site, patience: Patience, store: MendableStore, told: Sequence[Machine]) -> list[Machine]:
    """What a list told; each machine that does not run by the log of rentals as the cloud says of it by id. A list that
    is behind shows what has ended, and where the log is lost nothing else knows."""
    again = {m.id for m in told if m.state.is_live} - _running(store)
    sure = examined(site, patience, again) if again else {}
    return [*(m for m in told if m.id not in again), *sure.values()]


def _running(store: MendableStore) -> set[str]:
    """Machines that run by the log of rentals; none where it cannot be read."""
    try:
        usages = store.rentals().usages()
    except InputError:
        return set()
    return {u.resource for u in usages} - {u.resource for u in usages if u.end is not None}


def _state(site: Site, whose: tuple[str, str, Scope], machines: Sequence[Machine], remains: Remains) -> State:
    lineage, project, scope = whose
    last = remains.latest if remains.latest is not None and remains.latest.lineage == lineage else None
    state = replace(last or State(lineage, 0, 0, project), serial=0, generation=_generation(site, remains))
    state = replace(state, scope=scope, wanted=None)
    if not remains.is_latest or remains.damaged:
        # what can be read may be from before the plan that was begun last; the older day it names only warns too soon
        state = replace(state, plan="", operating=None)
    known = {r.id for r in state.records}
    state = with_records(state, [adopted(m, state, site.now()) for m in machines if m.id not in known])
    told, missed = {m.id: m for m in machines}, sorted(known - {m.id for m in machines})
    told |= {m.id: m for m in site.patience().ask(lambda: site.cloud.look(missed))} if missed else {}
    return up_to_date(state, told, site.now())


def _generation(site: Site, remains: Remains) -> int:
    """Above every generation that was ever begun, also where the state is lost a second time: plans take longer than a
    minute of the clock, and what can be read of an earlier one counts."""
    return max(remains.generation + GENERATIONS_LOST, int(site.now().timestamp()) // 60)


def _project(site: Site) -> str:
    if site.beginning is None:
        raise HcloudError("no project is configured", hint="live.project in hcloud.yaml")
    return site.beginning.project


def _only(named: Sequence[str], borne: Sequence[str]) -> str:
    candidates = list(named) or list(borne)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise HcloudError(
            "the state cannot be rebuilt: no file names a lineage, and no plan's machine has this project's tags",
            hint="if nothing was ever applied here, there is nothing to recover",
        )
    raise UsageError(f"{len(candidates)} states are possible: {', '.join(candidates)}", hint="--lineage names one")


def put_back(store: MendableStore, found: RecoveryFindings) -> State:
    """Write the rebuilt state; what it replaces is kept beside it. LockedError where somebody works here."""
    with store.locked("recover"):
        if store.remains() != found.remains:
            raise StaleError("somebody wrote the state meanwhile", hint="hcloud recover again")
        return store.overwrite(found.state)
