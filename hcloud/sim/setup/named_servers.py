"""Jobs that run on certain reserved servers only: to a run, servers that other jobs may use are of another type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from hcloud.errors import UsageError
from hcloud.model.requirement import Requirement
from hcloud.policy.records import Reals
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.shop import Rentable, SmallerReserve

_Class = tuple[int, tuple[int, ...]]
"""Servers of a type that the same of what is wanted names."""


def last_named(wanted: Sequence[Requirement]) -> int:
    """The highest number of a server that jobs name; -1 where none does."""
    return max((one.servers[-1] for one in wanted if one.servers), default=-1)


def with_named_servers(setting: Setting, wanted: Sequence[Requirement]) -> Setting:
    """A setting whose reserved servers are told apart where jobs name some: those that the same jobs may use stay of
    one type. Servers keep their numbers. The speeds have a row for each of what is ``wanted``, again and again.

    UsageError where the strategy may rent: a rented server has no number.
    """
    if last_named(wanted) < 0:
        return setting
    if setting.strategy.follows("on_demand"):
        raise UsageError(
            f"{setting.strategy.name} rents servers, and some jobs require certain reserved ones (requires server=N)",
            hint="name a strategy that rents nothing: --strategy SR",
        )
    assert setting.speeds is not None
    naming = [set(one.servers) for one in wanted]
    kinds = [lot.kind for lot in setting.lots for _ in range(lot.servers)]
    offers = {lot.kind: lot.offer for lot in setting.lots}
    classes = [
        (kind, tuple(at for at, servers in enumerate(naming) if number in servers)) for number, kind in enumerate(kinds)
    ]
    types, columns, place = list(setting.shop.types), [_of_nobody(setting.speeds, naming)], dict[_Class, int]()
    for number, one in enumerate(classes):
        if one[1] and one not in place:
            place[one] = len(types)
            types.append(_renamed(types[one[0]], number))
            columns.append(_of_class(setting.speeds, naming, one)[:, None])
    runs = [(place.get(one, one[0]), len(list(servers))) for one, servers in groupby(classes)]
    pool = runs.pop(0)[1] if runs and runs[0][0] == setting.shop.large else 0
    origin = {at: one[0] for one, at in place.items()}
    beside = tuple(SmallerReserve(types[at].shape.name, n, offers[origin.get(at, at)]) for at, n in runs)
    shop = replace(setting.shop, types=tuple(types))
    return replace(setting, shop=shop, pool=pool, beside=beside, speeds=np.hstack(columns))


def _renamed(rentable: Rentable, number: int) -> Rentable:
    """The type of a server, as that of this one and its like."""
    return replace(rentable, shape=replace(rentable.shape, name=f"{rentable.shape.name}/{number}"))


def _of_nobody(speeds: Reals, naming: Sequence[set[int]]) -> Reals:
    """The speeds of types that no job names: none for those that name others."""
    free = np.array([not servers for servers in naming])
    made: Reals = speeds * np.tile(free, len(speeds) // len(naming))[:, None]
    return made


def _of_class(speeds: Reals, naming: Sequence[set[int]], one: _Class) -> Reals:
    """The speeds of servers of a type that some jobs name, for those and for jobs that name none."""
    fits = np.array([not servers or at in one[1] for at, servers in enumerate(naming)])
    made: Reals = speeds[:, one[0]] * np.tile(fits, len(speeds) // len(naming))
    return made
