"""Special prices on a horizon that is no whole number of terms: each reserve is tried by hand beside what is chosen."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import product
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from builders import candidate, forecast, reserved

from hcloud.model.catalog import SustainedUse
from hcloud.planning.decide import FleetDecision
from hcloud.planning.explanations.flips import latest_flip
from hcloud.planning.fleets.evaluate import evaluate, pays_above, pays_throughout
from hcloud.planning.fleets.fleet import Fleet
from hcloud.planning.forecasting.idle import IdleHours
from hcloud.planning.settings import PlanSettings

VCPUS, YEAR, MONTH = 16.0, 8760, 730
N2 = SustainedUse("n2", tuple(map(Decimal, ("1", "0.8678", "0.733", "0.6"))))
TIERS = [float(t) for t in N2.tiers]
OFFICE = [4] * 10 + [2] * 14


def by_hours(hours: int) -> list[int]:
    """Instances needed by the hour: two always, two more by day."""
    return [OFFICE[hour % 24] for hour in range(hours)]


def rented(units: list[int], sustained: bool) -> float:
    """Dollars on demand at a dollar an hour, each month's quarters of use at their tiers."""
    dollars = 0.0
    for first in range(0, len(units), MONTH):
        month = units[first : first + MONTH]
        for level in range(1, max(month) + 1):
            quarters = sum(n >= level for n in month) / MONTH * 4
            tiers = TIERS if sustained else [1.0] * 4
            dollars += sum(t * min(max(quarters - q, 0.0), 1.0) for q, t in enumerate(tiers)) * MONTH / 4
    return dollars


def by_hand(units: list[int], price: float, sustained: bool) -> float:
    """The cheapest pair of numbers to hold for the first year and for the next, each year paid in full."""
    first, second = units[:YEAR], units[YEAR:]
    none, alike = [rented([max(n - k, 0) for n in first], sustained) for k in range(5)], range(5)
    then = [rented([max(n - k, 0) for n in second], sustained) for k in alike]
    return min(none[a] + then[b] + (a + b) * YEAR * price for a, b in product(alike, alike))


@pytest.mark.parametrize("days", [366, 540, 700])
def test_a_year_is_committed_to_and_the_rest_rented_under_sustained_use(days: int) -> None:
    units = by_hours(days * 24)
    kind = candidate(commitments=[reserved("m9.4xlarge", "0.63")], sustained=N2)
    found = evaluate(kind, forecast([VCPUS * n for n in units]), None, 0.01)
    assert float(found.cost) == pytest.approx(by_hand(units, 0.63, sustained=True), rel=1e-9)
    assert found.bound <= found.cost
    assert {h.start_hour for h in found.fleet.holdings} == ({0} if days < 700 else {0, YEAR})


def test_a_limited_offer_does_not_hide_the_cheaper_terms_beside_it() -> None:
    units = by_hours(540 * 24)
    given = forecast([VCPUS * n for n in units[::2]], 7200)
    deal, year, three = (
        reserved("m9.4xlarge", "0.57", remaining=1),
        reserved("m9.4xlarge", "0.60"),
        reserved("m9.4xlarge", "0.40", 3),
    )
    plain = evaluate(candidate(commitments=[year, three]), given)
    found = evaluate(candidate(commitments=[deal, year, three]), given, None, 0.01)
    assert found.cost <= plain.cost - Decimal("0.03") * YEAR
    assert float(found.cost) <= by_hand(units, 0.60, sustained=False) - 0.03 * YEAR
    assert max(h.count for h in found.fleet.holdings if h.offer == deal) == 1


def test_purchases_at_any_date_are_open_beside_an_offer_that_runs_out() -> None:
    quiet, busy = [0] * 100 * 24, [1] * YEAR
    given = forecast([VCPUS * n for n in (*quiet, *busy, *quiet)])
    year, dear = reserved("m9.4xlarge", "0.50"), reserved("m9.4xlarge", "0.90", remaining=1)
    found = evaluate(candidate(commitments=[dear, year]), given, None, 0.01)
    assert found.cost == Decimal("0.50") * YEAR
    assert [h.start_hour for h in found.fleet.holdings] == [2400]


def test_idle_hours_do_not_take_a_second_year_for_a_few_days_of_it() -> None:
    days = 400
    given = forecast([VCPUS] * days, 24 * 3600)
    none, lengths = np.zeros(days), np.zeros((3, days))
    idle = replace(given, idle=IdleHours(given.cores, lengths, lengths, none, none, none, none))
    found = evaluate(candidate(commitments=[reserved("m9.4xlarge", "0.60")]), idle, None, 0.01)
    assert found.cost == Decimal("0.60") * YEAR + 35 * 24


def test_the_break_even_is_that_of_a_term_and_not_of_a_renewal_that_need_not_be() -> None:
    offer = reserved("m9.4xlarge", "0.63")
    kind = candidate(commitments=[offer])
    assert pays_above(kind, offer, 540 * 24) == Decimal("0.63")
    assert pays_above(kind, offer, YEAR // 2) == Decimal("1.26")
    assert pays_throughout(kind, offer, 540 * 24) == Decimal("1.26") * YEAR / (540 * 24)


def test_a_lower_price_takes_an_offer_that_never_pays() -> None:
    units = by_hours(540 * 24)
    given = forecast([VCPUS * n for n in units])
    offer = reserved("m9.4xlarge", "1.10")
    kind = candidate(commitments=[offer])
    assert not evaluate(kind, given).fleet.holdings
    free = PlanSettings(commit_min_saving=0.0)
    decided = cast("FleetDecision", SimpleNamespace(forecast=given, fleet=Fleet((), ()), settings=free))
    flip = latest_flip(decided, kind, offer)
    assert flip is not None
    assert flip.at == Decimal("1.000000")
    for price, bought in (("0.999", True), ("1.001", False)):
        assert bool(evaluate(candidate(commitments=[reserved("m9.4xlarge", price)]), given).fleet.holdings) is bought
