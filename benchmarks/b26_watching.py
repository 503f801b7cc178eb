"""B26: runs whose jobs are watched and adjusted: Paragon's oversubscribed thousand servers, and Quasar's two hundred.

``python -m benchmarks.b26_watching`` prints a line each, after one on the machine and the date. Every run is a process
of its own, with all that a user waits for but for compiling: processor seconds, and the memory that it held at most.
The last lines say
whether compiled kernels and plain Python write the same bytes of runs as long as these; tests compare short ones.
What sizing a target takes is measured in ``benchmarks.b22_size``, admission by classes in ``benchmarks.b25_queues``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from hcloud.readers.configuration.config import load_config
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import SIMULATE, compiled, plain
from hcloud.sim.machine_code.objects import as_objects, write_back
from hcloud.sim.setup.build import build, usual_capacity
from hcloud.usecases.studies.simulation import SimulationRequest, open_study, setting_for, tasks_for
from hcloud.usecases.workloads.sources import Flags, with_flags

ROOT = Path(__file__).resolve().parent.parent
RUNS = (
    ("ec2-1000-oversubscribed", "paragon"),
    ("ec2-1000-oversubscribed", "greedy"),
    ("quasar-200", "paragon"),
)
WAYS = ("off", "reactive", "adjust-to-target")
SAME = ("SR+target+paragon+adjust-to-target", "SR+paragon+multi-class+sampled")
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


def differing(strategy: str) -> list[str]:
    """The tables in which a compiled run of all kinds of jobs differs from one in plain Python."""
    loaded = with_flags(load_config(None), Flags(workload="scenario:quasar-200"))
    study = open_study(loaded, SimulationRequest(), datetime.now(UTC).date())
    chosen = load_strategy(strategy)
    setting, tasks = setting_for(study, chosen), tasks_for(study, chosen)
    worlds = [build(setting, tasks, usual_capacity(len(tasks), setting.servers, journal=True)) for _ in range(2)]
    compiled()[SIMULATE](worlds[0], len(tasks) + 1)
    objects = as_objects(worlds[1])
    plain()[SIMULATE](objects, len(tasks) + 1)
    write_back(objects, worlds[1])
    one, other = ({**w._asdict(), **{f"control.{k}": v for k, v in w.control._asdict().items()}} for w in worlds)
    same = {
        name: np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in one if name != "control"
    }
    return [name for name, is_same in same.items() if not is_same]


def main() -> int:
    """Print every figure; 1 where one misses its bar."""
    compiled()
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
    for strategy in SAME:
        apart = differing(strategy)
        met &= not apart
        print(f"b26.same {strategy}: {', '.join(apart) or 'the same bytes'}", flush=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
