"""Rows of the fault matrix that are Google's own, through the real SDK against the fake, judged by its ledger."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from contract.rig import KEY, LINEAGE, OTHER_KEY, order
from contract.rigs.gcp import REGION, GoogleRig

from hcloud.errors import (
    CloudError,
    CredentialsError,
    DeniedError,
    MismatchError,
    NoCapacityError,
    QuotaError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.model.holdings.live import MachineState
from hcloud.providers.gcp.provider import GoogleCloud
from hcloud.providers.gcp.settings import GoogleSettings

WAIT = "zoneOperations.wait"


@pytest.fixture(scope="module")
def opened() -> Iterator[GoogleRig]:
    rig = GoogleRig()
    rig.open()
    yield rig
    rig.close()


@pytest.fixture
def rig(opened: GoogleRig) -> GoogleRig:
    opened.reset()
    return opened


@contextmanager
def connections() -> Iterator[list[object]]:
    """Whom this process connects to, or asks the address of, meanwhile."""
    found: list[object] = []
    connect, ask = socket.socket.connect, socket.getaddrinfo

    def connects(self: socket.socket, address: Any) -> None:
        found.append(address)
        connect(self, address)

    def asks(host: Any, *rest: Any, **more: Any) -> Any:
        found.append(host)
        return ask(host, *rest, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(socket.socket, "connect", connects)
        patched.setattr(socket, "getaddrinfo", asks)
        yield found


def settled(rig: GoogleRig, count: int = 3) -> None:
    """The same order, sent again without faults, gives all of it, and nothing was made twice."""
    rig.faults({})
    launched = rig.cloud().launch(order(rig))
    assert (len(launched.machines), launched.missing) == (count, 0)
    assert sorted(m.id for m in launched.machines) == sorted(m.id for m in rig.live())


# N1: handles, operations, names


def test_N1_an_operation_that_is_not_known_any_more_is_resolved_through_the_machines(rig: GoogleRig) -> None:
    rig.fault("not-found", WAIT)
    launched = rig.cloud().launch(order(rig))
    assert (len(launched.machines), launched.missing) == (3, 0)


def test_N1_nothing_shown_and_an_operation_that_is_not_known_is_no_failure(rig: GoogleRig) -> None:
    rig.faults({"visibility_delay": 60, "rules": [{"on": WAIT, "answer": "not-found"}]})
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().launch(order(rig))
    rig.later(61)
    settled(rig)


def test_N1_a_failed_operation_is_told_again_and_orders_nothing(rig: GoogleRig) -> None:
    rig.faults({"stock": {"*": 0}})
    for _ in range(2):
        with pytest.raises(NoCapacityError):
            rig.cloud().launch(order(rig))
        rig.faults({})
    assert not rig.rented()


def test_N1_an_order_that_google_has_forgotten_is_adopted_by_its_names(rig: GoogleRig) -> None:
    rig.cloud().launch(order(rig))
    rig.later(15 * 86_400)
    settled(rig)
    assert len(rig.rented()) == 3


def test_R2_without_handles_names_keep_an_order_from_being_made_twice(rig: GoogleRig) -> None:
    rig.faults({"tokens": False, "rules": [{"on": rig.words.launch, "answer": "dropped-after", "first": 1}]})
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().launch(order(rig))
    launched = rig.cloud().launch(order(rig))
    assert len(launched.machines) == len(rig.rented()) == 3


def test_R8_names_that_stand_for_another_order_are_not_adopted(rig: GoogleRig) -> None:
    rig.cloud().launch(order(rig))
    for machine in rig.live():
        rig.fake.edit({"retag": machine.id, "tags": {"hcloud-key": OTHER_KEY}})
    rig.later(7200)
    with pytest.raises(MismatchError):
        rig.cloud().launch(order(rig))


def test_N1_a_delete_that_failed_is_not_taken_for_one_that_works(rig: GoogleRig) -> None:
    made = [m.id for m in rig.cloud().launch(order(rig, count=1)).machines]
    rig.fault("operation-fails", rig.words.terminate, first=1)
    rig.cloud().terminate(made)
    assert len(rig.live()) == 1
    rig.cloud().terminate(made)
    assert not rig.live()


def test_a_delete_of_an_earlier_machine_of_the_name_is_not_taken_for_this_ones(rig: GoogleRig) -> None:
    made = [m.id for m in rig.cloud().launch(order(rig, count=1)).machines]
    rig.cloud().terminate(made)
    zone, name = made[0].split("/")
    rig.fake.edit({"launch": rig.type_name, "zone": zone, "name": name, "tags": {}})
    assert rig.cloud().terminate(made).ending == tuple(made)
    assert not rig.live()


# N2, D4: one status, three behaviours


@pytest.mark.parametrize(
    ("answer", "kind"), [("throttled", ThrottledError), ("quota", QuotaError), ("denied", DeniedError)]
)
def test_N2_three_meanings_of_403(rig: GoogleRig, answer: str, kind: type[CloudError]) -> None:
    rig.fault(answer, rig.words.launch, first=1)
    with pytest.raises(kind) as caught:
        rig.cloud().launch(order(rig))
    assert type(caught.value) is kind
    assert len(rig.requests(rig.words.launch)) == 1
    assert not rig.rented()
    settled(rig)


@pytest.mark.parametrize("code", ["", "429"])
def test_D4_google_says_when_to_come_back(rig: GoogleRig, code: str) -> None:
    rig.fault("throttled", retry_after="30s", code=code)
    for asking in (lambda: rig.cloud().launch(order(rig)), lambda: rig.cloud().machines(LINEAGE)):
        with pytest.raises(ThrottledError) as caught:
            asking()
        assert caught.value.retry_after == 30
    assert len(rig.requests()) == 2


def test_D4_a_throttled_end_says_so_and_what_was_accepted_is_not_sent_again(rig: GoogleRig) -> None:
    made = [m.id for m in rig.cloud().launch(order(rig, count=20)).machines]
    rig.fault("throttled", rig.words.terminate, from_call=11)
    cloud = rig.cloud()
    with pytest.raises(ThrottledError):
        cloud.terminate(made)
    assert 10 <= len(rig.requests(rig.words.terminate)) <= 10 + 2 * 8 + 12
    assert len(rig.live()) == 10
    rig.faults({})
    assert cloud.scope()  # it answers again
    sent = len(rig.requests(rig.words.terminate))
    rig.fault("throttled", rig.words.terminate, first=5)
    assert sorted(cloud.terminate(made).ending) == made
    assert not rig.live()
    assert len(rig.requests(rig.words.terminate)) == sent + 10 + 5
    rig.fault("throttled", probability=0.3)
    assert {(m.id, m.state) for m in cloud.examine(made)} == {(i, MachineState.ENDED) for i in made}


def test_D6_an_order_whose_end_is_throttled_is_not_known_rather_than_refused(rig: GoogleRig) -> None:
    rig.fault("throttled", WAIT)
    with pytest.raises(UnknownOutcomeError, match="was accepted"):
        rig.cloud().launch(order(rig))
    settled(rig)


def test_D2_every_page_and_every_look_is_sent_again_where_it_is_throttled(rig: GoogleRig) -> None:
    cloud = rig.cloud()
    rig.fault("throttled", first=2)
    zones = cloud.zones(rig.type_name)
    rig.fault("throttled", first=2)
    assert cloud.scope()
    rig.fault("throttled", first=2)
    assert cloud.commitments() == ()
    assert sorted(zones) == sorted(rig.zones)


# E7, E4: accepted is not done


def test_E7_a_stock_out_that_shows_in_the_operation_is_found_by_waiting(rig: GoogleRig) -> None:
    rig.faults({"operation_delay": 200, "stock": {f"{rig.type_name}@{rig.zones[0]}": 0}})
    with pytest.raises(NoCapacityError, match="does not have enough resources"):
        rig.cloud().launch(order(rig))
    assert not rig.rented()
    assert len(rig.requests(WAIT)) <= 3


def test_E7_an_order_that_takes_long_is_waited_for_without_haste(rig: GoogleRig) -> None:
    rig.faults({"operation_delay": 600})
    assert len(rig.cloud().launch(order(rig)).machines) == 3
    assert len(rig.requests(WAIT)) <= 6


def test_an_operation_without_an_end_is_not_waited_for_for_ever(rig: GoogleRig) -> None:
    rig.faults({"operation_delay": 10 * 86_400})
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().launch(order(rig))
    assert len(rig.requests(WAIT)) <= 15


def test_E4_some_of_an_order_that_are_not_shown_yet_are_settled_later(rig: GoogleRig) -> None:
    rig.faults({"visibility_delay": 60, "stock": {rig.type_name: 2}})
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().launch(order(rig, count=5))
    rig.later(61)
    launched = rig.cloud().launch(order(rig, count=5))
    assert (len(launched.machines), launched.missing) == (2, 3)


# F4, C4: labels that are missing, and labels that are late


def test_F4_machines_that_were_made_without_their_labels_are_told_as_they_are(rig: GoogleRig) -> None:
    rig.fault("untagged", rig.words.launch)
    launched = rig.cloud().launch(order(rig))
    assert len(launched.machines) == 3
    assert {(m.lineage, m.key) for m in launched.machines} == {("", "")}


def test_C4_labels_that_are_found_late_are_known_from_the_first(rig: GoogleRig) -> None:
    rig.faults({"tag_delay": 30})
    cloud = rig.cloud()
    launched = cloud.launch(order(rig))
    assert {m.lineage for m in launched.machines} == {LINEAGE}
    assert cloud.machines(LINEAGE) == ()
    assert cloud.look([m.id for m in launched.machines]) == launched.machines
    rig.later(31)
    assert cloud.machines(LINEAGE) == launched.machines


# R5: answers that are none


@pytest.mark.parametrize("code", ["", "truncated", "gzip"])
def test_R5_an_order_that_is_answered_with_nonsense_is_settled_by_itself(rig: GoogleRig, code: str) -> None:
    rig.fault("nonsense", rig.words.launch, code=code)
    with pytest.raises(UnknownOutcomeError):
        rig.cloud().launch(order(rig))
    assert len(rig.rented()) == 3
    settled(rig)


@pytest.mark.parametrize("code", ["", "truncated", "gzip"])
def test_R5_a_list_that_is_nonsense_is_no_list(rig: GoogleRig, code: str) -> None:
    rig.cloud().launch(order(rig))
    rig.fault("nonsense", rig.words.list, code=code)
    with pytest.raises(UnavailableError):
        rig.cloud().machines(LINEAGE)


def test_R5_a_purchase_that_is_answered_with_nonsense_is_made_once(rig: GoogleRig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(rig.commitment(KEY))
    rig.fault("nonsense", rig.words.buy, first=1)
    with pytest.raises(UnknownOutcomeError):
        cloud.buy(quote)
    assert cloud.buy(quote).key == KEY
    assert len(rig.fake.ledger.purchases) == 1


def test_I2_a_purchase_that_google_has_forgotten_is_known_by_its_name(rig: GoogleRig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(rig.commitment(KEY))
    bought = cloud.buy(quote)
    rig.later(30 * 86_400)
    rig.faults({"price_factor": 2})
    assert cloud.buy(quote).id == bought.id
    assert len(rig.requests(rig.words.buy)) == 1


def test_E7_a_purchase_that_is_accepted_and_fails_is_not_held(rig: GoogleRig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(rig.commitment(KEY))
    rig.fault("operation-fails", rig.words.buy, code="QUOTA_EXCEEDED")
    with pytest.raises(QuotaError):
        cloud.buy(quote)
    assert cloud.commitments() == ()


# F1, F5: credentials


def test_F1_credentials_that_expire_in_between_are_told_and_fresh_ones_go_on(rig: GoogleRig) -> None:
    rig.faults({"rules": [{"on": "*", "answer": "expired-credentials", "from_call": 2, "principals": ["old"]}]})
    with pytest.raises(UnknownOutcomeError, match="expired"):
        rig.cloud("old").launch(order(rig))
    with pytest.raises(CredentialsError, match="expired"):
        rig.cloud("old").machines(LINEAGE)
    assert len(rig.requests()) == 3, "one that did it, and each refusal once"
    launched = rig.cloud("new").launch(order(rig))
    assert len(launched.machines) == len(rig.rented()) == 3


def test_F1_ends_stop_at_once_with_bad_credentials(rig: GoogleRig) -> None:
    made = [m.id for m in rig.cloud().launch(order(rig, count=50)).machines]
    rig.fault("expired-credentials")
    with pytest.raises(CredentialsError, match="expired"):
        rig.cloud().terminate(made)
    assert len(rig.requests(rig.words.terminate)) <= 8


def test_F6_a_clock_that_is_wrong_is_named(rig: GoogleRig) -> None:
    rig.fault("clock-skew")
    with pytest.raises(CredentialsError, match="clock of this machine"):
        rig.cloud().machines(LINEAGE)


@pytest.mark.parametrize("content", [None, "{}", "not JSON"])
def test_F5_missing_or_broken_credentials_are_told_before_anybody_is_asked(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key.json"
    if content is not None:
        key.write_text(content)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
    with connections() as found, pytest.raises(CredentialsError):
        GoogleCloud(GoogleSettings("shop", REGION)).machines(LINEAGE)
    assert found == []


# V8, L8: where requests go


def test_no_request_leaves_the_endpoint_not_even_to_ask_about_operations(rig: GoogleRig) -> None:
    rig.faults({"operation_delay": 5})
    with connections() as found:
        cloud = rig.cloud()
        cloud.scope()
        made = [m.id for m in cloud.launch(order(rig)).machines]
        cloud.look(made)
        cloud.zones(rig.type_name)
        cloud.quotas(rig.type_name)
        cloud.terminate(made)
        cloud.buy(cloud.quote(rig.commitment(KEY)))
        cloud.commitments()
    host, port = rig.url.removeprefix("http://").split(":")
    assert {WAIT, "regionOperations.wait"} <= {r.operation for r in rig.requests()}
    assert found
    assert set(found) <= {(host, int(port)), host}


def test_L8_a_list_without_an_end_or_a_redirect_is_given_up(rig: GoogleRig) -> None:
    rig.fault("redirect")
    for asking in (lambda: rig.cloud().scope(), lambda: rig.cloud().terminate([rig.unknown_id])):
        with pytest.raises((UnavailableError, UnknownOutcomeError)):
            asking()
    assert len(rig.requests()) == 2


def test_R6_other_answers_and_refusals_do_not_end_in_a_machine(rig: GoogleRig) -> None:
    with pytest.raises(RefusedError):
        rig.cloud().launch(order(rig, zone=0, instance_type="n2-standard-4x"))
    with pytest.raises(RefusedError):
        rig.cloud().terminate(["i-0123456789abcdef0"])
    assert not rig.rented()
