"""The contract of launching: once however often it is sent, tagged from the first, and truthful when it fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest

from contract.rig import KEY, LINEAGE, OTHER_KEY, Ability, Rig, order
from hcloud.control.ports import Cloud
from hcloud.errors import (
    CloudError,
    CredentialsError,
    DeniedError,
    MismatchError,
    NoCapacityError,
    NotFoundError,
    QuotaError,
    RefusedError,
    ThrottledError,
    UnknownOutcomeError,
)
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import LaunchTemplate, MachineState


def ids(rig: Rig) -> list[str]:
    return sorted(m.id for m in rig.rented())


def test_a_launch_gives_the_machines_that_were_ordered(rig: Rig) -> None:
    launched = rig.cloud().launch(order(rig))
    assert launched.missing == 0
    assert sorted(m.id for m in launched.machines) == ids(rig)
    assert len(ids(rig)) == 3
    assert {(m.instance_type, m.zone, m.option) for m in launched.machines} == {
        (rig.type_name, rig.zones[0], PurchaseOption.ON_DEMAND)
    }
    assert all(m.state.is_live for m in launched.machines)


def test_F4_the_tags_are_there_from_the_first(rig: Rig) -> None:
    wanted = order(rig)
    launched = rig.cloud().launch(wanted)
    assert all(wanted.tags().items() <= m.tags.items() for m in launched.machines)
    assert all(wanted.tags().items() <= m.tags.items() for m in rig.rented())


def test_the_same_order_again_gives_the_same_machines(rig: Rig) -> None:
    first = rig.cloud().launch(order(rig))
    again = rig.cloud().launch(order(rig))
    assert sorted(m.id for m in again.machines) == sorted(m.id for m in first.machines) == ids(rig)


def test_the_same_order_once_its_machines_have_ended_never_comes_to_nothing_without_a_word(rig: Rig) -> None:
    """A controller that was away while spot capacity was taken back ended by it, and so did each that went on."""
    rig.cloud().terminate([m.id for m in rig.cloud().launch(order(rig)).machines])
    rig.later(7200)
    with suppress(CloudError):
        assert rig.cloud().launch(order(rig)).machines


def test_orders_of_different_keys_are_different_machines(rig: Rig) -> None:
    cloud = rig.cloud()
    cloud.launch(order(rig))
    cloud.launch(order(rig, OTHER_KEY))
    assert len(ids(rig)) == 6


def test_an_order_sent_from_two_threads_is_made_once(rig: Rig) -> None:
    cloud = rig.cloud()

    def send(_: int) -> list[str]:
        try:
            return sorted(m.id for m in cloud.launch(order(rig)).machines)
        except CloudError:
            return []

    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(send, range(4)))
    assert len(ids(rig)) == 3
    assert ids(rig) in given


@pytest.mark.needs(Ability.KEYS)
def test_R8_a_key_that_was_used_for_another_order_is_told(rig: Rig) -> None:
    rig.cloud().launch(order(rig))
    with pytest.raises(MismatchError):
        rig.cloud().launch(replace(order(rig), count=5))
    assert len(ids(rig)) == 3


def test_R8_what_stands_under_a_key_is_told_machine_by_machine(rig: Rig) -> None:
    cloud = rig.cloud()
    assert cloud.under_key(order(rig)) == ()
    cloud.launch(order(rig))
    assert sorted(m.id for m in cloud.under_key(order(rig))) == ids(rig)
    assert {(m.lineage, m.key) for m in cloud.under_key(order(rig))} == {(LINEAGE, KEY)}
    assert cloud.under_key(order(rig, OTHER_KEY)) == ()


@pytest.mark.needs(Ability.SPOT)
def test_a_spot_order_makes_spot_machines(rig: Rig) -> None:
    launched = rig.cloud().launch(order(rig, option=PurchaseOption.SPOT))
    assert {m.option for m in launched.machines} == {PurchaseOption.SPOT}
    assert all(m.spot for m in rig.rented())


@pytest.mark.needs(Ability.START_UP)
def test_L7_the_start_up_script_arrives_as_it_was_written(rig: Rig) -> None:
    script = "#!/bin/sh\necho \"it's $HOME\" 'a' `id`\n# ü\n"
    rig.cloud().launch(order(rig, start_up=script, count=1))
    assert [m.detail["start_up"] for m in rig.rented()] == [script]


@pytest.mark.needs(Ability.FAULTS)
def test_E4_what_there_is_of_an_order_is_given_and_the_rest_is_missing(rig: Rig) -> None:
    rig.faults({"stock": {rig.type_name: 2}})
    launched = rig.cloud().launch(order(rig, count=5))
    assert (len(launched.machines), launched.missing) == (2, 3)
    assert launched.why
    assert len(rig.live()) == 2


@pytest.mark.needs(Ability.FAULTS)
def test_E1_a_stock_out_is_one_request(rig: Rig) -> None:
    rig.faults({"stock": {f"{rig.type_name}@{rig.zones[0]}": 0}})
    with pytest.raises(NoCapacityError):
        rig.cloud().launch(order(rig, count=1))
    assert len(rig.requests(rig.words.launch)) == 1
    assert not rig.live()


@pytest.mark.needs(Ability.FAULTS)
def test_E1_another_zone_still_has_some(rig: Rig) -> None:
    rig.faults({"stock": {f"{rig.type_name}@{rig.zones[0]}": 0}})
    cloud = rig.cloud()
    with pytest.raises(NoCapacityError):
        cloud.launch(order(rig))
    assert len(cloud.launch(order(rig, OTHER_KEY, zone=1)).machines) == 3


@pytest.mark.needs(Ability.FAULTS)
def test_E3_a_quota_is_named_and_nothing_is_half_made(rig: Rig) -> None:
    rig.fault("quota", rig.words.launch)
    with pytest.raises(QuotaError):
        rig.cloud().launch(order(rig, count=1))
    assert len(rig.requests(rig.words.launch)) == 1
    assert not rig.live()


@pytest.mark.needs(Ability.FAULTS, Ability.QUOTAS)
def test_E3_a_quota_that_the_order_exceeds_is_named(rig: Rig) -> None:
    rig.faults({"quotas": {rig.quota_name: 1}})
    with pytest.raises(QuotaError, match=r"(?i)quota|limit"):
        rig.cloud().launch(order(rig, count=10))
    assert len(rig.live()) < 10


@pytest.mark.needs(Ability.FAULTS)
def test_D1_throttling_is_told_and_not_waited_for(rig: Rig) -> None:
    rig.fault("throttled", rig.words.launch)
    with pytest.raises(ThrottledError):
        rig.cloud().launch(order(rig, count=1))
    assert len(rig.requests(rig.words.launch)) == 1
    assert not rig.live()


@pytest.mark.needs(Ability.FAULTS, Ability.RETRY_AFTER)
def test_D4_when_to_come_back_is_passed_on(rig: Rig) -> None:
    rig.fault("throttled", rig.words.launch, retry_after=30)
    with pytest.raises(ThrottledError) as caught:
        rig.cloud().launch(order(rig, count=1))
    assert caught.value.retry_after == 30


@pytest.mark.needs(Ability.FAULTS)
def test_a_denied_launch_is_denied(rig: Rig) -> None:
    rig.fault("denied", rig.words.launch)
    with pytest.raises(DeniedError):
        rig.cloud().launch(order(rig, count=1))
    assert not rig.live()


@pytest.mark.needs(Ability.FAULTS, Ability.ROLES)
def test_a_role_that_may_only_look_cannot_launch(rig: Rig) -> None:
    rig.faults({"roles": {"watcher": list(rig.words.reads)}})
    rig.cloud().launch(order(rig))
    watching = rig.cloud("watcher")
    with pytest.raises(DeniedError):
        watching.launch(order(rig, OTHER_KEY))
    assert len(watching.machines(order(rig).owner.lineage)) == 3


@pytest.mark.needs(Ability.FAULTS)
@pytest.mark.parametrize("answer", ["expired-credentials", "clock-skew"])
def test_F1_bad_credentials_stop_at_the_first_request(rig: Rig, answer: str) -> None:
    rig.fault(answer)
    with pytest.raises(CredentialsError):
        rig.cloud().launch(order(rig, count=1))
    assert len(rig.requests()) == 1
    assert not rig.live()


@pytest.mark.needs(Ability.FAULTS)
@pytest.mark.parametrize(
    "answer", ["dropped-before", "dropped-after", "nonsense", "nonsense-before", "server-error", "unavailable"]
)
def test_R1_without_an_answer_the_outcome_is_unknown_and_the_same_order_settles_it(rig: Rig, answer: str) -> None:
    rig.fault(answer, rig.words.launch, first=1)
    cloud = rig.cloud()
    with pytest.raises(UnknownOutcomeError):
        cloud.launch(order(rig))
    assert len(rig.requests(rig.words.launch)) <= 3
    launched = cloud.launch(order(rig))
    assert sorted(m.id for m in launched.machines) == ids(rig)
    assert (len(ids(rig)), launched.missing) == (3, 0)


@pytest.mark.needs(Ability.FAULTS)
def test_R6_a_request_that_arrives_twice_is_carried_out_once(rig: Rig) -> None:
    rig.fault("twice", rig.words.launch)
    assert len(rig.cloud().launch(order(rig)).machines) == 3
    assert len(ids(rig)) == 3


@pytest.mark.needs(Ability.FAULTS)
def test_N7_words_that_are_not_known_do_no_harm(rig: Rig) -> None:
    rig.fault("unknown-words")
    launched = rig.cloud().launch(order(rig))
    assert len(launched.machines) == 3
    assert all(m.state is not MachineState.ENDED for m in launched.machines)


@pytest.mark.needs(Ability.FAULTS)
def test_L8_a_redirect_is_not_followed(rig: Rig) -> None:
    rig.fault("redirect")
    with pytest.raises(CloudError):
        rig.cloud().launch(order(rig, count=1))
    assert not rig.live()


@pytest.mark.needs(Ability.FAULTS, Ability.LONG_OPERATIONS)
def test_E7_an_order_that_is_accepted_and_then_fails_is_no_success(rig: Rig) -> None:
    rig.fault("operation-fails", rig.words.launch)
    with pytest.raises(NoCapacityError):
        rig.cloud().launch(order(rig, count=1))
    assert not rig.live()


def test_a_type_that_there_is_not_is_refused(rig: Rig) -> None:
    with pytest.raises(RefusedError):
        rig.cloud().launch(order(rig, instance_type="nosuch.type", count=1))
    assert not rig.live()


def test_B7_a_hundred_of_one_type_are_few_calls(rig: Rig) -> None:
    launched = rig.cloud().launch(order(rig, KEY, count=100))
    assert len(launched.machines) == 100
    assert len(rig.requests()) <= rig.most_calls_for_100


def planned(rig: Rig, cloud: Cloud) -> LaunchTemplate:
    """A template as a plan has it: with the images that stand behind names now."""
    made = cloud.template([rig.type_name])
    return replace(made, images=tuple(replace(i, id=cloud.image(i.name)) for i in made.images))


@pytest.mark.needs(Ability.PAGES)  # those that make requests in the cloud's own words
def test_a_name_of_an_image_leads_to_one_image_until_there_is_a_newer_one(rig: Rig) -> None:
    cloud = rig.cloud()
    [image] = cloud.template([rig.type_name]).images
    first = cloud.image(image.name)
    assert (image.id, image.instance_types) == ("", (rig.type_name,))
    assert first != image.name
    assert cloud.image(first) == first == cloud.image(image.name), "an image itself leads to itself"
    rig.renew_image(image.name)
    assert cloud.image(image.name) != first


@pytest.mark.needs(Ability.PAGES)
def test_an_order_is_carried_out_with_its_template_and_not_with_the_settings(rig: Rig) -> None:
    before = planned(rig, rig.cloud())
    [image] = before.images
    rig.renew_image(image.name)
    rig.cloud().launch(order(rig, count=2, template=before))
    assert [m.detail["image"] for m in rig.live()] == [image.id] * 2
    assert rig.cloud().image(image.name) != image.id


@pytest.mark.needs(Ability.PAGES)
def test_an_image_that_is_gone_is_refused_and_nothing_is_launched(rig: Rig) -> None:
    before = planned(rig, rig.cloud())
    rig.withdraw_image(before.images[0].id)
    with pytest.raises((RefusedError, NotFoundError)):
        rig.cloud().launch(order(rig, count=2, template=before))
    assert rig.live() == ()
