"""Reserved instances and savings plans: bought once, at the price quoted, given back where AWS takes them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from contract.rig import KEY, OTHER_KEY
from contract.rigs.aws import AwsRig

from hcloud.errors import (
    RefusedError,
    UnknownOutcomeError,
)
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder


def reserved(payment: Payment = Payment.PARTIAL, **changes: object) -> CommitmentOrder:
    made = CommitmentOrder(KEY, PurchaseOption.RESERVED, "m5.large", 1, payment, count=2)
    return replace(made, **changes)  # type: ignore[arg-type]


def savings(**changes: object) -> CommitmentOrder:
    option = PurchaseOption.INSTANCE_SAVINGS_PLAN
    made = CommitmentOrder(KEY, option, "m5.large", 1, Payment.PARTIAL, dollars_per_hour=Decimal("1.5"))
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("payment", list(Payment))
@pytest.mark.parametrize("make", [reserved, savings])
def test_what_is_bought_costs_what_was_quoted(rig: AwsRig, make: type, payment: Payment) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(make(payment=payment))
    bought = cloud.buy(quote)
    [held] = cloud.commitments()
    assert (held.id, held.upfront, held.hourly) == (bought.id, quote.upfront, quote.hourly)
    assert (held.state, held.payment, held.option) == ("active", payment, quote.order.option)


def test_I1_reserved_instances_have_no_token_and_are_sent_once(rig: AwsRig) -> None:
    cloud = rig.cloud()
    quote = cloud.quote(reserved())
    rig.fault("server-error", "PurchaseReservedInstancesOffering")
    with pytest.raises(UnknownOutcomeError):
        cloud.buy(quote)
    assert len(rig.requests("PurchaseReservedInstancesOffering")) == 1
    assert not rig.fake.ledger.purchases


def test_I4_the_limit_price_is_kept_by_the_cloud_too(rig: AwsRig) -> None:
    offering = rig.cloud().quote(reserved())
    with pytest.raises(Exception, match="LimitPrice"):
        rig.client("ec2").purchase_reserved_instances_offering(
            InstanceCount=2,
            ReservedInstancesOfferingId=offering.offering,
            LimitPrice={"Amount": offering.upfront - 1, "CurrencyCode": "USD"},
        )
    assert not rig.fake.ledger.purchases


def test_a_dry_run_buys_nothing(rig: AwsRig) -> None:
    offering = rig.cloud().quote(reserved()).offering
    with pytest.raises(Exception, match="DryRun"):
        rig.client("ec2").purchase_reserved_instances_offering(
            InstanceCount=1, ReservedInstancesOfferingId=offering, DryRun=True
        )
    assert not rig.fake.ledger.purchases


def test_active_reserved_instances_are_not_taken_back_and_queued_ones_are(rig: AwsRig) -> None:
    cloud = rig.cloud()
    active = cloud.buy(cloud.quote(reserved()))
    with pytest.raises(RefusedError, match="marketplace"):
        cloud.cancel(active.id)
    later = datetime.fromtimestamp(rig.fake.clock.now(), UTC) + timedelta(days=30)
    queued = cloud.buy(cloud.quote(reserved(starts=later)))
    assert sorted(c.state for c in cloud.commitments()) == ["active", "queued"]
    cloud.cancel(queued.id)
    assert sorted(c.state for c in cloud.commitments()) == ["active", "ended"]


def test_a_queued_savings_plan_is_deleted_and_an_old_one_is_not_taken_back(rig: AwsRig) -> None:
    cloud = rig.cloud()
    later = datetime.fromtimestamp(rig.fake.clock.now(), UTC) + timedelta(days=30)
    queued = cloud.buy(cloud.quote(savings(starts=later)))
    cloud.cancel(queued.id)
    assert [c.state for c in cloud.commitments()] == ["ended"]
    old = cloud.buy(cloud.quote(savings(key=OTHER_KEY)))
    rig.later(8 * 86400)
    with pytest.raises(RefusedError):
        cloud.cancel(old.id)


def test_I2_a_savings_plan_by_the_key_of_another_is_refused(rig: AwsRig) -> None:
    cloud = rig.cloud()
    cloud.buy(cloud.quote(savings()))
    with pytest.raises(RefusedError):
        cloud.buy(cloud.quote(savings(dollars_per_hour=Decimal(3))))
    assert len(rig.fake.ledger.purchases) == 1


def test_a_quote_looks_at_all_pages(rig: AwsRig) -> None:
    rig.page(1)
    assert rig.cloud().quote(reserved()).upfront > 0
    assert rig.cloud().quote(savings()).offering
