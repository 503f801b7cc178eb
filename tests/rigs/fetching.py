"""Fakes whose machines of the past are known, as each cloud tells of them: what the tests of fetching stand on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from hcloud.fake.faults import ClockPlan, FaultPlan, FaultRule, Faults
from hcloud.fake.ledger import Rented
from hcloud.fake.server import FakeServer
from hcloud.fake.world import MachineLoad, NewMachine
from hcloud.model.fetched import Fetched
from hcloud.model.workload import Demand
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.usecases.live.connect import CloudSettings
from hcloud.usecases.live.fetch import FetchRequest, FetchRun, fetch

NOW = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
HOUR, DAY = 3600, 86_400


@dataclass
class PastCloud:
    """A fake at NOW and how hcloud is told to ask it; ``types`` are two types with their vCPUs."""

    cloud: str
    fake: Any
    region: str
    types: tuple[tuple[str, int], ...]
    url: str = ""
    account: str = ""
    letter: str = "a"
    options: dict[str, object] = field(default_factory=dict)

    def rent(self, number: int, load: MachineLoad, *, kind: int = 0, **more: Any) -> Rented:
        """A machine that runs since ``days`` before NOW, until ``ended`` days before NOW."""
        days, ended, zone = more.get("days", 10.0), more.get("ended"), more.get("zone", f"{self.region}{self.letter}")
        machine = self.launched(number, self.types[kind][0], zone)
        for moment in ("made_at", "visible_at", "tagged_at", "running_at"):
            setattr(machine, moment, NOW.timestamp() - days * DAY)
        if ended is not None:
            self.terminate(machine)
            machine.asked_to_end = machine.ended_at = NOW.timestamp() - ended * DAY
        self.fake.loads[machine.id] = load
        return machine

    def launched(self, number: int, kind: str, zone: str) -> Rented:
        """A machine, in the fake's own way."""
        machine: Rented = self.fake.rent(NewMachine(f"i-{number:017x}", kind, zone, False, {}, at_once=True))
        return machine

    def terminate(self, machine: Rented) -> None:
        """What else has to be done for the end of one."""

    def request(self, out: Path, days: float = 4, **more: Any) -> FetchRequest:
        """What is fetched."""
        regions = more.pop("regions", ())
        settings = CloudSettings(self.cloud, self.region, self.account, self.url, options=self.options)
        return FetchRequest(settings, int(days * DAY), regions, out, NOW, **more)

    def fetch(self, out: Path, days: float = 4, run: FetchRun | None = None, **more: Any) -> Fetched:
        """Fetch."""
        return fetch(self.request(out, days, **more), run or FetchRun())

    def wanted(self, found: Fetched, value: Callable[[Rented, int, int], float]) -> np.ndarray[Any, Any]:
        """What the fake was given, by hour of the window: the sum of ``value`` of machine, vCPUs and time."""
        vcpus = dict(self.types)
        total = np.zeros((found.window.end - found.window.start) // HOUR)
        for machine in self.fake.ledger.machines.values():
            for at, time in enumerate(range(found.window.start, found.window.end, HOUR)):
                end = machine.asked_to_end if machine.asked_to_end is not None else float("inf")
                if machine.made_at <= time and time + HOUR <= end:
                    total[at] += value(machine, vcpus[machine.instance_type], time)
        return total

    def in_use(self, machine: Rented, vcpus: int, time: int) -> float:
        """The vCPUs in use at an hour."""
        return float(vcpus * self.fake.load_of(machine).at(time) / 100)


def ran(machine: Rented, vcpus: int, time: int) -> float:
    """The vCPUs that ran."""
    return float(vcpus)


def demand_in(path: Path, which: str = "provisioned") -> Demand:
    """The demand that a plan reads from a file without a flag, or with this key."""
    options = replace(WorkloadOptions(), fetched_demand=which)  # type: ignore[arg-type]
    found = read_workload(path, options=options)
    assert isinstance(found, Demand)
    return found


def standing_still() -> FaultPlan:
    """A fake whose clock stands at NOW."""
    return FaultPlan(clock=ClockPlan(start=NOW, speed=0))


def ruled(past: PastCloud, *rules: FaultRule, roles: dict[str, tuple[str, ...]] | None = None) -> None:
    """Let the fake follow these rules from now on."""
    plan = past.fake.faults.plan.model_copy(update={"rules": rules, "roles": roles or {}})
    past.fake.faults = Faults(plan, past.fake.now)


@contextmanager
def listening(past: PastCloud, **more: Any) -> Iterator[PastCloud]:
    """The fake with an address."""
    with FakeServer(past.fake, **more) as server:
        past.url = server.url
        yield past
