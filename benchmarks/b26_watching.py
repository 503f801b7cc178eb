"""B26: runs whose jobs are watched and adjusted: Paragon's oversubscribed thousand servers, and Quasar's two hundred.

``python -m benchmarks.b26_watching`` prints a line each, after one on the machine and the date. Every run is a process
of its own, with all that a user waits for but for compiling: processor seconds, and the memory that it held at most.
What sizing a target takes is measured in ``benchmarks.b22_size``, admission by classes in ``benchmarks.b25_queues``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from hcloud.sim.kernels.compiled import CLASSED, ENGINE, made

ROOT = Path(__file__).resolve().parent.parent
RUNS = (
    ("ec2-1000-oversubscribed", "paragon"),
    ("ec2-1000-oversubscribed", "greedy"),
    ("quasar-200", "paragon"),
)
WAYS = ("off", "reactive", "adjust-to-target")
WANTED_SECONDS, WANTED_MIB = 10.0, 1024.0


def machine() -> str:
    """The processor as the system tells it, its cores and how many processes want them, and when."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model, load, now = models[0] if models else "unknown processor", os.getloadavg()[0], datetime.now(UTC)
    return f"{model}, {os.cpu_count()} cores, load {load:.1f}, {now:%Y-%m-%d %H:%M} UTC"


def run(scenario: str, placement: str, watching: str) -> tuple[float, float, dict[str, object]]:
    """Processor seconds, MiB, and what the run tells of its jobs."""
    words = ["-q", "simulate", f"scenario:{scenario}", "--strategy", "SR", "--placement", placement]
    command = [sys.executable, "-m", "hcloud", *words, "--watching", watching, "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        told = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}")
    found: dict[str, object] = json.loads(told)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, found


def main() -> int:
    """Print every figure; 1 where one misses its bar."""
    for group in (ENGINE, CLASSED):
        made(group)
    print(f"b26 {machine()}", flush=True)
    met = True
    for scenario, placement in RUNS:
        for watching in WAYS:
            seconds, mib, found = run(scenario, placement, watching)
            met &= seconds <= WANTED_SECONDS and mib <= WANTED_MIB
            print(
                f"b26.{scenario} {placement}, {watching}: {found['jobs']:,} jobs, {seconds:.1f} s, {mib:,.0f} MiB"
                f" | limit {WANTED_SECONDS:.0f} s, {WANTED_MIB:,.0f} MiB",
                flush=True,
            )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
