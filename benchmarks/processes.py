"""hcloud as real processes on fake clouds that listen: forked, killed, and judged by the clouds' own ledgers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random

from benchmarks.children import FROM_NOWHERE, KEPT, ROOT, Child, Forker, Job
from hcloud.fake.clock import FakeClock
from hcloud.fake.faults import FaultPlan, Faults, fault_plan
from hcloud.fake.ledger import Ledger, RecordedRequest, Rented
from hcloud.fake.server import FakeCloud, FakeServer, HttpAnswer, Received
from hcloud.model.holdings.live import TAG_PROJECT
from hcloud.model.holdings.state import Conclusion, Intent, State
from hcloud.store.states.remembered import FileStateStore
from hcloud.usecases.tools.fake import environment, made

CLOUDS = ("aws", "gcp", "azure")
TYPES = {"aws": "m5.large", "gcp": "n2-standard-2", "azure": "Standard_D2s_v5"}
LAUNCH = {"aws": "RunInstances", "gcp": "instances.bulkInsert", "azure": "VirtualMachineScaleSets_CreateOrUpdate"}
END = {"aws": "TerminateInstances", "gcp": "instances.delete", "azure": "VirtualMachineScaleSets_Delete*"}
PROJECT = "kills"


class Fate(StrEnum):
    """What becomes of a request whose sender is to be ended."""

    LOST = "the cloud never gets it"
    LATE = "the cloud gets it when it is let go"
    HELD = "the cloud does it, and the answer is kept back until the sender is gone"
    ANSWERED = "it is answered like any other"


@dataclass(slots=True)
class Mark:
    """A place among the requests of a run: so many come before it, counted from the first order where ``of_order``.

    Whoever asked for what is lost, late or held cannot have gone on, however busy the machine is.
    """

    after: int
    fate: Fate = Fate.ANSWERED
    of_order: bool = False
    reached: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def passed(self, *, is_order: bool) -> bool:
        """Whether this request is the one; each is told of once."""
        self.of_order = self.of_order and not is_order
        self.after -= not self.of_order
        return self.after == -1


class Front:
    """A fake cloud that is a little slow to answer, and says when an order or another request of a run arrives."""

    def __init__(self, cloud: FakeCloud, late_seconds: float = 0.0, seed: int = 0) -> None:
        self.behind = cloud
        self.name: str = cloud.name
        self.ledger: Ledger = cloud.ledger
        self.clock: FakeClock = cloud.clock
        self.ordered = threading.Event()
        self._late = late_seconds
        self._chance = Random(seed)
        self._mark: Mark | None = None
        self._flying = 0
        self._quiet = threading.Condition()

    @property
    def faults(self) -> Faults:
        """The faults of the cloud behind."""
        return self.behind.faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self.behind.faults = faults

    def answer(self, received: Received) -> HttpAnswer:
        """What the cloud says, after a while."""
        with self._counted():
            mark = self._marked(received)
            if mark is not None and mark.fate is not Fate.HELD:
                mark.reached.set()
            if mark is not None and mark.fate in (Fate.LOST, Fate.LATE):
                mark.let_go.wait()
            if mark is not None and mark.fate is Fate.LOST:
                return HttpAnswer(dropped=True)
            found = self.behind.answer(received)
            if self._late:
                time.sleep(self._chance.random() * self._late)
            if mark is not None and mark.fate is Fate.HELD:
                mark.reached.set()
                mark.let_go.wait()
            return found

    def mark(self, mark: Mark) -> Mark:
        """From now on this is looked for, and no other."""
        with self._quiet:
            self.ordered.clear()
            self._mark = mark
        return mark

    def settle(self) -> None:
        """Wait until the cloud has done all that it was asked, for runs that were ended, too."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._flying)

    def _marked(self, received: Received) -> Mark | None:
        with self._quiet:
            ordering = is_order(self.name, received)
            if ordering:
                self.ordered.set()
            mark = self._mark
            return mark if mark is not None and mark.passed(is_order=ordering) else None

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._quiet:
            self._flying += 1
        try:
            yield
        finally:
            with self._quiet:
                self._flying -= 1
                self._quiet.notify_all()

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

    def __init__(self, running: FakeServer, directory: Path, forker: Forker, fleet: Mapping[str, int]) -> None:
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
        """The same, to its end; what is not to crash runs in the process that forks."""
        if "HYC_CRASH_AT" not in env:
            return self.forker.here(Job(argv, self.environment(**env), self.directory), seconds)
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

    def requests(self, *, mutating: bool = False) -> tuple[RecordedRequest, ...]:
        """Requests that arrived."""
        with self.ledger.held():
            return tuple(r for r in self.ledger.requests if r.mutating or not mutating)


def fresh(cloud: str, plan: FaultPlan, late_seconds: float = 0.0, seed: int = 0) -> Front:
    """A new fake without a past."""
    return Front(made(cloud, plan), late_seconds, seed)
