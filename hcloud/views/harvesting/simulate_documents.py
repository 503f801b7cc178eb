"""Batch on idle capacity as a JSON document."""

from __future__ import annotations

from typing import Annotated

from hcloud.harvest.tasks.outcomes import TaskSystem
from hcloud.views.document import Count, Document, From, Number, Part, Text


class _IdleHours(Part):
    services: Number
    useful: Number
    wasted: Number
    unfinished: Number
    reserve: Number
    idle: Number
    paid: Number
    rented: Number
    slowed: Number


class _HarvestRun(Part):
    seed: Count
    jobs: Count
    jobs_done: Annotated[Count, From(lambda of: int(of.done.sum()))]
    mean_seconds: Annotated[Number, From("mean")]
    no_class: Annotated[Count, From(lambda of: of.labels[0])]
    one_class: Annotated[Count, From(lambda of: of.labels[1])]
    several_classes: Annotated[Count, From(lambda of: of.labels[2])]
    moved: Count
    kills: Count
    reserve_broken: Annotated[Number, From("broken")]
    longest_broken_seconds: Annotated[Number, From("longest")]
    broken_anywhere: Annotated[Number, From("anywhere")]
    service_slowed_seconds: Annotated[Number, From("slowed_seconds")]
    tail_proxy: Annotated[Number, From("tail")]
    tail_proxy_alone: Annotated[Number, From("tail_alone")]
    vcpu_hours: Annotated[_IdleHours, From("hours")]


def _quantile(at: float) -> From:
    def found(of: TaskSystem) -> float:
        return of.quantile(at)

    return From(found)


class _HarvestSystem(Part):
    system: Text
    mean_seconds: Annotated[Number, From("mean")]
    median_seconds: Annotated[Number, _quantile(0.5)]
    p95_seconds: Annotated[Number, _quantile(0.95)]
    not_done: Annotated[Count, From("unfinished")]
    kills: Annotated[Number, From(lambda of: of.each("kills"))]
    lost_share: Number
    moved: Annotated[Number, From(lambda of: of.each("moved"))]
    reserve_broken: Annotated[Number, From(lambda of: of.each("broken"))]
    no_class: Annotated[Number, From(lambda of: of.labels[0])]
    one_class: Annotated[Number, From(lambda of: of.labels[1])]
    several_classes: Annotated[Number, From(lambda of: of.labels[2])]
    runs: list[_HarvestRun]


class HarvestSimulationDocument(Document, title="hcloud harvest simulate"):
    """Systems side by side, means over the runs, and each run; shares are of jobs, of server-time and of what
    containers held."""

    table = ("systems",)
    name: Annotated[Text, From("opened.name")]
    jobs: Annotated[Text, From("jobs_name")]
    job_kinds: Annotated[Count, From("dags")]
    every_seconds: Annotated[Number, From("every")]
    hours: Number
    days_before: Count
    servers: Count
    servers_without_history: Annotated[Count, From("without_use")]
    vcpus: Number
    mean_use: Number
    classes: Count
    short_up_to_seconds: Annotated[Number, From("lengths.short")]
    long_above_seconds: Annotated[Number, From("lengths.long")]
    systems: list[_HarvestSystem]
