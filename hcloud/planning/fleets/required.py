"""What jobs require of a machine (``type=c5*``, ``memory>=60``) when types are chosen: those count that all jobs may
run on, where there are such."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import EvidenceError
from hcloud.model.catalog import InstanceType
from hcloud.model.plans.plan import Refusal
from hcloud.model.requirement import requirement_of
from hcloud.planning.fleets.candidates import Candidate
from hcloud.units import counted, some_of

if TYPE_CHECKING:
    from hcloud.model.workload import Floats, Jobs

_NAMED = 3  # ours: requirements that a sentence names
_ALL = 0.9995  # of the vCPU-hours: what is shown as 100.0%


@dataclass(frozen=True, slots=True)
class RequiredMachine:
    """What ``jobs`` jobs, ``share`` of all vCPU-hours, require of their machine; ``job`` is one of them."""

    text: str
    job: str
    jobs: int
    share: float

    def is_met(self, shape: InstanceType) -> bool:
        """Whether they may run on a type."""
        wanted = requirement_of(self.text)
        return wanted is None or wanted.is_met(shape.name, float(shape.vcpus), float(shape.memory_gib))


def required_by(jobs: Jobs, seconds: Floats) -> tuple[RequiredMachine, ...]:
    """What jobs require that run for so many ``seconds`` of what is planned for."""
    if jobs.requires is None:
        return ()
    work = jobs.cores * seconds
    whole = float(work.sum())
    found = []
    for code, text in enumerate(jobs.requirements):
        rows = np.flatnonzero((jobs.requires == code) & (seconds > 0))
        if len(rows):
            found.append(RequiredMachine(text, jobs.name(int(rows[0])), len(rows), float(work[rows].sum()) / whole))
    return tuple(found)


def meeting_all(
    candidates: Sequence[Candidate], required: Sequence[RequiredMachine]
) -> tuple[tuple[Candidate, ...], tuple[Refusal, ...]]:
    """The candidates that every job may run on, and a refusal of each other; all of them where there is none.

    Raises EvidenceError where some job may run on none.
    """
    for one in required:
        if candidates and not any(one.is_met(c.shape) for c in candidates):
            raise EvidenceError(
                f"job {one.job} requires {one.text}, and no allowed type meets that",
                hint="allow such types (--region, --family, --vcpus or markets), or leave such jobs out of the trace",
            )
    unmet = {c.address: next((r for r in required if not r.is_met(c.shape)), None) for c in candidates}
    kept = tuple(c for c in candidates if unmet[c.address] is None)
    if not kept:
        return tuple(candidates), ()
    refused = (Refusal(a, f"job {one.job} requires {one.text}") for a, one in unmet.items() if one is not None)
    return kept, tuple(refused)


def unmet_by(types: Iterable[InstanceType], required: Sequence[RequiredMachine]) -> list[RequiredMachine]:
    """What none of these types meets; nothing where there are no types."""
    shapes = tuple(types)
    return [one for one in required if shapes and not any(one.is_met(shape) for shape in shapes)]


def some_require_nothing(required: Sequence[RequiredMachine]) -> bool:
    """Whether there are other jobs than those that require something."""
    return sum(one.share for one in required) < _ALL


def said_of(required: Sequence[RequiredMachine], types: Iterable[InstanceType]) -> str:
    """What a plan with machines of these types says of them: jobs that may run on none of these, or that what some jobs
    require decides on the types of others."""
    if unmet := unmet_by(types, required):
        return f"{_jobs(unmet)} a machine that this plan does not have ({_texts(unmet)})"
    return f"{_jobs(required)} {_texts(required)}, and only such types were considered"


def _jobs(required: Sequence[RequiredMachine]) -> str:
    share, jobs = sum(one.share for one in required), sum(one.jobs for one in required)
    return f"{counted(jobs, 'job')} ({share:.1%} of the vCPU-hours) {'requires' if jobs == 1 else 'require'}"


def _texts(required: Sequence[RequiredMachine]) -> str:
    return some_of((one.text for one in required), _NAMED)
