"""The plan of a bill: a plan of each kind of machine, with what is held used first, and their sum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray

from hcloud.catalog.checks import derived_in_use
from hcloud.catalog.shapes import family_of
from hcloud.errors import DeniedError, UsageError
from hcloud.model.bill import Bill, BilledCommitment, BilledUsage, CoveredUse, LineKind, LineSum, Service, UsageKind
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.model.holdings.live import Commitment, Scope
from hcloud.model.plans.bill_plan import BillPlan, KindPlan
from hcloud.model.plans.plan import OWNED, MixLine
from hcloud.planning.billed.beside import beside_kind
from hcloud.planning.billed.cautions import of_prices
from hcloud.planning.billed.kinds import kinds_of
from hcloud.planning.billed.spread import most_uneven
from hcloud.planning.changes.slots import CloudRegion
from hcloud.planning.fleets.allowed_cover import allowed_cover
from hcloud.planning.fleets.candidates import allowed_shapes
from hcloud.readers.bills.reading import read_bill
from hcloud.readers.configuration.config import Loaded, MarketSection, load_config
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.usecases.deciding.billed import plan as bill_plan
from hcloud.usecases.deciding.billed.basis import basis_of, market_of, question_of, with_bought
from hcloud.usecases.deciding.billed.licences import as_bought, told_of_licences
from hcloud.usecases.deciding.billed.plan import _told_of_held, plan_kind, plan_of
from hcloud.usecases.live.ground import LiveGround
from hcloud.usecases.live.held import bought_since, with_held
from hcloud.usecases.workloads.billed import by_kinds
from hcloud.views.console import Terminal
from hcloud.views.deciding.bill_plan import bill_markdown, headline, show_bill_plan
from hcloud.views.deciding.documents import BillPlanDocument
from hcloud.views.deciding.plan import proof
from hcloud.views.deciding.plan_tables import in_resources

HOURS = 24 * 61
NOW = datetime(2026, 11, 20, tzinfo=UTC)
DAY = np.sin(np.arange(HOURS) / 24 * 2 * np.pi)
FLAT = np.ones(HOURS)
FLOOR = 0.05  # planning.commit_min_saving
AWS = Provider.AWS
AZURE = Provider.AZURE
REGIONS = {AWS: "us-east-1", AZURE: "eastus", Provider.GCP: "us-central1"}
BOOK = load_bundled(providers={*REGIONS}, regions={"eu-west-1", *REGIONS.values()}, systems={"linux", "windows"})
COMPUTE_PLAN = PurchaseOption.COMPUTE_SAVINGS_PLAN


def used(name: str, hours: NDArray[np.float64], os: str = "linux", account: str = "1", **more: object) -> BilledUsage:
    """Usage of a type in one region of its cloud, paid at today's on-demand price."""
    provider = AZURE if name.startswith("Standard_") else AWS if "." in name else Provider.GCP
    region, family = REGIONS[provider], family_of(provider, name)
    key = OfferKey(provider, region, name, PurchaseOption.ON_DEMAND, os=os)
    hourly = BOOK.offers[key].hourly if key in BOOK.offers else Decimal(1)
    cost = hourly * Decimal(str(round(float(hours.sum()), 6)))
    kind = UsageKind(provider, account, region, family, name, os)
    return replace(BilledUsage(kind, hours, cost, cost), **more)  # type: ignore[arg-type]


def bill(*usage: BilledUsage, commitments: tuple[BilledCommitment, ...] = (), daily: bool = False) -> Bill:
    """A bill of 61 days with these in it."""
    cost = sum((u.cost for u in usage), Decimal(0))
    lines = {LineKind.ON_DEMAND: LineSum(len(usage) * HOURS, cost)}
    start = datetime(2026, 9, 20, tzinfo=UTC)
    return Bill("acme", "cur-2.0", "d" * 64, start, HOURS, daily, usage, commitments, lines)


def planned(made: Bill, loaded: Loaded | None = None) -> BillPlan:
    """Its plan."""
    loaded = loaded or load_config(None)
    return plan_of(basis_of(by_kinds(made, loaded), loaded, NOW), NOW)


def only(made: BillPlan) -> KindPlan:
    """Its one kind."""
    [kind] = made.kinds
    return kind


def savings_plan(dollars: str, end: datetime | None = None, used_part: str = "1") -> BilledCommitment:
    """A Compute Savings Plan of so many dollars an hour."""
    paid = Decimal(dollars) * HOURS
    return BilledCommitment(
        "sp-1", AWS, COMPUTE_PLAN, "1", "", "", "", Decimal(dollars), paid, paid * Decimal(used_part), end=end
    )


def test_sizes_and_accounts_of_a_family_are_planned_together_and_other_systems_apart() -> None:
    kinds, unplanned = kinds_of(
        bill(
            used("m5.large", 10 * FLAT),
            used("m5.4xlarge", 2 * FLAT, account="2"),
            used("m5.xlarge", 3 * FLAT, os="windows"),
            used("t3.micro", 8 * FLAT),
            used("t3.large", 5 * FLAT),
        ),
        BOOK.types,
    )
    assert not unplanned
    assert {use.kind.name: float(use.cores.mean()) for use in kinds} == {
        "aws/us-east-1/m5": 10 * 2 + 2 * 16,
        "aws/us-east-1/m5.xlarge/windows": 12,
        "aws/us-east-1/t3.micro": 16,  # a vCPU of a micro is not one of a large: neither price nor memory
        "aws/us-east-1/t3.large": 10,
    }


@pytest.mark.slow
def test_the_reserve_is_the_one_that_trying_every_number_finds() -> None:
    hours = np.round(60 + 30 * DAY + 10 * np.sin(np.arange(HOURS) / 7))
    made, both = (planned(bill(used("m5.large", hours), *more)) for more in ((), (used("r5.large", 9 * FLAT),)))
    kind = only(made)
    assert kind.plan is not None
    on_demand = BOOK.offers[OfferKey(AWS, "us-east-1", "m5.large", PurchaseOption.ON_DEMAND)].hourly

    def monthly(count: int) -> float:
        return 730 * float(
            Decimal(cheapest_hour("m5.large")) * count + on_demand * Decimal(float(np.maximum(hours - count, 0).mean()))
        )

    fee = 730 * cheapest_hour("m5.large")
    best = min(range(100), key=lambda count: monthly(count) + FLOOR * fee * count)
    assert int(kind.bought_vcpus) == int(both.kinds[0].bought_vcpus) == 2 * best
    committed = 12 * fee * (min(range(100), key=monthly) - best)
    told = f"commitments of ${committed:,.0f} more, which would save at least $16."  # 17 by 61 days, which recur
    assert told in made.not_proposed[0]
    assert told in both.not_proposed[0]
    assert BillPlanDocument.of(made, made.generated_at)["not_proposed"] == [*made.not_proposed]
    assert float(kind.after) == pytest.approx(monthly(best), rel=2e-3)
    assert float(kind.now) == pytest.approx(730 * float(on_demand) * hours.mean(), rel=1e-3)
    assert kind.at_book is not None
    assert float(kind.at_book) == pytest.approx(730 * float(on_demand) * hours.mean(), rel=1e-6)


@pytest.mark.slow
def test_what_is_held_is_used_first_until_it_ends_and_not_bought_again() -> None:
    covered = {COMPUTE_PLAN: 20 * FLAT}
    usage = used("m5.large", 50 * FLAT, covered=covered)
    bare = only(planned(bill(used("m5.large", 50 * FLAT))))
    long = only(planned(bill(usage, commitments=(savings_plan("1.2", datetime(2029, 1, 1, tzinfo=UTC)),))))
    ended = only(planned(bill(usage, commitments=(savings_plan("1.2", datetime(2026, 10, 1, tzinfo=UTC)),))))
    assert [int(kind.bought_vcpus) for kind in (bare, long, ended)] == [100, 60, 100]
    assert [int(kind.held_vcpus) for kind in (long, ended)] == [40, 0]
    assert round(long.now - bare.now, 2) == round(730 * (Decimal("1.2") - 20 * Decimal("0.096")), 2)


def test_a_plan_used_by_half_has_room_for_twice_what_it_covered() -> None:
    usage = used("m5.large", 50 * FLAT, covered={COMPUTE_PLAN: 20 * FLAT})
    held = savings_plan("2.4", datetime(2029, 1, 1, tzinfo=UTC), used_part="0.5")
    assert only(planned(bill(usage, commitments=(held,)))).held_vcpus == 80


@pytest.mark.slow
def test_a_plan_that_covers_several_kinds_is_shown_where_the_cloud_applies_it() -> None:
    """An hour of a vCPU takes as much of it of m5 as of c5, so that m5 saves the highest percentage."""
    half = {COMPUTE_PLAN: 10 * FLAT}
    made = planned(
        bill(
            used("m5.large", 40 * FLAT, covered=half),
            used("c5.large", 40 * FLAT, covered=half),
            used("r5.large", 40 * FLAT),
            commitments=(savings_plan("1.1"),),
        )
    )
    held = {k.name.rpartition("/")[2]: float(k.held_vcpus) for k in made.kinds}
    assert held == pytest.approx({"m5": 40, "c5": 0, "r5": 0})


