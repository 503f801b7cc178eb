"""Workloads that are read as the refusal of the bare file says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hcloud.errors import InputError
from hcloud.model.workload import Demand, Jobs
from hcloud.readers.workloads.commands import Advice
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions


def advised(path: Path) -> WorkloadOptions:
    """The options of the refusal."""
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert isinstance(caught.value.hint, Advice)
    return caught.value.hint.on(WorkloadOptions())


def jobs_as_advised(path: Path) -> Jobs:
    """The jobs of a table of jobs."""
    found = read_workload(path, options=advised(path))
    assert isinstance(found, Jobs)
    return found


def demand_as_advised(path: Path, cores: float | None = None) -> Demand:
    """The demand of a series; ``cores`` are those of each machine, where its values do not say them."""
    options = advised(path)
    found = read_workload(path, options=options if cores is None else replace(options, series_cores=cores))
    assert isinstance(found, Demand)
    return found
