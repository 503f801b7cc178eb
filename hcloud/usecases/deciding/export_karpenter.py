"""``hcloud export karpenter``: what a plan buys and rents, as objects that Karpenter obeys in a Kubernetes cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal

from hcloud.errors import UsageError
from hcloud.model.catalog import PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.plans.held import begun_later, held_now, said_days
from hcloud.model.plans.plan import MixLine, Plan
from hcloud.units import counted, plain

Object = Mapping[str, object]

NODE_CLASSES = {cloud.name: cloud.karpenter for cloud in CLOUDS.values() if cloud.karpenter is not None}
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_FIRST, _LAST_RESERVED, _SPOT, _ON_DEMAND = 100, 51, 50, 10  # ours: weights, of which Karpenter takes 1 to 100
_TYPE, _CAPACITY, _POOL = "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type", "karpenter.sh/nodepool"


@dataclass(frozen=True, slots=True)
class TypeCapacity:
    """So many machines of one type and operating system, with what they have together."""

    instance_type: str
    machines: int
    vcpus: Decimal
    memory_gib: Decimal
    system: str = "linux"


def karpenter(plan: Plan, node_class: str = "default", region: str | None = None) -> tuple[Object, ...]:
    """A NodePool for each type of the reserve, by number, before one for spot and one for on demand; and a NodeOverlay
    by which what is reserved costs nothing more. The reserve is what is owned or bought now: what begins later is not
    paid for yet. UsageError where the plan has nothing for Karpenter."""
    if not _NAME.fullmatch(node_class):
        allowed = "lower-case letters, digits, - and . between them"
        raise UsageError(f"--node-class {node_class!r}: no name of an object in Kubernetes", hint=allowed)
    lines = held_now(_lines(plan, region))
    group, kind = NODE_CLASSES[lines[0].provider]
    reference = {"group": group, "kind": kind, "name": node_class}
    reserve = _reserve(line for line in lines if line.option.is_commitment)
    pools = [_reserved_pool(reserve, number, reference) for number in range(len(reserve))]
    names = [_name(pool) for pool in pools]
    for option, weight in ((PurchaseOption.SPOT, _SPOT), (PurchaseOption.ON_DEMAND, _ON_DEMAND)):
        for system in sorted({_system(line) for line in lines if line.option is option}):
            rented = [_machines(line, line.peak) for line in lines if (line.option, _system(line)) == (option, system)]
            pools.append(_rented_pool(rented, option, weight, reference, _retention(plan)))
    return (*pools, *([_overlay(names)] if names else []))


def left_out(plan: Plan, region: str | None = None) -> Iterator[str]:
    """What of the plan is not among the objects: what is of other clouds, and what it buys on later days."""
    if elsewhere := sorted({line.provider for line in plan.mix if line.provider not in NODE_CLASSES}):
        yield f"what the plan has in {' and '.join(elsewhere)} is not among the pools"
    if later := begun_later(_lines(plan, region)):
        count, days = counted(len(later), "later purchase"), said_days(later)
        yield f"{count} of the plan, on {days}, not among the pools: plan and export again then"


def _lines(plan: Plan, region: str | None) -> list[MixLine]:
    """The lines of the one cluster's region."""
    clouds = sorted({line.provider for line in plan.mix})
    able = [line for line in plan.mix if line.provider in NODE_CLASSES and not line.covers_nothing]
    if not able:
        known = " and ".join(sorted(NODE_CLASSES))
        raise UsageError(f"the plan is for {', '.join(clouds) or 'no cloud'}; Karpenter pools are written for {known}")
    regions = sorted({line.region for line in able})
    if region is None and len(regions) > 1:
        raise UsageError(
            f"the plan is for {', '.join(regions)}; a cluster is in one region", hint="choose with --region"
        )
    found = [line for line in able if region is None or line.region == region]
    if not found:
        raise UsageError(f"the plan has nothing in {region}", hint=f"it is for {', '.join(regions)}")
    return found


