"""What the commands of the guides print, written into them: ``python docs/make_guides.py``; a test holds them to that.

A block of ``console`` holds commands after ``$``, each followed by what it prints on stdout and, where it is not 0, its
exit code; a command that ends in a remark shows nothing. A block of ``yaml`` or ``csv`` that begins with ``# NAME`` is
a file. The commands of a page run one after the other: of one that names examples/own-trace in a copy of that, which
gets a second trace, day.csv; of any other in an empty folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from unittest.mock import patch

GUIDES = Path(__file__).parent / "guides"
PAGES = ("plan.md", "measure.md", "../targets.md")
EXAMPLE = Path(__file__).parents[1] / "examples" / "own-trace"
COLUMNS = "100"
COMMAND = re.compile(r"\$ (?:hcloud|awk|sed|head) ")
"""Lines of output may begin with a dollar, too."""


def day() -> str:
    """Services that always run and a burst of batch jobs every hour, for a day."""
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"web-{i},0,86000,8,16,service" for i in range(12)]
    rows += [f"etl-{h}-{i},{h * 3600 + 600 + 7 * i},900,2,4,batch" for h in range(24) for i in range(24)]
    return "\n".join(rows) + "\n"


def refreshed(text: str, folder: Path) -> str:
    """A guide with what its commands print now."""
    folder.mkdir(exist_ok=True)
    if EXAMPLE.name in text:
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
        (folder / "day.csv").write_text(day(), encoding="utf-8")

    def block(found: re.Match[str]) -> str:
        kind, content = found[1], found[2]
        if kind == "console":
            commands = [line.removeprefix("$ ") for line in content.splitlines() if COMMAND.match(line)]
            return "```console\n" + "\n".join(line for command in commands for line in _run(command)) + "\n```"
        if name := re.match(r"# (\S+)\n", content):
            text = content if kind == "yaml" else content.removeprefix(name[0])
            (folder / name[1]).parent.mkdir(exist_ok=True)
            (folder / name[1]).write_text(f"{text}\n", encoding="utf-8")
        return found[0]

    surroundings = {"COLUMNS": COLUMNS, "HYC_PRICES": str(folder / ".prices")}
    with contextlib.chdir(folder), patch.dict(os.environ, surroundings):
        return re.sub(r"```(console|yaml|csv)\n(.*?)\n?```", block, text, flags=re.DOTALL)


def _run(command: str) -> list[str]:
    """A command and what it prints."""
    words = shlex.split(command, comments=True)
    code, told = _hcloud(words[1:]) if words[0] == "hcloud" else _other(command)
    shown = [] if " #" in command else told.splitlines()
    return [f"$ {command}", *shown, *([f"exit code {code}"] if code else [])]


def _hcloud(words: list[str]) -> tuple[int, str]:
    from hcloud.cli.main import run

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = run(words)
    return code, out.getvalue()


def _other(command: str) -> tuple[int, str]:
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def main() -> None:
    """Write every guide anew."""
    for name in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            page = GUIDES / name
            page.write_text(refreshed(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
