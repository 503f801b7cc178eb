"""What a run of an application in live work showed."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.model.workload import JobKind


@dataclass(frozen=True, slots=True)
class SeenRun:
    """One run, or one stretch of it: ``share`` is what it did of what was expected (1: as expected, more: better), on
    a machine of a type with so many ``vcpus``, of which a probe found the ``quality`` (None: it was not probed).
    ``pressure`` is how many points of each shared resource others took meanwhile, by what is estimated of them and by
    the probe; ``phase`` says that the run had kept its target before."""

    app: str
    kind: JobKind
    share: float
    at: float
    type_name: str
    vcpus: float
    quality: float | None
    pressure: tuple[float, ...]
    phase: bool = False


@dataclass(frozen=True, slots=True)
class FittedVector:
    """What an application is like by all that was seen of it, and why that is believed now."""

    vector: tuple[int, ...]
    why: str
