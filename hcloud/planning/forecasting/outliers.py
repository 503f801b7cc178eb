"""The one job that a trace may owe its demand to: a forgotten one, most often."""

from __future__ import annotations

import numpy as np

from hcloud.model.workload import JobKind, Jobs, Window, Workload
from hcloud.units import counted_vcpus, format_span

MUCH = 0.2  # ours: one batch job with this share of the core-hours that count is worth a word,
FEW = 20  # ours: where the trace has at least so many jobs
_ASK = (
    "check that it is real work ('sacctmgr show runawayjobs' lists forgotten jobs of Slurm), or leave it out of the"
    " file"
)


def outlier(workload: Workload, window: Window) -> str:
    """What to say of a batch job that is much of the core-hours of the window, or began longer before every other job
    than the window lasts; nothing where there is none."""
    if not isinstance(workload, Jobs) or len(workload) < FEW:
        return ""
    begins, ends = workload.begins, workload.ends
    inside = np.clip(np.minimum(ends, window.end) - np.maximum(begins, window.start), 0.0, None) * workload.cores
    batch = inside * (workload.kind == JobKind.BATCH)
    total, largest = float(inside.sum()), int(np.argmax(batch))
    if total and batch[largest] >= MUCH * total:
        return f"{_told(workload, largest)} is {batch[largest] / total:.0%} of the core-hours planned for: {_ASK}"
    oldest, next_oldest = np.argpartition(begins, 1)[:2].tolist()
    ahead = float(begins[next_oldest] - begins[oldest])
    if ahead <= window.seconds or not batch[oldest]:
        return ""
    return f"{_told(workload, oldest)} began {format_span(ahead)} before every other job: {_ASK}"


def _told(jobs: Jobs, row: int) -> str:
    return (
        f"job {jobs.name(row)} ({counted_vcpus(float(jobs.cores[row]))} for {format_span(float(jobs.duration[row]))})"
    )
