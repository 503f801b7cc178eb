"""Plans over all sizes: no dearer than any one size, in few machines, with jobs that run whole held by them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from bill_lines import Usage
from builders import REGION, book, candidate, demand, rented, reserved, shape
from hour_bills import bill

from hcloud.cli.main import run
from hcloud.model.catalog import Offer, Provider, PurchaseOption, SustainedUse
from hcloud.model.usage import CommitmentTerm
from hcloud.model.workload import Demand, Jobs
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.explanations.advice import advice
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.fleet import Fleet, Holding, instances_needed
from hcloud.planning.fleets.sizes import stated, units_of
from hcloud.planning.forecasting.demand import demand_of
from hcloud.planning.forecasting.forecast import stretch
from hcloud.planning.forecasting.packing import LARGER, MachineSizes, RunningJobs, misfit, packed
from hcloud.planning.settings import Divisible, Market, Outlook, PlanSettings
from hcloud.readers.workloads.entry import read_workload
from hcloud.store.plan_file import load_plan
from hcloud.usecases.deciding.known_of_jobs import running_of

SHOP = Path(__file__).parents[3] / "examples" / "own-trace" / "trace.csv"
MARKET = Market(Provider.AWS, (REGION,))
DAY = PlanSettings(markets=(MARKET,), outlook=Outlook(horizon_hours=8760))
NAMES = {2: "m9.large", 4: "m9.xlarge", 8: "m9.2xlarge", 16: "m9.4xlarge"}


def size(vcpus: int, price: str = "0.05", committed: str = "0.03") -> Candidate:
    """A size of one family, priced by the vCPU."""
    name = NAMES[vcpus]
    offers = [reserved(name, str(Decimal(committed) * vcpus))]
    made = candidate(name, "1", offers)
    hourly = rented(name, str(Decimal(price) * vcpus))
    return Candidate(shape(name, vcpus, 4 * vcpus), hourly, made.commitments, None, None)


@cache
def family() -> tuple[Candidate, ...]:
    return tuple(map(size, NAMES))


def jobs(*rows: tuple[float, float, float, float], whole: bool = True) -> RunningJobs:
    """Jobs of (begin hour, hours, vCPUs, GiB)."""
    begin, hours, cores, memory = (np.array(x, dtype=np.float64) for x in zip(*rows, strict=True))
    return RunningJobs(begin * 3600, (begin + hours) * 3600, cores, memory, np.full(len(begin), whole))


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--divisible", "all"]])
def test_the_plain_command_is_no_dearer_than_any_size_on_the_tutorials_trace(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def monthly(*more: str) -> Decimal:
        path = tmp_path / "plan.json"
        command = ["-q", "plan", str(SHOP), "--provider", "aws", "--now", "2026-11-20T00:00:00Z", *words, *more]
        assert run([*command, "--family", "m5a", "--out", str(path)]) == 0
        return load_plan(path).after.monthly

    assert monthly() <= min(monthly("--vcpus", v) for v in ("8", "16")) < Decimal(1200)


def test_a_fleet_is_counted_in_the_smallest_size_and_stated_in_the_fewest_machines() -> None:
    decision = decide(book(*family()), demand([46.0] * 12 + [7.0] * 12), DAY)
    assert [c.shape.name for c in decision.types] == ["m9.large"]
    held = {h.offer.key.instance_type: h.count for h in decision.machines.holdings}
    assert (held, [h.count for h in decision.fleet.holdings]) == ({"m9.2xlarge": 1}, [4])
    peaks = {r.offer.key.instance_type: r.peak for r in decision.machines.rentals}
    assert peaks == {"m9.4xlarge": 2, "m9.xlarge": 1, "m9.large": 1}
    assert decision.machines.cost == decision.fleet.cost


@pytest.mark.parametrize(
    ("sizes", "whole"),
    [
        ([("0.1", "0.061"), ("0.2", "0.122"), ("0.4", "0.245"), ("0.8", "0.491")], True),  # thousandths of a dollar
        ([("0.1", "0.05"), ("0.19", "0.1"), ("0.38", "0.21"), ("0.77", "0.43")], False),  # cents, and 7 % dearer
        ([("0.1", "0.05"), ("0.2", "0.1"), ("0.4", "0.2"), ("0.8", "0.41")], False),  # half a cent, but 2.5 %
        ([("0.10001", "0.05"), ("0.20002", "0.1"), ("0.40004", "0.2"), ("0.80408", "0.4")], False),  # exact, 0.5 % off
        ([("0.11", "0.06"), ("0.22", "0.12"), ("0.44", "0.24"), ("0.87", "0.48")], True),  # cents
    ],
)
def test_sizes_whose_prices_differ_only_by_their_rounding_are_one_ladder(
    sizes: list[tuple[str, str]], whole: bool
) -> None:
    def priced(name: str, vcpus: int, hourly: str, committed: str) -> Candidate:
        bought = replace(reserved(name, "0"), hourly=Decimal(committed), upfront=Decimal(0))
        never = replace(bought, key=replace(bought.key, option=PurchaseOption.CONVERTIBLE), hourly=Decimal(vcpus + 7))
        return replace(size(vcpus), on_demand=rented(name, hourly), commitments=(bought, never))

    line = [priced(name, vcpus, *prices) for (vcpus, name), prices in zip(NAMES.items(), sizes, strict=True)]
    (unit, *_) = units_of(line, 0.0)
    assert (unit.ladder[-1].shape.vcpus == 16) is whole


def test_what_larger_sizes_are_not_offered_as_stays_in_the_size_it_is_counted_in() -> None:
    small, large = size(2), size(4)
    bare = replace(large, commitments=())
    held = Holding(small.commitments[0], 5)
    found = stated(Fleet((held,), ()), (small,), {small.address: (small, bare)}, stretch(demand([10.0]), Outlook()))
    assert found.holdings == (held,)


def test_a_large_fleet_is_counted_in_large_machines() -> None:
    units = units_of(family(), waste_vcpus=0.005 * 5000)
    assert [u.candidate.shape.name for u in units] == ["m9.4xlarge"]
    assert [u.candidate.shape.name for u in units_of(family(), waste_vcpus=0.005 * 500)] == ["m9.xlarge"]
    held = units_of(family(), waste_vcpus=0.1, holds=lambda ladder: len(ladder) > 1)
    assert [len(u.ladder) for u in held] == [4], "sizes that cost the same by the vCPU are one unit, not one each"


def test_a_larger_size_that_is_cheaper_by_the_vcpu_is_counted_in_too() -> None:
    cheap = size(16, price="0.04", committed="0.02")
    units = units_of([size(2), cheap], waste_vcpus=0.1)
    assert [u.candidate.shape.name for u in units] == ["m9.large", "m9.4xlarge"]
    assert len(units[0].ladder) == 1


@pytest.mark.slow
def test_the_bill_of_mixed_sizes_is_the_plan_to_the_cent() -> None:
    decision = decide(book(*family()), demand([46.0, 47.0] * 6 + [7.0, 21.0] * 6), DAY)
    usage = [_machines(int(n)) for n in _units(decision)]
    bought = [CommitmentTerm(h.offer, Decimal(h.count), h.start_hour) for h in decision.machines.holdings]
    assert bill(usage, bought, book(*family())).total == decision.machines.cost


def _units(decision: FleetDecision) -> list[int]:
    forecast = decision.forecast
    return [int(n) for n in instances_needed(forecast.cores, forecast.memory, decision.types[0])]


def _machines(units: int) -> list[Usage]:
    """So many machines of 2 vCPUs as the fewest of all sizes."""
    found = []
    for c in reversed(family()):
        number, units = divmod(units, int(c.shape.vcpus) // 2)
        if number:
            found.append(Usage(c.on_demand.key, Decimal(number)))
    return found


def test_every_count_of_every_size_costs_as_much_or_more() -> None:
    """All fleets of two sizes over two days of six-hour steps, counted one by one."""
    hours = [5.0] * 6 + [9.0] * 6 + [2.0] * 6 + [12.0] * 6
    small, large = size(2), size(8)
    decision = decide(book(small, large), demand(hours), DAY)

    def rented_for(vcpus: float) -> Decimal:
        return min(
            n * small.on_demand.hourly + m * large.on_demand.hourly
            for n, m in product(range(9), range(3))
            if 2 * n + 8 * m >= vcpus
        )

    costs = []
    for n, m in product(range(9), range(3)):
        committed = n * small.commitments[0].term_cost + m * large.commitments[0].term_cost
        left = [max(h - 2 * n - 8 * m, 0.0) for h in hours]
        costs.append(committed + sum(map(rented_for, left), Decimal(0)) * 365)
    assert decision.machines.cost == min(costs)


def test_a_job_larger_than_every_size_is_an_error_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(SHOP), "--provider", "aws", "--family", "m5a", "--vcpus", "4"]) == 9
    assert "job report-00-00 (8 vCPU, 24 GiB) fits no allowed machine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("vcpus", "gib", "row"), [(16, 64, None), (8, 64, None), (16 + 1e-9, 1, None), (16.001, 1, 1), (1, 64.01, 1)]
)
def test_a_job_as_large_as_the_largest_size_fits_it(vcpus: float, gib: float, row: int | None) -> None:
    found = jobs((0, 1, 2, 8), (0, 1, vcpus, gib))
    assert misfit(found, MachineSizes((4.0, 16.0), 4.0, 0.0)) == row
    looked_at = MachineSizes((4.0, 16.0, 16.0 * LARGER, 16.0 * LARGER**2), 4.0, 0.0).for_jobs(found).sizes
    assert len(looked_at) == (3 if row is None else 4), "as large as that times what is larger"


def test_whole_jobs_are_paid_for_with_their_gaps() -> None:
    """Nine vCPUs on one machine take sixteen: the bill of that is what the plan tells beside the divisible one."""
    running = jobs((0, 24, 9, 9))
    decision = decide(book(*family()), demand([9.0] * 24, memory_per_core=1.0), DAY, (), Given(running))
    held = {h.offer.key.instance_type: h.count for h in decision.machines.holdings}
    assert held == {"m9.4xlarge": 1}
    assert decision.divisible_cost == decision.fleet.cost * 10 / 16


def test_whole_jobs_share_machines_and_what_can_be_split_fills_the_gaps() -> None:
    sizes = MachineSizes((2.0, 4.0, 8.0, 16.0), 4.0, 16.0)
    three = jobs((0, 2, 5, 5), (0, 2, 5, 5), (0, 2, 5, 5))
    assert list(packed(three, demand([15.0] * 2, memory_per_core=1.0), sizes).extra) == [1.0, 1.0]
    split = jobs((0, 2, 5, 5), (0, 2, 5, 5), (0, 2, 5, 5), (0, 2, 1, 1))
    split.whole[3] = False
    assert list(packed(split, demand([16.0] * 2, memory_per_core=1.0), sizes).extra) == [0.0, 0.0]


@pytest.mark.parametrize("seed", range(20))
def test_packing_is_no_less_than_any_packing_takes_and_no_more_than_a_machine_each(seed: int) -> None:
    """Against all ways to put up to six jobs on machines, tried one by one."""
    chance = np.random.default_rng(seed)
    wanted = [float(x) for x in chance.integers(1, 17, size=6)]
    sizes = (2.0, 4.0, 8.0, 16.0)
    running = jobs(*((0, 1, w, w) for w in wanted))
    volume = sum(wanted)
    taken = volume + float(
        packed(running, demand([volume], memory_per_core=1.0), MachineSizes(sizes, 4.0, 16.0)).extra[0]
    )
    assert _best(wanted, sizes) - 1e-9 <= taken <= _alone(wanted, sizes) + 1e-9


def _alone(wanted: list[float], sizes: tuple[float, ...]) -> float:
    return sum(min(s for s in sizes if s >= w) for w in wanted)


def _best(wanted: list[float], sizes: tuple[float, ...]) -> float:
    """The least vCPUs of machines that hold the jobs, over every way to group them."""
    if not wanted:
        return 0.0
    first, rest = wanted[0], wanted[1:]
    found = []
    for chosen in product((False, True), repeat=len(rest)):
        group = first + sum(w for w, taken in zip(rest, chosen, strict=True) if taken)
        if group <= sizes[-1]:
            left = [w for w, taken in zip(rest, chosen, strict=True) if not taken]
            found.append(min(s for s in sizes if s >= group) + _best(left, sizes))
    return min(found)


def test_the_trace_says_of_a_job_whether_it_may_be_split(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    rows = ["a,5,3600,1,batch,yes", "b,0,3600,1,service,no", "c,7,3600,1,batch,", "d,8,3600,1,service,"]
    path.write_text("\n".join(["id,submit,duration,cores,kind,divisible", *rows]) + "\n", encoding="utf-8")
    read = read_workload(path)
    assert isinstance(read, Jobs)
    series = demand_of(read, 3600)

    def whole(rule: Divisible) -> list[str]:
        running = running_of(read, rule, series)
        return [] if running is None else [running.name(int(row)) for row in np.flatnonzero(running.whole)]

    assert whole(Divisible.SERVICES) == ["b", "c"]
    assert whole(Divisible.NONE) == ["b", "a", "c", "d"]
    assert whole(Divisible.ALL) == []


@pytest.mark.slow
def test_what_would_close_a_wide_gap_is_planned_for_and_counted() -> None:
    series, prices = demand([18.0] * 24), book(*family())
    fixed = replace(DAY, markets=(replace(MARKET, vcpus=16),))
    named = decide(prices, series, fixed)
    saved = (named.machines.cost - decide(prices, series, DAY).machines.cost) / 12
    said = advice(named, prices, series, Given())
    assert said == (f"all sizes (markets.vcpus) would save ${saved:,.0f} a month",)
    assert advice(decide(prices, series, DAY), prices, series, Given()) == ()


def test_where_nothing_closes_the_gap_that_is_said() -> None:
    series, prices = demand([0.5] * 24), book(*family())
    (said,) = advice(decide(prices, series, DAY), prices, series, Given())
    assert "m9.large at the least" in said


def test_a_sustained_use_series_is_charged_alike_whatever_its_sizes() -> None:
    rule = SustainedUse("m9", tuple(map(Decimal, ("1", "0.8", "0.6", "0.4"))))
    series = demand([46.0] * 8 + [21.0] * 8 + [7.0] * 8)
    prices = replace(book(*family()), sustained={(Provider.AWS, "m9"): rule})
    decision = decide(prices, series, DAY)
    assert len(decision.machines.rentals) > 1
    assert float(decision.machines.cost) == pytest.approx(float(decision.fleet.cost), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("special", [{"os": "windows"}, {"tenancy": "dedicated"}])
def test_sizes_are_not_mixed_where_a_reserved_instance_is_bound_to_its_type(special: dict[str, str]) -> None:
    """Bought and run are the machines that were counted: the bill is the plan's."""

    def bound(offer: Offer) -> Offer:
        return replace(offer, key=replace(offer.key, **special))  # type: ignore[arg-type]

    sizes = tuple(
        replace(c, on_demand=bound(c.on_demand), commitments=tuple(map(bound, c.commitments))) for c in family()
    )
    settings = replace(DAY, markets=(replace(MARKET, **special),))  # type: ignore[arg-type]
    decision = decide(book(*sizes), demand([46.0] * 12 + [7.0] * 12), settings)
    assert {h.offer.key.instance_type: h.count for h in decision.machines.holdings} == {"m9.large": 4}
    assert {r.offer.key.instance_type: r.peak for r in decision.machines.rentals} == {"m9.large": 19}
    unit = decision.types[0].on_demand.key
    bought = [CommitmentTerm(h.offer, Decimal(h.count), h.start_hour) for h in decision.machines.holdings]
    usage = [[Usage(unit, Decimal(n))] for n in _units(decision)]
    assert bill(usage, bought, book(*sizes)).total == decision.machines.cost


