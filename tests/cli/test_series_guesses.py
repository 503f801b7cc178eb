"""What a series of bare values is taken to mean is told after short history, with the flag that says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.store.plan_file import load_plan

NOW = ("--now", "2026-11-20T12:00:00Z")


@pytest.mark.parametrize("prefix", ["", "workload.options."])
def test_guesses_of_a_series_are_warned_of_next_to_short_history_until_they_are_set(
    tmp_path: Path, prefix: str
) -> None:
    rows = [f"{300 * i},{30 + i % 40}" for i in range(600)]
    (tmp_path / "util.csv").write_text("\n".join(["timestamp,value", *rows]) + "\n", encoding="utf-8")
    words = ["plan", str(tmp_path / "util.csv"), "--out", str(tmp_path / "plan.json"), *NOW, "-q"]
    assert run(words) == 0
    history, value, cores = load_plan(tmp_path / "plan.json").warnings[:3]
    assert "planning.history_1y" in history
    assert "--set series_value=" in value
    assert "--set series_cores=" in cores
    assert run([*words, "--set", f"{prefix}series_cores=64", "--set", f"{prefix}series_value=percent"]) == 0
    plan = load_plan(tmp_path / "plan.json")
    assert not any("series_" in warning for warning in plan.warnings)
    assert "100 % is 64 vCPUs" in str(plan.assumptions)
