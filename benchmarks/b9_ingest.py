"""B9: rows a second and memory of reading and fully checking a job table, beside csv, pandas and a raw read.

``python -m benchmarks.b9_ingest`` makes a seeded file of 1 M rows and six columns and reads it with every contender in
fresh processes, interleaved, three rounds, best of each. hcloud checks NaN, infinities, signs, bounds, order and
duplicate ids and takes a SHA-256; the peers are given both ways, reading only and with the same checks.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROWS = 1_000_000
ROUNDS = 3
REPEATS = 3
GOAL, MOONSHOT = 1e6, 5e6
Result = dict[str, float]


def write_table(path: Path, rows: int, seed: int = 9) -> None:
    """Jobs with an id, submit and duration in hundredths and tenths of a second, cores, memory and kind."""
    chance = np.random.default_rng(seed)
    clock = 0.0
    with path.open("w") as file:
        file.write("id,submit,duration,cores,memory,kind\n")
        for first in range(0, rows, 1_000_000):
            count = min(1_000_000, rows - first)
            submit = clock + np.cumsum(chance.exponential(1.0, count))
            clock = float(submit[-1])
            duration = chance.exponential(450, count) + 0.1
            cores = chance.choice([1, 2, 4, 8, 16], count)
            memory = cores * chance.choice([2, 4], count)
            service = chance.random(count) < 0.2
            columns = (a.tolist() for a in (submit, duration, cores, memory, service))
            file.writelines(
                f"j{first + i},{s:.2f},{d:.1f},{c},{m},{'service' if k else 'batch'}\n"
                for i, (s, d, c, m, k) in enumerate(zip(*columns, strict=True))
            )


def read_raw(path: Path) -> tuple[int, float]:
    return path.read_bytes().count(b"\n") - 1, math.nan


def read_hcloud(path: Path) -> tuple[int, float]:
    from hcloud.model.workload import Jobs
    from hcloud.readers.workloads.entry import read_workload

    jobs = read_workload(path)
    assert isinstance(jobs, Jobs)
    return len(jobs), float(jobs.duration.sum())


def read_csv_module(path: Path) -> tuple[int, float]:
    with path.open(newline="") as file:
        rows = csv.reader(file)
        next(rows)
        table = [(i, float(s), float(d), float(c), float(m), k) for i, s, d, c, m, k in rows]
    return len(table), math.fsum(row[2] for row in table)


def read_csv_checked(path: Path) -> tuple[int, float]:
    seen: set[str] = set()
    before, total, count = 0.0, 0.0, 0
    with path.open(newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for name, *cells, kind in rows:
            submit, duration, cores, memory = map(float, cells)
            good = all(map(math.isfinite, (submit, duration, cores, memory))) and submit >= before and duration > 0
            if not good or cores <= 0 or memory < 0 or kind not in ("batch", "service") or name in seen:
                raise ValueError(name)
            seen.add(name)
            before, total, count = submit, total + duration, count + 1
    return count, total


def read_pandas(path: Path) -> tuple[int, float]:
    import pandas as pd

    frame = pd.read_csv(path)
    return len(frame), float(frame["duration"].sum())


def read_pandas_checked(path: Path) -> tuple[int, float]:
    import pandas as pd

    frame = pd.read_csv(path)
    numbers = frame[["submit", "duration", "cores", "memory"]].to_numpy(float)
    good = np.isfinite(numbers).all() and (numbers >= 0).all() and frame["submit"].is_monotonic_increasing
    if not good or frame["id"].duplicated().any() or not frame["kind"].isin(["batch", "service"]).all():
        raise ValueError("bad rows")
    return len(frame), float(frame["duration"].sum())


CONTENDERS: dict[str, Callable[[Path], tuple[int, float]]] = {
    "raw read": read_raw,
    "hcloud": read_hcloud,
    "csv": read_csv_module,
    "csv+checks": read_csv_checked,
    "pandas": read_pandas,
    "pandas+checks": read_pandas_checked,
}
IMPORTS = {"hcloud": "hcloud.readers.workloads.formats.jobs.own_csv", "pandas": "pandas", "pandas+checks": "pandas"}


def measure(name: str, path: Path) -> Result:
    """Seconds of the first and of the best read in this process, and peak memory above a bare interpreter's."""
    bare = _bare_bytes()
    if name in IMPORTS:
        __import__(IMPORTS[name])
    seconds = []
    for repeat in range(REPEATS):
        begin = time.perf_counter()
        rows, total = CONTENDERS[name](path)
        seconds.append(time.perf_counter() - begin)
        if repeat == 0:
            peak = _peak_bytes()
    return {"rows": rows, "total": total, "first": seconds[0], "best": min(seconds), "peak": peak - bare}


