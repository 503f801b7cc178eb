"""What a fault plan may say, on every cloud: each key does what it says, over the wire and through the SDK."""

from __future__ import annotations

import pytest

from contract.rig import KEY, LINEAGE, Ability, Rig, order
from hcloud.errors import ThrottledError, UnavailableError, UnknownOutcomeError
from hcloud.model.catalog import PurchaseOption

pytestmark = pytest.mark.needs(Ability.FAULTS)


def test_D1_throttling_that_does_not_say_when_to_come_back(rig: Rig) -> None:
    rig.fault("throttled", rig.words.launch, first=1)
    with pytest.raises(ThrottledError) as caught:
        rig.cloud().launch(order(rig))
    assert caught.value.retry_after is None
    assert not rig.rented()
    assert len(rig.cloud().launch(order(rig)).machines) == 3


def test_E4_a_partial_fill_brings_its_share(rig: Rig) -> None:
    rig.fault("partial", rig.words.launch, share=0.5)
    came = rig.cloud().launch(order(rig, count=4))
    assert (len(came.machines), came.missing) == (2, 2)
    assert len(rig.live()) == 2


@pytest.mark.needs(Ability.SPOT)
def test_spot_machines_get_notice_and_end_and_no_others(rig: Rig) -> None:
    rig.faults({"spot_notices": [60]})
    cloud = rig.cloud()
    kept = cloud.launch(order(rig)).machines
    lost = cloud.launch(order(rig, key="c3" * 16, option=PurchaseOption.SPOT)).machines
    assert len(kept) == len(lost) == 3
    rig.later(600)
    told = {m.id for m in rig.cloud().machines(LINEAGE) if m.state.is_live}
    assert told == {m.id for m in kept}


def test_maintenance_is_told_before_it_ends_machines(rig: Rig) -> None:
    cloud = rig.cloud()
    made = {m.id for m in cloud.launch(order(rig)).machines}
    assert cloud.notices(LINEAGE) == ()
    began = rig.fake.clock.now()
    rig.faults({"maintenance": [60]})
    rig.later(90)
    told = rig.cloud().notices(LINEAGE)
    assert {notice.machine for notice in told} == made
    assert all(n.at and abs(n.at.timestamp() - began - 660) < 5 for n in told), "ten minutes after it is told"
    assert {m.id for m in rig.cloud().machines(LINEAGE) if m.state.is_live} == made
    rig.later(600)
    assert not [m for m in rig.cloud().machines(LINEAGE) if m.state.is_live]
    assert not rig.cloud().notices(LINEAGE)


@pytest.mark.needs(Ability.SPOT)
def test_notice_to_spot_machines_is_told_where_the_cloud_tells_it_to_others_than_the_machine(rig: Rig) -> None:
    rig.faults({"spot_notices": [60]})
    cloud = rig.cloud()
    cloud.launch(order(rig))
    taken = {m.id for m in cloud.launch(order(rig, key="c3" * 16, option=PurchaseOption.SPOT)).machines}
    rig.later(90)
    cloud.machines(LINEAGE)
    assert {n.machine for n in rig.cloud().notices(LINEAGE)} == (taken if rig.fake.name == "aws" else set())


@pytest.mark.parametrize("answer", ["server-error", "unavailable"])
def test_D5_a_server_that_fails_says_nothing_about_what_was_done(rig: Rig, answer: str) -> None:
    rig.fault(answer, rig.words.launch, first=1)
    with pytest.raises((UnknownOutcomeError, UnavailableError)):
        rig.cloud().launch(order(rig))
    assert len(rig.cloud().launch(order(rig)).machines) == 3
    assert len(rig.live()) == 3


def test_R6_an_order_that_arrives_twice_is_one(rig: Rig) -> None:
    rig.fault("twice", rig.words.launch)
    assert len(rig.cloud().launch(order(rig)).machines) == 3
    assert len(rig.rented()) == 3


def test_N7_words_that_nobody_knows_are_no_end_of_a_machine(rig: Rig) -> None:
    made = rig.cloud().launch(order(rig)).machines
    rig.fault("unknown-words", rig.words.list)
    told = rig.cloud().machines(LINEAGE)
    assert {m.id for m in told} == {m.id for m in made}
    assert all(m.state.is_live for m in told)


@pytest.mark.needs(Ability.COMMITMENTS)
def test_I4_prices_that_move_are_in_the_next_quote(rig: Rig) -> None:
    before = rig.cloud().quote(rig.commitment(KEY))
    rig.faults({"price_factor": 2})
    after = rig.cloud().quote(rig.commitment(KEY))
    assert (after.upfront, after.hourly) == (2 * before.upfront, 2 * before.hourly)
