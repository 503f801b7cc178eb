"""The calculator of placements as a JSON document."""

from __future__ import annotations

from typing import Annotated

from hcloud.views.document import Count, Document, From, Number, Part


class _Size(Part):
    quality: Number
    miss: Number
    candidates: Count


class _Promise(Part):
    candidates: Count
    quality: Number
    miss: Number
    mean_rank: Number


class _FreeSampled(Part):
    looks: Number
    found: Number


class _AllSampled(Part):
    quality: Number
    candidates: Count | None


class PlacementSizeDocument(Document, title="hcloud placement size"):
    """The candidates that a promise takes, the same for other promises, and what fewer candidates promise; null where
    no share of busy servers or no number of servers is stated."""

    table = ("sizes",)
    quality: Annotated[Number, From("asked.quality")]
    miss: Annotated[Number, From("asked.miss")]
    busy: Annotated[Number | None, From("asked.busy")]
    units: Annotated[Count | None, From("asked.units")]
    free_units: Annotated[Count | None, From("free")]
    promise: Annotated[_Promise, From("size")]
    sizes: list[_Size]
    fewer: list[_Promise]
    over_free: Annotated[_FreeSampled | None, From("free_sampled")]
    over_all: Annotated[_AllSampled | None, From("all_sampled")]
