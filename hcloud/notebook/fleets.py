"""A plan in a notebook as something to simulate: its own fleet on the workload that it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeGuard

from hcloud.notebook.results import PlanResult
from hcloud.planning.forecasting.demand import without_gpu_jobs
from hcloud.readers.configuration.config import load_config
from hcloud.store.plan_file import is_plan_file
from hcloud.usecases.deciding.own_fleet import (
    OpenedPlan,
    as_asked,
    fleet_opened,
    open_planned,
    refuse_beside_a_plan,
    with_cloud,
)
from hcloud.usecases.workloads.sources import as_configured, open_workload


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """How a plan's fleet is simulated; ``beside`` is what a plan says itself."""

    config: str | Path | None
    cloud: str | None
    seed: int | None
    profiled: bool
    beside: Mapping[str, object]


def names_plan(demand: object) -> TypeGuard[str | Path]:
    """Whether it is the name of a plan file."""
    return isinstance(demand, str | Path) and Path(demand).is_file() and is_plan_file(Path(demand))


def open_fleet(made: PlanResult | str | Path, asked: FleetRequest, at: datetime) -> OpenedPlan:
    """The fleet of a plan with its workload; UsageError for keywords that say otherwise."""
    refuse_beside_a_plan([*asked.beside.items()])
    if isinstance(made, PlanResult):
        loaded = with_cloud(made.loaded, asked.cloud)
        read = open_workload(loaded) if made.demand is None else as_configured(loaded, made.demand.whole)
        found = fleet_opened(made.plan, without_gpu_jobs(read), loaded, at.date())
    else:
        config = load_config(None if asked.config is None else Path(asked.config))
        found = open_planned(Path(made), with_cloud(config, asked.cloud), at.date())
    return as_asked(found, asked.seed, profiled=asked.profiled)
