"""Rebuilding a state that was lost or damaged: from the tags of the machines, and from what can still be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hcloud.control.ports import MendableStore
from hcloud.errors import HcloudError, UsageError
from hcloud.live.site import Site
from hcloud.model.live import TAG_PROJECT, Machine, Scope
from hcloud.model.state import State
from hcloud.planning.recall import adopted, with_records

GENERATIONS_LOST = 1000
"""Ours: so many plans are taken to be forgotten, so that no order of before is ever taken for a new one."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a state can be rebuilt to: whose machines it would hold, and the other lineages of this project."""

    state: State
    machines: tuple[Machine, ...]
    others: tuple[tuple[str, int], ...]


def rebuild(site: Site, store: MendableStore, lineage: str | None = None) -> Found:
    """The state as tags and remains tell it; reads only.

    The lineage is the one that is named, else the one that the remains name, else the only one that this project's
    machines bear. UsageError where several are possible.
    """
    patience = site.patience()
    patience.expect(2)
    scope = patience.ask(site.cloud.scope)
    told = patience.ask(lambda: site.cloud.machines(""))
    remains = store.remains()
    project = remains.latest.project if remains.latest is not None else _project(site)
    ours = [m for m in told if m.state.is_live and m.tags.get(TAG_PROJECT) == project]
    counts = Counter(m.lineage for m in ours)
    chosen = lineage or _only(remains.lineages, sorted(counts))
    machines = tuple(sorted((m for m in ours if m.lineage == chosen), key=lambda m: m.id))
    state = _state(site, (chosen, project, scope), machines, remains.generation)
    others = tuple((name, count) for name, count in sorted(counts.items()) if name != chosen)
    return Found(state, machines, others)


def _state(site: Site, whose: tuple[str, str, Scope], machines: Sequence[Machine], generation: int) -> State:
    lineage, project, scope = whose
    state = State(lineage, 0, generation + GENERATIONS_LOST, project, scope)
    return with_records(state, [adopted(m, state, site.now()) for m in machines])


def _project(site: Site) -> str:
    if site.beginning is None:
        raise HcloudError("no project is named", hint="live.project in hcloud.yaml")
    return site.beginning.project


def _only(named: Sequence[str], borne: Sequence[str]) -> str:
    candidates = list(named) or list(borne)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise HcloudError(
            "nothing is left that a state could be rebuilt from: no machine bears this project's tags, and no file "
            "names a lineage",
            hint="if nothing was ever applied here, there is nothing to recover",
        )
    raise UsageError(f"{len(candidates)} states are possible: {', '.join(candidates)}", hint="--lineage names one")


def put_back(store: MendableStore, found: Found) -> State:
    """Write the rebuilt state; what it replaces is kept beside it. LockedError where somebody works here."""
    with store.locked("recover"):
        return store.overwrite(found.state)
