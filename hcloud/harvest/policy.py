"""Every number that harvesting rests on, by mechanism; a document states each with its origin and reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

from hcloud.model.running.strategy import Key, Kind, Strategy

_RULES = {
    "averaging": "mean-of-servers",
    "typing": "spectrum",
    "classes": "k-means",
    "grid": "space-by-reimages-and-peak",
    "replicas": "one-a-row-column-and-environment",
    "mending": "first-in-first-out",
    "reserve": "share-of-each-server",
    "jobs": "by-last-run",
    "choice": "room-times-weight",
    "heartbeats": "youngest-first",
    "live": "measured-and-rounded-up",
    "moving": "kills-or-slip",
}
_KINDS: Mapping[type, Kind] = {int: "count", float: "number", str: "choice", bool: "switch"}


def _of(mechanism: str, least: float = -math.inf, most: float = math.inf, unit: str = "") -> Any:
    """A number of a mechanism: what is allowed, and its unit."""
    return field(metadata={"mechanism": mechanism, "allowed": {"unit": unit, "least": least, "most": most}})


def _one_of(mechanism: str, *choices: str) -> Any:
    return field(metadata={"mechanism": mechanism, "allowed": {"choices": choices}})


@dataclass(frozen=True, slots=True)
class HarvestPolicy:
    """The numbers by their keys. Of classes, 0 is as many as the silhouette finds best; of the lengths of jobs, 0
    is where the work divides as the idle capacity does."""

    shortest_step: int = _of("averaging", 1, 900, "s")
    longest_step: int = _of("averaging", 60, 3600, "s")
    average_over: int = _of("averaging", 1, 900, "s")
    hold_gaps: int = _of("averaging", 0, 86_400, "s")
    most_missing: float = _of("averaging", 0, 1)
    least_days: int = _of("typing", 1, 366, "days")
    periodic_days: int = _of("typing", 7, 366, "days")
    month_days: int = _of("typing", 7, 366, "days")
    sigma: float = _of("typing", 0, 1)
    daily_share: float = _of("typing", 0, 1)
    agreement: float = _of("typing", 0, 1)
    periodic_classes: int = _of("classes", 0, 100, "classes")
    constant_classes: int = _of("classes", 0, 100, "classes")
    unpredictable_classes: int = _of("classes", 0, 100, "classes")
    most_classes: int = _of("classes", 2, 100, "classes")
    restarts: int = _of("classes", 1, 1000, "restarts")
    level_weight: float = _of("classes", 0, 100)
    peak_quantile: float = _of("classes", 0.5, 1)
    grid_side: int = _of("grid", 2, 10, "rows")
    replica_rules: str = _one_of("replicas", "hard", "soft")
    tenant_weight: str = _one_of("replicas", "space", "uniform")
    stock_rule: str = _one_of("replicas", "hadoop", "paper")
    block_mib: int = _of("replicas", 1, 1_000_000, "MiB")
    copies_an_hour: float = _of("mending", 0.001, 1e6, "copies a server and hour")
    full_server: int = _of("mending", 1, 1_000_000_000, "copies a server")
    missed_heartbeats: int = _of("mending", 0, 86_400, "s")
    notice: int = _of("mending", 0, 604_800, "s")
    reserve_cores: float = _of("reserve", 0, 1)
    reserve_memory: float = _of("reserve", 0, 1)
    rise_exceeded: float = _of("reserve", 0, 0.5)
    short_below: float = _of("jobs", 0, unit="s")
    long_above: float = _of("jobs", 0, unit="s")
    first_weight: float = _of("choice", 0.001, 1000)
    second_weight: float = _of("choice", 0.001, 1000)
    third_weight: float = _of("choice", 0.001, 1000)
    tick: int = _of("heartbeats", 1, 300, "s")
    look_every: int = _of("heartbeats", 1, 3600, "s")
    live_unit: float = _of("live", 0.01, 1, "vCPUs")
    live_window: int = _of("live", 0, 86_400, "s")
    most_kills: int = _of("moving", 0, 1000, "kills")
    moves_on_slip: bool = _of("moving")
    spin_up: float = _of("moving", 0, 86_400, "s")
    slowdown: float = _of("moving", 1, 100)

    @classmethod
    def of(cls, stated: Strategy) -> HarvestPolicy:
        """The numbers of a document."""
        return cls(**{p.key: p.value for m in stated.mechanisms for p in m.parameters})  # type: ignore[arg-type]  # checked by their keys


_TYPES = get_type_hints(HarvestPolicy)


def _keys(mechanism: str) -> tuple[Key, ...]:
    own = (f for f in fields(HarvestPolicy) if f.metadata["mechanism"] == mechanism)
    return tuple(Key(f.name, _KINDS[_TYPES[f.name]], **f.metadata["allowed"]) for f in own)


MECHANISMS: Mapping[str, tuple[str, tuple[Key, ...]]] = {m: (rule, _keys(m)) for m, rule in _RULES.items()}
"""The rule that each mechanism follows, and the keys of it."""
