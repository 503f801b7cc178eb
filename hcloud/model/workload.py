"""What ran: a table of jobs or a series of demand, as columns, with what was repaired, left out or modelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int32]
    Kinds = NDArray[np.int8]


class Kind(IntEnum):
    """What a job is: a batch job ends by itself, a service is latency-critical."""

    BATCH = 0
    SERVICE = 1


@dataclass(frozen=True, slots=True)
class Modelled:
    """A column the input did not carry, the rule that made it and the key that changes the rule."""

    column: str
    rule: str
    key: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a workload came from and what was done to it; ``repaired`` and ``left_out`` count rows by reason."""

    name: str
    format: str
    digest: str
    rows: int
    repaired: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    modelled: tuple[Modelled, ...] = ()


@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs as columns of one length, sorted by submit time.

    ``submit`` and ``duration`` in seconds (submit from the trace's own origin), ``cores`` in vCPUs, ``memory`` in GiB,
    ``gpus`` in devices, ``kind`` as :class:`Kind`, ``app`` as index into ``apps`` (-1: none), ``qos`` as index into
    ``qos_classes`` (-1: none). ``vectors`` holds the interference vectors that are known, by application: 0..99 for
    each resource of :data:`hcloud.model.profile.RESOURCES`; ``vector_errors`` the standard deviation of each entry, in
    points, where one is known. ``performance`` is what is known of it on instance types, by application and type, more
    is better.
    """

    submit: Floats
    duration: Floats
    cores: Floats
    memory: Floats
    gpus: Floats
    kind: Kinds
    app: Codes
    apps: tuple[str, ...]
    qos: Codes
    qos_classes: tuple[str, ...]
    provenance: Provenance
    vectors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    vector_errors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    performance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.submit)


LONGEST_LIKELY_SECONDS = 5 * 8760 * 3600  # ours: a trace over more than five years has its times in another unit
FULL_YEAR_SECONDS = 8760 * 3600


def odd_times(span_seconds: float) -> str:
    """What to say of a trace over so long a time that its times are hardly seconds; nothing of any other."""
    if span_seconds <= LONGEST_LIKELY_SECONDS:
        return ""
    years = span_seconds / FULL_YEAR_SECONDS
    return (
        f"the trace spans {years:,.0f} years: times are read as seconds; if they are milliseconds, divide them by 1000"
    )


@dataclass(frozen=True, slots=True)
class Demand:
    """Capacity in use over time, one entry a step of ``step_seconds``: mean vCPUs and GiB within the step.

    ``batch_cores`` is the part of ``cores`` that batch jobs take (what spot capacity may serve); ``start`` is the
    time of the first step in seconds (Unix time where the input has dates, else the trace's own origin).
    """

    start: float
    step_seconds: int
    cores: Floats
    memory: Floats
    batch_cores: Floats
    provenance: Provenance

    def __len__(self) -> int:
        return len(self.cores)


Workload = Jobs | Demand
