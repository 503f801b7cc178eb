"""A reserve that is bought anew when it expires, against every such reserve, and against what any date would save."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

from builders import candidate, forecast, reserved
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.planning.fleets.evaluate import evaluate, fleet_of_one_offer, renewed

VCPUS = 16.0
MONTH = 730 * 3600
YEAR = 12

rates = st.integers(40, 99).map(lambda cents: Decimal(cents) / 100)
years = st.lists(st.lists(st.integers(0, 3), min_size=YEAR, max_size=YEAR), min_size=1, max_size=3)


def cheapest_of_all(demand: list[list[int]], one: Decimal, three: Decimal) -> Decimal:
    """Every number for three years and for each year, the rest rented at a dollar an hour."""
    top = max(map(max, demand))
    best = None
    for base in range(top + 1):
        cost = three * 3 * 8760 * base
        for months in demand:
            cost += min(
                one * 8760 * more + sum(730 * max(m - base - more, 0) for m in months) for more in range(top + 1)
            )
        best = cost if best is None else min(best, cost)
    assert best is not None
    return best


@settings(max_examples=25)
@given(years, rates, rates)
def test_no_reserve_that_is_bought_at_expiry_is_cheaper(demand: list[list[int]], one: Decimal, three: Decimal) -> None:
    given_ = forecast([VCPUS * m for year in demand for m in year], MONTH)
    offers = [reserved("m9.4xlarge", str(one)), reserved("m9.4xlarge", str(three), 3)]
    kind = candidate(commitments=offers)
    always, exact = (evaluate(kind, given_, None, least) for least in (1.0, 0.0))
    assert {h.start_hour % h.offer.term_hours for h in always.fleet.holdings} <= {0}
    assert always.cost == cheapest_of_all(demand, one, three)
    assert exact.cost <= always.cost
    assert always.bound == exact.bound


@settings(max_examples=25)
@given(years, rates, rates, st.sampled_from([0.001, 0.01, 0.05, 0.2]))
def test_any_date_is_taken_exactly_where_it_saves_enough(
    demand: list[list[int]], one: Decimal, three: Decimal, least: float
) -> None:
    given_ = forecast([VCPUS * m for year in demand for m in year], MONTH)
    kind = candidate(commitments=[reserved("m9.4xlarge", str(one)), reserved("m9.4xlarge", str(three), 3)])
    always, found, exact = (evaluate(kind, given_, None, part) for part in (1.0, least, 0.0))
    saves = exact.cost < always.cost * (1 - Decimal(str(least)))
    assert found.cost == (exact.cost if saves else always.cost)
    now = [h for h in found.fleet.holdings if h.start_hour == 0]
    assert saves or found.spread_cost == exact.cost or renewed(now, given_.hours) == found.fleet.holdings
    for offer in kind.commitments:  # what other offers would cost is told without a flow where a bound is enough
        alone = evaluate(kind, given_, [offer], least, 0.05).fleet
        assert fleet_of_one_offer(kind, given_, offer, least, 0.05) == alone


def test_all_sets_of_counts_were_tried_by_the_reference() -> None:
    """The reference itself, against each set of counts one by one."""
    demand, one, three = [[0, 1, 2] * 4, [2] * 12, [3, 0, 0] * 4], Decimal("0.6"), Decimal("0.45")
    by_hand = min(
        three * 3 * 8760 * base
        + sum(
            one * 8760 * more + sum(730 * max(m - base - more, 0) for m in months)
            for more, months in zip(each, demand, strict=True)
        )
        for base, *each in product(range(4), repeat=4)
    )
    assert cheapest_of_all(demand, one, three) == by_hand
