"""What the project may use at most, and whether an order still fits."""

from __future__ import annotations

from collections.abc import Iterable

from hcloud.fake.gcp.catalog import FAMILIES, FAMILY_QUOTA, USUAL_QUOTAS, GcpMachineType, region_of
from hcloud.fake.gcp.operations import OperationFault
from hcloud.fake.gcp.world import GcpWorld
from hcloud.fake.ledger import Rented

ALL_REGIONS = "CPUS_ALL_REGIONS"
SPOT = "PREEMPTIBLE_CPUS"


def limit(world: GcpWorld, metric: str) -> int:
    """A quota's limit: the fault plan's, or more than anybody needs."""
    return world.faults.plan.quotas.get(metric, USUAL_QUOTAS.get(metric, FAMILY_QUOTA))


def regional(world: GcpWorld, region: str) -> list[dict[str, object]]:
    """The quotas of a region as Google lists them."""
    families = sorted({f"{f.upper()}_CPUS" for f in FAMILIES if f not in ("e2", "n1")})
    there = [m for m in world.standing() if region_of(m.zone) == region]
    return [
        {"metric": m, "limit": float(limit(world, m)), "usage": float(_used(world, there, m))}
        for m in ("INSTANCES", "CPUS", SPOT, *families)
    ]


def everywhere(world: GcpWorld) -> list[dict[str, object]]:
    """The quotas of the project."""
    used = _used(world, world.standing(), ALL_REGIONS)
    return [{"metric": ALL_REGIONS, "limit": float(limit(world, ALL_REGIONS)), "usage": float(used)}]


def exceeded(world: GcpWorld, zone: str, shape: GcpMachineType, count: int, spot: bool) -> OperationFault | None:
    """How an order ends that does not fit; None for one that does."""
    region = region_of(zone)
    there = [m for m in world.standing() if region_of(m.zone) == region]
    for metric, need in _needs(world, shape, spot).items():
        counted = world.standing() if metric == ALL_REGIONS else there
        if _used(world, counted, metric) + need * count > limit(world, metric):
            return _ending(metric, limit(world, metric), "globally" if metric == ALL_REGIONS else f"in region {region}")
    return None


def _needs(world: GcpWorld, shape: GcpMachineType, spot: bool) -> dict[str, int]:
    """What one machine counts against. Spot machines have a quota of their own where the plan gives one."""
    cpus = SPOT if spot and SPOT in world.faults.plan.quotas else shape.cpu_quota
    return {"INSTANCES": 1, cpus: shape.vcpus, ALL_REGIONS: shape.vcpus}


def _used(world: GcpWorld, machines: Iterable[Rented], metric: str) -> int:
    shapes = world.place.shapes
    known = [(shapes[m.instance_type], m.spot) for m in machines if m.instance_type in shapes]
    return sum(_needs(world, shape, spot).get(metric, 0) for shape, spot in known)


def _ending(metric: str, most: int, where: str) -> OperationFault:
    info = {"metricName": f"compute.googleapis.com/{metric.lower()}", "limitName": metric, "limit": float(most)}
    error = {
        "code": "QUOTA_EXCEEDED",
        "message": f"Quota '{metric}' exceeded. Limit: {most:.1f} {where}.",
        "errorDetails": [{"quotaInfo": info}],
    }
    return OperationFault((error,), 403)
