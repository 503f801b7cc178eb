"""Histories of use on one grid: servers become tenants, samples become equal steps, and gaps are held or left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.errors import EvidenceError
from hcloud.harvest.policy import HarvestPolicy
from hcloud.units import format_duration, format_span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

DAY, HOUR = 86_400, 3600


class ServerHistory(NamedTuple):
    """The use of one server (or of one tenant as a whole), 0 to 1, at its times; ``cores`` is how large it is, ``name``
    what the history calls it."""

    tenant: str
    times: Floats
    use: Floats
    cores: float = 1.0
    servers: int = 1
    name: str = ""


@dataclass(frozen=True, slots=True)
class LeftOutTenant:
    """A tenant whose history has too many gaps, and the share of it that is missing."""

    name: str
    missing: float


@dataclass(frozen=True, slots=True)
class ServerWithGaps:
    """A server whose tenant has histories of others, too, and the share of its steps that is missing: the mean of the
    tenant is that of the others there."""

    name: str
    tenant: str
    missing: float


@dataclass(frozen=True, slots=True)
class TenantHistories:
    """The mean use of every tenant in whole days of equal steps: ``use`` has a row a tenant and no gap. ``held`` and
    ``filled`` count the steps of short gaps, which hold the value before, and of longer ones, which have the mean of
    their time of day; ``hours_missing`` are times at which all histories lack an hour; ``with_gaps`` begins with the
    server that lacks most."""

    tenants: tuple[str, ...]
    use: NDArray[np.float32]
    start: float
    step: int
    servers: NDArray[np.int64]
    cores: Floats
    left_out: tuple[LeftOutTenant, ...] = ()
    held: int = 0
    filled: int = 0
    hours_missing: tuple[float, ...] = ()
    with_gaps: tuple[ServerWithGaps, ...] = ()

    @property
    def per_day(self) -> int:
        """Steps of a day."""
        return DAY // self.step

    @property
    def days(self) -> int:
        """Whole days."""
        steps: int = self.use.shape[1]
        return steps // self.per_day

    def part(self, first_day: int, days: int) -> NDArray[np.float32]:
        """The use in some whole days."""
        return self.use[:, first_day * self.per_day : (first_day + days) * self.per_day]


def on_one_grid(servers: Sequence[ServerHistory], policy: HarvestPolicy) -> TenantHistories:
    """The tenants by name. EvidenceError where the history is too short or its steps are too long; the days that are
    not whole are those at its begin."""
    sampled = _sampling_step(servers, policy)
    step = _whole_part_of_a_day(max(sampled, policy.average_over))
    first = min(float(s.times[0]) for s in servers)
    last = max(float(s.times[-1]) for s in servers) + sampled
    days = int((last - first) // DAY)
    if days < policy.least_days:
        raise EvidenceError(
            f"the history is {format_span(last - first)} long; types of use need {policy.least_days} whole days, and"
            f" {policy.periodic_days} to find a daily pattern"
        )
    grid = _Grid(np.floor(last / step) * step - days * DAY, step, days * DAY // step)
    by_tenant = dict[str, list[ServerHistory]]()
    for server in servers:
        by_tenant.setdefault(server.tenant, []).append(server)
    return _tenants(by_tenant, grid, policy)


class _Grid(NamedTuple):
    start: float
    step: int
    steps: int


def _sampling_step(servers: Sequence[ServerHistory], policy: HarvestPolicy) -> int:
    """The commonest time between two samples."""
    gaps = np.concatenate([np.round(np.diff(s.times)) for s in servers])
    lengths, counts = np.unique(gaps[gaps > 0], return_counts=True)
    if not len(lengths):
        raise EvidenceError("the history has one sample of each server; types of use need days of them")
    step: int = int(lengths[np.argmax(counts)])
    if not policy.shortest_step <= step <= policy.longest_step:
        low, high = format_duration(policy.shortest_step), format_duration(policy.longest_step)
        raise EvidenceError(
            f"the history has a sample every {format_span(step)}; types of use need one every {low} to {high}",
            hint="export it again with a shorter period" if step > policy.longest_step else "export means of a minute",
        )
    return step


def _whole_part_of_a_day(least: int) -> int:
    """The shortest step of at least so many seconds of which a day has a whole number."""
    found: int = next(step for step in range(least, DAY + 1) if DAY % step == 0)
    return found


def _tenants(by_tenant: dict[str, list[ServerHistory]], grid: _Grid, policy: HarvestPolicy) -> TenantHistories:
    names, left_out, with_gaps = list[str](), list[LeftOutTenant](), list[ServerWithGaps]()
    rows: list[NDArray[np.float32]] = []
    held = filled = 0
    longest, nowhere = policy.hold_gaps // grid.step, np.ones(grid.steps, np.bool_)
    for name in sorted(by_tenant):
        found = _mean_of(by_tenant[name], grid, longest)
        use = found.use
        nowhere &= np.isnan(use)
        held += found.held + _hold(use, longest)
        missing = float(np.isnan(use).mean())
        if missing > policy.most_missing:
            left_out.append(LeftOutTenant(name, missing))
            continue
        filled += _fill(use, DAY // grid.step)
        names.append(name)
        rows.append(use.astype(np.float32))
        with_gaps += found.with_gaps
    if not rows:
        raise EvidenceError(
            f"every history lacks more than {policy.most_missing:.0%} of its steps; types of use need the others"
        )
    members = [by_tenant[name] for name in names]
    return TenantHistories(
        tuple(names),
        np.array(rows),
        float(grid.start),
        grid.step,
        np.array([sum(s.servers for s in of) for of in members], np.int64),
        np.array([sum(s.cores for s in of) for of in members], np.float64),
        tuple(left_out),
        held,
        filled,
        tuple(_whole_hours(nowhere, grid)),
        tuple(sorted(with_gaps, key=lambda one: -one.missing)),
    )


class _TenantMean(NamedTuple):
    use: Floats
    held: int
    with_gaps: list[ServerWithGaps]


def _mean_of(servers: Sequence[ServerHistory], grid: _Grid, longest: int) -> _TenantMean:
    """The mean use of some servers by their cores, in each step of those that have a sample there; NaN of none. Where
    there are several, gaps of at most so many steps hold each one's own value before."""
    total, weight = np.zeros(grid.steps), np.zeros(grid.steps)
    held, with_gaps = 0, list[ServerWithGaps]()
    for server in servers:
        at = np.floor((server.times - grid.start) / grid.step).astype(np.int64)
        inside = (at >= 0) & (at < grid.steps)
        counts = np.bincount(at[inside], minlength=grid.steps)
        sums = np.bincount(at[inside], server.use[inside], grid.steps)
        use = np.divide(sums, counts, out=np.full(grid.steps, np.nan), where=counts > 0)
        if len(servers) > 1:
            held += _hold(use, longest)
        there = ~np.isnan(use)
        total[there] += server.cores * use[there]
        weight[there] += server.cores
        if len(servers) > 1 and not there.all():
            with_gaps.append(ServerWithGaps(server.name, server.tenant, 1.0 - float(there.mean())))
    mean: Floats = np.divide(total, weight, out=np.full(grid.steps, np.nan), where=weight > 0)
    return _TenantMean(mean, held, with_gaps)


