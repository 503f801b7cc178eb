"""Jobs of a workload that state a target: what each takes by what is known of its application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hcloud.errors import EvidenceError
from hcloud.model.target import TargetedSize, reached_share
from hcloud.model.workload import Jobs, Modelled
from hcloud.planning.forecasting.needs import KEY, ApplicationNeed
from hcloud.planning.forecasting.targeted import size_anywhere
from hcloud.units import counted, counted_vcpus

_ROUNDING = 1e-9


def fit_targets(jobs: Jobs, needs: Sequence[ApplicationNeed]) -> Jobs:
    """The jobs with a target at the size that it takes, those of an application and a target alike; others as they
    are. Raises EvidenceError with the measurement that is missing."""
    if jobs.target is None:
        return jobs
    known = {jobs.apps.index(need.app): need for need in needs if need.app in jobs.apps}
    cores, memory, target = jobs.cores.copy(), jobs.memory.copy(), jobs.target.copy()
    divisible = np.full(len(jobs), -1, np.int8) if jobs.divisible is None else jobs.divisible.copy()
    targets, told = list(jobs.targets), []
    pairs = np.unique(np.column_stack((jobs.app, jobs.target)), axis=0).tolist()
    for app, code in pairs:
        sized = size_anywhere(jobs.targets[code].target, known[app]) if code >= 0 and app in known else None
        if sized is None:
            continue
        rows = np.flatnonzero((jobs.app == app) & (jobs.target == code))
        usual = float(jobs.memory[rows[0]] / jobs.cores[rows[0]])
        sized = replace(sized, parts=tuple((vcpus, gib or vcpus * usual) for vcpus, gib in sized.parts))
        cores[rows], memory[rows] = np.sum(sized.parts, axis=0)
        target[rows], divisible[rows] = len(targets), len(sized.parts) > 1
        targets.append(sized)
        told.append(Modelled(jobs.apps[app], _told(sized, len(rows), known[app]), KEY))
    origin = replace(jobs.provenance, modelled=(*jobs.provenance.modelled, *told))
    sizes = replace(jobs, cores=cores, memory=memory, divisible=divisible)
    return replace(sizes, target=target, targets=tuple(targets), provenance=origin)


def _told(sized: TargetedSize, count: int, need: ApplicationNeed) -> str:
    vcpus = counted_vcpus(sum(part[0] for part in sized.parts))
    short = (
        "" if sized.reached >= 1 - _ROUNDING else f", the most at hand: {reached_share(sized.reached)} of the target"
    )
    on, whole = counted(len(sized.parts), "server"), ""
    if sized.whole_runs is not None:
        whole = (
            f", if runs can be divided (whole ones do {sized.whole_runs:,.6g} of {sized.target.amount:,.6g} in time)"
        )
    return f"{counted(count, 'job')} with {sized.target}: {vcpus} on {on}{short}{whole}; from {need.because}"


def check_sized(jobs: Jobs) -> None:
    """Raise EvidenceError where a job states a target and nothing says what it takes."""
    if jobs.target is None:
        return
    is_sized = np.array([*(bool(one.parts) for one in jobs.targets), True])
    lost = np.flatnonzero(~is_sized[jobs.target])
    if len(lost):
        row = int(lost[0])
        app = jobs.apps[jobs.app[row]] if jobs.app[row] >= 0 else "no application"
        raise EvidenceError(
            f"{counted(len(lost), 'job')} (the first: {jobs.name(row)}, of {app}) with a target and no profile that has"
            " sizes (scale_up): so their size for the target is unknown",
            hint="--profiles FOLDER names the profiles; 'hcloud profile run' makes one",
        )
