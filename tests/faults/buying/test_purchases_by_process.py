"""Row I1 with real processes: ``hcloud commit apply`` ends at each boundary, and the next run buys nothing twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from contract.rigs.aws import AwsRig

from benchmarks.children import Forker, Job
from hcloud.model.holdings.purchase import PurchaseItem, PurchasePlan, snapshot
from hcloud.store.files.crash import KILLED_EXIT
from hcloud.store.purchase_file import save_purchase_plan, sealed
from hcloud.store.records.purchases import PurchaseLedger
from hcloud.units import cents, plain

Told = Callable[..., tuple[int, str]]
KEY = "fedcba9876543210" * 2
POINTS = ("commit.quoted", "commit.intended", "store.append.written", "commit.answered", "commit.concluded")


@pytest.fixture(scope="module")
def opened() -> Iterator[AwsRig]:
    rig = AwsRig()
    rig.open()
    yield rig
    rig.close()


@pytest.fixture
def rig(opened: AwsRig) -> AwsRig:
    opened.reset()
    return opened


def planned(rig: AwsRig, home: Path, *, by_key: bool) -> PurchasePlan:
    """A purchase plan in a file, as ``commit plan`` would write it."""
    cloud, at = rig.cloud(), datetime.now(UTC) - timedelta(minutes=1)
    quote = cloud.quote(rig.commitment_by_key(KEY) if by_key else rig.commitment(KEY))
    plan = sealed(
        PurchasePlan(
            lineage=PurchaseLedger(home / ".hcloud").begin(), scope=cloud.scope(), plan="d" * 64, prices="",
            generated_at=at, expires=at + timedelta(hours=1), held=snapshot(cloud.commitments()), recorded=0,
            items=(PurchaseItem("somewhere", quote),),
        )
    )  # fmt: skip
    save_purchase_plan(plan, home / "buy.json")
    (home / "hcloud.yaml").write_text("commitments: {enabled: true, ceiling: 1000000}\n", encoding="utf-8")
    return plan


@pytest.fixture
def hcloud(forker: Forker, tmp_path: Path) -> Told:
    """Runs a process of its own, with credentials of the fake."""

    def run(*words: str, crash: str = "") -> tuple[int, str]:
        environment = {**os.environ, "HYC_ALLOW_PURCHASE": "1", "HYC_CRASH_AT": crash}
        environment |= {"AWS_ACCESS_KEY_ID": "anybody", "AWS_SECRET_ACCESS_KEY": "secret"}
        child = forker.start(Job(["commit", *words], environment, tmp_path))
        return child.wait(), child.said

    return run


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("point", POINTS)
def test_I1_a_process_that_ends_anywhere_never_buys_twice(
    rig: AwsRig, hcloud: Told, tmp_path: Path, point: str, by_key: bool
) -> None:
    plan = planned(rig, tmp_path, by_key=by_key)
    apply = ["apply", "buy.json", "--approve-commit", plan.digest, "--amount", plain(cents(plan.amount))]
    code, said = hcloud(*apply, crash=point)
    assert code == KILLED_EXIT, said
    bought = len(rig.fake.ledger.purchases)
    assert bought == (point in ("commit.answered", "commit.concluded"))
    code, said = hcloud(*apply)
    if code == 6:  # without a key only time tells, or a person who looks
        assert (by_key, bought, KEY in said) == (False, 0, True)
        assert hcloud("resolve", KEY, "--not-bought")[0] == 0
        code, said = hcloud(*apply)
    assert code == 0, said
    assert len(rig.fake.ledger.purchases) == 1
    assert "nothing was done" in hcloud("apply", "buy.json")[1]
    assert len(rig.fake.ledger.purchases) == 1


@pytest.mark.parametrize("by_key", [False, True])
def test_I3_two_processes_at_once_buy_once(rig: AwsRig, hcloud: Told, tmp_path: Path, by_key: bool) -> None:
    plan = planned(rig, tmp_path, by_key=by_key)
    apply = ["apply", "buy.json", "--approve-commit", plan.digest, "--amount", plain(cents(plan.amount))]
    with ThreadPoolExecutor(3) as pool:
        codes = [code for code, _ in pool.map(lambda _: hcloud(*apply), range(3))]
    assert set(codes) <= {0, 5}
    assert 0 in codes
    assert len(rig.fake.ledger.purchases) == 1
