"""A plan with idle hours: against every reserve counted in plain Python, and what must hold of any."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from builders import REGION, book, candidate, demand, reserved
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.model.catalog import Provider
from hcloud.model.workload import Demand
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import serve, vcpus_held
from hcloud.planning.forecasting.idle import IdleHours
from hcloud.planning.settings import Market, Outlook, PlanSettings, RiskSettings

HOURS, VCPUS, GIB = 240, 16, 64
SETTINGS = PlanSettings(
    markets=(Market(Provider.AWS, (REGION,)),), outlook=Outlook(horizon_hours=HOURS), risk=RiskSettings(futures=0)
)
STEP = st.tuples(
    st.integers(0, 120), *[st.integers(0, 60)] * 3, *[st.integers(0, 40)] * 3, st.sampled_from([0, 2, 4, 9])
)
Step = tuple[int, int, int, int, int, int, int, int]


def asked(steps: list[Step]) -> tuple[Demand, IdleHours]:
    """Services, batch (short, medium, long), what each may have of a vCPU of a service in hundredths, GiB a vCPU."""
    services, *rest, gib = (np.array(column, np.float64) for column in zip(*steps, strict=True))
    batch, parts = np.array(rest[:3]), np.array(rest[3:]) / 100
    share = np.array([parts.sum(axis=0), parts[1:].sum(axis=0), parts[2]])
    bare = demand((services + batch.sum(axis=0)).tolist())
    memory = services * 4 + batch.sum(axis=0) * gib
    whole = replace(bare, memory=memory, batch_cores=batch.sum(axis=0))
    nothing = np.zeros(len(steps))
    return whole, IdleHours(services, batch, share, gib, nothing, nothing, share[0])


def counted(steps: list[Step], count: int, price: Decimal, term: Decimal) -> Decimal:
    """Dollars with so many instances reserved, hour by hour."""
    rented = 0
    for hour in range(HOURS):
        services, short, medium, long, a, b, c, gib = steps[hour % len(steps)]
        there, batch = min(services, VCPUS * count), short + medium + long
        longs = min(long, c / 100 * there)
        mediums = min(medium, (b + c) / 100 * there - longs)
        carried = longs + mediums + min(short, (a + b + c) / 100 * there - longs - mediums)
        vcpus = services + batch - carried - VCPUS * count
        memory = services * 4 + (batch - carried) * gib - GIB * count
        rented += max(math.ceil(max(vcpus / VCPUS, memory / GIB) - 1e-9), 0)
    return term * count + price * rented


def decided(
    steps: list[Step], *types: Candidate, chosen: PlanSettings = SETTINGS
) -> tuple[FleetDecision, FleetDecision]:
    """Without idle hours, and with them."""
    whole, idle = asked(steps)
    plain = decide(book(*types), whole, chosen)
    return plain, decide(book(*types), whole, chosen, (), Given(idle=idle, otherwise=plain))


STEPS = st.lists(STEP, min_size=1, max_size=24).filter(lambda steps: any(sum(step[:4]) for step in steps))


@settings(max_examples=12, deadline=None)
@given(steps=STEPS, discount=st.integers(1, 30))
def test_the_reserve_is_the_best_of_all_counted_in_plain_python(steps: list[Step], discount: int) -> None:
    term = Decimal(discount) / 1000
    one = candidate(commitments=[reserved("m9.4xlarge", str(term))])
    _, made = decided(steps, one)
    price, per_term = one.on_demand.hourly, one.commitments[0].term_cost
    best = min(counted(steps, count, price, per_term) for count in range(40))
    cost = made.fleet.cost
    assert float(best) <= float(cost) * (1 + 1e-9)
    assert float(cost) <= float(best) * (1 + 1e-9) or float(cost - best) <= made.bound_gap + 1e-6
    assert made.lower_bound <= float(best) * (1 + 1e-7) + 1e-7
    assert float(cost) - made.bound_gap <= float(best) * (1 + 1e-7) + 1e-7
    held = sum(h.count for h in made.fleet.holdings)
    assert float(cost) == pytest.approx(float(counted(steps, held, price, per_term)))


@settings(max_examples=5, deadline=None)
@given(steps=STEPS, prices=st.lists(st.integers(50, 150), min_size=3, max_size=3), discount=st.integers(1, 30))
def test_idle_hours_never_cost_nor_take_from_a_service(steps: list[Step], prices: list[int], discount: int) -> None:
    types = [
        candidate(name, str(Decimal(p) / 100), [reserved(name, str(Decimal(p * discount) / 100_000))], memory=memory)
        for (name, memory), p in zip((("c9.4xlarge", 32), ("m9.4xlarge", 64), ("r9.4xlarge", 128)), prices, strict=True)
    ]
    plain, made = decided(steps, *types)
    assert made.fleet.cost <= plain.fleet.cost
    assert made.lower_bound <= float(made.fleet.cost) * (1 + 1e-7) + 1e-7
    assert made.lower_bound <= plain.lower_bound * (1 + 1e-7) + 1e-7
    idle = made.forecast.idle
    assert idle is not None
    held = vcpus_held(made.fleet, made.types, made.forecast)
    left = made.forecast.beside(held)
    assert (left.cores >= idle.services - 1e-9).all(), "every vCPU of a service has a machine of its own"
    assert (idle.carried(held) <= np.minimum(idle.services, held) * idle.share[0] + 1e-9).all()
    assert np.allclose(idle.by_length(held).sum(axis=0), idle.carried(held))
    without = replace(made.forecast, idle=None)
    assert made.fleet.cost <= serve(without, made.types, made.fleet.holdings).cost


@settings(max_examples=5, deadline=None)
@given(steps=STEPS)
def test_without_room_nothing_changes(steps: list[Step]) -> None:
    nothing = [(*step[:4], 0, 0, 0, step[7]) for step in steps]
    plain, made = decided(nothing, candidate(commitments=[reserved("m9.4xlarge", "0.005")]))
    assert made.fleet.cost == plain.fleet.cost
    assert made.lower_bound == pytest.approx(plain.lower_bound, rel=1e-6)


def test_more_is_reserved_where_idle_hours_carry_batch() -> None:
    """Services of the day alone are too rare for another instance; the batch beside them makes it pay."""
    steps: list[Step] = [(64, 0, 64, 0, 0, 50, 0, 4)] * 11 + [(0, 0, 0, 0, 0, 50, 0, 4)] * 13
    one = candidate(commitments=[reserved("m9.4xlarge", "0.015")])
    plain, made = decided(steps, one)
    count = [sum(h.count for h in d.fleet.holdings) for d in (plain, made)]
    price, per_term = one.on_demand.hourly, one.commitments[0].term_cost
    best = min(range(40), key=lambda n: counted(steps, n, price, per_term))
    assert count == [0, best]
    assert best == 4
