"""Simulated strategies, sweeps and the strategies themselves as JSON documents."""

from __future__ import annotations

import math
from dataclasses import astuple
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from hcloud.model.json_text import closed
from hcloud.sim.outcomes.comparison import WEEKS, Cell
from hcloud.sim.outcomes.interval import Interval
from hcloud.sim.outcomes.watched import WatchMeasures
from hcloud.units import plain, rate
from hcloud.views.document import (
    ABSENT,
    DECIMAL,
    ITSELF,
    NUMBER,
    Count,
    Currency,
    Document,
    From,
    NoText,
    Number,
    Part,
    Schema,
    Text,
)
from hcloud.views.workloads.documents import WindowPart


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


_Known = Annotated[Number | None, BeforeValidator(_known)]
"""A number, or null where there is none."""
_CENT, _HOURLY = Decimal("0.01"), Decimal("0.0001")
_Dollars = Annotated[str, BeforeValidator(lambda dollars: str(dollars.quantize(_CENT))), WithJsonSchema(DECIMAL)]
_Hourly = Annotated[str, BeforeValidator(lambda dollars: str(dollars.quantize(_HOURLY))), WithJsonSchema(DECIMAL)]


class _Spread(Part):
    count: Count
    mean: _Known
    p5: _Known
    p25: _Known
    p50: _Known
    p75: _Known
    p95: _Known
    p99: _Known


class _Charge(Part):
    offer: Annotated[Text, From("offer.key")]
    instances: Count
    seconds: Count
    cost: Annotated[_Dollars, From("dollars")]


class _Faults(Part):
    failed_launches: Count
    lost_machines: Count
    lost_jobs: Count
    cancelled_jobs: Count


_NO_FAULTS = _Faults.model_construct(failed_launches=0, lost_machines=0, lost_jobs=0, cancelled_jobs=0)


class _DurationClass(Part):
    name: Text
    jobs: Count
    kept_qos: Annotated[Number, From("kept")]
    mean_performance: Annotated[Number, From("mean")]


class _Audit(Part):
    choices: Count
    reading: Text
    mean_rank: Number
    distance: _Known


class _HeldBack(Part):
    share: Number
    expected_seconds: Annotated[_Known, From("expected")]
    seconds: Annotated[_Known, From("took")]


class _Placed(Part):
    decision_seconds_p50: Annotated[Number, From("decision_p50")]
    decision_seconds_p99: Annotated[Number, From("decision_p99")]
    conflicts_per_decision: Annotated[Number, From("conflicts")]
    looks_per_job: Annotated[Number, From("looks")]
    by_duration: Annotated[list[_DurationClass], From("classes")]
    audit: _Audit | None
    queued_locally: Annotated[Number, From("locally")]
    performance_mean: Annotated[_Known, From("mean")]
    performance_p5: Annotated[_Known, From("p5")]
    kept_90: Annotated[Number, From("kept_90")]
    backtracked_per_job: Annotated[Number, From("backtracked")]
    delayed_at_admission: Annotated[_HeldBack | None, From("held")]


class _Classes(Part):
    classes: Count
    releases_per_pool_and_window: Annotated[Number, From("releases")]
    diverted_up: Annotated[Count, From("up")]
    diverted_down: Annotated[Count, From("down")]
    window_over: Annotated[Count, From("late")]
    never_wait: Annotated[Count, From("never")]


class _Admitted(Part):
    waiting_over_run_time: Annotated[Number, From("waiting")]
    kept_without_waiting: Annotated[Number, From("kept_running")]
    classes: _Classes | None


class _Workflows(Part):
    workflows: Count
    kept_qos: Annotated[_Known, From("kept")]
    mean_performance: Annotated[_Known, From("mean")]
    seconds_p50: Annotated[_Known, From("p50")]
    seconds_p95: Annotated[_Known, From("p95")]
    seconds_p99: Annotated[_Known, From("p99")]
    jobs_that_never_came: Annotated[Count, From("never")]


class _Given(Part):
    allocated_vcpu_hours: Annotated[Number, From("allocated")]
    used_vcpu_hours: Annotated[Number, From("used")]
    performance_mean: Annotated[_Known, From("mean")]
    performance_p5: Annotated[_Known, From("p5")]


