"""The tables of docs/placement.md and docs/research/placement-runs.md, and its picture, from real runs:
``python docs/make_placement.py`` (some minutes).

A block of ``console`` with one ``hcloud compare`` is followed by the table that its figures make; what other commands
print is written into their own block. The picture is that of DURATIONS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import vl_convert
from make_guides import _hcloud

from hcloud.readers.configuration.config import load_config
from hcloud.sim.outcomes.interval import Interval
from hcloud.usecases.studies.simulate import compare, strategies_named
from hcloud.usecases.studies.simulation import SimulationRequest, open_study
from hcloud.usecases.workloads.sources import Flags, with_flags
from hcloud.views.page.drawn import Drawn, standalone
from hcloud.views.page.panels import WIDTH, panels
from hcloud.views.studies.simulation_charts import lines_of

PAGES = (Path(__file__).parent / "placement.md", Path(__file__).parent / "research" / "placement-runs.md")
PICTURE = PAGES[1].with_name("placement.png")
SCENARIO, PLACEMENTS, SEEDS = "scenario:tarcil-110-durations", "first-fit,power-of-two,paragon,tarcil,ideal", 7
COMPARED = re.compile(r"```console\n\$ hcloud (compare [^\n]*)\n```\n\n(?:\|[^\n]*\n)*")
PRINTED = re.compile(r"```console\n\$ hcloud ((?!compare)[^\n]*)\n.*?```\n", re.DOTALL)
Run = dict[str, Any]


def refreshed(text: str) -> str:
    """The page with what its commands find now."""
    text = COMPARED.sub(lambda m: f"```console\n$ hcloud {m[1]}\n```\n\n{_table(m[1].split())}", text)
    return PRINTED.sub(lambda m: f"```console\n$ hcloud {m[1]}\n{_printed(m[1].split())}```\n", text)


def _printed(words: list[str]) -> str:
    code, told = _hcloud(words)
    assert code == 0, told
    return "\n".join(line.rstrip() for line in told.strip("\n").splitlines()) + "\n"


def _table(words: list[str]) -> str:
    """What a comparison found, a line a placement."""
    code, told = _hcloud(["-q", *words, "--json"])
    assert code == 0, told
    found = json.loads(told)
    by_name: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for one in found["strategies"]:
        name, _, load = one["name"].partition(" at ")
        by_name.setdefault(name.partition("+")[2] or "greedy", []).append((load, one))
    rows = [(name, _cells(at, sized=found["sized_for"])) for name, at in by_name.items()]
    titles = ["placement", *(title for title, _ in rows[0][1])]
    lines = [titles, ["---", *("---:" for _ in titles[1:])], *([name, *(c for _, c in cells)] for name, cells in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(loads: Sequence[tuple[str, dict[str, Any]]], *, sized: float | None) -> list[tuple[str, str]]:
    if len(loads) > 1:
        return [(f"kept 95% at load {at}", _mean(one["runs"], _kept)) for at, one in loads]
    runs = loads[0][1]["runs"]
    classes = [c["name"] for c in runs[0]["placement"]["by_duration"]]
    cells = [("jobs that kept 95%", _mean(runs, _kept)), ("5% of jobs below", _mean(runs, _p5))]
    if "workflows" in runs[0]:
        cells[1:] = [
            ("workflows that kept 95%", _mean(runs, lambda run: 100 * run["workflows"]["kept_qos"])),
            ("half took, s", _mean(runs, lambda run: run["workflows"]["seconds_p50"], "", 2)),
            ("95% took, s", _mean(runs, lambda run: run["workflows"]["seconds_p95"], "", 2)),
        ]
    elif len(classes) > 1:
        cells[1:] = [(f"mean performance, {name}", _mean(runs, _of(name))) for name in classes]
    waits = [run["waiting_seconds"]["mean"] for run in runs]
    cells.append(
        ("waiting, s", _mean(runs, lambda run: run["waiting_seconds"]["mean"], "", 1 if min(waits) > 9 else 3))
    )
    cells.append(("looks a job", _mean(runs, lambda run: run["placement"]["looks_per_job"], "", 1, half=False)))
    if sized is not None:
        size = loads[0][1]["sized"]
        told = "never" if size is None else f"{size['vcpus']:,g}"
        cells.append((f"vCPUs for {100 * sized:g}% kept", told))
    return cells


def _kept(run: Run) -> float:
    return float(100 * run["kept_qos"])


def _p5(run: Run) -> float:
    return float(100 * run["batch_performance"]["p5"])


def _looks(run: Run) -> float:
    return float(run["placement"]["looks_per_job"])


def _of(name: str) -> Callable[[Run], float]:
    return lambda run: next(100 * c["mean_performance"] for c in run["placement"]["by_duration"] if c["name"] == name)


def _mean(
    runs: Iterable[Run], figure: Callable[[Run], float], unit: str = "%", digits: int = 1, *, half: bool = True
) -> str:
    found = Interval.of([figure(run) for run in runs])
    width = f" ± {found.half:.{digits}f}" if half and found.half == found.half else ""
    return f"{found.mean:,.{digits}f}{width}{unit}"


def draw() -> None:
    """Performance over how long jobs are."""
    study = open_study(
        with_flags(load_config(None), Flags(workload=SCENARIO)), SimulationRequest(), datetime.now(UTC).date()
    )
    found = compare(study, strategies_named(["SR"], [PLACEMENTS]), SEEDS)
    lines, title = lines_of(found), "Performance over how long jobs are"
    assert lines is not None
    about = f"{SCENARIO}: {found.jobs:,} tasks, 100 servers, load 0.8, {SEEDS} seeds"
    drawn = Drawn(title, lambda width: panels([lines], width, about), f"{title}. {about}.", "", WIDTH)
    PICTURE.write_bytes(vl_convert.svg_to_png(standalone(drawn, title), scale=1.5))


def main() -> None:
    """Write the pages and the picture anew."""
    draw()
    for page in PAGES:
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
