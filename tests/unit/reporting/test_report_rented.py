"""From a journal to rentals: launch to release, what still runs, the pool, spot, and whose a machine is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hcloud.model.catalog import PurchaseOption
from hcloud.model.report import MachineRental, Period
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import ClockTick, Ready
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.rules import Rules
from hcloud.usecases.reports.rented import app_of, is_dated, rented_in

RULES = Rules._make([0] * len(Rules._fields))
TYPES = (TypeFacts("m5.large", 2000, 8192, 30.0, 9000),)
DAY = 86_400


def setup(pool: int = 0, start: float | None = 0.0) -> Setup:
    return Setup("HM", "0" * 64, RULES, False, pool, start, TYPES)


def told(
    at: float, action: DecisionAction, instance: int, place: str = "on-demand m5.large", job: str = "7"
) -> Decision:
    return Decision(at, action, job, instance, place, "x", None, "", "")


def test_a_machine_is_rented_from_launch_to_release_in_whole_seconds_outwards() -> None:
    entries = (
        told(10.9, DecisionAction.LAUNCH, 3),
        Ready(40.0, 3),
        told(70.1, DecisionAction.RELEASE, 3),
        ClockTick(100.0),
    )
    found = rented_in(setup(), entries, DAY)
    assert found.rented == (
        MachineRental("on-demand-3", "on-demand", "m5.large", "", PurchaseOption.ON_DEMAND, DAY + 10, DAY + 71),
    )
    assert found.period == Period(DAY, DAY + 100)


def test_what_was_not_released_still_runs() -> None:
    (one,) = rented_in(setup(), (told(5.0, DecisionAction.LAUNCH, 0), ClockTick(9.0)), 0).rented
    assert one.end is None


def test_nobody_pays_for_a_machine_that_could_not_be_launched() -> None:
    failed = replace(told(6.0, DecisionAction.RELEASE, 3), reason="launch-failed")
    assert rented_in(setup(), (told(5.0, DecisionAction.LAUNCH, 3), failed, ClockTick(9.0)), 0).rented == ()


def test_a_launch_that_was_held_back_is_paid_from_when_it_began() -> None:
    entries = (told(5.0, DecisionAction.LAUNCH, 3), Ready(80.5, 3, 15.2), told(90.0, DecisionAction.RELEASE, 3))
    (one,) = rented_in(setup(), entries, 0).rented
    assert (one.start, one.end) == (65, 90)


def test_a_lost_reserved_server_is_paid_on_and_replaced_under_the_same_commitment() -> None:
    large = replace(setup(pool=2), rules=RULES)
    entries = (
        told(5.5, DecisionAction.RELEASE, 1, "reserved server 1"),
        told(8.5, DecisionAction.LAUNCH, 7, "reserved server 7"),
        ClockTick(100.0),
    )
    found = rented_in(large, entries, 0)
    assert [(u.resource, u.start, u.end) for u in found.rented] == [
        ("reserved-0", 0, 100),
        ("reserved-1", 0, 6),
        ("reserved-7", 8, 100),
    ]
    assert found.pool == {"m5.large": 2}
    grown = (*entries, told(9.0, DecisionAction.LAUNCH, 8, "reserved server 8"))
    assert rented_in(large, grown, 0).pool == {"m5.large": 3}


def test_placing_a_job_rents_nothing() -> None:
    assert rented_in(setup(), (told(5.0, DecisionAction.PLACE, 0), told(6.0, DecisionAction.RETAIN, 0)), 0).rented == ()


def test_spot_is_told_apart() -> None:
    (one,) = rented_in(setup(), (told(5.0, DecisionAction.LAUNCH, 0, "spot m5.large"),), 0).rented
    assert (one.option, one.address) == (PurchaseOption.SPOT, "spot")


def test_the_pool_is_there_from_beginning_to_end() -> None:
    found = rented_in(setup(pool=2), (ClockTick(3600.0),), 0)
    assert [(u.resource, u.address, u.start, u.end) for u in found.rented] == [
        ("reserved-0", "reserved", 0, 3600), ("reserved-1", "reserved", 0, 3600),
    ]  # fmt: skip
    assert found.pool == {"m5.large": 2}


@pytest.mark.parametrize(("job", "app"), [("web/17", "web"), ("a/b/c", "a/b"), ("17", ""), ("", "")])
def test_a_job_says_whose_it_is_before_its_last_slash(job: str, app: str) -> None:
    assert app_of(job) == app
    (one,) = rented_in(setup(), (told(5.0, DecisionAction.LAUNCH, 0, job=job),), 0).rented
    assert one.address == (app or "on-demand")


def test_a_live_journal_bears_dates_and_a_simulated_one_does_not() -> None:
    assert not is_dated(setup(), ())
    assert is_dated(setup(start=1.7e9), ())
    assert is_dated(setup(start=None), (ClockTick(1.7e9),))
    found = rented_in(setup(start=None), (ClockTick(1.7e9), ClockTick(1.7e9 + 60)), 0)
    assert found.period == Period(1_700_000_000, 1_700_000_060)


def test_an_empty_journal_is_a_second_of_nothing() -> None:
    found = rented_in(setup(), (), 0)
    assert (found.rented, found.period) == ((), Period(0, 1))
