"""Workloads as JSON documents (figures and demand, and the verdict on files), and bills (every sum, the usage by what
it was, and the commitments)."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Discriminator, Tag, WithJsonSchema

from hcloud.errors import InputError
from hcloud.model.bill import BilledUsage, LineKind, Service
from hcloud.model.bill_figures import DIMENSIONS
from hcloud.model.catalog import Payment, Provider, PurchaseOption
from hcloud.model.workload import Summary, WindowRule, WorkloadVerdict
from hcloud.planning.billed.spread import missing_days
from hcloud.views.document import (
    ITSELF,
    Amount,
    Count,
    Currency,
    Document,
    From,
    Keys,
    Moment,
    NoText,
    Number,
    Part,
    ProblemPart,
    Share,
    Text,
    choice_of,
)
from hcloud.views.escaped import Written, csv_document


class WindowPart(Part):
    """What of a trace counts, in seconds, and who says so."""

    start: Number
    end: Number
    cut_before_seconds: Annotated[Number, From("cut_before")]
    cut_after_seconds: Annotated[Number, From("cut_after")]
    rule: Annotated[Text, choice_of(WindowRule)]
    waited_seconds: Annotated[Number, From("waited")]


class _Modelled(Part):
    column: Text
    rule: Text
    key: Text


class _Provenance(Part):
    name: Text
    format: Text
    digest: Text
    rows: Count
    repaired: dict[str, Count]
    left_out: dict[str, Count]
    modelled: list[_Modelled]


class _Figures(Part):
    entries: Count
    kinds: dict[str, Count]
    span_seconds: Number | None
    mean_duration_seconds: Number | None
    mean_cores: Number | None
    peak_cores: Number | None
    peak_step_seconds: Annotated[Number | None, From("counted.step_seconds")]
    peak_at_once_cores: Annotated[Number | None, From("peak_at_once")]
    core_hours: Number | None
    batch_share: Number | None
    mean_memory_gib: Number | None
    gpus: Number | None


class _Demand(Part):
    start: Number
    step_seconds: Count
    cores: Annotated[list[Number], From(lambda of: of.cores.tolist())]
    memory_gib: Annotated[list[Number], From(lambda of: of.memory.tolist())]
    batch_cores: Annotated[list[Number], From(lambda of: of.batch_cores.tolist())]


class WorkloadDocument(Document, title="hcloud workload show"):
    """A workload in figures, and its demand."""

    workload: Annotated[_Provenance, From("provenance")]
    figures: Annotated[_Figures, ITSELF]
    window: WindowPart
    demand: _Demand


def demand_csv(summary: Summary) -> Written:
    """The demand, a row a step: the second at which it begins, vCPUs and GiB in use."""
    demand = summary.demand
    columns = (demand.cores.tolist(), demand.memory.tolist(), demand.batch_cores.tolist())
    steps = enumerate(zip(*columns, strict=True))
    rows = ([repr(demand.start + at * demand.step_seconds), *map(repr, step)] for at, step in steps)
    return csv_document(("start", "cores", "memory_gib", "batch_cores"), rows)


class _Usable(Part):
    name: Text
    usable: Annotated[bool, From(lambda _: True), WithJsonSchema({"const": True})]
    workload: Annotated[_Provenance, From("workload.provenance")]


class _Unusable(Part):
    name: Text
    usable: Annotated[bool, From(lambda _: False), WithJsonSchema({"const": False})]
    message: Annotated[Text, From(lambda of: _why(of).args[0])]
    problems: Annotated[list[ProblemPart], From(lambda of: _why(of).problems)]


def _why(verdict: WorkloadVerdict) -> InputError:
    return verdict.error or InputError("not read")


_Verdict = Annotated[
    Annotated[_Usable, Tag("usable")] | Annotated[_Unusable, Tag("unusable")],
    Discriminator(lambda verdict: "unusable" if getattr(verdict, "workload", None) is None else "usable"),
]


class VerdictsDocument(Document, title="hcloud workload validate"):
    """Which files can be used, and what is wrong with the others."""

    files: Annotated[list[_Verdict], ITSELF]


class _Origin(Part):
    name: Text
    format: Text
    digest: Text
    files: Count
    rows: Count
    start: Moment
    end: Annotated[Moment, From(lambda bill: bill.start + timedelta(hours=bill.hours))]
    daily: bool
    missing_days: Annotated[Count, From(missing_days)]
    repaired: dict[str, Count]
    said: dict[str, Count]


class _BillRow(Part):
    kind: Annotated[Text, choice_of(LineKind), From(lambda of: of[0])]
    rows: Annotated[Count, From(lambda of: of[1].rows)]
    cost: Annotated[Amount, From(lambda of: of[1].cost)]


class _Usage(Part):
    name: Text
    hours: Number
    covered_hours: Number
    spot_hours: Number
    list_cost: Amount | None
    cost: Amount
    spot_cost: Amount
    coverage: Share | None


def _covered(usage: BilledUsage) -> dict[str, float]:
    return {str(option): float(hours.sum()) for option, hours in usage.covered.items()}


class _BilledKind(Part):
    provider: Annotated[Text, choice_of(Provider), From("kind.provider")]
    service: Annotated[Text, choice_of(Service), From("kind.service")]
    account: Annotated[Text, From("kind.account")]
    region: Annotated[Text, From("kind.region")]
    family: Annotated[Text, From("kind.family")]
    instance_type: Annotated[NoText, From("kind.instance_type")]
    os: Annotated[Text, From("kind.os")]
    tenancy: Annotated[Text, From("kind.tenancy")]
    hours: Annotated[Number, From(lambda of: float(of.hours.sum()))]
    memory_gib_hours: Annotated[Number | None, From(lambda of: None if of.memory is None else float(of.memory.sum()))]
    covered_hours: Annotated[dict[str, Number], From(_covered)]
    spot_hours: Annotated[Number, From(lambda of: 0.0 if of.spot is None else float(of.spot.sum()))]
    list_cost: Amount | None
    cost: Amount
    spot_cost: Amount


class _BilledCommitment(Part):
    id: Text
    provider: Annotated[Text, choice_of(Provider)]
    option: Annotated[Text, choice_of(PurchaseOption)]
    account: NoText
    region: NoText
    family: NoText
    instance_type: NoText
    count: Amount | None
    term_years: Count | None
    payment: Annotated[NoText, choice_of(Payment)]
    start: Moment | None
    end: Moment | None
    paid: Amount
    used: Amount | None
    utilisation: Share | None
    covered_list_cost: Amount | None


class BillDocument(Document, title="hcloud workload show, of a bill"):
    """A bill: its lines by kind, which add up to its total, its usage, and the commitments in it."""

    table = ("kinds",)
    bill: _Origin
    currency: Currency
    total: Annotated[Amount, From("bill.total")]
    lines: Annotated[list[_BillRow], From(lambda of: list(of.bill.lines.items()))]
    coverage: Annotated[Share | None, From("usage.coverage")]
    utilisation: Share | None
    effective_savings_rate: Share | None
    usage: _Usage
    by: Annotated[dict[str, list[_Usage]], Keys(tuple(DIMENSIONS), all_of_them=True)]
    kinds: Annotated[list[_BilledKind], From("bill.usage")]
    commitments: list[_BilledCommitment]
