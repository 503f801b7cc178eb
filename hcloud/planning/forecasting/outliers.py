"""The one job that a trace may owe its demand to: a forgotten one, most often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.workload import JobKind, Jobs, Window, Workload
from hcloud.units import counted_vcpus, format_span

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

MUCH = 0.2  # ours: one batch job with this share of the vCPU-hours that count is worth a word,
FEW = 20  # ours: where the trace has at least so many jobs; with fewer, half of them is,
HALF = 0.5  # where something is to be reserved for it
_ASK = (
    "check that it is real work ('sacctmgr show runawayjobs' lists forgotten jobs of Slurm), or leave it out of the"
    " file"
)


def outlier(workload: Workload, window: Window) -> str:
    """What to say of a batch job that is much of the vCPU-hours of the window, or began longer before every other job
    than the window lasts; nothing where there is none."""
    if not isinstance(workload, Jobs) or len(workload) < FEW:
        return ""
    begins, inside = workload.begins, _core_seconds(workload, window)
    batch = inside * (workload.kind == JobKind.BATCH)
    total, largest = float(inside.sum()), int(np.argmax(batch))
    if total and batch[largest] >= MUCH * total:
        return f"{_told(workload, largest)} is {batch[largest] / total:.0%} of the vCPU-hours planned for: {_ASK}"
    oldest, next_oldest = np.argpartition(begins, 1)[:2].tolist()
    ahead = float(begins[next_oldest] - begins[oldest])
    if ahead <= window.seconds or not batch[oldest]:
        return ""
    return f"{_told(workload, oldest)} began {format_span(ahead)} before every other job: {_ASK}"


def lone(workload: Workload, window: Window) -> str:
    """What to say of a batch job that is most of the vCPU-hours of a trace of few jobs, for which something is to be
    reserved: it ends, and a term goes on."""
    if not isinstance(workload, Jobs) or len(workload) >= FEW:
        return ""
    inside = _core_seconds(workload, window)
    batch = inside * (workload.kind == JobKind.BATCH)
    total, largest = float(inside.sum()), int(np.argmax(batch))
    if not total or batch[largest] < HALF * total:
        return ""
    share = f"{batch[largest] / total:.0%} of the vCPU-hours planned for"
    return (
        f"{_told(workload, largest)} is {share}: what is reserved for it pays only if such jobs follow one another for"
        " all of the term"
    )


def _core_seconds(jobs: Jobs, window: Window) -> Floats:
    """vCPUs times the seconds that each job runs in the window."""
    inside: Floats = np.minimum(jobs.ends, window.end) - np.maximum(jobs.begins, window.start)
    return np.clip(inside, 0.0, None) * jobs.cores


def _told(jobs: Jobs, row: int) -> str:
    return (
        f"job {jobs.name(row)} ({counted_vcpus(float(jobs.cores[row]))} for {format_span(float(jobs.duration[row]))})"
    )
