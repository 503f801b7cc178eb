"""hcloud as real processes on fake clouds that listen: forked, killed, and judged by the clouds' own ledgers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Self

from hcloud.fake.clock import FakeClock
from hcloud.fake.faults import FaultPlan, Faults, fault_plan
from hcloud.fake.ledger import Ledger, Rented, Request
from hcloud.fake.server import Answer, FakeCloud, Received, Running
from hcloud.model.live import TAG_PROJECT
from hcloud.model.state import Conclusion, Intent, State
from hcloud.store.state_file import FileStateStore
from hcloud.usecases.fake import environment, made

ROOT = Path(__file__).resolve().parent.parent
CLOUDS = ("aws", "gcp", "azure")
TYPES = {"aws": "m5.large", "gcp": "n2-standard-2", "azure": "Standard_D2s_v5"}
LAUNCH = {"aws": "RunInstances", "gcp": "instances.bulkInsert", "azure": "VirtualMachineScaleSets_CreateOrUpdate"}
END = {"aws": "TerminateInstances", "gcp": "instances.delete", "azure": "VirtualMachineScaleSets_Delete*"}
PROJECT = "kills"
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV")
FROM_NOWHERE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_MAX_ATTEMPTS": "1",
    "NO_GCE_CHECK": "true",
    "GCE_METADATA_HOST": "127.0.0.1:9",
    "GCE_METADATA_IP": "127.0.0.1:9",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "COLUMNS": "200",
}
"""An environment in which no SDK looks for credentials anywhere but on this machine."""


@dataclass(slots=True)
class Child:
    """A process of hcloud. ``code`` is its exit code, below zero the signal that ended it, None while it runs."""

    pid: int
    out: Path
    err: Path
    send_to: Callable[[int, int], None]
    over: threading.Event = field(default_factory=threading.Event)
    code: int | None = None

    def wait(self, seconds: float = 60.0) -> int:
        """Its exit code; TimeoutError where it is not over in time."""
        if not self.over.wait(seconds):
            self.send(signal.SIGKILL)
            raise TimeoutError(f"still running after {seconds} s: {self.said[-2000:]}")
        assert self.code is not None
        return self.code

    def send(self, number: int) -> None:
        """A signal, by its parent: nobody else knows for certain that it is still there."""
        if not self.over.is_set():
            self.send_to(self.pid, number)

    @property
    def stdout(self) -> str:
        """What it printed."""
        return self.out.read_text(errors="replace") if self.out.exists() else ""

    @property
    def stderr(self) -> str:
        """What it told beside."""
        return self.err.read_text(errors="replace") if self.err.exists() else ""

    @property
    def said(self) -> str:
        """Both."""
        return self.stdout + self.stderr


@dataclass(frozen=True, slots=True)
class Job:
    """What a process is to do, where and as whom."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path


