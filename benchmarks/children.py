"""Processes of hcloud that are forked, waited for and ended.

Each bears a number of ours, by which the process that forks (``benchmarks.forking``) answers: an answer that comes late
belongs to its own child. Whoever waits counts only the time in which the child could have run, so that one which a busy
machine keeps waiting is not taken for one that hangs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Self

ROOT = Path(__file__).resolve().parent.parent
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
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
LOOK_SECONDS = 1.0
WARM_SECONDS = 600.0
"""What a parent does itself, it may have to load all SDKs for, on a machine with others on it."""


@dataclass(slots=True)
class Child:
    """A process of hcloud. ``code`` is its exit code, below zero the signal that ended it, None while it runs."""

    number: int
    out: Path
    err: Path
    send_to: Callable[[int, int], None]
    made_by: int
    begun: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    made: int | None = None
    code: int | None = None

    @property
    def pid(self) -> int:
        """Its process id, as soon as it has one."""
        self._await(self.begun, 60.0)
        if self.made is None:
            raise ChildProcessError("the process that forks ended before it made this one")
        return self.made

    def wait(self, seconds: float = 60.0) -> int:
        """Its exit code; one that is not over after that much time of its own is ended, then TimeoutError."""
        try:
            self._await(self.over, seconds)
        except TimeoutError:
            self.send(signal.SIGKILL)
            if self.begun.is_set():
                self.over.wait()
            raise
        if self.code is None:
            raise ChildProcessError(f"the process that forks ended before this one: {self.said[-2000:]}")
        return self.code

    def _await(self, event: threading.Event, seconds: float) -> None:
        """Wait, but not count what the child spent in the queue for a processor."""
        own, then, queued = 0.0, monotonic(), in_queue(self.made or self.made_by)
        while not event.wait(LOOK_SECONDS):
            since, then = then, monotonic()
            before, queued = queued, in_queue(self.made or self.made_by)
            # below zero where a wait is told that was counted before: the kernel tells of it at its end
            own += then - since - max(queued - before, 0.0)
            if own >= seconds:
                raise TimeoutError(f"still running after {seconds} s of its own time: {self.said[-2000:]}")

    def send(self, number: int) -> None:
        """A signal, by its parent: nobody else knows for certain that it is still there."""
        if not self.over.is_set():
            self.send_to(self.number, number)

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.over.is_set()

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


def in_queue(pid: int) -> float:
    """Seconds that a process was ready to run and no processor was free; 0 where the kernel does not say."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """What a process is to do, where and as whom."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path


class Forker:
    """A process with SDKs loaded that forks itself for every job; use as a context. ``more`` of its environment may
    make it a fork itself (:mod:`benchmarks.loaded`)."""

    def __init__(self, clouds: Sequence[str], more: Mapping[str, str] | None = None) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="hcloud-forks-")
        self._writing = threading.Lock()
        self._number = 0
        self._children: dict[int, Child] = {}
        self._here = 0
        env = {n: os.environ[n] for n in KEPT if n in os.environ} | FROM_NOWHERE | dict(more or {})
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (env.get("PYTHONPATH"), str(ROOT))))
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
        for number in list(self._children):
            self._send(number, signal.SIGKILL)
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._scratch.cleanup()

    def start(self, job: Job) -> Child:
        """A child that does this job; it is there when its turn comes."""
        return self._begin(job)

    def warm(self, job: Job) -> Child:
        """Let the parent do this job itself, to its end, so that later children find its caches filled."""
        return self.here(job, WARM_SECONDS, warm=True)

    def here(self, job: Job, seconds: float, *, warm: bool = False) -> Child:
        """Let the parent do a job that nobody is to kill, in less than half of a fork's time. If it takes longer than
        that, the parent is ended with it."""
        done = self._begin(job, here=True, warm=warm)
        self._here = done.number
        done.wait(seconds)
        return done

    def _begin(self, job: Job, **how: bool) -> Child:
        with self._writing:
            self._number += 1
            number, scratch = self._number, Path(self._scratch.name)
            child = Child(number, scratch / f"{number}.out", scratch / f"{number}.err", self._send, self._process.pid)
            self._children[number] = child
        document = {"argv": list(job.argv), "env": dict(job.env), "cwd": str(job.cwd)}
        self._write({**document, "number": number, "out": str(child.out), "err": str(child.err), **how})
        return child

    def _send(self, number: int, what: int) -> None:
        if number == self._here:
            self._process.send_signal(what)
        with suppress(BrokenPipeError):  # then it has no children any more
            self._write({"signal": what, "to": number})

    def _write(self, document: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        with self._writing:
            self._process.stdin.write(json.dumps(document).encode() + b"\n")
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            if "made" in said:
                child = self._children[said["made"]]
                child.made = said["pid"]
                child.begun.set()
            elif "over" in said:
                child = self._children.pop(said["over"])
                child.code = said["code"]
                child.over.set()
        for child in self._children.values():
            child.begun.set()
            child.over.set()
