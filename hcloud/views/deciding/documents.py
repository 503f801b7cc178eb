"""The plan of a bill, and sizes for a target, as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated

from hcloud.model.catalog import Payment, Provider, PurchaseOption
from hcloud.model.target import GoalKind
from hcloud.planning.forecasting.targeted import SizedApp
from hcloud.views.document import (
    ITSELF,
    Amount,
    Cents,
    Count,
    Currency,
    Day,
    Document,
    From,
    Moment,
    Number,
    Part,
    Text,
    choice_of,
)


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
    licences_monthly: Annotated[Cents | None, From("monthly_licences")]
    upfront: Amount
    expires: Moment | None


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
    floating_monthly: Annotated[Cents, From("floating")]
    upfront: Cents
    more_at_worst_monthly: Annotated[Cents | None, From("more_at_worst")]
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
    bill: Annotated[_Bill, ITSELF]
    whole: Annotated[_AllKinds, ITSELF]
    held: Annotated[_Held, ITSELF]
    kinds: list[_Kind]
    purchases: list[_WayToBuy]
    unplanned_monthly: Annotated[dict[str, Cents], From("unplanned")]
    not_proposed: list[Text]
    warnings: list[Text]


class _Target(Part):
    kind: Annotated[Text, choice_of(tuple(kind.value for kind in GoalKind))]
    goal: Annotated[Number, From("amount")]
    within: Annotated[Number, From("limit")]


class _Server(Part):
    answer: Text
    step: Count
    server: Text
    type: Text
    vcpus: Number
    memory_gib: Number
    alone: Number
    added: Number
    together: Number
    hourly: Amount | None


class _LeftOut(Part):
    type: Text
    reason: Text


def _servers(of: SizedApp) -> Iterator[dict[str, object]]:
    if of.sized is None:
        return
    for name, answer in (("cheapest", of.sized.cheapest), ("by quality", of.sized.by_quality)):
        for step, one in enumerate(answer.servers, 1):
            hourly: Decimal | None = None if of.market is None else of.market.hourly[one.type]
            yield {
                "answer": name, "step": step, "server": one.name, "type": one.type, "vcpus": one.part.vcpus,
                "memory_gib": one.part.gib, "alone": one.alone, "added": one.adds, "together": one.total,
                "hourly": hourly,
            }  # fmt: skip


def _left_out(of: SizedApp) -> Iterator[dict[str, str]]:
    for name, reason in sorted((of.sized.left_out if of.sized else {}).items()):
        yield {"type": name, "reason": reason}


class SizeDocument(Document, title="hcloud size"):
    """What a target takes: the servers of the cheapest answer and of the walk by quality, in the order in which they
    are added; null where nothing is rented, or for best effort."""

    table = ("servers",)
    application: Annotated[Text, From("name")]
    target: _Target
    met: Annotated[bool, From(lambda of: of.sized is None or of.sized.cheapest.met)]
    needed: Annotated[Number | None, From(lambda of: of.sized and of.sized.needed)]
    reached: Annotated[Number | None, From(lambda of: of.sized and of.sized.cheapest.reached)]
    unit: Text
    vcpus: Annotated[Number | None, From(lambda of: of.sized and of.sized.cheapest.vcpus)]
    currency: Currency
    hourly: Annotated[Amount | None, From(lambda of: of.sized and of.hourly(of.sized.cheapest))]
    hourly_by_quality: Annotated[Amount | None, From(lambda of: of.sized and of.hourly(of.sized.by_quality))]
    place: Annotated[Text | None, From(lambda of: of.market and of.market.place)]
    oldest_price: Annotated[Day | None, From(lambda of: of.market and of.market.priced)]
    servers: Annotated[list[_Server], From(lambda of: list(_servers(of)))]
    left_out: Annotated[list[_LeftOut], From(lambda of: list(_left_out(of)))]
