"""What the commands of docs/harvest.md print, and its picture: ``python docs/make_harvest.py``
(``grid.png``: of the commands with that word alone; ``gains``: the table of what the parts buy, minutes)."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from make_guides import _hcloud

PAGE = Path(__file__).parent / "harvest.md"
DRAWN = {"idle.png": "harvest.png", "grid.png": "grid.png"}
"""Pictures that the commands draw, and what they are called beside the page."""
SYSTEMS, BESIDE, GAINS = ("stock", "aware", "history", "balanced", "classes"), "aware", "gains"
CHOOSING = ("history", "classes")
ROWS = re.compile(r"\| `(scenario:[^`]*)` \|[^\n]*\n(?:\| \|[^\n]*\n)*")
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


def _percent(change: float) -> str:
    return f"{change:+.0f}%" if abs(change) >= 10 else f"{change:+.1f}%" if abs(change) >= 1 else f"{change:+.2f}%"


def _gains(words: str) -> str:
    """The rows of a pool in the table of what the parts buy; of each system all runs, beside ``aware`` with their
    seed."""
    asked = [*words.split(), "--jobs", "scenario:queries", "--system", ",".join(SYSTEMS), "--seeds", "2", "--json"]
    code, told = _hcloud(["harvest", "simulate", *asked])
    assert code == 0, told
    systems = {one["system"]: one for one in json.loads(told)["systems"]}
    aware = {run["seed"]: run["mean_seconds"] for run in systems[BESIDE]["runs"]}
    rows = []
    for name in SYSTEMS:
        one = systems[name]
        gains = sorted(100 - 100 * run["mean_seconds"] / aware[run["seed"]] for run in one["runs"])
        less = "" if name == BESIDE else f"{gains[0]:+.1f}% to {gains[-1]:+.1f}%"
        kills = ", ".join(str(run["kills"]) for run in one["runs"])
        tails = sorted(100 * run["tail_proxy"] / run["tail_proxy_alone"] - 100 for run in one["runs"])
        classes = [one[key] for key in ("one_class", "several_classes", "no_class")]
        shares = " / ".join(f"{100 * share:.0f}%" for share in classes) if name in CHOOSING else "-"
        broken, lost = (f"{100 * one[key]:.2g}%" for key in ("reserve_broken", "lost_share"))
        cells = (
            f"`{words}`" if name == SYSTEMS[0] else "",
            name,
            f"{one['mean_seconds']:,.0f} s",
            less,
            *(kills, lost, broken, f"{_percent(tails[0])} to {_percent(tails[-1])}", shares),
        )
        rows.append("|" + "".join(f" {cell} |" if cell else " |" for cell in cells))
    return "\n".join(rows) + "\n"


def main() -> None:
    """Write the page and its picture anew."""
    text = PAGE.read_text(encoding="utf-8")
    only = sys.argv[1:]  # words of the commands that are run; all where none are given

    def anew(m: re.Match[str]) -> str:
        if only and not set(only) & set(m[1].split()):
            return m[0]
        return f"```console\n$ hcloud {m[1]}\n{_printed(m[1].split())}```\n"

    page = PRINTED.sub(anew, text)
    if not only or GAINS in only:
        page = ROWS.sub(lambda m: _gains(m[1]), page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
