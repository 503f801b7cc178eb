"""The contract of commitments: a quote buys nothing, a purchase is made once and at no higher price."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from contract.rig import KEY, OTHER_KEY, Ability, Rig
from hcloud.errors import CloudError, DeniedError, NotFoundError, RefusedError, ThrottledError, UnknownOutcomeError

pytestmark = pytest.mark.needs(Ability.COMMITMENTS)


def test_a_quote_says_what_it_costs_and_buys_nothing(rig: Rig) -> None:
    order = rig.commitment(KEY)
    quote = rig.cloud().quote(order)
    assert quote.order == order
    assert quote.offering
    assert quote.upfront + quote.hourly > 0
    assert isinstance(quote.upfront, Decimal)
    assert isinstance(quote.hourly, Decimal)
    assert quote.currency == "USD"
    assert not rig.fake.ledger.purchases


def test_what_is_not_sold_is_not_found(rig: Rig) -> None:
    with pytest.raises(NotFoundError):
        rig.cloud().quote(replace(rig.commitment(KEY), instance_type="nosuch.type"))


def test_a_purchase_is_made_once_and_listed(rig: Rig) -> None:
    cloud = rig.cloud()
    bought = cloud.buy(cloud.quote(rig.commitment(KEY)))
    [held] = cloud.commitments()
    [known] = rig.fake.ledger.purchases.values()
    assert bought.id == held.id == known.id
    assert (held.count, held.term_years, held.payment) == (bought.count, bought.term_years, bought.payment)
    assert held.state in ("pending", "queued", "active")


def test_nothing_is_held_at_first(rig: Rig) -> None:
    assert rig.cloud().commitments() == ()


@pytest.mark.needs(Ability.PURCHASE_KEYS)
def test_I2_the_same_purchase_again_is_the_same_commitment(rig: Rig) -> None:
    quote = rig.cloud().quote(rig.commitment_by_key(KEY))
    assert rig.cloud().buy(quote).id == rig.cloud().buy(quote).id
    assert len(rig.fake.ledger.purchases) == 1


def test_purchases_of_different_keys_are_different(rig: Rig) -> None:
    cloud = rig.cloud()
    cloud.buy(cloud.quote(rig.commitment(KEY)))
    cloud.buy(cloud.quote(rig.commitment(OTHER_KEY)))
    assert len(rig.fake.ledger.purchases) == len(cloud.commitments()) == 2


@pytest.mark.needs(Ability.FAULTS)
@pytest.mark.parametrize("answer", ["dropped-after", "nonsense"])
def test_I1_a_purchase_without_an_answer_is_unknown_and_made_once(rig: Rig, answer: str) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(rig.commitment(KEY))
    rig.fault(answer, rig.words.buy)
    with pytest.raises(UnknownOutcomeError):
        cloud.buy(quote)
    assert len(rig.fake.ledger.purchases) == 1
    assert len(rig.requests(rig.words.buy)) == 1


@pytest.mark.needs(Ability.FAULTS, Ability.PURCHASE_KEYS)
def test_I2_a_purchase_whose_answer_was_lost_is_settled_by_its_key(rig: Rig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(rig.commitment_by_key(KEY))
    rig.fault("dropped-after", rig.words.buy_by_key or rig.words.buy, first=1)
    with pytest.raises(UnknownOutcomeError):
        cloud.buy(quote)
    bought = cloud.buy(quote)
    assert [bought.id] == list(rig.fake.ledger.purchases)


@pytest.mark.needs(Ability.FAULTS)
def test_I1_a_throttled_purchase_is_not_sent_again(rig: Rig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(rig.commitment(KEY))
    rig.fault("throttled", rig.words.buy)
    with pytest.raises(ThrottledError):
        cloud.buy(quote)
    assert len(rig.requests(rig.words.buy)) == 1
    assert not rig.fake.ledger.purchases


@pytest.mark.needs(Ability.FAULTS)
def test_a_denied_purchase_is_denied(rig: Rig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(rig.commitment(KEY))
    rig.fault("denied", rig.words.buy)
    with pytest.raises(DeniedError):
        cloud.buy(quote)
    assert not rig.fake.ledger.purchases


@pytest.mark.needs(Ability.FAULTS, Ability.PRICE_LIMIT)
def test_I4_a_price_that_rose_after_the_quote_is_not_paid(rig: Rig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(rig.commitment(KEY))
    rig.faults({"price_factor": 1.5})
    with pytest.raises(RefusedError):
        cloud.buy(quote)
    assert not rig.fake.ledger.purchases


@pytest.mark.needs(Ability.CANCEL)
def test_what_can_be_given_back_is_given_back(rig: Rig) -> None:
    cloud = rig.cloud()
    bought = cloud.buy(cloud.quote(rig.cancellable(KEY)))
    cloud.cancel(bought.id)
    assert [p.cancelled_at is not None for p in rig.fake.ledger.purchases.values()] == [True]
    assert all(c.state == "ended" for c in cloud.commitments())


def test_what_cannot_be_given_back_is_said_so(rig: Rig) -> None:
    with pytest.raises((NotFoundError, RefusedError)):
        rig.cloud().cancel(rig.unknown_id)


def test_I6_quotes_and_lists_change_nothing(rig: Rig) -> None:
    cloud = rig.cloud()
    cloud.quote(rig.commitment(KEY))
    cloud.commitments()
    assert not [r for r in rig.requests(mutating=True) if r.acted]
    assert not rig.fake.ledger.purchases


@pytest.mark.needs(Ability.FAULTS)
def test_R5_a_list_of_commitments_that_cannot_be_understood_is_an_error(rig: Rig) -> None:
    rig.fault("nonsense", rig.words.commitments)
    with pytest.raises(CloudError):
        rig.cloud().commitments()
