"""What should stand for a plan, and how what stands differs from what is remembered: pure functions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from hcloud.model.catalog import Payment, Provider, PurchaseOption
from hcloud.model.holdings.change import Observed
from hcloud.model.holdings.live import TAG_ADDRESS, TAG_KEY, TAG_LINEAGE, Machine, MachineState, Scope
from hcloud.model.holdings.state import OwnedMachine, State
from hcloud.model.plans.plan import MixLine, Plan
from hcloud.planning.changes.diff import DiffInputs, changes
from hcloud.planning.changes.slots import CloudRegion, in_zones, left_out, left_to_others, slots_of, slug
from hcloud.planning.changes.standing import drift

HERE = CloudRegion(Provider.AWS, "us-east-1")
OLD = PurchaseOption.ON_DEMAND
"""A rented line of a plan of an earlier version: what of it is always in use is not known, and nothing stands."""
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def line(option: PurchaseOption, count: str, name: str = "m5.4xlarge", **more: object) -> MixLine:
    made = MixLine(
        address=f"aws/us-east-1/{name}/{option}", provider=Provider.AWS, region="us-east-1", instance_type=name,
        option=option, term_years=1 if option.is_commitment else 0, payment=Payment.NONE, count=Decimal(count),
        peak=0, vcpus=Decimal(16), memory_gib=Decimal(64), hourly=Decimal(count) / 2, monthly=Decimal(0),
        upfront=Decimal(0), total=Decimal(count) * 4380, break_even=None, starts_hour=0, price_day=date(2026, 11, 1),
        derived="",
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def plan_of(*lines: MixLine, first_weeks: int = 4) -> Plan:
    made = object.__new__(Plan)
    object.__setattr__(made, "mix", lines)
    object.__setattr__(made, "first_weeks", first_weeks)
    return made


def test_reserves_stand_and_what_is_rented_throughout_the_first_weeks() -> None:
    plan = plan_of(
        line(PurchaseOption.RESERVED, "33"),
        line(PurchaseOption.COMPUTE_SAVINGS_PLAN, "2.5"),
        line(PurchaseOption.ON_DEMAND, "8", first_least=4, first_peak=6),
        line(PurchaseOption.SPOT, "7", first_least=7, first_peak=7),
    )
    slots = {slot.address: slot for slot in slots_of(plan, HERE)}
    assert {a: s.count for a, s in slots.items()} == {"reserved-m5-4xlarge": 35, "standing-m5-4xlarge": 4}
    assert slots["reserved-m5-4xlarge"].hourly == Decimal("0.5")
    assert slots["standing-m5-4xlarge"].hourly == Decimal("0.5")


def test_what_is_for_later_or_elsewhere_does_not_stand_here() -> None:
    later = line(PurchaseOption.RESERVED, "3", starts_hour=8760)
    elsewhere = line(PurchaseOption.RESERVED, "3", region="eu-west-1")
    plan = plan_of(later, elsewhere, line(PurchaseOption.ON_DEMAND, "8", first_least=0), line(OLD, "8"))
    assert slots_of(plan, HERE) == ()
    assert left_out(plan, HERE) == (elsewhere,)


@pytest.mark.parametrize(("kind", "name"), [("/windows", "windows"), ("/dedicated", "linux on dedicated hardware")])
def test_machines_of_another_kind_than_is_launched_are_told_and_not_started(kind: str, name: str) -> None:
    """They were looked up in the price book as Linux machines, which it had no price of."""
    bought, rented = line(PurchaseOption.RESERVED, "3"), line(PurchaseOption.ON_DEMAND, "8", first_least=2)
    plan = plan_of(*(replace(one, address=f"{one.address}{kind}") for one in (bought, rented)))
    assert slots_of(plan, HERE) == ()
    (said,) = left_to_others(plan, HERE)
    told = (
        f"apply starts no machines of {name}: what is launched here is linux on shared hardware; start those yourself"
    )
    assert said.startswith(told)


def test_what_is_rented_beside_is_told_of_the_first_weeks_and_after_them() -> None:
    plan = plan_of(line(PurchaseOption.ON_DEMAND, "20", peak=142, first_least=2, first_peak=11))
    assert [slot.count for slot in slots_of(plan, HERE)] == [2]
    (said,) = left_to_others(plan, HERE)
    assert said.startswith(
        "apply keeps 2 machines running; the plan rents up to 9 more in its first 4 weeks and up to 140 more later"
    )


def test_the_first_weeks_are_those_that_the_plan_counted() -> None:
    rented = line(PurchaseOption.ON_DEMAND, "20", peak=142, first_least=2, first_peak=11)
    (said,) = left_to_others(plan_of(rented, first_weeks=1), HERE)
    assert "9 more in its first 1 week and up to 140 more later" in said


def test_where_nothing_more_is_rented_in_the_first_weeks_that_is_said() -> None:
    (said,) = left_to_others(plan_of(line(PurchaseOption.ON_DEMAND, "1", peak=3, first_least=0, first_peak=0)), HERE)
    assert "the plan rents none in its first 4 weeks and up to 3 more later as demand comes" in said


def test_what_is_bought_within_the_first_day_stands_and_renewals_are_told_by_their_days() -> None:
    soon = line(PurchaseOption.RESERVED, "2", starts_hour=5)
    renewals = [line(PurchaseOption.RESERVED, "2", starts_hour=5 + 8760 * year) for year in (1, 2)]
    plan = plan_of(soon, *renewals)
    assert [slot.count for slot in slots_of(plan, HERE)] == [2]
    assert list(left_to_others(plan, HERE)) == [
        "apply keeps all 2 machines of the plan running",
        "2 later purchases of the plan, on day 365 and 730: plan again then",
    ]


def test_a_term_that_is_a_third_of_the_horizon_costs_its_own_hours() -> None:
    """One year for $8,760 is a dollar an hour while it is held, though it adds a third of that to three years."""
    year = line(PurchaseOption.RESERVED, "2", total=Decimal(2 * 8760), hourly=Decimal(2) / 3)
    spent = line(PurchaseOption.COMPUTE_SAVINGS_PLAN, "2", total=Decimal(8760), hourly=Decimal(1) / 3)
    owned = line(PurchaseOption.RESERVED, "2", "m6i.large", address="owned/aws/us-east-1/m6i.large/x")
    slots = {slot.instance_type: slot for slot in slots_of(plan_of(year, owned), HERE)}
    assert {name: slot.hourly for name, slot in slots.items()} == {"m5.4xlarge": 1, "m6i.large": Decimal("0.5")}
    windows = replace(year, address=f"{year.address}/windows")
    shown = changes(
        (), Observed(NOW, Scope("aws", "1", "us-east-1"), 3, STATE, ()), DiffInputs(wanted=(year, spent, windows))
    ).changes
    assert [(c.count, c.reason) for c in shown] == [
        (2, "2 of 1-year reserved instance not purchased yet ('hcloud commit' buys)"),
        (0, "$1.000000 an hour of 1-year compute savings plan not purchased yet ('hcloud commit' buys)"),
        (2, "2 of 1-year reserved instance of windows not purchased yet (buy it in the console)"),
    ]


def test_addresses_are_as_every_cloud_takes_labels_and_zones_are_filled_in() -> None:
    assert slug("Standard_D4s_v5") == "standard-d4s-v5"
    (slot,) = in_zones(slots_of(plan_of(line(PurchaseOption.RESERVED, "1")), HERE), {"m5.4xlarge": ("a", "b")})
    assert slot.zones == ("a", "b")
    assert in_zones([replace(slot, zones=("c",))], {})[0].zones == ("c",)


STATE = State("f" * 32, 3, 1, "demo", Scope("aws", "1", "us-east-1"))
RECORD = OwnedMachine("i-1", "web", "k" * 32, "m5.large", "us-east-1a", PurchaseOption.ON_DEMAND, 1, NOW)
TAGS = {TAG_LINEAGE: STATE.lineage, TAG_ADDRESS: "web", TAG_KEY: "k" * 32}
MACHINE = Machine("i-1", "m5.large", "us-east-1a", MachineState.RUNNING, PurchaseOption.ON_DEMAND, NOW, TAGS)


def told(*machines: Machine, records: tuple[OwnedMachine, ...] = (RECORD,)) -> list[str]:
    stored = replace(STATE, records=records)
    assert STATE.scope is not None
    observed = Observed(NOW, STATE.scope, 3, stored, machines)
    return [d.what for d in drift(stored, observed)]


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (MACHINE, []),
        (replace(MACHINE, instance_type="m5.xlarge"), ["is a m5.xlarge, not a m5.large"]),
        (replace(MACHINE, state=MachineState.ENDED), ["is ended, not by hcloud"]),
        (replace(MACHINE, state=MachineState.UNKNOWN), []),
        (replace(MACHINE, tags={**TAGS, TAG_ADDRESS: "mine"}), [f"tags were changed: {TAG_ADDRESS}"]),
    ],
)
def test_every_difference_is_told(machine: Machine, says: list[str]) -> None:
    assert told(machine) == says


def test_what_is_missing_or_unknown_is_told_and_an_end_that_was_asked_for_is_not() -> None:
    assert told() == ["is missing from the listing"]
    assert told(records=(replace(RECORD, ending=True),)) == []
    assert told(MACHINE, records=(replace(RECORD, ending=True),)) == ["was asked to terminate and is still running"]
    assert told(MACHINE, replace(MACHINE, id="i-2")) == ["is not in the state"]
    assert told(MACHINE, replace(MACHINE, id="i-2", tags={})) == []
