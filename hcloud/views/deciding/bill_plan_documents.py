"""The plan of a bill as a JSON document."""

from __future__ import annotations

from typing import Annotated

from hcloud.model.catalog import Payment, Provider, PurchaseOption
from hcloud.views.document import Amount, Cents, Count, Currency, Document, From, Moment, Number, Part, Text, choice_of


class _Bill(Part):
    name: Text
    format: Text
    digest: Text
    rows: Count
    files: Count
    start: Moment
    hours: Count
    daily: bool
    missing_days: Count
    total: Amount


class _Line(Part):
    address: Text
    instance_type: Text
    option: Annotated[Text, choice_of(PurchaseOption)]
    term_years: Count
    payment: Annotated[Text, choice_of(Payment)]
    count: Amount
    vcpus: Amount
    hourly: Amount
    monthly: Amount
    upfront: Amount


class _Kind(Part):
    name: Text
    provider: Annotated[Text, choice_of(Provider)]
    region: Text
    history_hours: Count
    mean_vcpus: Number
    covered_share: Number
    held_vcpus: Amount
    bought_vcpus: Amount
    paid_monthly: Annotated[Cents, From("paid")]
    list_monthly: Annotated[Cents | None, From("at_list")]
    book_monthly: Annotated[Cents | None, From("at_book")]
    now_monthly: Annotated[Cents, From("now")]
    plan_monthly: Annotated[Cents, From("after")]
    upfront: Cents
    at_worst_monthly: Annotated[Cents, From("at_worst")]
    mix: Annotated[list[_Line], From(lambda of: () if of.plan is None else of.plan.mix)]
    warnings: Annotated[list[Text], From(lambda of: () if of.plan is None else of.plan.warnings)]
    said: list[Text]
    why_not: Text


class _WayToBuy(Part):
    provider: Annotated[Text, choice_of(Provider)]
    option: Annotated[Text, choice_of(PurchaseOption)]
    term_years: Count
    payment: Annotated[Text, choice_of(Payment)]
    kinds: Count
    hourly: Amount
    upfront: Cents


class _AllKinds(Part):
    now_monthly: Annotated[Cents, From("now")]
    plan_monthly: Annotated[Cents, From("after")]
    paid_monthly: Annotated[Cents, From("paid")]
    spot_monthly: Annotated[Cents, From("spot")]
    upfront: Cents


class _Held(Part):
    commitments: Annotated[Count, From("held")]
    of_unknown_end: Annotated[list[Text], From("held_of_unknown_end")]
    not_counted: Annotated[dict[str, Text], From("held_unused")]


class BillPlanDocument(Document, title="hcloud plan of a bill"):
    """What to buy for each kind of machine in a bill; dollars a month, but ``upfront``, which is due now."""

    currency: Currency
    bill: Annotated[_Bill, From(lambda of: of)]
    whole: Annotated[_AllKinds, From(lambda of: of)]
    held: Annotated[_Held, From(lambda of: of)]
    kinds: list[_Kind]
    purchases: list[_WayToBuy]
    unplanned_monthly: Annotated[dict[str, Cents], From("unplanned")]
    warnings: list[Text]
