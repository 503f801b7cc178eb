"""What the commands of docs/harvest.md print, and its picture: ``python docs/make_harvest.py``
(``grid.png``: of the commands with that word alone)."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from make_guides import _hcloud

PAGE = Path(__file__).parent / "harvest.md"
DRAWN = {"idle.png": "harvest.png", "grid.png": "grid.png"}
"""Pictures that the commands draw, and what they are called beside the page."""
PRINTED = re.compile(r"```console\n\$ hcloud ([^\n]*)\n.*?```\n", re.DOTALL)


def _printed(words: list[str]) -> str:
    """What a command prints; a picture goes beside the page."""
    with TemporaryDirectory() as folder:
        code, told = _hcloud([str(Path(folder) / word) if word in DRAWN else word for word in words])
        assert code == 0, told
        for name, kept in DRAWN.items():
            if (picture := Path(folder) / name).exists():
                shutil.copy(picture, PAGE.with_name(kept))
        told = told.replace(f"{folder}/", "")
    return "\n".join(line.rstrip() for line in told.strip("\n").splitlines()) + "\n"


def main() -> None:
    """Write the page and its picture anew."""
    text = PAGE.read_text(encoding="utf-8")
    only = sys.argv[1:]  # words of the commands that are run; all where none are given

    def anew(m: re.Match[str]) -> str:
        if only and not set(only) & set(m[1].split()):
            return m[0]
        return f"```console\n$ hcloud {m[1]}\n{_printed(m[1].split())}```\n"

    page = PRINTED.sub(anew, text)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