def _off(c: Candidate, percent: int) -> Candidate:
    """A size that many percent cheaper on demand."""
    hourly = c.on_demand.hourly * (100 - percent) / 100
    return replace(c, on_demand=replace(c.on_demand, hourly=hourly))


@cache
def _of_all_sizes(seed: int) -> tuple[RunningJobs, Demand, FleetDecision]:
    """Jobs of all sizes that run whole, and their plan at list prices."""
    chance = np.random.default_rng(seed)
    rows = [(float(h), 6.0, float(2.0 ** chance.integers(0, 4)), 4.0) for h in range(18) for _ in range(3)]
    running = jobs(*rows)
    series = demand([sum(c for h, n, c, _ in rows if h <= at < h + n) for at in range(24)], memory_per_core=0.1)
    return running, series, decide(book(*family()), series, DAY, (), Given(running))


@pytest.mark.parametrize("percent", [7, 30])
@pytest.mark.parametrize("cheaper", NAMES)
@pytest.mark.parametrize("seed", range(2))
def test_a_lower_price_of_one_size_makes_no_plan_dearer_or_impossible(cheaper: int, percent: int, seed: int) -> None:
    """At list prices and with one size cheaper on demand."""
    running, series, before = _of_all_sizes(seed)
    negotiated = [_off(c, percent) if c.shape.vcpus == cheaper else c for c in family()]
    after = decide(book(*negotiated), series, DAY, (), Given(running))
    assert after.machines.cost <= before.machines.cost
    assert after.lower_bound <= float(after.machines.cost)


