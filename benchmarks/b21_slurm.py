"""Slurm's own scheduler on nodes that are configured and never run: how many jobs it starts a second, and who waits.

The distribution's ``slurmctld`` is run with nodes of the power-saving kind (``State=CLOUD``) whose start does nothing,
on loopback, as whoever runs this. A job counts as started when slurmctld has given it a node; none ever runs. So it is
the scheduler that is measured, with the plugins of the package as they come (cons_tres, backfill).
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

NEEDED = ("munged", "slurmctld", "sbatch", "squeue", "sinfo")
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SECONDS = 60.0
_CONF = """\
ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={other}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={home}/state
SlurmctldPidFile={home}/slurmctld.pid
SlurmctldLogFile={home}/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
MaxJobCount=100000
MaxArraySize=100001
SlurmdTimeout=0
MpiDefault=none
SwitchType=switch/none
ResumeProgram=/bin/true
SuspendProgram=/bin/true
ResumeTimeout=3600
SuspendTime=-1
NodeName=n[0-{last}] NodeAddr=127.0.0.1 CPUs=8 RealMemory=32768 State=CLOUD
PartitionName=all Nodes=n[0-{last}] Default=YES State=UP
"""


class Started(NamedTuple):
    """How many jobs were started in how many seconds, and how long those waited in the mean."""

    jobs: int
    seconds: float
    waited: float


def missing() -> str:
    """The commands that this machine lacks; empty where all are there."""
    return ", ".join(name for name in NEEDED if shutil.which(name, path=SEARCHED) is None)


def started_by_slurm(nodes: int, jobs: int) -> Started:
    """Submit so many jobs of one core and a GiB at once, and count those that have a node, for a minute at most."""
    with _slurmctld(nodes) as env:

        def ask(*words: str) -> str:
            return subprocess.run(words, env=env, check=True, capture_output=True, text=True).stdout

        begin = time.monotonic()
        ask("sbatch", "--array", f"0-{jobs - 1}", "-n1", "--mem=1024", "-t10", "-o", "/dev/null", "--wrap", "true")
        count, waited, passed = 0, 0.0, 0.0
        while count < jobs and time.monotonic() - begin < SECONDS:
            time.sleep(0.2)
            now = len(ask("squeue", "-h", "-r", "-t", "CF,R", "-o", "%i").split())
            passed = time.monotonic() - begin if now > count else passed
            waited += (now - count) * passed
            count = now
    return Started(count, passed, waited / max(count, 1))


@contextmanager
def _slurmctld(nodes: int) -> Iterator[dict[str, str]]:
    """A controller that answers, and the environment of its commands; everything of it goes afterwards."""
    home = Path(tempfile.mkdtemp(prefix="slurm"))
    home.chmod(0o755)
    (home / "state").mkdir()
    key, conf = home / "munge.key", home / "slurm.conf"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    conf.write_text(
        _CONF.format(home=home, user=getpass.getuser(), port=_port(), other=_port(), last=nodes - 1), encoding="utf-8"
    )
    env = {**os.environ, "PATH": SEARCHED, "SLURM_CONF": str(conf)}
    files = [f"--{what}={home}/munge.{what}" for what in ("socket", "pid-file", "log-file", "seed-file")]
    daemons = [_daemon(env, "munged", "-F", "--force", f"--key-file={key}", *files)]
    try:
        _await((home / "munge.socket").exists)
        daemons.append(_daemon(env, "slurmctld", "-D", "-i"))
        _await(lambda: subprocess.run(["sinfo", "-h"], env=env, check=False, capture_output=True).returncode == 0)
        yield env
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()
        shutil.rmtree(home)


def _daemon(env: Mapping[str, str], *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _await(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not happened():
        if time.monotonic() > until:
            raise TimeoutError("slurmctld does not answer")
        time.sleep(0.1)
