"""Rehearsals in memory and through the real SDKs, so that one test is held on every cloud."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from contract.conftest import rig_classes
from contract.rig import Rig
from rehearsal import Rehearsal, rule

from hcloud.fake.faults import FaultKind, FaultPlan, Faults
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.fake.ledger import Ledger
from hcloud.model.holdings.live import TAG_KEY

MEMORY = "memory"
WIRED = ("aws", "gcp", "azure")
MINUTE = 60.0


class Wired:
    """A rig with the face of the cloud in memory."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        place = SimpleNamespace(types=(rig.type_name,), zones=rig.zones)
        self.world = SimpleNamespace(semantics=place, told=lambda machine: None)

    @property
    def ledger(self) -> Ledger:
        """The ledger with the keys of orders for tokens: each cloud makes a handle of its own kind of them."""
        there, shown = self.rig.fake.ledger, Ledger()
        shown.machines = {i: replace(m, token=m.tags.get(TAG_KEY, m.token)) for i, m in there.machines.items()}
        shown.requests = there.requests
        return shown

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rig.fake, name)

    def as_principal(self, name: str) -> Any:
        return self.rig.cloud(name)

    def plan_faults(self, plan: FaultPlan) -> None:
        self.rig.fake.faults = Faults(plan, self.rig.fake.clock.now())


class OverTheWire(Rehearsal):
    """A rehearsal whose processes speak through the SDK."""

    def __init__(self, rig: Rig) -> None:
        super().__init__("aws")
        rig.reset()
        self.rig = rig
        self.cloud = cast("MemoryCloud", Wired(rig))


class Stand:
    """Rehearsals on one cloud: in memory, or through its SDK against the fake that listens."""

    def __init__(self, name: str) -> None:
        self.rig = rig_classes()[name]()
        self.is_wired = name in WIRED
        if self.is_wired:
            self.rig.open()

    def rehearsal(self) -> Rehearsal:
        return OverTheWire(self.rig) if self.is_wired else Rehearsal(self.rig.name)

    def lists(self) -> tuple[str, ...]:
        """What rules call the lists of machines of this cloud."""
        found = {"aws": ("DescribeInstances",), "gcp": ("instances.aggregatedList", "instances.list")}
        sets = ("VirtualMachines_List*", "VirtualMachineScaleSet*_List*")
        return {**found, "azure": sets}[self.rig.name] if self.is_wired else ("machines", "look")

    def behind(
        self, r: Rehearsal, kind: FaultKind = FaultKind.STALE, seconds: float = 2 * MINUTE, **more: object
    ) -> None:
        """From now on every list is so far behind."""
        r.faults(*(rule(on, kind, seconds=seconds, **more) for on in self.lists()))
