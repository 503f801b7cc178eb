"""A part of a workload: the jobs that require one and the same of their machine, those that require anything, or those
that require nothing; and the jobs that ask for GPUs."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import UsageError
from hcloud.model.workload import OF_NO_GPUS, Jobs, Workload
from hcloud.units import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTHING, ANYTHING = "nothing", "anything"
OTHERS = "require something else (requires)"
WITHOUT = f"{OF_NO_GPUS}: act on each plan with a --state of its own"
_NAMED = 5  # ours: requirements that a refusal lists


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
