"""Commitments at one price: the freest is bought, then the one with less cash, and the plan says why."""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal

import builders
import pytest

from hcloud.catalog.flexibility import COVERS, preference, why_preferred
from hcloud.model.catalog import Offer, Payment, PurchaseOption
from hcloud.planning.decide import decide
from hcloud.planning.explanations.reasons import reasons
from hcloud.planning.settings import Market, PlanSettings

YEAR = Decimal(8760)


def at_one_price(option: PurchaseOption, payment: Payment = Payment.ALL, zone: str = "", derived: str = "") -> Offer:
    """A year of the test type for half a dollar an hour."""
    upfront = {Payment.ALL: Decimal(1), Payment.PARTIAL: Decimal("0.5"), Payment.NONE: Decimal(0)}[payment]
    key = replace(builders.key("m9.4xlarge", option, 1, payment), zone=zone)
    half = Decimal("0.5")
    return Offer(key, half * (1 - upfront), half * upfront * YEAR, replace(builders.ORIGIN, derived=derived))


def test_what_covers_more_comes_first_then_regional_then_cash_then_what_is_published() -> None:
    ordered = [
        at_one_price(PurchaseOption.COMPUTE_SAVINGS_PLAN, derived="from another"),
        at_one_price(PurchaseOption.CONVERTIBLE),
        at_one_price(PurchaseOption.INSTANCE_SAVINGS_PLAN),
        at_one_price(PurchaseOption.RESERVED, Payment.NONE),
        at_one_price(PurchaseOption.RESERVED, Payment.PARTIAL),
        at_one_price(PurchaseOption.RESERVED, Payment.ALL),
        at_one_price(PurchaseOption.RESERVED, Payment.NONE, zone="us-east-1a"),
    ]
    for shuffled in itertools.islice(itertools.permutations(ordered), 0, 5040, 97):
        assert sorted(shuffled, key=preference) == ordered
    assert why_preferred(ordered[3], ordered[6]) == "it covers the whole region"
    assert why_preferred(ordered[3], ordered[4]) == "less is due upfront"
    assert all(option in COVERS for option in PurchaseOption if option.is_commitment)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [8760, 2 * 8760])
def test_a_plan_buys_the_freest_of_equals_and_says_so(horizon: int) -> None:
    equal = [at_one_price(PurchaseOption.RESERVED), at_one_price(PurchaseOption.INSTANCE_SAVINGS_PLAN, derived="as RI")]
    made = builders.candidate(commitments=equal)
    settings = PlanSettings(markets=(Market(vcpus=16),))
    settings = replace(settings, outlook=replace(settings.outlook, horizon_hours=horizon))
    decision = decide(builders.book(made), builders.demand([16.0] * 48), settings)
    assert {h.offer.key.option for h in decision.fleet.holdings} == {PurchaseOption.INSTANCE_SAVINGS_PLAN}
    told = [line for line in reasons(decision) if "at equal price" in line]
    assert told == ["EC2 instance savings plan instead of reserved instance at equal price: it covers any size and OS"]
