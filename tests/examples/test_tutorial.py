"""The tutorial runs as it stands, and every line that it shows is on the screen of its command, in that order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
LEFT_OUT = "..."
BY_THE_CLOCK = re.compile(r"\d+ days old|\$[\d,]+\.\d\d(?=\s+-37\.1 %)")
"""What differs from day to day, and with the seconds that a command took."""


def steps(text: str) -> list[tuple[str, list[str]]]:
    """Every command of the page, and the lines that are shown of its screen."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"(?s)```console\n(.*?)```", text):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            elif line.strip() and line != LEFT_OUT:
                found[-1][1].append(line)
    return found


def missing(shown: list[str], screen: str) -> list[str]:
    """Lines that are shown and do not follow in this order on the screen."""
    lines = iter([BY_THE_CLOCK.sub("#", line).rstrip() for line in screen.splitlines()])
    return [line for line in shown if BY_THE_CLOCK.sub("#", line).rstrip() not in lines]


@pytest.fixture
def workplace(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A folder that looks like a clone to its reader, and an ``hcloud`` on the path."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "hcloud").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hcloud "$@"\n', encoding="utf-8")
    (tools / "hcloud").chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    (work / "examples").symlink_to(ROOT / "examples")
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return work, {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}


def test_the_tutorial_runs_and_shows_what_comes(workplace: tuple[Path, dict[str, str]]) -> None:
    work, environment = workplace
    found = steps(TUTORIAL.read_text(encoding="utf-8"))
    assert len(found) > 15
    assert sum(len(shown) for _, shown in found) > 30
    wrong = {}
    for command, shown in found:
        done = subprocess.run(
            ["sh", "-c", f"exec 2>&1; {command}"], cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stdout)
        if lines := missing(shown, done.stdout):
            wrong[command] = (lines, done.stdout)
    assert wrong == {}


def test_a_line_that_is_not_there_would_be_found() -> None:
    assert missing(["b", "c"], "a\nb\nx") == ["c"]
    assert missing(["b", "a"], "a\nb") == ["a"]
