"""A month on every fake cloud, with all that may befall it: hcloud's charges are the fake's own bill, to the cent."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from renting import Renting, billed_by, opened, spot_notice

from hcloud.fake.server import Received, control
from hcloud.model.report import Charge, ChargeCategory, CommitmentStatus
from hcloud.planning.reports.report import Report
from hcloud.units import cents
from hcloud.usecases.reports.report import RequestedPeriod

BEGIN = datetime(2026, 11, 29, 10, 11, 12, 700_000, tzinfo=UTC)
END = datetime(2027, 1, 3, tzinfo=UTC)
MONTH = RequestedPeriod(date(2026, 12, 1), None, is_month=True)
ALL = RequestedPeriod(date(2026, 11, 29), date(2027, 1, 3))
HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture(params=["aws", "gcp", "azure", "memory_gcp", "memory_azure"])  # in memory for what it alone sells
def renting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Renting]:
    found = opened(request.param, tmp_path)
    yield found
    found.rig.close()


def a_month(renting: Renting) -> None:
    """Up and down, by hand and by the cloud, killed and gone on with, committed to, and ended."""
    rig = renting.rig
    renting.begin(BEGIN)
    assert renting.apply(renting.slot(4), renting.slot(1, "batch", 1)).exit_code == 0
    rig.later(2 * DAY + 5 * HOUR + 17)
    first, *more = renting.kind.sold
    renting.buy(*first)
    rig.later(DAY + 1234)
    spot_notice(renting, 3 * HOUR)
    assert (
        renting.apply(renting.slot(6), renting.slot(1, "batch", 1), renting.slot(1, "cheap", 1, spot=True)).exit_code
        == 0
    )
    rig.later(3 * HOUR + 120)
    look_after(renting, renting.slot(6), renting.slot(1, "batch", 1))
    rig.later(4 * DAY + 77)
    by_hand = min(m.id for m in rig.live() if m.tags["hcloud-address"] == "web")
    rig.fake.edit({"terminate": by_hand})
    look_after(renting, renting.slot(6), renting.slot(1, "batch", 1))
    for one in more:
        renting.buy(*one)
        rig.later(DAY / 2)
    renting.killed_at("launch.answered", renting.slot(8), renting.slot(2, "batch", 1))
    rig.later(10 * HOUR + 5)
    assert renting.apply(renting.slot(8), renting.slot(2, "batch", 1)).exit_code == 0
    rig.later(5 * DAY + 4)
    renting.killed_at("terminate.concluded", renting.slot(3), renting.slot(2, "batch", 1))
    rig.later(600)
    look_after(renting, renting.slot(3), renting.slot(2, "batch", 1))
    rig.later(30)
    assert renting.apply(renting.slot(4), renting.slot(2, "batch", 1)).exit_code == 0
    rig.later(20)  # less than a minute: where there is a minimum, it is charged
    assert renting.apply(renting.slot(3), renting.slot(2, "batch", 1)).exit_code == 0
    rig.later(9 * DAY)
    assert renting.destroy().exit_code == 0
    renting.begin(END)


def look_after(renting: Renting, *slots: object) -> None:
    """hcloud looks at the moment, and again when the cloud's silence has lasted: then it is as it should be."""
    renting.apply(*slots)  # type: ignore[arg-type]
    for _ in range(2):
        renting.rig.later(301)
        renting.apply(*slots)  # type: ignore[arg-type]
    assert renting.apply(*slots).exit_code == 0  # type: ignore[arg-type]


def sums(found: tuple[Charge, ...], by: str) -> dict[object, Decimal]:
    """Billed dollars by machine (a commitment is one, too) or by day, in cents."""
    result: defaultdict[object, Decimal] = defaultdict(Decimal)
    for charge in found:
        key = charge.start // 86_400 * 86_400 if by == "day" else charge.resource or charge.commitment
        result[key] += charge.costs.billed
    return {key: cents(dollars) for key, dollars in result.items() if cents(dollars)}


def in_cents(dollars: Mapping[Any, Decimal]) -> dict[Any, Decimal]:
    return {key: cents(amount) for key, amount in dollars.items() if cents(amount)}


