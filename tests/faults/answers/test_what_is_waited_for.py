"""What is waited for: never what is known to have ended; and it is said at once, with the time when waiting ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from rehearsal import Rehearsal, rule
from stands import MEMORY, WIRED, Stand

from benchmarks.processes import LAUNCH as LAUNCHES
from hcloud.errors import HcloudError
from hcloud.fake.faults import FaultKind
from hcloud.live.applying.apply import apply
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.applying.outcome import ApplyOutcome
from hcloud.live.site import ProgressStep
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.change import Slot


@pytest.fixture(scope="module", params=[MEMORY, *WIRED])
def stand(request: pytest.FixtureRequest) -> Iterator[Stand]:
    found = Stand(request.param)
    yield found
    if found.is_wired:
        found.rig.close()


@pytest.mark.parametrize("how", ["taken", "deleted"])
def test_C7_a_machine_that_ends_while_it_starts_is_not_waited_for(stand: Stand, how: str) -> None:
    r = stand.rehearsal()
    r.heal(spin_up=400, spot_notices=[1])
    slot = replace(r.slot(2), option=PurchaseOption.SPOT)
    r.allow(slot)

    def strike(name: str) -> None:
        if name == "launch.state.saved" and how == "taken":
            r.cloud.clock.advance(130)
        elif name == "launch.state.saved":
            for machine in r.cloud.ledger.live(r.cloud.clock.now()):
                r.cloud.edit({"terminate": machine.id})

    began = r.cloud.clock.now()
    outcome = r.apply(slot, crash=strike)
    waited = r.cloud.clock.now() - began - (130 if how == "taken" else 0)
    assert waited < 60, f"{waited} s of waiting for machines that had ended"
    assert not r.live()
    assert (outcome.exit_code, outcome.result) == (6, "partial"), "it is known that they ended"
    r.heal()
    r.converges(slot)


class Told:
    """What was told at once, and when."""

    def __init__(self, r: Rehearsal) -> None:
        self.sentences: list[tuple[float, str]] = []
        self._clock, self._began = r.cloud.clock, r.cloud.clock.now()

    def __call__(self, step: ProgressStep) -> None:
        if step.at_once:
            self.sentences.append((self._clock.now() - self._began, step.text))

    @property
    def said(self) -> str:
        return "\n".join(text for _, text in self.sentences)

    def deadline(self, words: str) -> float:
        """How many seconds after its beginning the wait that is told in these words ends at the latest."""
        [(at, text)] = [(at, text) for at, text in self.sentences if words in text]
        found = re.search(r"until (\d\d):(\d\d):(\d\d) UTC at the latest", text)
        assert found, text
        hours, minutes, seconds = map(int, found.groups())
        began = int(self._began + at) % 86_400
        return (hours * 3600 + minutes * 60 + seconds - began) % 86_400


def carried_out(r: Rehearsal, slot: Slot, told: Told, crash: Callable[[str], None] = lambda name: None) -> ApplyOutcome:
    r.allow(slot)
    found = r.plan(slot)
    return apply(r.site(crash, progress=told), found, ChangeApproval(ends=len(found.going)), r.terms)


def test_C7_machines_that_start_slowly_are_waited_for_and_it_is_said_until_when(stand: Stand) -> None:
    r = stand.rehearsal()
    r.heal(spin_up=100)
    told = Told(r)
    assert carried_out(r, r.slot(2), told).exit_code == 0
    assert told.deadline("waiting for 2 machines to start") == pytest.approx(600, abs=2)


def test_C7_an_order_that_the_cloud_takes_long_over_is_waited_for_and_it_is_said_until_when(stand: Stand) -> None:
    r = stand.rehearsal()
    r.heal(operation_delay=300)
    told, began = Told(r), r.cloud.clock.now()
    assert carried_out(r, r.slot(2), told).exit_code == 0
    passed = r.cloud.clock.now() - began
    if stand.is_wired and stand.rig.name != "aws":
        assert passed >= 300
        assert told.sentences[0][0] < 5, "it was said late"
        assert passed <= told.deadline(f"2 x {r.types[0]} in {r.zones[0]} for web")
    else:
        assert (passed, told.sentences) == (0, []), "the answer holds the machines"


def test_C5_ends_that_take_long_are_waited_for_and_it_is_said_until_when(stand: Stand) -> None:
    r = stand.rehearsal()
    r.converges(r.slot(3))
    r.cloud.clock.advance(600)
    r.heal(end_delay=100)
    told = Told(r)
    assert carried_out(r, r.slot(1), told).exit_code == 0
    waited = [text for _, text in told.sentences if "to end" in text]
    assert len(waited) <= 1  # Azure answers an end when it is over
    assert (stand.rig.name == "azure" and stand.is_wired) or told.deadline("to end") == pytest.approx(300, abs=2)


@pytest.mark.parametrize("at", range(1, 6))
def test_D_a_cut_is_said_at_once_and_ends_when_it_was_said(stand: Stand, at: int) -> None:
    """The network is gone from the call of a number on, for good."""
    r = stand.rehearsal()
    slot = r.slot(3)
    r.allow(slot)
    found = r.plan(slot)
    before = len(r.cloud.ledger.requests)
    r.faults(rule("*", FaultKind.DROPPED_BEFORE, from_call=at))
    told, began = Told(r), r.cloud.clock.now()
    try:
        outcome = apply(r.site(progress=told), found, ChangeApproval(), r.terms)
        code, error, asked = outcome.exit_code, outcome.error, list(outcome.open)
    except HcloudError as raised:
        code, error, asked = raised.exit_code, raised, []
    passed = r.cloud.clock.now() - began
    launches = r.calls(LAUNCHES[stand.rig.name] if stand.is_wired else "launch")
    if len(r.cloud.ledger.requests) - before < at:
        assert code == 0, "it was over before the cut"
        return
    assert error is not None
    assert told.sentences, "nothing was said"
    assert told.sentences[0][0] < 5, "it was said late"  # Azure tells of an order after a look or two
    assert passed <= told.deadline("hcloud asks again") + 1
    if launches:
        assert code == 6, "what came of the order is not known"
        assert [a.partition(":")[0] for a in asked] == ["web"]
    else:
        assert (code, r.live()) == (1, 0), "nothing was asked of the cloud"
        assert "run the same command again" in error.hint
    r.heal()
    r.converges(slot)
    assert len(r.cloud.ledger.machines) == 3
