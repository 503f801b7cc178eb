"""Live work on a cloud with Slurm, as it happens: ``python docs/make_operate_cloud_transcript.py`` (as root, with
Slurm and munge installed) writes research/transcripts/operate-cloud.md.

From nothing to a job's end in five commands; then the controller is killed with -9 while a job runs, and another
machine's host is maintained. Everything is real but the cloud, which is in memory: its machines run their user data
here, each with /run, /etc/munge and processes of its own. The same holds for the whole run, so that nothing of this
machine is touched.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

TRANSCRIPT = Path(__file__).parent / "research" / "transcripts" / "operate-cloud.md"
OWN = ("/run", "/etc/slurm", "/etc/munge", "/var/lib/hcloud", "/var/lib/munge", "/var/log/munge", "/var/spool")
MUNGE = OWN[2], OWN[4], OWN[5]
INSIDE = "HYC_TRANSCRIPT"
MAINTAINED_AFTER = 10
"""Seconds from the kill of the controller to the notice of maintenance for all machines that run then."""
CLOUD = "fake:faults.yaml"
OPERATE = f"hcloud operate run --engine slurm --cloud {CLOUD} --strategy OdM --max-hourly 1 --no-probe"
PATIENCE = 180


def alone() -> None:
    """Go on as the first process of a machine of its own, as far as files and processes go."""
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, __file__]
    raise SystemExit(subprocess.run(command, env={**os.environ, INSIDE: "1"}, check=False).returncode)


def prepare() -> None:
    """What apt-get leaves: folders, and a key of munge."""
    places = " ".join(OWN)
    script = f"""mount --make-rprivate /
    for place in {places}; do mkdir -p $place; mount -t tmpfs -o mode=755 tmpfs $place; done
    mkdir /run/munge; chown munge: /run/munge {" ".join(MUNGE)}; chmod 700 {" ".join(MUNGE)}
    head -c 128 /dev/urandom > /etc/munge/munge.key; chown munge: /etc/munge/munge.key; chmod 400 /etc/munge/munge.key
    setpriv --reuid munge --regid munge --init-groups munged"""
    subprocess.run(["/bin/sh", "-ec", script], check=True)


class Session:
    """A shell in a folder; what is typed and what it prints is written down."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lines, self.running = folder, list[str](), list[subprocess.Popen[str]]()
        bin_folder = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "COLUMNS": "110",
            "NO_COLOR": "1",
        }

    def say(self, text: str) -> None:
        self.lines += ["", text, ""]

    def run(self, command: str) -> str:
        done = subprocess.run(
            command, shell=True, cwd=self.folder, env=self.environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE,
        )  # fmt: skip
        ended = [f"[exit {done.returncode}]"] if done.returncode else []
        self.lines += ["```", f"$ {command}", *done.stdout.rstrip().splitlines(), *ended, "```"]
        return done.stdout

    def begin(self, command: str) -> None:
        """In the background; what it prints is shown when it ends."""
        self.lines += ["```", f"$ {command} &", "```"]
        self.running.append(
            subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        )  # fmt: skip

    def shown(self) -> str:
        """The end of what runs in the background, and what it printed."""
        printed = self.running.pop().communicate(timeout=PATIENCE)[0]
        self.lines += ["```", *printed.rstrip().splitlines(), "```"]
        return printed

    def until(self, what: Callable[[], object], why: str) -> None:
        until = time.monotonic() + PATIENCE
        while not what():
            if time.monotonic() > until:
                raise AssertionError(why + "\n" + "\n".join(self.lines[-40:]))
            time.sleep(0.1)

    def ledger(self) -> Counter[str]:
        """What jobs themselves noted."""
        path = self.folder / "ledger"
        return Counter(path.read_text().splitlines()) if path.exists() else Counter()

    def fake(self) -> dict[str, Any]:
        """The fake cloud's own ledger."""
        found: dict[str, Any] = json.loads((self.folder / ".hcloud" / "fake-aws.json").read_text())
        return found

    def maintain(self) -> None:
        """Let the fake give notice of maintenance in a moment: commands may take their time before it."""
        after = time.time() - self.fake()["started"] + MAINTAINED_AFTER
        (self.folder / "faults.yaml").write_text(f"maintenance: [{after:.0f}]\n")


