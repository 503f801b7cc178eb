"""Sizes for a target as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated

from hcloud.model.target import GoalKind
from hcloud.planning.forecasting.targeted import SizedApp
from hcloud.views.document import Amount, Count, Currency, Day, Document, From, Number, Part, Text, choice_of


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
