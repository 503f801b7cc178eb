"""What sets a cloud apart for those who rehearse against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module

from hcloud.fake.bill import BY_THE_MINUTE_AT_LEAST
from hcloud.model.catalog import BillingRule, PurchaseOption
from hcloud.model.clouds.known import CLOUDS

LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Semantics:
    """``by_name`` means that a machine's name is derived from its order and is unique (what is there is kept, what is
    missing is made), ``lingers`` that ended machines are told of for a while, ``tells_ends`` that their end is told
    otherwise, and ``tells_when`` with its time; ``warns`` that it tells others than the machine that it takes spot
    capacity back. ``starts_tomorrow`` is of commitments that begin at the next midnight
    of Google's, ``takes_back`` of those that can be returned young or while queued, ``flexes`` of those that cover all
    sizes of a family. ``listening_account`` is that of the fake that listens."""

    cloud: str
    account: str
    region: str
    zones: tuple[str, ...]
    types: tuple[str, ...]
    by_name: bool = True
    replays: bool = False
    lingers: bool = False
    tells_ends: bool = False
    tells_when: bool = False
    warns: bool = False
    starts_tomorrow: bool = False
    takes_back: bool = False
    flexes: bool = False
    rule: BillingRule = BY_THE_MINUTE_AT_LEAST
    codes: Mapping[str, str] = field(default_factory=dict)
    listening_account: str = ""

    @property
    def sold(self) -> tuple[PurchaseOption, ...]:
        """The commitments that it sells."""
        return CLOUDS[self.cloud].sold if self.cloud in CLOUDS else ()

    @property
    def queues(self) -> bool:
        """Whether it takes purchases for a later day."""
        return self.cloud in CLOUDS and CLOUDS[self.cloud].queues

    def in_region(self, region: str) -> Semantics:
        """The same cloud elsewhere."""
        zones = CLOUDS[self.cloud].zones_of(region) if self.cloud in CLOUDS else self.zones
        return replace(self, region=region, zones=zones)


def semantics_of(cloud: str) -> Semantics:
    """Those of a cloud, or of this machine."""
    if cloud == LOCAL:
        return Semantics(LOCAL, LOCAL, LOCAL, (LOCAL,), ("small", "medium", "large"))
    found: Semantics = import_module(f"hcloud.fake.{cloud}.semantics").SEMANTICS
    return found
