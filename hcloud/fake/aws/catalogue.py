"""What the fake tells about its types, zones and prices."""

from __future__ import annotations

from hcloud.fake.aws.world import Ask, DenialError, Wire, by_column
from hcloud.model.catalog import InstanceType

OFFERINGS_PAGE = 1000
TYPES_PAGE = 100


def describe_instance_type_offerings(ask: Ask) -> Wire:
    """Which type is offered in which zone (or the region, where zones are not asked for)."""
    by_zone = ask.wire.get("LocationType") == "availability-zone"
    places = ask.world.shop.zones(ask.region) if by_zone else (ask.region,)
    rows: list[Wire] = [
        {"InstanceType": t.name, "LocationType": ask.wire.get("LocationType", "region"), "Location": place}
        for t in ask.world.shop.types_of(ask.region)
        for place in places
    ]
    page, token = ask.page(ask.filtered(rows, by_column({"instance-type": "InstanceType", "location": "Location"})))
    return {"InstanceTypeOfferings": page, "NextToken": token}


def describe_instance_types(ask: Ask) -> Wire:
    """Shapes of types."""
    known = {t.name: t for t in ask.world.shop.types_of(ask.region)}
    wanted = [str(n) for n in ask.wire.get("InstanceTypes", [])]
    unknown = [n for n in wanted if n not in known]
    if unknown:
        raise DenialError(
            "InvalidInstanceType", f"The following supplied instance types do not exist: [{', '.join(unknown)}]"
        )
    page, token = ask.page([_shape(known[n]) for n in wanted or known], TYPES_PAGE)
    return {"InstanceTypes": page, "NextToken": token}


def _shape(kind: InstanceType) -> Wire:
    return {
        "InstanceType": kind.name,
        "CurrentGeneration": kind.current,
        "SupportedUsageClasses": ["on-demand", "spot"],
        "VCpuInfo": {"DefaultVCpus": int(kind.vcpus), "DefaultCores": max(int(kind.vcpus) // 2, 1)},
        "MemoryInfo": {"SizeInMiB": int(kind.memory_gib * 1024)},
        "ProcessorInfo": {"SupportedArchitectures": [kind.arch]},
    }


def describe_availability_zones(ask: Ask) -> Wire:
    """The zones of the region."""
    rows = [
        {"ZoneName": zone, "RegionName": ask.region, "State": "available", "ZoneType": "availability-zone"}
        for zone in ask.world.shop.zones(ask.region)
    ]
    return {"AvailabilityZones": rows}
