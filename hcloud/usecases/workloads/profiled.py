"""Jobs as their applications' profiles say they are, for every verb that reads a workload."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hcloud.errors import InputError, UsageError
from hcloud.model.workload import Jobs, Modelled, Workload
from hcloud.planning.forecasting.needs import KEY, NO_PROFILE, fit_jobs, need_of
from hcloud.planning.forecasting.target_jobs import fit_targets
from hcloud.readers.applications.profiles import load_corpus
from hcloud.readers.configuration.config import Loaded
from hcloud.units import counted, some_of
from hcloud.usecases.measuring.classify import BUNDLED, Solver, estimate_of, open_corpus, options_of

NAMED = 5
"""Applications without a profile that are named; of the others only the number is told."""


def with_profiles(loaded: Loaded, workload: Workload) -> Workload:
    """The workload with every job of a profiled application at the size and with the vector that its estimate says.

    Jobs without a profile stay at their request; how many and whose they are is told among what was modelled. Raises
    UsageError for a demand series, which has no applications, and for a folder that holds no profile of this workload.
    """
    section = loaded.config.profiles
    assert section.folder is not None
    if not isinstance(workload, Jobs):
        raise UsageError("profiles need applications, and a demand series has none", hint="leave out --profiles")
    folder = loaded.resolve(section.folder)
    profiles = [p for p in load_corpus(folder) if p.app in workload.apps]
    if not profiles:
        names = ", ".join(workload.apps[:NAMED]) or "none: add a column app"
        raise InputError(f"{folder}: holds no profile of an application of this workload ({names})")
    named, options = loaded.config.profiles.corpus, options_of(Solver.RIDGE, None)
    corpus = open_corpus(named if named == BUNDLED else str(loaded.resolve(Path(named))))
    needs = [need_of(p, estimate_of(p, corpus, options)) for p in profiles]
    fitted = fit_jobs(fit_targets(workload, needs), needs)
    rest = len(workload) - fitted.profiled
    if not rest:
        return fitted.jobs
    named = some_of(fitted.unprofiled, NAMED) or "jobs that name no application"
    told = Modelled(counted(rest, "job"), f"{NO_PROFILE}: {named}", KEY)
    origin = fitted.jobs.provenance
    return replace(fitted.jobs, provenance=replace(origin, modelled=(*origin.modelled, told)))
