"""What should stand in a cloud for a plan: the reserved pool and the on-demand machines that are always needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal

from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.change import Slot
from hcloud.model.plans.held import begun_later, held_now, said_days
from hcloud.model.plans.plan import MixLine, Plan
from hcloud.units import counted, rate

RESERVED, STANDING = "reserved", "standing"
LAUNCHED, SHARED = "linux", "shared"
"""Of what machines are that are launched: the operating system, and the tenancy."""
_OTHERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class CloudRegion:
    """The cloud (a provider, or ``local``) and region that slots are for; what a plan wants elsewhere is left out."""

    provider: str
    region: str


def slots_of(plan: Plan, place: CloudRegion) -> tuple[Slot, ...]:
    """The slots of a plan in one region, by address, without zones: where a type is offered only the cloud knows.

    What is committed (owned already, or to be bought) runs as whole machines at its amortised price; where it is
    dollars an hour, as many as these cover. Of what is rented on demand those stand that are in use at every hour of
    the first weeks: any other costs its idle hours, and what comes and goes with demand is the controller's. Spot
    machines do not stand.
    """
    return tuple(sorted((*_reserved(plan, place), *_standing(plan, place)), key=lambda slot: slot.address))


def is_decided(slot: Slot) -> bool:
    """Whether it is of a plan's decision, and not of a fleet that is written down."""
    return slot.address.startswith((f"{RESERVED}-", f"{STANDING}-"))


def is_always_rented(address: str) -> bool:
    """Whether what stands at an address is rented since a plan says that it is in use at every hour of its first weeks:
    of later weeks that plan does not say so."""
    return address.startswith(f"{STANDING}-")


def left_out(plan: Plan, place: CloudRegion) -> tuple[MixLine, ...]:
    """Lines of the mix that are for another cloud or region."""
    return tuple(line for line in plan.mix if not _is_here(line, place))


def left_to_others(plan: Plan, place: CloudRegion) -> Iterator[str]:
    """How many of a plan's machines are started by applying it, and who starts the others."""
    here = [line for line in plan.mix if _is_started(line, place)]
    started = sum(slot.count for slot in slots_of(plan, place))
    rented = [line for line in held_now(here) if not line.option.is_commitment]
    systems = sorted(
        {kind_of(line.key.os, line.key.tenancy) for line in plan.mix if _is_here(line, place)} - {LAUNCHED}
    )
    if not any(line.peak - _always(line) for line in rented):
        if here or not systems:
            yield f"apply keeps all {counted(started, 'machine')} of the plan running"
    else:
        first, most = (sum(_peaks(line)[at] - _always(line) for line in rented) for at in (0, 1))
        at_first = f"up to {first:,} more" if first else "none"
        soon = f"{at_first} in its first {counted(plan.first_weeks, 'week')} and " if most > first else ""
        yield (
            f"apply keeps {counted(started, 'machine')} running; the plan rents {soon}up to {most:,} more"
            f"{' later' if soon else ''} as demand comes: 'hcloud decide' or your own scheduler starts and ends those"
        )
    if later := begun_later(here):
        yield f"{counted(len(later), 'later purchase')} of the plan, on {said_days(later)}: plan again then"
    if systems:
        yield (
            f"apply starts no machines of {' and '.join(systems)}: what is launched here is {LAUNCHED} on {SHARED} "
            "hardware; start those yourself, 'hcloud commit plan' says what it can buy for them"
        )
    for there in sorted({f"{line.provider} {line.region}" for line in left_out(plan, place)}):
        yield f"the plan also has machines in {there}: apply them there, with a state of their own"


def _always(line: MixLine) -> int:
    """How many machines of a rented line are started by applying the plan."""
    return line.first_least or 0 if line.option is PurchaseOption.ON_DEMAND else 0


def _peaks(line: MixLine) -> tuple[int, int]:
    """The most of a rented line at once: in the first weeks (where that is known), and over the horizon."""
    return line.peak if line.first_peak is None else line.first_peak, line.peak


def _is_here(line: MixLine, place: CloudRegion) -> bool:
    return (line.provider, line.region) == (place.provider, place.region)


def _is_started(line: MixLine, place: CloudRegion) -> bool:
    """Whether applying the plan there starts machines of a line: at prices of the system that is launched."""
    return _is_here(line, place) and kind_of(line.key.os, line.key.tenancy) == LAUNCHED


def kind_of(system: str, tenancy: str) -> str:
    """What machines are: only those that are LAUNCHED have that for a name."""
    return system if tenancy == SHARED else f"{system} on {tenancy} hardware"


def _reserved(plan: Plan, place: CloudRegion) -> Iterator[Slot]:
    by_type: dict[str, list[MixLine]] = {}
    for line in held_now(plan.mix):
        if line.option.is_commitment and _is_started(line, place):
            by_type.setdefault(line.instance_type, []).append(line)
    for instance_type, lines in sorted(by_type.items()):
        held = sum((line.count for line in lines), Decimal(0))
        count = int(held.to_integral_value(ROUND_FLOOR))
        if count:
            hourly = rate(sum((line.hourly_held for line in lines), Decimal(0)) / held)
            yield Slot(f"{RESERVED}-{slug(instance_type)}", instance_type, (), count, hourly)


def _standing(plan: Plan, place: CloudRegion) -> Iterator[Slot]:
    for line in plan.mix:
        if line.option is PurchaseOption.ON_DEMAND and _is_started(line, place) and (count := _always(line)):
            address = f"{STANDING}-{slug(line.instance_type)}"
            hourly = line.hourly / line.count
            yield Slot(address, line.instance_type, (), count, hourly)


def slug(name: str) -> str:
    """A name as tags and labels take it."""
    return _OTHERS.sub("-", name.lower()).strip("-")


def in_zones(slots: Sequence[Slot], zones: Mapping[str, Sequence[str]]) -> tuple[Slot, ...]:
    """The slots with the zones of their type, in order of preference, where they name none themselves."""
    return tuple(slot if slot.zones else replace(slot, zones=tuple(zones[slot.instance_type])) for slot in slots)
