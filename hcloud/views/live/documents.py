"""What stands, what was changed and what is remembered as JSON documents; the story of one job."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.harvested import HARVEST_RESULTS, HarvestStory
from hcloud.control.operating.records import JOB_STATES, RESULTS, MachinePhase
from hcloud.control.sessions.story import Story
from hcloud.live.applying.outcome import ApplyResult
from hcloud.model.holdings.standing import LiveStatus
from hcloud.model.holdings.state import Deed, RememberedState, State
from hcloud.model.running.alternatives import DOLLARS, VCPU_HOURS, CostComparison
from hcloud.model.running.decision import Decision
from hcloud.model.running.harvest_note import HarvestOver, Yielded
from hcloud.store.journals.decisions import UNBOUNDED, decision_document
from hcloud.store.journals.events import event_document
from hcloud.store.states import codec
from hcloud.views.document import (
    MOMENT,
    Amount,
    Content,
    Count,
    Currency,
    Day,
    Document,
    From,
    Moment,
    NoText,
    Number,
    Part,
    Schema,
    Text,
    Whole,
    choice_of,
)


class _Short(Part):
    address: Text
    missing: Count
    tried: list[Text]


class OutcomeDocument(Document, title="hcloud apply and destroy"):
    """What came of changes."""

    result: Annotated[Text, choice_of(ApplyResult)]
    exit_code: Count
    launched: list[Text]
    ended: list[Text]
    wanted: Count
    missing: Annotated[list[_Short], From("shortfalls")]
    problems: list[Text]
    error: Text | None
    open: list[Text]
    calls: Count
    serial: Count


class _Scope(Part):
    cloud: Text
    account: Text
    region: Text
    endpoint: Text


class _Operating(Part):
    strategy: Text
    soft_limit: Amount | None
    hard_limit: Amount | None
    retention_factor: Amount | None
    retention_seconds: Amount | None
    on_demand_types: list[Text]


class _Group(Part):
    address: Text
    instance_type: Text
    zone: Text
    state: Text
    count: Count
    hourly: Amount | None


class _OffPlan(Part):
    address: Text
    running: Count
    planned: Count


class _Request(Part):
    number: Count
    deed: Text
    at: Annotated[Text, From(lambda of: of.at.isoformat()), WithJsonSchema(MOMENT)]


class _Difference(Part):
    id: Text
    address: Text
    what: Text


def _lineage(found: LiveStatus) -> str:
    """The id of a state; nothing before its first apply, when none is kept."""
    return found.stored.lineage if found.stored.serial else ""


class _BesideState(Part):
    id: Text
    address: Text
    instance_type: Text
    zone: Text
    lineage: Text


class StatusDocument(Document, title="hcloud status"):
    """What stands."""

    scope: Annotated[_Scope, From("observed.scope")]
    lineage: Annotated[Text, From(_lineage)]
    serial: Annotated[Count, From("stored.serial")]
    currency: Currency
    hourly: Amount
    operating: Annotated[_Operating | None, From("stored.operating")]
    standing: Annotated[list[_Group], From("groups")]
    open_requests: Annotated[list[_Request], From("observed.open")]
    drift: list[_Difference]
    held_by: Annotated[Text | None, From("holder")]
    planned_until: Day | None
    off_plan: list[_OffPlan]
    beside: list[_BesideState]


class DriftDocument(Document, title="hcloud drift"):
    """How what stands differs from what is remembered."""

    lineage: Annotated[Text, From(_lineage)]
    serial: Annotated[Count, From("stored.serial")]
    drift: list[_Difference]


class _Orphan(Part):
    id: Annotated[Text, From("machine.id")]
    instance_type: Annotated[Text, From("machine.instance_type")]
    zone: Annotated[Text, From("machine.zone")]
    lineage: Annotated[Text, From("machine.lineage")]
    why: Text
    left_alone: Annotated[NoText, From("kept")]


class OrphansDocument(Document, title="hcloud gc"):
    """What nobody holds, and what of it is ending."""

    orphans: list[_Orphan]
    ended: list[Text]


class _Refused(Part):
    option: Text
    reason: Text
    margin: Annotated[Any, From(lambda of: UNBOUNDED if of.margin == math.inf else of.margin)]
    unit: Text


_TIMED: Schema = {"type": "object", "properties": {"at": {"type": "number"}}, "required": ["at"]}
_Entry = Annotated[
    Mapping[str, Any],
    BeforeValidator(lambda one: decision_document(one) if isinstance(one, Decision) else event_document(one)),
    WithJsonSchema(_TIMED),
]


class StoryDocument(Document, title="hcloud explain --job"):
    """The story of a job."""

    strategy: Annotated[Text, From("setup.strategy")]
    arrival: _Entry
    decision: Annotated[_Entry, From("considered.decision")]
    refused: Annotated[list[_Refused], From("considered.refused")]
    afterwards: list[_Entry]
    waits: NoText
    now: list[Text]


class _HarvestAttempt(Part):
    job: Text
    attempt: Count
    result: Annotated[Text, choice_of(Yielded)]
    began: Number | None
    ended: Number | None
    code: Whole | None


class HarvestStoryDocument(Document, title="hcloud explain --job"):
    """The story of a job, or of a graph of tasks, on idle capacity."""

    job: Text
    state: Annotated[Text, From("record.state")]
    why: Annotated[NoText, From("record.why")]
    came: Annotated[Number, From("record.came")]
    classes: Annotated[list[Text], From("record.classes")]
    kills: Annotated[Count, From("record.kills")]
    tasks: Annotated[Count, From(lambda story: len(story.tasks))]
    cores: Annotated[Number, From(lambda story: story.asked[0] / 1000)]
    memory_mib: Annotated[Count, From(lambda story: story.asked[1])]
    attempts: Annotated[
        list[_HarvestAttempt], From(lambda story: [n for n in story.notes if isinstance(n, HarvestOver)])
    ]


def story_document(story: Story | HarvestStory, at: datetime) -> Content:
    """The story of a job for programs."""
    kind = HarvestStoryDocument if isinstance(story, HarvestStory) else StoryDocument
    return kind.of(story, at)


class _Lock(Part):
    id: Text
    user: Text
    host: Text
    pid: Whole
    since: Moment
    purpose: Text


class _Intent(Part):
    number: Whole
    deed: Annotated[Text, choice_of(Deed)]
    at: Moment
    plan: Text


def _state(found: RememberedState) -> State:
    """What is remembered; where nothing is yet, a state without anything."""
    return found.state or State(lineage="")


class RememberedDocument(Document, title="hcloud state, as printed"):
    """What is remembered in one place."""

    table = ("records",)
    where: Text
    lineage: Annotated[codec.Digest | None, From(lambda of: of.state and of.state.lineage)]
    serial: Annotated[codec.Count, From(lambda of: _state(of).serial)]
    generation: Annotated[codec.Count, From(lambda of: _state(of).generation)]
    project: Annotated[codec.Text, From(lambda of: _state(of).project)]
    scope: Annotated[codec.ScopeDocument | None, From(lambda of: _state(of).scope)]
    lock: Annotated[_Lock | None, From("holder")]
    open_intents: list[_Intent]
    records: Annotated[
        list[codec.RecordDocument], From(lambda of: sorted(_state(of).records, key=lambda record: record.id))
    ]


class UnlockedDocument(Document, title="hcloud state, as printed"):
    """Whose lock was taken away."""

    where: Text
    unlocked: _Lock


_PAID = ("reserved", "on-demand", "spot")


class _OperatedMachine(Part):
    instance: Whole
    instance_type: Annotated[Text, From("type_name")]
    option: Annotated[Text, From(lambda m: "reserved" if m.reserved else m.option), choice_of(_PAID)]
    state: Annotated[Text, From("phase"), choice_of(MachinePhase)]
    id: NoText
    hourly: Amount | None
    quality: Number | None
    jobs: Annotated[list[Text], From(lambda m: list(m.jobs))]
    idle_until: Number | None
    why: NoText


class _OperatedJob(Part):
    id: Annotated[Text, From("order.id")]
    state: Annotated[Text, From("state"), choice_of((*JOB_STATES, *RESULTS))]
    instance: Whole | None
    attempt: Count
    code: Whole | None
    cores: Annotated[Number, From(lambda job: (job.sized or job.order.cores) / 1000)]
    cores_asked: Annotated[Number, From(lambda job: job.order.cores / 1000)]
    p99_milliseconds: Annotated[Number | None, From("p99")]
    why: Annotated[NoText, From(lambda job: job.decision and job.decision.why)]


class _StrategyCost(Part):
    strategy: Text
    simulated: bool
    reserved_machines: Annotated[Count, From("servers")]
    reserved: Amount
    rented: Amount
    total: Amount


class _CostComparison(Part):
    unit: Annotated[Text, choice_of((DOLLARS, VCPU_HOURS))]
    costs: list[_StrategyCost]
    notes: list[Text]


class _HarvestedJob(Part):
    id: Annotated[Text, From("order.id")]
    state: Annotated[Text, From("state"), choice_of(("waiting", "running", "yielding", *HARVEST_RESULTS))]
    instance: Annotated[Whole | None, From("on")]
    attempt: Count
    kills: Count
    why: NoText
    graph: NoText


class _HarvestedGraph(Part):
    id: Annotated[Text, From("graph.id")]
    state: Annotated[Text, From("state"), choice_of(("open", "moving", *HARVEST_RESULTS))]
    tasks: Annotated[Count, From("graph.tasks")]
    done: Count
    kills: Count
    classes: list[Text]
    why: NoText


class _Harvested(Part):
    reserve_cores: Annotated[Number, From(lambda ledger: round(ledger.settings.reserve_cores, 6))]
    kills: Count
    vcpu_hours: Annotated[Number, From(lambda ledger: round(ledger.done / 3600, 6))]
    vcpu_hours_in_vain: Annotated[Number, From(lambda ledger: round(ledger.in_vain / 3600, 6))]
    results: Annotated[dict[str, Count], From("counted")]
    jobs: Annotated[list[_HarvestedJob], From(lambda ledger: list(ledger.jobs.values()))]
    graphs: Annotated[list[_HarvestedGraph], From(lambda ledger: list(ledger.graphs.values()))]


class OperatingDocument(Document, title="hcloud operate"):
    """Live work as its journal tells it: machines that stand, jobs (of long work those since its journal last began
    anew), how all ended that did, how many kept their quality of service of how many that are judged, and what it cost,
    beside other strategies where that was asked."""

    strategy: Annotated[Text, From("fold.setup.strategy")]
    asked: Annotated[NoText, From("fold.asked")]
    machines: Annotated[list[_OperatedMachine], From(lambda of: list(of.fold.standing.values()))]
    jobs: Annotated[list[_OperatedJob], From(lambda of: list(of.fold.jobs.values()))]
    results: Annotated[dict[str, Count], From("fold.results.counted")]
    kept: Annotated[Count, From(lambda of: of.fold.kept_so_far()[0])]
    judged: Annotated[Count, From(lambda of: of.fold.kept_so_far()[1])]
    hourly: Annotated[Amount, From(lambda of: of.fold.hourly())]
    spent: Annotated[Amount, From(lambda of: of.fold.spent(of.now))]
    vcpu_hours: Annotated[Number, From(lambda of: round(of.fold.core_seconds(of.now) / 3600, 6))]
    currency: Currency
    compared: _CostComparison | None
    idle_capacity: Annotated[
        _Harvested | None, From(lambda of: of.fold.harvested if of.fold.harvested.settings else None)
    ]


@dataclass(frozen=True, slots=True)
class _Operated:
    """What a document is made of."""

    fold: Fold
    compared: CostComparison | None
    now: float


def operating_document(
    fold: Fold, at: datetime, compared: CostComparison | None = None, *, now: float | None = None
) -> Content:
    """Live work for programs, with what it costs until ``now`` (None: until the last line of its journal)."""
    return OperatingDocument.of(_Operated(fold, compared, fold.last if now is None else max(now, fold.last)), at)
