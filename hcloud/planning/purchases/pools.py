"""What commitments stand in for: machines of a type, all sizes of a family where these share it, or dollars."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from hcloud.catalog.flexibility import shared_amounts, sizes_share
from hcloud.catalog.shapes import family_of
from hcloud.model.catalog import InstanceType, Provider, PurchaseOption, system_of
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Commitment
from hcloud.model.holdings.purchase import WantedCommitment
from hcloud.model.plans.plan import BesideKind, MixLine

FAMILY = "family"
"""The first word of a pool of all sizes."""
Pool = tuple[str, str]
Amounts = tuple[Decimal, ...]
Types = Mapping[tuple[Provider, str], InstanceType]
Held = MixLine | BesideKind | WantedCommitment | Commitment
_SIZED = re.compile(r"(Standard_[A-Z]+)(\d+)([a-z]*_v[3-9])|(.+-)(\d+)", re.ASCII)
"""Names of Azure (older series number their sizes otherwise) and Google that say how many vCPUs there are."""


def pool_of(of: Held) -> Pool:
    """What stands in for what: instances of a type (of the same system and tenancy where they are bound to these) under
    any instance-based option, dollars of the same kind of savings plan (of the same family where it is bound to
    one)."""
    if not of.option.is_spend_based:
        return ("instances", f"{of.instance_type}{of.option.bound_to(of.special)}")
    family = of.instance_type.partition(".")[0] if of.option is PurchaseOption.INSTANCE_SAVINGS_PLAN else ""
    return (str(of.option), family)


def of_any_size(of: Held) -> Pool:
    """What it stands in for, all sizes of a family as one where they share it."""
    seller = seller_of(of.option)
    if of.option.is_spend_based or seller is None:
        return pool_of(of)
    family = family_of(seller, of.instance_type)
    shared = sizes_share(seller, *system_of(of.special), family)
    return (FAMILY, f"{family}{of.option.bound_to(of.special)}") if shared else pool_of(of)


def seller_of(option: PurchaseOption) -> Provider | None:
    """The cloud that sells it."""
    return next((cloud.name for cloud in CLOUDS.values() if option in cloud.sold), None)


def measured(of: Held, types: Types) -> tuple[Pool, Amounts]:
    """What it stands in for, all sizes as one where they share it and are known, and how much of that one of it is."""
    pool, seller = of_any_size(of), seller_of(of.option)
    if pool[0] != FAMILY or seller is None:
        return pool, (Decimal(1),)
    machine = types.get((seller, of.instance_type))
    amounts = _by_name(seller, of.instance_type, types) if machine is None else shared_amounts(machine)
    return (pool, amounts) if amounts else (pool_of(of), (Decimal(1),))


def _by_name(seller: Provider, name: str, types: Types) -> Amounts:
    """How much a type that no price book has is of what its sizes share, as its name and another size of its shape say
    it; nothing where they do not."""
    if seller is Provider.AWS:
        units = CLOUDS[seller].names.units(name, Decimal(0))
        return (units,) if units else ()
    shape, vcpus = _sized(name)
    of_shape = [m for (p, other), m in types.items() if p is seller and vcpus and _sized(other) == (shape, m.vcpus)]
    nearest = min(of_shape, key=lambda m: abs(m.vcpus - vcpus), default=None)
    return () if nearest is None else tuple(amount * vcpus / nearest.vcpus for amount in shared_amounts(nearest))


def _sized(name: str) -> tuple[str, Decimal]:
    """The name without its size, and the vCPUs that it says; 0 where it says none."""
    found = _SIZED.fullmatch(name)
    return (f"{found[1] or found[4]} {found[3]}", Decimal(found[2] or found[5])) if found else (name, Decimal(0))