def life(shell: Session) -> None:
    """The life itself; an AssertionError where one of the ledgers says that something was lost or doubled."""
    (shell.folder / "faults.yaml").write_text("maintenance: []\n")
    job = "#!/bin/sh\n#SBATCH -p hc --mem=100 -t 5\necho begin $SLURM_JOB_ID >> ledger; hostname\nsleep $1\n"
    (shell.folder / "job.sh").write_text(job + "echo end $SLURM_JOB_ID >> ledger\n")
    shell.run("hcloud slurm config --cloud fake --type m5.large=2x8:0+8 --out /etc/slurm")
    store = ".hcloud/fake-secrets/hcloud-slurm"
    fill = f"base64 -w0 /etc/munge/munge.key > {store}/munge-key; echo localhost:6817 > {store}/controller"
    shell.run(f"mkdir -p {store}; {fill}")
    shell.run("slurmctld && hcloud slurm check")
    shell.begin(OPERATE)
    began = time.monotonic()
    shell.run("sbatch job.sh 2; sbatch job.sh 2")
    shell.until(lambda: shell.ledger()["end 1"] and shell.ledger()["end 2"], "the first jobs do not end")
    shell.say(
        f"Both jobs ended {time.monotonic() - began:.0f} seconds after submission, on machines launched for them:"
    )
    shell.run("sinfo -N -p hc; hcloud operate status")
    shell.say("Job 3 may not restart, job 4 (`--requeue`) may; kill -9 ends the controller while both run:")
    shell.run("sbatch job.sh 8; sbatch --requeue job.sh 60")
    shell.until(lambda: shell.ledger()["begin 4"], "the third and fourth do not begin")
    shell.running[-1].kill()
    shell.shown()
    shell.maintain()
    shell.say("Jobs and machines kept running. A new controller takes over:")
    shell.begin(OPERATE)
    shell.until(lambda: shell.ledger()["end 3"], "the third does not end")
    shell.say(
        f"{MAINTAINED_AFTER} seconds after the kill, the cloud announces maintenance for the hosts of all machines:"
    )
    shell.until(lambda: shell.ledger()["begin 4"] == 2, "the fourth does not leave its machine")
    shell.run("squeue -o '%i %T %N %r'; sinfo -N -p hc -o '%N %T %E'")
    shell.say("Job 4 restarted on another machine, ten minutes before its own would have ended. The end:")
    shell.run("hcloud operate drain")
    assert "none still running" in shell.shown()
    shell.run("cat ledger; squeue -h | wc -l")
    assert all(machine["ended_at"] is not None for machine in shell.fake()["machines"])
    wanted = Counter(f"{what} {n}" for n in (1, 2, 3, 4) for what in ("begin", "end")) + Counter(["begin 4"])
    assert shell.ledger() == wanted, shell.ledger()


def main() -> None:
    """Write the transcript."""
    if INSIDE not in os.environ:
        alone()
    del os.environ[INSIDE]
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        shell = Session(Path(folder))
        try:
            life(shell)
        finally:
            sys.stderr.write("" if shell.lines[-1:] == ["```"] else "\n".join(shell.lines[-30:]))
        text = "\n".join(shell.lines).replace(folder, "DIRECTORY").replace(str(Path(sys.executable).parent), "BIN")
    head = [
        "# Live work on a fake cloud with a real Slurm",
        "",
        "Written by `python docs/make_operate_cloud_transcript.py`, which checks the run against the fake's ledger and",
        "the jobs' own. Needs `apt-get install slurm-wlm munge`, which creates munge's key and starts munged.",
        "",
    ]
    steady = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    TRANSCRIPT.write_text("\n".join(head) + "\n" + steady + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
