"""A rehearsal that is kept between verbs: through kills, through months, and refused where it is damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from renting import billed_by

from hcloud.cli.main import run
from hcloud.fake.bill import FakeBill, bill
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.fake.tariffs import MemoryTariff
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder
from hcloud.readers.configuration.config import load_config
from hcloud.units import cents
from hcloud.usecases.live.ground import opened
from hcloud.usecases.live.places import CloudSelection

pytestmark = pytest.mark.usefixtures("quick_starts")

KEPT = Path(".hcloud") / "fake-aws.json"
FLEET = [
    {"address": "batch", "instance_type": "m5.xlarge", "count": 2},
    {"address": "web", "instance_type": "m5.large", "count": 3},
]


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("CI", raising=False)
    config = {"live": {"cloud": "fake", "project": "demo"}, "fleet": FLEET}
    Path("hcloud.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def kept() -> Any:
    return json.loads(KEPT.read_bytes())


def killed_at(point: str, *words: str) -> None:
    """A real process that ends at a crash point, as kill -9 would end it."""
    done = subprocess.run(
        [sys.executable, "-m", "hcloud", *words],
        env={**os.environ, "HYC_CRASH_AT": point},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 137, done.stderr


MADE = {"run.state.saved": 0, "launch.intent.fsynced": 0, "launch.answered|2": 5}
"""Machines that the cloud has when the process dies there."""


@pytest.mark.parametrize("point", MADE)
def test_A1_a_kill_amid_an_apply_on_a_rehearsal_leaves_its_machines_and_resuming_ends_it(
    point: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "--out", "plan.json"]) == 0
    killed_at(point, "apply", "plan.json", "-y")
    assert (len(kept()["machines"]) if KEPT.exists() else 0) == MADE[point]
    capsys.readouterr()
    assert run(["apply", "plan.json", "-y", "--resume"]) == 0
    assert len(kept()["machines"]) == 5, "neither one too many nor one too few"
    assert run(["plan", "--detailed-exitcode"]) == 0


def test_A2_a_kill_amid_a_destroy_leaves_what_was_ended_as_ended() -> None:
    assert run(["apply", "-y"]) == 0
    killed_at("terminate.answered", "destroy", "-y", "--ends", "5")
    assert all(m["asked_to_end"] for m in kept()["machines"])
    assert run(["destroy", "-y", "--ends", "5"]) == 0
    assert run(["gc"]) == 0


def test_time_passes_on_a_rehearsal_and_stays_passed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "-y"]) == 0
    before = kept()["now"]
    capsys.readouterr()
    assert run(["fake", "wait", "30d"]) == 0
    assert "aws: 30d later: " in capsys.readouterr().out
    assert kept()["now"] - before == pytest.approx(30 * 86_400, abs=60)
    assert run(["status", "--json"]) == 0
    assert kept()["now"] - before >= 30 * 86_400


@pytest.mark.parametrize(
    ("words", "said"),
    [(["30"], "DURATION: '30'"), (["-1d"], "DURATION"), (["20y"], "ten years"), (["1d", "--cloud", "local"], "")],
)
def test_time_goes_neither_back_nor_elsewhere(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fake", "wait", "--", *words] if words[0].startswith("-") else ["fake", "wait", *words]) == 64
    assert said in capsys.readouterr().err


def _without_order(document: Any) -> None:
    document["purchases"] = [
        {
            "id": "p-1", "option": "reserved-instance", "offering": "o", "instance_type": "m5.large", "count": 1,
            "hourly": "0.05", "upfront": "0", "term_seconds": 31536000, "bought_at": 1.0, "starts_at": 1.0,
            "detail": {},
        }
    ]  # fmt: skip


def _of_no_kind(document: Any) -> None:
    _without_order(document)
    document["purchases"][0]["option"] = "borrowed"


def _stray(document: Any) -> None:
    document["orders"][0]["ids"] = ["i-nobody"]


def _never(document: Any) -> None:
    document["now"] = float("nan")


def _no_number(document: Any) -> None:
    document["machines"][0]["made_at"] = "yesterday"


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (_without_order, "purchases.0.detail.order"),
        (_of_no_kind, "purchases.0.option"),
        (_stray, "orders.0.ids"),
        (_never, "now"),
        (_no_number, "machines.0.made_at"),
    ],
)
def test_H6_a_damaged_rehearsal_is_refused_with_the_place_and_what_to_do(
    damage: Callable[[Any], None], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["apply", "-y"]) == 0
    document = kept()
    damage(document)
    KEPT.write_text(json.dumps(document), encoding="utf-8")
    capsys.readouterr()
    assert run(["status"]) == 1
    err = capsys.readouterr().err
    assert named in err.replace("\n", "")
    assert "remove it" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\0\0\0", b"{}"])
def test_H3_what_is_no_rehearsal_is_refused(content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    KEPT.parent.mkdir()
    KEPT.write_bytes(content)
    assert run(["status"]) == 1
    assert "is no rehearsal that can be gone on with" in capsys.readouterr().err


def bought_by_a_person() -> None:
    """Two reserved instances, bought in the console of the rehearsal."""
    order = CommitmentOrder("", PurchaseOption.RESERVED, "m5.large", 1, Payment.PARTIAL, 2)
    with opened(load_config(), CloudSelection(), datetime.now(UTC)) as ground:
        ground.cloud.buy(ground.cloud.quote(order))


def own_bill(document: Any) -> FakeBill:
    """What the rehearsal itself charges for the span of a report."""
    span = (int(datetime.fromisoformat(document["period"][end]).timestamp()) for end in ("start", "end"))
    with opened(load_config(), CloudSelection(), datetime.now(UTC)) as ground:
        assert isinstance(ground.cloud, MemoryCloud)
        return bill(ground.cloud.ledger, MemoryTariff(ground.cloud.world), *span)


def test_a_month_on_a_rehearsal_is_reported_as_it_bills_it(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = [*FLEET, {"address": "cheap", "instance_type": "m5.large", "count": 1, "option": "spot"}]
    config = {"live": {"cloud": "fake", "project": "demo"}, "fleet": fleet}
    Path("hcloud.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert run(["plan", "--out", "plan.json"]) == 0
    killed_at("launch.answered|2", "apply", "plan.json", "-y")
    assert run(["apply", "plan.json", "-y", "--resume"]) == 0
    assert run(["fake", "wait", "9d"]) == 0
    bought_by_a_person()
    assert run(["fake", "wait", "100h"]) == 0
    config["fleet"] = [FLEET[0], {**FLEET[1], "count": 1}]
    Path("hcloud.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert run(["apply", "-y", "--ends", "3"]) == 0
    assert run(["fake", "wait", "9d"]) == 0
    killed_at("terminate.answered", "destroy", "-y", "--ends", "3")
    assert run(["destroy", "-y", "--ends", "3"]) == 0
    assert run(["fake", "wait", "3d"]) == 0
    capsys.readouterr()
    assert run(["report", "cost", "--from", f"{date.today()}", "--by", "day", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    billed = own_bill(document)
    assert cents(Decimal(document["costs"]["billed"])) == cents(billed.total) > 100
    days = {group["keys"]["day"]: cents(Decimal(group["costs"]["billed"])) for group in document["groups"]}
    assert days == {str(datetime.fromtimestamp(at, UTC).date()): cents(d) for at, d in billed_by(billed, "day").items()}