def _hold(use: Floats, longest: int) -> int:
    """Hold the value before each gap of at most so many steps; how many steps that were."""
    there = np.flatnonzero(~np.isnan(use))
    lengths = np.diff(there) - 1
    short = np.flatnonzero((lengths > 0) & (lengths <= longest))
    for before, length in zip(there[short].tolist(), lengths[short].tolist(), strict=True):
        use[before + 1 : before + 1 + length] = use[before]
    return int(lengths[short].sum())


def _fill(use: Floats, per_day: int) -> int:
    """Fill what is missing with the mean of the same time on other days, else with the mean; how many steps."""
    missing = np.isnan(use)
    if not missing.any():
        return 0
    whole = float(use[~missing].mean())
    days = use.reshape(-1, per_day)
    known = ~np.isnan(days)
    counts = known.sum(axis=0)
    by_time = np.divide(np.where(known, days, 0.0).sum(axis=0), counts, out=np.full(per_day, whole), where=counts > 0)
    use[missing] = np.tile(by_time, len(days))[missing]
    return int(missing.sum())


def _whole_hours(nowhere: NDArray[np.bool_], grid: _Grid) -> list[float]:
    """When an hour of no history at all begins, as where clocks are put forward."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], nowhere.view(np.int8), [0]))))
    return [
        float(grid.start + begin * grid.step)
        for begin, end in edges.reshape(-1, 2).tolist()
        if (end - begin) * grid.step == HOUR
    ]


class Scaling(StrEnum):
    """How use grows: times a factor, up to all of a server; or as a root, which raises low use more than high."""

    LINEAR = "linear"
    ROOT = "root"


def scaled_use(use: NDArray[np.float32], cores: Floats, mean: float, how: Scaling) -> NDArray[np.float32]:
    """The use at which the mean over all cores is as asked, found by bisection."""
    weight = (cores / cores.sum()).astype(np.float32)
    low, high = (0.0, 1e4) if how is Scaling.LINEAR else (1e-3, 1e3)
    for _ in range(40):
        middle = (low + high) / 2 if how is Scaling.LINEAR else float(np.sqrt(low * high))
        if float((weight @ _scaled(use, middle, how)).mean()) < mean:
            low = middle
        else:
            high = middle
    return _scaled(use, high, how)


def _scaled(use: NDArray[np.float32], by: float, how: Scaling) -> NDArray[np.float32]:
    factor = np.float32(by)
    if how is Scaling.LINEAR:
        times: NDArray[np.float32] = np.minimum(use * factor, np.float32(1.0))
        return times
    root: NDArray[np.float32] = use ** (np.float32(1.0) / factor)
    return root
