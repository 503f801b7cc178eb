"""Every example has a README and a run, and the run comes out well."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(p.parent for p in ROOT.glob("*/run") if (p.parent / "hcloud.yaml").is_file())


@pytest.fixture
def command(tmp_path: Path) -> str:
    """An ``hcloud`` that runs with this interpreter."""
    script = tmp_path / "hcloud"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hcloud "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return str(script)


@pytest.mark.usefixtures("quick_starts")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.name)
def test_the_run_of_an_example(example: Path, command: str, tmp_path: Path) -> None:
    assert (example / "README.md").is_file()
    out = tmp_path / "plan.json"
    words = [str(example / "run"), "--out", str(out)]
    done = subprocess.run(words, env={**os.environ, "HCLOUD": command}, capture_output=True, text=True, check=True)
    assert "this plan" in done.stdout
    plan = json.loads(out.read_text(encoding="utf-8"))
    assert any(line["term_years"] for line in plan["mix"])
    if example.name == "six-weeks":  # what `make run` shows commits on enough
        assert plan["history"]["is_enough"]
        assert plan["workload"]["hours"] >= 4 * 7 * 24
        assert not any("of history" in warning for warning in plan["warnings"])


@pytest.mark.usefixtures("quick_starts")
def test_the_run_of_idle_hours(command: str) -> None:
    run = ROOT / "idle-hours" / "run"
    done = subprocess.run([str(run)], env={**os.environ, "HCLOUD": command}, capture_output=True, text=True, check=True)
    assert "against on-demand machines at" in done.stdout


def test_the_generated_use_is_what_its_seed_makes() -> None:
    made = runpy.run_path(str(ROOT / "idle-hours" / "generate.py"))
    for name in ("servers", "util", "disks", "reimages"):
        text = "\n".join(made[name]()) + "\n"
        assert text == (ROOT / "idle-hours" / f"{name}.csv").read_text(encoding="utf-8")


def test_the_generated_trace_is_what_its_seed_makes() -> None:
    folder = ROOT / "six-weeks"
    made = runpy.run_path(str(folder / "generate.py"))["text"]()
    assert made == (folder / "trace.csv").read_text(encoding="utf-8")
