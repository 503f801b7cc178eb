"""The place of one run: its control groups, its cores, and the limits under which some resources come to contend."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from hcloud.model.measured.app import MachineShare
from hcloud.profiling import cage as cages
from hcloud.profiling.bench import Stand
from hcloud.profiling.budget import TimeBudget
from hcloud.profiling.cage import GIB, Cage, Hierarchy
from hcloud.profiling.guard import Guard
from hcloud.profiling.injectors import Injector, Stressor, StressorContext
from hcloud.profiling.place import CoreLayout, ProcessPlacement, TrialError, layout, start
from hcloud.profiling.programs.orphans import PREFIX

NETWORK_RATE = "2gbit"  # ours: slow enough that one core's flows fill it
_NETWORK = (
    "ip link set lo up && tc qdisc add dev lo root tbf rate {rate} burst 512kb latency 50ms"
    " && echo ready && exec sleep 2147483"
)
_NETWORK_PATIENCE = 5.0
_FREED_PATIENCE = 10.0  # ours: a busy machine takes seconds to free some hundred MiB
_LEAST_PRIORITY = 5  # without a CPU quota stressors give way a little


@dataclass(slots=True)
class Arena:
    """Everything of a run that programs are placed into."""

    guard: Guard
    hierarchy: Hierarchy
    group: Cage
    app_cage: Cage
    load_cage: Cage
    layout: CoreLayout
    shape: MachineShare
    clock: TimeBudget | None = None

    @classmethod
    def open(cls, guard: Guard, cores: tuple[int, ...], shape: MachineShare, hierarchy: Hierarchy) -> Arena:
        """Make the groups of a run, after what dead runs left was removed."""
        cages.remove_strays(hierarchy)
        group = Cage(hierarchy, f"{PREFIX}{guard.token}")
        for folder in group.groups:
            guard.own_group(folder)
        group.make()
        arena = cls(guard, hierarchy, group, group.inside("app"), group.inside("load"), layout(cores, 1), shape)
        arena.fit(shape, cores)
        return arena

    def fit(self, shape: MachineShare, cores: tuple[int, ...]) -> None:
        """Give the application this shape from now on."""
        self.layout, self.shape = layout(cores, shape.vcpus), shape
        self.app_cage.keep_to(self.layout.app)
        whole = shape.vcpus == len(self.layout.app)
        self.app_cage.set_cpus(None if whole else shape.vcpus)
        self.app_cage.set_memory(None if shape.memory_gib is None else int(shape.memory_gib * GIB))

    def stand(self, network: str = "") -> Stand:
        """Where the application and its load run."""
        app = ProcessPlacement(self.app_cage, self.layout.app, network=network, kill_first=True)
        return Stand(app, ProcessPlacement(self.load_cage, self.layout.load, network=network))

    def injector(
        self, stressor: Stressor, cores: tuple[int, ...], *, network: str = "", footprint: int = 0
    ) -> Injector:
        """A stressor on some cores, resting."""
        cage = self.group.inside(f"stress-{'-'.join(map(str, cores))}-{stressor.resource}-{stressor.program}")
        cage.keep_to(cores)
        nice = 0 if self.hierarchy.has("cpu") else _LEAST_PRIORITY
        place = ProcessPlacement(cage, cores, nice, network)
        return Injector(self.guard, stressor, StressorContext(cage, place, len(cores), max(footprint, 0), self.clock))

    def victim(self, resource: str, *, network: str = "", footprint: int = 0) -> Injector:
        """A built-in program that needs one resource, where the application would run."""
        place = replace(self.stand(network).app, cores=self.layout.app[:1])
        ground = StressorContext(self.app_cage, place, 1, footprint, self.clock)
        return Injector(self.guard, Stressor(resource, "built-in"), ground)

    def private_network(self) -> str:
        """The handle of a network of its own with a limited loopback; TrialError where that is not permitted."""
        if not (os.access("/proc/self/ns/net", os.F_OK) and os.geteuid() == 0):
            raise TrialError("a private network needs root")
        words = ["sh", "-c", _NETWORK.format(rate=NETWORK_RATE)]
        holder = start(
            self.guard, ProcessPlacement(self.load_cage, self.layout.load, network="new"), words, "network.out"
        )
        until = time.monotonic() + _NETWORK_PATIENCE
        while "ready" not in holder.printed():
            if holder.ended or time.monotonic() > until:
                holder.end()
                raise TrialError(f"no private network with a limited rate: {' '.join(holder.printed().split())}")
            time.sleep(0.01)
        return str(Path(f"/proc/{holder.process.pid}/ns/net"))

    def limit_together(self, amount: int | None) -> None:
        """Let application and stressors share so much memory; TrialError where memory cannot be limited. Programs that
        were just ended may still hold theirs, and the kernel takes no limit below what is held."""
        if not self.hierarchy.has("memory"):
            raise TrialError("no control group for memory can be made here")
        until = time.monotonic() + _FREED_PATIENCE
        while True:
            try:
                return self.group.set_memory(amount)
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > until:
                    raise TrialError(f"memory cannot be limited here: {error}") from error
            if self.clock is not None:
                self.clock.patience()
            time.sleep(0.05)
