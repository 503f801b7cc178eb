"""``--window`` and ``workload.window``: one rule for every verb that reads a trace, told on the screen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcloud.cli.main import run

NOW = ("--now", "2026-11-20T12:00:00Z")


@pytest.fixture
def drained(tmp_path: Path) -> Path:
    """Ten one-hour jobs an hour for a day, and one job that runs a day longer."""
    rows = [f"{hour * 3600},3600,1,4" for hour in range(24) for _ in range(10)]
    path = tmp_path / "drained.csv"
    path.write_text("\n".join(["submit,duration,cores,memory", "0,172800,1,4", *rows]) + "\n", encoding="utf-8")
    return path


def test_the_plan_reserves_for_the_day_and_says_what_it_cut(drained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", str(drained), "--provider", "aws", "--family", "m5", "--vcpus", "2", *NOW]
    assert run([*words, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert sum(float(m["vcpus"]) for m in plan["mix"] if m["term_years"]) >= 10
    assert plan["workload"]["window"]["rule"] == "arrivals"
    assert run(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "window: 24h, up to the last submission; not counted: the last 24h (draining)" in out
    assert "11 mean, 11 peak (means of 1h)" in out
    assert run(["workload", "show", str(drained)]) == 0
    assert "11 mean, 11 peak (means of 1h)" in capsys.readouterr().out


def test_the_flag_and_the_key_say_otherwise(
    drained: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["workload", "show", str(drained), "--window", "0..172800", "--json", *NOW]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["window"]["rule"], told["window"]["end"]) == ("asked", 172_800)
    assert told["figures"]["mean_cores"] == pytest.approx(6.0)
    config = drained.parent / "hcloud.yaml"
    config.write_text("workload: {path: drained.csv, window: 86400..172800}\n", encoding="utf-8")
    monkeypatch.chdir(drained.parent)
    assert run(["plan", "--json", *NOW]) == 0
    workload = json.loads(capsys.readouterr().out)["workload"]
    assert (workload["mean_cores"], workload["hours"]) == (1.0, 24.0)
    assert workload["left_out"] == {"outside the window": 240}
    assert run(["plan", str(drained), "--window", "1w", "--json", *NOW]) == 0, "all there is of a longer one"
    workload = json.loads(capsys.readouterr().out)["workload"]
    assert (workload["mean_cores"], workload["window"]["rule"]) == (11.0, "shorter")
    assert run(["workload", "show", str(drained), "--window", "1w"]) == 0
    assert "the whole trace, which is shorter than requested" in " ".join(capsys.readouterr().out.split())
    assert run(["plan", str(drained), "--window", "tomorrow"]) == 64
    assert "START..END" in capsys.readouterr().err
