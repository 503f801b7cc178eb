"""Reports as JSON documents, to the last digit, and as CSV, to the cent; quality and accuracy as they were measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from hcloud.model.catalog import PurchaseOption
from hcloud.planning.reports.accuracy import Accuracy
from hcloud.planning.reports.quality import QualityReport
from hcloud.planning.reports.report import Dimension, Report, ReportSource, grouped, shown
from hcloud.planning.reports.savings import against, coverage, savings, uses
from hcloud.units import cents, plain
from hcloud.views.document import (
    NUMBER,
    Amount,
    Content,
    Count,
    Currency,
    Day,
    Document,
    From,
    Keys,
    Moment,
    NoText,
    Number,
    Part,
    Share,
    Text,
    Whole,
    choice_of,
)
from hcloud.views.escaped import Written, csv_document

COSTS = ("list", "contracted", "effective", "billed")
DIGITS = 6  # ours: digits of measured shares and seconds
_Costs = Annotated[
    dict[str, Amount],
    BeforeValidator(lambda costs: {name: getattr(costs, name) for name in COSTS}),
    Keys(COSTS, all_of_them=True),
]


def _kind(name: str) -> tuple[From, WithJsonSchema]:
    return From(lambda _: name), WithJsonSchema({"const": name})


class _Period(Part):
    start: Annotated[Moment, From(lambda of: datetime.fromtimestamp(of.start, UTC))]
    end: Annotated[Moment, From(lambda of: datetime.fromtimestamp(of.end, UTC))]


class _Report(Document):
    report: Text
    source: Annotated[Text, From("of.source"), choice_of(ReportSource)]
    name: Annotated[Text, From("of.name")]
    period: Annotated[_Period, From("of.period")]
    currency: Currency
    price_day: Annotated[Day | None, From("of.price_day")]
    costs: Annotated[_Costs, From("of.costs")]
    notes: Annotated[list[Text], From("of.notes")]


class _Keys(Part):
    keys: Annotated[dict[Text, Text], Keys(tuple(map(str, Dimension)))]
    machine_hours: Amount
    costs: _Costs


class CostDocument(_Report, title="hcloud report"):
    """Costs by dimensions."""

    report: Annotated[Text, *_kind("cost")]
    by: list[Annotated[Text, choice_of(Dimension)]]
    groups: list[_Keys]


class _SavedBy(Part):
    commitments: Amount
    spot: Amount
    use_and_negotiation: Annotated[Amount, From("sustained")]


class _Counterfactual(Part):
    name: Annotated[Text, From("one.name")]
    description: Annotated[Text, From("one.description")]
    dollars: Annotated[Amount, From("one.dollars")]
    more: Amount


class SavingsDocument(_Report, title="hcloud report"):
    """Savings and counterfactuals."""

    report: Annotated[Text, *_kind("savings")]
    effective_savings_rate: Annotated[Share | None, From("found.rate")]
    saved: Annotated[Amount, From("found.saved")]
    saved_by: Annotated[_SavedBy, From("found")]
    unused_commitment: Annotated[Amount, From("found.unused")]
    counterfactuals: list[_Counterfactual]


class _Use(Part):
    id: Annotated[Text, From("use.holding.id")]
    option: Annotated[Text, From("use.holding.option"), choice_of(o for o in PurchaseOption if o.is_commitment)]
    instance_type: Annotated[Text, From("use.holding.instance_type")]
    region: Annotated[Text, From("use.holding.region")]
    count: Annotated[Amount, From("use.holding.count")]
    dollars_per_hour: Annotated[Amount | None, From("use.holding.dollars_per_hour")]
    starts: Annotated[Moment | None, From("use.holding.starts")]
    ends: Annotated[Moment | None, From("use.holding.ends")]
    days_left: Count | None
    covered: Annotated[Amount, From("use.covered")]
    amortised: Annotated[Amount, From("use.amortised")]
    unused: Annotated[Amount, From("use.unused")]
    utilisation: Annotated[Share | None, From("use.utilisation")]
    saved: Annotated[Amount, From("use.saved")]
    billed_upfront: Annotated[Amount, From("use.upfront")]
    billed_recurring: Annotated[Amount, From("use.recurring")]


class CommitmentsDocument(_Report, title="hcloud report"):
    """Coverage, utilisation and each commitment."""

    report: Annotated[Text, *_kind("commitments")]
    coverable: Annotated[Amount, From("whole.coverable")]
    covered: Annotated[Amount, From("whole.covered")]
    coverage: Annotated[Share | None, From("whole.coverage")]
    used: Annotated[Amount, From("whole.used")]
    unused: Annotated[Amount, From("whole.unused")]
    utilisation: Annotated[Share | None, From("whole.utilisation")]
    commitments: list[_Use]


def cost_document(report: Report, by: Sequence[Dimension], at: datetime) -> Content:
    """Costs by dimensions."""
    found = grouped(report.charges, by, report.team_tag)
    groups = [{"keys": dict(zip(by, g.keys, strict=True)), "machine_hours": g.hours, "costs": g.costs} for g in found]
    return CostDocument.of({"of": report, "by": by, "groups": groups}, at)


def savings_document(report: Report, at: datetime) -> Content:
    """Savings and counterfactuals."""
    others = [{"one": one, "more": more} for one, more in against(report)]
    return SavingsDocument.of({"of": report, "found": savings(report.charges), "counterfactuals": others}, at)


def commitments_document(report: Report, at: datetime) -> Content:
    """Coverage, utilisation and each commitment."""
    found = {"of": report, "whole": coverage(report.charges), "commitments": list(_uses(report, at))}
    return CommitmentsDocument.of(found, at)


def _uses(report: Report, at: datetime) -> Iterator[Mapping[str, object]]:
    yield from ({"use": one, "days_left": one.days_left(at)} for one in uses(report))


def cost_csv(report: Report, by: Sequence[Dimension]) -> Written:
    """Costs by dimensions, rounded so that they add up."""
    groups = grouped(report.charges, by, report.team_tag)
    rounded = shown([group.costs for group in groups])
    rows = (
        (*group.keys, plain(group.hours.quantize(Decimal("0.001"))), *(plain(getattr(c, name)) for name in COSTS))
        for group, c in zip(groups, rounded, strict=True)
    )
    return csv_document((*map(str, by), "machine_hours", *COSTS), rows)


def savings_csv(report: Report) -> Written:
    """Figures and counterfactuals in dollars."""
    found = savings(report.charges)
    rows = [
        ("list", found.costs.list),
        ("effective", found.costs.effective),
        ("saved by commitments", found.commitments),
        ("saved by spot", found.spot),
        ("saved by other discounts", found.sustained),
        ("unused commitment", found.unused),
        *((one.name, one.dollars) for one in report.counterfactuals),
    ]
    return csv_document(("figure", "dollars"), ((name, plain(cents(amount))) for name, amount in rows))


def commitments_csv(report: Report, at: datetime) -> Written:
    """A row a commitment."""
    rows = (_cells(_Use.model_validate(one)) for one in _uses(report, at))
    return csv_document(tuple(_Use.model_fields), rows)


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, DIGITS)


_Figure = Annotated[Number | None, BeforeValidator(_rounded)]
_Sure = Annotated[Any, BeforeValidator(_rounded), WithJsonSchema(NUMBER)]


class _Quality(Part):
    group: Text
    jobs: Whole
    judged: Whole
    kept: _Figure
    p5: _Figure
    median: _Figure
    wait_p50: _Figure
    wait_p95: _Figure
    wait_max: _Figure
    queued: _Sure
    below: Whole
    moves: Whole
    enlarged: Whole
    interrupted: Whole
    failed: Whole
    cancelled: Whole
    lost: Whole
    refused: Whole
    unfinished: Whole


class _Band(Part):
    mean: Number
    half: Number | None


class _Point(Part):
    strategy: Text
    reserve: Whole
    kept_qos: _Band
    batch_p5: _Band | None
    tail_p95: _Band | None
    wait_p95: _Band | None
    utilisation: _Band | None


class QualityDocument(Document, title="hcloud report quality"):
    """What jobs got or are predicted to get; what does not apply is null."""

    report: Annotated[Text, *_kind("quality")]
    source: Annotated[Text, From("name")]
    strategy: Text
    groups: list[_Quality]
    predicted: Annotated[list[_Point], From("points")]
    notes: list[Text]


class _ComparedReport(Part):
    figure: Annotated[Text, From("name")]
    unit: Annotated[Text, choice_of(("$/h", "$/month", "share", "s", "vCPU"))]
    predicted: Amount | None
    low: Amount | None
    high: Amount | None
    actual: Amount | None
    error: Share | None
    inside: bool | None


class _Effects(Part):
    predicted: Amount
    price: Amount
    volume: Amount
    volume_by_demand: Annotated[Amount | None, From("demand")]
    mix: Amount
    actual: Amount


class AccuracyDocument(Document, title="hcloud report accuracy"):
    """Figures with their errors, and the effects in dollars an hour."""

    report: Annotated[Text, *_kind("accuracy")]
    currency: Currency
    plan: NoText
    source: Text
    hours: Amount
    figures: list[_ComparedReport]
    effects: _Effects | None
    notes: list[Text]


def quality_csv(report: QualityReport) -> Written:
    """A row a group of jobs; of a plan a row a point, with the means of its figures."""
    kind: type[Part] = _Point if report.points else _Quality
    rows = [_cells(kind.model_validate(one)) for one in report.points or report.groups]
    return csv_document(tuple(kind.model_fields), rows)


def accuracy_csv(accuracy: Accuracy) -> Written:
    """A row a figure, then a row an effect."""
    rows = [_cells(_ComparedReport.model_validate(one)) for one in accuracy.figures]
    for name in ("price", "volume", "mix") if accuracy.effects is not None else ():
        rows.append([f"effect of {name}", "$/h", "", "", "", plain(getattr(accuracy.effects, name)), "", ""])
    return csv_document(tuple(_ComparedReport.model_fields), rows)


def _cells(part: Part) -> list[str]:
    """The fields of a part as the cells of a row."""
    return [_cell(value.mean if isinstance(value, _Band) else value) for _, value in part]


def _cell(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
