"""The tables of docs/research/harvest.md from real runs: ``python docs/make_harvest_research.py`` (fifteen minutes;
words such as ``lost`` or ``tasks`` make these tables alone)."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from make_guides import _hcloud

from hcloud.harvest.centre import CENTRES

PAGE = Path(__file__).parent / "research" / "harvest.md"
TABLE = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
SEEDS = 5
PARTS = ("history", "spread", "balanced", "random", "stock")
TASKS = ("history", "balanced", "classes")
BUSY = ("0.3", "0.4", "0.5", "0.6", "0.7")
Found = dict[str, Any]


def _run(*words: str) -> Found:
    """What a verb finds, as its JSON."""
    code, told = _hcloud(["-q", "harvest", *words, "--seeds", str(SEEDS), "--json"])
    assert code == 0, told
    found: Found = json.loads(told)
    return found


def _replicas(centre: str, *words: str, systems: Iterable[str] = PARTS) -> dict[str, Found]:
    names = ",".join(systems)
    found = _run("replicas", "--servers", f"scenario:{centre}", "--system", names, *words)
    return {one["system"]: one for one in found["systems"]}


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(titles)
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _counts(values: Iterable[int]) -> str:
    return " ".join(f"{value:,}" for value in values)


def _lost_and_failed(words: tuple[str, ...], systems: tuple[str, ...]) -> str:
    """A row a centre: blocks lost in each of the years, and the mean of accesses that failed of a million."""
    rows = []
    for centre in CENTRES:
        found = _replicas(centre, *words, systems=systems)
        lost = [_counts(found[s]["lost_by_year"]) for s in systems]
        failed = [sum(found[s]["accesses_failed_by_seed"]) / SEEDS for s in systems]
        rows.append([centre, *lost, *(f"{one:,.0f}" for one in failed)])
    return _table(["", *(f"{s}: lost" for s in systems), *(f"{s}: failed" for s in systems)], rows)


def _lost() -> str:
    return _lost_and_failed(("--mean-use", "0.5"), PARTS)


def _four() -> str:
    return _lost_and_failed(("--mean-use", "0.5", "--replicas", "4"), ("history", "spread", "stock"))


def _busy() -> str:
    """Accesses that fail of a million by how busy the servers are, in two ways of making them busy."""
    systems, rows = ("history", "spread", "stock"), []
    for scaling in ("linear", "root"):
        for use in BUSY:
            words = ("--mean-use", use, "--scaling", scaling, "--blocks", "30000")
            found = [_replicas(centre, *words, systems=systems) for centre in ("centre-0", "centre-5")]
            failed = [
                _counts(sorted(f for one in found for f in one[s]["accesses_failed_by_seed"])[::9]) for s in systems
            ]
            rows.append([f"{use}, {scaling}", *(one.replace(" ", " to ") for one in failed)])
    return _table(["mean use", *systems], rows)


def _tasks() -> str:
    """A row a centre: how much less time jobs take than under ``aware`` with their seed, and tasks killed."""
    rows = []
    for centre in CENTRES:
        words = ("--jobs", "scenario:queries", "--hours", "3", "--scale", "8", "--mean-use", "0.3")
        found = _run("simulate", f"scenario:{centre}", *words, "--system", ",".join(("aware", *TASKS)))
        by = {one["system"]: one for one in found["systems"]}
        kills = [_counts(run["kills"] for run in by[s]["runs"]) for s in ("aware", *TASKS)]
        gains = [_gain(by["aware"], by[s]) for s in TASKS]
        labels = " / ".join(f"{100 * by['history'][k]:.0f} %" for k in ("one_class", "several_classes", "no_class"))
        rows.append([centre, *gains, *kills, labels])
    titles = [*(f"{s}: less time" for s in TASKS), *(f"{s}: kills" for s in ("aware", *TASKS))]
    return _table(["", *titles, "one / several / no class"], rows)


def _gain(aware: Found, other: Found) -> str:
    before = {run["seed"]: run["mean_seconds"] for run in aware["runs"]}
    gains = sorted(100 - 100 * run["mean_seconds"] / before[run["seed"]] for run in other["runs"])
    return f"{gains[0]:+.1f} to {gains[-1]:+.1f} %"


def _choices() -> str:
    """Every number that the study does not state."""
    code, told = _hcloud(["strategy", "show", "harvest", "--json"])
    assert code == 0, told
    rows = [
        [f"`{name}`", f"{key['value']} {key['unit'] or ''}".strip(), key["why"]]
        for mechanism in json.loads(told)["mechanisms"].values()
        for name, key in mechanism["parameters"].items()
        if key["origin"] == "C"
    ]
    return "| key | value | why |\n| --- | --- | --- |\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


TABLES: dict[str, Callable[[], str]] = {
    "lost": _lost,
    "four": _four,
    "busy": _busy,
    "tasks": _tasks,
    "choices": _choices,
}


def main() -> None:
    """Write the tables anew, all or those that are named."""
    only = sys.argv[1:]

    def anew(m: re.Match[str]) -> str:
        return m[0] if only and m[2] not in only else f"{m[1]}\n{TABLES[m[2]]()}\n{m[3]}"

    PAGE.write_text(TABLE.sub(anew, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
