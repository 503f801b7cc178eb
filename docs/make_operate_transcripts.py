"""Jobs on two grounds, as it happens: ``python docs/make_operate_transcripts.py`` writes
research/transcripts/operate-local.md and operate-slurm.md.

A controller is killed with -9 in the middle of both; the next one goes on. What ran is judged by a ledger that the jobs
themselves write. Slurm is a real one on loopback (Debian's slurm-wlm and munge).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "rigs"))

from slurm_cluster import SEARCHED, cluster, wait_for

from hcloud.profiling.local.machines import ProcessHost
from hcloud.providers.slurm.site import NodeGroup

TRANSCRIPTS = Path(__file__).resolve().parent / "research" / "transcripts"
JOBS = 12
NODES = (NodeGroup("small", 1, 1024, 2, 3), NodeGroup("medium", 2, 2048, 1, 2), NodeGroup("large", 4, 4096, 1, 1))


@dataclass
class Transcript:
    """Commands of a folder with what they print and the code they end with."""

    folder: Path
    environment: Mapping[str, str]
    lines: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.lines += ["", text, ""]

    def run(self, words: str) -> str:
        """Run a command to its end."""
        with self.begun(words) as process:
            printed = process.communicate(timeout=300)[0]
        return self.told(words, printed, process.returncode)

    def killed(self, words: str, when: int) -> str:
        """Run a controller until the jobs' ledger has so many lines; then it is killed with -9."""
        with self.begun(words) as process:
            wait_for(lambda: sum(self.ledger().values()) >= when, "too few jobs begin")
            process.send_signal(signal.SIGKILL)
            printed = process.communicate(timeout=60)[0]
        return self.told(words, printed, process.returncode)

    @contextmanager
    def begun(self, words: str) -> Iterator[subprocess.Popen[str]]:
        """A command that runs."""
        command = [sys.executable, "-m", *words.split()] if words.startswith("hcloud") else words.split()
        environment = {**os.environ, "COLUMNS": "110", "NO_COLOR": "1", **self.environment}
        with subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            yield process

    def shown(self, name: str) -> None:
        """The beginning of a file."""
        text = (self.folder / name).read_text(encoding="utf-8").splitlines()
        self.lines += ["```", f"$ head -4 {name}", *text[:4], "```"]

    def ledger(self) -> Counter[str]:
        """What the jobs wrote."""
        path = self.folder / "ledger"
        return Counter(path.read_text(encoding="utf-8").split("\n")[:-1]) if path.exists() else Counter()

    def judge(self, names: list[str]) -> None:
        """Every job began once and ended once."""
        assert self.ledger() == Counter(f"{what} {name}" for name in names for what in ("begin", "end")), self.ledger()
        self.say(f"The jobs' own ledger: {len(names)} jobs started and ended, each once.")

    def told(self, words: str, printed: str, code: int) -> str:
        """Note a command with what it printed."""
        ended = "killed with -9" if code < 0 else f"exit {code}"
        text = re.sub(re.escape(str(self.folder)), "/home/you/work", printed.rstrip())
        self.lines += ["```", f"$ {words}", *text.splitlines(), f"[{ended}]", "```"]
        return printed


def on_this_machine(folder: Path) -> list[str]:
    """Twelve jobs of a file, three applications."""
    names = [f"{app}-{n}" for n in range(JOBS // 3) for app in ("load", "sort", "index")]
    rows = ["id,command,cores,expect,app,restartable"]
    for name in names:
        command = f"sh -c 'echo begin {name} >> ledger; sleep 2; echo end {name} >> ledger'"
        rows.append(f'{name},"{command}",0.5,2,{name[:-2]},no')
    (folder / "jobs.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    told = Transcript(folder, {})
    told.shown("jobs.csv")
    told.say("Machines are groups of processes here. We kill the controller after some jobs have ended:")
    told.killed("hcloud operate run jobs.csv --cloud local --pool 1", 9)
    told.say("Jobs and machines continue without a controller:")
    told.run("hcloud operate status")
    told.say("A new controller reads the journal, checks machines and jobs, and continues:")
    told.run("hcloud operate run jobs.csv --cloud local --pool 1")
    told.judge(names)
    journal = ".hcloud/operate/journal.jsonl"
    for verb in (
        "operate explain --job index-1",
        f"report quality {journal}",
        f"report accuracy --journal {journal}",
    ):
        told.run(f"hcloud {verb}")
    assert not ProcessHost(folder / ".hcloud" / "local" / "running").alive()
    return told.lines


def on_slurm(home: Path) -> list[str]:
    """Jobs that come by sbatch to a real slurmctld; its nodes come and go."""
    with cluster(home, NODES) as grid:
        told = Transcript(home, {"SLURM_CONF": str(grid.conf), "PATH": f"{SEARCHED}:{Path(sys.executable).parent}"})
        told.run("hcloud slurm check")
        told.run("sinfo")
        told.say("sbatch submits jobs; `job_submit.lua` holds them until hcloud has decided:")
        jobs = submitted(told, 4)
        told.run("squeue --Format=JobID,State,Reason,Partition")
        operate = "hcloud operate --engine slurm --cloud local --strategy HM --pool 1"
        told.say("We kill the controller while jobs run, then submit two more jobs:")
        told.killed(operate, 3)
        jobs += submitted(told, 2)
        told.run("hcloud operate status")
        told.say("A new controller continues; after `drain` it finishes all jobs, then terminates all machines:")
        with told.begun(operate) as process:
            wait_for(lambda: sum(told.ledger().values()) == 2 * len(jobs), "not all jobs end")
            told.run("hcloud operate drain --no-wait")
            printed = process.communicate(timeout=120)[0]
        told.told(operate, printed, process.returncode)
        told.judge(jobs)
        wait_for(lambda: not ProcessHost(home / ".hcloud" / "local" / "running").alive(), "a machine is left")
        told.run("hcloud report quality .hcloud/operate/journal.jsonl")
        told.run("sinfo")
        return told.lines


def submitted(told: Transcript, count: int) -> list[str]:
    """Submit jobs that write into the ledger; their numbers."""
    wrap = "echo begin $SLURM_JOB_ID >> ledger; sleep 2; echo end $SLURM_JOB_ID >> ledger"
    found = []
    for _ in range(count):
        words = ["sbatch", "--parsable", "-p", "hc", "--mem=64", "-t", "1", "-o", "/dev/null", "--wrap", wrap]
        done = subprocess.run(
            words, cwd=told.folder, env={**os.environ, **told.environment}, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.strip())
    told.lines += ["```", f"$ sbatch -p hc --mem=64 -t 1 --wrap '...'     # {count} times: {', '.join(found)}", "```"]
    return found


def main() -> None:
    """Write those that are named, both without any."""
    grounds = {"local": on_this_machine, "slurm": on_slurm}
    for name in sys.argv[1:] or list(grounds):
        with tempfile.TemporaryDirectory(prefix="hc-", ignore_cleanup_errors=True) as folder:
            lines = grounds[name](Path(folder))
        where = {"local": "this machine", "slurm": "a Slurm cluster"}[name]
        head = [
            f"# Jobs on {where}",
            "",
            "Written by `python docs/make_operate_transcripts.py` from a real run. Times, ids and decisions differ",
            "between runs.",
            "",
        ]
        (TRANSCRIPTS / f"operate-{name}.md").write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
