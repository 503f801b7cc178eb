"""B20: processor seconds and memory of `hcloud plan` from ten million jobs that cannot be split, beside reading them.

``python -m benchmarks.b20_plan_jobs`` makes two seeded files: jobs of a few hundred shapes, by time, and jobs of which
each has a shape of its own, in no order. It plans from each in a fresh process, checks that the plan counts every job,
and prints ``name value unit | peer x | limit y | ratio``; the peer reads the same file with pyarrow's own reader and no
checks. It fails where a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

ROWS = 10_000_000
GOAL_SECONDS = 30.0  # of a processor
SPAN = 90 * 86_400.0
NOW = "2026-11-20T00:00:00Z"
PEER = "import sys; from pyarrow import csv; csv.read_csv(sys.argv[1])"


class Spent(NamedTuple):
    """What a process took: seconds of a processor, and the most memory in MB."""

    seconds: float
    memory: float


def write_alike(path: Path, rows: int) -> None:
    """Jobs of usual sizes to the second, most of minutes and some of days."""
    chance = np.random.default_rng(19)
    cores = chance.choice([1, 1, 1, 2, 2, 4, 8, 16], rows)
    memory = cores * chance.choice([1, 2, 4, 8], rows)
    _write(path, (np.sort(_times(chance, rows)).round(), _durations(chance, rows), cores, memory))


def write_different(path: Path, rows: int) -> None:
    """Jobs with what each of them used, to the thousandth."""
    chance = np.random.default_rng(20)
    cores = chance.lognormal(0, 1, rows).clip(0.01, 32).round(3)
    memory = (cores * chance.lognormal(1, 0.7, rows)).clip(0.01, 128).round(3)
    _write(path, (_times(chance, rows).round(3), _durations(chance, rows), cores, memory))


def _times(chance: np.random.Generator, rows: int) -> Floats:
    return chance.uniform(0, SPAN, rows)


def _durations(chance: np.random.Generator, rows: int) -> Floats:
    return np.minimum(np.exp(chance.normal(6.0, 1.7, rows)), 5 * 86_400.0).round(1).clip(1.0)


def _write(path: Path, columns: tuple[Floats, ...]) -> None:
    import pyarrow as pa
    from pyarrow import csv

    names = ("submit", "duration", "cores", "memory")
    csv.write_csv(pa.table(dict(zip(names, columns, strict=True))), path, csv.WriteOptions(quoting_style="none"))


def spent(command: list[str]) -> tuple[Spent, str]:
    """A command in a fresh process: what it took and what it printed."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, env=os.environ | {"PYTHONPATH": str(Path.cwd())})
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command} ended with {process.returncode}")
        out.seek(0)
        return Spent(used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3), out.read()


def measure(name: str, path: Path, rows: int) -> bool:
    """Plan and read once each; whether the goal was met."""
    words = ["plan", str(path), "--divisible", "none", "-o", "json", "--now", NOW]
    ours, told = spent([sys.executable, "-m", "hcloud", *words])
    counted = json.loads(told)["workload"]["rows"]
    if counted != rows:
        raise SystemExit(f"{name}: {counted} of {rows} rows were planned for")
    peer, _ = spent([sys.executable, "-c", PEER, str(path)])
    print(
        f"b20_plan_{name} {ours.seconds:.1f} s CPU | peer pyarrow reads it {peer.seconds:.1f} | "
        f"limit {GOAL_SECONDS:g} | ratio {ours.seconds / peer.seconds:.1f}x"
    )
    print(
        f"b20_memory_{name} {ours.memory:.0f} MB | peer pyarrow {peer.memory:.0f} | limit - | "
        f"ratio {ours.memory / (path.stat().st_size / 1e6):.1f}x file"
    )
    return ours.seconds <= GOAL_SECONDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    rows = parser.parse_args().rows
    met = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.csv"
        for name, write in (("alike", write_alike), ("different", write_different)):
            write(path, rows)
            met.append(measure(name, path, rows))
    if not all(met):
        raise SystemExit("a goal is missed")


if __name__ == "__main__":
    main()
