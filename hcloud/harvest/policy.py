"""Every number that harvesting rests on, by mechanism; a document states each with its origin and reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from hcloud.model.running.strategy import Key, Strategy

MECHANISMS: Mapping[str, tuple[str, tuple[Key, ...]]] = {
    "averaging": (
        "mean-of-servers",
        (
            Key("shortest_step", "count", "s", least=1, most=900),
            Key("longest_step", "count", "s", least=60, most=3600),
            Key("average_over", "count", "s", least=1, most=900),
            Key("hold_gaps", "count", "s", least=0, most=86_400),
            Key("most_missing", "number", least=0, most=1),
        ),
    ),
    "typing": (
        "spectrum",
        (
            Key("least_days", "count", "days", least=1, most=366),
            Key("periodic_days", "count", "days", least=7, most=366),
            Key("month_days", "count", "days", least=7, most=366),
            Key("sigma", "number", least=0, most=1),
            Key("daily_share", "number", least=0, most=1),
            Key("agreement", "number", least=0, most=1),
        ),
    ),
    "classes": (
        "k-means",
        (
            Key("periodic_classes", "count", "classes", least=0, most=100),
            Key("constant_classes", "count", "classes", least=0, most=100),
            Key("unpredictable_classes", "count", "classes", least=0, most=100),
            Key("most_classes", "count", "classes", least=2, most=100),
            Key("restarts", "count", "restarts", least=1, most=1000),
            Key("level_weight", "number", least=0, most=100),
            Key("peak_quantile", "number", least=0.5, most=1),
        ),
    ),
    "grid": ("space-by-reimages-and-peak", (Key("grid_side", "count", "rows", least=2, most=10),)),
    "replicas": (
        "one-a-row-column-and-environment",
        (
            Key("replica_rules", "choice", choices=("hard", "soft")),
            Key("tenant_weight", "choice", choices=("space", "uniform")),
            Key("stock_rule", "choice", choices=("hadoop", "paper")),
            Key("block_mib", "count", "MiB", least=1, most=1_000_000),
        ),
    ),
    "mending": (
        "first-in-first-out",
        (
            Key("copies_an_hour", "number", "copies a server and hour", least=0.001, most=1e6),
            Key("full_server", "count", "copies a server", least=1, most=1_000_000_000),
            Key("missed_heartbeats", "count", "s", least=0, most=86_400),
            Key("notice", "count", "s", least=0, most=604_800),
        ),
    ),
    "reserve": (
        "share-of-each-server",
        (
            Key("reserve_cores", "number", least=0, most=1),
            Key("reserve_memory", "number", least=0, most=1),
            Key("rise_exceeded", "number", least=0, most=0.5),
        ),
    ),
    "jobs": (
        "by-last-run",
        (Key("short_below", "number", "s", least=0), Key("long_above", "number", "s", least=0)),
    ),
    "choice": (
        "room-times-weight",
        (
            Key("first_weight", "number", least=0.001, most=1000),
            Key("second_weight", "number", least=0.001, most=1000),
            Key("third_weight", "number", least=0.001, most=1000),
        ),
    ),
    "heartbeats": (
        "youngest-first",
        (Key("tick", "count", "s", least=1, most=300), Key("look_every", "count", "s", least=1, most=3600)),
    ),
    "live": (
        "measured-and-rounded-up",
        (
            Key("live_unit", "number", "vCPUs", least=0.01, most=1),
            Key("live_window", "count", "s", least=0, most=86_400),
        ),
    ),
    "moving": (
        "kills-or-slip",
        (
            Key("most_kills", "count", "kills", least=0, most=1000),
            Key("moves_on_slip", "switch"),
            Key("spin_up", "number", "s", least=0, most=86_400),
            Key("slowdown", "number", least=1, most=100),
        ),
    ),
}
"""The rule that each mechanism follows, and the keys of it."""


@dataclass(frozen=True, slots=True)
class HarvestPolicy:
    """The numbers by their keys. Of classes, 0 is as many as the silhouette finds best; of the lengths of jobs, 0
    is where the work divides as the idle capacity does."""

    shortest_step: int
    longest_step: int
    average_over: int
    hold_gaps: int
    most_missing: float
    least_days: int
    periodic_days: int
    month_days: int
    sigma: float
    daily_share: float
    agreement: float
    periodic_classes: int
    constant_classes: int
    unpredictable_classes: int
    most_classes: int
    restarts: int
    level_weight: float
    peak_quantile: float
    grid_side: int
    replica_rules: str
    tenant_weight: str
    stock_rule: str
    block_mib: int
    copies_an_hour: float
    full_server: int
    missed_heartbeats: int
    notice: int
    reserve_cores: float
    reserve_memory: float
    rise_exceeded: float
    short_below: float
    long_above: float
    first_weight: float
    second_weight: float
    third_weight: float
    tick: int
    look_every: int
    live_unit: float
    live_window: int
    most_kills: int
    moves_on_slip: bool
    spin_up: float
    slowdown: float

    @classmethod
    def of(cls, stated: Strategy) -> HarvestPolicy:
        """The numbers of a document."""
        values = {p.key: p.value for m in stated.mechanisms for p in m.parameters}
        return cls(**{f.name: values[f.name] for f in fields(cls)})  # type: ignore[arg-type]  # checked by their keys
