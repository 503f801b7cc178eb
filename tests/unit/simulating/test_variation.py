"""What-ifs by key path: what they change, what they refuse, and what other prices make of the same run."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from builders import candidate, rented, reserved

from hcloud.errors import UsageError
from hcloud.model.catalog import BillingRule, Offer, SustainedUse
from hcloud.readers.clouds import load_cloud, misfits
from hcloud.readers.strategies import load_strategy
from hcloud.sim.outcomes.measure import Cost
from hcloud.sim.outcomes.pricing_models import bill
from hcloud.sim.run import CapacityCost
from hcloud.sim.setup.grid import parse_grid
from hcloud.sim.setup.shop import Rentable, Shop
from hcloud.sim.setup.variation import MAPPINGS, known_keys, parse_axis, varied_cloud, varied_strategy

HM, PAPER = load_strategy("HM"), load_cloud("paper")


def test_a_number_of_a_rule_is_replaced_and_nothing_else() -> None:
    varied = varied_strategy(HM, parse_axis("limits.hard=0.9"))
    assert varied.mechanism("limits").parameter("hard").value == 0.9
    assert [m for m in varied.mechanisms if m.name != "limits"] == [m for m in HM.mechanisms if m.name != "limits"]


def test_values_are_the_same_however_they_are_written() -> None:
    assert parse_axis("limits.hard=0.80") == parse_axis("limits.hard=.8")
    assert parse_axis("retention.factor=10.0")[0].text == "retention.factor=10"


@pytest.mark.parametrize("preset", MAPPINGS)
def test_every_mapping_of_the_study_fits_a_hybrid(preset: str) -> None:
    from hcloud.readers.strategies import misfits as wrong

    varied = varied_strategy(HM, parse_axis(f"mapping={preset}"))
    rule, values = MAPPINGS[preset]
    mapping = varied.mechanism("mapping")
    assert mapping.rule == rule
    assert {k: mapping.parameter(k).value for k in values} == dict(values)
    assert not list(wrong(varied))


def test_the_dynamic_preset_changes_nothing_in_a_dynamic_strategy() -> None:
    assert varied_strategy(HM, parse_axis("mapping=P8")).digest() == HM.digest()


def test_a_rule_takes_its_numbers_along() -> None:
    change = parse_axis("mapping.rule=static-limit,limit=0.5,quality-threshold,threshold=0.4,reading=absolute")
    assert [c.label for c in change] == ["static-limit,limit=0.5", "quality-threshold,threshold=0.4,reading=absolute"]
    mapping = varied_strategy(HM, change[1:]).mechanism("mapping")
    assert (mapping.parameter("threshold").value, mapping.parameter("reading").value) == (0.4, "absolute")


def test_rules_are_changed_before_their_numbers() -> None:
    changes = (*parse_axis("mapping.limit=0.7"), *parse_axis("mapping.rule=static-limit,limit=0.5"))
    assert varied_strategy(HM, changes).mechanism("mapping").parameter("limit").value == 0.7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limits.hrad=0.5", "did you mean limits.hard?"),
        ("hard=0.5", "did you mean limits.hard?"),
        ("limits.hard=1.5", "must be a number from 0 to 1"),
        ("limits.hard=nan", "must be a number from 0 to 1"),
        ("limits.hard=", "write KEY=VALUE"),
        ("limits.hard", "write KEY=VALUE"),
        ("limits.hard=0.5,0.50", "appears twice"),
        ("mapping=P9", "must be P1 or P2"),
        ("mapping.rule=fastest", "one of reserved-only"),
        ("pricing=ibm", "must be aws or gce or azure"),
        ("cloud.spin_up=fast", "must be a number from 0"),
        ("pool=1.5", "must be a whole number"),
        ("placement.join_starting=yes", "must be true or false"),
        ("limits.hard=0.5,soft=0.4", "parameters may only follow a rule"),
        ("cloud.neighbours.mean_laod=0", "did you mean cloud.neighbours.mean_load?"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_axis(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mapping.rule=static-limit", "needs limit"),
        ("mapping.rule=static-limit,limits=0.5", "has no limits"),
        ("mapping.rule=static-limit,limit=5", "must be a number from 0 to 1"),
        ("mapping.limit=0.5", "mapping.rule=dynamic, which has no limit"),
    ],
)
def test_a_rule_and_its_numbers_must_fit(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        varied_strategy(HM, parse_axis(text))
    assert said in str(refused.value)


def test_every_known_key_is_parsed_by_its_own_rule() -> None:
    for key in known_keys():
        if key != "strategy":
            with pytest.raises(UsageError, match="must be"):
                parse_axis(f"{key}=\N{SNOWMAN}")


@pytest.mark.parametrize("load", ["0", "0.05", "0.5", "1"])
def test_any_load_of_the_neighbours_is_possible(load: str) -> None:
    varied = varied_cloud(PAPER, parse_axis(f"cloud.neighbours.mean_load={load}"))
    assert varied.number("neighbours", "mean_load") == float(load)
    assert not list(misfits(varied))


def test_spin_up_is_scaled_for_every_size() -> None:
    varied = varied_cloud(PAPER, parse_axis("cloud.spin_up=x2"))
    for before, after in zip(PAPER.sizes, varied.sizes, strict=True):
        assert after.spin_up.values == tuple(2 * v for v in before.spin_up.values)
        assert after.spread == before.spread
    with pytest.raises(UsageError, match="more than a day"):
        varied_cloud(varied_cloud(varied, parse_axis("cloud.spin_up=x1000")), parse_axis("cloud.spin_up=x1000"))


def test_the_share_of_sensitive_jobs_is_what_is_not_tolerant() -> None:
    varied = varied_cloud(PAPER, parse_axis("sensitive_share=0.3"))
    assert varied.number("jobs", "batch_tolerant_share") == 0.7


def test_prices_change_fastest_so_that_one_run_serves_them() -> None:
    grid = parse_grid(["price_ratio=1,2", "limits.hard=0.8,0.9", "pricing=aws,azure"], ["HM"], [1, 2])
    batches = list(grid.batches())
    assert [len(b.what_ifs) for b in batches] == [4, 4, 4, 4]
    assert [b.first.seed for b in batches] == [1, 2, 1, 2]
    assert len({w.digest for b in batches for w in b.what_ifs}) == len(grid) == 16
    assert all([c.key for c in w.changes] == list(grid.keys) for b in batches for w in b.what_ifs)


def test_a_key_is_varied_once() -> None:
    with pytest.raises(UsageError, match="give all its values at once"):
        parse_grid(["pool=1", "pool=2"], ["HM"], [1])


def test_a_strategy_has_a_limit_of_what_ifs() -> None:
    assert len(parse_grid(["pool=1,2"], ["HM", "SR"], range(100_000))) == 400_000
    with pytest.raises(UsageError, match="200,001 what-ifs of a strategy are more than 200,000"):
        parse_grid(["pool=1,2,3"], ["HM"], range(66_667))


def _shop(sustained: SustainedUse | None = None) -> Shop:
    it = candidate("m9.4xlarge", "1.00")
    types = (Rentable(it.shape, it.on_demand, None),)
    return Shop(types, 0, reserved("m9.4xlarge", "0.40"), BillingRule(1, 60), sustained)


def _cost(shop: Shop, pool: int) -> Cost:
    offer: Offer = rented("m9.4xlarge", "1.00")
    upfront = shop.reserved.term_cost * pool
    charge = CapacityCost(offer, 2, 4 * 3600, Decimal(4))
    return Cost(10.0, 10.0, Decimal("0.4") * pool * 10, Decimal(0), Decimal(4), upfront, (charge,))


def test_a_bill_at_the_shops_own_price_is_what_the_run_cost() -> None:
    shop = _shop()
    cost = _cost(shop, 3)
    made = bill(cost, shop, 3)
    assert made.reserved + made.rented == cost.total
    for weeks in (1, 52, 53, 104, 105):
        assert made.over_weeks(weeks) == cost.over_weeks(weeks)


def test_a_price_ratio_scales_the_reserve_only() -> None:
    shop = _shop()
    made = bill(_cost(shop, 3), shop, 3, ratio=2.0)
    assert (made.reserved, made.rented) == (Decimal("0.5") * 3 * 10, Decimal(4))
    assert made.upfront == Decimal("0.5") * 8760 * 3


def test_without_a_reserve_its_servers_are_always_on() -> None:
    shop = _shop()
    made = bill(_cost(shop, 3), shop, 3, model="azure")
    assert (made.reserved, made.upfront) == (Decimal(30), Decimal(0))
    assert made.over_weeks(53) == (Decimal(34) / 10) * 168 * 53


def test_use_is_pooled_by_type_over_the_month() -> None:
    """0.4 servers on average are in use beside 3 that are always on: three months of full use (70 %) and one at 40 %
    of the month, whose first quarter costs 100 % and the rest of it 80 %."""
    tiers = SustainedUse("m9", tuple(map(Decimal, ("1", "0.8", "0.6", "0.4"))))
    shop = _shop(tiers)
    made = bill(_cost(shop, 3), shop, 3, model="gce")
    assert made.reserved == pytest.approx(Decimal(30) * Decimal("0.7"))
    assert made.rented == pytest.approx(Decimal(10) * (Decimal("0.25") + Decimal("0.15") * Decimal("0.8")))
    with pytest.raises(UsageError, match="no discount by use"):
        bill(_cost(shop, 3), replace(shop, sustained=None), 3, model="gce")
