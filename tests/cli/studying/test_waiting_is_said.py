"""What a person reads while a verb waits, and what it says last when it could not go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from hcloud.cli.main import run


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("CI", raising=False)
    fleet = [{"address": "web", "instance_type": "m5.large", "count": 2}]
    live = {"cloud": "fake:faults.yaml", "project": "demo"}
    Path("hcloud.yaml").write_text(yaml.safe_dump({"live": live, "fleet": fleet}), encoding="utf-8")


def faults(**plan: Any) -> None:
    hurried = {"clock": {"speed": 500}, **plan}
    Path("faults.yaml").write_text(yaml.safe_dump(hurried), encoding="utf-8")


def test_after_a_cut_it_is_said_what_may_run_and_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    lost = {"on": "launch", "answer": "dropped-after"}
    cut = {"on": "machines", "answer": "dropped-before", "from_call": 3}
    faults(rules=[lost, cut])
    where = "--cloud fake:faults.yaml --state kept"
    assert run(["apply", "-y", *where.split()]) == 6
    said = " ".join(capsys.readouterr().err.split())
    assert "hcloud asks again, until " in said
    assert "request without a noted answer: web: " in said
    assert "x m5.large in " in said
    assert "may be running and cost money" in said
    assert f"'hcloud apply {where}' continues, 'hcloud recover {where}' rebuilds a lost state" in said
    faults()
    assert run(["apply", "-y", *where.split()]) == 0


def test_commitments_that_a_cloud_does_not_list_yet_are_waited_for_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    faults(rules=[{"on": "commitments", "answer": "throttled", "first": 4}], clock={"speed": 20})
    assert run(["commit", "list"]) == 0
    assert "hcloud asks again, until " in " ".join(capsys.readouterr().err.split())


def test_a_cloud_that_never_answers_leaves_nothing_done(capsys: pytest.CaptureFixture[str]) -> None:
    faults(rules=[{"on": "machines", "answer": "dropped-before"}])
    assert run(["apply", "-y"]) == 1
    assert "run the same command again once the cloud answers" in " ".join(capsys.readouterr().err.split())
