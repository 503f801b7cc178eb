"""Why dollars differ from those predicted: effects that add up to the cent, whatever the figures are."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcloud.planning.reports.accuracy import ComparedFigure, CostEffects, Item, effects

KINDS = [("m5.large", "on-demand"), ("m5.large", "reserved-instance"), ("m6i.4xlarge", "on-demand"), ("", "savings")]
AMOUNTS = st.decimals(0, 10_000, places=6, allow_nan=False)
ITEMS = st.dictionaries(
    st.sampled_from(KINDS), st.builds(Item, AMOUNTS, st.sampled_from([Decimal(2), Decimal(16)]), AMOUNTS)
)
D = Decimal


@pytest.mark.slow
@given(ITEMS, ITEMS, st.none() | st.decimals(-1, 3, places=4, allow_nan=False))
def test_the_effects_add_up_to_the_difference(
    predicted: dict[tuple[str, str], Item], actual: dict[tuple[str, str], Item], grown: Decimal | None
) -> None:
    found = effects(predicted, actual, grown)
    assert found.price + found.volume + found.mix == found.difference == found.actual - found.predicted


@pytest.mark.slow
@given(ITEMS)
def test_what_came_as_predicted_has_no_effect(items: dict[tuple[str, str], Item]) -> None:
    found = effects(items, items)
    assert not any((found.price, found.volume, found.mix))


def one(machines: str, vcpus: str, dollars: str) -> Item:
    return Item(D(machines), D(vcpus), D(dollars))


@pytest.mark.parametrize(
    ("actual", "price", "volume", "mix"),
    [
        ({KINDS[0]: one("10", "2", "12")}, "2.00", "0.00", "0.00"),  # a fifth dearer
        ({KINDS[0]: one("15", "2", "15")}, "0.00", "5.00", "0.00"),  # half more of it
        ({KINDS[0]: one("15", "2", "18")}, "3.00", "5.00", "0.00"),  # both
        ({KINDS[2]: one("1.25", "16", "14")}, "0.00", "0.00", "4.00"),  # as many vCPUs of another, dearer kind
    ],
)
def test_each_effect_alone(actual: dict[tuple[str, str], Item], price: str, volume: str, mix: str) -> None:
    found = effects({KINDS[0]: one("10", "2", "10")}, actual)
    assert found == CostEffects(D("10.00"), D(price), D(volume), D(mix), found.actual)


def test_demand_explains_its_part_of_the_volume() -> None:
    found = effects({KINDS[0]: one("10", "2", "10")}, {KINDS[0]: one("15", "2", "15")}, D("0.2"))
    assert (found.volume, found.demand) == (D("5.00"), D("2.00"))


def test_a_rate_below_a_dime_is_not_as_planned_where_it_is_a_quarter_dearer() -> None:
    found = effects({KINDS[0]: one("0.01", "2", "0.0091")}, {KINDS[0]: one("0.0125", "2", "0.0116")})
    assert (found.predicted, found.actual, found.difference) == (D("0.0091"), D("0.0116"), D("0.0025"))
    assert found.volume + found.price + found.mix == found.difference


def test_errors_and_intervals() -> None:
    inside = ComparedFigure("cost", "$/h", D(10), D(11), D(9), D(12))
    assert (inside.error, inside.inside) == (D("0.1"), True)
    assert ComparedFigure("cost", "$/h", D(10), D(13), D(9), D(12)).inside is False
    assert ComparedFigure("cost", "$/h", D(10), D(13)).inside is None
    assert ComparedFigure("cost", "$/h", None, D(13)).error is None
    assert ComparedFigure("wait", "s", D(0), D(13)).error is None
