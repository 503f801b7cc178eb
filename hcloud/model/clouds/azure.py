"""The facts of Microsoft Azure."""

from __future__ import annotations

import re
from decimal import Decimal

from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.clouds.facts import CloudFacts, ListedNames, Seller, TypeNames

_NAME = re.compile(r"(?:Standard_|Basic_)?([A-Z]+)\d+(?:-\d+)?([a-z]*)(?:_[A-Z]\w*?)?(?:_(v\d+))?", re.ASCII)
_HIGH_MEMORY = re.compile(r"Standard_DS?1[1-5](?:-\d)?(?:_v2)?", re.ASCII)
_BURSTABLE = re.compile(r"(?:Standard_)?B\d", re.ASCII)
_SMALLEST = re.compile(r"Standard_B1m?s", re.ASCII)
_CATEGORIES = {"F": "compute", "E": "memory", "M": "memory", "L": "storage", "N": "accelerated"}


def family(name: str) -> str:
    """``Dsv5`` of ``Standard_D4s_v5``; the sizes with twice the memory of a D series are a group of their own, which
    shares no reservation with it (Microsoft Learn, "Virtual machine size flexibility with Reserved VM Instances")."""
    match = _NAME.fullmatch(name)
    group = "-high-memory" if _HIGH_MEMORY.fullmatch(name) else ""
    return f"{match[1]}{match[2]}{match[3] or ''}{group}" if match else name


def units(name: str, vcpus: Decimal) -> Decimal:
    """Azure's ratio: half a vCPU, and a quarter of the next size of its series for the smallest of series B."""
    return vcpus / (4 if _SMALLEST.fullmatch(name) else 2)


def category(name: str) -> str:
    """By the first letter of a series."""
    if _BURSTABLE.match(name):
        return "burstable"
    match = _NAME.fullmatch(name)
    if _HIGH_MEMORY.fullmatch(name):
        return "memory"
    return _CATEGORIES.get(match[1][0] if match else "", "general")


AZURE = CloudFacts(
    name=Provider.AZURE,
    maker="Azure",
    classes="Azure",
    extra=(
        "azure-identity",
        "azure-mgmt-compute",
        "azure-mgmt-network",
        "azure-mgmt-reservations",
        "azure-storage-blob",
    ),
    endpoint="https://management.azure.com",
    home_region="eastus",
    zones=("1", "2", "3"),
    zone=r"(?:{region}-)?[1-9]",
    small_type="Standard_D2s_v5",
    series=("Dsv5",),
    sold=(PurchaseOption.RESERVATION, PurchaseOption.SAVINGS_PLAN),
    console=(PurchaseOption.SAVINGS_PLAN,),
    seller=Seller(
        "Microsoft",
        "Virtual Machines",
        "Azure subscription",
        re.compile(r"(?i)microsoft|azure"),
        re.compile(r"(?i)virtual machines?"),
        (("reserv", PurchaseOption.RESERVATION), ("saving", PurchaseOption.SAVINGS_PLAN)),
    ),
    karpenter=("karpenter.azure.com", "AKSNodeClass"),
    names=TypeNames(re.compile(r"(?:Standard|Basic)_.*", re.ASCII), family, units, category),
    listed=ListedNames("pay_as_you_go.csv", "family", (("families.csv", "{name}", "vcpus"),)),
    price_list="azure-retail",
    account="subscription",
    account_variables=("AZURE_SUBSCRIPTION_ID",),
    place="location",
    beside="clock",
    bucket=("https", "azure-storage-blob"),
)
