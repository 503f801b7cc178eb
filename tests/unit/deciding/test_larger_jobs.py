"""What a plan says of jobs that no machine of its lines holds, and of the one job that a short trace is."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from builders import REGION, book, candidate, rented, reserved, shape

from hcloud.model.catalog import Provider
from hcloud.model.workload import Jobs, Provenance
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.explanations.advice import larger_jobs
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.forecasting.demand import demand_of
from hcloud.planning.forecasting.outliers import lone
from hcloud.planning.forecasting.window import window_of
from hcloud.planning.settings import Divisible, Market, Outlook, PlanSettings, RiskSettings
from hcloud.usecases.deciding.known_of_jobs import leanest_of, running_of

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

HOUR, DAY = 3600, 86_400
SETTINGS = PlanSettings(
    markets=(Market(Provider.AWS, (REGION,)),),
    outlook=Outlook(horizon_hours=8760),
    risk=RiskSettings(futures=0, falls=()),
)
NAMES = {2: "m9.large", 4: "m9.xlarge", 8: "m9.2xlarge", 16: "m9.4xlarge"}


FAMILIES = (("m9", 4, Decimal("0.05")), ("r9", 8, Decimal("0.065")))
LEAN = ("c9", 2, Decimal("0.043"))


def sold(name: str, vcpus: int, gib: int, price: Decimal) -> Candidate:
    held = (reserved(name, str(price * 6 / 10)),)
    return Candidate(shape(name, vcpus, gib), rented(name, str(price)), held, None, None)


def size(vcpus: int) -> Candidate:
    name = NAMES[vcpus]
    held = candidate(name, "1", [reserved(name, str(Decimal("0.03") * vcpus))]).commitments
    return Candidate(shape(name, vcpus, 4 * vcpus), rented(name, str(Decimal("0.05") * vcpus)), held, None, None)


def day(kind: int, tag: str = "jobs-csv") -> Jobs:
    """Two hours each, a day and a half: of 2 vCPUs always, of 8 GiB by night and 28 by day: what is reserved is an
    m9.large, what is rented an m9.xlarge and an m9.large."""
    count = 18
    submit = np.arange(count, dtype=np.float64) * 2 * HOUR
    memory = np.where(np.arange(count) % 12 < 6, 8.0, 28.0)
    none = np.full(count, -1, np.int32)
    return Jobs(
        submit, np.full(count, 2.0 * HOUR), np.full(count, 2.0), memory, np.zeros(count), np.full(count, kind, np.int8),
        none, (), none, (), Provenance("made", tag, "0", count),
    )  # fmt: skip


def decided(jobs: Jobs, divisible: Divisible = Divisible.SERVICES) -> FleetDecision:
    demand = demand_of(jobs, HOUR)
    settings = replace(SETTINGS, divisible=divisible)
    return decide(book(*map(size, NAMES)), demand, settings, (), Given(running_of(jobs, divisible, demand)))


def made(begin: Floats, seconds: Floats, cores: Floats, memory: Floats) -> Jobs:
    none, zero = np.full(len(begin), -1, np.int32), np.zeros(len(begin))
    origin = Provenance("made", "jobs-csv", "0", len(begin))
    return Jobs(begin, seconds, cores, memory, zero, zero.astype(np.int8), none, (), none, (), origin)


def test_a_mix_holds_long_jobs_beside_many_short_ones_of_other_memory() -> None:
    """Levels had as many jobs, not as much work: of two families of services one was left, 16 % dearer, beside jobs of
    a minute."""
    begin, few = np.append(np.arange(0.0, 14 * DAY, 60), np.zeros(40)), [2.0, 8.0] * 20
    short = np.arange(len(begin) - 40) % 500 / 500 + 1
    seconds, cores = (
        np.append(np.full(len(short), one), [many] * 40) for one, many in ((60.0, 14.0 * DAY), (1.0, 8.0))
    )
    jobs = made(begin, seconds, cores, cores * np.append(short, few))
    within = leanest_of(jobs, demand_of(jobs, HOUR))
    assert within is not None
    for lean in within.vcpus_within(np.full(2, 321.5 / 1601.5), np.array([0, 100])):
        assert lean == pytest.approx(161 / 321, abs=0.001)


@pytest.mark.parametrize(
    ("shapes", "types"),
    [
        ([(12, 4, 8, DAY), (12, 4, 16, DAY), (6, 8, 64, 6 * HOUR)], 2),
        ([(20, 4, 16, DAY), (6, 4, 32, DAY), (40, 8, 16, HOUR)], 1),
    ],
    ids=["one is reserved", "two would be, for a twentieth less"],
)
def test_where_three_families_do_not_hold_the_jobs_two_may(shapes: list[tuple[int, int, int, int]], types: int) -> None:
    """In sums three were cheapest, and one was taken; what is reserved of several shapes has to save more."""
    each = [
        (day * DAY + (at * 540.0 if seconds < DAY else 0.0), seconds, *of)
        for day in range(14)
        for n, *of, seconds in shapes
        for at in range(n)
    ]
    jobs = made(*np.array(sorted(each)).T)
    market = [sold(f"{name}.{n}", n, of * n, price * n) for name, of, price in (*FAMILIES, LEAN) for n in (2, 4, 8, 16)]
    demand = demand_of(jobs, HOUR)
    given = Given(running_of(jobs, Divisible.SERVICES, demand), leanest=leanest_of(jobs, demand))
    decision = decide(book(*market), demand, SETTINGS, (), given)
    assert len(decision.types) == types
    assert len({holding.offer.key.instance_type for holding in decision.fleet.holdings}) == 1


def test_a_type_that_is_not_used_does_not_add_the_gaps_of_its_large_machines_to_a_mix() -> None:
    """One machine of 30 vCPUs in the market, of no use to any fleet, and two families were not mixed any more."""
    lean = np.tile(np.repeat([True, False], [12, 6]), 14)
    begin = np.repeat(np.arange(14.0) * DAY, 18) + np.where(lean, 0.0, 8.0 * HOUR)
    cores, memory, seconds = (np.where(lean, *of) for of in ((4.0, 8.0), (16.0, 64.0), (float(DAY), 6.0 * HOUR)))
    jobs = made(begin, seconds, cores, memory)
    market = [sold(f"{name}.{n}", n, of * n, price * n) for name, of, price in FAMILIES for n in (2, 4, 8, 16)]
    market += [sold("x9.30", 30, 450, Decimal(10))]
    demand = demand_of(jobs, HOUR)
    given = Given(running_of(jobs, Divisible.SERVICES, demand), leanest=leanest_of(jobs, demand))
    of_two, of_three = (decide(book(*types), demand, SETTINGS, (), given) for types in (market[:-1], market))
    assert len(of_two.types) == 2
    assert of_three.machines.cost == of_two.machines.cost


def said(jobs: Jobs, divisible: Divisible = Divisible.SERVICES) -> str:
    return " ".join(larger_jobs(jobs, decided(jobs, divisible)))


def test_services_larger_than_every_machine_are_said_to_run_in_pieces() -> None:
    services = day(1)
    held = {h.offer.key.instance_type for h in decided(services).machines.holdings}
    assert held == {"m9.large"}, "8 GiB, where a service of 28 GiB runs"
    assert said(services).startswith("services of up to 2 vCPUs and 28 GiB (6 of 18 jobs) are larger than any machine")
    assert said(services, Divisible.ALL) == "", "who asked for it knows"
    stated = replace(services, divisible=np.ones(len(services), np.int8))
    assert said(stated) == "", "the trace says so itself"
    assert said(day(1, "swim")) == "", "such jobs run on many machines by nature"
    assert said(replace(services, memory=np.full(len(services), 8.0))) == ""


@pytest.mark.parametrize(("kind", "divisible"), [(0, Divisible.SERVICES), (1, Divisible.NONE)])
def test_whole_jobs_larger_than_every_line_name_the_machine_that_runs(kind: int, divisible: Divisible) -> None:
    decision = decided(day(kind), divisible)
    stated = {r.offer.key.instance_type for r in decision.machines.rentals}
    assert "m9.2xlarge" not in stated, "32 GiB, which the largest job needs"
    words = "whole jobs of up to 2 vCPUs and 28 GiB (6 of 18 jobs) need a machine as large as m9.2xlarge"
    assert said(day(kind), divisible).startswith(words)


def test_one_batch_job_that_is_most_of_a_short_trace_is_named() -> None:
    giant = replace(day(0), duration=np.r_[40.0 * DAY, np.full(17, 600.0)], cores=np.r_[96.0, np.full(17, 2.0)])
    words = lone(giant, window_of(giant))
    assert words.startswith("job 0 (96 vCPUs for 40d) is 100% of the vCPU-hours planned for: what is reserved for it")
    assert lone(replace(giant, kind=np.ones(18, np.int8)), window_of(giant)) == "", "a service is to run on"
    assert lone(day(0), window_of(day(0))) == "", "none is most of it"
