"""Rentals through crashes: whatever dies at whatever point, each machine's rental is told once, and no shorter."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rehearsal import CLOUDS, Crasher, Rehearsal, crashing

from hcloud.errors import UsageError
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.collect import collect, orphans
from hcloud.model.report import MachineRental

PAUSE = 100.0
"""Seconds from a death to the next run: what nobody told of may be charged for so much longer."""
RUNS = ("apply", "fewer", "destroy")


def run(rehearsal: Rehearsal, what: str, crash: Crasher | None = None) -> None:
    if what == "destroy":
        rehearsal.destroy(crash)
    else:
        rehearsal.apply(rehearsal.slot(3 if what == "apply" else 2), rehearsal.slot(1, "batch"), crash=crash)


def check(rehearsal: Rehearsal) -> None:
    """The log against the ledger: V1 of rentals."""
    told = {(u.resource, u.start): u for u in rehearsal.site().store.rentals().usages()}
    machines = {(m.id.partition("#")[0], int(m.made_at)): m for m in rehearsal.cloud.ledger.machines.values()}
    assert told.keys() == machines.keys()
    for identity, machine in machines.items():
        usage, asked = told[identity], int(machine.asked_to_end or 0)
        assert usage.address == machine.tags["hcloud-address"]
        assert usage.end is not None
        assert asked <= usage.end <= asked + (0 if usage.end_is_told else PAUSE)


@pytest.mark.parametrize("semantics", CLOUDS)
@pytest.mark.parametrize("dying", RUNS)
def test_A1_A2_a_crash_at_any_point_loses_no_rental(semantics: str, dying: str) -> None:
    untold = 0
    for at in range(1, 100):
        rehearsal, crasher = Rehearsal(semantics), Crasher(at)
        for what in RUNS:
            if what == dying:
                with crashing():
                    run(rehearsal, what, crasher)
                rehearsal.cloud.clock.advance(PAUSE)
            run(rehearsal, what)
            rehearsal.cloud.clock.advance(3_600)
        check(rehearsal)
        untold += sum(not u.end_is_told for u in rehearsal.site().store.rentals().usages())
        if not crasher.struck:
            break
    else:
        pytest.fail("it never ends")
    assert at > 8
    assert untold <= (4 if semantics != "aws" else 0), "only a death between the end and its answer hides its time"


@pytest.mark.parametrize("semantics", CLOUDS)
def test_D1_C1_machines_that_are_told_of_late_are_rented_from_their_start(semantics: str) -> None:
    rehearsal = Rehearsal(semantics)
    rehearsal.heal(visibility_delay="60s", tag_delay="90s", end_delay="30s", spin_up="20s")
    for what in RUNS:
        run(rehearsal, what)
        rehearsal.cloud.clock.advance(3_600)
    check(rehearsal)


def forgotten(semantics: str) -> tuple[Rehearsal, str]:
    """A machine of two that a person has taken out of the state."""
    rehearsal = Rehearsal(semantics)
    rehearsal.apply(rehearsal.slot(2))
    rehearsal.cloud.clock.advance(3_600)
    state = rehearsal.disk.state
    assert state is not None
    lost, kept = state.records
    rehearsal.disk.state = replace(state, records=(kept,))
    return rehearsal, lost.id


def rental_of(rehearsal: Rehearsal, identity: str) -> MachineRental:
    [found] = [u for u in rehearsal.site().store.rentals().usages() if u.resource == identity]
    return found


@pytest.mark.parametrize("semantics", CLOUDS)
def test_a_machine_that_nobody_held_is_rented_until_gc_ends_it(semantics: str) -> None:
    rehearsal, lost = forgotten(semantics)
    assert rental_of(rehearsal, lost).end is None
    rehearsal.cloud.clock.advance(3_600)
    found = orphans(rehearsal.site())
    mine = found[0].machine.lineage
    assert orphans(rehearsal.site(), [mine]) == orphans(rehearsal.site(), [mine[:8]]) == found
    for none in ("nonsense", mine[:7], ""):
        with pytest.raises(UsageError, match="none begins with it"):
            orphans(rehearsal.site(), [none])
    assert collect(rehearsal.site(), found, ChangeApproval(ends=1)) == (lost,)
    asked = rehearsal.cloud.ledger.machines[lost].asked_to_end
    assert (rental_of(rehearsal, lost).end, rental_of(rehearsal, lost).end_is_told) == (int(asked or 0), True)


@pytest.mark.parametrize("semantics", CLOUDS)
def test_a_machine_that_was_forgotten_and_ended_elsewhere_is_not_charged_for_ever(semantics: str) -> None:
    rehearsal, lost = forgotten(semantics)
    rehearsal.cloud.edit({"terminate": lost})
    gone = int(rehearsal.cloud.clock.now())
    rehearsal.cloud.clock.advance(7_200)
    rehearsal.apply(rehearsal.slot(1))
    usage = rental_of(rehearsal, lost)
    assert (usage.end, usage.end_is_told) == (gone + 7_200, False)


@pytest.mark.parametrize("semantics", CLOUDS)
def test_a_machine_that_was_forgotten_and_stands_is_adopted_and_rented_on(semantics: str) -> None:
    rehearsal, lost = forgotten(semantics)
    rehearsal.apply(rehearsal.slot(2))
    assert rental_of(rehearsal, lost).end is None
    rehearsal.destroy()
    check(rehearsal)
