"""The outputs on the page about explanations: ``python docs/make_explaining.py`` runs its commands and pastes them."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from pathlib import Path

PAGE = Path(__file__).parent / "explaining.md"
EXAMPLE = Path(__file__).parents[1] / "examples" / "high-variability" / "hcloud.yaml"
WIDTH = 88
BLOCK = re.compile(r"```console\n(.*?)```", re.S)


def trace() -> str:
    """Services that always run and a burst of batch jobs every hour, for a day."""
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"web-{i},0,86000,8,16,service" for i in range(12)]
    rows += [f"etl-{h}-{i},{h * 3600 + 600 + 7 * i},900,2,4,batch" for h in range(24) for i in range(24)]
    return "\n".join(rows) + "\n"


def rendered(page: str) -> str:
    """The page with what each of its commands prints now."""
    before, width = Path.cwd(), os.environ.get("COLUMNS")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["COLUMNS"] = str(WIDTH)
        try:
            Path("hcloud.yaml").write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
            Path("trace.csv").write_text(trace(), encoding="utf-8")
            return BLOCK.sub(lambda block: f"```console\n{_run_all(block[1])}```", page)
        finally:
            os.chdir(before)
            os.environ.pop("COLUMNS")
            if width is not None:
                os.environ["COLUMNS"] = width


def _run_all(block: str) -> str:
    """Each command of a block with its output; one that ends in a remark shows none of it."""
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{line}\n{_output(line)}" for line in commands)


def _output(line: str) -> str:
    from hcloud.cli.main import run

    words, out = shlex.split(line.removeprefix("$ hcloud "), comments=True), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = run([*words, "-q"])
    if code:
        raise RuntimeError(f"{line} ended with {code}")
    return "" if " #" in line else out.getvalue()


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
