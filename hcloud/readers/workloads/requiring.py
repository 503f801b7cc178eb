"""A part of a workload: the jobs that require one and the same of their machine, those that require anything, or those
that require nothing; those with much memory for their vCPUs, or the others; and the jobs that ask for GPUs."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import UsageError
from hcloud.model.workload import OF_NO_GPUS, Jobs, Workload
from hcloud.readers.workloads.options import check_memory
from hcloud.units import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTHING, ANYTHING = "nothing", "anything"
BY_ITSELF = "act on each plan with a --state of its own"
OTHERS = f"require something else (requires): {BY_ITSELF}"
OTHER_MEMORY = f"have other GiB per vCPU (gib_per_vcpu): {BY_ITSELF}"
WITHOUT = f"{OF_NO_GPUS}: {BY_ITSELF}"
_OF_MEMORY = re.compile(r"(over|up-to)-([0-9.]+)")
_ROUNDING = 1 + 1e-9  # so that 0.27 GiB of 0.09 vCPUs are 3
_NAMED = 5  # ours: requirements that a refusal lists


def part_of(workload: Workload, requires: str, gib_per_vcpu: str) -> Workload:
    """The jobs of a workload that are asked for by what they require and by their memory; raises as these do."""
    return of_memory(requiring(workload, requires), gib_per_vcpu)


def of_memory(workload: Workload, wanted: str) -> Workload:
    """The jobs with more GiB per vCPU than said (``over-4``), with at most so many (``up-to-4``), or both
    (``over-4-up-to-8``); all without any.

    Raises UsageError where there are none.
    """
    check_memory(wanted)
    if not wanted:
        return workload
    if not isinstance(workload, Jobs):
        raise UsageError(f"gib_per_vcpu: {workload.provenance.name}: {_there(workload)}")
    numbers = dict(_OF_MEMORY.findall(wanted))
    most, least = (float(numbers.get(key, at)) for key, at in (("up-to", "inf"), ("over", "-inf")))
    ratio = workload.memory / workload.cores / _ROUNDING
    kept = np.flatnonzero((ratio > least) & (ratio <= most))
    if not len(kept):
        text = f"gib_per_vcpu={wanted}: {workload.provenance.name}: no job has so many GiB for each of its vCPUs"
        raise UsageError(text, hint="leave it out")
    return _at(workload, kept, OTHER_MEMORY)


def requiring(workload: Workload, wanted: str) -> Workload:
    """The jobs that require just that, in the words of the column ``requires`` or in one of ours (all without any);
    what is left out is counted.

    Raises UsageError where no job requires it.
    """
    if not wanted:
        return workload
    kept = _rows(workload, wanted)
    if not len(kept):
        raise UsageError(f"requires: {workload.provenance.name}: no job requires {wanted}", hint=_there(workload))
    return _at(workload, kept, OTHERS)


def asking(workload: Workload, gpu: str) -> Workload:
    """The jobs that ask for GPUs, where these are wanted ``only``, or for so many (``1-4``); the others are counted as
    left out. Raises UsageError where there are none."""
    if gpu in ("leave-out", "demand"):
        return workload
    least, most = (1, inf) if gpu == "only" else map(int, gpu.split("-"))
    many = "" if gpu == "only" else "so many "
    gpus = np.ceil(workload.gpus) if isinstance(workload, Jobs) else np.zeros(0)
    kept = np.flatnonzero((gpus >= max(least, 1)) & (gpus <= most))
    if not len(kept):
        raise UsageError(f"gpu={gpu}: {workload.provenance.name}: no job asks for {many}GPUs", hint="leave it out")
    return _at(workload, kept, WITHOUT)


def _at(workload: Workload, kept: NDArray[np.intp], why: str) -> Jobs:
    assert isinstance(workload, Jobs)
    origin, gone = workload.provenance, len(workload) - len(kept)
    left_out = {**origin.left_out, why: gone} if gone else origin.left_out
    return replace(workload.at(kept), provenance=replace(origin, left_out=left_out))


def _rows(workload: Workload, wanted: str) -> NDArray[np.intp]:
    if not isinstance(workload, Jobs):
        return np.zeros(0, np.intp)
    codes = np.full(len(workload), -1, np.int32) if workload.requires is None else workload.requires
    if wanted in (NOTHING, ANYTHING):
        return np.flatnonzero((codes < 0) == (wanted == NOTHING))
    names = [at for at, text in enumerate(workload.requirements) if text.split() == wanted.split()]
    return np.flatnonzero(np.isin(codes, names))


def _there(workload: Workload) -> str:
    """What may be asked for instead."""
    if not isinstance(workload, Jobs):
        return "a demand series has no jobs: leave it out"
    texts = workload.requirements if workload.requires is not None else ()
    if not texts:
        return "its jobs require nothing: leave it out"
    more = f" and {counted(len(texts) - _NAMED, 'other')}" if len(texts) > _NAMED else ""
    return f"there are {', '.join(texts[:_NAMED])}{more}; or {NOTHING}, or {ANYTHING}"
