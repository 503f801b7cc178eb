"""What a commitment covers: whether sizes share it, and which of several at one price covers more kinds of use."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from hcloud.model.catalog import InstanceType, Offer, OfferKey, Provider, PurchaseOption

COVERS: Mapping[PurchaseOption, str] = {
    PurchaseOption.COMPUTE_SAVINGS_PLAN: "covers every family, size, OS and region",
    PurchaseOption.SAVINGS_PLAN: "covers every series, size and region",
    PurchaseOption.FLEXIBLE_COMMITTED_USE: "covers every eligible series and region",
    PurchaseOption.CONVERTIBLE: "can be exchanged for another family",
    PurchaseOption.INSTANCE_SAVINGS_PLAN: "covers any size and OS",
    PurchaseOption.COMMITTED_USE: "covers every size of the series",
    PurchaseOption.RESERVATION: "covers every size of the series, and can be exchanged within limits",
    PurchaseOption.RESERVED: "covers all sizes of its family, for one OS",
}
"""What a commitment may be used for, the freest first (ours, by the providers' own terms of 2025): what follows use by
itself comes before what has to be exchanged by hand, and that before what is bound to a family."""

INFLEXIBLE_FAMILIES = frozenset(
    {"g4ad", "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "hpc7a", "inf1", "inf2", "p5"}
    | {"u7i-6tb", "u7i-8tb"}
)
"""Families whose reserved instances do not flex: Amazon EC2 User Guide, "How Reserved Instance discounts are applied",
Limitations (read November 2026)."""


def covers_all_sizes(key: OfferKey, family: str) -> bool:
    """Whether a commitment covers every size of its family, so that so many small ones serve a large one.

    Reserved instances of AWS do where they are regional, of Linux, on shared hardware and not of a few families (same
    source as ``INFLEXIBLE_FAMILIES``); elsewhere each is bound to its own type. All other commitments do.
    """
    if key.option not in (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE):
        return True
    return not key.zone and sizes_share(key.provider, key.os, key.tenancy, family)


def sizes_share(provider: Provider, os: str, tenancy: str, family: str) -> bool:
    """Whether one reserved instance may serve several sizes of the family."""
    return provider is not Provider.AWS or ((os, tenancy) == ("linux", "shared") and family not in INFLEXIBLE_FAMILIES)


def shared_amounts(machine: InstanceType) -> tuple[Decimal, ...]:
    """How much one machine is of what its sizes share: vCPUs and GiB at Google, which are committed to apart, and
    normalised units (AWS) or ratios (Azure) elsewhere."""
    is_google = machine.provider is Provider.GCP
    return (machine.vcpus, machine.memory_gib) if is_google else (machine.units,)


def ratios(machine: InstanceType) -> tuple[Decimal, Decimal]:
    """What it shares by and its GiB, a vCPU: types of a family that differ in these are planned as kinds apart."""
    return round(machine.units / machine.vcpus, 3), round(machine.memory_gib / machine.vcpus, 3)


Preference = tuple[int, bool, int, Decimal, bool, OfferKey]


def preference(offer: Offer) -> Preference:
    """The place of an offer among others at its price, the lowest first: by what it covers, regional before zonal, the
    shorter term, less cash due when it is bought, published before derived; then by name, so that it is always one."""
    return (*_freedom(offer), offer.upfront, bool(offer.origin.derived), offer.key)


def _freedom(offer: Offer) -> tuple[int, bool, int]:
    place = list(COVERS).index(offer.key.option) if offer.key.option in COVERS else len(COVERS)
    return place, bool(offer.key.zone), offer.key.term_years


def why_preferred(taken: Offer, other: Offer) -> str:
    """What speaks for an offer against another at the same price."""
    if taken.key.option != other.key.option and taken.key.option in COVERS:
        return f"it {COVERS[taken.key.option]}"
    if bool(taken.key.zone) != bool(other.key.zone):
        return "it covers the whole region"
    if taken.key.term_years != other.key.term_years:
        return "it binds for less long"
    return "less is due upfront" if taken.upfront < other.upfront else "its price is published"
