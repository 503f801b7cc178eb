"""A Slurm cluster of this machine for tests: munged, slurmctld and slurmd as plain processes on loopback."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from waiting import PATIENCE, until

import hcloud
from hcloud.errors import UnavailableError
from hcloud.providers.slurm import config
from hcloud.providers.slurm.answers import SlurmJob
from hcloud.providers.slurm.client import SlurmCommands
from hcloud.providers.slurm.site import NodeGroup, SlurmSite

NEEDED = ("munged", "slurmctld", "slurmd", "squeue", "scontrol", "sbatch")
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
GROUPS = (NodeGroup("small", 1, 1024, 1, 3), NodeGroup("medium", 2, 2048, 1, 2))
PORTS = 20
"""Ours: enough for slurmctld and every node of a test."""
OURS = ("/usr/bin/env", f"PYTHONPATH={Path(hcloud.__file__).parents[1]}", sys.executable, "-m", "hcloud")
"""The programs of slurmctld get an empty environment."""

_BASE = """\
ClusterName={name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool/%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
JobCompType=jobcomp/filetxt
JobCompLoc={home}/jobcomp.log
SchedulerParameters=sched_min_interval=100000,bf_interval=1
SlurmdTimeout=10
MessageTimeout=30
KillWait=1
MinJobAge={keep}
MpiDefault=none
SwitchType=switch/none
NodeName=other-0 NodeAddr=127.0.0.1 Port={other} CPUs=1 RealMemory=1024 State=UNKNOWN
PartitionName=other Nodes=other-0 Default=YES State=UP
Include hcloud.conf
"""


def missing() -> str:
    """The commands of Slurm that this machine lacks; empty where all are there."""
    return ", ".join(name for name in NEEDED if shutil.which(name, path=SEARCHED) is None)


@dataclass
class Cluster:
    """A running cluster: everything of it is in ``home``, and its daemons are this process's children."""

    home: Path
    site: SlurmSite
    port: int
    daemons: dict[str, subprocess.Popen[bytes]]
    started: float = 0.0

    @property
    def conf(self) -> Path:
        return self.home / "slurm.conf"

    @property
    def commands(self) -> SlurmCommands:
        return SlurmCommands(self.conf, SEARCHED, seconds=PATIENCE)

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": SEARCHED, "SLURM_CONF": str(self.conf), "LANG": "C.UTF-8", "TZ": "UTC"}

    def run(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            words, env=self.environment, cwd=self.home, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert not check or done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def submit(self, command: str = "true", *options: str, partition: str = "hc") -> str:
        """Submit a job; its number."""
        where = ["-p", partition] if partition else []
        said = self.run("sbatch", "--parsable", "-o", f"{self.home}/out.%j", *where, *options, "--wrap", command)
        return said.strip().partition(";")[0]

    def job(self, job: str) -> SlurmJob:
        return next(found for found in self.commands.jobs() if found.id == job)

    def start_munge(self) -> None:
        """Start munged with its own key and socket."""
        files = [f"--{name}={self.home}/munge.{name.partition('-')[0]}" for name in ("socket", "key-file", "pid-file")]
        more = [f"--log-file={self.home}/munge.log", f"--seed-file={self.home}/munge.seed"]
        self._spawn("munged", "munged", "--foreground", "--num-threads=1", *files, *more)
        wait_for((self.home / "munge.socket").exists, "munged does not start")

    def start_controller(self) -> None:
        """Start slurmctld (again); returns when it answers."""
        self.started = time.monotonic()
        self._spawn("slurmctld", "slurmctld", "-D", "-f", str(self.conf))
        wait_for(lambda: "UP" in self.run("scontrol", "ping", check=False), "slurmctld does not answer")

    def stop_controller(self) -> None:
        """slurmctld writes its state and ends."""
        found = self.daemons.pop("slurmctld")
        found.terminate()
        found.wait(PATIENCE)

    def kill_controller(self) -> None:
        """slurmctld dies without a word, a second after it began at least: it says in whole ones when it did."""
        time.sleep(max(self.started + 1.1 - time.monotonic(), 0.0))
        self.end("slurmctld")

    def start_node(self, node: str) -> None:
        """Start a node's slurmd."""
        (self.home / "spool" / node).mkdir(parents=True, exist_ok=True)
        self._spawn(node, "slurmd", "-D", "-b", "-N", node, "-f", str(self.conf))

    def start_script(self, name: str, script: str) -> None:
        """Run a machine's start-up script."""
        path = self.home / f"{name}.sh"
        path.write_text(script)
        self._spawn(name, "/bin/sh", str(path))

    def end(self, name: str) -> None:
        """Kill a daemon with its group."""
        found = self.daemons.pop(name)
        os.killpg(found.pid, signal.SIGKILL)
        found.wait()

    def _spawn(self, name: str, *words: str) -> None:
        log = (self.home / f"{name}.out").open("ab")
        with log:
            self.daemons[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *words],
                env=self.environment,
                cwd=self.home,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self) -> str:
        return (self.home / "slurmctld.log").read_text(errors="replace")


def wait_for(what: Callable[[], object], why: str) -> None:
    """Ask gently until it is so, and the more gently the longer it takes: to ask starts some of Slurm's commands. Fails
    with ``why``. A busy slurmctld may not answer for a moment, which the loop of a controller bears, too."""
    slept = 0.0
    while True:
        told = ""
        try:
            if what():
                return
        except UnavailableError as error:
            told = f": {error}"
        assert slept < PATIENCE, why + told
        time.sleep(nap := min(0.05 + slept / 8, 1.0))
        slept += nap


@contextmanager
def free_ports(count: int) -> Iterator[int]:
    """The first of so many ports in a row that nobody listens on; no other test of this machine takes them while the
    context lasts."""
    first = 17_000 + os.getpid() * 97 % 12_000
    for start in range(first - first % count, 32_000, count):
        with socket.socket(socket.AF_UNIX) as claim:  # a name without a file, so that it is of no user
            try:
                claim.bind(f"\0hc-slurm-{count}-{start}")
            except OSError:
                continue
            if all(_is_free(port) for port in range(start, start + count)):
                yield start
                return
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@contextmanager
def cluster(
    home: Path,
    groups: tuple[NodeGroup, ...] = GROUPS,
    *,
    keep: int = 300,
    store: str = "",
    join: int = 15,
    probe: bool = False,
    more: str = "",
) -> Iterator[Cluster]:
    """A cluster with hcloud's partition and one of somebody else; nothing of it outlasts the context. ``keep`` is how
    long slurmctld remembers jobs that ended, ``store`` where machines of a fake cloud read their secrets, ``join`` how
    many seconds a node may take to join, ``probe`` whether rented machines measure themselves; with ``more`` lines of
    slurm.conf jobs wait in Slurm's own order."""
    with free_ports(PORTS) as first:
        site = SlurmSite(home / "hcloud", groups, store=store, spin_up=join, probe=probe, keeps_order=bool(more))
        yield from _running(home, site, first, keep, more)


def _running(home: Path, site: SlurmSite, first: int, keep: int, more: str) -> Iterator[Cluster]:
    made = Cluster(home, replace(site, first_port=first + 2, shut_down=2, command=OURS), first, {})
    _write(made, keep)
    made.conf.write_text(made.conf.read_text() + more)
    try:
        made.start_munge()
        made.start_controller()
        yield made
    finally:
        for name in reversed(list(made.daemons)):
            made.end(name)
        _sweep(home)


def _write(made: Cluster, keep: int) -> None:
    home = made.home
    for name in ("state", "spool", "hcloud"):
        (home / name).mkdir()
    home.chmod(0o711)
    (home / "munge.key").write_bytes(os.urandom(128))
    (home / "munge.key").chmod(0o400)
    for name, text in config.files(made.site, str(home)).items():
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    made.site.tickets.mkdir()
    made.site.begun.mkdir()
    made.site.claims.mkdir()
    base = _BASE.format(
        name=f"t{made.port}", user=getpass.getuser(), port=made.port, other=made.port + 1, home=home, keep=keep
    )
    made.conf.write_text(base)


def _sweep(home: Path) -> None:
    """Kill what carries the folder in its command line or works in it: munged, and what jobs started."""

    def are_gone() -> bool:
        found = _processes(home)
        for pid in found:
            with _gone():
                os.kill(pid, signal.SIGKILL)
        return not found

    until(are_gone, "they cannot be ended")


@contextmanager
def _gone() -> Iterator[None]:
    try:
        yield
    except OSError:
        return


def _processes(home: Path) -> list[int]:
    found, word = [], str(home).encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with _gone():
            environment, line = (entry / "environ").read_bytes(), (entry / "cmdline").read_bytes()
            if line and (word + b"/" in environment or word + b"/" in line):
                found.append(int(entry.name))
    return found
