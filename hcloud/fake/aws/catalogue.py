"""What the fake tells about its types, zones and prices."""

from __future__ import annotations

import json

from hcloud.fake.aws.shop import offering_id
from hcloud.fake.aws.world import Ask, DenialError, Wire, by_column, moment
from hcloud.model.catalog import InstanceType, Offer, PurchaseOption

OFFERINGS_PAGE = 1000
TYPES_PAGE = 100
PRICES_PAGE = 100


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


def describe_spot_price_history(ask: Ask) -> Wire:
    """One price now for each type and zone."""
    wanted = ask.wire.get("InstanceTypes")
    rows = [
        {
            "InstanceType": t.name,
            "AvailabilityZone": zone,
            "ProductDescription": "Linux/UNIX",
            "SpotPrice": f"{ask.world.price(ask.world.shop.hourly(ask.region, t.name, spot=True)):.6f}",
            "Timestamp": moment(ask.now),
        }
        for t in ask.world.shop.types_of(ask.region)
        for zone in ask.world.shop.zones(ask.region)
        if not wanted or t.name in wanted
    ]
    page, token = ask.page(rows, OFFERINGS_PAGE)
    return {"SpotPriceHistory": page, "NextToken": token or ""}


def get_products(ask: Ask) -> Wire:
    """The price list of EC2 as the price list service words it, by exact filters."""
    if ask.wire.get("ServiceCode") != "AmazonEC2":
        raise DenialError("NotFoundException", "This fake has the prices of AmazonEC2 only")
    wanted = {str(f["Field"]): str(f["Value"]) for f in ask.wire.get("Filters", [])}
    region = wanted.get("regionCode", ask.region)
    rows = []
    for kind in ask.world.shop.types_of(region):
        attributes = _attributes(kind, region)
        if all(attributes.get(k, "").lower() == v.lower() for k, v in wanted.items()):
            rows.append(json.dumps(_product(ask, kind, attributes)))
    page, token = ask.page(rows, PRICES_PAGE)
    return {"FormatVersion": "aws_v1", "PriceList": page, **({"NextToken": token} if token else {})}


def _attributes(kind: InstanceType, region: str) -> dict[str, str]:
    return {
        "instanceType": kind.name,
        "regionCode": region,
        "vcpu": f"{kind.vcpus:f}",
        "memory": f"{kind.memory_gib:f} GiB",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "productFamily": "Compute Instance",
    }


def _product(ask: Ask, kind: InstanceType, attributes: dict[str, str]) -> Wire:
    offers = [o for o in ask.world.shop.sold(attributes["regionCode"]) if o.key.instance_type == kind.name]
    terms: dict[str, Wire] = {"OnDemand": {}, "Reserved": {}}
    for offer in offers:
        if offer.key.option is PurchaseOption.ON_DEMAND or offer.key.term_years:
            group = "Reserved" if offer.key.term_years else "OnDemand"
            terms[group][offering_id(offer)] = _term(ask, offer)
    family = attributes["productFamily"]
    return {
        "product": {"sku": offering_id(offers[0]), "productFamily": family, "attributes": attributes},
        "terms": terms,
    }


def _term(ask: Ask, offer: Offer) -> Wire:
    charges = {"Hrs": offer.hourly, "Quantity": offer.upfront} if offer.key.term_years else {"Hrs": offer.hourly}
    told = {
        unit: {"unit": unit, "pricePerUnit": {"USD": f"{ask.world.price(amount):.10f}"}}
        for unit, amount in charges.items()
    }
    length = {"LeaseContractLength": f"{offer.key.term_years}yr"} if offer.key.term_years else {}
    return {"priceDimensions": told, "termAttributes": length}
