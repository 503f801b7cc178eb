"""A plan for idle capacity as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from hcloud.harvest.classes import HOURS
from hcloud.harvest.jobs import LENGTHS
from hcloud.harvest.results import HarvestPlan
from hcloud.views.document import Cents, Count, Document, From, Number, Part, Rate, Share, Text, choice_of
from hcloud.views.harvesting.documents import Pattern

_Length = Annotated[str, choice_of(LENGTHS)]


class _Hour(Part):
    use_class: Text
    pattern: Pattern
    hour: Count
    room_short_vcpus: Number
    room_medium_vcpus: Number
    room_long_vcpus: Number
    carried_short_vcpus: Number
    carried_medium_vcpus: Number
    carried_long_vcpus: Number


class _HarvestSpread(Part):
    mean: Number
    low: Number
    high: Number


class _Jobs(Part):
    length: _Length
    jobs: Count
    vcpu_hours: Number
    carried_vcpu_hours: Number


class _Money(Part):
    on_demand_monthly: Annotated[Cents, From("on_demand")]
    on_demand_left_monthly: Annotated[Cents, From("on_demand_left")]
    not_rented_monthly: Annotated[Cents, From("not_rented")]
    planned_monthly: Annotated[Cents, From("planned")]
    planned_left_monthly: Annotated[Cents, From("planned_left")]
    saved_monthly: Annotated[Cents, From("saved")]
    per_vcpu_hour: Rate
    pays_from: Share | None
    types: Annotated[Text, From("where")]


class _PlayedOnPool(Part):
    ended: Count
    no_class_had_room: Annotated[Count, From("no_class")]
    moved: Count
    kills: Count
    work_lost: Annotated[Number, From("lost")]


class HarvestPlanDocument(Document, title="hcloud harvest plan"):
    """Idle vCPUs by class and hour of the day (UTC) and what of them carries batch, in the mean; the totals are
    vCPU-hours and dollars a month, with what one future of ten falls short of and exceeds."""

    table = ("hours",)
    batch: Annotated[Text, From("batch.name")]
    batch_hours: Annotated[Count, From("batch.seen")]
    idle_vcpu_hours: Annotated[Number, From("there")]
    batch_vcpu_hours: Annotated[Number, From("wanted")]
    carried_vcpu_hours: Annotated[_HarvestSpread, From("carried")]
    arithmetic_vcpu_hours: Annotated[Number, From("arithmetic")]
    played: _PlayedOnPool | None
    dollars_low: Annotated[Cents, From(lambda of: of.dollars[0])]
    dollars_high: Annotated[Cents, From(lambda of: of.dollars[1])]
    money: _Money
    reserve: Annotated[Number, From("typed.opened.policy.reserve_cores")]
    reserve_needed: Annotated[Number, From("reserve")]
    short_up_to_seconds: Annotated[Number, From("batch.lengths.short")]
    long_above_seconds: Annotated[Number, From("batch.lengths.long")]
    jobs: Annotated[list[_Jobs], From(lambda of: list(_jobs(of)))]
    hours: Annotated[list[_Hour], From(lambda of: list(_hours(of)))]


def _jobs(found: HarvestPlan) -> Iterator[dict[str, Any]]:
    part = found.wanted / max(float(found.batch.demand.sum()), 1e-9)
    carried = found.used.sum(axis=(1, 2))
    share = found.carried.mean / max(float(carried.sum()), 1e-9)
    for at, name in enumerate(LENGTHS):
        wanted = float(found.batch.demand[at].sum()) * part
        got = float(carried[at]) * share
        yield {"length": str(name), "jobs": found.batch.jobs[at], "vcpu_hours": wanted, "carried_vcpu_hours": got}


def _hours(found: HarvestPlan) -> Iterator[dict[str, Any]]:
    for at, one in enumerate(found.typed.types.classes):
        for hour in range(HOURS):
            told = {"use_class": one.name, "pattern": str(one.pattern), "hour": hour}
            for kind, name in enumerate(LENGTHS):
                told[f"room_{name}_vcpus"] = float(found.room[kind, at, hour])
                told[f"carried_{name}_vcpus"] = float(found.used[kind, at, hour])
            yield told
