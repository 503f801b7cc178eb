"""Rows I1 to I3 over the real SDKs: lost answers and crashes against the fake accounts, judged by their ledgers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from contract.conftest import rig_classes
from contract.rig import Rig
from purchasing import OPEN, CrashAt, Died, approved, go_on

from hcloud.control.ports import Cloud
from hcloud.errors import PartialError
from hcloud.live.buying.purchase import PurchaseContext, execute
from hcloud.model.holdings.purchase import Purchased, PurchaseItem, PurchaseOutcome, PurchasePlan, snapshot
from hcloud.planning.purchases.history import history
from hcloud.planning.purchases.unknown import GRACE
from hcloud.store.purchase_file import sealed
from hcloud.store.records.purchases import PurchaseLedger

A_WHILE = GRACE.total_seconds() + 60
KEY = "0123456789abcdef" * 2
ABLE = [name for name in ("aws", "gcp", "azure") if name in rig_classes()]
WAYS = [
    (name, how)
    for name, rig in rig_classes().items()
    if name in ABLE
    for how in ("as it is", "by key")
    if how == "as it is" or rig.commitment_by_key not in (Rig.commitment_by_key, rig.commitment)
]
"""A cloud whose purchases all take the key has one way."""
every_way = pytest.mark.parametrize(("opened", "how"), WAYS, indirect=["opened"])


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest) -> Iterator[Rig]:
    rig = rig_classes()[request.param]()
    rig.open()
    yield rig
    rig.close()


@dataclass
class Wired:
    """A real provider with a ledger of purchases beside it, and the account that it talks to."""

    rig: Rig
    by_key: bool
    directory: Path
    later: timedelta | None = None

    @classmethod
    def new(cls, rig: Rig, how: str, directory: Path) -> Wired:
        rig.reset()
        later = timedelta(hours=2) if "later" in how else None
        return cls(rig, how.startswith("by key"), directory / ".hcloud", later)

    @property
    def ledger(self) -> PurchaseLedger:
        return PurchaseLedger(self.directory)

    @property
    def bought(self) -> int:
        return len(self.rig.fake.ledger.purchases)

    @property
    def operation(self) -> str:
        words = self.rig.words
        return words.buy_by_key or words.buy if self.by_key else words.buy

    def plan(self) -> PurchasePlan:
        cloud = self.rig.cloud()
        at = datetime.fromtimestamp(self.rig.fake.clock.now(), UTC)
        order = self.rig.commitment_by_key(KEY) if self.by_key else self.rig.commitment(KEY)
        quote = cloud.quote(replace(order, starts=None if self.later is None else at + self.later))
        return sealed(
            PurchasePlan(
                lineage=self.ledger.begin(), scope=cloud.scope(), plan="d" * 64, prices="", generated_at=at,
                expires=at + timedelta(days=1), held=snapshot(cloud.commitments()), recorded=0,
                items=(PurchaseItem("somewhere", quote),),
            )
        )  # fmt: skip

    def apply(self, plan: PurchasePlan, crash: Callable[[str], None] = go_on) -> tuple[Purchased, ...]:
        cloud: Cloud = self.rig.cloud()
        return execute(plan, OPEN, approved, PurchaseContext(cloud, self.ledger, self.rig.fake.clock, crash))


@every_way
@pytest.mark.parametrize("answer", ["dropped-after", "nonsense"])
def test_I1_I2_a_lost_answer_never_buys_twice(opened: Rig, how: str, answer: str, tmp_path: Path) -> None:
    shop = Wired.new(opened, how, tmp_path)
    plan = shop.plan()
    opened.fault(answer, shop.operation, first=1)
    with suppress(PartialError):
        shop.apply(plan)
    assert shop.bought <= 1
    opened.faults({})
    opened.later(A_WHILE)
    (result,) = shop.apply(plan)
    assert result.outcome in (PurchaseOutcome.BOUGHT, PurchaseOutcome.FOUND)
    assert [result.id] == list(opened.fake.ledger.purchases)


@every_way
def test_I1_I2_a_crash_at_each_boundary_never_buys_twice(opened: Rig, how: str, tmp_path: Path) -> None:
    """With answers that are lost as well: in memory, in ``test_purchases.py``."""
    for number in range(1, 12):
        if not crash_at(number, opened, how, "", tmp_path, A_WHILE):
            return
    pytest.fail("the sweep did not come to its end")


@pytest.mark.parametrize("opened", ["aws"], indirect=True)
@pytest.mark.parametrize("how", ["later", "by key, later"])
@pytest.mark.parametrize("back", [A_WHILE, 3 * 3600.0])
def test_I1_I2_what_is_queued_for_a_later_time_is_never_bought_twice(
    opened: Rig, how: str, back: float, tmp_path: Path
) -> None:
    """Also where whoever comes back finds that it has begun meanwhile. Killed before it asks, and with no answer."""
    for number in (2, 3):
        crash_at(number, opened, how, "dropped-after", tmp_path, back)


def crash_at(number: int, opened: Rig, how: str, answer: str, tmp_path: Path, back: float) -> bool:
    """Killed at a boundary, and begun again at once and when so much time has passed; whether there was such a one."""
    (tmp_path / str(number)).mkdir()
    shop = Wired.new(opened, how, tmp_path / str(number))
    plan, crash = shop.plan(), CrashAt(number)
    opened.faults({"rules": [{"on": shop.operation, "answer": answer, "first": 1}] if answer else []})
    with suppress(Died, PartialError):
        shop.apply(plan, crash)
    with suppress(PartialError):
        shop.apply(plan)
    assert shop.bought <= 1
    opened.faults({})
    opened.later(back)
    shop.apply(plan)
    assert shop.bought == 1
    assert not history(shop.ledger.entries()).open
    return len(crash.met) >= number


@every_way
def test_I3_the_same_plan_again_asks_for_nothing(opened: Rig, how: str, tmp_path: Path) -> None:
    shop = Wired.new(opened, how, tmp_path)
    plan = shop.plan()
    shop.apply(plan)
    asked = len(opened.requests(mutating=True))
    assert shop.apply(plan)[0].before
    assert len(opened.requests(mutating=True)) == asked
    assert shop.bought == 1
