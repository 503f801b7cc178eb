"""What the commands of docs/ci.md print, written into it: ``python docs/make_ci.py``; a test holds it to that.

A block of ``console`` holds commands after ``$``, each followed by what it prints on stdout and, where it is not 0, its
exit code. A block of ``yaml`` that begins with ``# NAME`` is a file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parent / "ci.md"
EXAMPLE = Path(__file__).parents[1] / "examples" / "own-trace"
COLUMNS = "100"
COMMAND = re.compile(r"\$ (?:hcloud|awk|sed|head) ")  # lines of output may begin with a dollar, too


def run(command: str, folder: Path) -> str:
    """A command and what it prints."""
    tools = folder / ".bin"
    tools.mkdir(exist_ok=True)
    (tools / "hcloud").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hcloud "$@"\n', encoding="utf-8")
    (tools / "hcloud").chmod(0o755)
    root = str(Path(__file__).parents[1])
    surroundings = {**os.environ, "COLUMNS": COLUMNS, "PYTHONPATH": root, "HYC_PRICES": str(folder / ".prices")}
    surroundings["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )
    code = [f"exit code {done.returncode}"] if done.returncode else []
    return "\n".join([f"$ {command}", *done.stdout.splitlines(), *code])


def refreshed(text: str, folder: Path) -> str:
    """The page with what its commands print now, run one after the other in a copy of the example."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)

    def block(found: re.Match[str]) -> str:
        kind, content = found[1], found[2]
        if kind == "console":
            commands = [line.removeprefix("$ ") for line in content.splitlines() if COMMAND.match(line)]
            return "```console\n" + "\n".join(run(command, folder) for command in commands) + "\n```"
        if name := re.match(r"# (\S+)\n", content):
            (folder / name[1]).write_text(content, encoding="utf-8")
        return found[0]

    return re.sub(r"```(console|yaml)\n(.*?)\n?```", block, text, flags=re.DOTALL)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), Path(temporary)), encoding="utf-8")
