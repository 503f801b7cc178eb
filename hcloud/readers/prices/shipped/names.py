"""The names that the bundled price tables know, read without their prices: fast enough for a Tab key."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from hcloud.readers.bundle import bundled

Row = Mapping[str, str]
CLOUDS = ("aws", "azure", "gcp")
PRICED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "aws": ("on_demand.csv", "family"),
        "azure": ("pay_as_you_go.csv", "family"),
        "gcp": ("prices.csv", "series"),
    }
)
"""The table of list prices of each cloud, and its column of families."""


def regions(cloud: str) -> tuple[str, ...]:
    """Every region with a list price."""
    return tuple(sorted({row["region"] for row in _rows(cloud, PRICED[cloud][0])}))


def families(cloud: str) -> tuple[str, ...]:
    """Every family (Google: series) with a list price."""
    name, column = PRICED[cloud]
    return tuple(sorted({row[column] for row in _rows(cloud, name)}))


def types(cloud: str) -> tuple[str, ...]:
    """Every instance type of the tables."""
    return tuple(sorted({"aws": _aws, "azure": _azure, "gcp": _gcp}[cloud]()))


def _rows(cloud: str, name: str) -> Iterator[Row]:
    with (bundled("pricing") / cloud / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _aws() -> Iterator[str]:
    for row in _rows("aws", "families.csv"):
        yield from (f"{row['family']}.{size}" for size in row["sizes"].split())


def _azure() -> Iterator[str]:
    for row in _rows("azure", "families.csv"):
        yield from (row["name"].replace("{n}", count) for count in row["vcpus"].split())


def _gcp() -> Iterator[str]:
    for row in _rows("gcp", "shapes.csv"):
        yield from (f"{row['series']}-{row['shape']}-{count}" for count in row["vcpus"].split())
    for row in _rows("gcp", "sizes.csv"):
        yield row["machine_type"]
