"""A bill as a JSON document: every sum, the usage by what it was, and the commitments."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from hcloud.model.bill import BilledUsage, LineKind, Service
from hcloud.model.bill_figures import DIMENSIONS
from hcloud.model.catalog import Payment, Provider, PurchaseOption
from hcloud.planning.billed.spread import missing_days
from hcloud.views.document import (
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
    Share,
    Text,
    choice_of,
)


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
