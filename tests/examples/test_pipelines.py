"""The ready pipelines run as they stand: their commands are taken from the files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "examples" / "ci"
INSTALL = "python -m pip install"


def github() -> list[str]:
    content = yaml.safe_load((FOLDER / "github.yml").read_text(encoding="utf-8"))
    return [step["run"] for step in content["jobs"]["rehearse"]["steps"] if "run" in step]


def gitlab() -> list[str]:
    job = yaml.safe_load((FOLDER / "gitlab.yml").read_text(encoding="utf-8"))["rehearse"]
    return [*job["before_script"], *job["script"]]


def readme() -> list[str]:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    return [line for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("pipeline", [github, gitlab, readme])
def test_a_pipeline_runs_as_it_stands(pipeline: Callable[[], Sequence[str]], tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, words in (("hcloud", "-m hcloud"), ("python", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(FOLDER / "hcloud.yaml", work)
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "CI": "true"}
    commands = [c for c in pipeline() if not c.startswith(INSTALL)]
    assert any(c.startswith("hcloud apply") for c in commands)
    for command in commands:
        done = subprocess.run(["sh", "-ec", command], cwd=work, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
