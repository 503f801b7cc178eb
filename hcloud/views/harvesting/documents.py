"""Types of use, plans and runs of batch on idle capacity, replicas and audits as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from hcloud.harvest.classes import HOURS
from hcloud.harvest.jobs import LENGTHS
from hcloud.harvest.results import HarvestPlan, TypedUse
from hcloud.harvest.tasks.outcomes import TaskSystem
from hcloud.harvest.typing import PATTERNS
from hcloud.views.document import Cents, Count, Document, From, Number, Part, Rate, Share, Text, choice_of

Pattern = Annotated[str, choice_of(PATTERNS)]


class _Class(Part):
    name: Text
    pattern: Annotated[Pattern, From(lambda of: str(of.pattern))]
    tenants: Annotated[Count, From(lambda of: len(of.members))]
    servers: Count
    vcpus: Annotated[Number, From("cores")]
    mean: Number
    peak: Number
    now: Number
    room_short_vcpus: Annotated[Number, From("short")]
    room_medium_vcpus: Annotated[Number, From("medium")]
    room_long_vcpus: Annotated[Number, From("long")]
    mean_by_hour: Annotated[list[Number], From(lambda of: [*of.hourly[:HOURS]])]


class _Tenant(Part):
    tenant: Text
    pattern: Pattern
    use_class: Text
    mean: Number
    deviation: Number


class _Trust(Part):
    days: Count
    alike: Number


class _TenantLeftOut(Part):
    tenant: Annotated[Text, From("name")]
    missing: Number


class _ServerWithGaps(Part):
    server: Annotated[Text, From("name")]
    tenant: Text
    missing: Number


class HarvestTypesDocument(Document, title="hcloud harvest types"):
    """The classes, each tenant's pattern and class, and how far two windows agree; null where the history is too
    short."""

    table = ("classes",)
    days: Annotated[Count, From("types.days")]
    step_seconds: Annotated[Count, From("types.histories.step")]
    classes: Annotated[list[_Class], From("types.classes")]
    tenants: Annotated[list[_Tenant], From(lambda of: list(_tenants(of)))]
    trust: Annotated[_Trust | None, From("types.trust")]
    left_out: Annotated[list[_TenantLeftOut], From("types.histories.left_out")]
    without_history: Annotated[list[Text], From("opened.without_history")]
    servers_with_gaps: Annotated[list[_ServerWithGaps], From("types.histories.with_gaps")]
    steps_held: Annotated[Count, From("types.histories.held")]
    steps_filled: Annotated[Count, From("types.histories.filled")]


def _tenants(found: TypedUse) -> Iterator[dict[str, Any]]:
    types = found.types
    for at, name in enumerate(types.histories.tenants):
        mean, deviation = types.typed.features[at, :2].tolist()
        own = types.classes[types.label[at]].name
        pattern = str(types.pattern_of(at))
        yield {"tenant": name, "pattern": pattern, "use_class": own, "mean": mean, "deviation": deviation}


class _SpaceMarket(Part):
    market: Text
    space: Number


class _GridCell(Part):
    row: Count
    column: Count
    tenants: Count
    space: Number
    space_by_market: Annotated[
        list[_SpaceMarket], From(lambda of: [{"market": m, "space": s} for m, s in of.by_market.items()])
    ]


class _Counted(Part):
    what: Text
    count: Count


def _counts(name: str) -> From:
    return From(lambda of: [{"what": what, "count": count} for what, count in getattr(of, name).items()])


class _Shared(Part):
    key: Text
    blocks: Count


class _System(Part):
    system: Text
    placed: Count
    refused: Annotated[list[_Counted], _counts("refused")]
    relaxed: Annotated[list[_Counted], _counts("relaxed")]
    lost_by_year: Annotated[list[Count], From("lost")]
    accesses_failed_by_seed: Annotated[list[Count], From("failed")]
    copies_made: Annotated[Count, From("copied")]
    copies_without_server: Annotated[Count, From("stuck")]
    copies_put_off: Annotated[Count, From("put_off")]
    full_by_size: Annotated[list[Number], From("fill")]
    shared: list[_Shared]


class HarvestReplicasDocument(Document, title="hcloud harvest replicas"):
    """Systems side by side: counts over all seeds, and of every seed's year what was lost; empty where no reimages are
    known, and accesses where no use is."""

    table = ("systems",)
    name: Text
    servers: Count
    tenants: Count
    environments: Count
    blocks: Count
    copies: Count
    seeds: Count
    accesses: Count
    log_days: Number
    copies_a_server_hour: Annotated[Number, From("copies_an_hour")]
    grid: list[_GridCell]
    systems: list[_System]


class HarvestAuditDocument(Document, title="hcloud harvest audit"):
    """What the copies of a placement share, and the blocks lost in the year of each seed."""

    table = ("shared",)
    name: Text
    blocks: Count
    copies: Count
    shared: list[_Shared]
    without_reserved_copy: Annotated[Count | None, From("unreserved")]
    lost_by_year: Annotated[list[Count], From("lost")]
    guarded: Count
    diverse: Count
    least_diverse: Number | None


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
