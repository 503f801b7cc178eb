"""LB-J: what jobs cost at the least with perfect foresight and perfect packing, at the rates that a run pays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcloud.catalog.quote import amortised_cost
from hcloud.policy.records import Ints, Reals
from hcloud.sim.run import RunOutcome
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.shop import Shop
from hcloud.units import SECONDS_PER_HOUR

_HALVINGS = 60
_SAME_SECONDS = 1e-6
"""Seconds by which a job's time on servers may differ from begin to end; it was moved or interrupted beyond that."""


@dataclass(frozen=True, slots=True)
class Load:
    """What jobs hold while they run: from ``begin`` to ``end`` in seconds, thousandths of a vCPU and MiB."""

    begin: Reals
    end: Reals
    cores: Ints
    memory: Ints


@dataclass(frozen=True, slots=True)
class LowerBound:
    """The least dollars for a load, the reserved servers (a fraction of one counts) that reach it, and their part."""

    dollars: float
    servers: float
    reserved: float

    @property
    def rented(self) -> float:
        """What is not reserved."""
        return self.dollars - self.reserved


def arrived(tasks: Tasks) -> Load:
    """Jobs as they came: at perfect size, from submission on, for as long as they take in isolation.

    This load belongs to the jobs alone. A strategy that lets jobs wait may fill the valleys of its reserve with them
    and cost less than the bound of this load; it pays in quality of service. No strategy that starts every job at once
    can.
    """
    return Load(tasks.submit, tasks.submit + tasks.work, tasks.need, tasks.memory)


def worked(outcome: RunOutcome) -> Load:
    """The finished jobs when a run worked on them, at the lesser of what they needed and asked for.

    Whatever the strategy, its run cost at least the bound of this load. Jobs that were interrupted or waited for a
    second server are left out: when they ran is not on record.
    """
    tasks = outcome.tasks
    begin, end = outcome.of_tasks("began"), outcome.of_tasks("ended")
    whole = (end >= 0) & (np.abs(end - begin - outcome.of_tasks("ran")) <= _SAME_SECONDS)
    size = np.minimum(tasks.need, tasks.ask)
    return Load(
        np.asarray(begin[whole], np.float64), np.asarray(end[whole], np.float64), size[whole], tasks.memory[whole]
    )


def lower_bound(shop: Shop, load: Load, paid_seconds: float, *, spot: bool = False) -> LowerBound:
    """The least that a load can cost: LB-J, the covering program with a reserve R and rented instances o(t),
    min F R + sum of p o(t) such that A (R + o(t)) holds the load at every moment.

    A reserved server costs its amortised rate for ``paid_seconds`` (as :func:`hcloud.sim.run.reserved_cost` charges)
    and holds jobs at any time; ``spot`` lets the rest be rented at spot prices too. It is a lower bound because it
    relaxes what binds every run at these rates: fractions of instances are had; jobs are divided freely among them; an
    instance is had for just as long as it is used, without start-up, retention, billing steps and minimum; nobody
    suffers from neighbours; all that is to come is known. What it keeps: the load is served at its own times.

    Renting the rest of a load (c, m) costs max over y of y.(c, m), y being the corners of what a vCPU and a GiB may be
    worth where no type holds more than its price (linear duality). So the cost is convex in R, and the interval where
    its slope changes sign is halved until floats end it.
    """
    seconds, sizes = levels_of(load)
    worth = _worths(shop, spot)
    server = np.array([float(shop.types[shop.large].shape.vcpus), float(shop.types[shop.large].shape.memory_gib)])
    fee = float(amortised_cost(shop.reserved, 1)) * paid_seconds / SECONDS_PER_HOUR
    values, held = sizes @ worth.T, worth @ server

    def at(servers: float) -> tuple[float, float]:
        rest = values - servers * held
        best = rest.argmax(axis=1)
        rented = float(seconds @ rest[np.arange(len(best)), best]) / SECONDS_PER_HOUR
        return fee * servers + rented, fee - float(seconds @ held[best]) / SECONDS_PER_HOUR

    low, high = 0.0, float((sizes / server).max(initial=0.0))
    if at(low)[1] >= 0:
        return LowerBound(at(low)[0], low, 0.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle)[1] < 0 else (low, middle)
    dollars, servers = min((at(low)[0], low), (at(high)[0], high))
    return LowerBound(dollars, servers, fee * servers)


def levels_of(load: Load) -> tuple[Reals, Reals]:
    """How long each level lasts, and the vCPUs and GiB in use in it; summed in whole numbers, hence exact."""
    times, place = np.unique(np.concatenate([load.begin, load.end]), return_inverse=True)
    changes = np.zeros((len(times), 2), np.int64)
    held = np.column_stack([load.cores, load.memory]).astype(np.int64)
    np.add.at(changes, place, np.concatenate([held, -held]))
    sizes = np.cumsum(changes, axis=0)[:-1] / np.array([1000.0, 1024.0])
    return np.diff(times), sizes


def _worths(shop: Shop, spot: bool) -> Reals:
    """Dollars an hour that a vCPU and a GiB may be worth at the most, as corners [corner, resource], the origin among
    them."""
    offers = [(t.shape, o) for t in shop.types for o in (t.on_demand, t.spot if spot else None) if o]
    held = np.array([(float(s.vcpus), float(s.memory_gib)) for s, _ in offers])
    price = np.array([float(o.hourly) for _, o in offers])
    limits = np.unique(held / price[:, None], axis=0)
    corners = [(0.0, 0.0), (1 / limits[:, 0].max(), 0.0), (0.0, 1 / limits[:, 1].max())]
    for i, (a, b) in enumerate(limits):
        for c, d in limits[i + 1 :]:
            if abs(det := a * d - b * c) > 1e-9 * (a * d + b * c):
                corners.append(((d - b) / det, (a - c) / det))
    inside = [y for y in corners if min(y) >= 0 and (limits @ y).max() <= 1 + 1e-9]
    return np.array([np.array(y) / max((limits @ y).max(), 1.0) for y in inside])