class _Watched(Part):
    held_vcpu_hours: Annotated[Number, From("allocated")]
    needed_vcpu_hours: Annotated[Number, From("used")]
    performance_mean: Annotated[_Known, From("mean")]
    performance_p5: Annotated[_Known, From("p5")]
    measured_anew: Annotated[Count, From("measured")]
    enlarged: Count
    shrunk: Count
    moved: Count
    moved_for_a_neighbour: Annotated[Count, From("isolated")]
    best_effort_evicted: Annotated[Count, From("yielded")]
    phases: Count
    phases_that_hurt: Annotated[Count, From("hurt")]
    found_before_they_hurt: Annotated[Count, From("found")]
    found_after_they_hurt: Annotated[Count, From("late")]
    taken_for_a_phase_in_error: Annotated[Count, From("alarms")]
    stragglers: Annotated[Count, From("lagged")]
    begun_again: Annotated[Count, From("again")]
    ended_first: Annotated[Count, From("overtook")]
    seconds_gained: Annotated[Number, From("gained")]
    servers_added: Annotated[Count, From("added")]
    servers_given_back: Annotated[Count, From("dropped")]
    sized_by_others: Annotated[Count, From("resized")]
    measured_on_empty_servers: Annotated[Count, From("apart")]
    servers_closed: Annotated[Count, From("shut")]


def _is_told(watching: WatchMeasures | None) -> bool:
    return watching is not None and (watching.watched or watching.phases > 0)


class _ServicesBeside(Part):
    on_demand: Annotated[Count, From("rented")]
    on_demand_without: Annotated[Count, From("rented_without")]
    queued: Count
    queued_without: Count


class _IdleHoursOfRun(Part):
    batch_jobs: Annotated[Count, From("jobs")]
    ended: Count
    vcpu_hours: Number
    no_class_had_room: Annotated[Count, From("no_class")]
    moved: Count
    needed_more_quality: Annotated[Count, From("too_sensitive")]
    times_alone: Number
    kills: Count
    work_lost: Annotated[Number, From("lost")]
    seconds_lost_before_moving: Annotated[Number, From("slipped")]
    reserve_broken_longest_seconds: Annotated[Number, From("longest_broken")]
    tick_seconds: Annotated[Count, From("tick")]
    rounds: Count
    settled: bool
    rounds_spread: Annotated[Number, From("spread")]
    services: Annotated[_ServicesBeside | None, From("beside")]
    withheld: Text


class _Run(Part):
    seed: Count
    reserved_servers: Annotated[Count, From("pool")]
    batch_performance: Annotated[_Spread, From("service.batch")]
    service_tail: Annotated[_Spread, From("service.tail")]
    completion_seconds: Annotated[_Spread, From("service.completion")]
    waiting_seconds: Annotated[_Spread, From("service.waiting")]
    queued_seconds: Annotated[_Spread, From("service.queued")]
    kept_qos: Annotated[Number | None, From("service.kept_qos")]
    utilisation: Annotated[_Known, From("use.utilisation")]
    spin_ups: Annotated[Count, From("use.spin_ups")]
    reuses: Annotated[Count, From("use.reuses")]
    released_at_once_per_use: Annotated[Number | None, From("use.at_once_per_use")]
    released_at_once_per_instance: Annotated[Number | None, From("use.at_once_per_instance")]
    reschedules: Annotated[Count, From("use.reschedules")]
    enlargements: Annotated[Count, From("use.enlargements")]
    interrupted: Annotated[Count, From("use.interrupted")]
    refused: Annotated[Count, From("use.refused")]
    refused_work: Annotated[Number, From("use.refused_work")]
    unfinished: Annotated[Count, From("use.unfinished")]
    placement: Annotated[_Placed | None, From("placed")]
    sizing: Annotated[_Given | None, From(lambda of: of.sized or ABSENT)] = None
    admission: Annotated[_Admitted | None, From(lambda of: of.admitted or ABSENT)] = None
    workflows: Annotated[_Workflows | None, From(lambda of: of.workflows or ABSENT)] = None
    watching: Annotated[_Watched | None, From(lambda of: of.watching if _is_told(of.watching) else ABSENT)] = None
    idle_hours: Annotated[_IdleHoursOfRun | None, From(lambda of: of.idle or ABSENT)] = None
    faults: Annotated[_Faults, From(lambda of: of.faults if any(astuple(of.faults)) else ABSENT)] = _NO_FAULTS
    hours: Annotated[Number, From("cost.hours")]
    reserved_cost: Annotated[_Dollars, From("cost.reserved")]
    unused_reservation_cost: Annotated[_Dollars, From("cost.unused")]
    rented_cost: Annotated[_Dollars, From("cost.rented")]
    covered_monthly: Annotated[_Dollars | None, From(lambda of: of.covered or ABSENT)] = None
    cost_per_ideal_hour: Annotated[_Hourly, From("cost.per_ideal_hour")]
    cost_per_hour: Annotated[_Hourly, From("cost.per_hour")]
    cumulative_cost: Annotated[
        dict[str, _Dollars], From(lambda of: {str(weeks): of.cost.over_weeks(weeks) for weeks in WEEKS})
    ]
    charges: Annotated[list[_Charge], From("cost.charges")]


