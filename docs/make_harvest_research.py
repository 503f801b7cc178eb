"""The tables of docs/research/harvest.md from real runs: ``python docs/make_harvest_research.py`` (fifteen minutes;
words such as ``lost`` or ``tasks`` make these tables alone). Those of real histories need the public data in
``../shared/data/workloads``, or in the folder that ``HISTORIES`` names, and stay as they are where it is absent."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harvest_histories import alone, pools
from make_guides import _hcloud

from hcloud.harvest.centre import CENTRES

PAGE = Path(__file__).parent / "research" / "harvest.md"
TABLE = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
SEEDS = 5
PARTS = ("history", "spread", "balanced", "random", "stock")
TASKS = ("history", "balanced", "classes")
BUSY = ("0.3", "0.4", "0.5", "0.6", "0.7")
HISTORIES = Path(os.environ.get("HISTORIES", "../shared/data/workloads"))
REAL = ("real_types", "real_tasks", "real_failed")
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
        rows.append([centre, *_compared(f"scenario:{centre}", *words)])
    return _table(["", *COMPARED], rows)


COMPARED = (
    *(f"{s}: less time" for s in TASKS),
    *(f"{s}: kills" for s in ("aware", *TASKS)),
    "one / several / no class",
)


def _compared(util: str, *words: str) -> list[str]:
    """The cells of a pool."""
    found = _run("simulate", util, *words, "--system", ",".join(("aware", *TASKS)))
    by = {one["system"]: one for one in found["systems"]}
    kills = [_counts(run["kills"] for run in by[s]["runs"]) for s in ("aware", *TASKS)]
    labels = " / ".join(f"{100 * by['history'][k]:.0f} %" for k in ("one_class", "several_classes", "no_class"))
    return [*(_gain(by["aware"], by[s]) for s in TASKS), *kills, labels]


def _real_types() -> str:
    """A row a pool of real histories: tenants by pattern, and what is idle by the length of jobs."""
    rows = []
    with TemporaryDirectory() as folder:
        for pool in (*pools(HISTORIES), *alone(HISTORIES)):
            util, servers = pool.write(Path(folder))
            code, told = _hcloud(["-q", "harvest", "types", util, "--servers", servers, "--json"])
            assert code == 0, told
            found = json.loads(told)
            of = {name: sum(one["pattern"] == name for one in found["tenants"]) for name in PATTERNS}
            vcpus = sum(one["vcpus"] for one in found["classes"])
            free = [sum(one[f"room_{length}_vcpus"] for one in found["classes"]) / vcpus for length in LENGTHS]
            trust = found["trust"]
            rows.append([
                pool.title, f"{found['days']:,}", *map(str, of.values()),
                "-" if trust is None else f"{100 * trust['alike']:.0f} %", *(f"{100 * one:.0f} %" for one in free),
            ])  # fmt: skip
    return _table(["", "days", *PATTERNS, "typed alike before", *(f"free for {one} jobs" for one in LENGTHS)], rows)


def _real_tasks() -> str:
    """A row a pool, its use and how many tasks jobs have."""
    rows = []
    with TemporaryDirectory() as folder:
        for pool in pools(HISTORIES):
            util, servers = pool.write(Path(folder))
            for scale, use in REAL_LOADS:
                words = ["--servers", servers, "--jobs", "scenario:queries", "--hours", "3", "--scale", scale, *use]
                rows.append([pool.title, " ".join(("--scale", scale, *use)), *_compared(util, *words)])
    return _table(["", "", *COMPARED], rows)


def _real_failed() -> str:
    """Accesses that fail of a million on the servers of the hosting centre, by how busy they are."""
    rows = []
    with TemporaryDirectory() as folder:
        util, servers = next(pools(HISTORIES)).write(Path(folder))
        for words in _real_uses():
            asked = ("replicas", "--servers", servers, "--util", util, "--blocks", "20000", *words)
            found = {one["system"]: one for one in _run(*asked, "--system", ",".join(PARTS))["systems"]}
            failed = [_counts(sorted(found[s]["accesses_failed_by_seed"])[::4]).replace(" ", " to ") for s in PARTS]
            placed = [f"{100 * found[s]['placed'] / (20_000 * SEEDS):.0f} %" for s in PARTS]
            rows.append([" ".join(words) or "as measured", *failed, " / ".join(placed)])
    return _table(["", *(f"{s}: failed" for s in PARTS), "placed"], rows)


def _real_uses() -> Iterator[tuple[str, ...]]:
    yield ()
    yield from (("--mean-use", use) for use in ("0.2", "0.3", "0.5"))


PATTERNS, LENGTHS = ("periodic", "constant", "unpredictable"), ("short", "medium", "long")
REAL_LOADS = (("0.5", ()), ("4", ()), ("4", ("--mean-use", "0.3")))


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
    "real_types": _real_types,
    "real_tasks": _real_tasks,
    "real_failed": _real_failed,
}


def main() -> None:
    """Write the tables anew, all or those that are named."""
    only = sys.argv[1:]

    def anew(m: re.Match[str]) -> str:
        absent = m[2] in REAL and not HISTORIES.is_dir()
        return m[0] if absent or (only and m[2] not in only) else f"{m[1]}\n{TABLES[m[2]]()}\n{m[3]}"

    PAGE.write_text(TABLE.sub(anew, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
