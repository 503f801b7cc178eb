"""The names that the bundled price tables know, read without their prices: fast enough for a Tab key."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping

from hcloud.model.clouds.known import CLOUDS
from hcloud.readers.bundle import bundled


def regions(cloud: str) -> tuple[str, ...]:
    """Every region with a list price."""
    return tuple(sorted({row["region"] for row in _rows(cloud, CLOUDS[cloud].listed.prices)}))


def families(cloud: str) -> tuple[str, ...]:
    """Every family (Google: series) with a list price."""
    listed = CLOUDS[cloud].listed
    return tuple(sorted({row[listed.family] for row in _rows(cloud, listed.prices)}))


def types(cloud: str) -> tuple[str, ...]:
    """Every instance type of the tables."""
    return tuple(sorted(_types(cloud)))


def _types(cloud: str) -> Iterator[str]:
    for table, form, column in CLOUDS[cloud].listed.types:
        for row in _rows(cloud, table):
            name = form.format_map(row)
            yield from (name.replace("{n}", word) for word in (row[column].split() if column else ("",)))


def _rows(cloud: str, name: str) -> Iterator[Mapping[str, str]]:
    with (bundled("pricing") / cloud / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
