"""B15: a thousand jobs of a tenth of a second, two at a time, on this machine.

``python -m benchmarks.b15_jobs [--jobs 1000] [--rounds 3]`` prints ``name value unit | peer x | limit y | ratio``.
``operate`` is the whole of ``hcloud operate run`` from its start to its end, with its journal and two reserved
machines; ``engine`` is the engine of this machine without a controller. The peer is ``xargs -P2`` with the same
commands in the same round; the best round counts. It fails where a limit is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.children import FROM_NOWHERE, KEPT, ROOT
from hcloud.control.ports import Size
from hcloud.model.running.job import JobOrder, JobPhase, JobPlace, MachineRole
from hcloud.profiling.local.engine import LocalEngine
from hcloud.profiling.local.machines import passing_host

LIMIT = 1.3
AT_ONCE = 2
COMMAND = ("sleep", "0.1")


def xargs(jobs: int, _folder: Path) -> None:
    """The peer."""
    numbers = "\n".join(map(str, range(jobs)))
    command = ["xargs", f"-P{AT_ONCE}", "-I{}", *COMMAND]
    subprocess.run(command, input=numbers, text=True, check=True)


def operate(jobs: int, folder: Path) -> None:
    """The whole verb."""
    lines = [f"job-{n},{' '.join(COMMAND)},1,100Mi" for n in range(jobs)]
    (folder / "jobs.csv").write_text("\n".join(["id,command,cores,memory", *lines]) + "\n")
    words = ["operate", "run", "jobs.csv", "--cloud", "local", "-s", "SR", "--pool", str(AT_ONCE), "--no-probe"]
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    own = {"XDG_CONFIG_HOME": str(folder), "HYC_PRICES": str(folder), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-m", "hcloud", *words],
        cwd=folder,
        env={**kept, **FROM_NOWHERE, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode or f"{jobs} completed" not in ran.stdout + ran.stderr:
        raise SystemExit(f"operate ended with {ran.returncode}: {ran.stderr[-500:]}")


def engine(jobs: int, folder: Path) -> None:
    """The engine alone."""
    with passing_host() as host:
        running = LocalEngine(folder / "spool", folder / "output", folder)
        host.start(["machine"], running.joining(MachineRole(0, "medium", True)), Size(AT_ONCE, 1.0))
        begun, over = 0, 0
        while over < jobs:
            for seen in running.look().jobs:
                if seen.phase is JobPhase.ENDED:
                    running.forget(seen.job)
                    over += 1
            while begun < min(jobs, over + AT_ONCE):
                order = JobOrder(f"job-{begun}", 0.0, COMMAND, 1000, 100)
                running.begin(order, JobPlace(0, 1, 1000, 100))
                begun += 1
            running.wait(1.0)
        running.close()


def seconds(run: Callable[[int, Path], None], jobs: int) -> float:
    """How long it took."""
    with tempfile.TemporaryDirectory(prefix="hcloud-b15-") as folder:
        began = time.monotonic()
        run(jobs, Path(folder))
        return time.monotonic() - began


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    best: dict[str, float] = {}
    for _ in range(given.rounds):
        for run in (xargs, engine, operate):
            taken = seconds(run, given.jobs)
            best[run.__name__] = min(best.get(run.__name__, taken), taken)
    peer = best["xargs"]
    missed = False
    for name in ("engine", "operate"):
        ratio = best[name] / peer
        missed |= ratio > LIMIT
        print(f"{name} {best[name]:.2f} s | peer {peer:.2f} | limit {LIMIT * peer:.2f} | {ratio:.2f}")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