class Forker:
    """A process with SDKs loaded that forks itself for every job; use as a context."""

    def __init__(self, clouds: Sequence[str] = CLOUDS) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="hcloud-forks-")
        self._number = 0
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._made: list[int] = []
        self._answered = threading.Condition()
        self._children: dict[int, Child] = {}
        self._early: dict[int, int] = {}
        env = {n: os.environ[n] for n in KEPT if n in os.environ} | FROM_NOWHERE | {"PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.forking", *clouds],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        for pid in list(self._children):
            self._send(pid, signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._reader.join(30)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._scratch.cleanup()

    def start(self, job: Job, *, warm: bool = False) -> Child:
        """A child that does this job; to warm, the parent does it itself, before this returns."""
        with self._lock:
            self._number += 1
            out, err = (Path(self._scratch.name) / f"{self._number}.{n}" for n in ("out", "err"))
            document = {"argv": list(job.argv), "env": dict(job.env), "cwd": str(job.cwd)}
            line = json.dumps({**document, "out": str(out), "err": str(err), "warm": warm})
            self._write(line)
            with self._answered:
                if not self._answered.wait_for(lambda: bool(self._made), 60):
                    raise TimeoutError("the process that forks does not answer")
                child = Child(self._made.pop(), out, err, self._send)
                self._children[child.pid] = child
                if child.pid in self._early:
                    self._finish(child.pid, self._early.pop(child.pid))
        return child

    def _send(self, pid: int, number: int) -> None:
        self._write(json.dumps({"signal": number, "to": pid}))

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        with self._writing:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            with self._answered:
                if "made" in said:
                    self._made.append(said["made"])
                    self._answered.notify_all()
                elif "over" in said:
                    self._finish(said["over"], said["code"])

    def _finish(self, pid: int, code: int) -> None:
        child = self._children.pop(pid, None)
        if child is None:
            self._early[pid] = code
            return
        child.code = code
        child.over.set()


class Front:
    """A fake cloud that is a little slow to answer, and says when the first order arrives."""

    def __init__(self, cloud: FakeCloud, late_seconds: float = 0.0, seed: int = 0) -> None:
        self.behind = cloud
        self.name: str = cloud.name
        self.ledger: Ledger = cloud.ledger
        self.clock: FakeClock = cloud.clock
        self.ordered = threading.Event()
        self._late = late_seconds
        self._chance = Random(seed)

    @property
    def faults(self) -> Faults:
        """The faults of the cloud behind."""
        return self.behind.faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self.behind.faults = faults

    def answer(self, received: Received) -> Answer:
        """What the cloud says, after a while."""
        if is_order(self.name, received):
            self.ordered.set()
        found = self.behind.answer(received)
        if self._late:
            time.sleep(self._chance.random() * self._late)
        return found

    def edit(self, change: Mapping[str, object]) -> object:
        """A person's change."""
        return self.behind.edit(change)


def is_order(cloud: str, received: Received) -> bool:
    """Whether a request orders machines."""
    if cloud == "aws":
        return b"Action=RunInstances" in received.body
    if cloud == "gcp":
        return received.method == "POST" and received.path.endswith("/bulkInsert")
    return received.method == "PUT" and "/virtualMachine" in received.path


class Stage:
    """A fake cloud that listens, a directory with a configuration and a state, and processes of hcloud in it."""

    def __init__(self, running: Running, directory: Path, forker: Forker, fleet: Mapping[str, int]) -> None:
        self._running = running
        self.forker = forker
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.extra: dict[str, str] = {}
        self.want(fleet)

    @property
    def front(self) -> Front:
        """The cloud as it is now."""
        assert isinstance(self._running.cloud, Front)
        return self._running.cloud

    @property
    def cloud(self) -> str:
        """Which cloud it is."""
        return self.front.name

    @property
    def ledger(self) -> Ledger:
        """What really happened."""
        return self.front.ledger

    def want(self, fleet: Mapping[str, int], **live: object) -> None:
        """Write a configuration that wants these machines by address, and nothing else."""
        entries = [
            {"address": a, "instance_type": TYPES[self.cloud], "count": count} for a, count in sorted(fleet.items())
        ]
        document = {
            "markets": [{"provider": self.cloud}],
            "live": {"project": PROJECT, **live},
            "fleet": entries,
        }
        (self.directory / "hcloud.yaml").write_text(json.dumps(document))

    def faults(self, *rules: Mapping[str, object], **more: object) -> None:
        """From now on these go wrong."""
        self.front.faults = Faults(fault_plan({"rules": list(rules), **more}, "stage"), self.front.clock.now())

    def exchange(self, cloud: FakeCloud) -> None:
        """Another cloud behind the same address."""
        self._running.exchange(cloud if isinstance(cloud, Front) else Front(cloud))

    def environment(self, **more: str) -> dict[str, str]:
        """Of a process that goes to this fake."""
        kept = {n: os.environ[n] for n in KEPT if n in os.environ}
        own = {"XDG_CONFIG_HOME": str(self.directory / "xdg"), "HYC_PRICES": str(self.directory / "prices")}
        return {**kept, **FROM_NOWHERE, **own, **environment(self.cloud, self._running.url), **self.extra, **more}

    def start(self, *argv: str, **env: str) -> Child:
        """A forked hcloud."""
        return self.forker.start(Job(argv, self.environment(**env), self.directory))

    def run(self, *argv: str, seconds: float = 60.0, **env: str) -> Child:
        """The same, to its end."""
        child = self.start(*argv, **env)
        child.wait(seconds)
        return child

    def alone(self, *argv: str, **env: str) -> Child:
        """A forked hcloud that knows of no fake and of no credentials."""
        kept = {n: os.environ[n] for n in KEPT if n in os.environ} | {"HOME": str(self.directory)}
        own = {"XDG_CONFIG_HOME": str(self.directory / "xdg"), "HYC_PRICES": str(self.directory / "prices")}
        return self.forker.start(Job(argv, {**kept, **FROM_NOWHERE, **own, **env}, self.directory))

    def begin(self, *argv: str, **env: str) -> subprocess.Popen[bytes]:
        """A whole process from its start."""
        return subprocess.Popen(
            [sys.executable, "-m", "hcloud", *argv],
            cwd=self.directory,
            env={**self.environment(**env), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    @property
    def store(self) -> FileStateStore:
        """What is remembered."""
        return FileStateStore(self.directory / ".hcloud")

    def state(self) -> State | None:
        """The state as it can be read."""
        return self.store.load()

    def entries(self) -> tuple[Intent | Conclusion, ...]:
        """The journal as it can be read."""
        return self.store.journal().entries()

    def live(self) -> tuple[Rented, ...]:
        """Machines of ours that nobody has asked to end, told by the ledger."""
        found = self.ledger.live(self.front.clock.now())
        return tuple(m for m in found if m.tags.get(TAG_PROJECT) == PROJECT)

    def requests(self, *, mutating: bool = False) -> tuple[Request, ...]:
        """Requests that arrived."""
        with self.ledger.held():
            return tuple(r for r in self.ledger.requests if r.mutating or not mutating)


def fresh(cloud: str, plan: FaultPlan, late_seconds: float = 0.0, seed: int = 0) -> Front:
    """A new fake without a past."""
    return Front(made(cloud, plan), late_seconds, seed)
