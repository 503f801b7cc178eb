"""Bring the screens of docs/tutorial.md up to date: ``python docs/make_tutorial.py``.

Its commands are run as they stand, and a line that is shown and not there any more is replaced by the one on the screen
that is most like it.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = ROOT / "docs" / "tutorial.md"
LEFT_OUT = "..."
BY_THE_CLOCK = re.compile(r"[\d,]+ days old|\$[\d,]+\.\d\d\s+-3\d\.\d%")
"""What differs from day to day, and with the hour: a report from today's midnight on is of some more hours or less."""
LIKENESS = 0.4


@dataclass(frozen=True, slots=True)
class Step:
    """A command and the lines that are shown of its screen."""

    command: str
    shown: tuple[str, ...]


def steps(text: str) -> list[Step]:
    """Every command of a page, in order."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"(?s)```console\n(.*?)```", text):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            elif line.strip() and line != LEFT_OUT:
                found[-1][1].append(line)
    return [Step(command, tuple(shown)) for command, shown in found]


def screens(commands: Sequence[str], folder: Path, added: Mapping[str, str]) -> Iterator[str]:
    """What each command prints, in a folder that looks like a clone to its reader, with something added to the
    environment; RuntimeError where one fails."""
    tools, work = folder / "bin", folder / "work"
    tools.mkdir()
    work.mkdir()
    (tools / "hcloud").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hcloud "$@"\n', encoding="utf-8")
    (tools / "hcloud").chmod(0o755)
    (work / "examples").symlink_to(ROOT / "examples")
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
        "HYC_PRICES": str(folder / "prices"),
        **added,
    }
    for command in commands:
        words = ["sh", "-c", f"exec 2>&1; {command}"]
        done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{command}\n{done.stdout}")
        yield done.stdout


def comparable(line: str) -> str:
    """A line without what differs from day to day."""
    return " ".join(BY_THE_CLOCK.sub("#", line).split())


def missing(shown: Sequence[str], screen: str) -> list[str]:
    """Lines that are shown and do not follow in this order on the screen."""
    lines = iter([comparable(line) for line in screen.splitlines()])
    return [line for line in shown if comparable(line) not in lines]


def renewed(shown: Sequence[str], screen: str) -> Iterator[tuple[str, str]]:
    """Each line that is shown, and what stands on the screen in its place."""
    lines = [line.rstrip() for line in screen.splitlines()]
    for line in shown:
        close = difflib.get_close_matches(line, lines, n=1, cutoff=LIKENESS)
        yield line, (line if comparable(line) in map(comparable, lines) else close[0] if close else line)


def main() -> None:
    """Rewrite the page where its screens have changed."""
    text = TUTORIAL.read_text(encoding="utf-8")
    found = steps(text)
    with tempfile.TemporaryDirectory() as folder:
        told = screens([step.command for step in found], Path(folder), {})
        for step, screen in zip(found, told, strict=True):
            for before, after in renewed(step.shown, screen):
                text = text.replace(f"\n{before}\n", f"\n{after}\n", 1) if before != after else text
    TUTORIAL.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
