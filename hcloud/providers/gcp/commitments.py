"""Committed use: what a commitment is to Compute Engine, and what Google's own list says of those that are held."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import Commitment, CommitmentOrder, CommitmentQuote
from hcloud.model.usage import CommittedResources
from hcloud.providers.gcp.translate import moment

PLANS = {1: "TWELVE_MONTH", 3: "THIRTY_SIX_MONTH"}
_YEARS = {plan: years for years, plan in PLANS.items()}
_TYPES: Mapping[str, str] = {
    "n1": "GENERAL_PURPOSE",
    "e2": "GENERAL_PURPOSE_E2",
    "n2": "GENERAL_PURPOSE_N2",
    "n2d": "GENERAL_PURPOSE_N2D",
    "n4": "GENERAL_PURPOSE_N4",
    "n4a": "GENERAL_PURPOSE_N4A",
    "n4d": "GENERAL_PURPOSE_N4D",
    "c4": "GENERAL_PURPOSE_C4",
    "c4a": "GENERAL_PURPOSE_C4A",
    "c4d": "GENERAL_PURPOSE_C4D",
    "t2d": "GENERAL_PURPOSE_T2D",
    "c2": "COMPUTE_OPTIMIZED",
    "c2d": "COMPUTE_OPTIMIZED_C2D",
    "c3": "COMPUTE_OPTIMIZED_C3",
    "c3d": "COMPUTE_OPTIMIZED_C3D",
    "m1": "MEMORY_OPTIMIZED",
    "m3": "MEMORY_OPTIMIZED_M3",
    "m4": "MEMORY_OPTIMIZED_M4",
    "z3": "STORAGE_OPTIMIZED_Z3",
}
_FAMILIES = {kind: family for family, kind in _TYPES.items()}
_STATES = {
    "CREATING": "pending",
    "NOT_YET_ACTIVE": "pending",
    "ACTIVE": "active",
    "EXPIRED": "ended",
    "CANCELLED": "ended",
}
_NAME = re.compile(r"hc-([0-9a-f]{32})")
_NOTE = re.compile(r"hcloud: (\d+) x ([\w.-]+), ([0-9.]+) ([A-Z]{3}) an hour, ([0-9.]+) at once")


@dataclass(frozen=True, slots=True)
class CommitmentPrice:
    """Dollars for one machine of a commitment. ``source`` says where the figure comes from and of which day: Google
    itself quotes nothing before it sells."""

    hourly: Decimal
    source: str
    upfront: Decimal = Decimal(0)
    currency: str = "USD"


Prices = Callable[[CommitmentOrder], CommitmentPrice | None]
"""The price of a commitment; None where it is not sold."""


def no_prices(_order: CommitmentOrder) -> CommitmentPrice | None:
    """Nothing is sold."""
    return None


@dataclass(frozen=True, slots=True)
class ResourceCommitment:
    """What is committed to."""

    kind: str
    plan: str
    vcpus: int
    memory_mib: int

    def __str__(self) -> str:
        return f"{self.kind}/{self.plan}/{self.vcpus} vCPU/{self.memory_mib} MiB"


def name_of(key: str) -> str:
    """What a commitment is called; the name is what keeps it from being bought twice when Google forgets the key."""
    return f"hc-{key}"


def why_not(order: CommitmentOrder) -> str:
    """Why Compute Engine does not sell what is asked for; empty where it does."""
    if order.option is not PurchaseOption.COMMITTED_USE:
        return f"Compute Engine's API sells no {order.option.in_words}s, only {PurchaseOption.COMMITTED_USE.in_words}s"
    if order.payment is not Payment.NONE:
        return "committed use is paid by the month, nothing up front"
    if order.term_years not in PLANS:
        return f"it is sold for {' or '.join(map(str, PLANS))} years, not for {order.term_years}"
    if order.starts is not None:
        return "it begins the day after it is bought, not on a day of choice"
    if order.count < 1:
        return "it is sold for machines, one at least"
    if _family(order) not in _TYPES:
        return f"there is no commitment for machines like {order.instance_type}"
    return ""


def _family(order: CommitmentOrder) -> str:
    return order.instance_type.partition("-")[0]


def resources(order: CommitmentOrder, vcpus: int, memory_mib: int) -> ResourceCommitment:
    """What the machines of an order come to."""
    kind, plan = _TYPES[_family(order)], PLANS[order.term_years]
    return ResourceCommitment(kind, plan, vcpus * order.count, memory_mib * order.count)


def body(quote: CommitmentQuote, wanted: ResourceCommitment) -> dict[str, object]:
    """The body that buys. Its description is the only place where Google keeps what machines it was meant for."""
    order = quote.order
    return {
        "name": name_of(order.key),
        "plan": wanted.plan,
        "type_": wanted.kind,
        "category": "MACHINE",
        "description": f"hcloud: {order.count} x {order.instance_type}, {quote.hourly:f} {quote.currency} an hour, "
        f"{quote.upfront:f} at once",
        "resources": [
            {"type_": "VCPU", "amount": wanted.vcpus},
            {"type_": "MEMORY", "amount": wanted.memory_mib},
        ],
    }


def held(found: Any) -> ResourceCommitment:
    """What a commitment of Google's list is for."""
    amounts = {r.type_: int(r.amount) for r in found.resources}
    return ResourceCommitment(found.type_, found.plan, amounts.get("VCPU", 0), amounts.get("MEMORY", 0))


def commitment(found: Any) -> Commitment:
    """A commitment as Compute Engine tells it.

    Google does not say what one costs. Of those that hcloud bought the price of the quote stands in the description;
    of others the count is of vCPUs, the type is the series, and the price is 0, which means that it is not known.
    """
    wanted, named, note = held(found), _NAME.fullmatch(found.name), _NOTE.fullmatch(found.description)
    hourly, upfront = _money(note[3] if note else ""), _money(note[5] if note else "")
    return Commitment(
        id=found.name,
        option=PurchaseOption.COMMITTED_USE,
        offering=str(wanted),
        instance_type=note[2] if note else _FAMILIES.get(found.type_, found.type_.lower()),
        count=int(note[1]) if note else wanted.vcpus,
        term_years=_YEARS.get(found.plan, 0),
        payment=Payment.NONE,
        state=_STATES.get(found.status, "unknown"),
        starts=moment(found.start_timestamp),
        ends=moment(found.end_timestamp),
        upfront=upfront,
        hourly=hourly,
        currency=note[4] if note else "USD",
        key=named[1] if named else "",
        resources=CommittedResources(Decimal(wanted.vcpus), Decimal(wanted.memory_mib) / 1024),
    )


def _money(text: str) -> Decimal:
    try:
        return Decimal(text or "0")
    except InvalidOperation:
        return Decimal(0)