def _reserve(lines: Iterable[MixLine]) -> list[TypeCapacity]:
    """The whole machines that are committed to by type, most vCPUs first."""
    by_type: dict[tuple[str, str], list[MixLine]] = {}
    for line in lines:
        by_type.setdefault((line.instance_type, _system(line)), []).append(line)
    found = [_whole(same) for same in by_type.values()]
    return sorted((c for c in found if c.machines), key=lambda c: (-c.vcpus, c.instance_type, c.system))


def _system(line: MixLine) -> str:
    """What Kubernetes calls the operating system of a line's machines."""
    return "windows" if line.key.os == "windows" else "linux"


def _whole(lines: Sequence[MixLine]) -> TypeCapacity:
    count = sum((line.count for line in lines), Decimal(0))
    return _machines(max(lines, key=lambda line: line.count), int(count.to_integral_value(ROUND_DOWN)))


def _machines(line: MixLine, number: int) -> TypeCapacity:
    """So many machines of a line's type. The line says what its mean number has, in rounded figures: one machine has
    whole vCPUs and quarters of a GiB."""
    if not line.count:
        return TypeCapacity(line.instance_type, 0, Decimal(0), Decimal(0), _system(line))
    vcpus = (line.vcpus / line.count).to_integral_value()
    memory = (4 * line.memory_gib / line.count).to_integral_value() / 4
    return TypeCapacity(line.instance_type, number, max(vcpus, Decimal(1)) * number, memory * number, _system(line))


def _reserved_pool(reserve: Sequence[TypeCapacity], number: int, node_class: Object) -> Object:
    capacity = reserve[number]
    weight = max(_FIRST - number, _LAST_RESERVED)
    disruption = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}  # ending what is paid saves nothing
    return _pool(f"hcloud-reserved-{capacity.instance_type}", weight, [capacity], node_class, disruption=disruption)


def _rented_pool(
    rented: Sequence[TypeCapacity], option: PurchaseOption, weight: int, node_class: Object, retention: int | None
) -> Object:
    idle = None if retention is None else {"consolidateAfter": f"{retention}s"}
    capacity = "spot" if option is PurchaseOption.SPOT else "on-demand"
    return _pool(f"hcloud-{capacity}", weight, rented, node_class, capacity, idle)


def _retention(plan: Plan) -> int | None:
    """How long the plan's strategy keeps an idle machine."""
    seconds = plan.operation.retention_seconds if plan.operation is not None else None
    return None if seconds is None else round(seconds)


def _name(pool: Object) -> str:
    metadata = pool["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["name"])


def _pool(  # noqa: PLR0913
    name: str,
    weight: int,
    capacities: Sequence[TypeCapacity],
    node_class: Object,
    capacity_type: str = "on-demand",
    disruption: Object | None = None,
) -> Object:
    types, system = sorted({c.instance_type for c in capacities}), capacities[0].system
    requirements = [_in(_TYPE, types), _in(_CAPACITY, [capacity_type]), _in("kubernetes.io/os", [system])]
    name = name if system == "linux" else f"{name}-{system}"
    limits = {
        "cpu": plain(sum((c.vcpus for c in capacities), Decimal(0))),
        "memory": f"{plain(1024 * sum((c.memory_gib for c in capacities), Decimal(0)))}Mi",
    }
    spec: dict[str, object] = {
        "weight": weight,
        "limits": limits,
        "template": {"spec": {"nodeClassRef": node_class, "requirements": requirements}},
    }
    if disruption is not None:
        spec["disruption"] = disruption
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": label}, "spec": spec}


def _overlay(pools: Sequence[str]) -> Object:
    """What is paid for whether it runs or not costs nothing more."""
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "hcloud-reserved"},
        "spec": {"weight": 100, "requirements": [_in(_POOL, pools)], "price": "0"},
    }


def _in(key: str, values: Sequence[str]) -> Object:
    return {"key": key, "operator": "In", "values": list(values)}
