"""What the commands of docs/harvest.md print, and its picture: ``python docs/make_harvest.py``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from make_guides import _hcloud

PAGE = Path(__file__).parent / "harvest.md"
DRAWN = "idle.png"
PRINTED = re.compile(r"```console\n\$ hcloud ([^\n]*)\n.*?```\n", re.DOTALL)


def _printed(words: list[str]) -> str:
    """What a command prints; a picture goes beside the page."""
    with TemporaryDirectory() as folder:
        picture = Path(folder) / DRAWN
        code, told = _hcloud([str(picture) if word == DRAWN else word for word in words])
        assert code == 0, told
        if picture.exists():
            shutil.copy(picture, PAGE.with_suffix(".png"))
    return "\n".join(line.rstrip() for line in told.replace(str(picture), DRAWN).strip("\n").splitlines()) + "\n"


def main() -> None:
    """Write the page and its picture anew."""
    text = PAGE.read_text(encoding="utf-8")
    page = PRINTED.sub(lambda m: f"```console\n$ hcloud {m[1]}\n{_printed(m[1].split())}```\n", text)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