def test_a_month_is_charged_as_the_cloud_itself_bills_it(renting: Renting) -> None:
    a_month(renting)
    assert not renting.rig.live()
    for span in (MONTH, ALL):
        report = renting.report(span)
        found, billed = report.charges, renting.bill(report.period)
        assert cents(sum((c.costs.billed for c in found), Decimal(0))) == cents(billed.total)
        assert sums(found, "resource") == in_cents(billed_by(billed, "resource"))
        assert sums(found, "day") == in_cents(billed_by(billed, "day"))
    assert billed.total > 100
    adds_up(renting, report)
    assert any(c.status is CommitmentStatus.UNUSED for c in found), "there is something to see"
    assert any(c.status is CommitmentStatus.USED for c in found)


def adds_up(renting: Renting, report: Report) -> None:
    """Of each commitment the used and the unused part are its share of time of all that it costs; what is effective is
    these and what was used on demand."""
    period, tariff = report.period, renting.tariff()
    amortised: dict[str, Decimal] = {}
    for purchase in renting.rig.fake.ledger.purchases.values():
        terms, begins = tariff.terms(purchase), int(purchase.starts_at)
        whole = terms.upfront + terms.hourly * purchase.term_seconds / 3600
        amortised[purchase.id] = whole * (period.end - begins) / purchase.term_seconds
    effective: defaultdict[str, Decimal] = defaultdict(Decimal)
    for charge in report.charges:
        effective[charge.commitment] += charge.costs.effective
    on_demand = effective.pop("")
    assert in_cents(effective) == in_cents(amortised)
    used = (c.costs.billed for c in report.charges if c.category is ChargeCategory.USAGE)
    assert on_demand == sum(used, Decimal(0))


@pytest.mark.parametrize(("renting", "days"), [("aws", 5), ("gcp", 5), ("gcp", 19), ("azure", 5)], indirect=["renting"])
def test_what_nobody_saw_end_is_charged_until_it_was_missed_and_said_to_be(renting: Renting, days: int) -> None:
    """By hand, and only seen days later: where the cloud tells no time any more, the report says so."""
    renting.begin(BEGIN)
    assert renting.apply(renting.slot(2)).exit_code == 0
    renting.rig.later(DAY)
    first = min(m.id for m in renting.rig.live())
    renting.rig.fake.edit({"terminate": first})
    gone = int(renting.now().timestamp())
    renting.rig.later(days * DAY)
    look_after(renting, renting.slot(2))
    renting.rig.later(DAY)
    told = days <= renting.kind.tells_ends
    [usage] = [u for u in renting.store.rentals().usages() if u.resource == first]
    assert (usage.end, usage.end_is_told) == (gone if told else gone + int(days * DAY), told)
    report = renting.report(RequestedPeriod(date(2026, 11, 29)))
    billed = billed_by(renting.bill(report.period), "resource")[first]
    charged = sum((c.costs.billed for c in report.charges if c.resource == first), Decimal(0))
    unseen = 0 if told else days * 24
    assert cents(charged - billed) == cents(renting.hourly(renting.kind.types[0]) * unseen)
    assert any("the cloud reported no end" in note for note in report.notes) == (not told)


@pytest.mark.parametrize("name", ["aws", "gcp", "azure"])
def test_a_fake_that_listens_tells_its_own_bill(name: str, tmp_path: Path) -> None:
    found = opened(name, tmp_path)
    try:
        found.begin(BEGIN)
        assert found.apply(found.slot(2)).exit_code == 0
        found.rig.later(DAY)
        start, end = int(BEGIN.timestamp()), int(found.now().timestamp())
        asked = Received("POST", "/_hcloud/bill", {}, {}, json.dumps({"from": start, "to": end}).encode(), "")
        told = json.loads(control(found.rig.fake, asked).body)
        assert cents(Decimal(told["total"])) == cents(found.hourly(found.kind.types[0]) * 2 * (end - start) / 3600)
        assert sum(Decimal(line["dollars"]) for line in told["lines"]) == Decimal(told["total"])
        wrong = Received("POST", "/_hcloud/bill", {}, {}, b'{"from": 0, "to": 9999999999}', "")
        assert control(found.rig.fake, wrong).status == 400
    finally:
        found.rig.close()
