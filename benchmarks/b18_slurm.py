"""B18: how long a job of Slurm waits for a machine that has to come first, under hcloud and under Slurm's own power
saving: ``python -m benchmarks.b18_slurm`` (as root, with Slurm and munge installed).

Both run slurmctld and slurmd of this machine. Machines start in no time, so that what is measured is what comes beside
their start: the decision, the order, the registration and the begin. Under hcloud machines come from a fake AWS over
the wire and join by user data; Slurm's own ResumeProgram starts slurmd at once.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.children import Forker

LIMIT = 4.0
"""Seconds beyond the start of a machine, for each job."""
PATIENCE = 120.0
OWN = """\
ResumeProgram={home}/own-resume
SuspendProgram=/bin/true
ResumeTimeout=60
SuspendTimeout=5
SuspendTime=3600
PrivateData=cloud
SlurmctldParameters=idle_on_node_suspend
ReturnToService=2
NodeName=own-[0-{last}] NodeAddr=127.0.0.1 Port=[{first}-{end}] CPUs=1 RealMemory=1024 State=CLOUD
PartitionName=own Nodes=own-[0-{last}] State=UP
"""
RESUME = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
export SLURM_CONF={home}/slurm.conf
for node in $(scontrol show hostnames "$1"); do
  mkdir -p {home}/spool/$node
  setsid -f slurmd -D -b -N $node -f {home}/slurm.conf > {home}/$node.out 2>&1 < /dev/null
done
"""


def rig(name: str) -> Any:
    """A module of the tests: they run real clusters."""
    tests = Path(__file__).resolve().parents[1] / "tests"
    sys.path[:0] = [p for p in (str(tests), str(tests / "rigs")) if p not in sys.path]
    return importlib.import_module(name)


def waited(submit: Any, shared: Path, jobs: int, check: Any) -> list[float]:
    """Seconds from the submission of each job to its first command; the next comes when the one before runs, and all
    run on, so that each needs a machine of its own."""
    found = []
    for number in range(jobs):
        mark = shared / f"began-{number}"
        came = time.time()
        submit(f"date +%s.%N > {mark}.new; mv {mark}.new {mark}; sleep 600")
        until = time.monotonic() + PATIENCE
        while not mark.exists():
            check()
            if time.monotonic() > until:
                raise RuntimeError(f"job {number} does not begin within {PATIENCE:.0f} s")
            time.sleep(0.02)
        found.append(float(mark.read_text()) - came)
    return found


def hcloud(home: Path, jobs: int) -> list[float]:
    """Under ``hcloud operate --engine slurm``, with machines of a fake AWS."""
    fakes, controllers = rig("slurm.fake_clouds"), rig("slurm.controllers")
    with Forker(("aws",)) as forker, fakes.ground(home, controllers.Controllers(forker), "aws") as here:
        here.fill_store()
        words = ("--engine", "slurm", "--cloud", "aws", "--strategy", "OdM", "--plain", "--no-probe")
        running = here.controller("run", *words)
        time.sleep(5)  # until it looks

        def submit(command: str) -> None:
            # both vCPUs: the next job needs another machine
            here.slurm.submit(command, "--mem=64", "-c", "2", "-D", str(here.shared), "-o", "/dev/null")

        def check() -> None:
            if running.ended:
                raise RuntimeError(running.said)

        return waited(submit, here.shared, jobs, check)


def own(home: Path, jobs: int) -> list[float]:
    """Under Slurm's own power saving."""
    with own_cluster(home, jobs) as slurm:

        def submit(command: str) -> None:
            slurm.submit(command, "--mem=64", "-D", str(home), "-o", "/dev/null", partition="own")

        return waited(submit, home, jobs, lambda: None)


@contextlib.contextmanager
def own_cluster(home: Path, jobs: int) -> Iterator[Any]:
    """The same slurmctld, with nodes that Slurm asks up by itself and nothing of hcloud."""
    clusters = rig("slurm_cluster")
    with clusters.cluster(home) as slurm:
        slurm.stop_controller()
        first = slurm.site.first_port + 8
        nodes = OWN.format(home=home, last=jobs - 1, first=first, end=first + jobs - 1)
        (home / "hcloud.conf").write_text(nodes)
        program = home / "own-resume"
        program.write_text(RESUME.format(home=home))
        program.chmod(0o755)
        for path in (home / "state").iterdir():
            path.unlink() if path.is_file() else None
        slurm.start_controller()
        yield slurm


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=4)
    given = parser.parse_args()
    if os.geteuid() != 0:
        print("machines with a system of their own need root")
        return 2
    worst: dict[str, float] = {}
    for run in (hcloud, own):
        with tempfile.TemporaryDirectory(prefix="hc-slurm-", ignore_cleanup_errors=True) as folder:
            found = run(Path(folder), given.jobs)
        worst[run.__name__] = max(found)
        print(f"{run.__name__}: {', '.join(f'{seconds:.1f}' for seconds in found)} s from sbatch to running")
    limit, peer = LIMIT, worst["own"]
    print(f"hcloud {worst['hcloud']:.2f} s | peer {peer:.2f} | limit {limit:.2f} | {worst['hcloud'] / peer:.2f}")
    return int(worst["hcloud"] > limit)


if __name__ == "__main__":
    raise SystemExit(main())
