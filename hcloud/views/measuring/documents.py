"""Profiles and estimates as JSON documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from hcloud.classify.judgement import ApplicationEstimate
from hcloud.model.measured.profile import RESOURCES, Aspect
from hcloud.views.document import (
    DECIMAL,
    ITSELF,
    Count,
    Document,
    From,
    Keys,
    Moment,
    Number,
    Part,
    Text,
    Whole,
    choice_of,
)

_ASPECTS = Keys(tuple(aspect.value for aspect in Aspect))


class _Metric(Part):
    name: Text
    unit: Text
    rising: bool


class _Measured(Part):
    value: Number
    low: Number
    high: Number
    samples: Count
    at: Moment
    machine: Text
    source: Text


class _Failed(Part):
    why: Text
    at: Moment
    machine: Text
    source: Text


def _in_order(columns: Mapping[Any, object], order: Iterable[Any]) -> dict[str, object]:
    return {str(name): columns[name] for name in order if columns.get(name) is not None}


class ProfilePart(Part):
    """Everything measured of an application."""

    app: Text
    kind: Annotated[Text, From(lambda of: of.kind.name.lower()), choice_of(("batch", "service"))]
    metric: _Metric
    command: list[Text]
    entries: Annotated[dict[str, dict[str, _Measured]], From(lambda of: _in_order(of.entries, Aspect)), _ASPECTS]
    failures: Annotated[
        dict[str, dict[str, _Failed]],
        From(lambda of: _in_order({a: failed or None for a, failed in of.failures.items()}, Aspect)),
        _ASPECTS,
    ] = Field(default_factory=dict)
    unmeasurable: Annotated[dict[str, Text], From(lambda of: _in_order(of.unmeasurable, RESOURCES)), Keys(RESOURCES)]
    notes: list[Text]


class ProfileDocument(Document, title="hcloud profile show, run and import"):
    """One profile."""

    profile: Annotated[ProfilePart, ITSELF]


class ProfilesDocument(Document, title="hcloud profile list"):
    """A folder of profiles."""

    profiles: Annotated[list[ProfilePart], ITSELF]


class _ComparedProfile(Part):
    aspect: Text
    column: Text
    left: _Measured | None
    right: _Measured | None
    differs: bool | None


class ProfileComparisonDocument(Document, title="hcloud profile compare"):
    """Two profiles side by side."""

    left: Annotated[Text, From("left.app")]
    right: Annotated[Text, From("right.app")]
    lines: list[_ComparedProfile]


class _Predicted(Part):
    value: Number
    low: Number
    high: Number
    measured: bool


class _Neighbour(Part):
    app: Text
    likeness: Number


class _MeasuredRow(Part):
    held_out_error: Number | None
    neighbours: list[_Neighbour]
    columns: dict[str, _Predicted]


class _Ranked(Part):
    type: Annotated[Text, From("column")]
    value: Number


class _Worth(Part):
    type: Text
    value: Number
    dollars_per_hour: Annotated[str, WithJsonSchema(DECIMAL)]


class _Probe(Part):
    aspect: Text
    column: Text
    gain: Number | None
    why: Text


def _worth(answer: ApplicationEstimate) -> list[dict[str, object]]:
    """The types by what the work costs there."""
    prices = answer.prices.hourly
    return [{"type": r.column, "value": r.value, "dollars_per_hour": f"{prices[r.column]:.6f}"} for r in answer.worth]


class _Answer(Part):
    app: Annotated[Text, From("profile.app")]
    known_applications: Annotated[Count, From("known_apps")]
    vector: Annotated[
        Annotated[dict[str, Whole], Keys(RESOURCES, all_of_them=True)] | None,
        From(lambda of: of.vector and dict(zip(RESOURCES, of.vector, strict=True))),
    ]
    quality: Whole | None
    size_for_target: Annotated[Text | None, From("size")]
    type_ranking: Annotated[list[_Ranked], From("types")]
    type_ranking_by_cost: Annotated[list[_Worth], From(_worth)]
    aspects: Annotated[dict[str, _MeasuredRow], From("estimate.rows"), _ASPECTS]
    unmeasurable: Annotated[dict[str, Text], From("profile.unmeasurable")]
    probes: Annotated[list[_Probe], From("estimate.probes")]
    surprises: list[Text]


class ClassificationDocument(Document, title="hcloud classify"):
    """What is predicted of applications, and what should be measured next."""

    applications: Annotated[list[_Answer], ITSELF]
