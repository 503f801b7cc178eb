"""Prices as JSON documents: listings, one type in all its options, comparisons, checks and intakes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hcloud.views.document import (
    Amount,
    Count,
    Currency,
    Day,
    Document,
    From,
    NoText,
    Part,
    Rate,
    Share,
    Text,
    Whole,
    choice_of,
)


class _Finding(Part):
    row: Text
    reason: Text
    offer: Annotated[Text | None, From("key")]


class _Key(Part):
    provider: Annotated[Text, From("key.provider")]
    region: Annotated[Text, From("key.region")]
    zone: Annotated[Text, From("key.zone")]
    instance_type: Annotated[Text, From("key.instance_type")]
    os: Annotated[Text, From("key.os")]
    tenancy: Annotated[Text, From("key.tenancy")]
    option: Annotated[Text, From("key.option")]
    term_years: Annotated[Count, From("key.term_years")]
    payment: Annotated[Text, From("key.payment")]


class _Price(Part):
    hourly: Annotated[Amount, From("offer.hourly")]
    upfront: Annotated[Amount, From("offer.upfront")]
    effective_hourly: Annotated[Rate, From("offer.effective_hourly")]
    date: Annotated[Day, From("offer.origin.day")]
    source: Annotated[Text, From("offer.origin.source")]
    derived: Annotated[Text, From("offer.origin.derived")]


class _PriceRow(_Price, _Key):
    discount: Share | None
    break_even_utilisation: Annotated[Share | None, From("break_even")]
    age_days: Count
    remaining: Annotated[Whole | None, From("offer.remaining")]


class OffersDocument(Document, title="hcloud pricing list and show"):
    """Offers; of one type also its prices that may not be used."""

    currency: Currency
    offers: Annotated[list[_PriceRow], From("lines")]
    quarantined: list[_Finding] = Field(default_factory=list)


class _Action(Part):
    action: Annotated[Text, choice_of(("added", "removed", "changed"))]


class _Change(_Key, _Action):
    old: Annotated[_Price | None, From(lambda of: of.old and {"offer": of.old})]
    new: Annotated[_Price | None, From(lambda of: of.new and {"offer": of.new})]
    change: Annotated[Share | None, From("ratio")]


class PriceChangesDocument(Document, title="hcloud pricing diff"):
    """What changed from one book to another."""

    currency: Currency
    changes: list[_Change]
    unchanged: Count
    within: NoText
    left_aside: Count


class PriceCheckDocument(Document, title="hcloud pricing verify"):
    """Whether files and prices are sound."""

    currency: Currency
    files: Count
    damaged: list[Text]
    offers: Count
    quarantined: list[_Finding]
    warnings: list[_Finding]


class _Taken(Part):
    name: Text
    format: Text
    good: Annotated[Count, From(lambda taken: len(taken.book.offers))]
    types: Annotated[Count, From(lambda taken: len(taken.book.types))]
    replaced_newer: Count
    left_out: Count
    quarantined: Annotated[list[_Finding], From("refused")]
    warnings: list[_Finding]


class IntakeDocument(Document, title="hcloud pricing import and refresh"):
    """What was taken in, and where it was stored."""

    currency: Currency
    stored: Text | None
    sources: list[_Taken]
