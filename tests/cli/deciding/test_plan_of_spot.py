"""``hcloud plan`` says what batch work on spot would save, and plans it there where it is asked to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hcloud.cli.main import run

ON = ("--provider", "aws", "--family", "m5a", "--family", "m6a", "--now", "2026-11-20T12:00:00Z")


def planned(path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    assert run(["plan", str(path), *ON, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("kinds", "words"), [("", "all jobs, if they are batch,"), ("batch service", "all batch")])
def test_what_all_batch_on_spot_would_save_is_what_that_plan_costs_less(
    kinds: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spot was named nowhere unless it was asked for; and a plan of nothing else ended in an error."""
    named = kinds.split() or [""]
    rows = [
        f"{kind}{day}-{n},{day * 86_400},{86_400 if n % 2 else 30_000},4,16,{kind}".rstrip(",")
        for kind in named
        for day in range(14)
        for n in range(6)
    ]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([f"id,submit,duration,cores,memory{',kind' * bool(kinds)}", *rows]), encoding="utf-8")
    without = planned(path, capsys)
    (told,) = (one for one in without["reasons"] if "on spot would save" in one)
    assert told.startswith(words)
    monkeypatch.setenv("HYC_PLANNING__SPOT_SHARE_OF_BATCH", "1")
    on_spot = planned(path, capsys)
    assert any(line["option"] == "spot" for line in on_spot["mix"])
    assert any(line["option"] != "spot" for line in on_spot["mix"]) == bool(kinds)
    saved = float(without["after"]["monthly"]) - float(on_spot["after"]["monthly"])
    assert float(told.partition("$")[2].split()[0].replace(",", "")) == pytest.approx(saved, abs=1.0)
    assert not [one for one in on_spot["reasons"] if "on spot would save" in one]
    turned = [one for one in on_spot["refusals"] if one.get("flip") or one.get("flips_if")]
    assert bool(turned) == bool(kinds), "no price of a machine beside spot that serves all is low enough"
    assert "lasts inf months" not in json.dumps(on_spot)


def test_of_services_alone_nothing_is_said_of_spot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "services.csv"
    rows = "".join(f"s{n},0,1209600,4,16,service\n" for n in range(6))
    path.write_text(f"id,submit,duration,cores,memory,kind\n{rows}", encoding="utf-8")
    assert "spot" not in " ".join(planned(path, capsys)["reasons"])