@pytest.mark.slow
def test_a_plan_that_moves_between_kinds_by_the_hour_leaves_nothing_to_buy() -> None:
    by_day = np.where(np.arange(HOURS) % 24 < 16, 40.0, 0.0)
    by_night = 40.0 - by_day
    rates = {"m5.large": 0.07, "c5.large": 0.07 * 0.085 / 0.096}
    ran = {"m5.large": by_day, "c5.large": by_night}
    dollars = 40 * 0.07
    used_part = sum(float(hours.mean()) * rates[name] for name, hours in ran.items()) / dollars
    usage = [
        used(
            name,
            hours,
            covered={COMPUTE_PLAN: hours},
            covered_cost={COMPUTE_PLAN: Decimal(str(round(hours.sum() * rates[name], 6)))},
        )
        for name, hours in ran.items()
    ]
    held = savings_plan(str(dollars), datetime(2029, 1, 1, tzinfo=UTC), used_part=str(round(used_part, 9)))
    made = planned(bill(*usage, commitments=(held,)))
    assert not made.purchases
    assert float(made.now) == pytest.approx(730 * dollars, rel=1e-4)  # nothing runs on demand in any hour


Floating = dict[Payment, float]


def hour_of_plan(name: str, paid: Payment) -> float:
    """What an hour of a type takes of a Compute Savings Plan of a year."""
    return float(BOOK.offers[OfferKey(AWS, "us-east-1", name, COMPUTE_PLAN, 1, paid)].effective_hourly)


def in_the_order_of_aws(run: dict[str, NDArray[np.float64]], floats: Floating, bought: dict[str, float]) -> float:
    """Dollars of a year on demand beside Compute Savings Plans of a year, in dollars an hour, and so many vCPUs of each
    type that are bought for alone: plans cover the highest percentage saved first, hour by hour."""
    left, room = {}, {paid: np.full(8760, dollars) for paid, dollars in floats.items()}
    for name, vcpus in run.items():
        last = vcpus[HOURS % 168 :]
        left[name] = np.maximum(np.resize(last, 8760) - bought.get(name, 0.0), 0.0)
    price = {n: float(BOOK.offers[OfferKey(AWS, "us-east-1", n, PurchaseOption.ON_DEMAND)].hourly) / 2 for n in run}
    rates = {(n, paid): hour_of_plan(n, paid) / 2 for n in run for paid in floats}
    for name, paid in sorted(rates, key=lambda at: (rates[at] / price[at[0]], rates[at])):
        taken = np.minimum(left[name], room[paid] / rates[name, paid])
        room[paid] = room[paid] - taken * rates[name, paid]
        left[name] = left[name] - taken
    return sum(float(vcpus.sum()) * price[name] for name, vcpus in left.items())


@pytest.mark.parametrize("dollars", [1.5, 4.2])
def test_what_is_saved_beside_a_plan_that_floats_is_what_every_hour_in_the_order_of_aws_says(dollars: float) -> None:
    run = {"m5.large": 40 + 30 * DAY, "m7i.large": 30 - 24 * DAY, "c6g.large": 20 + 4 * DAY}
    held = savings_plan(str(dollars), datetime(2028, 1, 1, tzinfo=UTC), "0")
    held = replace(held, term_years=1, payment=Payment.NONE)
    made = planned(bill(*(used(name, vcpus / 2) for name, vcpus in run.items()), commitments=(held,)))
    lines = [(f"{kind.name.rpartition('/')[2]}.large", line) for kind in made.kinds for line in kind.purchases]
    own = [(name, line) for name, line in lines if line.option is not COMPUTE_PLAN]
    bought = {name: float(sum(line.vcpus for n, line in own if n == name)) for name, _ in own}
    floats = {Payment.NONE: dollars}
    for _, line in lines:
        if line.option is COMPUTE_PLAN:
            floats[line.payment] = floats.get(line.payment, 0.0) + float(line.hourly)
    paid = float(sum(line.total for _, line in lines))
    before = in_the_order_of_aws(run, {Payment.NONE: dollars}, {})
    after = in_the_order_of_aws(run, floats, bought) + paid
    assert float(made.now) == pytest.approx((before + dollars * 8760) / 12, rel=1e-4)
    assert float(made.now - made.after) == pytest.approx((before - after) / 12, abs=0.5)
    for kind in made.kinds:
        of_lines = sum(line.monthly for line in kind.plan.mix) if kind.plan else 0
        assert float(kind.after) == pytest.approx(float(of_lines + kind.floating), abs=0.03)
    assert any(kind.floating for kind in made.kinds)
    assert made.after <= made.now
    for name, vcpus in ((name, more) for name in bought for more in (-2.0, 2.0)):
        each = sum(float(line.total) for n, line in own if n == name) / bought[name]  # dollars of a vCPU
        other = in_the_order_of_aws(run, floats, {**bought, name: bought[name] + vcpus})
        assert other + paid + each * vcpus > after - 0.1, f"{vcpus} vCPUs more of {name} would save"


@pytest.mark.slow
def test_a_savings_plan_covers_what_reserved_instances_leave_whatever_they_are_called() -> None:
    reserved = BilledCommitment(
        "z-ri", AWS, PurchaseOption.RESERVED, "1", "us-east-1", "m5", "m5.large", Decimal(40), Decimal(1000), None
    )
    usage = used("m5.large", 40 * FLAT, covered={PurchaseOption.RESERVED: 20 * FLAT, COMPUTE_PLAN: 20 * FLAT})
    made = planned(bill(usage, used("r5.large", 40 * FLAT), commitments=(savings_plan("1.2"), reserved)))
    held = {k.name.rpartition("/")[2]: float(k.held_vcpus) for k in made.kinds}
    assert held == pytest.approx({"m5": 80, "r5": 40 * 0.096 / 0.126}, rel=1e-4)


@pytest.mark.slow
def test_what_a_plan_covered_and_stopped_leaves_its_room_to_others() -> None:
    stopped = np.where(np.arange(HOURS) < HOURS - 200, 40.0, 0.0)
    covered = {COMPUTE_PLAN: np.minimum(stopped, 20)}
    held = replace(savings_plan("1.2", datetime(2029, 1, 1, tzinfo=UTC)), used=Decimal("1.2") * (HOURS - 200))
    made = planned(bill(used("m5.large", stopped, covered=covered), used("r5.large", 40 * FLAT), commitments=(held,)))
    by_name = {k.name.rpartition("/")[2]: k for k in made.kinds}
    [r5, m5] = by_name["r5"], by_name["m5"]
    assert m5.plan is None
    assert float(r5.held_vcpus) == pytest.approx(40 * 0.096 / 0.126, rel=0.02)  # what 20 m5.large cost, in r5
    assert r5.bought_vcpus + r5.held_vcpus <= 82
    alone = planned(bill(used("m5.large", stopped, covered=covered), used("m6i.large", FLAT, os="windows")))
    assert "sp-1" not in alone.held_unused


@pytest.mark.slow
def test_nothing_is_left_of_what_it_covered_is_said() -> None:
    stopped = np.where(np.arange(HOURS) < HOURS - 200, 40.0, 0.0)
    covered = {PurchaseOption.RESERVED: np.minimum(stopped, 20)}
    held = BilledCommitment(
        "ri-1", AWS, PurchaseOption.RESERVED, "1", "us-east-1", "m5", "m5.large", Decimal(20), Decimal(1000), None,
        end=datetime(2027, 6, 1, tzinfo=UTC),
    )  # fmt: skip
    made = planned(bill(used("m5.large", stopped, covered=covered), used("r5.large", 40 * FLAT), commitments=(held,)))
    assert "until 2027-06-01; no machine that it covered runs any more" in made.held_unused["ri-1"]
    assert any(w.startswith("ri-1 is held and not counted") for w in made.warnings)


