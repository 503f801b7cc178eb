"""A machine of which two files of a folder hold the same hours: these count once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import Demand

_ALIKE = 12
"""Ours: so many steps one after the other, not all of one value, are not alike in two machines by chance."""
_EVERY_SECONDS = 6 * 3600
_TWICE = "steps of a machine that another file has too: counted once"
_Steps = tuple[int, int, bytes]


def counted_once(found: Sequence[Demand]) -> tuple[list[Demand], dict[str, int]]:
    """The demands of a folder's files, each without the steps that one before it has too, and how many these are."""
    kept, met, twice = list(found), dict[_Steps, int](), 0
    for place, demand in enumerate(found):
        for other in sorted({met.setdefault(steps, place) for steps in _looked_at(demand)} - {place}):
            first, last = _overlap(found[other], demand)
            if _are_alike(found[other], demand, first, last):
                twice += last - first
                kept[place] = _without(kept[place], first, last)
    return kept, {_TWICE: twice} if twice else {}


def refuse_series_twice(found: Sequence[Demand]) -> None:
    """Refuse a series that another file has too, among others that it has not: its demand would count twice. Of files
    that are alike as a whole one counts already."""
    met = dict[int, tuple[str, str]]()
    for demand in found:
        of = demand.provenance
        for name, hours in of.marks.items():
            other = next((met[mark] for mark in hours if mark in met and met[mark][0] != of.name), None)
            if other is not None:
                raise InputError(
                    f"{of.name}: {name} has the values that {other[1]} of {other[0]} has at the same times: one "
                    "machine, which would count twice",
                    hint="export each machine once for each time: in ranges that do not overlap",
                )
            met |= dict.fromkeys(hours, (of.name, name))


def _looked_at(demand: Demand) -> Iterator[_Steps]:
    """Some steps each quarter of a day, by their time: two files that hold a machine's day have them in common."""
    step = demand.step_seconds
    stride = max(_EVERY_SECONDS // step, _ALIKE)
    for at in range(int(-demand.start // step) % stride, len(demand) - _ALIKE + 1, stride):
        values = demand.cores[at : at + _ALIKE]
        if values.min() != values.max():
            yield step, round(demand.start + at * step), values.tobytes()


def _overlap(other: Demand, demand: Demand) -> tuple[int, int]:
    """The first step of a demand that another has too, and the one behind the last."""
    ahead = round((other.start - demand.start) / demand.step_seconds)
    return max(ahead, 0), min(ahead + len(other), len(demand))


def _are_alike(other: Demand, demand: Demand, first: int, last: int) -> bool:
    """Whether both have the same values there; the steps at the ends may hold other samples."""
    ahead = round((demand.start - other.start) / demand.step_seconds)
    mine, theirs = demand.cores[first + 1 : last - 1], other.cores[first + ahead + 1 : last + ahead - 1]
    return len(mine) > 0 and bool(np.array_equal(mine, theirs))


def _without(demand: Demand, first: int, last: int) -> Demand:
    """The demand without these steps, and without the marks of its series."""
    parts = {name: getattr(demand, name).copy() for name in ("cores", "memory", "batch_cores")}
    for values in parts.values():
        values[first:last] = 0.0
    return replace(demand, **parts, provenance=replace(demand.provenance, marks={}))
