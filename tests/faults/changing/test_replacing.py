"""C7. Replacing: a machine that runs goes when what takes its place runs, and not before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from rehearsal import Crashed, Rehearsal, crashing
from stands import MEMORY, WIRED, Stand

from hcloud.fake.ledger import Rented
from hcloud.live.applying.apply import apply
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.site import WaitLimits
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.change import Slot

SLOW = 400.0


@pytest.fixture(scope="module", params=[MEMORY, *WIRED])
def stand(request: pytest.FixtureRequest) -> Iterator[Stand]:
    found = Stand(request.param)
    yield found
    if found.is_wired:
        found.rig.close()


def to_replace(stand: Stand) -> tuple[Rehearsal, Slot, tuple[Rented, ...]]:
    """Two machines that run, and the slot of which both are of another shape; from now on machines start slowly."""
    r = stand.rehearsal()
    r.converges(r.slot(2))
    r.cloud.clock.advance(600)
    r.heal(spin_up=SLOW)
    slot = replace(r.slot(2), option=PurchaseOption.SPOT)
    r.most[slot.address] = 4  # for a while both shapes are there
    assert [c.how for c in r.plan(slot).changes] == ["replace"]
    return r, slot, r.cloud.ledger.live(r.cloud.clock.now())


def stop(name: str) -> None:
    """The process ends as soon as its order is remembered."""
    if name == "launch.state.saved":
        raise Crashed(name)


@pytest.mark.parametrize("how", ["taken", "deleted"])
def test_C7_nothing_goes_for_a_machine_that_ended_before_it_ran(stand: Stand, how: str) -> None:
    r, slot, old = to_replace(stand)
    r.heal(spin_up=SLOW, spot_notices=[1] if how == "taken" else [])
    ids = {m.id for m in old}

    def strike(name: str) -> None:
        if name == "launch.state.saved" and how == "taken":
            r.cloud.clock.advance(130)
        elif name == "launch.state.saved":
            for machine in r.cloud.ledger.live(r.cloud.clock.now()):
                if machine.id not in ids:
                    r.cloud.edit({"terminate": machine.id})

    outcome = r.apply(slot, crash=strike)
    assert {m.id for m in r.cloud.ledger.live(r.cloud.clock.now())} == ids
    assert outcome.exit_code == 6
    [problem] = outcome.problems
    assert all(i in problem for i in ids)
    r.heal()
    r.converges(slot)


def test_C7_what_an_earlier_run_launched_is_waited_for_before_anything_goes_for_it(stand: Stand) -> None:
    r, slot, old = to_replace(stand)
    with crashing():
        r.apply(slot, crash=stop)
    launched = r.cloud.clock.now()
    r.cloud.clock.advance(20)
    told: list[str] = []
    found = r.plan(slot)
    assert [c.how for c in found.changes] == ["terminate"]
    outcome = apply(r.site(progress=lambda s: told.append(s.text)), found, ChangeApproval(ends=2), r.terms)
    assert outcome.exit_code == 0
    ends = [r.cloud.ledger.machines[m.id].asked_to_end for m in old]
    assert all(at is not None and at >= launched + SLOW - 30 for at in ends), "ended before the new ones ran"
    assert any(text.startswith("waiting for 2 machines to start before others are terminated") for text in told)


def test_C7_where_it_never_runs_in_time_what_runs_stays(stand: Stand) -> None:
    r, slot, old = to_replace(stand)
    with crashing():
        r.apply(slot, crash=stop)
    r.cloud.clock.advance(20)
    r.waits = WaitLimits(ready=60)
    outcome = r.apply(slot)
    assert outcome.exit_code == 6
    assert all(r.cloud.ledger.machines[m.id].asked_to_end is None for m in old)
    r.cloud.clock.advance(SLOW)
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 4
