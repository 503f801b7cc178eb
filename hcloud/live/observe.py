"""Looking: the cloud first, what is remembered second. Nothing is changed, here or there."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime

from hcloud.control.ports import StateStore
from hcloud.errors import InputError, StaleError
from hcloud.live.patience import Patience
from hcloud.live.site import Site
from hcloud.model.holdings.change import Observed
from hcloud.model.holdings.live import TAG_PROJECT, Machine, Scope
from hcloud.model.holdings.state import Conclusion, Deed, Intent, State
from hcloud.planning.changes.recall import replayed, unresolved, up_to_date
from hcloud.planning.changes.standing import GRACE, is_overdue


@dataclass(frozen=True, slots=True)
class CloudListing:
    """What the cloud listed, and what was stored when it had."""

    scope: Scope
    told: tuple[Machine, ...]
    stored: State
    entries: tuple[Intent | Conclusion, ...]


def observe(site: Site, patience: Patience | None = None, *, beside: bool = False) -> Observed:
    """What is there and what is remembered of it, brought together; reads only, and needs no lock. ``beside``: live
    work and measurements of this project are told of, too.

    Raises StaleError where the state belongs to another account, region or endpoint, and whatever a cloud raises that
    does not let itself be looked at: then nothing may be made there, either.
    """
    patience = patience or site.patience()
    patience.expect(3)
    scope = patience.ask(site.cloud.scope)
    before = site.remembered()
    check_scope(before, scope)
    unused = before.scope is None and not before.records
    told = patience.ask(lambda: site.cloud.machines("" if unused or beside else before.lineage))
    stored = site.remembered()
    check_scope(stored, scope)
    return brought_together(site, patience, CloudListing(scope, told, stored, site.store.journal().entries()))


def brought_together(site: Site, patience: Patience, seen: CloudListing) -> Observed:
    """What was listed and what is remembered; what is remembered and was not listed is looked up by id, and examined
    before it is forgotten.

    A list may be behind and show what has ended as if it ran. What it shows though it is remembered as ended, and what
    somebody asked to end with an unknown outcome, is examined by id, and what that says is believed.
    """
    scope, told, stored = seen.scope, seen.told, seen.stored
    state, opened = replayed(stored, seen.entries), unresolved(seen.entries)
    ours = {m.id: m for m in told if m.lineage == state.lineage}
    asked = {i for intent in opened if intent.deed is Deed.TERMINATE for i in intent.ids}
    missed = sorted(({r.id for r in state.records} | asked) - ours.keys())
    if missed:
        ours |= {m.id: m for m in patience.ask(lambda: site.cloud.look(missed))}
    at = site.now()
    if doubtful := _doubtful(site.store, state, ours, asked, at):
        ours = {i: m for i, m in ours.items() if i not in doubtful} | examined(site, patience, doubtful)
    state = up_to_date(state, ours, at)
    unused = stored.scope is None and not stored.records
    strangers = [
        m for m in told if m.lineage != state.lineage and m.tags.get(TAG_PROJECT) == state.project and m.state.is_live
    ]
    expected = [r for r in state.records if not r.ending and r.id not in asked]
    settled = any(at - r.intended >= GRACE for r in expected)
    return Observed(
        at=at,
        scope=scope,
        serial=stored.serial,
        state=replace(state, scope=scope),
        machines=tuple(ours[i] for i in sorted(ours)),
        open=opened,
        told_none=settled and not any(r.id in ours for r in state.records),
        strangers=tuple(m for m in strangers if unused or not m.is_of_plan),
    )


def _doubtful(store: StateStore, state: State, ours: Mapping[str, Machine], asked: Set[str], at: datetime) -> Set[str]:
    """Machines of which a list is not believed: it leaves out what would be forgotten now, or shows what has ended, or
    was asked to."""
    overdue = {r.id for r in state.records if is_overdue(r, at) and r.id not in ours}
    live = {m.id for m in ours.values() if m.state.is_live}
    unknown = live - {r.id for r in state.records}
    return overdue | _shown_again(store, unknown) | (live & asked)


def _shown_again(store: StateStore, unknown: Set[str]) -> Set[str]:
    """Of machines that no record is about those that have ended by the log of rentals, which forgets nothing. Where it
    cannot be read, it may be any of them."""
    if not unknown:
        return unknown
    try:
        return unknown & {u.resource for u in store.rentals().usages() if u.end is not None}
    except InputError:
        return unknown


def examined(site: Site, patience: Patience, ids: Set[str]) -> dict[str, Machine]:
    """What the cloud says of these by their ids, and not in a list."""
    patience.expect(1)
    return {m.id: m for m in patience.ask(lambda: site.cloud.examine(sorted(ids)))}


def check_scope(state: State, scope: Scope) -> None:
    """Refuse to work on a state from another account, region or endpoint."""
    if state.scope is not None and state.scope != scope:
        raise StaleError(
            f"this state belongs to {state.scope}, and these credentials to {scope}",
            hint="use the credentials, region and endpoint of the state, or another state",
        )