def _bare_bytes() -> int:
    code = "print(open('/proc/self/status').read())"
    status = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    return _high_water(status)


def _peak_bytes() -> int:
    """Of this program alone: ``ru_maxrss`` would count the process that started it."""
    return _high_water(Path("/proc/self/status").read_text())


def _high_water(status: str) -> int:
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def in_fresh_process(name: str, path: Path) -> Result:
    command = [sys.executable, "-m", "benchmarks.b9_ingest", "--contender", name, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": "."})
    result: Result = json.loads(done.stdout)
    return result


def installed(names: list[str]) -> list[str]:
    try:
        import pandas as pd
    except ImportError:
        print("pandas is not installed and left out", file=sys.stderr)
        return [name for name in names if "pandas" not in name]
    print(f"pandas {pd.__version__}, Python {sys.version.split()[0]}", file=sys.stderr)
    return names


def best_of(rounds: int, names: list[str], path: Path) -> dict[str, Result]:
    """The best figures of each contender over interleaved rounds; all must agree on rows and total."""
    best: dict[str, Result] = {}
    for _ in range(rounds):
        for name in names:
            got = in_fresh_process(name, path)
            kept = best.setdefault(name, got)
            for figure in ("first", "best", "peak"):
                kept[figure] = min(kept[figure], got[figure])
    wanted = best["hcloud"]
    for name, got in best.items():
        same = got["rows"] == wanted["rows"]
        if not same or (name != "raw read" and not math.isclose(got["total"], wanted["total"], rel_tol=1e-9)):
            raise SystemExit(f"{name} read something else: {got} against {wanted}")
    return best


def report(best: dict[str, Result], size: int) -> None:
    rate = {name: got["rows"] / got["best"] for name, got in best.items()}
    peers = ", ".join(f"{n} {rate[n] / 1e6:.2f}" for n in best if n not in ("hcloud", "raw read"))
    checked = rate.get("csv+checks", math.nan)
    print(
        f"b9_ingest {rate['hcloud'] / 1e6:.2f} M rows/s | peer {peers} | limit raw read {rate['raw read'] / 1e6:.1f} | "
        f"ratio {rate['hcloud'] / checked:.1f}x csv+checks, {rate['hcloud'] / rate['raw read']:.3f} of the limit, "
        f"goal {GOAL / 1e6:g}, moonshot {MOONSHOT / 1e6:g}"
    )
    first = ", ".join(f"{n} {got['first']:.3f}" for n, got in best.items() if n != "hcloud")
    hcloud = best["hcloud"]
    print(f"b9_first_read {hcloud['first']:.3f} s | peer {first} | limit - | ratio -")
    memory = ", ".join(f"{n} {got['peak'] / 1e6:.0f}" for n, got in best.items() if n != "hcloud")
    print(
        f"b9_peak_memory {hcloud['peak'] / 1e6:.0f} MB | peer {memory} | limit {6 * size / 1e6:.0f} (6 x file of "
        f"{size / 1e6:.0f} MB) | ratio {hcloud['peak'] / size:.2f}x file"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", action="append", choices=list(CONTENDERS), help="contenders beside hcloud and raw")
    parser.add_argument("--contender", choices=list(CONTENDERS), help=argparse.SUPPRESS)
    parser.add_argument("path", nargs="?", type=Path, help="a file to read instead of a made one")
    args = parser.parse_args()
    if args.contender:
        print(json.dumps(measure(args.contender, args.path)))
        return
    names = ["raw read", "hcloud", *args.only] if args.only else list(CONTENDERS)
    with tempfile.TemporaryDirectory() as folder:
        path = args.path or Path(folder) / "jobs.csv"
        if args.path is None:
            write_table(path, args.rows)
        report(best_of(args.rounds, installed(names), path), path.stat().st_size)


if __name__ == "__main__":
    main()
