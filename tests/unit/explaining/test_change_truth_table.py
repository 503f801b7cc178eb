"""Every line of the truth table of what has to change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from hcloud.model.catalog import Payment, Provider, PurchaseOption
from hcloud.model.holdings.change import Observed, Shape, Slot
from hcloud.model.holdings.live import (
    TAG_ADDRESS,
    TAG_KEY,
    TAG_LINEAGE,
    Launch,
    Machine,
    MachineState,
    Owner,
    Scope,
)
from hcloud.model.holdings.state import Deed, Intent, OwnedMachine, State
from hcloud.model.plans.plan import MixLine
from hcloud.planning.changes import diff
from hcloud.planning.changes.diff import DiffInputs, changes
from hcloud.planning.changes.recall import up_to_date

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
OLD = NOW - timedelta(hours=1)
LINEAGE = "a" * 32
SCOPE = Scope("aws", "111122223333", "eu-central-1")
SLOT = Slot("web", "m5.large", ("a", "b"), 2, Decimal("0.10"), fallbacks=(Shape("m6i.large", Decimal("0.12")),))
ON_DEMAND = PurchaseOption.ON_DEMAND
Shown = list[tuple[str, str, int, tuple[str, ...]]]


def machine(name: str, kind: str = "m5.large", zone: str = "a", state: str = "running", **tags: str) -> Machine:
    own = {TAG_LINEAGE: LINEAGE, TAG_ADDRESS: "web", TAG_KEY: "k" * 32}
    told = {k.replace("_", "-"): v for k, v in tags.items()}
    return Machine(name, kind, zone, MachineState(state), ON_DEMAND, OLD, {**own, **told})


def bare(name: str) -> Machine:
    return replace(machine(name), tags={})


def record(name: str, kind: str = "m5.large", zone: str = "a", **more: object) -> OwnedMachine:
    found = OwnedMachine(name, "web", "k" * 32, kind, zone, ON_DEMAND, 1, OLD)
    return replace(found, **more)  # type: ignore[arg-type]


def open_order(count: int, number: int = 7) -> Intent:
    order = Launch("q" * 32, "web", "m5.large", "a", count, Owner(LINEAGE, "p", "0"))
    return Intent(number, Deed.LAUNCH, NOW, "0", 1, order)


def observed(records: tuple[OwnedMachine, ...], machines: tuple[Machine, ...], **more: object) -> Observed:
    found = Observed(NOW, SCOPE, 3, State(LINEAGE, 3, 1, "p", SCOPE, records), machines)
    return replace(found, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    line: int
    want: int
    records: tuple[OwnedMachine, ...] = ()
    told: tuple[Machine, ...] = ()
    shown: Shown = field(default_factory=list)
    refused: tuple[str, ...] = ()
    noted: str = ""
    said: str = ""
    more: Mapping[str, object] = field(default_factory=dict)
    terms: DiffInputs = field(default_factory=DiffInputs)


A, B, C, D = (record(n) for n in "1234")
a, b, c, d = (machine(n) for n in "1234")
WRONG = machine("3", "t3.nano")
MISSED = record("2", missed_since=NOW)
BOUGHT = MixLine(
    "aws/us-east-1/m5.large/reserved-instance-1y", Provider.AWS, "us-east-1", "m5.large", PurchaseOption.RESERVED, 1,
    Payment.NONE, Decimal(4), 0, Decimal(8), Decimal(32), Decimal(1), Decimal(730), Decimal(0), Decimal(8760), None, 0,
    NOW.date(), "",
)  # fmt: skip

ADOPTED: Shown = [("~", "adopt", 0, ("3",))]

CASES = [
    Case(1, 0),
    Case(2, 2, shown=[("+", "launch", 2, ())]),
    Case(3, 2, (A, B), (a, b)),
    Case(3, 2, (A, record("2", "m6i.large", "b")), (a, machine("2", "m6i.large", "b"))),
    Case(4, 2, (A,), (a,), [("+", "launch", 1, ())]),
    Case(5, 2, (A, B, C), (a, b, c), [("-", "terminate", 0, ("1",))]),
    Case(5, 1, (A, B), (machine("1", "m6i.large"), b), [("-", "terminate", 0, ("1",))]),
    Case(5, 1, (A, B), (machine("1", zone="b"), b), [("-", "terminate", 0, ("1",))]),
    Case(5, 1, (A, record("2", intended=OLD - timedelta(hours=1))), (a, b), [("-", "terminate", 0, ("1",))]),
    Case(6, 0, (A, B), (a, b), [("-", "terminate", 0, ("1", "2"))]),
    Case(7, 2, (A, B), (a, machine("2", state="ended")), [("+", "launch", 1, ())]),
    Case(7, 2, (A, B), (a, machine("2", state="stopping")), [("+", "launch", 1, ())]),
    Case(8, 2, (A, C), (a, WRONG), [("~", "replace", 1, ("3",))]),
    Case(8, 2, (A, C), (a, machine("3", zone="z")), [("~", "replace", 1, ("3",))]),
    Case(9, 2, (A, B, C), (a, b, WRONG), [("-", "terminate", 0, ("3",))]),
    Case(10, 2, (A, B), (a, machine("2", state="pending")), [("~", "replace", 1, ("2",))]),
    Case(11, 2, (A, MISSED), (a,), refused=("unseen",)),
    Case(12, 2, (A, record("2", missed_since=NOW - timedelta(minutes=5))), (a,), [("+", "launch", 1, ())]),
    Case(13, 2, (A, B), refused=("unseen",), more={"told_none": True}),
    Case(14, 0, (A, MISSED), (a,), [("-", "terminate", 0, ("1",))], ("unseen",)),
    Case(15, 0, (replace(A, ending=True),), (a,), [("-", "terminate", 0, ("1",))]),
    Case(16, 0, (replace(A, ending=True),), (machine("1", state="stopping"),)),
    Case(16, 0, (replace(A, ending=True),)),
    Case(17, 2, (A,), (a, b), [("~", "adopt", 0, ("2",))]),
    Case(18, 2, (A, B), (a, b, replace(c, launched=OLD - timedelta(days=1))), [("-", "terminate", 0, ("3",))]),
    Case(18, 2, (A, B), (a, b, replace(c, tags={**c.tags, "hcloud-protected": ""})), ADOPTED, ("protected",)),
    Case(
        17, 2, (record("3", "t3.nano"),), (a, b, WRONG), [("~", "adopt", 0, ("1", "2"))], noted="adopted: apply again"
    ),
    Case(18, 1, (A,), (a, machine("2", zone="b")), [("-", "terminate", 0, ("2",))]),
    Case(19, 1, (A,), (a, replace(b, tags={TAG_LINEAGE: LINEAGE})), refused=("stray",)),
    Case(20, 1, (A,), (a, bare("2"), machine("3", hcloud_lineage="f" * 32))),
    Case(21, 1, (A, B), (bare("1"), b), [("-", "terminate", 0, ("2",))], ("untagged",)),
    Case(21, 0, (A,), (bare("1"),), refused=("untagged",)),
    Case(22, 0, (A, replace(B, protected=True)), (a, b), [("-", "terminate", 0, ("1",))], ("protected",)),
    Case(22, 1, (A, B), (a, machine("2", hcloud_protected="1")), [("-", "terminate", 0, ("1",))]),
    Case(22, 0, (A,), (machine("1", hcloud_protected="1"),), refused=("protected",)),
    Case(23, 3, (A,), (a,), [("~", "resolve", 2, ())], more={"open": (open_order(2),)}),
    Case(23, 4, (A,), (a,), [("~", "resolve", 2, ()), ("+", "launch", 1, ())], more={"open": (open_order(2),)}),
    Case(24, 2, (A,), (a,), [("~", "resolve", 1, ())], said="; 1 of its 2 is then", more={"open": (open_order(2),)}),
    Case(24, 0, shown=[("~", "resolve", 0, ())], said="; 2 of its 2 are then", more={"open": (open_order(2),)}),
    Case(25, 2, refused=("lost-state",), more={"strangers": (machine("9", hcloud_lineage="f" * 32),)}),
    Case(
        25,
        2,
        shown=[("+", "launch", 2, ())],
        noted="1 machine of 'hcloud profile run --cloud' beside these",
        more={"strangers": (machine("9", hcloud_lineage="f" * 32, hcloud_expires="20261201t01z"),)},
    ),
    Case(26, 2, (A, B), (a, machine("2", state="stopped")), noted="2 at web is stopped"),
    Case(27, 2, (A, B), (a, machine("2", state="unknown")), refused=("unseen",)),
    Case(28, 0, shown=[("$", "show", 4, ())], terms=DiffInputs(wanted=(BOUGHT,))),
    Case(
        28,
        0,
        shown=[("$", "show", 0, ())],
        terms=DiffInputs(wanted=(replace(BOUGHT, option=PurchaseOption.COMPUTE_SAVINGS_PLAN),)),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[f"line-{c.line}-case-{n}" for n, c in enumerate(CASES)])
def test_every_line_of_the_truth_table(case: Case) -> None:
    seen = observed(case.records, case.told, **case.more)
    seen = replace(seen, state=up_to_date(seen.state, {m.id: m for m in case.told}, NOW))
    slots = (replace(SLOT, count=case.want),) if case.want else ()
    found = changes(slots, seen, case.terms)
    shown = [(c.action.value, c.how.value, c.count, c.ids) for c in found.changes]
    assert shown == case.shown
    assert tuple(r.bar.value for r in found.refusals) == case.refused
    assert case.noted in " ".join(found.notes)
    assert all(c.reason for c in found.changes)
    assert case.said in " ".join(c.reason for c in found.changes)
    assert all(r.why for r in found.refusals)
    assert changes(slots, seen, case.terms) == found, "the same for the same input"
    assert found.is_settled == (not [s for s in shown if s[0] != "$"] and not case.refused)


def test_no_line_of_the_truth_table_is_without_a_case() -> None:
    lines = re.findall(r"^(\d+) ", diff.__doc__ or "", re.MULTILINE)
    assert {int(n) for n in lines} == {case.line for case in CASES}


def test_the_hourly_rate_before_and_after_is_told_to_the_cent() -> None:
    terms = DiffInputs(lambda name, _: Decimal("0.005") if name == "t3.nano" else None)
    found = changes((replace(SLOT, count=3),), observed((A, C), (a, WRONG)), terms)
    assert (found.hourly_before, found.hourly_after) == (Decimal("0.105"), Decimal("0.30"))
    assert [c.hourly for c in found.changes] == [Decimal("0.095"), Decimal("0.10")]
    assert (found.standing, found.coming, found.going) == (2, 2, ("3",))


def test_which_ones_end_does_not_depend_on_the_order_in_which_they_are_told() -> None:
    records, told = tuple(record(str(n)) for n in range(9)), tuple(machine(str(n)) for n in range(9))
    one = changes((SLOT,), observed(records, told))
    other = changes((SLOT,), observed(records[::-1], told[::-1]))
    assert one.changes == other.changes
    assert one.base == other.base


def test_a_change_set_knows_when_anything_in_it_was_altered() -> None:
    found = changes((SLOT,), observed((A,), (a,)))
    assert len(found.digest) == 64
    again = changes((SLOT,), observed((A,), (replace(a, state=MachineState.PENDING),)))
    assert again.base == found.base, "that a machine starts makes no plan stale"
    moved = changes((SLOT,), observed((A,), (replace(a, zone="b"),)))
    assert moved.base != found.base