@pytest.mark.slow
def test_days_that_a_bill_has_nothing_of_are_no_days_without_machines() -> None:
    gap = np.where((np.arange(HOURS) // 24 >= 20) & (np.arange(HOURS) // 24 < 40), 0.0, 40.0)
    made = planned(bill(used("m5.large", gap), used("c5.large", gap)))
    assert [int(kind.bought_vcpus) for kind in made.kinds] == [80, 80]
    assert any("nothing of 20 days" in warning for warning in made.warnings)
    one = planned(bill(used("m5.large", gap), used("c5.large", 40 * FLAT)))
    assert not any("nothing of" in warning for warning in one.warnings)


@pytest.mark.slow
def test_weekends_without_machines_are_not_missing() -> None:
    """A machine that rests two days of seven costs five sevenths, and no reserve of it pays."""
    day = np.arange(HOURS) // 24
    weekdays = np.where(day % 7 < 5, 10.0, 0.0) * np.where(
        (np.arange(HOURS) % 24 >= 7) & (np.arange(HOURS) % 24 < 19), 1, 0
    )
    made = planned(bill(used("m5.large", weekdays)))
    assert not any("nothing of" in warning for warning in made.warnings)
    assert float(only(made).now) == pytest.approx(730 * 0.096 * weekdays.mean(), rel=0.05)
    assert only(made).bought_vcpus == 0


@pytest.mark.slow
def test_a_bill_of_long_ago_is_told() -> None:
    loaded, made = load_config(None), bill(used("m5.large", 50 * FLAT))
    basis = basis_of(by_kinds(made, loaded), loaded, NOW + timedelta(days=400))
    warnings = plan_of(basis, NOW + timedelta(days=400)).warnings
    assert any("the bill ends on 2026-11-20" in warning and "add the latest months" in warning for warning in warnings)
    assert not any("the bill ends on" in warning for warning in planned(made).warnings)


def test_options_whose_prices_are_derived_are_told_once_for_all_kinds() -> None:
    """Each combination of them was a warning of its own."""
    kinds = [["on demand", "reservations"], ["reservations"], []]
    plans = [Mock(plan=Mock(warnings=[derived_in_use(names)] if names else ["other"])) for names in kinds]
    assert list(of_prices(cast("list[KindPlan]", plans))) == [derived_in_use(["reservations", "on demand"])]
    assert derived_in_use(["b", "a", "b"]) == "derived prices are in use (a, b): see 'hcloud explain' before buying"


@pytest.mark.slow
def test_the_configuration_says_when_a_plan_of_a_bill_warns() -> None:
    usage = used("m5.large", 50 * FLAT)
    assert usage.list_cost is not None
    made, loaded = bill(replace(usage, list_cost=usage.list_cost * Decimal("0.95"))), load_config(None)

    def warned(**keys: float) -> list[bool]:
        section = loaded.config.bill.model_copy(update=keys)
        config = loaded.config.model_copy(update={"bill": section})
        basis = basis_of(by_kinds(made, replace(loaded, config=config)), replace(loaded, config=config), NOW)
        told = " ".join(plan_of(basis, NOW + timedelta(days=30)).warnings)
        return ["the bill ends on" in told, "by the price book" in told]

    assert warned() == [False, False]
    assert warned(old=29 * 86_400, differs=0.04) == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize(("paid", "told"), [("0.5", True), ("0.95", False)])
def test_negotiated_prices_are_told_where_nothing_is_committed(paid: str, told: bool) -> None:
    usage = used("m5.large", 50 * FLAT)
    made = planned(bill(replace(usage, cost=usage.cost * Decimal(paid))))
    assert any("without commitments the bill has" in warning for warning in made.warnings) == told


def test_a_discount_for_sustained_use_is_no_negotiated_price() -> None:
    kind = UsageKind(Provider.GCP, "p", "us-central1", "n1", "n1-standard-4")
    listed = Decimal("0.189999") * 10 * HOURS
    made = planned(bill(BilledUsage(kind, 10 * FLAT, listed * Decimal("0.72"), listed)))
    assert not any("without commitments the bill has" in warning for warning in made.warnings)
    cheaper = planned(bill(BilledUsage(kind, 10 * FLAT, listed * Decimal("0.5"), listed)))
    assert any("without commitments the bill has" in warning for warning in cheaper.warnings)


@cache
def cheapest_hour(name: str) -> float:
    """The least that an hour of a type costs under a commitment of a year."""
    return min(
        float(offer.effective_hourly)
        for k, offer in BOOK.offers.items()
        if (k.provider, k.region, k.instance_type, k.os, k.tenancy) == (AWS, "us-east-1", name, "linux", "shared")
        and k.term_years == 1
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "planning", "held"),
    [
        (part, planning, (number + turn) % 2)
        for number, part in enumerate([0.2, 1 / 3, 0.8, 1.6, 2.5])
        for turn, planning in enumerate([{}, {"headroom": 0.5}, {"growth_per_year": 1.0}])
    ],
)
def test_parts_of_hours_cost_their_part(part: float, planning: dict[str, float], held: int) -> None:
    """So much of a machine in each hour is billed so much of its hour, whatever is held, and the number to hold is the
    best of all."""
    usage = used("m5.large", part * FLAT, covered={PurchaseOption.RESERVED: min(part, held) * FLAT} if held else {})
    reserved = BilledCommitment(
        "ri-1", AWS, PurchaseOption.RESERVED, "1", "us-east-1", "m5", "m5.large", Decimal(1), Decimal("0.06") * HOURS,
        None, end=datetime(2030, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    loaded = load_config(None)
    section = loaded.config.planning.model_copy(update=planning)
    loaded = replace(loaded, config=loaded.config.model_copy(update={"planning": section}))
    kind = only(planned(bill(usage, commitments=(reserved,) * held), loaded))
    grown = (1 + planning.get("growth_per_year", 0)) ** (np.arange(8760) // 730 / 12)
    load = np.maximum(part * grown * (1 + planning.get("headroom", 0)) - held, 0)
    fee, rate = held * 0.06, float(BOOK.offers[OfferKey(AWS, "us-east-1", "m5.large", PurchaseOption.ON_DEMAND)].hourly)

    def monthly(count: int) -> float:
        return 730 * (fee + cheapest_hour("m5.large") * count + rate * float(np.maximum(load - count, 0).mean()))

    assert kind.plan is not None
    assert any("rented for that part" in assumption.why for assumption in kind.plan.assumptions)
    assert float(kind.now) == pytest.approx(monthly(0), abs=0.02)
    best = min(range(9), key=lambda count: monthly(count) + FLOOR * 730 * cheapest_hour("m5.large") * count)
    assert float(kind.after) == pytest.approx(monthly(best), abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.2, 1 / 3, 0.5, 0.65, 0.8, 0.95])
def test_nothing_is_bought_for_parts_of_hours_that_cost_less_on_demand(part: float) -> None:
    key = OfferKey(AWS, "us-east-1", "m5.large", PurchaseOption.ON_DEMAND)
    kind = only(planned(bill(used("m5.large", part * FLAT))))
    assert bool(kind.purchases) == (cheapest_hour("m5.large") < part * float(BOOK.offers[key].hourly))


@pytest.mark.slow
def test_no_end_in_the_bill_means_held_until_the_configuration_says_when() -> None:
    usage = used("m5.large", 50 * FLAT, covered={COMPUTE_PLAN: 20 * FLAT})
    made = planned(bill(usage, commitments=(savings_plan("1.2"),)))
    assert made.held_of_unknown_end == ("sp-1",)
    assert any("does not say when 1 commitment ends" in warning for warning in made.warnings)
    loaded = load_config(None)
    rule = loaded.config.bill.model_copy(update={"held_until": date(2026, 11, 1)})
    said = replace(loaded, config=loaded.config.model_copy(update={"bill": rule}))
    assert only(planned(bill(usage, commitments=(savings_plan("1.2"),)), said)).bought_vcpus == 100


@pytest.mark.slow
def test_reserved_instances_count_as_the_bill_says() -> None:
    held = BilledCommitment(
        "ri-1", AWS, PurchaseOption.RESERVED, "1", "us-east-1", "m5", "m5.large", Decimal(30), Decimal(1000), None,
        term_years=1, payment=Payment.NONE, end=datetime(2030, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    usage = used("m5.xlarge", 50 * FLAT, covered={PurchaseOption.RESERVED: 15 * FLAT})
    kind = only(planned(bill(usage, commitments=(held,))))
    assert [int(kind.held_vcpus), int(kind.bought_vcpus)] == [60, 140]


@pytest.mark.slow
def test_what_no_longer_runs_is_not_bought_for() -> None:
    gone = np.where(np.arange(HOURS) < HOURS - 200, 40.0, 0.0)
    fell = np.where(np.arange(HOURS) < HOURS - 200, 40.0, 20.0)
    made = planned(bill(used("r5.large", gone), used("m5.large", fell), used("c5.large", 40 * FLAT)))
    by_name = {k.name.rpartition("/")[2]: k for k in made.kinds}
    assert by_name["r5"].plan is None
    assert "none ran in the last 7d" in by_name["r5"].why_not
    assert by_name["m5"].bought_vcpus == 40
    assert by_name["m5"].said == ("use fell by 46%: planned from the last 7d alone",)
    assert by_name["c5"].bought_vcpus == 80
    assert any("too short for commitments" in warning for warning in made.warnings)
    assert made.now == by_name["m5"].now + by_name["c5"].now


@pytest.mark.slow
def test_what_cannot_be_planned_is_told_with_its_dollars() -> None:
    lambdas = replace(
        used("m5.large", FLAT),
        kind=UsageKind(AWS, "1", "us-east-1", "", "", service=Service.LAMBDA),
        cost=Decimal(610),
        covered_cost={COMPUTE_PLAN: Decimal(488)},
    )
    reserved = BilledCommitment(
        "ri-9",
        AWS,
        PurchaseOption.RESERVED,
        "1",
        "us-east-1",
        "zz9",
        "zz9.large",
        Decimal(1),
        Decimal(900),
        Decimal(900),
    )
    unknown = used("zz9.large", FLAT), used("m5.lrge", 2 * FLAT)
    made = planned(bill(used("m5.large", 50 * FLAT), *unknown, lambdas, commitments=(reserved,)))
    lambda_functions = "aws/us-east-1/Lambda: only machines are planned for; compute savings plans cover it, too"
    assert made.unplanned == {
        "aws/us-east-1/zz9.large: the price book knows no type zz9.large; 'hcloud pricing import' of a table with "
        "vcpus and memory_gib adds it": Decimal(730),
        "aws/us-east-1/m5.lrge: the price book knows no type m5.lrge; did you mean m5.large?": Decimal(1460),
        lambda_functions: Decimal(610) / HOURS * 730,
    }
    assert {why: round(dollars) for why, dollars in made.unplanned_rented.items()} == {lambda_functions: 61}
    assert made.held_unused == {"ri-9": "$449/month; it covers what is not planned here"}


@pytest.mark.slow
def test_a_system_without_prices_is_told_as_such() -> None:
    made = planned(bill(used("m5.large", 10 * FLAT), used("m5.large", 10 * FLAT, "suse")))
    missing = "the price book has no prices of suse in us-east-1; 'hcloud pricing import' adds them"
    assert sorted(kind.why_not for kind in made.kinds) == ["", missing]


def test_a_region_without_prices_is_told_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    def elsewhere(usage: BilledUsage, provider: Provider, region: str) -> BilledUsage:
        return replace(usage, kind=replace(usage.kind, provider=provider, region=region))

    far = elsewhere(used("m5.large", 50 * FLAT), Provider.AZURE, "germanywestcentral")
    with pytest.raises(UsageError) as refused:
        planned(bill(far))
    why = "azure/germanywestcentral: the price book has no prices of this region; 'hcloud pricing refresh' fetches them"
    assert why in str(refused.value)
    assert "hcloud pricing refresh" in (refused.value.hint or "")
    gone = np.where(np.arange(HOURS) < HOURS - 200, 40.0, 0.0)
    made = planned(bill(far, used("m5.large", gone), daily=True))
    show_bill_plan(made, Terminal.open())
    shown = capsys.readouterr().out
    assert shown.startswith("no kind of machine in the bill can be planned; why is below")
    assert "none ran in the last 7d" in shown
    assert not any(word in shown for word in ("$0", "worth buying", "kind  "))


@pytest.mark.slow
def test_markets_that_are_asked_for_leave_out_the_others() -> None:
    loaded = load_config(None)
    made = bill(used("m5.large", 50 * FLAT), used("c5.large", 40 * FLAT))

    def asked(**market: object) -> Loaded:
        section = MarketSection(provider=AWS, **market)  # type: ignore[arg-type]
        return replace(
            loaded, config=loaded.config.model_copy(update={"markets": (section,), "owned": (owned,)}, deep=True)
        )

    place: dict[str, Any] = {"provider": AWS, "region": "us-east-1", "instance_type": "c5.large", "os": "windows"}
    owned = OwnedSection(
        **place, option=PurchaseOption.RESERVED, term_years=1, count=Decimal(2), expires=date(2027, 9, 1)
    )
    config = asked(families=("c*",), terms=(1,)).config
    assert "markets" in config.model_fields_set
    plan = planned(made, asked(families=("c*",)))
    assert [k.name for k in plan.kinds] == ["aws/us-east-1/c5"]
    [useless] = [warning for warning in plan.warnings if "no kind that is planned can use it" in warning]
    assert useless.endswith(f": {owned.key}")
    both = by_kinds(bill(used("m5.large", 50 * FLAT), used("m5.large", FLAT, os="windows")), loaded)
    sections = [asked(families=(name,)) for name in ("m5.xlarge", "m*.large", "m5.metal")]
    there = [[use.kind.label for use in both.kinds if market_of(section, use.kind)] for section in sections]
    assert there == [["m5"], ["m5", "m5.large"], ["m5"]]  # a type names the kind that its family is planned as
    with pytest.raises(UsageError, match="in the markets that are asked for"):
        planned(made, asked(regions=("eu-west-1",)))


def test_what_was_bought_since_the_bill_is_owned_of_the_kind_that_it_covers(tmp_path: Path) -> None:
    """Reserved instances of Windows were given to the larger Linux of the family, covered nothing there and were bought
    again; what an account bought since the bill's end was not counted at all."""
    windows, linux = used("m5.xlarge", 6 * FLAT, os="windows"), used("m5.large", 40 * FLAT)
    made = by_kinds(bill(windows, linux), load_config(None))
    basis = basis_of(made, load_config(None), NOW)

    def commitment(name: str, starts: datetime, **more: object) -> Commitment:
        terms = (PurchaseOption.RESERVED, "", name, 6, 1, Payment.NONE, "active", starts, starts + timedelta(days=365))
        return replace(Commitment(name, *terms, Decimal(0), Decimal(1), "USD"), **more)  # type: ignore[arg-type]

    since = made.end + timedelta(days=1)
    there = (
        commitment("m5.xlarge", since, special="/windows"),
        commitment("m5.2xlarge", since),
        commitment("m5.4xlarge", made.end - timedelta(days=1)),  # the bill has it
        commitment("m5", since, option=PurchaseOption.INSTANCE_SAVINGS_PLAN),  # for which of the two?
        commitment("", since, id="sp-1", option=COMPUTE_PLAN),
        commitment("c5.large", since),
        commitment("m5.unheard", since),
    )
    cloud = SimpleNamespace(scope=lambda: Scope("aws", "1", "us-east-1"), commitments=lambda: there)
    patience, store = SimpleNamespace(ask=lambda what: what()), SimpleNamespace(load=lambda: None)
    place = CloudRegion(AWS, "us-east-1")
    ground = SimpleNamespace(
        loaded=basis.loaded, place=place, cloud=cloud, book=BOOK, store=store, patience=lambda: patience,
        beside=tmp_path,
    )  # fmt: skip
    asked = cast("LiveGround", ground), NOW, made.end, "aws/us-east-1/m5.large/on-demand"
    bought, said = bought_since(*asked)
    counted, several, told = with_bought(basis, bought)
    owned = {use.kind.label: [o.instance_type for o in question_of(counted, use)[1].config.owned] for use in made.kinds}
    assert owned == {"m5": ["m5.2xlarge"], "m5.xlarge": ["m5.xlarge"]}
    assert [text.partition(" was bought")[0] for text in (*said, *told)] == [
        "aws/us-east-1/c5.large/reserved-instance-1y-no-upfront",
        "aws/us-east-1/m5.unheard/reserved-instance-1y-no-upfront",
    ]
    # what covers several kinds was shown as still to buy; whatever type a cloud tells, what floats is of no kind alone
    assert [o.option for o in several] == [PurchaseOption.INSTANCE_SAVINGS_PLAN, COMPUTE_PLAN]
    cloud.commitments = lambda: (commitment("c5.large", since, id="sp-1", option=COMPUTE_PLAN),)
    assert bought_since(*asked) == (several[1:], said)
    cloud.commitments = lambda: there
    # what a person has stated as owned there hides the same in the account, and nothing else
    config = basis.loaded.config.model_copy(update={"owned": bought[:1]})
    ground.loaded = replace(basis.loaded, config=config)
    assert bought_since(*asked) == (bought[1:], said)
    # a plan of a trace counts what the account has beside it, and says so; what lacks a type or an end is named
    cloud.commitments = lambda: (*there, commitment("m5.8xlarge", since, id="ri-1", ends=None))
    owned_too, told_of = with_held(cast("LiveGround", ground), NOW)
    beside = ["c5.large", "m5.2xlarge", "m5.4xlarge", "m5.4xlarge"]
    assert [text.split()[0].split("/")[-2:][0] for text in told_of] == ["m5.unheard", "sp-1", "ri-1", *beside]
    assert "which tells no type of it" in told_of[1]
    assert "which tells no end of it" in told_of[2]
    assert sorted(o.instance_type for o in owned_too.config.owned) == sorted(["m5.xlarge", *beside])
    # beside `owned`, too, it is told where the account may not be read
    cloud.commitments = Mock(side_effect=DeniedError("no rights", cast("Any", "list")))
    assert with_held(cast("LiveGround", ground), NOW)[1] == (
        "existing commitments could not be read and are not counted: list: no rights",
    )


def test_what_floats_and_was_bought_since_the_bill_covers_its_kinds_at_todays_rates() -> None:
    """It was refused: a savings plan of Azure, which no list of an account has, was bought again."""
    loaded, key = load_config(None), OfferKey(AWS, "us-east-1", "m5.xlarge", COMPUTE_PLAN, 1)
    place: dict[str, Any] = {"provider": AWS, "region": "us-east-1", "instance_type": "m5.xlarge", "term_years": 1}
    owned = OwnedSection(**place, option=COMPUTE_PLAN, count=Decimal(2), expires=date(2027, 2, 28))
    config = loaded.config.model_copy(update={"owned": (owned,)})
    made = by_kinds(bill(used("m5.xlarge", 2 * FLAT), used("c5.xlarge", 2 * FLAT)), loaded)
    basis = basis_of(made, replace(loaded, config=config), NOW)
    [pool] = basis.held.pools
    hourly = {k: BOOK.offer(replace(key, instance_type=f"{k.family}.xlarge")).effective_hourly for k in pool.rates}
    m5 = max(hourly, key=lambda kind: kind.family)
    assert pool.dollars == pytest.approx(2 * float(hourly[m5]))
    assert pool.rates == pytest.approx({kind: float(price) / 4 for kind, price in hourly.items()})
    assert (len(hourly), pool.hours_left, basis.held.unused, basis.held.endless) == (2, 100 * 24, {}, ())
    assert not basis.loaded.config.owned  # of no kind alone
    counted, several, said = with_bought(basis, (owned,))  # nor where an account tells it
    assert (counted.loaded.config.owned, several, said) == ((), (owned,), ())
    afar = config.model_copy(update={"owned": (owned.model_copy(update={"region": "eu-west-1"}),)})
    assert basis_of(made, replace(loaded, config=afar), NOW).held.pools  # it was refused: no price there
    # what has ended was left out without a word
    windows = owned.model_copy(update={"option": PurchaseOption.RESERVED, "os": "windows"})
    past = [one.model_copy(update={"expires": NOW.date()}) for one in (owned, windows)]
    ended = basis_of(made, replace(loaded, config=config.model_copy(update={"owned": tuple(past)})), NOW)
    assert list(_told_of_held(ended)) == [f"owned: {one.key} has expired and is not counted" for one in past]
    assert (ended.held.pools, ended.loaded.config.owned) == ((), ())
    [beside] = beside_kind(m5, basis.held, {}, made.end, NOW)
    share = sum(one.offer.effective_hourly * one.count for one in basis.held.by_kind[m5])
    assert float(beside.quantity) == pytest.approx(float(2 * hourly[m5] - share), abs=1e-6)
    assert beside.bill_end == NOW


def test_types_whose_sizes_do_not_share_are_planned_as_themselves() -> None:
    """For t3.medium of Windows reserved instances of t3.micro and t3.large were bought, which cover none of it: all
    have 2 vCPUs. For a metal machine those of its size, then no type at all."""
    loaded = load_config(None)
    made = by_kinds(bill(used("t3.medium", FLAT, os="windows"), used("m5.metal", FLAT, os="windows")), loaded)
    for use in made.kinds:
        market = question_of(basis_of(made, loaded, NOW), use)[1].config.settings().markets[0]
        allowed = [shape.name for shape in allowed_shapes(BOOK, market)]
        assert allowed == [use.kind.label]
    key = OfferKey(AWS, "us-east-1", "t3.large", PurchaseOption.RESERVED, 1, Payment.NONE, "windows")
    settings = replace(loaded.config.settings(), markets=(replace(market, families=("t3.medium",)),))
    assert "does not name t3" in allowed_cover(key, BOOK, settings).elsewhere
    plan = replace(key, option=PurchaseOption.INSTANCE_SAVINGS_PLAN)
    assert allowed_cover(plan, BOOK, settings).shape.name == "t3.medium"


@pytest.mark.slow
def test_prices_that_are_not_those_of_the_book_are_told() -> None:
    usage = used("m5.large", 50 * FLAT)
    assert usage.list_cost is not None
    made = planned(bill(replace(usage, list_cost=usage.list_cost * Decimal("0.7"))))
    assert any("its prices changed or are negotiated" in warning for warning in made.warnings)
    assert not any("negotiated" in warning for warning in planned(bill(usage)).warnings)


@pytest.mark.slow
def test_what_commit_does_not_buy_is_told_with_its_dollars() -> None:
    loaded = load_config(None)
    section = MarketSection(provider=AWS, options=(PurchaseOption.RESERVED,))
    config = loaded.config.model_copy(update={"markets": (section,)}, deep=True)
    made = planned(
        bill(used("m5.xlarge", 3 * FLAT, os="windows"), used("m5.xlarge", 3 * FLAT)), replace(loaded, config=config)
    )
    dollars = {kind.name: sum(line.total for line in kind.purchases) for kind in made.kinds}
    [said] = [warning for warning in made.warnings if "'hcloud commit' does not buy" in warning]
    assert f"of windows (${dollars['aws/us-east-1/m5.xlarge/windows']:,.0f} over" in said
    assert dollars["aws/us-east-1/m5"]


@pytest.mark.slow
def test_what_the_reader_repaired_is_said_beside_what_it_leads_to() -> None:
    made = planned(replace(bill(used("m5.large", 50 * FLAT)), repaired={"hours counted as none": 3}))
    assert "hours counted as none: 3" in made.warnings


@pytest.mark.slow
def test_a_daily_bill_says_what_its_hours_may_cost_more() -> None:
    cores = np.repeat([10.0, 10.0], 24)
    assert most_uneven(cores, cores, 10.0) == 0.0
    assert most_uneven(cores, np.zeros(48), 10.0) == 2 * (240 - 10)
    assert most_uneven(cores, np.full(48, 6.0), 10.0) == 2 * (24 * 10 - (24 * 6 + 4))
    sure = used("m5.large", 50 * FLAT, whole_days=50 * FLAT)
    unsure = used("m5.large", 50 * FLAT, whole_days=20 * FLAT)
    assert only(planned(bill(sure, daily=True))).more_at_worst == 0
    made = planned(bill(unsure, daily=True))
    assert (only(made).more_at_worst or 0) > 0
    assert (", daily rows" in "".join(said_of(made)), any("into one hour" in text for text in said_of(made))) == (
        True,
        True,
    )
    made = planned(replace(bill(unsure, daily=True), longest_days=31))  # what its hours may cost is not known
    [of_kind] = cast("list[dict[str, object]]", BillPlanDocument.of(made, made.generated_at)["kinds"])
    assert (only(made).more_at_worst, of_kind["more_at_worst_monthly"]) == (None, None)
    monthly = said_of(made)
    assert ", rows of up to 31 days" in "".join(monthly)
    assert not any("into one hour" in text for text in monthly)


@pytest.mark.slow
@pytest.mark.parametrize("end", [datetime(2027, 3, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)])
@pytest.mark.parametrize("machines", [20, 50])
def test_no_way_to_spread_a_day_costs_more_than_a_daily_bill_with_commitments_says(
    machines: int, end: datetime
) -> None:
    usage = used("m5.large", machines * FLAT, whole_days=0 * FLAT, covered={COMPUTE_PLAN: 20 * FLAT})
    made = only(planned(bill(usage, commitments=(savings_plan("1.2", end),), daily=True)))
    on_demand = float(BOOK.offers[OfferKey(AWS, "us-east-1", "m5.large", PurchaseOption.ON_DEMAND)].hourly)
    held, random = float(made.held_vcpus) / 2, np.random.default_rng(7)
    more = []
    for committed in (held + float(made.bought_vcpus) / 2, float(made.bought_vcpus) / 2):
        for alpha in (0.01, 0.1, 1.0, 100.0):
            day = machines * 24 * random.dirichlet(np.full(24, alpha), 50)
            more.append(np.maximum(day - committed, 0).mean() - max(machines - committed, 0))
    assert held == 20
    assert max(more) * on_demand * 730 <= float(made.more_at_worst or 0) <= 1.1 * max(more) * on_demand * 730


@pytest.mark.slow
def test_what_reservations_cover_that_were_used_in_each_hour_ran_evenly() -> None:
    usage = used("m5.large", 22 * FLAT, whole_days=0 * FLAT, covered={PurchaseOption.RESERVED: 20 * FLAT})
    paid, covered = Decimal("1.2") * HOURS, {usage.kind: CoveredUse(20.0 * HOURS, Decimal("1.2") * HOURS)}
    whole = BilledCommitment(
        "ri", AWS, PurchaseOption.RESERVED, "1", "us-east-1", "m5", "m5.large", Decimal(20), paid, paid,
        hours=HOURS, covered=covered,
    )  # fmt: skip
    idle = replace(whole, paid=paid * 2)
    even, uneven = (only(planned(bill(usage, commitments=(one,), daily=True))).more_at_worst for one in (whole, idle))
    # two of 22 machines are left, whose 48 hours a day fall into one
    assert even == pytest.approx(Decimal("0.096") * 730 * 46 / 24)
    assert even is not None
    assert (uneven or 0) > 5 * even


@pytest.mark.slow
def test_the_sum_is_the_sum_of_its_kinds() -> None:
    made = planned(bill(used("m5.large", 50 * FLAT + 20 * DAY), used("c5.2xlarge", 20 * FLAT), used("r5.large", FLAT)))
    assert made.after == sum(k.after for k in made.kinds)
    assert made.upfront == sum(p.upfront for p in made.purchases)
    bought = sum(line.hourly for kind in made.kinds for line in kind.purchases)
    assert sum(p.hourly for p in made.purchases) == bought


def test_a_savings_plan_of_a_family_is_bought_for_its_systems_together() -> None:
    """It covers Linux by day and Windows by night, and was bought for each alone: 2.5 % more. What it costs is what
    every hour says, the system with the highest percentage saved first."""
    linux, windows = 20 + 10 * DAY, 8 - 8 * DAY
    made = planned(bill(used("m5.xlarge", linux), used("m5.xlarge", windows, os="windows")))
    lines = [line for kind in made.kinds for line in kind.purchases]
    assert {line.option for line in lines} == {PurchaseOption.INSTANCE_SAVINGS_PLAN}
    place = AWS, "us-east-1", "m5.xlarge"
    terms = (PurchaseOption.ON_DEMAND, 0, Payment.NONE), (PurchaseOption.INSTANCE_SAVINGS_PLAN, 1, Payment.ALL)
    (listed, plan), (of_windows, plan_of_windows) = (
        [float(BOOK.offers[OfferKey(*place, *term, os=os)].effective_hourly) for term in terms]
        for os in ("linux", "windows")
    )

    def cost(hourly: float) -> float:
        first = np.minimum(linux, hourly / plan)
        then = np.minimum(windows, (hourly - first * plan) / plan_of_windows)
        return float(((linux - first) * listed + (windows - then) * of_windows + hourly).mean() * 730)

    assert float(made.after) == pytest.approx(cost(sum(float(line.hourly) for line in lines)), rel=1e-3)
    assert float(made.after) <= min(map(cost, np.linspace(0, 8, 801))) * 1.001


@pytest.mark.parametrize(
    ("rate", "payment"), [("0.0695424", Payment.NONE), ("0.0649152", Payment.ALL), ("0.0655", None)]
)
def test_a_savings_plan_without_a_term_in_the_bill_has_that_of_its_rates(rate: str, payment: Payment | None) -> None:
    """What a bill of FOCUS does not say of other kinds was its mean discount; at rates that none sells it is still."""
    m5 = used("m5.large", 20 * FLAT, covered={COMPUTE_PLAN: 20 * FLAT})
    dollars = 20 * Decimal(rate)
    covered = {m5.kind: CoveredUse(20.0 * HOURS, dollars * HOURS)}
    held = replace(savings_plan(str(dollars)), covered=covered, term_years=None, payment=None)
    made = by_kinds(bill(m5, used("c5.large", 9 * FLAT), commitments=(held,)), load_config(None))
    [pool] = basis_of(made, load_config(None), NOW).held.pools
    assert (pool.term_years, pool.payment) == (payment and 1, payment)


@pytest.mark.parametrize("held", [0, 9])
def test_a_reservation_of_azure_is_bought_for_linux_and_windows_together(held: int) -> None:
    """It covers the machine of both, and the licence is billed by use beside it. It was bought for each alone, and for
    Windows priced with the licence: 3 to 6 % more, and next to none of it."""
    run, name = {"linux": 12 + 8 * DAY, "windows": 12 - 12 * DAY}, "Standard_D2s_v5"
    terms = (PurchaseOption.ON_DEMAND, 0, Payment.NONE), (PurchaseOption.RESERVATION, 1, Payment.NONE)
    listed, reserved = (float(BOOK.offers[OfferKey(AZURE, "eastus", name, *term)].effective_hourly) for term in terms)
    licence = float(BOOK.offers[OfferKey(AZURE, "eastus", name, *terms[0], os="windows")].hourly) - listed
    first = np.minimum(run["linux"], held)
    covered = {"linux": first, "windows": np.minimum(held - first, run["windows"])}
    usage = [used(name, hours, os, covered={terms[1][0]: covered[os]} if held else {}) for os, hours in run.items()]
    paid = Decimal("0.05") * HOURS * held
    hours = [float(covered[u.kind.os].sum()) for u in usage]
    bore = {u.kind: CoveredUse(c, Decimal("0.05") * int(c)) for u, c in zip(usage, hours, strict=True)}
    there = BilledCommitment(
        "r", AZURE, terms[1][0], "1", "eastus", "Dsv5", name, Decimal(held), paid, paid, hours=HOURS, covered=bore
    )
    made_of = bill(*usage, commitments=(there,) if held else ())
    made = planned(made_of)

    def cost(bought: float) -> float:
        left = np.maximum(sum(run.values()) - bought - held, 0.0)
        hourly = left * listed + run["windows"] * licence + bought * reserved + held * 0.05
        return float(hourly.mean() * 730)

    assert float(made.now) == pytest.approx(cost(0), rel=2e-3)
    assert float(made.after) == pytest.approx(cost(float(made.purchases[0].hourly) / reserved), rel=2e-3)
    assert float(made.after) <= min(map(cost, range(40))) * 1.002
    for kind, use in zip(made.kinds, kinds_of(bill(*usage), BOOK.types)[0], strict=True):
        assert kind.plan is not None
        said = "".join(told_of_licences(kind.plan, use.kind))
        assert ("the licence of windows for what runs on them, which Azure bills" in said) is (
            use.kind.os == "windows"
        ), said


def test_licences_that_no_commitment_covers_are_in_no_figure_of_what_it_is_worth() -> None:
    """Break-even, what if demand falls, what is in reserve and not used, refused options: the licence is paid in the
    hours that machines run, whatever is committed to. All of these counted it as a part of the commitment."""
    run, name = 12 - 12 * DAY, "Standard_D2s_v5"
    place, term = (AZURE, "eastus", name), (PurchaseOption.RESERVATION, 1, Payment.NONE)
    keys = [OfferKey(*place, PurchaseOption.ON_DEMAND, os=os) for os in ("linux", "windows")]
    listed, dear = (float(BOOK.offers[key].hourly) for key in keys)
    reserved = float(BOOK.offers[OfferKey(*place, *term)].effective_hourly)
    made_of_bill = planned(bill(used(name, run, os="windows")))
    plan = only(made_of_bill).plan
    assert plan is not None
    count = float(sum(line.vcpus for line in plan.purchases)) / 2
    document = BillPlanDocument.of(made_of_bill, made_of_bill.generated_at)
    [of_kind] = cast("list[dict[str, list[dict[str, str]]]]", document["kinds"])
    licensed = float(run.mean()) * (dear - listed) * 730
    assert sum(float(line["licences_monthly"]) for line in of_kind["mix"]) == pytest.approx(licensed, rel=2e-3)
    gap = plan.after.total / 101  # of what is shown, licences among it
    [said, _] = proof(replace(plan, certificate=replace(plan.certificate, gap=gap)))
    assert said.startswith("within 1.00% of the optimum")

    def monthly(bought: float, part: float = 1.0) -> float:
        hourly = np.maximum(run * part - bought, 0) * listed + run * part * (dear - listed) + bought * reserved
        return float(hourly.mean() * 730)

    assert count == pytest.approx(min(range(30), key=monthly), abs=2)
    assert float(plan.now.monthly) == pytest.approx(monthly(0), rel=2e-3)
    assert float(plan.after.monthly) == pytest.approx(monthly(count), rel=2e-3)
    assert sum(one.monthly for one in plan.mix) == pytest.approx(plan.after.monthly, abs=Decimal("0.05"))
    assert {round(float(line.break_even or 0), 3) for line in plan.purchases} == {round(reserved / listed, 3)}
    paid = sum(line.total * line.without_licences for line in plan.purchases)
    assert float(paid) == pytest.approx(count * reserved * 8760, rel=1e-4)
    owned = replace(plan, mix=tuple(replace(one, address=f"{OWNED}{one.address}") for one in plan.mix))
    for made in (plan, owned):  # what is owned, too, is so many dollars of those that are committed to
        held = [line for line in as_bought(made, load_config(None), NOW.date()).mix if line.option.is_commitment]
        assert float(sum(line.hourly for line in held)) == pytest.approx(count * reserved, rel=1e-4)
    for fall in plan.what_if:
        part = 1 + float(fall.change)
        assert float(fall.planned) / 12 == pytest.approx(monthly(count, part), rel=3e-3)
        assert float(fall.all_on_demand) / 12 == pytest.approx(monthly(0, part), rel=3e-3)
        unused = float(np.maximum(count - run * part, 0).mean()) * reserved * 8760
        assert float(fall.unused_commitment) == pytest.approx(unused, rel=0.02)


def test_licences_in_lines_of_their_own_are_told_beside_what_the_bill_has_of_machines(tmp_path: Path) -> None:
    """Eight D4s of Windows under a reservation, whose licences stand apart: 'no purchase' was above what the bill has
    without a word, and its prices were told to be negotiated."""
    listed, dear, reserved = Decimal("0.192"), Decimal("0.376"), Decimal("0.1133")
    info = '"{""ServiceType"":""Standard_D4s_v5"",""ImageType"":""Windows Server""}"'
    rows = [
        "Date,SubscriptionId,MeterCategory,AdditionalInfo,ResourceLocation,UnitOfMeasure,PricingModel,ChargeType,"
        "ReservationId,CostInBillingCurrency,PayGPrice,Quantity"
    ]
    for day in range(61):
        date, place = f"{datetime(2026, 9, 20) + timedelta(days=day):%m/%d/%Y}", "eastus,1 Hour"
        at = f"{date},s,Virtual Machines,{info},{place}"
        rows += [
            f"{at},OnDemand,Usage,,{dear * 144},{dear},144",
            f"{at},Reservation,Usage,r,{reserved * 192},{listed},192",
        ]
        rows.append(f"{date},s,Virtual Machines Licenses,,{place},OnDemand,Usage,,{(dear - listed) * 192},,192")
    (tmp_path / "azure.csv").write_text("\n".join(rows))
    of_bill = read_bill(tmp_path / "azure.csv")
    assert of_bill.lines[LineKind.LICENCE] == LineSum(61, (dear - listed) * 192 * 61)
    made = planned(of_bill)
    assert float(made.now) == pytest.approx(float(made.paid + made.licences), rel=1e-3)
    assert not any("by the price book" in text for text in made.warnings), made.warnings
    apart = (
        f"${made.paid:,.0f}/month by the bill and ${made.licences:,.0f} for licences of all machines, planned or not"
    )
    assert apart in bill_markdown(made)


def test_a_held_savings_plan_of_azure_covers_as_much_of_linux_as_of_windows() -> None:
    """Of the machine it takes the same: by the discount on prices with a licence four D4s were nearly five."""
    name, hourly = "Standard_D4s_v5", 4 * Decimal("0.1133")
    covered = {PurchaseOption.SAVINGS_PLAN: 4 * FLAT}
    bore = {PurchaseOption.SAVINGS_PLAN: hourly * HOURS}
    windows = used(name, 10 * FLAT, "windows", covered=covered, covered_cost=bore)
    plan = replace(savings_plan(str(hourly)), provider=AZURE, option=PurchaseOption.SAVINGS_PLAN)
    of_bill = by_kinds(bill(windows, used(name, 5 * FLAT), commitments=(plan,)), load_config(None))
    shares = basis_of(of_bill, load_config(None), NOW).held.by_kind.values()
    vcpus = sum(one.count * one.shape.vcpus for owned in shares for one in owned)
    assert float(vcpus) == pytest.approx(16, abs=0.01)


def test_the_plan_of_one_kind_of_a_daily_bill_says_what_its_hours_may_cost_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is the plan that is bought from, and only the whole bill's said so."""
    workload = load_config(None).config.workload.model_copy(update={"options": {"kind": "aws/us-east-1/m5"}})
    loaded = load_config(None).changed(workload=workload)
    unsure = bill(used("m5.large", 50 * FLAT, whole_days=20 * FLAT), daily=True)
    monkeypatch.setattr(bill_plan, "bill_by_kinds", lambda loaded, _: by_kinds(unsure, loaded))
    (told,) = (said for said in plan_kind(loaded, NOW).plan.warnings if "daily rows" in said)
    assert any(told in text for text in said_of(planned(unsure)))


def test_what_is_owned_of_a_kind_with_a_licence_is_counted_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the reservation of a bill of Windows alone was bought, the plan of its kind showed less than half of what
    it costs: all but the licences."""
    workload = load_config(None).config.workload.model_copy(update={"options": {"kind": "azure/eastus/Dsv5/windows"}})
    loaded = load_config(None).changed(workload=workload)
    of_bill = bill(used("Standard_D2s_v5", 10 * FLAT, "windows"))
    monkeypatch.setattr(bill_plan, "bill_by_kinds", lambda loaded, _: by_kinds(of_bill, loaded))
    wanted = plan_kind(loaded, NOW).plan
    place: dict[str, Any] = {"provider": AZURE, "region": "eastus", "option": PurchaseOption.RESERVATION}
    terms = {"term_years": 1, "payment": Payment.NONE, "expires": "2027-11-20"}
    names = [(line.instance_type, line.count) for line in wanted.purchases]
    since = [OwnedSection.model_validate(place | terms | {"instance_type": n, "count": c}) for n, c in names]
    there = plan_kind(loaded, NOW, since=lambda *_: (since, ())).plan
    assert wanted.purchases
    assert not there.purchases
    assert float(there.after.monthly) == pytest.approx(float(wanted.after.monthly), rel=1e-3)
    assert sum(line.total for line in there.mix) == pytest.approx(there.after.total, abs=Decimal("0.05"))


def test_committed_use_of_google_covers_no_machines_of_other_memory() -> None:
    """It is of vCPUs and GiB apart: that of e2-standard by day covers no e2-highmem by night."""
    loaded = load_config(None)
    section = MarketSection(provider=Provider.GCP, options=(PurchaseOption.COMMITTED_USE,))
    loaded = replace(loaded, config=loaded.config.model_copy(update={"markets": (section,)}, deep=True))
    day, night = (used(name, 12 + 8 * x) for name, x in (("e2-standard-4", DAY), ("e2-highmem-4", -DAY)))
    both, *apart = (planned(bill(*usage), loaded).after for usage in ((day, night), (day,), (night,)))
    assert both == pytest.approx(sum(apart), rel=Decimal("1e-3"))
    # what was bought since for one of them was told as what may cover any of two, and shown as still to buy
    terms = {"option": PurchaseOption.COMMITTED_USE, "term_years": 1, "count": 2, "expires": "2027-11-20"}
    place = {"provider": Provider.GCP, "region": "us-central1", "instance_type": "e2-highmem-8"}
    basis, several, said = with_bought(
        basis_of(by_kinds(bill(day, night), loaded), loaded, NOW), [OwnedSection.model_validate(place | terms)]
    )
    owned = {use.kind.label: len(question_of(basis, use)[1].config.owned) for use in basis.kinds}
    assert (owned, several, said) == ({"e2-standard-4": 0, "e2-highmem-4": 1}, (), ())


def test_custom_machines_of_google_are_planned_by_their_vcpus_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """They were "not planned: the price book knows no type". 40 x (4 vCPUs and 8 GiB) at 5% above the prices of N2."""
    loaded = load_config(None)
    section = MarketSection(provider=Provider.GCP, options=(PurchaseOption.COMMITTED_USE,))
    loaded = replace(loaded, config=loaded.config.model_copy(update={"markets": (section,)}, deep=True))
    made = planned(bill(used("n2-custom-4-8192", 40 * FLAT), used("n2-standard-4", 10 * FLAT)), loaded)
    kinds = {kind.name.removeprefix("gcp/us-central1/"): kind for kind in made.kinds}
    rate = {
        name: BOOK.offers[OfferKey(Provider.GCP, "us-central1", name, PurchaseOption.COMMITTED_USE, 1)].hourly
        for name in ("n2-standard-4", "n2-highcpu-4")
    }
    with_8_gib = rate["n2-highcpu-4"] + (rate["n2-standard-4"] - rate["n2-highcpu-4"]) / 3
    assert kinds["n2-custom-4-8192"].after == pytest.approx(40 * with_8_gib * Decimal("1.05") * 730)
    assert (len(made.unplanned), round(kinds["n2"].bought_vcpus)) == (0, 40)
    show_bill_plan(made, Terminal.open())
    shown = " ".join(capsys.readouterr().out.split())
    assert "in Google's console, committed use is 200 vCPUs and 480 GB of n2 in us-central1 (1y)" in shown
    dollars = f"{40 * with_8_gib * Decimal('1.05') * 8760:,.0f}"
    assert f"'hcloud commit' does not buy committed use discounts of custom machines (${dollars} over" in " ".join(
        made.warnings
    )


def test_idle_memory_that_is_committed_of_google_holds_no_machines() -> None:
    """16 vCPUs and 64 GiB of N2 are held, of which 2 of 6 machines of 8 vCPUs and 8 GiB use all vCPUs and a quarter of
    the memory: by dollars they held 2.9 machines, and 2 vCPUs too few were bought."""
    loaded = load_config(None)
    section = MarketSection(provider=Provider.GCP, options=(PurchaseOption.COMMITTED_USE,))
    loaded = replace(loaded, config=loaded.config.model_copy(update={"markets": (section,)}, deep=True))
    paid = {"vCPUs": Decimal("0.32") * HOURS, "memory": Decimal("0.16") * HOURS}
    shares = {"vCPUs": Decimal(1), "memory": Decimal("0.25")}
    committed = {"vCPUs": Decimal(16), "memory": Decimal(64)}
    option = PurchaseOption.COMMITTED_USE
    held = tuple(
        BilledCommitment(
            part, Provider.GCP, option, "1", "us-central1", "n2", "", None, paid[part], paid[part] * share,
            used_parts={part: share}, committed={part: committed[part]},
        )
        for part, share in shares.items()
    )  # fmt: skip
    bore = {option: paid["vCPUs"] + paid["memory"] / 4}
    usage = used("n2-highcpu-8", 6 * FLAT, covered={option: 2 * FLAT}, covered_cost=bore)
    made = planned(bill(usage, commitments=held), loaded)
    kind = only(made)
    assert (round(kind.held_vcpus), round(kind.bought_vcpus)) == (16, 32)
    [said] = [warning for warning in made.warnings if "is held has" in warning]
    assert "has 48 GB of memory more than the machines that it is counted for" in said  # it did not say how much
    assert "in Google's console, buy 32 GB of memory less than the plan says" in said


def test_memory_that_is_not_committed_with_the_vcpus_of_google_is_told() -> None:
    """200 vCPUs and 64 GiB are held for 20 machines of 8 vCPUs and 32 GiB: nothing was worth buying, and 576 GiB that
    are paid on demand were in no figure."""
    loaded = load_config(None)
    section = MarketSection(provider=Provider.GCP, options=(PurchaseOption.COMMITTED_USE,))
    loaded = replace(loaded, config=loaded.config.model_copy(update={"markets": (section,)}, deep=True))
    option = PurchaseOption.COMMITTED_USE
    held = tuple(
        BilledCommitment(
            part, Provider.GCP, option, "1", "us-central1", "n2", "", None, paid * HOURS, paid * HOURS * share,
            used_parts={part: share}, committed={part: size},
        )
        for part, size, paid, share in (
            ("vCPUs", Decimal(200), Decimal(4), Decimal("0.8")), ("memory", Decimal(64), Decimal("0.17"), Decimal(1)),
        )
    )  # fmt: skip
    bore = {option: Decimal("3.37") * HOURS}
    usage = used("n2-standard-8", 20 * FLAT, covered={option: 20 * FLAT}, covered_cost=bore)
    made = planned(bill(usage, commitments=held), loaded)
    [said] = [warning for warning in made.warnings if "is held has" in warning]
    assert "has 576 GB of memory less than the machines that it is counted for: that is paid on demand" in said
    for unsaid in (tuple(replace(one, committed={}) for one in held), held[:1]):
        made = planned(bill(usage, commitments=unsaid), loaded)
        assert not [warning for warning in made.warnings if "is held has" in warning], "the bill does not say how much"


@pytest.mark.parametrize(("name", "said"), [("n2-highmem-4", ["64 GB"]), ("n2-custom-4-32768-ext", [])])
def test_memory_that_other_machines_use_of_committed_use_is_not_bought_again(name: str, said: list[str]) -> None:
    """All of 64 vCPUs and 192 GiB is used: by 8 of 10 machines of 8 vCPUs and 16 GiB, and a third of the memory by
    others. Where these are planned: for 120 vCPUs and 480 GiB, 56 and 288 are to be bought, and the plan says 352 GiB:
    it was told as the amount for the console. Else what they use serves no others."""
    loaded = load_config(None)
    section = MarketSection(provider=Provider.GCP, options=(PurchaseOption.COMMITTED_USE,))
    loaded = replace(loaded, config=loaded.config.model_copy(update={"markets": (section,)}, deep=True))
    option, cost = PurchaseOption.COMMITTED_USE, (Decimal("1.28") + Decimal("0.51")) * HOURS
    held = BilledCommitment(
        "a", Provider.GCP, option, "1", "us-central1", "n2", "", None, cost, cost,
        used_parts=dict.fromkeys(("vCPUs", "memory"), Decimal(1)),
        committed={"vCPUs": Decimal(64), "memory": Decimal(192)},
    )  # fmt: skip
    by_memory = Decimal("0.51") * HOURS * 152 / 192
    first = used("n2-custom-8-16384", 10 * FLAT, covered={option: 8 * FLAT}, covered_cost={option: cost - by_memory})
    other = used(name, 10 * FLAT, covered_cost={option: by_memory})
    made = planned(bill(first, other, commitments=(held,)), loaded)
    assert round(sum(line.memory_gib for kind in made.kinds for line in kind.purchases)) == (352 if said else 32)
    warned = [warning for warning in made.warnings if "is held has" in warning]
    assert [warning.rpartition(" of memory less")[0].rpartition("buy ")[2] for warning in warned] == said
    assert "did you mean" not in str(made.unplanned)  # another custom machine


@pytest.mark.parametrize("is_in_bill", [True, False])
def test_a_savings_plan_of_a_family_that_is_held_covers_its_systems_hour_by_hour(is_in_bill: bool) -> None:
    """What was bought for Linux by day and Windows by night was divided by its mean: $2,241 for $1,753 a month, and as
    much again was to be bought."""
    day = FLAT * (np.arange(HOURS) % 24 < 12)
    systems, rates, listed = ("linux", "windows"), np.array([0.112896, 0.296896]), np.array([0.192, 0.376])
    run, hourly, option = np.array([4 + 8 * day, 8 - 7 * day]), 1.6663, PurchaseOption.INSTANCE_SAVINGS_PLAN
    linux = np.minimum(run[0], hourly / rates[0])
    covered = np.array([linux, np.minimum(run[1], (hourly - linux * rates[0]) / rates[1])])
    usage = [used("m5.xlarge", hours, os=os) for os, hours in zip(systems, run, strict=True)]
    bore = [Decimal(repr(float(dollars))) for dollars in covered.sum(axis=1) * rates]
    paid = Decimal(repr(hourly)) * HOURS
    held = BilledCommitment(
        "plan", AWS, option, "1", "us-east-1", "m5", "", Decimal(repr(hourly)), paid, sum(bore, Decimal(0)),
        term_years=1, payment=Payment.ALL, end=NOW + timedelta(days=400), hours=HOURS,
        covered={u.kind: CoveredUse(float(c.sum()), b) for u, c, b in zip(usage, covered, bore, strict=True)},
    )  # fmt: skip
    loaded = load_config(None)
    if is_in_bill:
        usage = [
            replace(u, covered={option: c}, covered_cost={option: b})
            for u, c, b in zip(usage, covered, bore, strict=True)
        ]
    else:
        place = {"provider": AWS, "region": "us-east-1", "instance_type": "m5.4xlarge", "option": option}
        terms = {"term_years": 1, "payment": Payment.ALL, "dollars_per_hour": hourly, "expires": "2027-12-25"}
        owned = (OwnedSection.model_validate(place | terms),)
        loaded = replace(loaded, config=loaded.config.model_copy(update={"owned": owned}))
    made = planned(bill(*usage, commitments=(held,) if is_in_bill else ()), loaded)
    true = (((run - covered) * listed[:, None]).sum(axis=0).mean() + hourly) * 730
    assert float(made.now) == pytest.approx(true, rel=1e-4)
    assert not made.purchases
    vcpus = [float(kind.held_vcpus) for kind in made.kinds]
    assert sorted(vcpus) == pytest.approx(sorted(4 * covered.mean(axis=1)), rel=1e-2)


def test_a_compute_savings_plan_is_bought_over_families_of_several_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """m5 runs by day and c5 by night: one of both was not tried where Windows shares the cheaper ones of a family, and
    the plan cost 30 % more."""
    linux = [used(name, 21 * FLAT - 20 * rests) for name, rests in (("m5.xlarge", DAY < 0), ("c5.xlarge", DAY >= 0))]
    windows = [used(name, FLAT, os="windows") for name in ("m5.xlarge", "c5.xlarge")]
    of_bill = bill(*linux, *windows)
    made = planned(of_bill)
    assert COMPUTE_PLAN in {line.option for kind in made.kinds for line in kind.purchases}
    assert made.after < made.now * 3 / 4
    # what the account bought of it since was shown as still to buy
    monkeypatch.setattr(bill_plan, "bill_by_kinds", lambda loaded, _: by_kinds(of_bill, loaded))
    workload = load_config(None).config.workload.model_copy(update={"options": {"kind": "aws/us-east-1/m5"}})
    loaded = load_config(None)
    loaded = replace(loaded, config=loaded.config.model_copy(update={"workload": workload}))

    def dollars(of: Iterable[MixLine]) -> float:
        return sum(float(line.hourly_held) for line in of if line.option is COMPUTE_PLAN)

    wanted = dollars(plan_kind(loaded, NOW).plan.purchases)
    for part in (0.5, 2.0):
        place = {"provider": AWS, "region": "us-east-1", "instance_type": "m5.large", "option": COMPUTE_PLAN}
        terms = {"term_years": 1, "payment": Payment.ALL, "dollars_per_hour": wanted * part, "expires": "2027-11-25"}
        since = OwnedSection.model_validate(place | terms)
        beside = plan_kind(loaded, NOW, since=lambda *_, since=since: ((since,), ())).plan
        assert dollars(beside.purchases) == pytest.approx(wanted * max(1 - part, 0), abs=0.06)
        assert dollars(line for line in beside.mix if line.is_owned) == pytest.approx(wanted * min(part, 1))


class Heard:
    """What a screen is told, in order."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def show(self, *parts: object) -> None:
        self.said += [str(part) for part in parts]

    def warn(self, text: str) -> None:
        self.said.append(text)


def said_of(made: BillPlan) -> list[str]:
    heard = Heard()
    show_bill_plan(made, cast("Terminal", heard))
    return heard.said


def test_a_bill_too_short_to_buy_from_says_so_first() -> None:
    """And what three years would save, and that accounts are taken to share."""
    m5 = used("m5.large", 6 * FLAT[:24]), used("m5.large", 4 * FLAT[:24], account="2")
    made = planned(replace(bill(*m5), hours=24))
    first, *rest = said_of(made)
    line, *_ = only(made).purchases
    place = AWS, "us-east-1", "m5.large", line.option
    paid = BOOK.offers[OfferKey(*place, 1, line.payment)]
    least = min((BOOK.offers[OfferKey(*place, 3, p)] for p in Payment), key=lambda offer: offer.effective_hourly)
    assert made.longer is not None
    assert made.longer.saved == pytest.approx((paid.effective_hourly - least.effective_hourly) * 10 * 730)
    assert made.longer.upfront == pytest.approx(least.upfront * 10)
    assert any("for 3 years" in text and "--horizon 3y" in text for text in rest)
    assert any("what is bought is for 2 accounts together" in text for text in rest)
    assert "is too short for commitments" in first
    assert not any("too short" in text for text in rest)
    # Markdown had neither what it saves nor any warning
    told = unescape(str(bill_markdown(made))).replace("\u2060", "")
    for text in (headline(made), *made.warnings):
        assert " ".join(text.split()) in told


@pytest.mark.slow
def test_of_many_remarks_on_a_bill_the_screen_says_how_many_more_there_are() -> None:
    said = {f"lines of a region that is not known ({n})": n for n in range(1, 8)}
    told = said_of(planned(replace(bill(used("m5.large", 10 * FLAT)), said=said)))
    assert sum("lines of a region" in text for text in told) == 4
    assert any(text == "3 more remarks on lines of the bill: hcloud workload show acme" for text in told)


@pytest.mark.slow
def test_the_days_on_which_what_is_held_ends_are_on_the_screen() -> None:
    ends = [datetime(2027, month, 1, tzinfo=UTC) for month in range(1, 9)]
    held = tuple(replace(savings_plan("0.1", end), id=f"sp-{end.month}") for end in [*ends, ends[0]])
    made = bill(used("m5.large", 90 * FLAT, covered={COMPUTE_PLAN: 30 * FLAT}), commitments=held)
    told = [text for text in said_of(planned(made)) if "held until" in text]
    assert told == [
        "· held until 2027-01-01: 2 of compute-savings-plan at $0.10/h",
        *(f"· held until 2027-0{month}-01: compute-savings-plan at $0.10/h" for month in (2, 3, 4)),
        "· held until 2027-08-01 at the latest: 4 more commitments",
    ]


def test_all_that_is_to_be_bought_in_the_console_is_named() -> None:
    """Of six series four were named, and "2 more", which could not be bought so."""
    lines = [
        SimpleNamespace(
            option=PurchaseOption.COMMITTED_USE,
            instance_type=f"{series}-standard-4",
            region="us-central1",
            term_years=1,
            vcpus=Decimal(4),
            memory_gib=Decimal(16),
        )
        for series in ("c2", "c3", "e2", "n1", "n2", "n4")
    ]
    (said,) = in_resources(cast("Iterable[MixLine]", lines))
    assert said.count("4 vCPUs and 16 GB of ") == 6
    assert said.endswith("of n4 in us-central1 (1y)")
