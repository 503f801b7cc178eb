"""What the name of an instance type says: its family, its size-flexibility units and its category."""

from __future__ import annotations

import re
from decimal import Decimal

from hcloud.model.catalog import InstanceType, Provider

_EC2_UNITS = {
    "nano": Decimal("0.25"), "micro": Decimal("0.5"), "small": Decimal(1), "medium": Decimal(2), "large": Decimal(4),
}  # fmt: skip
_XLARGE = re.compile(r"(?:metal-)?([1-9]\d{0,2}|)x(?:large|l)", re.ASCII)
_AZURE = re.compile(r"(?:Standard_|Basic_)?([A-Z]+)\d+(?:-\d+)?([a-z]*)(?:_[A-Z]\w*?)?(?:_(v\d+))?", re.ASCII)
_EC2_CATEGORIES = (
    ("accelerated", ("p", "g", "inf", "trn", "f", "vt", "dl")),
    ("compute", ("c", "hpc", "cc", "cr")),
    ("memory", ("r", "x", "z", "u")),
    ("storage", ("i", "d", "h", "im", "is", "hs")),
)
_GCP_CATEGORIES = {
    "highcpu": "compute", "highmem": "memory", "megamem": "memory", "ultramem": "memory", "hypermem": "memory",
    "highgpu": "accelerated", "megagpu": "accelerated", "ultragpu": "accelerated",
}  # fmt: skip
_GCP_COMPUTE_SERIES = ("c2", "c2d", "h3", "h4d")
SHARED_CORE = "shared-core"
# Categories whose vCPUs do not run at full speed all the time, and why.
UNSTEADY = {
    "burstable": "burstable: full speed only while credits last",
    "flex": "flex: full speed for at most 95 % of a day, 40 % of it otherwise",
    SHARED_CORE: "shared core: full speed only in short bursts",
}
_EC2_BURSTABLE = re.compile(r"t\d", re.ASCII)
_GCP_SHARED_CORE = re.compile(r"e2-(?:micro|small|medium)|f1-micro|g1-small", re.ASCII)


def family_of(provider: Provider, name: str) -> str:
    """The family inside which sizes are interchangeable: ``m5`` of ``m5.large``, ``n2`` of ``n2-standard-4``,
    ``Dsv5`` of ``Standard_D4s_v5``; the name itself where it follows no known pattern."""
    if provider == Provider.AWS:
        return name.partition(".")[0]
    if provider == Provider.GCP:
        return name.partition("-")[0]
    match = _AZURE.fullmatch(name)
    return f"{match[1]}{match[2]}{match[3] or ''}" if match else name


def units_of(provider: Provider, name: str, vcpus: Decimal) -> Decimal:
    """The size-flexibility weight: EC2's published normalisation factor (a bare ``metal`` weighs two units a vCPU, as
    the largest size of its family does), Azure's ratio of half a vCPU, elsewhere the vCPUs."""
    if provider != Provider.AWS:
        return vcpus / 2 if provider == Provider.AZURE else vcpus
    size = name.partition(".")[2]
    if size in _EC2_UNITS:
        return _EC2_UNITS[size]
    match = _XLARGE.fullmatch(size)
    return Decimal(8) * int(match[1] or 1) if match else 2 * vcpus


def category_of(provider: Provider, name: str) -> str:
    """``general``, ``compute``, ``memory``, ``storage``, ``accelerated`` or one of ``UNSTEADY``, judged by the name."""
    return _unsteady(provider, name) or _purpose(provider, name)


def _unsteady(provider: Provider, name: str) -> str:
    """The category of a type that does not always run at full speed, empty for all others."""
    if provider == Provider.AWS:
        if _EC2_BURSTABLE.match(name):
            return "burstable"
        return "flex" if family_of(provider, name).endswith("-flex") else ""
    if provider == Provider.GCP:
        return SHARED_CORE if _GCP_SHARED_CORE.fullmatch(name) else ""
    return "burstable" if re.match(r"(?:Standard_)?B\d", name, re.ASCII) else ""


def _purpose(provider: Provider, name: str) -> str:
    if provider == Provider.AWS:
        letters = re.match(r"[a-z]+", name)
        return next((c for c, heads in _EC2_CATEGORIES if letters and letters[0] in heads), "general")
    if provider == Provider.GCP:
        series, _, rest = name.partition("-")
        by_series = "compute" if series in _GCP_COMPUTE_SERIES else "general"
        return _GCP_CATEGORIES.get(rest.partition("-")[0], by_series)
    match = _AZURE.fullmatch(name)
    return {"F": "compute", "E": "memory", "M": "memory", "L": "storage", "N": "accelerated"}.get(
        match[1][0] if match else "", "general"
    )


def guess_provider(name: str) -> Provider | None:
    """The cloud whose naming pattern a type follows, None where that cannot be said."""
    if name.startswith(("Standard_", "Basic_")):
        return Provider.AZURE
    if re.fullmatch(r"[a-z][a-z0-9-]*\.[a-z0-9-]+", name, re.ASCII):
        return Provider.AWS
    if re.fullmatch(r"[a-z]\d+[a-z]*(-[a-z0-9]+)+", name, re.ASCII):
        return Provider.GCP
    return None


def named_type(provider: Provider, name: str, vcpus: Decimal, memory_gib: Decimal) -> InstanceType:
    """A shape whose family, units and category follow from its name; raises ValueError for impossible sizes."""
    if not (vcpus.is_finite() and memory_gib.is_finite() and 0 < vcpus <= 100_000 and 0 < memory_gib <= 10_000_000):
        raise ValueError(f"{vcpus} vCPUs with {memory_gib} GiB is no machine")
    return InstanceType(
        provider=provider,
        name=name,
        family=family_of(provider, name),
        vcpus=vcpus,
        memory_gib=memory_gib,
        units=units_of(provider, name, vcpus),
        category=category_of(provider, name),
    )
