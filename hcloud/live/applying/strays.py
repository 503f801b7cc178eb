"""Rentals that no record is about any more, as after a state was edited or rebuilt: they end when their machine has."""

from __future__ import annotations

from hcloud.live.site import Site
from hcloud.model.holdings.change import Observed
from hcloud.model.holdings.state import OwnedMachine
from hcloud.planning.changes.rentals import departed


def strays(site: Site, observed: Observed) -> tuple[OwnedMachine, ...]:
    """Machines of this state that the log of rentals takes for running, that the state has forgotten, and that the
    cloud does not tell of as standing, with their ends. What still stands is adopted, or named as not ours."""
    state, told = observed.state, {m.id: m for m in observed.machines}
    known = {r.id for r in (*state.records, *state.departed)}
    found = []
    for usage in site.store.rentals().running(state.lineage):
        machine = told.get(usage.resource)
        if usage.resource not in known and not (machine is not None and machine.state.is_live):
            found.append(departed(usage, machine, observed.at))
    return tuple(found)
