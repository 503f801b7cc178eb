"""Types of use as a JSON document."""

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


class _LeftOut(Part):
    tenant: Annotated[Text, From("name")]
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
    left_out: Annotated[list[_LeftOut], From("types.histories.left_out")]
    without_history: Annotated[list[Text], From("opened.without_history")]
    steps_held: Annotated[Count, From("types.histories.held")]
    steps_filled: Annotated[Count, From("types.histories.filled")]


def _tenants(found: TypedUse) -> Iterator[dict[str, Any]]:
    types = found.types
    for at, name in enumerate(types.histories.tenants):
        mean, deviation = types.typed.features[at, :2].tolist()
        own = types.classes[types.label[at]].name
        pattern = str(types.pattern_of(at))
        yield {"tenant": name, "pattern": pattern, "use_class": own, "mean": mean, "deviation": deviation}
