"""A month on every fake cloud, with all that may befall it: hcloud's charges are the fake's own bill, to the cent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from renting import KINDS, Renting, opened, spot_notice

from hcloud.model.report import Charge, ChargeCategory, CommitmentStatus
from hcloud.units import cents

BEGIN = datetime(2026, 11, 29, 10, 11, 12, 700_000, tzinfo=UTC)
MONTH = datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
ALL = datetime(2026, 11, 29, tzinfo=UTC), datetime(2027, 1, 3, tzinfo=UTC)
HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture(params=KINDS)
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
    renting.begin(ALL[1])


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


def in_cents(dollars: dict[object, Decimal]) -> dict[object, Decimal]:
    return {key: cents(amount) for key, amount in dollars.items() if cents(amount)}


def test_a_month_is_charged_as_the_cloud_itself_bills_it(renting: Renting) -> None:
    a_month(renting)
    assert not renting.rig.live()
    for start, end in (MONTH, ALL):
        found, billed = renting.charges(start, end), renting.bill(start, end)
        assert cents(sum((c.costs.billed for c in found), Decimal(0))) == cents(billed.total)
        assert sums(found, "resource") == in_cents({**billed.by_resource()})
        assert sums(found, "day") == in_cents({**billed.by_day()})
    assert billed.total > 100
    adds_up(found)
    assert any(c.status is CommitmentStatus.UNUSED for c in found), "there is something to see"
    assert any(c.status is CommitmentStatus.USED for c in found)


def adds_up(found: tuple[Charge, ...]) -> None:
    """What is effective is what was used on demand and each commitment's share of time, used or not."""
    usage = sum((c.costs.billed for c in found if c.category is ChargeCategory.USAGE), Decimal(0))
    amortised = sum((c.costs.effective for c in found if c.commitment), Decimal(0))
    assert cents(sum((c.costs.effective for c in found), Decimal(0))) == cents(usage + amortised)
