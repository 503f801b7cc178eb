"""What the name of an instance type says: its family, its size-flexibility units and its category."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from hcloud.model.catalog import InstanceType, OfferKey, Provider
from hcloud.model.clouds.facts import SHARED_CORE
from hcloud.model.clouds.known import CLOUDS

if TYPE_CHECKING:
    from hcloud.catalog.book import PriceBook

SAME_RATIO = Decimal("0.01")  # GiB per vCPU by which types of one shape may differ

# Categories whose vCPUs do not run at full speed all the time, and why.
UNSTEADY = {
    "burstable": "burstable: full speed only while credits last",
    "flex": "flex: full speed for at most 95% of a day, 40% of it otherwise",
    SHARED_CORE: "shared core: full speed only in short bursts",
}


def family_of(provider: Provider, name: str) -> str:
    """The family inside which sizes are interchangeable: ``m5`` of ``m5.large``, ``n2`` of ``n2-standard-4``,
    ``Dsv5`` of ``Standard_D4s_v5``; the name itself where it follows no known pattern."""
    return CLOUDS[provider].names.family(name)


def family_in(book: PriceBook, key: OfferKey) -> str:
    """The family of an offer's type, judged by its name where the book does not know the type."""
    machine = book.types.get((key.provider, key.instance_type))
    return machine.family if machine is not None else family_of(key.provider, key.instance_type)


def is_of_shape(one: InstanceType, other: InstanceType) -> bool:
    """Whether two types are sizes of one shape: family, processor, and GiB and GPUs per vCPU."""
    same = (one.family, one.arch, one.category) == (other.family, other.arch, other.category)
    same = same and one.gpus * other.vcpus == other.gpus * one.vcpus
    return same and abs(one.memory_gib / one.vcpus - other.memory_gib / other.vcpus) <= SAME_RATIO


def guess_provider(name: str) -> Provider | None:
    """The cloud whose naming pattern a type follows, None where that cannot be said."""
    return next((cloud.name for cloud in CLOUDS.values() if cloud.names.pattern.fullmatch(name)), None)


def named_type(provider: Provider, name: str, vcpus: Decimal, memory_gib: Decimal) -> InstanceType:
    """A shape whose family, units and category follow from its name; raises ValueError for impossible sizes."""
    if not (vcpus.is_finite() and memory_gib.is_finite() and 0 < vcpus <= 100_000 and 0 < memory_gib <= 10_000_000):
        raise ValueError(f"{vcpus} vCPUs with {memory_gib} GiB is no machine")
    names = CLOUDS[provider].names
    return InstanceType(
        provider=provider,
        name=name,
        family=names.family(name),
        vcpus=vcpus,
        memory_gib=memory_gib,
        units=names.units(name, vcpus),
        category=names.category(name),
    )
