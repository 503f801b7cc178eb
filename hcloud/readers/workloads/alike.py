"""A machine of which two files of a folder hold the same hours: these count once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hcloud.errors import InputError
from hcloud.model.workload import Demand, Modelled

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


def refuse_series_twice(found: Sequence[Demand]) -> list[Modelled]:
    """Refuse a series that another file has too, among others that it has not: its demand would count twice. Of files
    that are alike as a whole one counts already. What is said of series that have a name in common alone."""
    met = dict[int, tuple[str, str]]()
    for demand in found:
        for marks in demand.provenance.marks:
            file = demand.provenance.name
            other = next((met[hour] for hour in marks.hours.values() if hour in met and met[hour][0] != file), None)
            if other is not None:
                raise InputError(
                    f"{file}: {marks.where} has the values that {other[1]} of {other[0]} has at the same times: one "
                    "machine, which would count twice",
                    hint="export each machine once for each time: in ranges that do not overlap",
                )
            met |= dict.fromkeys(marks.hours.values(), (file, marks.where))
    if alike := _of_one_name(found):
        told = f"series of one name in several files, with other values at the same times, are machines each: {alike:,}"
        return [Modelled("cores", told, "fixed")]
    return []


def _of_one_name(found: Sequence[Demand]) -> int:
    """How many series have the name of one in another file at the same times; files of one series each often name
    these alike."""
    files = [demand.provenance.marks for demand in found if len(demand.provenance.marks) > 1]
    met, alike = dict[str, set[int]](), 0
    for marks in files:
        alike += sum(1 for one in marks if met.get(one.name, set()) & one.hours.keys())
        for one in marks:
            met.setdefault(one.name, set()).update(one.hours)
    return alike


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
    return replace(demand, **parts, provenance=replace(demand.provenance, marks=()))
