"""How much of which servers an application's target takes, by what is known of the application (Quasar §3.3).

What one server does is taken from the rows of classification: the performance measured or predicted on the whole of
its type, scaled down to a part of it as the application scales up, less where neighbours press. What several do
together is their sum times the efficiency of scaling out. The walk itself is :mod:`hcloud.policy.sizes.allocation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hcloud.errors import EvidenceError
from hcloud.model.target import GoalKind, JobTarget, TargetedSize
from hcloud.planning.forecasting.needs import HIGHEST, ApplicationNeed, RateSpan, SizePoint
from hcloud.policy.records import Ints, Reals
from hcloud.policy.sizes.allocation import Allocation, Choices, allocate, by_quality, efficiency_of
from hcloud.units import some_of

MOST_SERVERS = 10_000
"""Servers that one application may be given (ours)."""
MOST_BESIDE = 100
"""Servers that a running service may have."""
MEMORY_WEIGHT = 1e-6
"""vCPUs that a GiB counts as, so that of sizes with equal vCPUs that with less memory is taken."""
_SAME = 1e-9
_LEAST = 1e-9
"""A rate that is none, and whose inverse is without bounds."""
RUNS = "runs/s"
"""What is counted where a profile has the time of a run."""


class ServerShare(NamedTuple):
    """vCPUs and GiB; 0 GiB: memory was not limited where it was measured."""

    vcpus: float
    gib: float

    def fits(self, room: ServerShare) -> bool:
        """Whether a server with so much room has it."""
        return self.vcpus <= room.vcpus + _SAME and self.gib <= room.gib + _SAME


@dataclass(frozen=True, slots=True)
class FreeServer:
    """A server that is there: its type, the whole of it and what is free; what its tenants press with and what they
    still tolerate by resource (points of the whole server), where that is known."""

    name: str
    type: str
    whole: ServerShare
    free: ServerShare
    pressure: tuple[float, ...] | None = None
    room: tuple[float, ...] | None = None


class SizedServer(NamedTuple):
    """One server of an answer: which (a rented one has the name of its type), the part of it that is taken, what it
    does alone, what it adds to those before it and what they do together then, by seconds."""

    name: str
    type: str
    part: ServerShare
    alone: float
    adds: float
    total: float


@dataclass(frozen=True, slots=True)
class SizedAnswer:
    """Servers that meet a target, or come as close to it as can be."""

    servers: tuple[SizedServer, ...]
    reached: float
    met: bool

    @property
    def vcpus(self) -> float:
        """The vCPUs taken."""
        return sum(server.part.vcpus for server in self.servers)


@dataclass(frozen=True, slots=True)
class SizedTarget:
    """What a target takes: the cheapest answer, that of the walk by quality, what has to be reached (of the
    application's own measure, a second), why types were left out, and on how many servers at most it is known how the
    application scales out (0: any number)."""

    needed: float
    cheapest: SizedAnswer
    by_quality: SizedAnswer
    left_out: Mapping[str, str] = field(default_factory=dict)
    scaled_to: int = 0

    @property
    def is_cut(self) -> bool:
        """Whether more servers might reach the target, were it known how the application scales out on them."""
        return not self.cheapest.met and len(self.cheapest.servers) == self.scaled_to


@dataclass(frozen=True, slots=True)
class SizingMarket:
    """Where servers are rented: the cloud and region, dollars an hour by type, and the day of the oldest price."""

    place: str
    hourly: Mapping[str, Decimal]
    priced: date


@dataclass(frozen=True, slots=True)
class SizedApp:
    """An application's target with what it takes (None for best effort), what the profile counts in, where servers are
    rented (None: they are there), and what that rests on."""

    name: str
    target: JobTarget
    unit: str
    sized: SizedTarget | None
    market: SizingMarket | None
    basis: str
    spans: Mapping[str, RateSpan] = field(default_factory=dict)
    node_spans: Mapping[int, RateSpan] = field(default_factory=dict)

    @property
    def unsure(self) -> tuple[str, ...]:
        """The types of the answer whose performance is known as an interval."""
        servers = () if self.sized is None else self.sized.cheapest.servers
        types = dict.fromkeys(server.type for server in servers)
        return tuple(t for t in types if t in self.spans and self.spans[t].low < self.spans[t].high)

    @property
    def least_reached(self) -> float:
        """What the answer's servers do together where each type, and scaling out, is at the low end of its interval."""
        assert self.sized is not None
        servers = self.sized.cheapest.servers
        shares = {t: self.spans[t].low / self.spans[t].value for t in self.unsure}
        least = sum(server.alone * shares.get(server.type, 1.0) for server in servers)
        scaled = self.scaling.low / self.scaling.value
        return self.sized.cheapest.reached * scaled * least / sum(server.alone for server in servers)

    @property
    def scaling(self) -> RateSpan:
        """The share of what the answer's servers do alone that they do together, as sure as scaling out is known; what
        is stated as linear has no interval."""
        assert self.sized is not None
        answer = self.sized.cheapest
        count, share = len(answer.servers), answer.reached / sum(server.alone for server in answer.servers)
        if self.target.linear or count < 2 or 1 not in self.node_spans:
            return RateSpan(share, share, share, measured=False)
        low, value, high = _logarithms(self.node_spans, count)
        least, one, most = _logarithms(self.node_spans, 1)
        ends = np.exp([-np.hypot(value - low, most - one), np.hypot(high - value, one - least)]) * share
        measured = count in self.node_spans and self.node_spans[count].measured
        return RateSpan(share, float(ends[0]), min(float(ends[1]), 1.0), measured)

    @property
    def counts_runs(self) -> bool:
        """Whether the profile counts the time of a run."""
        return self.unit == RUNS

    def hourly(self, answer: SizedAnswer) -> Decimal | None:
        """Dollars an hour of an answer; None where its servers are there already."""
        if self.market is None:
            return None
        return sum((self.market.hourly[server.type] for server in answer.servers), Decimal(0))


def _logarithms(spans: Mapping[int, RateSpan], count: int) -> Iterator[float]:
    """What so many servers do at least, probably and at most, between the numbers of servers that are known."""
    known = sorted(spans)
    ends = np.array([(spans[n].low, spans[n].value, spans[n].high) for n in known])
    logs = np.log(np.clip(ends, _LEAST, 1 / _LEAST))
    return (float(np.interp(np.log(count), np.log(known), column)) for column in logs.T)


class _Offered(NamedTuple):
    """What may be taken, with what its rows and sizes are called."""

    choices: Choices
    names: Sequence[str]
    types: Sequence[Sequence[str]]
    parts: Sequence[ServerShare]


def size_anywhere(target: JobTarget, need: ApplicationNeed) -> TargetedSize | None:
    """What a target takes where all servers are as fast as the one the application was measured on: the fewest vCPUs,
    of sizes it was classified at; None where there is none. Raises EvidenceError with the measurement that is missing.
    """
    if not need.sizes:
        return None
    _check_rate(target, need)
    here = replace(need, types={})
    sizes = [ServerShare(p.vcpus, p.gib) for p in need.sizes]
    if target.kind is GoalKind.NONE:
        return TargetedSize(target, (min(sizes),))
    order = sorted(range(len(sizes)), key=lambda at: (sizes[at], at))
    efficiency = _efficiency(target, here, MOST_SERVERS)
    performance = np.array([[need.sizes[at].performance for at in order]])
    sizes = [sizes[at] for at in order]
    cost = np.array([size.vcpus + MEMORY_WEIGHT * size.gib for size in sizes])
    choices = Choices(np.array([len(efficiency)]), performance, cost, efficiency)
    found = _sized(target, here, _Offered(choices, [need.app], [[""]], sizes), {})
    answer = found.cheapest
    parts = tuple(server.part for server in answer.servers)
    is_measured = not target.linear and len(need.nodes) > 1 and len(efficiency) > 1
    beside = _beside(efficiency, len(parts)) if is_measured else ()
    whole = in_whole_runs(target, answer) if here.by_runs else None
    return TargetedSize(target, parts, answer.reached / found.needed, beside, whole)


def in_whole_runs(target: JobTarget, answer: SizedAnswer) -> float | None:
    """The work that the servers of an answer do by a deadline in runs that none of them shares, where that is less than
    is wanted; None where it is not, or no runs are added up."""
    if target.kind is not GoalKind.DEADLINE or not target.linear or not answer.met:
        return None
    done = target.per_run * sum(int(server.alone * target.limit + _SAME) for server in answer.servers)
    return done if done < target.amount else None


def _beside(efficiency: Reals, servers: int) -> tuple[float, ...]:
    """The efficiency of so many servers, and of more, over that of so many. Beyond those that are known of, none does
    anything more."""
    counts = servers + np.arange(MOST_BESIDE)
    known = np.minimum(counts, len(efficiency))
    shares = efficiency[known - 1] * known / counts
    return tuple((shares / shares[0]).tolist())


def needed_rate(target: JobTarget, need: ApplicationNeed) -> float:
    """What has to be done a second in the measure of the profile; servers keep a share of their throughput within a
    tail, which counts as so much more to be done."""
    if target.kind is GoalKind.RATE:
        return target.amount * best_rate(need)
    return target.rate / target.per_run / target.kept_share


def best_rate(need: ApplicationNeed) -> float:
    """The best that one server does, of all types known."""
    return max((*need.types.values(), *(p.performance for p in need.sizes if not need.types)), default=0.0)


def size_rented(
    target: JobTarget, need: ApplicationNeed, wholes: Mapping[str, ServerShare], hourly: Mapping[str, float]
) -> SizedTarget:
    """What a target takes of types that any number of can be rented of, at dollars an hour. Raises EvidenceError with
    the measurement that is missing."""
    known = [name for name in wholes if name in need.types]
    left_out = {name: "its performance is not known" for name in wholes if name not in need.types}
    _check_rate(target, need)
    _check_types(need, wholes)
    ordered = sorted(known, key=lambda name: (hourly[name], name))
    efficiency = _efficiency(target, need, MOST_SERVERS)
    performance = np.array([[need.types[name] for name in ordered]])
    cost = np.array([hourly[name] for name in ordered])
    choices = Choices(np.array([len(efficiency)]), performance, cost, efficiency)
    parts = [wholes[name] for name in ordered]
    return _sized(target, need, _Offered(choices, [""], [ordered], parts), left_out)


def size_free(
    target: JobTarget, need: ApplicationNeed, servers: Sequence[FreeServer], sensitivity: float
) -> SizedTarget:
    """What a target takes of servers that are there, in vCPUs; ``sensitivity`` is how much a point of pressure too much
    slows the application down. Raises EvidenceError with the measurement that is missing."""
    wholes = {server.type: server.whole for server in servers}
    left_out = {name: "its performance is not known" for name in wholes if name not in need.types}
    _check_rate(target, need)
    _check_types(need, wholes)
    parts = sorted(
        {*(ServerShare(p.vcpus, p.gib) for p in need.sizes), *(wholes[t] for t in wholes if t in need.types)},
    )
    by_type = {name: np.array([part_rate(need, name, whole, p) for p in parts]) for name, whole in wholes.items()}
    names = list(by_type)
    code = np.array([names.index(s.type) for s in servers])
    performance = np.array(list(by_type.values()))[code]
    room = np.array([s.free for s in servers])
    size = np.array(parts)
    performance *= (size[None, :, :] <= room[:, None, :] + _SAME).all(axis=2)
    if any(s.pressure is not None or s.room is not None for s in servers):
        performance *= _undisturbed(need, servers, size, sensitivity)
    cost = size[:, 0] + MEMORY_WEIGHT * size[:, 1]
    efficiency = _efficiency(target, need, min(len(servers), MOST_SERVERS))
    choices = Choices(np.ones(len(servers), np.int64), performance, cost, efficiency)
    offered = _Offered(choices, [s.name for s in servers], [[s.type] for s in servers], parts)
    return _sized(target, need, offered, left_out)


def part_rate(need: ApplicationNeed, name: str, whole: ServerShare, part: ServerShare) -> float:
    """What a part of a server does: the whole as its type is known, less as the application is slower on the part; 0
    where that is not known or the part is larger than the whole."""
    if name not in need.types or not part.fits(whole):
        return 0.0
    if abs(part.vcpus - whole.vcpus) < _SAME and part.gib >= whole.gib - _SAME:
        return need.types[name]
    all_of_it = _point([p for p in need.sizes if abs(p.vcpus - whole.vcpus) < _SAME and p.gib <= whole.gib])
    taken = _point([p for p in need.sizes if ServerShare(p.vcpus, p.gib) == part])
    return 0.0 if all_of_it is None or taken is None else need.types[name] * min(taken / all_of_it, 1.0)


def _point(points: Sequence[SizePoint]) -> float | None:
    return max((p.performance for p in points), default=None)


def _check_rate(target: JobTarget, need: ApplicationNeed) -> None:
    """EvidenceError where what was measured does not say how much is done a second."""
    if need.no_rate and target.kind is not GoalKind.NONE:
        raise EvidenceError(
            f"{need.app} was measured by its {need.no_rate}, which does not say how much it does a second",
            hint="measure what it does a second under full load ('of: throughput' with a url, or 'better: higher'), or"
            " write the unit of a batch job's time as s, ms, min or h",
        )


def _check_types(need: ApplicationNeed, wholes: Mapping[str, ServerShare]) -> None:
    """EvidenceError where nothing is known of the application on any type at hand."""
    if any(name in need.types for name in wholes):
        return
    smallest = min(wholes, key=lambda name: (wholes[name].vcpus, name), default="TYPE")
    at_hand = some_of(sorted(wholes), 5)
    known = f"it is known on {', '.join(sorted(need.types)[:5])}" if need.types else "it is known on none"
    raise EvidenceError(
        f"how fast {need.app} is on the types at hand is not known ({at_hand}; {known})",
        hint=f"measure it on one of them, and give --observed types.{smallest}=NUMBER",
    )


def _efficiency(target: JobTarget, need: ApplicationNeed, most: int) -> Reals:
    """The efficiency of 1, 2, 3 ... servers: stated as linear, or as the application scales out; of one server where
    nothing is known."""
    most = min(most, target.most_servers or most)
    if target.linear:
        return np.ones(most)
    known = sorted(need.nodes)
    if not known or known[0] != 1:
        return np.ones(1)
    counts = np.arange(1, min(known[-1], most) + 1)
    done = np.exp(np.interp(np.log(counts), np.log(known), np.log([need.nodes[n] for n in known])))
    return efficiency_of(done)


def _undisturbed(
    need: ApplicationNeed, servers: Sequence[FreeServer], sizes: NDArray[np.float64], sensitivity: float
) -> NDArray[np.float64]:
    """[server, size]: the share of its performance that the application keeps beside the tenants of each server, who
    must not suffer either: 1 unless somebody is pressed by more than he tolerates (classified rows, Quasar §3.3)."""
    if need.vector is None:
        raise EvidenceError(
            f"the servers have neighbours, and what {need.app} tolerates and causes is not known",
            hint="'hcloud profile run' measures it; or leave the columns of pressure and room out",
        )
    vector = np.array(need.vector, np.float64)
    pressure = np.array([s.pressure or (0.0,) * len(vector) for s in servers])
    room = np.array([s.room or (100.0,) * len(vector) for s in servers])
    suffered = np.maximum(pressure - (HIGHEST - vector), 0.0).sum(axis=1)
    share = np.minimum(sizes[None, :, 0] / np.array([s.whole.vcpus for s in servers])[:, None], 1.0)
    caused = np.maximum(vector * share[:, :, None] - room[:, None, :], 0.0).sum(axis=2)
    kept: NDArray[np.float64] = 1.0 / (1.0 + sensitivity * (suffered[:, None] + caused) / 100.0)
    return kept


def _sized(target: JobTarget, need: ApplicationNeed, offered: _Offered, left_out: Mapping[str, str]) -> SizedTarget:
    """Both answers; EvidenceError where more servers might do and how the application scales out is not known."""
    wanted = needed_rate(target, need)
    found = [_answer(size(offered.choices, wanted), offered) for size in (allocate, by_quality)]
    several = target.most_servers is None
    if not found[0].met and several and not target.linear and 1 not in need.nodes:
        raise EvidenceError(
            f"one server does at most {found[0].reached:,.4g} of {wanted:,.4g} a second, and how {need.app} scales out"
            " is not known",
            hint="measure it on 1 and on 4 servers (scale_out of its profile, or --observed scale_out.1=NUMBER and"
            " scale_out.4=NUMBER), or state scale_out: linear in the target",
        )
    scaled_to = max(need.nodes, default=0) if several and not target.linear else 0
    return SizedTarget(wanted, found[0], found[1], left_out, scaled_to)


def _answer(found: Allocation, offered: _Offered) -> SizedAnswer:
    return SizedAnswer(tuple(_steps(found, offered)), found.reached, found.met)


def _steps(found: Allocation, offered: _Offered) -> Iterator[SizedServer]:
    """The servers of an answer one after the other, the best first, with what each adds."""
    choices, done, total = offered.choices, 0.0, 0.0
    rows: Ints = found.rows
    for place, (row, size) in enumerate(zip(rows.tolist(), found.sizes.tolist(), strict=True)):
        alone = float(choices.performance[row, size])
        done += alone
        now = done * float(choices.efficiency[place])
        types = offered.types[row]
        kind = types[size] if len(types) > 1 or not offered.names[row] else types[0]
        yield SizedServer(offered.names[row] or kind, kind, offered.parts[size], alone, now - total, now)
        total = now
