"""Types of use, replicas and audits as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from hcloud.harvest.classes import HOURS
from hcloud.harvest.results import TypedUse
from hcloud.harvest.typing import PATTERNS
from hcloud.views.document import Count, Document, From, Number, Part, Text, choice_of

Pattern = Annotated[str, choice_of(PATTERNS)]


class _Class(Part):
    name: Text
    pattern: Annotated[Pattern, From(lambda of: str(of.pattern))]
    tenants: Annotated[Count, From(lambda of: len(of.members))]
    servers: Count
    vcpus: Annotated[Number, From("cores")]
    mean: Number
    peak: Number
    now: Number
    room_short_vcpus: Annotated[Number, From("short")]
    room_medium_vcpus: Annotated[Number, From("medium")]
    room_long_vcpus: Annotated[Number, From("long")]
    mean_by_hour: Annotated[list[Number], From(lambda of: [*of.hourly[:HOURS]])]


class _Tenant(Part):
    tenant: Text
    pattern: Pattern
    use_class: Text
    mean: Number
    deviation: Number


class _Trust(Part):
    days: Count
    alike: Number


class _TenantLeftOut(Part):
    tenant: Annotated[Text, From("name")]
    missing: Number


class _ServerWithGaps(Part):
    server: Annotated[Text, From("name")]
    tenant: Text
    missing: Number


class HarvestTypesDocument(Document, title="hcloud harvest types"):
    """The classes, each tenant's pattern and class, and how far two windows agree; null where the history is too
    short."""

    table = ("classes",)
    days: Annotated[Count, From("types.days")]
    step_seconds: Annotated[Count, From("types.histories.step")]
    classes: Annotated[list[_Class], From("types.classes")]
    tenants: Annotated[list[_Tenant], From(lambda of: list(_tenants(of)))]
    trust: Annotated[_Trust | None, From("types.trust")]
    left_out: Annotated[list[_TenantLeftOut], From("types.histories.left_out")]
    without_history: Annotated[list[Text], From("opened.without_history")]
    servers_with_gaps: Annotated[list[_ServerWithGaps], From("types.histories.with_gaps")]
    steps_held: Annotated[Count, From("types.histories.held")]
    steps_filled: Annotated[Count, From("types.histories.filled")]


def _tenants(found: TypedUse) -> Iterator[dict[str, Any]]:
    types = found.types
    for at, name in enumerate(types.histories.tenants):
        mean, deviation = types.typed.features[at, :2].tolist()
        own = types.classes[types.label[at]].name
        pattern = str(types.pattern_of(at))
        yield {"tenant": name, "pattern": pattern, "use_class": own, "mean": mean, "deviation": deviation}


class _SpaceMarket(Part):
    market: Text
    space: Number


class _GridCell(Part):
    row: Count
    column: Count
    tenants: Count
    space: Number
    space_by_market: Annotated[
        list[_SpaceMarket], From(lambda of: [{"market": m, "space": s} for m, s in of.by_market.items()])
    ]


class _Counted(Part):
    what: Text
    count: Count


def _counts(name: str) -> From:
    return From(lambda of: [{"what": what, "count": count} for what, count in getattr(of, name).items()])


class _Shared(Part):
    key: Text
    blocks: Count


class _System(Part):
    system: Text
    placed: Count
    refused: Annotated[list[_Counted], _counts("refused")]
    relaxed: Annotated[list[_Counted], _counts("relaxed")]
    lost_by_year: Annotated[list[Count], From("lost")]
    accesses_failed_by_seed: Annotated[list[Count], From("failed")]
    copies_made: Annotated[Count, From("copied")]
    copies_without_server: Annotated[Count, From("stuck")]
    copies_put_off: Annotated[Count, From("put_off")]
    full_by_size: Annotated[list[Number], From("fill")]
    shared: list[_Shared]


class HarvestReplicasDocument(Document, title="hcloud harvest replicas"):
    """Systems side by side: counts over all seeds, and of every seed's year what was lost; empty where no reimages are
    known, and accesses where no use is."""

    table = ("systems",)
    name: Text
    servers: Count
    tenants: Count
    environments: Count
    blocks: Count
    copies: Count
    seeds: Count
    accesses: Count
    log_days: Number
    copies_a_server_hour: Annotated[Number, From("copies_an_hour")]
    grid: list[_GridCell]
    systems: list[_System]


class HarvestAuditDocument(Document, title="hcloud harvest audit"):
    """What the copies of a placement share, and the blocks lost in the year of each seed."""

    table = ("shared",)
    name: Text
    blocks: Count
    copies: Count
    shared: list[_Shared]
    without_reserved_copy: Annotated[Count | None, From("unreserved")]
    lost_by_year: Annotated[list[Count], From("lost")]
    guarded: Count
    diverse: Count
    least_diverse: Number | None
