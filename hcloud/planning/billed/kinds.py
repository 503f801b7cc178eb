"""A bill's usage by kind of machine, each kind with the demand that today's planner plans for."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.flexibility import ratios, sizes_share
from hcloud.errors import did_you_mean
from hcloud.model.bill import Bill, BilledUsage, Service
from hcloud.model.catalog import InstanceType, Provider, PurchaseOption
from hcloud.model.clouds.facts import custom_size
from hcloud.model.workload import Demand, Provenance, Window, WindowRule
from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

Types = Mapping[tuple[Provider, str], InstanceType]
ADDED = "'hcloud pricing import' of a table with vcpus and memory_gib adds it"


@dataclass(frozen=True, slots=True, order=True)
class MachineKind:
    """Machines that share commitments, so that they are planned together. ``label`` is the family, or the type where
    its sizes do not share or are priced apart; ``vcpus`` is the size of that type, 0 for all sizes."""

    provider: Provider
    region: str
    family: str
    label: str
    os: str = "linux"
    tenancy: str = "shared"
    arch: str = "x86_64"
    gpus: bool = False
    vcpus: int = 0

    @property
    def sizes_share(self) -> bool:
        """Whether a reserved instance of another size covers it: else it is of the one type of its label."""
        return sizes_share(self.provider, self.os, self.tenancy, self.family) and custom_size(self.label) is None

    @property
    def name(self) -> str:
        """How users name it: provider, region and label, with system and tenancy where they are not the usual ones."""
        special = [x for x, usual in ((self.os, "linux"), (self.tenancy, "shared")) if x != usual]
        return "/".join((self.provider, self.region, self.label, *special))


@dataclass(frozen=True, slots=True)
class KindUse:
    """What of one kind ran in the hours of a bill: its usage lines (one an account and size), the type that most of the
    hours are of, the vCPUs of each type, and the vCPUs and GiB in use in each hour, spot apart."""

    kind: MachineKind
    usage: tuple[BilledUsage, ...]
    usual: InstanceType
    sizes: Mapping[str, Decimal]
    cores: Floats
    memory: Floats

    @property
    def cost(self) -> Decimal:
        """What was paid for it, commitments amortised."""
        return sum((u.cost for u in self.usage), Decimal(0))

    @property
    def list_cost(self) -> Decimal | None:
        """What it cost at public on-demand prices, as far as the bill says."""
        known = [u.list_cost for u in self.usage if u.list_cost is not None]
        return sum(known, Decimal(0)) if len(known) == len(self.usage) else None

    @property
    def list_rate(self) -> float:
        """Dollars an hour of a vCPU at public on-demand prices, else what was paid for it."""
        return float(self.size) / float(self.cores.sum())

    def recent(self, hours: int) -> float:
        """The mean vCPUs of the last hours of the bill."""
        return float(self.cores[-hours:].mean())

    def covered_vcpu_hours(self, option: PurchaseOption | None = None) -> float:
        """vCPU-hours that an option covered, or all of them did."""
        total = 0.0
        for used in self.usage:
            per_hour = 1.0 if not used.kind.instance_type else float(self.sizes[used.kind.instance_type])
            total += sum(float(h.sum()) for o, h in used.covered.items() if option in (None, o)) * per_hour
        return total

    def covered_cost(self, option: PurchaseOption) -> Decimal:
        """What an option bore of its cost; 0 where the bill does not say it."""
        return sum((used.covered_cost.get(option, Decimal(0)) for used in self.usage), Decimal(0))

    @property
    def size(self) -> Decimal:
        """What it is ranked by: dollars at on-demand prices, else dollars paid."""
        return self.cost if self.list_cost is None else self.list_cost

    def demand(self, bill: Bill, since: int = 0) -> Demand:
        """Its demand from the hour ``since`` of the bill on."""
        start = bill.start.timestamp()
        first, last = start + since * SECONDS_PER_HOUR, start + bill.hours * SECONDS_PER_HOUR
        digest = hashlib.sha256(f"{bill.digest} {self.kind.name} {since}".encode()).hexdigest()
        made = Provenance(f"{bill.name} {self.kind.name.replace('/', ' ')}", bill.format, digest, bill.hours - since)
        window = Window(first, last, start, last, WindowRule.ASKED if since else WindowRule.WHOLE)
        cores, memory = self.cores[since:], self.memory[since:]
        return Demand(first, SECONDS_PER_HOUR, cores, memory, np.zeros(len(cores)), made, window, by_part=True)


@dataclass(frozen=True, slots=True)
class Unplanned:
    """Usage that no plan is made for, what it cost (``covered`` of that under commitments), and why."""

    name: str
    cost: Decimal
    why: str
    covered: Decimal = Decimal(0)


def kinds_of(bill: Bill, types: Types) -> tuple[tuple[KindUse, ...], tuple[Unplanned, ...]]:
    """(the kinds of machines in a bill, those that cost most first; what cannot be planned).

    Sizes of a family are one kind where their prices go by vCPU and their commitments cover all of them (units and GiB
    a vCPU are the same, AWS Linux on shared hardware); else each type is a kind. Accounts share what is bought.
    """
    groups: dict[tuple[MachineKind, tuple[Decimal, Decimal]], list[tuple[BilledUsage, InstanceType]]] = defaultdict(
        list
    )
    left: list[Unplanned] = []
    for used in bill.usage:
        if not used.hours.any() and used.kind.service is Service.INSTANCES:
            continue  # spot alone: nothing is committed to for it
        shape = types.get((used.kind.provider, used.kind.instance_type or _any_of(used, types)))
        if shape is None or used.kind.service is not Service.INSTANCES:
            left.append(_unplanned(used, types))
        else:
            groups[_kind_of(used, shape), ratios(shape)].append((used, shape))
    kinds = [_use_of(kind, members) for (kind, _), members in groups.items()]
    return tuple(sorted(_told_apart(kinds), key=lambda k: (-k.size, k.kind))), tuple(_summed(left))


def _kind_of(used: BilledUsage, shape: InstanceType) -> MachineKind:
    kind = used.kind
    is_custom = custom_size(shape.name) is not None  # priced apart
    shares = sizes_share(kind.provider, kind.os, kind.tenancy, shape.family) and not is_custom
    return MachineKind(
        kind.provider,
        kind.region,
        shape.family,
        shape.family if shares else shape.name,
        kind.os,
        kind.tenancy,
        shape.arch,
        shape.gpus > 0,
        0 if shares else int(shape.vcpus),
    )


def _told_apart(kinds: Iterable[KindUse]) -> Iterator[KindUse]:
    """Kinds of one name get that of their usual type; one that is a single type of its own is planned in its size."""
    by_kind: dict[MachineKind, list[KindUse]] = defaultdict(list)
    for use in kinds:
        by_kind[use.kind].append(use)
    for kind, same in by_kind.items():
        for use in same:
            single = len({u.kind.instance_type for u in use.usage}) == 1
            size = int(use.usual.vcpus) if single and not kind.vcpus else kind.vcpus
            yield use if len(same) == 1 else replace(use, kind=replace(kind, label=use.usual.name, vcpus=size))


def _use_of(kind: MachineKind, members: list[tuple[BilledUsage, InstanceType]]) -> KindUse:
    cores = sum((_vcpus_in_use(used, shape) for used, shape in members), np.zeros(1))
    memory = sum((_gib_in_use(used, shape) for used, shape in members), np.zeros(1))
    hours: dict[InstanceType, float] = defaultdict(float)
    for used, shape in members:
        hours[shape] += float(_vcpus_in_use(used, shape).sum())
    usual = max(hours, key=lambda shape: (hours[shape], shape.name))
    sizes = {shape.name: shape.vcpus for _, shape in members}
    return KindUse(kind, tuple(used for used, _ in members), usual, sizes, cores, memory)


def _vcpus_in_use(used: BilledUsage, shape: InstanceType) -> Floats:
    return used.hours * float(shape.vcpus) if used.kind.instance_type else used.hours


def _gib_in_use(used: BilledUsage, shape: InstanceType) -> Floats:
    if not used.kind.instance_type and used.memory is not None:
        return used.memory
    return _vcpus_in_use(used, shape) * float(shape.memory_gib / shape.vcpus)


def _any_of(used: BilledUsage, types: Types) -> str:
    """Of a family whose vCPUs and GiB are counted apart, the smallest type with about as many GiB a vCPU."""
    sizes = [t for (p, _), t in types.items() if p == used.kind.provider and t.family == used.kind.family]
    if not sizes:
        return ""
    hours, gib = float(used.hours.sum()), 0.0 if used.memory is None else float(used.memory.sum())
    return min(sizes, key=lambda t: (abs(float(t.memory_gib / t.vcpus) - gib / hours), t.vcpus, t.name)).name


def _unplanned(used: BilledUsage, types: Types) -> Unplanned:
    kind = used.kind
    if kind.service is not Service.INSTANCES:
        name, covered = f"{kind.provider}/{kind.region}/{kind.service}", sum(used.covered_cost.values(), Decimal(0))
        return Unplanned(name, used.cost, "only machines are planned for; compute savings plans cover it, too", covered)
    if not any(provider == kind.provider for provider, _ in types):
        why = "the price book has no prices of this region; 'hcloud pricing refresh' fetches them"
        return Unplanned(f"{kind.provider}/{kind.region}", used.cost, why)
    what = kind.instance_type or kind.family or "machines without a type"
    of_family = (t.name for (p, _), t in types.items() if p == kind.provider and t.family == kind.family)
    known = f"the price book knows no type {what}"
    known += ("-custom-" not in what and did_you_mean(kind.instance_type, of_family)) or f"; {ADDED}"
    why = known if kind.instance_type or kind.family else "the bill names no type"
    return Unplanned(f"{kind.provider}/{kind.region}/{what}", used.cost, why)


def _summed(left: Iterable[Unplanned]) -> Iterator[Unplanned]:
    sums: dict[tuple[str, str], Unplanned] = {}
    for one in left:
        same = sums.get((one.name, one.why), Unplanned(one.name, Decimal(0), one.why))
        sums[one.name, one.why] = replace(same, cost=same.cost + one.cost, covered=same.covered + one.covered)
    yield from sorted(sums.values(), key=lambda one: (-one.cost, one.name, one.why))
