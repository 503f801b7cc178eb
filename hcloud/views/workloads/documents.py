"""Workloads as JSON documents: figures and demand, and the verdict on files."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Tag, WithJsonSchema

from hcloud.errors import InputError
from hcloud.model.workload import Summary, WindowRule, WorkloadVerdict
from hcloud.views.document import Count, Document, From, Number, Part, ProblemPart, Text, choice_of
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
    figures: Annotated[_Figures, From(lambda of: of)]
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

    files: list[_Verdict]
