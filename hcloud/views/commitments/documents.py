"""Commitments as JSON documents: what to buy and why, what was bought, and what is held."""

from __future__ import annotations

from typing import Annotated

from hcloud.views.document import Amount, Cents, Count, Currency, Day, Document, From, Moment, NoText, Part, Text, Whole


class _WayOut(Part):
    refund: Text
    note: Text
    source: Text
    day: Day


class _Need(Part):
    address: Annotated[Text, From("need.wanted.address")]
    option: Annotated[Text, From("need.wanted.option")]
    term_years: Annotated[Whole, From("need.wanted.term_years")]
    payment: Annotated[Text, From("need.wanted.payment")]
    unit: Annotated[Text, From("need.wanted.unit")]
    wanted: Annotated[Amount, From("need.wanted.quantity")]
    held: Annotated[Amount, From("need.held")]
    to_buy: Annotated[Amount, From("need.missing")]
    upfront: Annotated[Cents, From("need.upfront")]
    over_the_term: Annotated[Cents, From("need.expected")]
    break_even: Annotated[Amount | None, From("need.wanted.break_even")]
    starts: Annotated[Moment | None, From("need.wanted.starts")]
    derived: Annotated[NoText, From("need.wanted.derived")]
    way_out: _WayOut | None


class _Commitment(Part):
    id: Text
    option: Text
    instance_type: Text
    count: Count
    state: Text
    starts: Moment | None
    ends: Moment | None
    upfront: Amount
    hourly: Amount


class RecommendationDocument(Document, title="hcloud commit recommend"):
    """What to buy, and why."""

    scope: NoText
    currency: Annotated[Currency, From("plan.currency")]
    commitments: Annotated[list[_Need], From("rows")]
    reasons: Annotated[list[Text], From("plan.reasons")]
    expiring: list[_Commitment]
    unplanned: list[_Commitment]
    warnings: list[Text]


class _Purchase(Part):
    address: Annotated[Text, From("item.address")]
    key: Annotated[Text, From("item.key")]
    amount: Annotated[Cents, From("item.amount")]
    outcome: Text
    commitment: Annotated[NoText, From("id")]
    before: bool


class PurchasedDocument(Document, title="hcloud commit apply"):
    """What came of a purchase plan."""

    digest: Annotated[Text, From("plan.digest")]
    amount: Annotated[Cents, From("plan.amount")]
    currency: Currency
    purchases: Annotated[list[_Purchase], From("purchased")]


class RecordedPart(Part):
    """A purchase of the ledger."""

    key: Annotated[Text, From("intent.key")]
    address: Annotated[Text, From("intent.address")]
    at: Annotated[Moment, From("intent.at")]
    plan: Annotated[Text, From("intent.plan")]
    amount: Annotated[Cents, From("intent.amount")]
    outcome: Text
    commitment: Annotated[NoText, From("id")]
    cancelled: bool
    ends: Moment | None


class _Pair(Part):
    ledger: Annotated[RecordedPart | None, From("recorded")]
    cloud: Annotated[_Commitment | None, From("commitment")]


class HoldingsDocument(Document, title="hcloud commit list"):
    """Ledger and cloud."""

    scope: NoText
    currency: Currency
    committed: Cents
    ceiling: Amount | None
    commitments: Annotated[list[_Pair], From("pairs")]
    expiring: Annotated[list[Text], From(lambda held: [one.id for one in held.expiring])]