def test_what_is_rented_of_a_cheaper_size_is_paid_at_its_own_price() -> None:
    """One job of 4 vCPUs all day: whatever m9.large costs, it runs on one m9.xlarge under commitment, and one of
    2 vCPUs in six hours on one m9.large."""
    running = jobs((0, 24, 4, 4), (0, 6, 2, 2))
    series = demand([6.0] * 6 + [4.0] * 18, memory_per_core=1.0)
    sizes = [_off(size(2), 10), *map(size, (4, 8, 16))]
    decision = decide(book(*sizes), series, DAY, (), Given(running))
    assert {h.offer.key.instance_type: h.count for h in decision.machines.holdings} == {"m9.xlarge": 1}
    assert decision.machines.cost == Decimal("0.12") * 8760 + Decimal("0.09") * 6 * 365
    assert [r.address for r in decision.refusals] == []


@pytest.mark.slow
def test_a_size_whose_reserved_instances_do_not_flex_is_left_for_one_that_holds_the_jobs() -> None:
    """Sizes of Windows are not counted together: the smallest that holds the jobs is counted in."""

    def windows(offer: Offer) -> Offer:
        return replace(offer, key=replace(offer.key, os="windows"))

    sizes = [
        replace(c, on_demand=windows(c.on_demand), commitments=tuple(map(windows, c.commitments))) for c in family()
    ]
    settings = replace(DAY, markets=(replace(MARKET, os="windows"),))
    decision = decide(book(*sizes), demand([4.0] * 24), settings, (), Given(jobs((0, 24, 4, 16))))
    assert {h.offer.key.instance_type: h.count for h in decision.machines.holdings} == {"m9.xlarge": 1}