class _SizedRequests(Part):
    servers: Count
    vcpus: Number
    cost_per_ideal_hour: Annotated[_Hourly, From("dollars")]
    kept_qos: Annotated[Number, From("kept")]


class _Compared(Part):
    name: Text
    on_front: bool | None
    compared: Annotated[bool, From("is_compared")]
    dropped: Annotated[Count, From("dropped.jobs")]
    dropped_work: Annotated[Number, From("dropped.work")]
    runs: list[_Run]
    sized: _SizedRequests | None


class SimulationDocument(Document, title="hcloud simulate and compare"):
    """Every figure of every run; figures that do not apply are null."""

    table = ("strategies", "runs")
    currency: Currency
    workload: Text
    jobs: Count
    cloud: Text
    seeds: list[Count]
    profiled: bool
    window: WindowPart | None
    sized_for: Number | None
    assumed: list[Text]
    strategies: list[_Compared]


def _spread(number: Schema) -> Schema:
    half = {"anyOf": [number, {"type": "null"}]}
    return closed({"mean": number, "half": half}, ("mean", "half"))


_Figure = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"anyOf": [_spread(NUMBER), _spread(DECIMAL)], "description": "mean and half width"},
                {"type": "null"},
            ]
        }
    ),
]


def _figures(cell: Cell) -> dict[str, object]:
    return {name: None if i is None else _figure(name, i) for name, i in cell.figures.items()}


def _figure(name: str, interval: Interval) -> dict[str, object]:
    """A mean with half its interval; of dollars as decimal text."""
    mean, half = interval.mean, _known(interval.half)
    if "dollars" not in name and "cost" not in name:
        return {"mean": mean, "half": half}
    return {"mean": _as_text(mean), "half": None if half is None else _as_text(half)}


def _as_text(dollars: float) -> str:
    return plain(rate(Decimal(repr(dollars))))


class _Cell(Part):
    strategy: Text
    changes: dict[str, Text]
    seeds: Count
    figures: Annotated[dict[str, _Figure], From(_figures)]


class SweepDocument(Document, title="hcloud sweep"):
    """Every cell with mean and half of its interval, in the order of the grid."""

    inputs: Text
    workload: Text
    keys: Annotated[list[Text], From("grid.keys")]
    seeds: Annotated[list[Count], From("grid.seeds")]
    currency: Currency
    notes: list[Text]
    rows: Annotated[list[_Cell], From("cells")]


class _Parameter(Part):
    value: Any
    unit: NoText
    origin: Annotated[Text, From("origin.value")]
    origin_label: Annotated[Text, From("origin.label")]
    source: NoText
    why: Text


class _Mechanism(Part):
    rule: Text
    origin: Annotated[Text, From("origin.value")]
    origin_label: Annotated[Text, From("origin.label")]
    source: NoText
    why: Text
    parameters: Annotated[dict[str, _Parameter], From(lambda of: {p.key: p for p in of.parameters})]


class StrategyPart(Part):
    """A strategy: every mechanism with the origin of each number."""

    name: Text
    title: Text
    summary: Text
    source: Text
    digest: Annotated[Text, From(lambda of: of.digest())]
    mechanisms: Annotated[dict[str, _Mechanism], From(lambda of: {m.name: m for m in of.mechanisms})]


class StrategiesDocument(Document, title="hcloud strategy list"):
    """The bundled strategies."""

    strategies: Annotated[list[StrategyPart], ITSELF]


class StrategyDocument(StrategyPart, Document, title="hcloud strategy show"):
    """One strategy."""

    table = ("mechanisms",)
